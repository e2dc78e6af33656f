use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use straddle_geometry::Bytes;

use crate::found::real_path;
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
    /// Found out when it is asked for, which it is of few; an open file on Linux can tell at any time.
    real: OnceLock<Option<PathBuf>>,
    file: File,
    kind: TargetKind,
    size: Bytes,
    /// What was read by [`Target::head`].
    head: OnceLock<Vec<u8>>,
}

/// As much of a target's beginning as [`Target::head`] keeps.
const HEAD: usize = 8 << 10;

/// Why a target could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The operating system refused.
    #[error("cannot open {}: {source}{}", path.display(), device_called(path, source))]
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

/// `; there is a device /dev/sda`, for those who leave out the folder; and for a pattern that the shell left as it is, that nothing has such a name.
fn device_called(path: &Path, source: &io::Error) -> String {
    if path.to_string_lossy().contains(['*', '?']) {
        return "; no file here has a name of this pattern".to_owned();
    }
    let device = Path::new("/dev").join(path);
    let is_name = path.components().count() == 1 && path.is_relative();
    match source.kind() == io::ErrorKind::NotFound && is_name && device.exists() {
        true => format!("; there is a device {}", device.display()),
        false => String::new(),
    }
}

impl Target {
    /// Opens `path` for reading, never for writing. What is neither a regular file nor a block device is not opened.
    ///
    /// # Errors
    /// [`OpenError`] when it cannot be opened or is neither a regular file nor a block device.
    pub fn open(path: &Path) -> Result<Target, OpenError> {
        // What can be asked of a file there is not known of a device.
        #[cfg(windows)]
        if crate::is_device(path) {
            return match crate::windows::open_device(path) {
                Ok((file, size)) => {
                    Ok(Target::new(path.to_owned(), file, TargetKind::Device, size))
                }
                Err(source) => Err(OpenError::Os {
                    path: path.to_owned(),
                    source,
                }),
            };
        }
        Found::look(path)?.open()
    }

    /// The same for what was found in a listed folder, where symbolic links are left alone: one that has taken the place of what was listed
    /// is not followed.
    ///
    /// # Errors
    /// Those of [`Self::open`]; [`OpenError::WrongType`] for a symbolic link.
    pub fn open_listed(path: &Path) -> Result<Target, OpenError> {
        Found::look_no_further(path)?.open()
    }

    pub(crate) fn new(path: PathBuf, file: File, kind: TargetKind, size: Bytes) -> Target {
        let target = Target {
            path,
            real: OnceLock::new(),
            file,
            kind,
            size,
            head: OnceLock::new(),
        };
        if !cfg!(target_os = "linux") {
            // Later another file may have its name.
            let _ = target.real_path();
        }
        target
    }

    /// The path as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path without symbolic links, of this file and not of another one that has taken its name; `None` where it could
    /// not be had.
    #[must_use]
    pub fn real_path(&self) -> Option<&Path> {
        let real = || real_path(&self.file, &self.path).ok();
        self.real.get_or_init(real).as_deref()
    }

    /// Regular file or block device.
    #[must_use]
    pub fn kind(&self) -> TargetKind {
        self.kind
    }

    /// The first 8 KiB, or as much as there is. They are kept: whoever reads them from here on gets them from memory.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn head(&self) -> io::Result<&[u8]> {
        if let Some(head) = self.head.get() {
            return Ok(head);
        }
        let mut head = Vec::with_capacity(HEAD);
        while head.len() < HEAD {
            let at = Bytes::new(u64::try_from(head.len()).unwrap_or(u64::MAX));
            match self.append_at(at, HEAD - head.len(), &mut head) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.head.get_or_init(|| head))
    }

    /// What is kept of the `len` bytes at `offset`, when it is all of them.
    fn kept(&self, offset: Bytes, len: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset.get()).ok()?;
        self.head.get()?.get(start..start.checked_add(len)?)
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
        if let Some(kept) = self.kept(offset, buf.len()) {
            buf.copy_from_slice(kept);
            return Ok(buf.len());
        }
        std::os::unix::fs::FileExt::read_at(&self.file, buf, offset.get())
    }

    #[cfg(target_os = "linux")]
    fn append_at(&self, offset: Bytes, len: usize, buf: &mut Vec<u8>) -> io::Result<usize> {
        if let Some(kept) = self.kept(offset, len) {
            buf.extend_from_slice(kept);
            return Ok(len);
        }
        // Into memory that was not filled before.
        buf.reserve_exact(len);
        let most = buf.len() + len;
        let spare = rustix::buffer::spare_capacity(buf);
        let read = rustix::io::pread(&self.file, spare, offset.get())?;
        buf.truncate(most);
        Ok(read.min(len))
    }

    #[cfg(target_os = "linux")]
    fn data_from(&self, offset: Bytes) -> Bytes {
        crate::linux::data_from(&self.file, offset, self.size)
    }

    #[cfg(windows)]
    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        if let Some(kept) = self.kept(offset, buf.len()) {
            buf.copy_from_slice(kept);
            return Ok(buf.len());
        }
        if self.kind == TargetKind::Device {
            return crate::windows::read_device(&self.file, self.size, offset, buf);
        }
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
        std::fs::write(&path, b"abcdefghij").expect("write");
        assert_eq!(target.head().expect("reads"), b"abcdefghij");
        std::fs::write(&path, b"klmnopqrst").expect("write");
        assert_eq!(target.read_at(Bytes::new(2), &mut buf).expect("reads"), 4);
        assert_eq!(&buf, b"cdef", "what is kept is not read again");
        let mut read = b"..".to_vec();
        let appended = target.append_at(Bytes::new(8), 4, &mut read);
        assert_eq!((appended.expect("reads"), &*read), (2, &b"..st"[..]));
    }

    #[cfg(unix)]
    #[test]
    fn a_device_of_that_name_is_named() {
        let said = |name: &str| {
            let opened = Target::open(Path::new(name));
            opened
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        let missing = "No such file or directory (os error 2)";
        assert_eq!(
            said("zero"),
            format!("cannot open zero: {missing}; there is a device /dev/zero")
        );
        for name in ["no-such-device", "./zero", "/zero", ".."] {
            assert!(!said(name).contains("there is a device"), "{name}");
        }
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
