use std::io::Write;

use super::Root;
use crate::SourceError;

/// What a capture holds beyond the host itself.
#[derive(Clone, Debug, Default)]
pub struct CaptureOptions {
    /// Files whose extents are captured too, so that [`file`](super::file) can be asked about them.
    pub files: Vec<String>,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureReport {
    /// Number of files of the host in the archive.
    pub files: usize,
}

/// Writes what [`host`](super::host) and [`file`](super::file) read below `root`, as a gzipped tar.
///
/// # Errors
/// As [`host`](super::host), and [`SourceError::Write`].
pub fn capture(
    _root: &Root,
    _options: &CaptureOptions,
    _out: &mut dyn Write,
) -> Result<CaptureReport, SourceError> {
    Ok(CaptureReport::default())
}

/// The same in the text form.
///
/// # Errors
/// As [`host`](super::host).
pub fn capture_tree(_root: &Root, _options: &CaptureOptions) -> Result<String, SourceError> {
    Ok(String::new())
}
