//! What parted prints for places and lengths: exact in sectors and bytes, rounded in larger units, in cylinders.

use straddle_geometry::Bytes;
use straddle_stack::Interval;

use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::text::Line;

/// What a figure can stand for: `1049kB`, `2048s`, `1048576B`.
pub(super) fn figure(text: &str, sector: u64) -> Option<Interval> {
    let text = text.trim();
    if let Some(count) = text.strip_suffix('s') {
        let bytes = Bytes::new(sector).checked_mul(count.parse().ok()?)?;
        return Some(Interval::exact(bytes));
    }
    if let Some(bytes) = text.strip_suffix('B')
        && let Ok(bytes) = bytes.parse()
    {
        return Some(Interval::exact(Bytes::new(bytes)));
    }
    // Each cylinder is as long as the line about the geometry says.
    if let Some((count, unit)) = text.split_once("cyl") {
        let unit = unit.parse().unwrap_or(CYLINDER);
        let count: u64 = count.parse().ok()?;
        let from = Bytes::new(unit).checked_mul(count)?;
        let to = Bytes::new(unit).checked_mul(count.checked_add(1)?)?;
        return Interval::new(from, to.checked_sub(Bytes::new(512))?);
    }
    // Parted prints `0.00B` for a start of zero.
    if let Some(number) = text.strip_suffix('B')
        && number.bytes().all(|b| matches!(b, b'0' | b'.' | b','))
    {
        return Some(Interval::exact(Bytes::ZERO));
    }
    number::shown(text, Prefix::Decimal, Rounding::Nearest)
}

/// 255 heads, 63 sectors on a track.
const CYLINDER: u64 = 255 * 63 * 512;

/// Longest of `BIOS cylinder,head,sector geometry: 38913,255,63.  Each cylinder is 8225kB.`
pub(super) fn cylinder(lines: &[Line<'_>]) -> Option<u64> {
    lines.iter().find_map(|line| {
        let (_, value) = line.text.split_once("geometry: ")?;
        let mut numbers = value.split('.').next()?.split(',');
        numbers.next()?;
        let heads: u64 = numbers.next()?.trim().parse().ok()?;
        let sectors: u64 = numbers.next()?.trim().parse().ok()?;
        heads
            .checked_mul(sectors)?
            .checked_mul(512)
            .filter(|bytes| *bytes > 0)
    })
}

/// The first byte behind what ends at this figure: parted shows the last sector or byte.
pub(super) fn behind(text: &str, sector: u64) -> Option<Interval> {
    let last = figure(text, sector)?;
    let bytes = last.known().is_some() && text.trim().ends_with('B');
    let to = last
        .to()
        .checked_add(Bytes::new(if bytes { 1 } else { sector }))?;
    match last.known() {
        Some(_) => Some(Interval::exact(to)),
        None => Interval::new(last.from(), to),
    }
}

/// Rounded figures leave only whole sectors.
pub(super) fn whole_sectors(interval: Interval, sector: u64) -> Interval {
    let unit = straddle_geometry::Unit::new(sector);
    unit.and_then(|unit| interval.multiples_of(unit))
        .unwrap_or(interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(text: &str) -> Option<(u64, u64)> {
        figure(text, 512).map(|found| (found.from().get(), found.to().get()))
    }

    #[test]
    fn figures_are_exact_or_leave_open_what_rounding_leaves_open() {
        assert_eq!(ends("2048s"), Some((1_048_576, 1_048_576)));
        assert_eq!(ends("1048576B"), Some((1_048_576, 1_048_576)));
        assert_eq!(ends("1049kB"), Some((1_048_500, 1_049_500)));
        assert_eq!(ends("17,4kB"), Some((17_350, 17_450)));
        assert_eq!(ends("1.00MiB"), Some((1_043_334, 1_053_818)));
        assert_eq!(ends("0.00B"), Some((0, 0)));
        assert_eq!(ends("0,1,2"), None);
        assert_eq!(ends("12%"), None);
    }
}
