//! Files that this program made: created, known again, and removed, without ever touching anybody else's.
//!
//! # The argument
//!
//! A name and an inode number prove nothing. A name leads to whatever was moved there last, and an inode number is given to
//! the next file as soon as its owner is deleted. So neither decides anything here:
//!
//! 1. **Made exclusively, marked first.** [`Owned::create`] makes a file that has no name yet (`O_TMPFILE`), writes the
//!    [`Mark`] into it, with a random [`Token`] of 128 bits, and only then gives it its name, with `linkat`, which replaces
//!    nothing. There is no moment at which a file of ours stands under its name without its mark, also when the process
//!    is killed. Where the filesystem has no nameless files, the file is created with `O_EXCL` and marked by the very next
//!    call; killed between the two, an empty file is left, which nobody takes for ours.
//! 2. **Held open.** The descriptor of (1), or the one through which the mark was read, stays open as long as the value lives. As
//!    long as it is open, the kernel gives its inode number to no other file, so that equality of device and inode with
//!    this descriptor means the same file.
//! 3. **Opened again through the descriptor**, by `/proc/self/fd`, not by its name. What was moved to the name meanwhile
//!    is never opened. Every descriptor is compared with (2) before it is handed out, and the mark is read again.
//! 4. **A file of an earlier process is known by its mark** ([`Owned::open`]). The name is looked at without opening
//!    (`O_PATH`), so that a FIFO or a device is not disturbed; a symbolic link is not followed; the mark is read through
//!    a descriptor that cannot write, and what it says decides whether one that can is opened, of that very file. A
//!    stranger's file cannot hold a token that it has never seen.
//! 5. **Removed where nobody else reaches it** ([`Owned::remove`]). The name is moved, without replacing anything (`renameat2`
//!    with `RENAME_NOREPLACE`), into a fresh folder of mode 0700 beside it, and compared there with (2). Only what is ours and still
//!    has its mark is deleted. Anything else is moved back, again without replacing. A comparison before the move
//!    keeps strangers in their place unless they arrive between the two calls. Where names cannot be moved in this
//!    way, the file is emptied through its descriptor, left, and named.
//!
//! What this cannot prevent: somebody who opens a file that we made and writes to it while it is in use. That file is still
//! ours; its mark is read before each run, and when it is gone the file is left alone from then on.
//!
//! Windows: a file is created exclusively, as where there are no nameless files, and every further handle is made of one that is held
//! (`ReOpenFile`). One does not share deleting, so that nobody can rename, replace or delete the file while it is held; the one that
//! writes does not share writing, so that nobody else can write. It is deleted through a handle.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(any(target_os = "linux", windows)))]
mod other;
#[cfg(windows)]
mod windows;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(any(target_os = "linux", windows)))]
use other as system;
#[cfg(windows)]
use windows as system;

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::Opening;

/// 128 random bits from the system, as 32 hexadecimal digits: what a stranger's file cannot have in it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Token(String);

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn random() -> io::Result<Token> {
        let mut bytes = [0; 16];
        system::random(&mut bytes)?;
        Ok(Token(
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    /// Its digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.0)
    }
}

/// Not 32 hexadecimal digits in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a token of 32 hexadecimal digits")]
pub struct NoToken;

impl FromStr for Token {
    type Err = NoToken;

    fn from_str(text: &str) -> Result<Token, NoToken> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() == 32 && text.bytes().all(is_digit) {
            Ok(Token(text.to_owned()))
        } else {
            Err(NoToken)
        }
    }
}

/// Bytes at a place in a file that say whose it is. They hold a [`Token`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Byte of the file that they begin at.
    pub at: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Mark {
    /// True when the file has exactly these bytes there.
    ///
    /// # Errors
    /// Those of reading; a file that is too short has them not.
    pub fn is_in(&self, file: &File) -> io::Result<bool> {
        let mut found = vec![0; self.bytes.len()];
        match read_at(file, &mut found, self.at) {
            Ok(()) => Ok(found == self.bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn write_to(&self, file: &File) -> io::Result<()> {
        write_at(file, &self.bytes, self.at)
    }
}

/// A file that this program made, open.
#[derive(Debug)]
pub struct Owned {
    path: PathBuf,
    place: system::Place,
    file: File,
    mark: Mark,
}

/// Why a file cannot be taken for ours.
#[derive(Debug, thiserror::Error)]
pub enum NotOwned {
    /// The system refused.
    #[error(transparent)]
    Os(#[from] io::Error),
    /// There is a directory, a link, a device or something else that is no regular file.
    #[error("{0}")]
    WrongType(&'static str),
    /// A regular file without our mark.
    #[error("a file without the mark of this program")]
    Foreign,
}

/// What became of a name that was to be removed.
#[derive(Debug)]
pub enum Removal {
    /// The file was ours and is gone.
    Done,
    /// Nothing had the name any more.
    Gone,
    /// Another file has the name; it is as it was.
    Stranger,
    /// The file is the one that was made, but its mark is gone: somebody has written to it. It is as it was.
    Changed,
    /// The name cannot be moved to where it could be compared. The file was ours, is empty now, and still has its name.
    Emptied(io::Error),
    /// Another file was moved aside for comparison, and its name was taken before it could be moved back. It is here now, as
    /// it was.
    Stranded(PathBuf),
    /// The system refused; the file is as it was.
    Failed(io::Error),
}

impl Removal {
    /// True when nothing of ours is left.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self, Removal::Done | Removal::Gone)
    }
}

impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Removal::Done => f.write_str("it is removed"),
            Removal::Gone => f.write_str("it was removed already"),
            Removal::Stranger => {
                f.write_str("another file has that name now, which straddle did not make; it is left alone")
            }
            Removal::Changed => f.write_str(
                "somebody has written to it, and the mark by which straddle knows it is gone; it is left alone",
            ),
            Removal::Emptied(error) => write!(
                f,
                "its name cannot be moved without replacing others ({error}); it is emptied and left, remove it by hand"
            ),
            Removal::Stranded(path) => write!(
                f,
                "another file had that name, and the name was taken again before it could be moved back; that file is {} now",
                path.display()
            ),
            Removal::Failed(error) => write!(f, "it cannot be removed: {error}"),
        }
    }
}

impl Owned {
    /// Makes a new file that has `mark` from the first moment on that it has a name. Nobody can open it for another run until
    /// it is dropped (see [`is_held`]).
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when the name is taken, also by a dangling link; those of the system.
    pub fn create(path: &Path, mark: Mark) -> io::Result<Owned> {
        let (place, file) = system::create(path, |file| {
            mark.write_to(file)?;
            hold(file)
        })?;
        Ok(Owned {
            path: path.to_owned(),
            place,
            file,
            mark,
        })
    }

    /// Opens a file that an earlier run made: `find` reads its mark, through a descriptor that cannot write, and gives `None`
    /// for a file that has none.
    ///
    /// # Errors
    /// [`NotOwned`]; an error of the kind [`io::ErrorKind::WouldBlock`] when a run is going on with it.
    pub fn open(
        path: &Path,
        find: impl FnOnce(&File) -> io::Result<Option<Mark>>,
    ) -> Result<Owned, NotOwned> {
        let place = system::Place::of(path)?;
        let seen = system::look(&place)?;
        let mark = find(&seen)?.ok_or(NotOwned::Foreign)?;
        let file = system::writable(&place, &seen)?;
        // The last word is the mark as the descriptor sees it that will be written through.
        if !mark.is_in(&file)? {
            return Err(NotOwned::Foreign);
        }
        hold(&file)?;
        Ok(Owned {
            path: path.to_owned(),
            place,
            file,
            mark,
        })
    }

    /// The path as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The descriptor that it is held by, to read and to ask about it.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The descriptor to write by: on Windows there is one at a time, and those of [`Owned::reopen`] must be closed.
    ///
    /// # Errors
    /// Those of the system. Only on Windows are there any.
    pub fn writer(&self) -> io::Result<impl Deref<Target = File>> {
        self.place.writer(&self.file)
    }

    /// A path that leads to this very file as long as it is held, whatever has its name; for system calls that take paths.
    #[must_use]
    pub fn way(&self) -> PathBuf {
        system::way(&self.file, &self.path)
    }

    /// True as long as the file has its mark.
    ///
    /// # Errors
    /// Those of reading.
    pub fn is_ours(&self) -> io::Result<bool> {
        self.mark.is_in(&self.file)
    }

    /// True as long as its name leads to it.
    #[must_use]
    pub fn has_its_name(&self) -> bool {
        self.place.leads_to(&self.file)
    }

    /// Puts another mark into it, in place of the present one or elsewhere.
    ///
    /// # Errors
    /// [`NotOwned::Foreign`] when the present one is gone; nothing is written then.
    pub fn mark(&mut self, mark: Mark) -> Result<(), NotOwned> {
        {
            let writer = self.writer()?;
            if !self.is_ours()? {
                return Err(NotOwned::Foreign);
            }
            mark.write_to(&writer)?;
        }
        self.mark = mark;
        Ok(())
    }

    /// Another descriptor of this very file. On Windows those that write are one file object, which is reopened when another
    /// `opening` is asked for; those of the one before must be closed then.
    ///
    /// # Errors
    /// [`NotOwned::Foreign`] when the mark is gone; those of opening.
    pub fn reopen(&self, opening: Opening) -> Result<File, NotOwned> {
        let file = self.place.reopen(&self.file, opening)?;
        if !self.is_ours()? {
            return Err(NotOwned::Foreign);
        }
        Ok(file)
    }

    /// Puts the directory that holds its name on stable storage.
    ///
    /// # Errors
    /// Those of the system.
    pub fn sync_directory(&self) -> io::Result<()> {
        self.place.sync()
    }

    /// Removes it, and nothing else.
    #[must_use]
    pub fn remove(self) -> Removal {
        system::remove(&self.place, self.file, &self.mark)
    }
}

/// Another descriptor of what `file` is one of, whatever has the name `path` by now.
///
/// # Errors
/// Those of opening; where there is no way to it but its name, that another file has it.
pub fn reopen(file: &File, path: &Path, opening: Opening) -> io::Result<File> {
    system::reopen(file, path, opening)
}

/// What was opened by a name, when it is a descriptor of that very file.
#[cfg(not(windows))]
fn the_same(opened: File, file: &File) -> io::Result<File> {
    if system::is_same(&opened, file)? {
        Ok(opened)
    } else {
        Err(io::Error::other("another file has its name now"))
    }
}

/// A path that leads to what `file` is a descriptor of, for system calls that take paths.
#[must_use]
pub fn way(file: &File, path: &Path) -> PathBuf {
    system::way(file, path)
}

/// A file without a name in the directory of `path`, which is gone when it is closed: for what can only be asked of a file. `None`
/// where the filesystem has no such files.
///
/// # Errors
/// When there is no such directory.
pub fn scratch(path: &Path) -> io::Result<Option<File>> {
    system::scratch(path)
}

/// Keeps other runs away from a file until its descriptor is closed.
#[cfg(unix)]
fn hold(file: &File) -> io::Result<()> {
    use std::fs::TryLockError;
    match patiently(|| file.try_lock()) {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        // A filesystem without locks.
        Err(TryLockError::Error(_)) => Ok(()),
    }
}

#[cfg(unix)]
fn is_locked(file: &File) -> bool {
    matches!(
        patiently(|| file.try_lock_shared()),
        Err(std::fs::TryLockError::WouldBlock)
    )
}

/// Asks for a lock again for a moment: a program that another thread has just started keeps what was open, locks and all, until it begins.
#[cfg(unix)]
fn patiently(
    lock: impl Fn() -> Result<(), std::fs::TryLockError>,
) -> Result<(), std::fs::TryLockError> {
    for pause in [1, 4, 15, 30, 50] {
        match lock() {
            Err(std::fs::TryLockError::WouldBlock) => {}
            other => return other,
        }
        std::thread::sleep(std::time::Duration::from_millis(pause));
    }
    lock()
}

/// On Windows the handle itself denies what has to be denied.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "other systems can refuse")]
fn hold(_: &File) -> io::Result<()> {
    Ok(())
}

/// True when a run of this program holds the file at `path` now. What is no regular file is held by nobody.
#[must_use]
pub fn is_held(path: &Path) -> bool {
    let look = || system::is_held(&system::Place::of(path)?);
    look().unwrap_or(false)
}

/// Opens the regular file at `path` for reading, after a look at what it is: nothing else is opened, and no link followed.
///
/// # Errors
/// [`NotOwned::WrongType`] and those of the system.
pub fn look(path: &Path) -> Result<File, NotOwned> {
    system::look(&system::Place::of(path)?)
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
use windows::read_at;

#[cfg(not(unix))]
fn write_at(mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests;
