//! How a file or device is known again.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::Metadata;

/// Which file or device a path led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The device of the filesystem that it lies on; of a device, its own number.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

impl Identity {
    #[cfg(unix)]
    pub(super) fn from_metadata(metadata: &Metadata) -> Identity {
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
    pub(super) fn from_metadata(metadata: &Metadata) -> Identity {
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
