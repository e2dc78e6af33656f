//! Writes that have been answered and are not on the platter yet.

use super::queue::Sectors;

/// Bytes that are to be written, next to nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dirty {
    start: u64,
    end: u64,
}

/// Most runs of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    /// Of runs that cover all their sectors.
    pub(super) whole: usize,
    /// Of runs for which sectors are read first.
    pub(super) partial: usize,
}

/// The write cache: runs of bytes in ascending order, and those that are being written.
#[derive(Debug)]
pub(super) struct Cache {
    capacity: u64,
    most: usize,
    dirty: Vec<Dirty>,
    under_way: Vec<Dirty>,
    bytes: u64,
    bytes_under_way: u64,
    /// Where the last pass ended.
    pub(super) reached: u64,
}

impl Cache {
    /// Of so many bytes, in so many runs at most.
    pub(super) fn new(capacity: u64, most: usize) -> Cache {
        Cache {
            capacity,
            most,
            dirty: Vec::new(),
            under_way: Vec::new(),
            bytes: 0,
            bytes_under_way: 0,
            reached: 0,
        }
    }

    /// True when a write of so many bytes goes through it.
    #[inline]
    pub(super) fn takes(&self, len: u64) -> bool {
        len <= self.capacity && self.capacity > 0
    }

    /// True when such a write finds room now.
    #[inline]
    pub(super) fn has_room(&self, len: u64) -> bool {
        self.bytes + self.bytes_under_way + len <= self.capacity
            && self.dirty.len() + self.under_way.len() < self.most
    }

    /// Bytes that are not on the platter yet.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes + self.bytes_under_way
    }

    pub(super) fn is_empty(&self) -> bool {
        self.dirty.is_empty()
    }

    /// A write comes in. What touches or overlaps becomes one run.
    pub(super) fn write(&mut self, start: u64, end: u64) {
        let first = self.dirty.partition_point(|dirty| dirty.end < start);
        let behind = self.dirty.partition_point(|dirty| dirty.start <= end);
        let merged = self.dirty.get(first..behind).unwrap_or(&[]);
        let mut run = Dirty { start, end };
        for dirty in merged {
            run.start = run.start.min(dirty.start);
            run.end = run.end.max(dirty.end);
            self.bytes -= dirty.end - dirty.start;
        }
        self.bytes += run.end - run.start;
        self.dirty.splice(first..behind, [run]);
    }

    /// True when these bytes are all in it.
    pub(super) fn holds(&self, start: u64, end: u64) -> bool {
        let holds = |dirty: &Dirty| dirty.start <= start && end <= dirty.end;
        let near = self.dirty.partition_point(|dirty| dirty.end < end);
        self.dirty.get(near).is_some_and(holds) || self.under_way.iter().any(holds)
    }

    /// Number of the run from which a pass in ascending order goes on.
    pub(super) fn next(&self) -> usize {
        let next = self
            .dirty
            .partition_point(|dirty| dirty.start < self.reached);
        if next < self.dirty.len() { next } else { 0 }
    }

    /// Number of the run that `cost` is lowest for; of several, the first.
    pub(super) fn nearest(&self, shift: u32, cost: impl Fn(Sectors) -> u32) -> usize {
        let costs = self
            .dirty
            .iter()
            .enumerate()
            .map(|(number, dirty)| (cost(Sectors::of(dirty.start, dirty.end, shift)), number));
        costs.min().map_or(0, |(_, number)| number)
    }

    /// Begins a pass from that run on, inwards, over runs of its kind, which either cover all their sectors or do not, and over
    /// at most so many; `out` gets them. True when it goes on where the last one ended.
    pub(super) fn begin(
        &mut self,
        first: usize,
        most: Batch,
        shift: u32,
        out: &mut Vec<Sectors>,
    ) -> bool {
        out.clear();
        let mut kind = None;
        let mut number = 0;
        self.dirty.retain(|dirty| {
            number += 1;
            if number <= first {
                return true;
            }
            let sectors = Sectors::of(dirty.start, dirty.end, shift);
            let is_partial = sectors.partial() > 0;
            let kind = *kind.get_or_insert(is_partial);
            let most = if kind { most.partial } else { most.whole };
            if is_partial != kind || out.len() >= most.max(1) {
                return true;
            }
            out.push(sectors);
            self.bytes_under_way += dirty.end - dirty.start;
            self.under_way.push(*dirty);
            false
        });
        self.bytes -= self.bytes_under_way;
        let begins = self.under_way.first().map_or(0, |dirty| dirty.start);
        let goes_on = begins == self.reached;
        self.reached = self.under_way.last().map_or(0, |dirty| dirty.end);
        goes_on
    }

    /// The pass has ended.
    pub(super) fn end(&mut self) {
        self.under_way.clear();
        self.bytes_under_way = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_the_bytes_that_were_written(
            writes in proptest::collection::vec((0_u64..200, 1_u64..30), 1..40),
        ) {
            let mut cache = Cache::new(1 << 20, 1000);
            let mut bytes = [false; 256];
            for (start, len) in writes {
                cache.write(start, start + len);
                for byte in start..start + len {
                    bytes[usize::try_from(byte).expect("it is small")] = true;
                }
            }
            let mut kept = [false; 256];
            for dirty in &cache.dirty {
                for byte in dirty.start..dirty.end {
                    let byte = usize::try_from(byte).expect("it is small");
                    prop_assert!(!kept[byte]);
                    kept[byte] = true;
                }
            }
            prop_assert_eq!(kept, bytes);
            let sum = bytes.iter().filter(|byte| **byte).count();
            prop_assert_eq!(cache.bytes, sum as u64);
            for pair in cache.dirty.windows(2) {
                prop_assert!(pair[0].end < pair[1].start);
            }
        }
    }

    const BATCH: Batch = Batch {
        whole: 3,
        partial: 2,
    };

    #[test]
    fn a_pass_takes_so_many_runs_however_long_they_are() {
        let mut cache = Cache::new(1 << 20, 1000);
        for number in 0..4_u64 {
            cache.write(number * 16_384 + 512, number * 16_384 + 4608);
        }
        let mut sectors = Vec::new();
        assert!(!cache.begin(1, BATCH, 12, &mut sectors));
        let first: Vec<(u64, u64)> = sectors.iter().map(|run| (run.first, run.count)).collect();
        assert_eq!(first, [(4, 2), (8, 2)]);
        assert_eq!(cache.reached, 2 * 16_384 + 4608);
        assert!(
            cache.holds(16_384 + 512, 16_384 + 1024),
            "it is being written"
        );
        assert!(!cache.holds(16_384, 16_384 + 1024));
        cache.end();
        assert!(!cache.holds(16_384 + 512, 16_384 + 1024));
        assert_eq!(cache.next(), 1);
        assert_eq!(cache.bytes, 8192);
    }

    #[test]
    fn what_is_read_first_is_written_apart() {
        let mut cache = Cache::new(1 << 20, 1000);
        for number in 0..8_u64 {
            // Every other one covers its sectors: one of them and two by turns.
            let (start, len) = match number % 4 {
                1 => (0, 4096),
                3 => (0, 8192),
                _ => (512, 4096),
            };
            let start = number * 16_384 + start;
            cache.write(start, start + len);
        }
        let mut sectors = Vec::new();
        let mut pass = |cache: &mut Cache| {
            cache.begin(cache.next(), BATCH, 12, &mut sectors);
            cache.end();
            sectors
                .iter()
                .map(|run| run.first / 4)
                .collect::<Vec<u64>>()
        };
        assert_eq!(pass(&mut cache), [0, 2]);
        assert_eq!(pass(&mut cache), [3, 5, 7]);
        assert_eq!(pass(&mut cache), [1], "the next one inwards begins again");
        assert_eq!(pass(&mut cache), [4, 6]);
        assert!(cache.is_empty() && cache.bytes == 0);
    }
}
