//! A raw image: the bytes of the disk. What is zero is a hole.

use std::path::Path;

use super::error::ImageError;
use super::input::Input;
use super::output::Output;
use super::settings::Settings;

/// Bytes between two reports of progress.
const STEP: u64 = 8 << 20;

pub(super) fn write(
    input: &mut Input<'_>,
    path: &Path,
    _: &mut Settings,
) -> Result<(), ImageError> {
    let mut out = Output::create(path)?;
    data(input, &mut out)?;
    out.finish()
}

/// The disk from the first byte of the file on.
pub(super) fn data(input: &mut Input<'_>, out: &mut Output) -> Result<(), ImageError> {
    let size = input.size();
    let mut at = 0;
    while at < size {
        input.copy(at, STEP.min(size - at), out, || at)?;
        at += STEP;
    }
    out.extend(size)?;
    Ok(())
}
