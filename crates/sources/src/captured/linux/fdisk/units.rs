//! What starts and ends are counted in: sectors, cylinders, blocks or mebibytes.

use straddle_geometry::Bytes;
use straddle_stack::Interval;

use super::integers;
use super::table::{Figure, Row};

/// A unit, and how figures in it are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Units {
    /// Its length.
    pub(super) bytes: u64,
    /// A sector of the disk.
    pub(super) sector: u64,
    /// fdisk counts cylinders from 1 and shows the one that a byte lies in. sfdisk counts from 0 and marks what it rounds.
    within: bool,
}

/// Heads and sectors on a track, as some tools say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    pub(super) heads: u64,
    pub(super) sectors: u64,
}

/// `255 heads, 63 sectors, 2434 cylinders`, `255 heads, 63 sectors/track, 38913 cylinders`, `255 Köpfe, 63 Sektoren/Spur, …`, `38913 cylinders, 255 heads, 63 sectors/track`.
pub(super) fn geometry(text: &str) -> Option<Geometry> {
    let (mut last, mut heads) = (None, false);
    for part in text.split([',', ':', '，']) {
        let mut words = part.split_whitespace();
        let number: Option<u64> = words.next().and_then(|word| word.parse().ok());
        let per_track = part.contains('/') || heads && part.contains("sectors");
        if let (true, Some(sectors), Some(count)) = (per_track, number, last)
            && (1..=255).contains(&sectors)
            && (1..=256).contains(&count)
        {
            return Some(Geometry {
                heads: count,
                sectors,
            });
        }
        last = number;
        heads = part.contains("heads");
    }
    None
}

impl Units {
    pub(super) const fn sectors(sector: u64) -> Units {
        Units {
            bytes: sector,
            sector,
            within: false,
        }
    }

    const fn of(bytes: u64, within: bool) -> Units {
        Units {
            bytes,
            sector: 512,
            within,
        }
    }

    fn between(self, from: u64, to: u64) -> Option<Interval> {
        Interval::new(Bytes::new(from), Bytes::new(to))
    }

    /// Where what starts at this figure can start.
    pub(super) fn start(self, figure: Figure) -> Option<Interval> {
        let at = |count: u64| self.bytes.checked_mul(count);
        let Figure { count, mark } = figure;
        if self.within {
            let from = at(count.checked_sub(1)?)?;
            return self.between(from, at(count)?.checked_sub(self.sector)?);
        }
        match mark {
            Some('+') if self.bytes > self.sector => self.between(
                at(count)? + self.sector,
                at(count.checked_add(1)?)?.checked_sub(self.sector)?,
            ),
            Some('-') if self.bytes > self.sector => self.between(
                at(count.checked_sub(1)?)? + self.sector,
                at(count)?.checked_sub(self.sector)?,
            ),
            _ => self.between(at(count)?, at(count)?),
        }
    }

    /// The first byte behind what ends at this figure.
    pub(super) fn end(self, figure: Figure) -> Option<Interval> {
        let at = |count: u64| self.bytes.checked_mul(count);
        let Figure { count, mark } = figure;
        if self.within {
            let from = at(count.checked_sub(1)?)?.checked_add(self.sector)?;
            return self.between(from, at(count)?);
        }
        let end = at(count.checked_add(1)?)?;
        match mark {
            Some('-') if self.bytes > self.sector => self.between(at(count)? + self.sector, end),
            Some('+') if self.bytes > self.sector => {
                self.between(end, end.checked_add(self.bytes)?)
            }
            _ => self.between(end, end),
        }
    }
}

/// What a number of blocks of 1,024 bytes stands for; half of one may be left over.
pub(super) fn kib(blocks: Figure) -> Option<Interval> {
    let bytes = blocks.count.checked_mul(1024)?;
    let bytes = match blocks.mark {
        Some('+') => bytes.checked_add(512)?,
        Some('-') => bytes.checked_sub(512)?,
        _ => bytes,
    };
    Some(Interval::exact(Bytes::new(bytes)))
}

/// `sectors of 1 * 512 = 512 bytes`; `cylinders of 8225280 bytes, blocks of 1024 bytes, counting from 0` of sfdisk.
pub(super) fn units(text: &str) -> Option<Units> {
    if let Some((left, right)) = text.split_once(['*', '×']) {
        let digits = |c: char| !c.is_ascii_digit();
        let count: u64 = left.trim_end().rsplit(digits).next()?.parse().ok()?;
        let size: u64 = right.trim_start().split(digits).next()?.parse().ok()?;
        if count == 0 || size == 0 {
            return None;
        }
        return Some(Units {
            bytes: count.checked_mul(size)?,
            sector: size,
            within: count > 1,
        });
    }
    match integers(text).as_slice() {
        [bytes, 0] | [bytes, 1024, 0] if *bytes >= 512 => Some(Units::of(*bytes, false)),
        _ => None,
    }
}

/// Geometries of old disks and adapters: heads and sectors on a track.
const USUAL: [(u64, u64); 7] = [
    (255, 63),
    (240, 63),
    (128, 63),
    (64, 32),
    (16, 63),
    (224, 56),
    (32, 63),
];

/// The unit by its arithmetic, when no line says it: blocks ÷ (end − start + 1). Whether it is sure.
pub(super) fn deduced(rows: &[Row<'_>], said: Option<Geometry>) -> Option<(Units, bool)> {
    let pairs: Vec<(u64, u64)> = rows
        .iter()
        .filter(|row| !row.is_empty())
        .filter_map(|row| Some((row.blocks?.count, row.span()?)))
        .collect();
    let all = |test: &dyn Fn(u64, u64) -> bool| {
        !pairs.is_empty() && pairs.iter().all(|(blocks, span)| test(*blocks, *span))
    };
    if all(&|blocks, span| blocks == span / 2 || blocks == span.div_ceil(2)) {
        return None;
    }
    // A partition of n units is as long as n of them, or up to two shorter.
    let fits = |unit: u64| {
        all(&|blocks, span| {
            let bytes = blocks.saturating_mul(1024);
            bytes <= span.saturating_mul(unit).saturating_add(1024)
                && bytes.saturating_add(1024) > span.saturating_sub(2).saturating_mul(unit)
                && blocks / span > 1
        })
    };
    let from_zero = rows.iter().any(|row| {
        row.start
            .is_some_and(|start| start.count == 0 || start.mark.is_some())
            && !row.is_empty()
    });
    if all(&|blocks, span| blocks == span || blocks + 1 == span) {
        return Some((Units::of(1024, false), true));
    }
    let cylinder = |heads: u64, sectors: u64| heads * sectors * 512;
    if let Some(geometry) = said
        && fits(cylinder(geometry.heads, geometry.sectors))
    {
        let bytes = cylinder(geometry.heads, geometry.sectors);
        return Some((Units::of(bytes, !from_zero), true));
    }
    if fits(1 << 20) {
        return Some((Units::of(1 << 20, false), true));
    }
    let mut usual = USUAL
        .iter()
        .map(|(heads, sectors)| cylinder(*heads, *sectors));
    let found = usual.find(|bytes| fits(*bytes))?;
    Some((Units::of(found, !from_zero), false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_from_their_arithmetic() {
        let of = |text| units(text).map(|unit| (unit.bytes, unit.sector, unit.within));
        let cylinders = Some((8_225_280, 512, true));
        assert_eq!(of("cylinders of 16065 * 512 = 8225280 bytes"), cylinders);
        assert_eq!(
            of("secteur de 1 × 512 = 512 octets"),
            Some((512, 512, false))
        );
        assert_eq!(of("セクタ (1 * 512 = 512 バイト)"), Some((512, 512, false)));
        let old = "cylinders of 8225280 bytes, blocks of 1024 bytes, counting from 0";
        assert_eq!(of(old), Some((8_225_280, 512, false)));
        assert_eq!(of("sectors of 512 bytes"), None);
        assert_eq!(of("cylinders of 160"), None);
    }

    #[test]
    fn geometries_are_said_in_several_orders() {
        let expected = Some(Geometry {
            heads: 255,
            sectors: 63,
        });
        for text in [
            "255 heads, 63 sectors/track, 38913 cylinders",
            "Disk /dev/hda: 255 heads, 63 sectors, 2434 cylinders",
            "255 Köpfe, 63 Sektoren/Spur, 38913 Zylinder, zusammen 625143000 Sektoren",
            "Disk /dev/sda: 38913 cylinders, 255 heads, 63 sectors/track",
        ] {
            assert_eq!(geometry(text), expected, "{text}");
        }
        assert_eq!(
            geometry("Sector size (logical/physical): 512 bytes / 4096 bytes"),
            None
        );
    }
}
