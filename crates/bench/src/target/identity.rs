//! How a file or device is known again.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io;

/// Which file or device a path led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The device of the filesystem that it lies on; of a device, its own number.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

impl Identity {
    /// That of an open file or device.
    ///
    /// # Errors
    /// Those of the system.
    #[cfg(unix)]
    pub(super) fn of(file: &File) -> io::Result<Identity> {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        let metadata = file.metadata()?;
        // The node of a device may be re-created while the device stays.
        if metadata.file_type().is_block_device() {
            return Ok(Identity {
                device: metadata.rdev(),
                inode: 0,
            });
        }
        Ok(Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }

    /// The serial number of the volume and the number of the file on it; of a disk, its number, and of what is neither, nothing.
    ///
    /// # Errors
    /// Those of the system.
    #[cfg(windows)]
    #[expect(clippy::unnecessary_wraps, reason = "other systems can fail")]
    pub(super) fn of(file: &File) -> io::Result<Identity> {
        let (device, inode) = straddle_io::windows::file_number(file)
            .or_else(|_| Ok::<_, io::Error>((straddle_io::windows::disk_number(file)?, 0)))
            .unwrap_or_default();
        Ok(Identity { device, inode })
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "inode {} of device {:#x}", self.inode, self.device)
    }
}
