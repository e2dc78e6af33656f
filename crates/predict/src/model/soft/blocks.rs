//! Block maps: where a virtual disk's blocks lie in its file, and where the file's pieces lie on the volume.

use crate::model::{Model, Operation};
use crate::profile::{Key, Refusal, Section};

const BLOCK: Key = Key::bytes(
    "block",
    4096.0,
    1_073_741_824.0,
    "Bytes of a container's block or cluster. Without it, there is no container.",
)
.optional();
const HEADER: Key = Key::bytes(
    "header",
    0.0,
    1e12,
    "Bytes of the container's file before its first block.",
)
.or(0.0, "blocks begin on the grid of blocks");
const GAP: Key = Key::bytes(
    "gap",
    0.0,
    16_777_216.0,
    "Bytes before the data of each block: the 512 of the bitmap in a dynamic VHD.",
)
.or(0.0, "blocks lie side by side");
const ORDER: Key = Key::word(
    "order",
    &["sequential", "shuffled"],
    "In which order blocks lie in the file: that of the virtual disk, or as they were first written to at random.",
)
.or_word("sequential", "a disk that was filled in order");
const FRAGMENT: Key = Key::bytes(
    "fragment",
    512.0,
    1e12,
    "Bytes of each piece of the file; pieces begin at arbitrary allocation units. Without it, the file is one piece from the volume's beginning.",
)
.optional();
const ALLOCATION_UNIT: Key = Key::bytes(
    "allocation_unit",
    512.0,
    67_108_864.0,
    "Allocation unit (cluster, block) of the file system that the file lies on.",
)
.or(4096.0, "what file systems take when nobody says");
const SEED: Key = Key::count(
    "seed",
    0.0,
    1e9,
    "Draws the order of blocks and the places of pieces.",
)
.or(1.0, "any will do");

/// Its parameters.
pub(crate) static MODEL: Model = Model {
    section: "blocks",
    title: "Block map",
    keys: &[
        &BLOCK,
        &HEADER,
        &GAP,
        &ORDER,
        &FRAGMENT,
        &ALLOCATION_UNIT,
        &SEED,
    ],
};

/// Places of pieces differ by up to so much.
const SPREAD: u64 = 1 << 20;

/// A container in pieces.
#[derive(Debug)]
pub(super) struct Blocks {
    container: Option<Container>,
    pieces: Option<Pieces>,
    capacity: u64,
}

/// Blocks in a file.
#[derive(Debug)]
struct Container {
    block: u64,
    header: u64,
    gap: u64,
    order: Option<Permutation>,
}

/// Pieces on a volume. Each has a slot, longer than itself, and begins at some allocation unit in it.
#[derive(Debug)]
struct Pieces {
    len: u64,
    slot: u64,
    unit: u64,
    /// Allocation units at which a piece may begin.
    places: u64,
    order: Permutation,
    seed: u64,
}

impl Blocks {
    pub(super) fn build(section: &Section, volume: u64) -> Result<Blocks, Refusal> {
        let seed = section.whole(&SEED);
        let len = section
            .optional(&FRAGMENT)
            .map(|_| section.whole(&FRAGMENT));
        let block = section.optional(&BLOCK).map(|_| section.whole(&BLOCK));
        if len.is_none() && block.is_none() {
            return Err(section.refuse(&BLOCK, "a block, or a fragment, or no such section"));
        }
        let mut capacity = volume;
        let mut pieces = None;
        if let Some(len) = len {
            let unit = section.whole(&ALLOCATION_UNIT);
            if !len.is_multiple_of(unit) {
                let expected = format!("a multiple of the allocation unit's {unit} bytes");
                return Err(section.refuse(&FRAGMENT, expected));
            }
            let places = (len.min(SPREAD) / unit).max(1);
            let slot = len + (places - 1) * unit;
            let count = volume / slot;
            if count == 0 {
                let expected = format!("a piece that fits into the volume's {volume} bytes");
                return Err(section.refuse(&FRAGMENT, expected));
            }
            capacity = count * len;
            pieces = Some(Pieces {
                len,
                slot,
                unit,
                places,
                order: Permutation::new(count, seed ^ 0x5bd1_e995),
                seed,
            });
        }
        let mut container = None;
        if let Some(block) = block {
            let (header, gap) = (section.whole(&HEADER), section.whole(&GAP));
            let count = capacity.saturating_sub(header) / (block + gap);
            if count == 0 {
                let expected = format!("a block that fits into the file's {capacity} bytes");
                return Err(section.refuse(&BLOCK, expected));
            }
            capacity = count * block;
            let is_shuffled = section.word(&ORDER) == "shuffled";
            container = Some(Container {
                block,
                header,
                gap,
                order: is_shuffled.then(|| Permutation::new(count, seed)),
            });
        }
        Ok(Blocks {
            container,
            pieces,
            capacity,
        })
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The place of a byte on the volume, and how many bytes from there on lie side by side.
    fn place(&self, at: u64) -> (u64, u64) {
        let (mut place, mut room) = (at, u64::MAX);
        if let Some(container) = &self.container {
            let (number, within) = (at / container.block, at % container.block);
            let slot = container
                .order
                .as_ref()
                .map_or(number, |order| order.of(number));
            place = container.header
                + slot * (container.gap + container.block)
                + container.gap
                + within;
            room = container.block - within;
        }
        if let Some(pieces) = &self.pieces {
            let (number, within) = (place / pieces.len, place % pieces.len);
            let shift = mix(number ^ pieces.seed.rotate_left(32)) % pieces.places;
            place = pieces.order.of(number) * pieces.slot + shift * pieces.unit + within;
            room = room.min(pieces.len - within);
        }
        (place, room)
    }

    /// What an operation becomes on the volume; what lies side by side stays one.
    pub(super) fn map(&self, operation: Operation, out: &mut Vec<Operation>) {
        let (mut at, end) = (operation.start, operation.end());
        while at < end {
            let (start, room) = self.place(at);
            let len = room.min(end - at);
            at += len;
            match out.last_mut() {
                Some(last) if last.end() == start => last.len += len,
                _ => out.push(Operation {
                    access: operation.access,
                    start,
                    len,
                }),
            }
        }
    }
}

/// The numbers below a count in another order: a Feistel network on the next even power of two, walked until it comes back
/// into the range. Takes no memory.
#[derive(Debug)]
struct Permutation {
    count: u64,
    half: u32,
    seed: u64,
}

impl Permutation {
    fn new(count: u64, seed: u64) -> Permutation {
        let bits = 64 - count.saturating_sub(1).leading_zeros();
        Permutation {
            count,
            half: bits.div_ceil(2).max(1),
            seed,
        }
    }

    /// The place of `number`, which is below the count.
    fn of(&self, number: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let mut at = number;
        loop {
            let (mut left, mut right) = (at >> self.half, at & mask);
            for round in 0..4_u64 {
                let mixed = mix(right ^ (self.seed << 8 | round).rotate_left(40)) & mask;
                (left, right) = (right, left ^ mixed);
            }
            at = left << self.half | right;
            if at < self.count {
                return at;
            }
        }
    }
}

/// The finalizer of `SplitMix64`.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_permutation_takes_every_number_once(count in 1_u64..500, seed in 0_u64..1000) {
            let permutation = Permutation::new(count, seed);
            let mut seen = vec![false; usize::try_from(count).expect("small")];
            for number in 0..count {
                let place = usize::try_from(permutation.of(number)).expect("small");
                prop_assert!(!std::mem::replace(&mut seen[place], true));
            }
        }
    }
}
