//! All blocks of a job in the order in which they are copied, and the batches in which they are recorded.

use straddle_geometry::Bytes;
use straddle_io::AlignedBytes;

use crate::job::{Job, Part};
use crate::shift::{Block, Shift};

/// Most blocks of a batch: as many digests as a page of the journal has room for.
pub(crate) const MAX_BATCH_BLOCKS: u64 = 250;

/// Into how large pieces a job is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Longest block: what is read, written and compared by itself.
    pub block: Bytes,
    /// Longest batch: blocks that are recorded together. Two of them are in memory at once.
    pub batch: Bytes,
    /// A part that moves less far than this goes through a data journal always, in blocks longer than the distance; a part that moves
    /// farther is cut into blocks no longer than the distance. Zero, and there is no data journal.
    pub journaled_below: Bytes,
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes {
            block: Bytes::mib(1),
            batch: Bytes::mib(24),
            journaled_below: Bytes::kib(256),
        }
    }
}

/// Blocks that are recorded together. All are of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Of all batches, from 0.
    pub(crate) number: u64,
    /// Of which part it is.
    pub(crate) part: usize,
    /// Its blocks, of all blocks.
    pub(crate) blocks: std::ops::Range<u64>,
}

/// One part, and where in the sequence it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    shift: Shift,
    /// Blocks of a batch.
    each: u64,
    first_block: u64,
    first_batch: u64,
}

/// The blocks of all parts of a job, one part after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    stretches: Vec<Stretch>,
    blocks: u64,
    batches: u64,
    bytes: Bytes,
}

impl Sequence {
    /// Cuts a job into blocks. `None` when its parts are more than 2⁶⁴ bytes, or a batch has no room for one block.
    #[must_use]
    pub fn new(job: &Job, sizes: &Sizes) -> Option<Sequence> {
        let cut = |part: &Part| {
            let shift = Shift::new(part.from, part.to, part.len, sizes.block)?;
            let shift = if shift.distance() < sizes.journaled_below {
                shift
            } else {
                let longest = sizes.block.min(shift.distance());
                // On the sectors of most disks, if the ends of the part are.
                let whole = longest.get() - longest.get() % AlignedBytes::ALIGNMENT.get();
                let block = if whole > 0 { whole } else { longest.get() };
                Shift::new(part.from, part.to, part.len, Bytes::new(block))?
            };
            let each = sizes.batch.get() / stride(&shift).get();
            Some((shift, each.min(MAX_BATCH_BLOCKS)))
        };
        let cuts: Option<Vec<(Shift, u64)>> = job.parts().iter().map(cut).collect();
        Sequence::of(&cuts?)
    }

    /// Of parts that are cut already, each with the number of blocks of its batches.
    pub(crate) fn of(cuts: &[(Shift, u64)]) -> Option<Sequence> {
        let mut all = Sequence {
            stretches: Vec::new(),
            blocks: 0,
            batches: 0,
            bytes: Bytes::ZERO,
        };
        for (shift, each) in cuts {
            if !(1..=MAX_BATCH_BLOCKS).contains(each) {
                return None;
            }
            all.stretches.push(Stretch {
                shift: *shift,
                each: *each,
                first_block: all.blocks,
                first_batch: all.batches,
            });
            all.blocks = all.blocks.checked_add(shift.count())?;
            all.batches = all.batches.checked_add(shift.count().div_ceil(*each))?;
            all.bytes = all.bytes.checked_add(shift.len())?;
        }
        Some(all)
    }

    /// The parts, in order, and how many blocks each of its batches has.
    pub(crate) fn cuts(&self) -> impl Iterator<Item = (Shift, u64)> {
        self.stretches.iter().map(|one| (one.shift, one.each))
    }

    /// How many blocks there are.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// In how many batches.
    #[must_use]
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// Of all parts.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Of all blocks before block `n`.
    pub(crate) fn bytes_before(&self, n: u64) -> Bytes {
        let mut bytes = 0_u64;
        for one in &self.stretches {
            let here = n.saturating_sub(one.first_block);
            let whole = here.saturating_mul(one.shift.block_len().get());
            bytes = bytes.saturating_add(whole.min(one.shift.len().get()));
        }
        Bytes::new(bytes)
    }

    /// A block; `None` behind the last one.
    #[must_use]
    pub fn block(&self, n: u64) -> Option<Block> {
        let one = self.stretch(n)?;
        one.shift.block(n - one.first_block)
    }

    /// The batch with this number; `None` behind the last one.
    pub(crate) fn batch(&self, number: u64) -> Option<Batch> {
        let after = self
            .stretches
            .partition_point(|one| one.first_batch <= number);
        let part = after.checked_sub(1)?;
        let one = self.stretches.get(part)?;
        let begin = (number - one.first_batch).checked_mul(one.each)?;
        if begin >= one.shift.count() {
            return None;
        }
        let end = one.shift.count().min(begin + one.each);
        Some(Batch {
            number,
            part,
            blocks: one.first_block + begin..one.first_block + end,
        })
    }

    /// Where a block is in the memory of its batch, and in its slot of the data journal: by addresses, each next to the one that it is
    /// next to on the target, so that they are read and written together.
    pub(crate) fn place_in_batch(&self, n: u64) -> Option<Bytes> {
        let batch = self.batch(self.batch_of(n))?;
        let shift = self.shift(batch.part)?;
        let each = stride(shift);
        let len = self.block(n)?.from.len();
        if shift.to() < shift.from() {
            return each.checked_mul(n - batch.blocks.start);
        }
        let after = each.checked_mul(batch.blocks.end - n)?;
        after.checked_sub(len)
    }

    /// The number of the batch that block `n` is in, or of batches when there is no such block.
    pub(crate) fn batch_of(&self, n: u64) -> u64 {
        self.stretch(n).map_or(self.batches, |one| {
            one.first_batch + (n - one.first_block) / one.each
        })
    }

    /// The first block of a batch, or how many there are behind the last one.
    pub(crate) fn first_of(&self, number: u64) -> u64 {
        self.batch(number)
            .map_or(self.blocks, |batch| batch.blocks.start)
    }

    pub(crate) fn shift(&self, part: usize) -> Option<&Shift> {
        self.stretches.get(part).map(|one| &one.shift)
    }

    /// Room that a batch needs at most, in memory and in the data journal.
    pub(crate) fn largest_batch(&self) -> Bytes {
        let room = |one: &Stretch| {
            let blocks = one.each.min(one.shift.count());
            stride(&one.shift).checked_mul(blocks).unwrap_or(Bytes::MAX)
        };
        self.stretches.iter().map(room).max().unwrap_or_default()
    }

    /// The longest block.
    pub(crate) fn largest_block(&self) -> Bytes {
        let lens = self.stretches.iter().map(|one| one.shift.block_len());
        lens.max().unwrap_or_default()
    }

    /// Whether a part cannot be moved without a data journal.
    pub(crate) fn needs_journal(&self) -> bool {
        self.stretches.iter().any(|one| one.shift.depth() == 0)
    }

    fn stretch(&self, n: u64) -> Option<&Stretch> {
        let after = self.stretches.partition_point(|one| one.first_block <= n);
        let one = self.stretches.get(after.checked_sub(1)?)?;
        (n - one.first_block < one.shift.count()).then_some(one)
    }
}

/// From one block of a batch to the next in memory and in the data journal: each can be read and written past every cache.
pub(crate) fn stride(shift: &Shift) -> Bytes {
    let alignment = AlignedBytes::ALIGNMENT.get();
    let len = shift.block_len().get().min(shift.len().get());
    Bytes::new(len.checked_next_multiple_of(alignment).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_are_no_longer_than_the_distance_unless_they_are_journaled() {
        let bytes = Bytes::new;
        let part = |from, to, len| Part {
            from: bytes(from),
            to: bytes(to),
            len: bytes(len),
        };
        let job = Job::new(
            vec![
                part(32_256, 1 << 20, 10 << 20),
                part(1 << 30, (1 << 30) + 512, 5 << 20),
                part(1 << 31, 1 << 32, 4 << 20),
            ],
            Vec::new(),
        );
        let job = job.expect("a job");
        let all = Sequence::new(&job, &Sizes::default()).expect("sound");
        let lens: Vec<(u64, u64)> = all
            .cuts()
            .map(|(shift, each)| (shift.block_len().get(), each))
            .collect();
        assert_eq!(lens, [(1_015_808, 24), (1 << 20, 24), (1 << 20, 24)]);
        assert!(all.needs_journal());
        let ordered = Sizes {
            journaled_below: Bytes::ZERO,
            ..Sizes::default()
        };
        let all = Sequence::new(&job, &ordered).expect("sound");
        assert!(!all.needs_journal());
        assert_eq!(all.shift(1).map(Shift::block_len), Some(bytes(512)));
        assert!(all.largest_batch() <= Sizes::default().batch);
    }

    #[test]
    fn blocks_that_are_neighbours_are_neighbours_in_memory() {
        for (from, to) in [(0, 16_384), (16_384, 0)] {
            let shift = Shift::new(
                Bytes::new(from),
                Bytes::new(to),
                Bytes::new(9_000),
                Bytes::new(4096),
            );
            let all = Sequence::of(&[(shift.expect("a move"), 250)]).expect("sound");
            let mut places: Vec<(u64, u64)> = (0..3)
                .map(|n| {
                    let at = all.block(n).expect("it exists").from.start().get() - from;
                    (at, all.place_in_batch(n).expect("it exists").get())
                })
                .collect();
            places.sort_unstable();
            let first = places[0].1;
            assert!(
                places.iter().all(|(at, place)| place - first == *at),
                "{places:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn batches_cover_all_blocks_in_order(
            lens in proptest::collection::vec((1_u64..30, 1_u64..6), 0..4),
            block in 1_u64..5,
        ) {
            let cuts: Vec<(Shift, u64)> = lens.iter().enumerate().filter_map(|(n, (len, each))| {
                let at = n as u64 * 100;
                Some((Shift::new(Bytes::new(at), Bytes::new(at + 40), Bytes::new(*len), Bytes::new(block))?, *each))
            }).collect();
            let all = Sequence::of(&cuts).expect("sound");
            let (mut next, mut before) = (0, 0);
            for number in 0..all.batches() {
                let batch = all.batch(number).expect("it exists");
                prop_assert_eq!(batch.blocks.start, next);
                prop_assert_eq!(all.first_of(number), next);
                for n in batch.blocks.clone() {
                    prop_assert_eq!(all.batch_of(n), number);
                    prop_assert_eq!(all.bytes_before(n).get(), before);
                    let block = all.block(n).expect("it exists");
                    let place = all.place_in_batch(n).expect("it exists").get();
                    let room = (batch.blocks.end - batch.blocks.start) * 4096;
                    prop_assert!(place + block.from.len().get() <= room);
                    let at = batch.part as u64 * 100;
                    prop_assert!((at..at + 40).contains(&block.from.start().get()));
                    before += block.from.len().get();
                }
                next = batch.blocks.end;
            }
            prop_assert_eq!((next, before), (all.blocks(), all.bytes().get()));
            prop_assert_eq!(all.batch(all.batches()), None);
            prop_assert_eq!((all.block(next), all.batch_of(next)), (None, all.batches()));
        }
    }
}
