//! Room for test files on the filesystem that they are to lie on.

use std::path::Path;
use straddle_geometry::Bytes;

use super::TargetError;
use super::label::LABEL;

/// The directory that a file lies in.
#[cfg(any(target_os = "linux", windows))]
fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

#[cfg(target_os = "linux")]
use straddle_io::linux::available;
#[cfg(windows)]
use straddle_io::windows::available;

/// Bytes that a test file at `path` could have; `None` where the system does not say.
#[cfg(any(target_os = "linux", windows))]
#[must_use]
pub fn space(path: &Path) -> Option<Bytes> {
    let available = available(directory(path)).ok()?;
    Some(available.checked_sub(LABEL).unwrap_or(Bytes::ZERO))
}

#[cfg(not(any(target_os = "linux", windows)))]
#[must_use]
pub fn space(_: &Path) -> Option<Bytes> {
    None
}

#[cfg(any(target_os = "linux", windows))]
pub(super) fn check_space(path: &Path, needed: Bytes) -> Result<(), TargetError> {
    let available = available(directory(path)).map_err(|source| TargetError::Os {
        doing: "look at the filesystem of",
        path: path.to_owned(),
        source,
    })?;
    if available < needed.checked_add(LABEL).unwrap_or(Bytes::MAX) {
        return Err(TargetError::Space {
            path: path.to_owned(),
            needed,
            available,
        });
    }
    Ok(())
}

#[cfg(not(any(target_os = "linux", windows)))]
pub(super) fn check_space(_: &Path, _: Bytes) -> Result<(), TargetError> {
    Ok(())
}
