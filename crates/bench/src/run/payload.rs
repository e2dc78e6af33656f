//! What is written: bytes that can be neither compressed nor found a second time.
//!
//! A buffer is filled once with random bytes, for filling it again costs more than most writes. Each write changes a counter
//! in every 4 KiB of it, so that no two blocks that are written are equal and a device that looks for duplicates finds none.
//! What is read goes to other buffers: a block of zeros that was read would otherwise be written back as one.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// Distance of counters: the smallest block in which anything is known to look for duplicates.
const STEP: usize = 4096;

/// The counter of one stream of writes.
#[derive(Debug)]
pub(super) struct Payload {
    next: u64,
    random: Xoshiro256PlusPlus,
}

impl Payload {
    /// Counters that no other stream uses; one that starts at a random place in 2⁶⁴ meets no other in practice.
    pub(super) fn new(mut random: Xoshiro256PlusPlus) -> Payload {
        Payload {
            next: random.next_u64(),
            random,
        }
    }

    /// Random bytes all over.
    pub(super) fn fill(&mut self, buffer: &mut [u8]) {
        self.random.fill_bytes(buffer);
    }

    /// Makes what will be written next unlike all that was written before.
    #[inline]
    pub(super) fn renew(&mut self, bytes: &mut [u8]) {
        for block in bytes.chunks_mut(STEP) {
            self.next = self.next.wrapping_add(1);
            if let Some(counter) = block.first_chunk_mut::<8>() {
                *counter = self.next.to_le_bytes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_blocks_are_equal_and_none_can_be_compressed() {
        let random = straddle_workload::generator::streams(1).next();
        let mut payload = Payload::new(random.expect("there is no end"));
        let mut buffer = vec![0; 64 << 10];
        payload.fill(&mut buffer);
        let mut seen = HashSet::new();
        for len in [512, 4096, 8192, 64 << 10].repeat(50) {
            let bytes = buffer.get_mut(..len).expect("it is that long");
            payload.renew(bytes);
            for block in bytes.chunks(4096) {
                assert!(seen.insert(block.to_vec()));
            }
        }
        // Byte values come about equally often: 256 of each, give or take six standard deviations.
        let mut counts = [0_i32; 256];
        for byte in &buffer {
            counts[usize::from(*byte)] += 1;
        }
        assert!(counts.iter().all(|n| (n - 256).abs() < 96), "{counts:?}");
    }
}
