//! Cylinder, head and sector: what the entries of an MBR say beside the sectors that count.
//!
//! Nothing that runs today reads them but old boot code and checking tools, which want them to agree with the sectors, in the geometry that
//! the table was written with.

/// Heads and sectors per track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    heads: u64,
    sectors: u64,
}

/// What every tool assumes where nothing tells.
const USUAL: Geometry = Geometry {
    heads: 255,
    sectors: 63,
};
/// What stands for any place that has no cylinder below 1,024.
const BEYOND: [u8; 3] = [0xfe, 0xff, 0xff];

/// One entry: its CHS fields, first and last sector.
pub(super) struct Said {
    pub(super) start: [u8; 3],
    pub(super) end: [u8; 3],
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Geometry {
    /// The geometry in which all that is said agrees, as a rule that of the machine that wrote the table.
    pub(super) fn of(entries: &[Said]) -> Geometry {
        let said = entries.iter().filter(|said| said.is_told());
        let candidates = said.clone().map(|said| Geometry {
            heads: u64::from(said.end[0]) + 1,
            sectors: u64::from(said.end[1] & 0x3f).max(1),
        });
        let fits = |geometry: &Geometry| {
            said.clone().all(|said| {
                geometry.of_sector(said.first) == said.start
                    && geometry.of_sector(said.last) == said.end
            })
        };
        std::iter::once(USUAL)
            .chain(candidates)
            .find(fits)
            .unwrap_or(USUAL)
    }

    /// The fields for a sector of the disk, counted from 0.
    pub(super) fn of_sector(self, sector: u64) -> [u8; 3] {
        let (track, within) = (sector / self.sectors, sector % self.sectors);
        let (cylinder, head) = (track / self.heads, track % self.heads);
        let fields = (
            u16::try_from(cylinder),
            u8::try_from(head),
            u8::try_from(within + 1),
        );
        match fields {
            (Ok(cylinder @ 0..1024), Ok(head), Ok(within)) => {
                let [low, high] = cylinder.to_le_bytes();
                [head, within | high << 6, low]
            }
            _ => BEYOND,
        }
    }
}

impl Said {
    /// False for what stands for nothing, or for any place far away.
    fn is_told(&self) -> bool {
        let is_told = |field: [u8; 3]| field != [0; 3] && field[1..] != [0xff, 0xff];
        is_told(self.start) && is_told(self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(geometry: Geometry, first: u64, last: u64) -> Said {
        Said {
            start: geometry.of_sector(first),
            end: geometry.of_sector(last),
            first,
            last,
        }
    }

    #[test]
    fn sector_63_is_head_1_and_2048_is_where_fdisk_has_it() {
        assert_eq!(USUAL.of_sector(63), [1, 1, 0]);
        // As sfdisk writes it: 20 21 00.
        assert_eq!(USUAL.of_sector(2048), [0x20, 0x21, 0x00]);
        assert_eq!(USUAL.of_sector(1023 * 255 * 63), [0, 0xc1, 0xff]);
        assert_eq!(USUAL.of_sector(1024 * 255 * 63), BEYOND);
    }

    #[test]
    fn the_geometry_of_the_table_is_kept() {
        let small = Geometry {
            heads: 16,
            sectors: 63,
        };
        let cylinder = 16 * 63;
        let entries = [
            said(small, 63, 10 * cylinder - 1),
            said(small, 10 * cylinder, 20 * cylinder - 1),
        ];
        assert_eq!(Geometry::of(&entries), small);
        assert_eq!(Geometry::of(&[said(USUAL, 2048, 99_999)]), USUAL);
        assert_eq!(Geometry::of(&[]), USUAL);
        // Fields that agree with nothing.
        let odd = Said {
            start: [3, 4, 5],
            end: [6, 7, 8],
            first: 63,
            last: 999,
        };
        assert_eq!(Geometry::of(&[odd]), USUAL);
    }
}
