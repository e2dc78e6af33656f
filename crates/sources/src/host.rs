//! A machine of any system, live or captured.

use straddle_stack::{Layer, LayerKind, Stack};

use crate::linux::{self, Root};
use crate::part::of;
use crate::place::Place;
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

/// The filesystem that a directory lies on, down to the disks, and the extents of `files`.
///
/// # Errors
/// [`SourceError::File`] when it lies on no disk that is known; else as [`host`].
pub fn place(
    root: &Root,
    path: &str,
    files: &[String],
    settings: &Settings,
) -> Result<Place, SourceError> {
    if windows::is_windows(root) {
        let stack = windows::file(root, path, settings)?;
        let is_it = |layer: &Layer| layer.kind == LayerKind::File && layer.name == path;
        let it = stack.iter().find(|(_, layer)| is_it(layer));
        let mut wanted = it.map_or_else(Vec::new, |(id, _)| stack.foundations(id));
        wanted.sort_unstable();
        let mut below = of(&stack, &wanted);
        below.survey(&settings.io);
        return Ok(Place {
            stack: below,
            with_files: stack,
            files: Vec::new(),
        });
    }
    linux::place(root, path, files, settings)
}
