use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use straddle_geometry::Bytes;

use crate::{Found, ReadAt};

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
    real: Option<PathBuf>,
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
    /// Opens `path` for reading, never for writing. What is neither a regular file nor a block device is not opened.
    ///
    /// # Errors
    /// [`OpenError`] when it cannot be opened or is neither a regular file nor a block device.
    pub fn open(path: &Path) -> Result<Target, OpenError> {
        Found::look(path)?.open()
    }

    pub(crate) fn new(
        path: PathBuf,
        real: Option<PathBuf>,
        file: File,
        kind: TargetKind,
        size: Bytes,
    ) -> Target {
        Target {
            path,
            real,
            file,
            kind,
            size,
        }
    }

    /// The path as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path without symbolic links, as it was when it was opened; `None` where it could not be had.
    #[must_use]
    pub fn real_path(&self) -> Option<&Path> {
        self.real.as_deref()
    }

    /// Regular file or block device.
    #[must_use]
    pub fn kind(&self) -> TargetKind {
        self.kind
    }

    /// The open file, for whoever holds it from here on.
    #[must_use]
    pub fn into_file(self) -> File {
        self.file
    }

    /// The open file, for system calls that describe it.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
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

    #[cfg(target_os = "linux")]
    fn data_from(&self, offset: Bytes) -> Bytes {
        match rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Data(offset.get())) {
            Ok(at) => Bytes::new(at),
            // Nothing but a hole up to the end.
            Err(rustix::io::Errno::NXIO) => self.size.max(offset),
            Err(_) => offset,
        }
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
}
