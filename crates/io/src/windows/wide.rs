//! Text in UTF-16, which need not be valid: names of files are any units.

use std::ffi::{OsStr, OsString};
use std::os::windows::ffi::{OsStrExt, OsStringExt};

/// Ends with a zero, as the system wants it.
pub(super) fn ended(text: &OsStr) -> Vec<u16> {
    text.encode_wide().chain([0]).collect()
}

/// Up to the first zero.
pub(super) fn text(units: &[u16]) -> OsString {
    let end = units.iter().position(|unit| *unit == 0);
    OsString::from_wide(&units[..end.unwrap_or(units.len())])
}

/// Several texts, each ended by a zero, up to an empty one.
pub(super) fn texts(units: &[u16]) -> Vec<OsString> {
    units
        .split(|unit| *unit == 0)
        .take_while(|one| !one.is_empty())
        .map(OsString::from_wide)
        .collect()
}
