//! A Linux host as a stack: from sysfs, the mount table and a few system calls, live or captured.

pub(crate) mod allowed;
mod answer;
pub(crate) mod archive;
mod bcache;
mod contents;
mod devices;
pub(crate) mod dm;
pub(crate) mod entry;
mod extents;
mod files;
mod filesystems;
mod host;
mod loops;
mod md;
mod mounts;
mod place;
pub(crate) mod pseudonyms;
mod queue;
mod root;
mod swaps;
pub(crate) mod tree;
pub(crate) mod words;

pub(crate) use root::NoDevice;
pub use root::Root;

use straddle_stack::Stack;

use crate::place::Place;
use crate::{Settings, SourceError};
use host::Host;

/// Everything below and on the mounted filesystems of a host.
///
/// Facts are recorded as the kernel reports them, its lies included; judging them is the rules' business. What is
/// missing or contradictory becomes an anomaly of the layer it belongs to.
///
/// # Errors
/// [`SourceError::NotAHost`] when the root holds no block devices' directory.
pub fn host(root: &Root, settings: &Settings) -> Result<Stack, SourceError> {
    let mut host = Host::read(root, &settings.overrides)?;
    host.build_all();
    let mut stack = host.into_stack();
    stack.survey(&settings.io);
    Ok(stack)
}

/// One file on a mounted filesystem, its extents, and what they rest on down to the disks; on top, the pages of a
/// database, the partitions of a disk image, or the guest of a virtual disk where it is one. A block device's path gives
/// that device and all above and below it.
///
/// # Errors
/// [`SourceError::File`] when nothing is known about the file, [`SourceError::NotFollowed`] when
/// [`Settings::only_when_followed`] asks for that; else as [`host`].
pub fn file(root: &Root, path: &str, settings: &Settings) -> Result<Stack, SourceError> {
    files::file(root, path, settings)
}

/// A directory on a mounted filesystem. See [`place`](crate::place()).
pub(crate) fn place(
    root: &Root,
    path: &str,
    files: &[String],
    settings: &Settings,
) -> Result<Place, SourceError> {
    place::place(root, path, files, settings)
}
