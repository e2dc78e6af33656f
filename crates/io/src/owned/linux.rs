//! Linux: names relative to the descriptor of their directory, files through `/proc/self/fd`.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::{Mark, NotOwned, Removal, Token};
use crate::Opening;
use crate::found::{describe, own_name};

/// Fills `bytes` with random ones.
pub(super) fn random(bytes: &mut [u8]) -> io::Result<()> {
    // As few as these come at once, or not at all.
    let got = rustix::rand::getrandom(&mut *bytes, rustix::rand::GetRandomFlags::empty())?;
    if got == bytes.len() {
        Ok(())
    } else {
        Err(io::Error::other("too few random bytes"))
    }
}

/// A name in a directory that is held open: where the directory is moved to does not matter.
#[derive(Debug)]
pub(super) struct Place {
    directory: OwnedFd,
    name: OsString,
    /// Its path, for what is told to people.
    parent: PathBuf,
}

/// Gives access to a file to whom the mask of the process allows it, as `open` does without a mode.
const USUAL: Mode = Mode::from_raw_mode(0o666);
/// Only for us.
const PRIVATE: Mode = Mode::from_raw_mode(0o700);
/// What a file is called in the folder where it is compared.
const ASIDE: &str = "file";

impl Place {
    pub(super) fn of(path: &Path) -> io::Result<Place> {
        let name = path.file_name().ok_or(Errno::ISDIR)?;
        let parent = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Place {
            directory: rustix::fs::open(parent, flags, Mode::empty())?,
            name: name.to_owned(),
            parent: parent.to_owned(),
        })
    }

    fn open(&self, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        rustix::fs::openat(&self.directory, &self.name, flags | OFlags::CLOEXEC, mode)
    }

    /// True when the name leads to that very file. A link to it is another file.
    pub(super) fn leads_to(&self, file: &File) -> bool {
        leads_to(&self.directory, &self.name, file).unwrap_or(false)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(&self.directory, ".", flags, Mode::empty())?;
        Ok(rustix::fs::fsync(directory)?)
    }

    /// The descriptor that it is held by writes too.
    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "Windows has two"
    )]
    pub(super) fn writer<'a>(&self, file: &'a File) -> io::Result<&'a File> {
        Ok(file)
    }

    pub(super) fn reopen(&self, file: &File, opening: Opening) -> io::Result<File> {
        reopen(file, &self.parent.join(&self.name), opening)
    }

    pub(super) fn remove(&self, file: &File, mark: &Mark) -> Removal {
        match leads_to(&self.directory, &self.name, file) {
            Ok(true) => {}
            Ok(false) => return Removal::Stranger,
            Err(Errno::NOENT) => return Removal::Gone,
            Err(error) => return Removal::Failed(error.into()),
        }
        match mark.is_in(file) {
            Ok(true) => {}
            Ok(false) => return Removal::Changed,
            Err(error) => return Removal::Failed(error),
        }
        self.remove_aside(file, mark)
    }

    /// Moves whatever has the name to where nobody else reaches it, and decides there.
    pub(super) fn remove_aside(&self, file: &File, mark: &Mark) -> Removal {
        let folder = match self.private_folder() {
            Ok(folder) => folder,
            Err(error) => return self.empty(file, mark, error),
        };
        let removal = match self.move_into(&folder) {
            Ok(()) => self.judge(file, mark, &folder),
            Err(Errno::NOENT) => Removal::Gone,
            Err(error) => self.empty(file, mark, error.into()),
        };
        // It is not empty where a stranger could not go back.
        let _ = rustix::fs::unlinkat(&self.directory, &folder.name, AtFlags::REMOVEDIR);
        removal
    }

    pub(super) fn move_into(&self, folder: &Folder) -> Result<(), Errno> {
        move_without_replacing(&self.directory, &self.name, &folder.fd, ASIDE)
    }

    /// A fresh folder beside the name that nobody else may enter.
    pub(super) fn private_folder(&self) -> io::Result<Folder> {
        let name = OsString::from(format!(".straddle-{}", Token::random()?));
        rustix::fs::mkdirat(&self.directory, &name, PRIVATE)?;
        match self.enter(&name) {
            Ok(fd) => Ok(Folder { fd, name }),
            Err(error) => {
                let _ = rustix::fs::unlinkat(&self.directory, &name, AtFlags::REMOVEDIR);
                Err(error.into())
            }
        }
    }

    /// The folder of that name, which may be another one by now, when it is ours and nobody else may enter it.
    pub(super) fn enter(&self, name: &OsStr) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.directory, name, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&fd)?;
        let is_private = stat.st_uid == rustix::process::geteuid().as_raw()
            && Mode::from_raw_mode(stat.st_mode) & Mode::from_raw_mode(0o077) == Mode::empty();
        if is_private { Ok(fd) } else { Err(Errno::PERM) }
    }

    /// What was moved into the folder is deleted when it is ours, and moved back when it is not.
    pub(super) fn judge(&self, file: &File, mark: &Mark, folder: &Folder) -> Removal {
        let is_ours = leads_to(&folder.fd, OsStr::new(ASIDE), file);
        let has_mark = mark.is_in(file);
        let (why, error) = match (is_ours, has_mark) {
            (Ok(true), Ok(true)) => {
                match rustix::fs::unlinkat(&folder.fd, ASIDE, AtFlags::empty()) {
                    Ok(()) => return Removal::Done,
                    Err(error) => (None, Some(error.into())),
                }
            }
            (Ok(true), Ok(false)) => (Some(Removal::Changed), None),
            (Ok(false), _) => (Some(Removal::Stranger), None),
            (Err(error), _) => (None, Some(error.into())),
            (_, Err(error)) => (None, Some(error)),
        };
        match move_without_replacing(&folder.fd, ASIDE, &self.directory, &self.name) {
            Ok(()) => why.unwrap_or_else(|| {
                Removal::Failed(error.unwrap_or_else(|| io::ErrorKind::Other.into()))
            }),
            Err(_) => Removal::Stranded(self.parent.join(&folder.name).join(ASIDE)),
        }
    }

    /// What cannot be removed safely costs no space at least.
    pub(super) fn empty(&self, file: &File, mark: &Mark, error: io::Error) -> Removal {
        match mark.is_in(file) {
            Ok(true) => {}
            Ok(false) => return Removal::Changed,
            Err(error) => return Removal::Failed(error),
        }
        match file.set_len(0) {
            Ok(()) => Removal::Emptied(error),
            Err(error) => Removal::Failed(error),
        }
    }
}

/// The folder in which names are compared.
pub(super) struct Folder {
    fd: OwnedFd,
    name: OsString,
}

fn move_without_replacing(
    from: impl AsFd,
    name: impl rustix::path::Arg,
    to: impl AsFd,
    new: impl rustix::path::Arg,
) -> Result<(), Errno> {
    rustix::fs::renameat_with(from, name, to, new, RenameFlags::NOREPLACE)
}

fn leads_to(directory: impl AsFd, name: &OsStr, file: &File) -> Result<bool, Errno> {
    let found = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(are_same(&found, &rustix::fs::fstat(file)?))
}

fn are_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino, one.st_rdev) == (other.st_dev, other.st_ino, other.st_rdev)
}

/// True when both are descriptors of one file.
pub(super) fn is_same(one: &File, other: &File) -> io::Result<bool> {
    Ok(are_same(
        &rustix::fs::fstat(one)?,
        &rustix::fs::fstat(other)?,
    ))
}

/// Another descriptor of what `file` is one of.
pub(super) fn reopen(file: &File, path: &Path, opening: Opening) -> io::Result<File> {
    super::the_same(opening.open(&way(file, path))?, file)
}

#[expect(clippy::needless_pass_by_value, reason = "Windows closes it")]
pub(super) fn remove(place: &Place, file: File, mark: &Mark) -> Removal {
    place.remove(&file, mark)
}

/// True when a run holds the file at this name.
pub(super) fn is_held(place: &Place) -> Result<bool, NotOwned> {
    Ok(super::is_locked(&look(place)?))
}

/// A new file, prepared by `prepare` before it gets its name.
pub(super) fn create(
    path: &Path,
    prepare: impl Fn(&File) -> io::Result<()>,
) -> io::Result<(Place, File)> {
    let place = Place::of(path)?;
    if let Some(file) = nameless(&place) {
        prepare(&file)?;
        let source = way(&file, path);
        let linked = rustix::fs::linkat(
            CWD,
            &source,
            &place.directory,
            &place.name,
            AtFlags::SYMLINK_FOLLOW,
        );
        match linked {
            Ok(()) => return Ok((place, file)),
            Err(Errno::EXIST) => return Err(Errno::EXIST.into()),
            // A filesystem that cannot link, or a system without /proc.
            Err(_) => {}
        }
    }
    let file = by_name(&place, prepare)?;
    Ok((place, file))
}

/// A new file, prepared while it has its name already.
pub(super) fn by_name(
    place: &Place,
    prepare: impl Fn(&File) -> io::Result<()>,
) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let file = File::from(place.open(flags, USUAL)?);
    if let Err(error) = prepare(&file) {
        // It has no mark that it could be known by; empty it is, and that is how it is left when it was replaced.
        let _ = file.set_len(0);
        if place.leads_to(&file) {
            let empty = Mark {
                at: 0,
                bytes: Vec::new(),
            };
            let _ = place.remove(&file, &empty);
        }
        return Err(error);
    }
    Ok(file)
}

/// A file that has no name yet; `None` where the filesystem has no such files.
fn nameless(place: &Place) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(&place.directory, ".", flags, USUAL).ok()?;
    Some(File::from(fd))
}

pub(super) fn scratch(path: &Path) -> io::Result<Option<File>> {
    Ok(nameless(&Place::of(path)?))
}

/// Opens a regular file for reading, and nothing else.
pub(super) fn look(place: &Place) -> Result<File, NotOwned> {
    let seen = place.open(OFlags::PATH | OFlags::NOFOLLOW, Mode::empty());
    let seen = File::from(seen.map_err(io::Error::from)?);
    let kind = seen.metadata()?.file_type();
    if !kind.is_file() {
        return Err(NotOwned::WrongType(describe(kind)));
    }
    Ok(again(place, &seen, OFlags::RDONLY)?)
}

/// Opens for writing what was looked at.
pub(super) fn writable(place: &Place, seen: &File) -> io::Result<File> {
    again(place, seen, OFlags::RDWR)
}

/// Another descriptor of what `seen` is one of. Without `/proc` it is opened by its name, and compared.
fn again(place: &Place, seen: &File, flags: OFlags) -> io::Result<File> {
    let opened = match rustix::fs::open(own_name(seen), flags | OFlags::CLOEXEC, Mode::empty()) {
        Err(Errno::NOENT) => place.open(
            flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY,
            Mode::empty(),
        ),
        opened => opened,
    }?;
    super::the_same(File::from(opened), seen)
}

/// A path to what is open; its name where there is no `/proc`.
pub(super) fn way(file: &File, path: &Path) -> PathBuf {
    let way = own_name(file);
    if std::fs::symlink_metadata(&way).is_ok() {
        PathBuf::from(way)
    } else {
        path.to_owned()
    }
}
