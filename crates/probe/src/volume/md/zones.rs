//! RAID 0 and linear arrays, whose members need not be of one size.
//!
//! RAID 0 goes over all members as far as the smallest reaches, then over those that are longer as far as the smallest of them
//! reaches, and so on: its zones. Which member a later zone begins with depends on the layout: counted from the start of
//! the array (1, "original": Linux before 3.14) or of the zone (2, "alternate").
//!
//! Source: `md(4)`; Linux `drivers/md/raid0.c` (`create_strip_zones`, `map_sector`), `drivers/md/md-linear.c`.

use straddle_geometry::{Bytes, Extent, Segment, Unit};

/// What an array has of one of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    /// Which of the targets of the array.
    pub(super) target: usize,
    /// Where its data begin.
    pub(super) start: Bytes,
    /// How much there is; `None` when that is not known.
    pub(super) size: Option<Bytes>,
}

/// Members that take turns, over a part of the array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Zone {
    /// The addresses of the array.
    pub(super) extent: Extent,
    /// Targets in the order in which they take turns, and where their part of the zone begins on each.
    pub(super) columns: Vec<(usize, Bytes)>,
}

/// Number of the layout that counts from the start of the array.
pub(super) const ORIGINAL: u32 = 1;
/// Number of the layout that counts from the start of the zone.
pub(super) const ALTERNATE: u32 = 2;

/// The zones of RAID 0, members in their order. Without a layout nothing says where zones after the first begin, and the
/// first is all there is; the second answer is whether any was left out.
pub(super) fn striped(columns: &[Column], chunk: Unit, layout: u32) -> (Vec<Zone>, bool) {
    // A member whose size is not known is taken to be as long as it must be.
    let rows = |column: &Column| column.size.map_or(u64::MAX, |size| size.div_rem(chunk).0);
    let mut zones: Vec<Zone> = Vec::new();
    let (mut below, mut at) = (0_u64, 0_u64);
    loop {
        let longer: Vec<&Column> = columns.iter().filter(|c| rows(c) > below).collect();
        let Some(upto) = longer
            .iter()
            .map(|c| rows(c))
            .filter(|n| *n < u64::MAX)
            .min()
        else {
            return (zones, false);
        };
        if !zones.is_empty() && !matches!(layout, ORIGINAL | ALTERNATE) {
            return (zones, true);
        }
        let wide = u64::try_from(longer.len()).unwrap_or(u64::MAX);
        let Some((len, start)) = (upto - below).checked_mul(wide).and_then(|units| {
            let bytes = |units: u64| chunk.bytes().checked_mul(units);
            Some((bytes(units)?, bytes(at)?))
        }) else {
            return (zones, true);
        };
        let first = if layout == ORIGINAL { at % wide } else { 0 };
        let first = usize::try_from(first).unwrap_or(0);
        let turns = longer.iter().cycle().skip(first).take(longer.len());
        let columns: Option<Vec<_>> = turns
            .map(|column| {
                let skipped = chunk.bytes().checked_mul(below)?;
                Some((column.target, column.start.checked_add(skipped)?))
            })
            .collect();
        let (Some(extent), Some(columns)) = (Extent::new(start, len), columns) else {
            return (zones, true);
        };
        zones.push(Zone { extent, columns });
        (below, at) = (upto, at + len.div_rem(chunk).0);
    }
}

/// The size that Linux gives to RAID 0 over members whose sizes are known. It rounds each member down to its chunks, and then
/// masks the number of sectors as if the chunk were a power of two, which it need not be: an array of other chunks is a
/// little shorter than its zones.
pub(super) fn size(columns: &[Column], chunk: Unit) -> Option<Bytes> {
    let sectors = chunk.get() / 512;
    let usable = columns.iter().map(|column| {
        let chunks = column.size?.div_rem(chunk).0;
        let rounded = chunks.checked_mul(sectors)?;
        Some(rounded & !sectors.checked_sub(1)?)
    });
    let sum = usable.sum::<Option<u64>>()?.checked_mul(512)?;
    Some(Bytes::new(sum))
}

/// One member after the other; ends before the first whose size is not known. The second answer is whether one was.
pub(super) fn linear(columns: &[Column], chunk: Option<Unit>) -> (Vec<Segment>, bool) {
    let mut segments = Vec::new();
    let mut at = Bytes::ZERO;
    for column in columns {
        let size = column.size.and_then(|size| match chunk {
            Some(chunk) => chunk.bytes().checked_mul(size.div_rem(chunk).0),
            None => Some(size),
        });
        let Some(upper) = size.and_then(|size| Extent::new(at, size)) else {
            return (segments, true);
        };
        at = upper.end();
        segments.push(Segment {
            upper,
            target: column.target,
            lower: column.start,
        });
    }
    (segments, false)
}

#[cfg(test)]
mod tests {
    #[test]
    fn size_of_raid0_with_chunks_that_are_no_power_of_two() {
        // As measured of three members of 7 MiB with chunks of 20 KiB and of 64 KiB.
        let column = |target| Column {
            target,
            start: Bytes::mib(1),
            size: Some(Bytes::mib(7)),
        };
        let columns = [0, 1, 2].map(column);
        let of = |kib: u64| size(&columns, Unit::new(kib << 10).expect("not zero"));
        assert_eq!(of(20), Some(Bytes::new(21_946_368)));
        assert_eq!(of(64), Some(Bytes::mib(21)));
    }

    use super::*;
    use proptest::prelude::*;

    fn columns(sizes: &[u64]) -> Vec<Column> {
        let column = |(target, size): (usize, &u64)| Column {
            target,
            start: Bytes::new(1000),
            size: Some(Bytes::new(*size)),
        };
        sizes.iter().enumerate().map(column).collect()
    }

    /// Where a chunk lies, as `map_sector` counts: (member, chunk of the member).
    fn by_hand(sizes: &[u64], layout: u32, chunk: u64) -> Option<(usize, u64)> {
        let (mut from, mut below) = (0, 0);
        loop {
            let longer: Vec<usize> = (0..sizes.len()).filter(|m| sizes[*m] > below).collect();
            let upto = longer.iter().map(|m| sizes[*m]).min()?;
            let wide = u64::try_from(longer.len()).ok()?;
            let end = from + (upto - below) * wide;
            if chunk < end {
                let counted = if layout == ORIGINAL {
                    chunk
                } else {
                    chunk - from
                };
                let member = longer[usize::try_from(counted % wide).ok()?];
                return Some((member, below + (chunk - from) / wide));
            }
            (from, below) = (end, upto);
        }
    }

    proptest! {
        #[test]
        fn chunks_of_members_of_several_sizes(sizes in prop::collection::vec(0_u64..9, 1..7), layout in 1_u32..3, rest in 0_u64..10) {
            let unit = Unit::new(10).expect("not zero");
            let bytes: Vec<u64> = sizes.iter().map(|chunks| chunks * 10 + rest).collect();
            let (zones, cut) = striped(&columns(&bytes), unit, layout);
            prop_assert!(!cut);
            let total: u64 = sizes.iter().sum();
            prop_assert_eq!(zones.last().map_or(0, |zone| zone.extent.end().get()), total * 10);
            for chunk in 0..total {
                let at = Bytes::new(chunk * 10);
                let zone = zones.iter().find(|zone| zone.extent.start() <= at && at < zone.extent.end()).expect("a zone");
                let within = (at.get() - zone.extent.start().get()) / 10;
                let wide = u64::try_from(zone.columns.len()).expect("few");
                let (member, start) = zone.columns[usize::try_from(within % wide).expect("few")];
                let found = (member, (start.get() - 1000) / 10 + within / wide);
                prop_assert_eq!(Some(found), by_hand(&sizes, layout, chunk));
            }
        }
    }

    #[test]
    fn what_is_not_known_ends_the_map() {
        let unit = Unit::new(10).expect("not zero");
        let (zones, cut) = striped(&columns(&[30, 50]), unit, 0);
        assert_eq!((zones.len(), cut), (1, true));
        assert!(!striped(&columns(&[50, 50]), unit, 0).1);
        let mut two = columns(&[30, 50]);
        two[0].size = None;
        let (zones, cut) = striped(&two, unit, 1);
        assert_eq!((zones.len(), zones[0].columns.len(), cut), (1, 2, false));
        assert_eq!(linear(&two, None), (Vec::new(), true));
        two.swap(0, 1);
        let (segments, cut) = linear(&two, Some(unit));
        assert_eq!((segments[0].upper.end().get(), cut), (50, true));
    }
}
