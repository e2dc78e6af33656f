//! What starts and ends are counted in: sectors, cylinders, blocks or mebibytes.

use straddle_geometry::Bytes;
use straddle_stack::Interval;

use super::integers;
use super::table::{Figure, Row};
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::text::Line;

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
    // A model may end in a nought too: `WDC WD5000AAKX-0`.
    let counts_from_zero = text.contains(',') && text.trim_end().ends_with(" 0");
    match integers(text).as_slice() {
        [bytes, 0] | [bytes, 1024, 0] if *bytes >= 512 && counts_from_zero => {
            Some(Units::of(*bytes, false))
        }
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

/// What a table is counted in by its arithmetic.
pub(super) struct Deduced {
    pub(super) units: Units,
    /// The geometry that the cylinders are of, where it was not said.
    pub(super) geometry: Option<Geometry>,
}

/// The unit by its arithmetic, when no line says it: blocks ÷ (end − start + 1).
pub(super) fn deduced(rows: &[Row<'_>], said: Option<Geometry>) -> Option<Deduced> {
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
    let sure = |units| Deduced {
        units,
        geometry: None,
    };
    if all(&|blocks, span| blocks == span || blocks + 1 == span) {
        return Some(sure(Units::of(1024, false)));
    }
    let cylinder = |heads: u64, sectors: u64| heads * sectors * 512;
    if let Some(geometry) = said
        && fits(cylinder(geometry.heads, geometry.sectors))
    {
        let bytes = cylinder(geometry.heads, geometry.sectors);
        return Some(sure(Units::of(bytes, !from_zero)));
    }
    if fits(1 << 20) {
        return Some(sure(Units::of(1 << 20, false)));
    }
    let mut usual = USUAL.iter();
    let (heads, sectors) = *usual.find(|(heads, sectors)| fits(cylinder(*heads, *sectors)))?;
    Some(Deduced {
        units: Units::of(cylinder(heads, sectors), !from_zero),
        geometry: Some(Geometry { heads, sectors }),
    })
}

/// The length of a sector by the sizes for people, where no line says it and 512 bytes cannot be right, and a row that shows it.
pub(super) fn sector_by_size<'t>(rows: &[Row<'t>]) -> Option<(u64, Line<'t>)> {
    let mut found = None;
    for row in rows.iter().filter(|row| !row.is_empty()) {
        let (Some(count), Some(size)) = (row.count, row.size) else {
            continue;
        };
        let shown = number::shown(size, Prefix::Binary, Rounding::Any)?;
        let fits = |sector: u64| {
            let bytes = count.checked_mul(sector).map(Bytes::new);
            bytes.is_some_and(|bytes| shown.contains(bytes))
        };
        if fits(512) || !fits(4096) {
            return None;
        }
        found.get_or_insert((4096, row.line));
    }
    found
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
        assert_eq!(of("WDC WD5000AAKX-0"), None);
        assert_eq!(
            of("sectors of 512 bytes, counting from 0"),
            Some((512, 512, false))
        );
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
