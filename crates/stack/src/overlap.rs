//! Whether the entries of a block table contradict each other or the file.

use straddle_geometry::{BlockTable, Bytes, Extent, Gap, Segment, Sink, entry};

use crate::{Oddity, OddityKind};

/// Most blocks of a file whose starts are kept while looking for overlaps: 4 bytes each.
const MOST_STARTS: u64 = 1 << 24;
/// Most blocks of a file of which only one bit is kept.
const MOST_BITS: u64 = 1 << 29;
/// Finest start of a block.
const GRAIN: u64 = 512;

/// Notes, entry by entry, what may be wrong. Blocks in ascending order cannot overlap; only where some are not is a second
/// pass made that remembers their places.
pub(crate) struct Overlap {
    block: u64,
    end: u64,
    /// End of the highest block so far.
    highest: u64,
    ordered: bool,
    beyond: u64,
    first_beyond: Option<(u64, u64)>,
}

impl Overlap {
    /// For blocks of `block` bytes in a file that ends at `end`.
    pub(crate) fn new(block: u64, end: Bytes) -> Overlap {
        Overlap {
            block,
            end: end.get(),
            highest: 0,
            ordered: true,
            beyond: 0,
            first_beyond: None,
        }
    }

    /// The last place at which a block still ends inside the file, by the sector: some writers leave out the end of the last
    /// block of a file.
    pub(crate) fn last_start(&self) -> u64 {
        self.end
            .saturating_sub(GRAIN.min(self.block))
            .min(entry::FIRST_MARK - 1)
    }

    /// A block inside the file.
    #[inline]
    pub(crate) fn block(&mut self, start: u64) {
        if start < self.highest {
            self.ordered = false;
        }
        self.highest = self.highest.max(start.saturating_add(self.block));
    }

    /// A block, of the disk's address `upper`, that starts beyond the end of the file.
    pub(crate) fn beyond(&mut self, upper: u64, start: u64) {
        self.beyond += 1;
        self.first_beyond.get_or_insert((upper, start));
    }

    /// What was found; goes over `table` again when its blocks are not in order.
    pub(crate) fn findings(&self, table: &dyn BlockTable, size: Bytes) -> Vec<Oddity> {
        let mut out = Vec::new();
        if let Some((upper, start)) = self.first_beyond {
            let detail = format!(
                "{} of its blocks start beyond the end of the file at byte {}; the first, at byte {} of the disk, is said to start at byte {}",
                Bytes::new(self.beyond).grouped(),
                Bytes::new(self.end).grouped(),
                Bytes::new(upper).grouped(),
                Bytes::new(start).grouped()
            );
            out.push(Oddity::new(OddityKind::Damaged, detail));
        }
        if !self.ordered {
            let mut places = Places::new(self.block, self.end);
            // What cannot be read was reported by the first pass.
            let _ = table.stream(Extent::whole(size), &mut places);
            out.extend(places.finding());
        }
        out
    }
}

/// Where blocks start.
enum Starts {
    /// For each stretch of one block's length, the start in it, in grains, plus one. There is room for one only: two starts
    /// in one stretch overlap.
    Each(Vec<u32>),
    /// Starts that are multiples of the block's length.
    Bits(Vec<u64>),
    /// The file is too large.
    None,
}

struct Places {
    block: u64,
    starts: Starts,
    overlaps: u64,
    first: Option<(u64, u64)>,
    unchecked: u64,
}

impl Places {
    fn new(block: u64, end: u64) -> Places {
        // A sparse file may claim any size, but a count of it is no count of blocks: both limits are constants.
        let stretches = end.div_ceil(block).saturating_add(1);
        let room = |n: u64| usize::try_from(n).unwrap_or(0);
        let starts = if stretches <= MOST_STARTS {
            Starts::Each(vec![0; room(stretches)])
        } else if stretches <= MOST_BITS {
            Starts::Bits(vec![0; room(stretches.div_ceil(64))])
        } else {
            Starts::None
        };
        Places {
            block,
            starts,
            overlaps: 0,
            first: None,
            unchecked: 0,
        }
    }

    /// True when the block overlaps one that came before; `None` when that cannot be told.
    fn add(&mut self, start: u64) -> Option<bool> {
        let (stretch, within) = (start / self.block, start % self.block);
        match &mut self.starts {
            Starts::Each(starts) => {
                let mark = u32::try_from(within / GRAIN).ok()?.checked_add(1)?;
                let at = usize::try_from(stretch).ok()?;
                let before = at
                    .checked_sub(1)
                    .and_then(|i| starts.get(i))
                    .copied()
                    .unwrap_or(0);
                let after = starts.get(at + 1).copied().unwrap_or(0);
                let here = starts.get_mut(at)?;
                let overlaps = *here != 0 || before > mark || (after != 0 && after < mark);
                *here = mark;
                Some(overlaps)
            }
            Starts::Bits(bits) => {
                if within != 0 {
                    return None;
                }
                let word = bits.get_mut(usize::try_from(stretch / 64).ok()?)?;
                let bit = 1 << (stretch % 64);
                let overlaps = *word & bit != 0;
                *word |= bit;
                Some(overlaps)
            }
            Starts::None => None,
        }
    }

    fn finding(&self) -> Option<Oddity> {
        if let Some((upper, start)) = self.first {
            let detail = format!(
                "{} of its blocks share bytes of the file with another block; the first found, at byte {} of the disk, starts at byte {}",
                Bytes::new(self.overlaps).grouped(),
                Bytes::new(upper).grouped(),
                Bytes::new(start).grouped()
            );
            return Some(Oddity::new(OddityKind::Damaged, detail));
        }
        (self.unchecked > 0).then(|| {
            let detail = format!(
                "whether {} of its blocks overlap others was not checked: the file is too large",
                Bytes::new(self.unchecked).grouped()
            );
            Oddity::new(OddityKind::LimitReached, detail)
        })
    }
}

impl Sink for Places {
    fn blocks(&mut self, first: Bytes, target: usize, lower: &[u64]) {
        if target != 0 {
            return;
        }
        let mut upper = first.get();
        for start in lower {
            if *start < entry::FIRST_MARK {
                match self.add(*start) {
                    Some(false) => {}
                    Some(true) => {
                        self.overlaps += 1;
                        self.first.get_or_insert((upper, *start));
                    }
                    None => self.unchecked += 1,
                }
            }
            upper = upper.saturating_add(self.block);
        }
    }

    fn piece(&mut self, _: Segment) {}

    fn gap(&mut self, _: Extent, _: Gap) {}
}
