//! What is measured on: a file that this program made, a device whose data may be destroyed, or anything that is only
//! read.
//!
//! Nothing else is ever opened for writing. A file that was made is removed when its [`Target`] is dropped.

mod create;
mod device;
mod error;
mod limits;
mod reusable;
mod signatures;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use straddle_geometry::Bytes;
use straddle_io::Opening;
use straddle_io::engine::Durability;

pub use create::{Draft, FILE_NAME, place, remove_unfilled, taken};
pub use device::Consent;
pub use error::TargetError;
pub use limits::{Limits, LimitsFrom};
pub use reusable::{ReusableError, TestFile};

use crate::plan::Plan;
use crate::results::Medium;

/// A file or device of known length, which may be read, and written as far as it was asked for and granted.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    size: Bytes,
    medium: Medium,
    writable: bool,
    limits: Limits,
    limits_from: LimitsFrom,
    identity: Identity,
    /// The file is ours, to be removed.
    made: Option<create::Made>,
    /// As long as it is open, nobody else can hold or mount the device.
    _claim: Option<File>,
}

/// Which file or device a path led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The device of the filesystem that it lies on; of a device, its own number.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

impl Identity {
    fn of(path: &Path) -> io::Result<Identity> {
        Ok(Identity::from_metadata(&std::fs::metadata(path)?))
    }

    #[cfg(unix)]
    fn from_metadata(metadata: &Metadata) -> Identity {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        // The node of a device may be made anew while the device stays.
        if metadata.file_type().is_block_device() {
            return Identity {
                device: metadata.rdev(),
                inode: 0,
            };
        }
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// The standard library tells no file number here; when it was created stands in for it.
    #[cfg(not(unix))]
    fn from_metadata(metadata: &Metadata) -> Identity {
        let created = metadata.created().ok();
        let since = created.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let nanoseconds = since.map_or(0, |since| since.as_nanos());
        Identity {
            device: 0,
            inode: u64::try_from(nanoseconds).unwrap_or(u64::MAX),
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "inode {} of device {:#x}", self.inode, self.device)
    }
}

impl Target {
    /// A file or device that exists, for reading only.
    ///
    /// # Errors
    /// [`TargetError`] when it cannot be opened, or not with direct I/O where that is asked for.
    pub fn existing(path: &Path, direct: bool) -> Result<Target, TargetError> {
        let os = |source| TargetError::Os {
            doing: "open",
            path: path.to_owned(),
            source,
        };
        let kind = std::fs::metadata(path).map_err(os)?;
        let is_device = is_block_device(path);
        if !kind.is_file() && !is_device {
            let found = if kind.is_dir() {
                "a directory"
            } else {
                "no regular file"
            };
            return Err(TargetError::WrongType {
                path: path.to_owned(),
                found: found.to_owned(),
            });
        }
        let file = Opening::default().open(path).map_err(os)?;
        let (limits, limits_from) = if is_device {
            Limits::of_device(path, &file, direct)?
        } else {
            Limits::of_file(path, direct)?
        };
        Ok(Target {
            path: path.to_owned(),
            size: size_of(&file).map_err(os)?,
            medium: match (is_device, direct) {
                (false, true) => Medium::FileDirect,
                (false, false) => Medium::FileBuffered,
                (true, true) => Medium::DeviceDirect,
                (true, false) => Medium::DeviceBuffered,
            },
            writable: false,
            limits,
            limits_from,
            identity: Identity::from_metadata(&file.metadata().map_err(os)?),
            made: None,
            _claim: None,
        })
    }

    /// No storage at all, `size` bytes of it: for the engine that makes no requests.
    ///
    /// # Errors
    /// When this system has no null device.
    pub fn null(size: Bytes) -> Result<Target, TargetError> {
        let path = Path::new(if cfg!(windows) { "NUL" } else { "/dev/null" });
        let identity = Identity::of(path).map_err(|source| TargetError::Os {
            doing: "open",
            path: path.to_owned(),
            source,
        })?;
        Ok(Target {
            path: path.to_owned(),
            size,
            medium: Medium::Null,
            writable: true,
            limits: Limits::any(),
            limits_from: LimitsFrom::Nothing,
            identity,
            made: None,
            _claim: None,
        })
    }

    /// The path as the user named it, or the file in the directory that was named.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// What kind of thing it is, and whether the page cache is in the way.
    #[must_use]
    pub fn medium(&self) -> Medium {
        self.medium
    }

    /// What requests have to be aligned to.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Where those are known from.
    #[must_use]
    pub fn limits_from(&self) -> LimitsFrom {
        self.limits_from
    }

    /// Holds what a plan asks for against the limits.
    ///
    /// # Errors
    /// [`TargetError::Misaligned`] for an offset or a size that cannot be had.
    pub fn check(&self, plan: &Plan) -> Result<(), TargetError> {
        self.limits.check(self.limits_from, plan, &self.path)
    }

    /// Which file or device it is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// True when it is a file that this program made.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.made.is_some()
    }

    /// True when it may be written to.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// Leaves the file where it is when this is dropped.
    pub fn keep(&mut self) {
        if let Some(made) = &mut self.made {
            made.keep = true;
        }
    }

    /// Takes [`Target::keep`] back.
    pub fn remove_on_drop(&mut self) {
        if let Some(made) = &mut self.made {
            made.keep = false;
        }
    }

    /// A new handle, one for each thread: where handles are locked (Windows), a shared one would make threads wait for each
    /// other.
    ///
    /// # Errors
    /// Those of the system; that the path leads to another file or device by now.
    pub fn handle(&self, durability: Durability) -> io::Result<File> {
        let opening = Opening {
            write: self.writable,
            direct: matches!(self.medium, Medium::FileDirect | Medium::DeviceDirect),
            through: durability == Durability::WriteThrough,
            ..Opening::default()
        };
        let file = opening.open(&self.path)?;
        let found = Identity::from_metadata(&file.metadata()?);
        if self.medium != Medium::Null && found != self.identity {
            return Err(io::Error::other(TargetError::Changed {
                path: self.path.clone(),
                found: found.to_string(),
                expected: self.identity.to_string(),
            }));
        }
        Ok(file)
    }
}

/// The length of a file or device; metadata says 0 for a device.
fn size_of(mut file: &File) -> io::Result<Bytes> {
    Ok(Bytes::new(file.seek(SeekFrom::End(0))?))
}

/// True when the path leads to a block device.
#[must_use]
#[cfg(unix)]
pub fn is_block_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device())
}

/// True when the path leads to a block device.
#[must_use]
#[cfg(not(unix))]
pub fn is_block_device(_: &Path) -> bool {
    false
}

/// That writing to a device was not agreed to.
#[must_use]
pub fn no_consent(path: &Path) -> TargetError {
    TargetError::NoConsent {
        path: path.to_owned(),
        name: device::name_of(path),
    }
}
