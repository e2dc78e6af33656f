//! A machine of any system, live or captured.

use straddle_stack::Stack;

use crate::linux::{self, Root};
use crate::{Settings, SourceError, windows};

/// The storage of a machine.
///
/// # Errors
/// As [`linux::host`] and [`windows::host`].
pub fn host(root: &Root, settings: &Settings) -> Result<Stack, SourceError> {
    match windows::is_windows(root) {
        true => windows::host(root, settings),
        false => linux::host(root, settings),
    }
}

/// A file of a machine, followed down to its disks.
///
/// # Errors
/// As [`linux::file`] and [`windows::file`].
pub fn file(root: &Root, path: &str, settings: &Settings) -> Result<Stack, SourceError> {
    match windows::is_windows(root) {
        true => windows::file(root, path, settings),
        false => linux::file(root, path, settings),
    }
}
