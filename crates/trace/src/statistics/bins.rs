//! How many requests of each length begin at each place of a period: the joint distribution from which all else follows.

use std::io;

use super::dense::Dense;
use super::key::Key;
use super::runs::Runs;

/// A key and how many requests have it; none: a free slot.
#[derive(Clone, Copy, Debug)]
struct Slot {
    key: Key,
    count: u64,
}

/// A request has at least one byte, so its key is none of zeros.
const FREE: Slot = Slot {
    key: Key::from_words(0, 0),
    count: 0,
};

/// So many keys wait to be counted together: the memory that they lie in is asked for all at once, instead of waiting for each.
const WAITING: usize = 256;

/// Smallest and largest number of slots, as powers of two.
const FIRST_BITS: u32 = 11;
const MAX_BITS: u32 = 40;

/// Counts of keys: open addressing, as it is asked once for each request. What does not fit in memory goes to sorted runs on disk.
#[derive(Debug)]
pub(crate) struct Bins {
    dense: Dense,
    slots: Vec<Slot>,
    bits: u32,
    used: usize,
    waiting: Vec<Key>,
    /// Most bits that the memory allows.
    max_bits: u32,
    runs: Runs,
    /// Why something could not be kept: told when the counts are asked for.
    failed: Option<io::Error>,
}

impl Bins {
    /// Counts that take at most `memory` bytes, and what a disk holds.
    pub(crate) fn new(memory: usize) -> Bins {
        // While the table grows, the smaller one is there as well.
        let most = (memory / size_of::<Slot>() * 2 / 3).max(1 << FIRST_BITS);
        Bins {
            dense: Dense::new(memory / 8),
            slots: vec![FREE; 1 << FIRST_BITS],
            bits: FIRST_BITS,
            used: 0,
            waiting: Vec::with_capacity(WAITING),
            max_bits: most.ilog2().clamp(FIRST_BITS, MAX_BITS),
            runs: Runs::default(),
            failed: None,
        }
    }

    /// Counts one more.
    #[inline]
    pub(crate) fn add(&mut self, key: Key) {
        self.waiting.push(key);
        if self.waiting.len() == WAITING {
            self.count();
        }
    }

    /// Counts what waits.
    #[inline(never)]
    fn count(&mut self) {
        self.dense.count(&mut self.waiting);
        if !self.waiting.is_empty() {
            self.count_sparse();
        }
        if self.dense.is_to_be_emptied() {
            self.empty_dense();
        }
    }

    /// Counts what waits in the slots.
    fn count_sparse(&mut self) {
        // A look at each slot, and nothing that depends on what is seen: the processor goes on to the next meanwhile.
        let mask = self.slots.len() - 1;
        let mut places = [0_usize; WAITING];
        let mut seen = 0;
        for (place, key) in places.iter_mut().zip(&self.waiting) {
            *place = slot(*key, self.bits);
            // Its first and its last word: one slot in four lies in two lines of the cache.
            let [first, _] = self
                .slots
                .get(*place & mask)
                .map_or([0; 2], |slot| slot.key.words());
            seen ^= first ^ self.slots.get(*place & mask).map_or(0, |slot| slot.count);
        }
        std::hint::black_box(seen);
        let slots = self.slots.as_mut_slice();
        for (place, key) in places.iter().zip(&self.waiting) {
            self.used += usize::from(put(slots, *place, *key, 1));
        }
        self.waiting.clear();
        self.keep_room();
    }

    /// Moves what is in the dense blocks to the slots.
    #[cold]
    fn empty_dense(&mut self) {
        let dense = std::mem::take(&mut self.dense);
        for (key, count) in dense.counts() {
            let place = slot(key, self.bits);
            self.used += usize::from(put(&mut self.slots, place, key, count));
            self.keep_room();
        }
        self.dense = dense.emptied();
    }

    /// Makes room for as many as wait, before they could fill it.
    fn keep_room(&mut self) {
        if (self.used + WAITING) * 8 > self.slots.len() * 5 {
            self.make_room();
        }
    }

    #[cold]
    fn make_room(&mut self) {
        if self.bits < self.max_bits {
            self.bits += 1;
            let old = std::mem::replace(&mut self.slots, vec![FREE; 1 << self.bits]);
            let mask = self.slots.len() - 1;
            for entry in old.into_iter().filter(|entry| entry.count > 0) {
                let mut at = slot(entry.key, self.bits);
                while self.slots[at & mask].count > 0 {
                    at += 1;
                }
                self.slots[at & mask] = entry;
            }
            return;
        }
        let sorted = self.drain();
        if let Err(error) = self.runs.spill(&sorted) {
            self.failed.get_or_insert(error);
        }
    }

    /// What is in the table, in order; it is empty then.
    fn drain(&mut self) -> Vec<(Key, u64)> {
        let mut sorted: Vec<(Key, u64)> = Vec::with_capacity(self.used);
        for slot in &mut self.slots {
            if slot.count > 0 {
                sorted.push((slot.key, slot.count));
                *slot = FREE;
            }
        }
        self.used = 0;
        sorted.sort_unstable_by_key(|(key, _)| *key);
        sorted
    }

    /// All counts.
    ///
    /// # Errors
    /// When something could not be written to disk.
    pub(crate) fn into_runs(mut self) -> io::Result<Runs> {
        self.count();
        self.empty_dense();
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let sorted = self.drain();
        self.runs.hold(sorted);
        Ok(self.runs)
    }
}

/// Adds to the count of a key, and says whether it is a new one. The slots are never full.
#[inline]
fn put(slots: &mut [Slot], place: usize, key: Key, count: u64) -> bool {
    let mask = slots.len() - 1;
    let mut at = place;
    while let Some(found) = slots.get_mut(at & mask) {
        if found.key == key {
            found.count += count;
            return false;
        }
        if found.count == 0 {
            *found = Slot { key, count };
            return true;
        }
        at += 1;
    }
    false
}

#[inline]
fn slot(key: Key, bits: u32) -> usize {
    // Fewer than 2⁴⁰ slots.
    usize::try_from(key.digest() >> (64 - bits)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use straddle_geometry::Access;

    proptest! {
        /// With room for 1,024 slots only, most go to disk; with room for four blocks, most go to slots.
        #[test]
        fn counts_are_those_of_a_map(keys in proptest::collection::vec((0_u32..4, 0_u64..2048, 1_u64..4), 0..6000)) {
            let mut expected = BTreeMap::new();
            let mut all = [0, 1 << 15, 1 << 24].map(Bins::new);
            for (device, sector, len) in keys {
                let key = Key::new(device, 0, Access::Read, 512 * sector, len);
                *expected.entry(key).or_insert(0_u64) += 1;
                for bins in &mut all {
                    bins.add(key);
                }
            }
            for bins in all {
                let mut runs = bins.into_runs().expect("room on disk");
                let found: Vec<(Key, u64)> = runs.merged().expect("readable").map(|entry| entry.expect("readable")).collect();
                prop_assert_eq!(found, expected.clone().into_iter().collect::<Vec<_>>());
            }
        }
    }

    /// As when stretches of time are counted apart.
    #[test]
    fn blocks_go_to_keys_that_come_later() {
        const EACH: u64 = 500_000;
        // Room for one block.
        let mut bins = Bins::new(8 << 10);
        let keys = [1, 2].map(|len| Key::new(0, 0, Access::Read, 0, len));
        for key in keys {
            for _ in 0..EACH {
                bins.add(key);
            }
        }
        bins.count();
        let dense: Vec<(Key, u64)> = bins.dense.counts().collect();
        assert_eq!(dense.len(), 1);
        // As soon as more of them were left than counted.
        assert_eq!(dense[0].0, keys[0]);
        for _ in 0..EACH {
            bins.add(keys[1]);
        }
        bins.count();
        let dense: Vec<(Key, u64)> = bins.dense.counts().collect();
        assert_eq!(dense[0].0, keys[1]);
        let mut runs = bins.into_runs().expect("no disk is needed");
        let found: Vec<(Key, u64)> = runs
            .merged()
            .expect("readable")
            .map(|entry| entry.expect("readable"))
            .collect();
        assert_eq!(found, [(keys[0], EACH), (keys[1], 2 * EACH)]);
    }

    #[test]
    fn the_table_stays_within_its_memory() {
        let mut bins = Bins::new(1 << 20);
        for place in 0..200_000 {
            bins.add(Key::new(0, 0, Access::Write, place, 1));
        }
        assert!(bins.slots.len() * size_of::<Slot>() <= 1 << 20);
        assert!(bins.runs.spilled() > 0);
    }
}
