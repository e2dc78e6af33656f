//! The live Windows host, by system calls: no WMI, no PowerShell and no child process.
//!
//! [`answer`] decodes what the system writes into a caller's buffer. It is safe Rust that runs on every system, so a captured
//! answer is read anywhere as it was read on the host. [`host`] puts together what disks, volumes and filesystems answer; [`file()`]
//! follows a file through its extents.

pub mod answer;
mod asked;
mod contents;
mod disk;
mod dynamic;
mod extents;
mod file;
mod host;
mod machine;
mod question;
mod volume;

pub use file::file;
pub use host::host;
pub(crate) use question::FOLDER;

use crate::linux::Root;

/// Whether a root is a Windows host: this one, or one that was captured.
#[must_use]
pub fn is_windows(root: &Root) -> bool {
    match root.is_live() {
        true => cfg!(windows),
        false => root.has_directory(FOLDER),
    }
}
