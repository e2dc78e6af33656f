//! What only Windows can say about files, volumes and disks. Each call is one question, and its answer is the bytes that the system wrote:
//! what they mean is worked out elsewhere, in safe code that runs on every system. All of it reads and changes nothing, but [`Disk`], which is for writing.
//!
//! Everything that can fail fails with the system's own error number, so that "not supported" and "access denied" are told apart.

mod claim;
mod console;
mod control;
mod dependency;
mod device;
mod disk;
pub(crate) mod file;
mod names;
pub(crate) mod positioned;
pub(crate) mod sole;
mod time;
mod token;
mod volume;
mod wide;

pub use claim::{ClaimError, Disk};
pub use console::stop_on_console_events;
pub use control::{MAX_ANSWER, control};
pub use dependency::host_files;
pub(crate) use device::{open_device, read_device};
pub use disk::{disk_number, length, logical_sector};
pub use file::{available, file_number};
pub use names::{disk_interfaces, mount_point_of, paths_of_volume, volume_at, volumes};
pub use time::{ProcessorTimes, process_time, processor_times};
pub use token::is_elevated;
pub use volume::volume_information;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

/// What a handle is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Questions only. Of disks and volumes everybody may ask most.
    Questions,
    /// Its bytes, too, which of disks and volumes only an administrator may read.
    Reading,
}

/// Opens a disk (`\\.\PhysicalDrive0`), a volume (`\\.\C:`, `\\?\Volume{…}`), a file or a directory, and keeps nobody else from it.
///
/// # Errors
/// Those of the system.
pub fn open(path: &Path, access: Access) -> io::Result<File> {
    const READ: u32 = 0x8000_0000;
    const SHARE_ALL: u32 = 0x7;
    /// Without it a directory is not opened. It gives no access that the account has not.
    const BACKUP_SEMANTICS: u32 = 0x0200_0000;
    let access = match access {
        Access::Questions => 0,
        Access::Reading => READ,
    };
    OpenOptions::new()
        .access_mode(access)
        .share_mode(SHARE_ALL)
        .custom_flags(BACKUP_SEMANTICS)
        .open(path)
}
