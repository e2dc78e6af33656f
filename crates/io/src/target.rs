use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use straddle_geometry::Bytes;

use crate::ReadAt;

/// What a target turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A regular file.
    File,
    /// A block device.
    Device,
}

/// A file or block device, opened read-only.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    file: File,
    kind: TargetKind,
    size: Bytes,
}

/// Why a target could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The operating system refused.
    #[error("cannot open {}: {source}", path.display())]
    Os {
        /// The path as given.
        path: PathBuf,
        /// Its error.
        source: io::Error,
    },
    /// It exists, but is a directory, a socket, a terminal …
    #[error("{} is {found}; expected a disk image, a file on a mounted filesystem, or a block device", path.display())]
    WrongType {
        /// The path as given.
        path: PathBuf,
        /// What it is, with its article.
        found: &'static str,
    },
}

impl Target {
    /// Opens `path` for reading, never for writing, without waiting for anybody (a FIFO has no writer to wait for).
    ///
    /// # Errors
    /// [`OpenError`] when it cannot be opened or is neither a regular file nor a block device.
    pub fn open(path: &Path) -> Result<Target, OpenError> {
        let os = |source| OpenError::Os {
            path: path.to_owned(),
            source,
        };
        let file = open_read_only(path).map_err(os)?;
        let metadata = file.metadata().map_err(os)?;
        let (kind, size) = if metadata.is_file() {
            (TargetKind::File, Bytes::new(metadata.len()))
        } else if is_block_device(metadata.file_type()) {
            // The length of a device is where its end is; metadata says 0.
            (
                TargetKind::Device,
                Bytes::new((&file).seek(SeekFrom::End(0)).map_err(os)?),
            )
        } else {
            return Err(OpenError::WrongType {
                path: path.to_owned(),
                found: describe(metadata.file_type()),
            });
        };
        Ok(Target {
            path: path.to_owned(),
            file,
            kind,
            size,
        })
    }

    /// The path as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Regular file or block device.
    #[must_use]
    pub fn kind(&self) -> TargetKind {
        self.kind
    }

    /// The open file, for system calls that describe it.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }
}

#[cfg(unix)]
fn open_read_only(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    // O_NONBLOCK: opening a FIFO or a drive without a medium must not wait.
    let nonblock = i32::try_from(NONBLOCK).unwrap_or(0);
    OpenOptions::new()
        .read(true)
        .custom_flags(nonblock)
        .open(path)
}

#[cfg(target_os = "linux")]
const NONBLOCK: u32 = rustix::fs::OFlags::NONBLOCK.bits();
#[cfg(all(unix, not(target_os = "linux")))]
const NONBLOCK: u32 = 0x4;

#[cfg(not(unix))]
fn open_read_only(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
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
fn describe(file_type: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if file_type.is_dir() {
        "a directory"
    } else if file_type.is_fifo() {
        "a FIFO"
    } else if file_type.is_socket() {
        "a socket"
    } else if file_type.is_char_device() {
        "a character device"
    } else {
        "not a regular file"
    }
}

#[cfg(not(unix))]
fn describe(file_type: FileType) -> &'static str {
    if file_type.is_dir() {
        "a directory"
    } else {
        "not a regular file"
    }
}

impl ReadAt for Target {
    fn size(&self) -> Bytes {
        self.size
    }

    #[cfg(unix)]
    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, buf, offset.get())
    }

    #[cfg(windows)]
    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.file, buf, offset.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_length_and_bytes() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("image");
        std::fs::write(&path, b"0123456789").expect("write");
        let target = Target::open(&path).expect("opens");
        assert_eq!(
            (target.kind(), target.size()),
            (TargetKind::File, Bytes::new(10))
        );
        let mut buf = [0; 4];
        assert_eq!(target.read_at(Bytes::new(8), &mut buf).expect("reads"), 2);
        assert_eq!(&buf[..2], b"89");
    }

    #[test]
    fn what_is_not_a_file_is_named() {
        let error = Target::open(Path::new("/")).expect_err("a directory");
        assert_eq!(
            error.to_string(),
            "/ is a directory; expected a disk image, a file on a mounted filesystem, or a block device"
        );
        let error = Target::open(Path::new("/nonexistent/x")).expect_err("missing");
        assert!(matches!(error, OpenError::Os { .. }));
    }

    #[cfg(unix)]
    #[test]
    fn a_fifo_is_refused_without_waiting() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("fifo");
        let made = std::process::Command::new("mkfifo")
            .arg(&path)
            .status()
            .expect("mkfifo runs");
        assert!(made.success());
        let error = Target::open(&path).expect_err("a FIFO");
        assert!(error.to_string().contains("is a FIFO"), "{error}");
    }
}
