//! Where addresses lie: units, pages, rows, dies, blocks.

use super::keys;
use crate::model::Operation;
use crate::profile::{Refusal, Section};

/// Lengths in bytes, and counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    pub(super) capacity: u64,
    pub(super) unit: u64,
    pub(super) page: u64,
    /// Neighbouring pages on the planes of one die.
    pub(super) row: u64,
    /// What lies side by side on one die for sure: a row, or a smaller unit where units are scattered.
    piece: u64,
    /// Whether the next piece lies anywhere, or on the next die.
    is_scattered: bool,
    pub(super) codeword: u64,
    pub(super) dies: u32,
    pub(super) channels: u32,
    /// Rows of an erase block.
    pub(super) pages: u32,
    /// What is filled and erased together.
    pub(super) block: u64,
}

/// What is read at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) die: u32,
    pub(super) pages: u64,
    /// Whole codewords.
    pub(super) bytes: u64,
    /// Where the row or unit ends.
    pub(super) end: u64,
}

impl Geometry {
    pub(super) fn build(section: &Section) -> Result<Geometry, Refusal> {
        let count = |key| u32::try_from(section.whole(key)).unwrap_or(u32::MAX);
        let (channels, dies) = (count(&keys::CHANNELS), count(&keys::DIES));
        if !dies.is_multiple_of(channels) {
            let expected = format!("a multiple of the {channels} channels");
            return Err(section.refuse(&keys::DIES, expected));
        }
        let page = section.whole(&keys::PAGE);
        let row = page * section.whole(&keys::PLANES);
        let codeword = section.whole(&keys::CODEWORD);
        if !page.is_multiple_of(codeword) {
            let expected = format!("a part of the page's {page} bytes");
            return Err(section.refuse(&keys::CODEWORD, expected));
        }
        let unit = section.whole(&keys::UNIT);
        if !unit.is_multiple_of(row) && !row.is_multiple_of(unit) {
            let expected = format!("a multiple or a part of a row's {row} bytes (planes x page)");
            return Err(section.refuse(&keys::UNIT, expected));
        }
        let layout = section.word(&keys::LAYOUT);
        let capacity = section.whole(&keys::CAPACITY);
        if unit > capacity {
            let expected = format!("at most the device's {capacity} bytes");
            return Err(section.refuse(&keys::UNIT, expected));
        }
        let superblock = section
            .optional(&keys::SUPERBLOCK)
            .map_or(u64::from(dies), |_| section.whole(&keys::SUPERBLOCK));
        if superblock > u64::from(dies) {
            return Err(section.refuse(&keys::SUPERBLOCK, format!("at most the {dies} dies")));
        }
        let pages = count(&keys::PAGES);
        let block = row * u64::from(pages) * superblock;
        if block > capacity || !block.is_multiple_of(unit) {
            let expected = format!(
                "blocks (pages x row x superblock, now {block} bytes) of whole units of {unit} bytes that fit into {capacity}"
            );
            return Err(section.refuse(&keys::PAGES, expected));
        }
        Ok(Geometry {
            capacity,
            unit,
            page,
            row,
            piece: match layout {
                "scattered" => unit.min(row),
                _ => row,
            },
            is_scattered: layout != "striped",
            codeword,
            dies,
            channels,
            pages,
            block,
        })
    }

    /// Indirection units that an operation touches.
    #[inline]
    pub(super) fn units(&self, operation: Operation) -> u64 {
        (operation.end() - 1) / self.unit - operation.start / self.unit + 1
    }

    /// The units that an operation covers in part, as ranges of bytes; one that there is not is empty.
    #[inline]
    pub(super) fn partial(&self, operation: Operation) -> [(u64, u64); 2] {
        let (start, end) = (operation.start, operation.end());
        let first = start / self.unit * self.unit;
        let last = (end - 1) / self.unit * self.unit;
        let mut ranges = [(0, 0); 2];
        if first < start || end < first + self.unit {
            ranges[0] = (first, first + self.unit);
        }
        if last != first && end < last + self.unit {
            ranges[1] = (last, last + self.unit);
        }
        ranges
    }

    /// The die of an address.
    #[inline]
    pub(super) fn die(&self, at: u64) -> u32 {
        self.die_of(at / self.piece)
    }

    #[inline]
    fn die_of(&self, piece: u64) -> u32 {
        // The finalizer of SplitMix64.
        let number = if self.is_scattered {
            let z = (piece ^ (piece >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        } else {
            piece
        };
        u32::try_from(number % u64::from(self.dies)).unwrap_or(0)
    }

    /// What has to be read of the row of `at`, or of its unit, for the bytes up to `end`.
    #[inline]
    pub(super) fn part(&self, at: u64, end: u64) -> Part {
        let piece = at / self.piece;
        let piece_end = (piece + 1) * self.piece;
        let last = end.min(piece_end) - 1;
        Part {
            die: self.die_of(piece),
            pages: last / self.page - at / self.page + 1,
            bytes: (last / self.codeword - at / self.codeword + 1) * self.codeword,
            end: piece_end,
        }
    }
}
