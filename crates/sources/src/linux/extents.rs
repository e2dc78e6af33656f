//! Extents of files, as answers have them.

use straddle_geometry::{Bytes, Extent};

/// A line `LOGICAL PHYSICAL LENGTH FLAGS`.
pub(super) fn extent(line: &str) -> Option<(Extent, Bytes, u32)> {
    let mut words = line.split_ascii_whitespace();
    let mut number = || words.next()?.parse().ok().map(Bytes::new);
    let (logical, physical, len) = (number()?, number()?, number()?);
    let flags = words.next()?.strip_prefix("0x")?;
    let flags = u32::from_str_radix(flags, 16).ok()?;
    physical.checked_add(len)?;
    Some((Extent::new(logical, len)?, physical, flags))
}
