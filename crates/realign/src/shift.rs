//! The geometry of a move: into which blocks it is cut, in which order they are copied, and which must be kept before which.

use straddle_geometry::{Bytes, Extent};

/// A range that is moved within one store.
///
/// Blocks are copied from the end that the range moves towards, so that no block is written over one that was not copied
/// yet: from the last to the first where the range moves to higher addresses, from the first to the last where it moves to lower
/// ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    from: Bytes,
    to: Bytes,
    len: Bytes,
    block: Bytes,
}

/// One block: where it lies before, and where behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it is copied from.
    pub from: Extent,
    /// Where to.
    pub to: Extent,
}

impl Shift {
    /// `None` when nothing moves, an end is beyond 2⁶⁴, or a block is empty.
    #[must_use]
    pub fn new(from: Bytes, to: Bytes, len: Bytes, block: Bytes) -> Option<Shift> {
        Extent::new(from, len)?;
        Extent::new(to, len)?;
        let distance = from.max(to).checked_sub(from.min(to))?;
        let is_sound = len > Bytes::ZERO && block > Bytes::ZERO && distance > Bytes::ZERO;
        is_sound.then_some(Shift {
            from,
            to,
            len,
            block,
        })
    }

    /// Where the range lies before.
    #[must_use]
    pub fn from(&self) -> Bytes {
        self.from
    }

    /// Where it lies behind.
    #[must_use]
    pub fn to(&self) -> Bytes {
        self.to
    }

    /// How long it is.
    #[must_use]
    pub fn len(&self) -> Bytes {
        self.len
    }

    /// Bytes of a block; the one that is copied last may be shorter.
    #[must_use]
    pub fn block_len(&self) -> Bytes {
        self.block
    }

    /// How far it moves.
    #[must_use]
    pub fn distance(&self) -> Bytes {
        let (low, high) = (self.from.min(self.to), self.from.max(self.to));
        high.checked_sub(low).unwrap_or_default()
    }

    /// How many blocks there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.len.get().div_ceil(self.block.get())
    }

    /// Blocks that may be written one after the other before the first of them has to be flushed: block `n` is written over what
    /// block `n − depth` was copied from, and over no later one. 0 when blocks are longer than the distance: then a block is written
    /// over its own source, and needs a copy elsewhere while that goes on.
    #[must_use]
    pub fn depth(&self) -> u64 {
        self.distance().get() / self.block.get()
    }

    /// The block that is copied as number `n`, from 0; `None` behind the last one.
    #[must_use]
    pub fn block(&self, n: u64) -> Option<Block> {
        let before = n.checked_mul(self.block.get())?;
        let rest = self
            .len
            .get()
            .checked_sub(before)
            .filter(|rest| *rest > 0)?;
        let len = rest.min(self.block.get());
        let within = if self.to > self.from {
            rest - len
        } else {
            before
        };
        let at =
            |start: Bytes| Extent::new(start.checked_add(Bytes::new(within))?, Bytes::new(len));
        Some(Block {
            from: at(self.from)?,
            to: at(self.to)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shift(from: u64, to: u64, len: u64, block: u64) -> Option<Shift> {
        let bytes = Bytes::new;
        Shift::new(bytes(from), bytes(to), bytes(len), bytes(block))
    }

    #[test]
    fn what_cannot_be_moved_so_is_no_shift() {
        assert_eq!(shift(100, 100, 10, 1), None);
        assert_eq!(shift(100, 110, 0, 1), None);
        assert_eq!(shift(100, 110, 50, 0), None);
        assert_eq!(shift(0, u64::MAX, 2, 1), None);
        let depth = |block| shift(100, 110, 50, block).map(|shift| shift.depth());
        assert_eq!([11, 10, 5].map(depth), [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn the_end_that_it_moves_towards_comes_first() {
        let up = shift(100, 110, 25, 10).expect("sound");
        let starts: Vec<u64> = (0..up.count())
            .filter_map(|n| Some(up.block(n)?.from.start().get()))
            .collect();
        assert_eq!(starts, [115, 105, 100]);
        assert_eq!(up.block(2).map(|block| block.to.len()), Some(Bytes::new(5)));
        assert_eq!(up.block(3), None);
        let down = shift(100, 90, 25, 10).expect("sound");
        let starts: Vec<u64> = (0..down.count())
            .filter_map(|n| Some(down.block(n)?.from.start().get()))
            .collect();
        assert_eq!(starts, [100, 110, 120]);
    }

    proptest! {
        #[test]
        fn blocks_cover_the_range_and_are_written_over_copied_ones_only(
            from in 0_u64..200, to in 0_u64..200, len in 1_u64..150, block in 1_u64..40,
        ) {
            let Some(shift) = shift(from, to, len, block) else {
                prop_assert!(from == to);
                return Ok(());
            };
            let blocks: Vec<Block> = (0..shift.count()).filter_map(|n| shift.block(n)).collect();
            prop_assert_eq!(blocks.len() as u64, shift.count());
            // Every byte once.
            let mut covered = vec![0; usize::try_from(len).expect("small")];
            for block in &blocks {
                prop_assert_eq!(block.from.len(), block.to.len());
                prop_assert_eq!(
                    block.from.start().get().wrapping_sub(from),
                    block.to.start().get().wrapping_sub(to)
                );
                let first = block.from.start().get() - from;
                for byte in first..first + block.from.len().get() {
                    covered[usize::try_from(byte).expect("small")] += 1;
                }
            }
            prop_assert!(covered.iter().all(|times| *times == 1));
            for (n, one) in blocks.iter().enumerate() {
                for (m, other) in blocks.iter().enumerate() {
                    if one.to.overlaps(other.from) {
                        prop_assert!(m as u64 + shift.depth() <= n as u64, "{} over {}", n, m);
                    }
                }
            }
        }
    }
}
