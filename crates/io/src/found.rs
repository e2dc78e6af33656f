//! Files as they are found: looked at first, and opened only when they are what somebody wanted.

use std::fs::{File, FileType, Metadata};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::OnceLock;
use straddle_geometry::Bytes;

use crate::{OpenError, Target, TargetKind};

/// A file that was looked at and not opened: opening a FIFO lets the writer through that waits for a reader, and opening a
/// serial line, a tape or a watchdog does something to it.
///
/// On Linux this is an `O_PATH` descriptor. It stands for the file itself, whatever becomes of its name, and what is opened
/// later is that very file. Elsewhere it is what the name led to; what is opened is compared with it.
#[derive(Debug)]
pub struct Found {
    path: PathBuf,
    metadata: Metadata,
    #[cfg(target_os = "linux")]
    handle: File,
}

impl Found {
    /// Looks at what is at `path`, following symbolic links.
    ///
    /// # Errors
    /// [`OpenError::Os`] when there is nothing, or the way to it is barred.
    pub fn look(path: &Path) -> Result<Found, OpenError> {
        found(path, Links::Followed)
    }

    /// Looks at what is at `path` itself: a symbolic link is only that.
    ///
    /// # Errors
    /// [`OpenError::Os`] when there is nothing, or the way to it is barred.
    pub fn look_no_further(path: &Path) -> Result<Found, OpenError> {
        found(path, Links::Kept)
    }

    /// The path as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is, whose, and how long.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The path without symbolic links, of this file and not of another one that has taken its name.
    ///
    /// # Errors
    /// Those of the system.
    pub fn real_path(&self) -> io::Result<PathBuf> {
        #[cfg(target_os = "linux")]
        return real_path(&self.handle, &self.path);
        #[cfg(not(target_os = "linux"))]
        std::fs::canonicalize(&self.path)
    }

    /// Opens it for reading, when it is a regular file or a block device.
    ///
    /// # Errors
    /// [`OpenError`] when it is something else, or the system refuses.
    pub fn open(self) -> Result<Target, OpenError> {
        let kind = match self.metadata.file_type() {
            kind if kind.is_file() => TargetKind::File,
            kind if is_block_device(kind) => TargetKind::Device,
            kind => {
                return Err(OpenError::WrongType {
                    path: self.path,
                    found: describe(kind),
                });
            }
        };
        let opened = self.reopen().and_then(|file| {
            let size = match kind {
                TargetKind::File => self.metadata.len(),
                // The length of a device is where its end is; metadata says 0.
                TargetKind::Device => (&file).seek(SeekFrom::End(0))?,
            };
            Ok((file, Bytes::new(size)))
        });
        match opened {
            Ok((file, size)) => Ok(Target::new(self.path, file, kind, size)),
            Err(source) => Err(OpenError::Os {
                path: self.path,
                source,
            }),
        }
    }

    /// Opens this very file.
    #[cfg(target_os = "linux")]
    fn reopen(&self) -> io::Result<File> {
        use rustix::fs::{Mode, OFlags};
        use rustix::io::Errno;
        use std::os::unix::fs::OpenOptionsExt;
        // A drive without a medium is not waited for.
        let nonblock = OFlags::NONBLOCK;
        let own = in_own_folder(|folder| {
            let flags = nonblock | OFlags::CLOEXEC;
            let name = rustix::path::DecInt::from_fd(&self.handle);
            rustix::fs::openat(folder, name, flags, Mode::empty()).map(File::from)
        });
        match own {
            // Without /proc there is only the name.
            None | Some(Err(Errno::NOENT)) => {
                let mut options = std::fs::OpenOptions::new();
                options
                    .read(true)
                    .custom_flags(nonblock.bits().cast_signed());
                same(options.open(&self.path)?, &self.metadata)
            }
            Some(opened) => Ok(opened?),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn reopen(&self) -> io::Result<File> {
        same(File::open(&self.path)?, &self.metadata)
    }

    /// The descriptor, for questions that need one.
    #[cfg(target_os = "linux")]
    pub(crate) fn handle(&self) -> &File {
        &self.handle
    }
}

/// What becomes of a symbolic link at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    Followed,
    Kept,
}

fn found(path: &Path, links: Links) -> Result<Found, OpenError> {
    look(path, links).map_err(|source| OpenError::Os {
        path: path.to_owned(),
        source,
    })
}

/// Opens the regular file at `path` for reading.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::InvalidInput`] for what is no regular file, which is not opened.
pub fn regular(path: &Path) -> io::Result<File> {
    let found = look(path, Links::Followed)?;
    if !found.metadata.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("it is {}", describe(found.metadata.file_type())),
        ));
    }
    found.reopen()
}

#[cfg(target_os = "linux")]
fn look(path: &Path, links: Links) -> io::Result<Found> {
    use rustix::fs::{Mode, OFlags};
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    flags.set(OFlags::NOFOLLOW, links == Links::Kept);
    let handle = rustix::fs::open(path, flags, Mode::empty())?;
    let handle = File::from(handle);
    Ok(Found {
        path: path.to_owned(),
        metadata: handle.metadata()?,
        handle,
    })
}

#[cfg(not(target_os = "linux"))]
fn look(path: &Path, links: Links) -> io::Result<Found> {
    Ok(Found {
        path: path.to_owned(),
        metadata: match links {
            Links::Followed => std::fs::metadata(path)?,
            Links::Kept => std::fs::symlink_metadata(path)?,
        },
    })
}

/// The path without symbolic links of an open file that was at `path`.
pub(crate) fn real_path(file: &File, path: &Path) -> io::Result<PathBuf> {
    #[cfg(target_os = "linux")]
    if let Ok(path) = std::fs::read_link(own_name(file)) {
        return Ok(path);
    }
    let _ = file;
    std::fs::canonicalize(path)
}

/// What is done in the folder in which descriptors are names, which is kept open: finding it again takes as long as opening a file. `None`
/// without /proc.
#[cfg(target_os = "linux")]
fn in_own_folder<T>(then: impl FnOnce(&File) -> T) -> Option<T> {
    use rustix::fs::{Mode, OFlags};
    static FOLDER: OnceLock<Option<(u32, File)>> = OnceLock::new();
    let open = || {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(c"/proc/self/fd", flags, Mode::empty());
        folder
            .ok()
            .map(|folder| (std::process::id(), File::from(folder)))
    };
    let (of, folder) = FOLDER.get_or_init(open).as_ref()?;
    if *of == std::process::id() {
        return Some(then(folder));
    }
    // A process that was forked off has its parent's folder, in which the same number is another file.
    open().map(|(_, folder)| then(&folder))
}

/// A name that leads to what is open, whatever its own name leads to by now.
#[cfg(target_os = "linux")]
pub(crate) fn own_name(file: &File) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// `file`, unless another one has taken the name since.
#[cfg(unix)]
fn same(file: File, seen: &Metadata) -> io::Result<File> {
    use std::os::unix::fs::MetadataExt;
    let now = file.metadata()?;
    if (now.dev(), now.ino()) != (seen.dev(), seen.ino()) {
        return Err(io::Error::other("it was replaced while it was opened"));
    }
    Ok(file)
}

#[cfg(not(unix))]
fn same(file: File, seen: &Metadata) -> io::Result<File> {
    if file.metadata()?.file_type() != seen.file_type() {
        return Err(io::Error::other("it was replaced while it was opened"));
    }
    Ok(file)
}

#[cfg(unix)]
fn is_block_device(file_type: FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_block_device(&file_type)
}

#[cfg(not(unix))]
fn is_block_device(_: FileType) -> bool {
    false
}

#[cfg(unix)]
pub(crate) fn describe(file_type: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if file_type.is_dir() {
        "a directory"
    } else if file_type.is_fifo() {
        "a FIFO"
    } else if file_type.is_socket() {
        "a socket"
    } else if file_type.is_char_device() {
        "a character device"
    } else if file_type.is_block_device() {
        "a block device"
    } else if file_type.is_symlink() {
        "a symbolic link"
    } else {
        "not a regular file"
    }
}

#[cfg(not(unix))]
pub(crate) fn describe(file_type: FileType) -> &'static str {
    if file_type.is_dir() {
        "a directory"
    } else if file_type.is_symlink() {
        "a symbolic link"
    } else {
        "not a regular file"
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::ReadAt;

    #[test]
    fn what_was_looked_at_is_opened_whatever_has_its_name() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("image");
        std::fs::write(&path, b"looked at").expect("write");
        let found = Found::look(&path).expect("is there");
        std::fs::rename(&path, dir.path().join("moved")).expect("rename");
        std::fs::write(&path, b"another").expect("write");
        let target = found.open().expect("opens");
        assert_eq!(target.path(), path);
        assert_eq!(target.real_path(), Some(&*dir.path().join("moved")));
        let mut bytes = [0; 9];
        let read = target.read_at(Bytes::ZERO, &mut bytes).expect("reads");
        assert_eq!(&bytes[..read], b"looked at");
    }

    #[test]
    fn a_link_that_has_taken_the_place_of_what_was_listed_is_not_followed() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let (path, secret) = (dir.path().join("listed"), dir.path().join("secret"));
        std::fs::write(&secret, b"of somebody else").expect("write");
        std::os::unix::fs::symlink(&secret, &path).expect("a link");
        let error = Target::open_listed(&path).expect_err("a link");
        assert!(error.to_string().contains("is a symbolic link"), "{error}");
        assert_eq!(Target::open(&path).expect("it was named").size().get(), 16);
        assert_eq!(
            Target::open_listed(&secret).expect("a file").size().get(),
            16
        );
    }

    #[test]
    fn the_writer_of_a_fifo_goes_on_waiting() {
        use std::os::unix::fs::OpenOptionsExt;
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .expect("a FIFO");
        let error = Target::open(&path).expect_err("a FIFO");
        assert!(error.to_string().contains("is a FIFO"), "{error}");
        assert!(regular(&path).is_err());
        // Nobody reads: a writer that does not wait is refused.
        let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let writer = std::fs::OpenOptions::new()
            .write(true)
            .custom_flags(nonblock)
            .open(&path);
        assert_eq!(
            writer.expect_err("nobody reads").raw_os_error(),
            Some(rustix::io::Errno::NXIO.raw_os_error())
        );
    }
}
