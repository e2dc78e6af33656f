//! Where blocks lie in a file, kept to find those that overlap.

use straddle_geometry::{Bytes, entry};

use crate::{Anomaly, AnomalyKind};

/// Finest place of blocks that are counted in an array.
pub(super) const GRAIN: u64 = 512;
/// Most blocks of a file whose starts are kept: 4 bytes each.
const MAX_STARTS: u64 = 1 << 24;
/// Most blocks of a file of which only one bit is kept.
const MAX_BITS: u64 = 1 << 29;

/// Where blocks start.
pub(super) struct Places {
    block: u64,
    /// Starts from here on are not looked at.
    room: u64,
    /// From block to block, as the format says; at least the block.
    stride: u64,
    starts: Starts,
    overlaps: u64,
    first: Option<(u64, u64)>,
    unchecked: u64,
}

enum Starts {
    /// None so far.
    Nothing,
    /// A whole number of strides from each other: they overlap only where they are equal, and one bit each is enough.
    Even(Even),
    /// For each stretch of one block's length, the start in it, in grains, plus one. There is room for one only: two starts
    /// in one stretch overlap.
    Each(Vec<u32>),
    /// The file is too large.
    Unknown,
}

struct Even {
    /// The smallest start.
    first: u64,
    stride: u64,
    /// The stride is `odd << shift`, and `odd * inverse` is 1 modulo 2⁶⁴.
    shift: u32,
    inverse: u64,
    /// Number of the largest start.
    last: u64,
    bits: Vec<u64>,
}

impl Even {
    /// For starts like `start`; `None` when there would be too many.
    fn new(start: u64, stride: u64, room: u64) -> Option<Even> {
        let first = start % stride;
        let last = room.checked_sub(first)?.checked_sub(1)? / stride;
        if last >= MAX_BITS {
            return None;
        }
        let shift = stride.trailing_zeros();
        let odd = stride >> shift;
        // Newton's iteration doubles the number of right bits; an odd number is its own inverse modulo 8.
        let mut inverse = odd;
        for _ in 0..5 {
            let wrong = odd.wrapping_mul(inverse);
            inverse = inverse.wrapping_mul(2_u64.wrapping_sub(wrong));
        }
        Some(Even {
            first,
            stride,
            shift,
            inverse,
            last,
            // Bounded by the constant above, whatever the file says.
            bits: vec![0; usize::try_from(last / 64 + 1).ok()?],
        })
    }

    /// Which of the starts this is; beyond `last` when it is none. A multiple of the stride divided by it is the product
    /// with the inverse; of anything else the product is larger than any quotient.
    #[inline]
    fn number(&self, start: u64) -> u64 {
        let behind = start.wrapping_sub(self.first);
        behind.rotate_right(self.shift).wrapping_mul(self.inverse)
    }

    /// Notes starts up to the first that is none of these; calls `twice` for those that were noted before.
    fn add(&mut self, starts: &[u64], mut twice: impl FnMut(usize)) -> usize {
        for (index, start) in starts.iter().enumerate() {
            let number = self.number(*start);
            if number > self.last {
                return index;
            }
            let bit = 1 << (number % 64);
            let word = usize::try_from(number / 64).unwrap_or(usize::MAX);
            let Some(word) = self.bits.get_mut(word) else {
                return index;
            };
            if *word & bit != 0 {
                twice(index);
            }
            *word |= bit;
        }
        starts.len()
    }

    /// All starts that were noted.
    fn starts(&self) -> impl Iterator<Item = u64> + '_ {
        let words = (0_u64..).step_by(64).zip(&self.bits);
        words.flat_map(move |(from, word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| self.first + (from + bit) * self.stride)
        })
    }
}

impl Places {
    pub(super) fn new(block: u64, end: u64, stride: u64) -> Places {
        // A sparse file may claim any size, but a count of it is no count of blocks: both limits are constants.
        let stretches = end.div_ceil(block).saturating_add(1);
        Places {
            block,
            room: stretches.saturating_mul(block),
            stride: stride.max(block),
            starts: Starts::Nothing,
            overlaps: 0,
            first: None,
            unchecked: 0,
        }
    }

    /// Notes the blocks that belong to the disk's addresses from `upper` on. Marks are skipped.
    pub(super) fn add(&mut self, upper: u64, starts: &[u64]) {
        let mut done = 0;
        while let Some(rest) = starts.get(done..).filter(|rest| !rest.is_empty()) {
            if let Starts::Even(even) = &mut self.starts {
                let (overlaps, first) = (&mut self.overlaps, &mut self.first);
                done += even.add(rest, |index| {
                    *overlaps += 1;
                    first.get_or_insert_with(|| {
                        (address(upper, done + index, self.block), rest[index])
                    });
                });
                if done == starts.len() {
                    return;
                }
            }
            self.one(address(upper, done, self.block), starts[done]);
            done += 1;
        }
    }

    fn one(&mut self, upper: u64, start: u64) {
        if start >= entry::FIRST_MARK {
            return;
        }
        if start >= self.room {
            self.unchecked += 1;
            return;
        }
        match &mut self.starts {
            Starts::Nothing => {
                self.starts = Even::new(start, self.stride, self.room)
                    .map_or_else(|| self.each(), Starts::Even);
                return self.one(upper, start);
            }
            Starts::Even(even) => {
                let mut again = false;
                if even.add(&[start], |_| again = true) == 1 {
                    if again {
                        self.overlap(upper, start);
                    }
                    return;
                }
            }
            Starts::Each(_) => {
                if self.stretch(start) {
                    self.overlap(upper, start);
                }
                return;
            }
            Starts::Unknown => {
                self.unchecked += 1;
                return;
            }
        }
        // Not at an even distance from the others: from here on more must be kept, where it can be.
        let each = self.each();
        if let Starts::Each(_) = each
            && let Starts::Even(even) = std::mem::replace(&mut self.starts, each)
        {
            for start in even.starts() {
                self.stretch(start);
            }
            return self.one(upper, start);
        }
        self.unchecked += 1;
    }

    fn each(&self) -> Starts {
        let stretches = self.room / self.block;
        if stretches > MAX_STARTS {
            return Starts::Unknown;
        }
        usize::try_from(stretches).map_or(Starts::Unknown, |n| Starts::Each(vec![0; n]))
    }

    /// Notes a start by the stretch in which it lies; true when it overlaps one that came before.
    fn stretch(&mut self, start: u64) -> bool {
        let Starts::Each(starts) = &mut self.starts else {
            return false;
        };
        let (stretch, within) = (start / self.block, start % self.block);
        let mark = u32::try_from(within / GRAIN).unwrap_or(u32::MAX - 1) + 1;
        let at = usize::try_from(stretch).unwrap_or(usize::MAX);
        let before = at.checked_sub(1).and_then(|i| starts.get(i));
        let before = before.copied().unwrap_or(0);
        let after = starts.get(at.saturating_add(1)).copied().unwrap_or(0);
        let Some(here) = starts.get_mut(at) else {
            return false;
        };
        let overlaps = *here != 0 || before > mark || (after != 0 && after < mark);
        *here = mark;
        overlaps
    }

    #[cold]
    fn overlap(&mut self, upper: u64, start: u64) {
        self.overlaps += 1;
        self.first.get_or_insert((upper, start));
    }

    /// What was found.
    pub(super) fn finding(&self) -> Option<Anomaly> {
        if let Some((upper, start)) = self.first {
            let detail = format!(
                "{} of its blocks share bytes of the file with another block; the first found, at byte {} of the disk, starts at byte {}",
                Bytes::new(self.overlaps).grouped(),
                Bytes::new(upper).grouped(),
                Bytes::new(start).grouped()
            );
            return Some(Anomaly::new(AnomalyKind::Damaged, detail));
        }
        (self.unchecked > 0).then(|| {
            let detail = format!(
                "whether {} of its blocks overlap others was not checked: the file is too large",
                Bytes::new(self.unchecked).grouped()
            );
            Anomaly::new(AnomalyKind::LimitReached, detail)
        })
    }
}

/// The address of the disk that entry `index` after the one of `upper` belongs to.
fn address(upper: u64, index: usize, block: u64) -> u64 {
    let behind = u64::try_from(index).unwrap_or(u64::MAX);
    upper.saturating_add(behind.saturating_mul(block))
}
