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

/// Heads, and sectors on a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    heads: u64,
    sectors: u64,
}

/// `BIOS cylinder,head,sector geometry: 38913,255,63.  Each cylinder is 8225kB.`, in any language.
pub(super) fn geometry(line: &Line<'_>) -> Option<Geometry> {
    let (_, value) = line.text.split_once([':', '：'])?;
    // A place has nothing behind it.
    let (value, _) = value.split_once('.')?;
    let [_, heads, sectors] = triple(value)?;
    let usual = (1..=256).contains(&heads) && (1..=255).contains(&sectors);
    usual.then_some(Geometry { heads, sectors })
}

/// `19457,80,62`: a cylinder, a head and a sector.
pub(super) fn triple(text: &str) -> Option<[u64; 3]> {
    let mut parts = text.trim().split(',').map(|part| part.parse().ok());
    let three = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(three)
}

impl Geometry {
    /// Puts a place that only the geometry gives a meaning in other words: cylinders with their length behind them, cylinder, head
    /// and sector as sectors.
    pub(super) fn spell_out(self, text: &mut String) {
        if text.ends_with("cyl") {
            text.push_str(&(self.heads * self.sectors * 512).to_string());
        } else if let Some(sector) = triple(text).and_then(|place| self.sector(place)) {
            *text = format!("{sector}s");
        }
    }

    /// The same for the length of a disk: what is shown is its last sector.
    pub(super) fn spell_out_length(self, text: &mut String) {
        let last = triple(text).and_then(|place| self.sector(place));
        match last.and_then(|last| last.checked_add(1)) {
            Some(count) => *text = format!("{count}s"),
            None => self.spell_out(text),
        }
    }

    fn sector(self, [cylinder, head, sector]: [u64; 3]) -> Option<u64> {
        let track = cylinder.checked_mul(self.heads)?.checked_add(head)?;
        track.checked_mul(self.sectors)?.checked_add(sector)
    }
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

    #[test]
    fn cylinder_head_and_sector_are_sectors_once_the_geometry_is_known() {
        let line = Line {
            number: 1,
            text: "BIOS cylinder,head,sector geometry: 19457,255,63.  Each cylinder is 8225kB.",
        };
        let geometry = geometry(&line).expect("a geometry");
        let spelled = |text: &str| {
            let mut text = text.to_owned();
            geometry.spell_out(&mut text);
            text
        };
        assert_eq!(spelled("0,1,0"), "63s");
        assert_eq!(spelled("1275,0,0"), "20482875s");
        assert_eq!(spelled("3cyl"), "3cyl8225280");
        assert_eq!(spelled("2048s"), "2048s");
        let mut length = "19457,80,62".to_owned();
        geometry.spell_out_length(&mut length);
        assert_eq!(length, "312581808s");
    }
}
