//! Garbage collection of page-mapped devices: how much is copied for what is written.
//!
//! Uniform random writes leave blocks with some valid units, which are copied before the block is erased. What is written
//! from a block's beginning to its end, at once or in order, leaves a block that later becomes free as a whole: it is not
//! charged.

use super::geometry::Geometry;

/// Streams of writes in order that are told apart.
const RUNS: usize = 16;
/// Shares are multiples of 2⁻³².
const ONE: f64 = 4_294_967_296.0;

/// Share of a block's units that is still valid when it is collected, under uniform random writes and a spare share of `spare`
/// of the capacity. It solves v = exp(−(1 + spare)(1 − v)), which is −W(−αe^−α)/α with Lambert's W and α = 1 + spare.
///
/// Source: P. Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012; L. Xiang and B. M. Kurkoski, "An improved
/// analytic expression for write amplification in NAND flash", ICNC 2012.
pub(super) fn valid_share(spare: f64) -> f64 {
    let alpha = 1.0 + spare;
    // Below the lesser solution v − exp(−α(1 − v)) is negative and concave: Newton's steps ascend to it from 0.
    let mut v = 0.0;
    for _ in 0..100 {
        let e = libm::exp(-alpha * (1.0 - v));
        let step = (e - v) / (1.0 - alpha * e);
        v += step;
        if step < 1e-14 {
            break;
        }
    }
    v.clamp(0.0, 1.0 - 1e-4)
}

/// Units that are programmed for each unit written.
#[cfg(test)]
pub(super) fn write_amplification(spare: f64) -> f64 {
    1.0 / (1.0 - valid_share(spare))
}

/// What is to be copied.
#[derive(Debug)]
pub(super) struct Collection {
    row: u64,
    /// Bytes copied for each byte charged, times 2³².
    copies: u64,
    /// Reads for each row copied, times 2³².
    reads: u64,
    /// Bytes times 2³².
    debt: u128,
    reads_due: u64,
    runs: Runs,
}

impl Collection {
    pub(super) fn new(geometry: &Geometry, spare: f64) -> Collection {
        let v = valid_share(spare);
        #[expect(clippy::cast_precision_loss, reason = "units of a row are few")]
        let units = (geometry.row / geometry.unit).max(1) as f64;
        // A row of n units, each valid with probability v, is read when any is, and yields n·v on average.
        let reads = (1.0 - libm::pow(1.0 - v, units)) / v.max(1e-9);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "shares are below 10⁴"
        )]
        let fixed = |share: f64| libm::round(share * ONE) as u64;
        Collection {
            row: geometry.row,
            copies: fixed(v / (1.0 - v)),
            reads: fixed(reads),
            debt: 0,
            reads_due: 0,
            runs: Runs::new(geometry.block),
        }
    }

    /// Reads for each row copied, on average.
    pub(super) fn reads_per_row(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let reads = self.reads as f64;
        reads / ONE
    }

    /// `start` to `end` is written, and `bytes` with whole units. How many rows are to be copied for it.
    pub(super) fn write(&mut self, start: u64, end: u64, bytes: u64) -> u64 {
        let charged = u128::from(self.runs.charge(start, end));
        let charged = charged * u128::from(bytes) / u128::from((end - start).max(1));
        self.debt += charged * u128::from(self.copies);
        let row = u128::from(self.row) << 32;
        let rows = self.debt / row;
        self.debt %= row;
        u64::try_from(rows).unwrap_or(u64::MAX)
    }

    /// Reads for one more row that is copied.
    pub(super) fn reads(&mut self) -> u64 {
        let due = self.reads_due + self.reads;
        self.reads_due = due & 0xffff_ffff;
        due >> 32
    }
}

/// A stream of writes in order.
#[derive(Clone, Copy, Debug)]
struct Run {
    end: u64,
    /// Where the block that it is in begins, if it has written it from there.
    whole: Option<u64>,
}

/// The most recent streams, the latest last.
#[derive(Debug)]
struct Runs {
    block: u64,
    runs: Vec<Run>,
}

impl Runs {
    fn new(block: u64) -> Runs {
        Runs {
            block,
            runs: Vec::with_capacity(RUNS),
        }
    }

    /// Bytes that will have to be copied around: those outside of blocks written from beginning to end. A block that
    /// is left unfinished is charged when its stream is forgotten.
    fn charge(&mut self, start: u64, end: u64) -> u64 {
        let mut charged = 0;
        let mut run = match self.runs.iter().rposition(|run| run.end == start) {
            Some(at) => self.runs.remove(at),
            None => {
                if self.runs.len() == RUNS {
                    let old = self.runs.remove(0);
                    charged += old.whole.map_or(0, |from| old.end - from);
                }
                Run {
                    end: start,
                    whole: None,
                }
            }
        };
        while run.end < end {
            let block_end = (run.end / self.block + 1) * self.block;
            if run.end.is_multiple_of(self.block) {
                run.whole = Some(run.end);
            }
            let stop = block_end.min(end);
            if run.whole.is_none() {
                charged += stop - run.end;
            }
            if stop == block_end {
                run.whole = None;
            }
            run.end = stop;
        }
        self.runs.push(run);
        charged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    /// A page-mapped device under uniform random writes, nothing left out. The block that is
    /// collected is the oldest, or else the one with the fewest valid pages.
    fn brute_force(blocks: usize, pages: usize, spare: f64, is_greedy: bool) -> f64 {
        let user = (blocks as f64 * pages as f64 / (1.0 + spare)) as usize;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut place = vec![usize::MAX; user];
        let mut owner = vec![usize::MAX; blocks * pages];
        let mut valid = vec![0_usize; blocks];
        let mut free: Vec<usize> = (1..blocks).rev().collect();
        let (mut open, mut used) = (0, 0);
        let (mut written, mut programmed) = (0_u64, 0_u64);
        let mut full = std::collections::VecDeque::new();
        let total = user * 12;
        for n in 0..total {
            let page = if n < user {
                n
            } else {
                (random.next_u64() % user as u64) as usize
            };
            let mut todo = vec![page];
            let mut is_host = true;
            while let Some(page) = todo.pop() {
                if used == pages {
                    full.push_back(open);
                    open = free.pop().expect("collection keeps a block free");
                    used = 0;
                }
                if place[page] != usize::MAX {
                    valid[place[page] / pages] -= 1;
                    owner[place[page]] = usize::MAX;
                }
                let slot = open * pages + used;
                used += 1;
                place[page] = slot;
                owner[slot] = page;
                valid[open] += 1;
                if n >= total / 2 {
                    programmed += 1;
                    written += u64::from(is_host);
                }
                is_host = false;
                if free.len() < 2 && todo.is_empty() {
                    let fewest = (0..full.len()).min_by_key(|at| valid[full[*at]]);
                    let at = fewest.filter(|_| is_greedy).unwrap_or(0);
                    let victim = full.remove(at).expect("some block is full");
                    todo.extend(
                        owner[victim * pages..(victim + 1) * pages]
                            .iter()
                            .copied()
                            .filter(|page| *page != usize::MAX),
                    );
                    // Copied before it is erased: its pages move out one by one, then it is free.
                    free.insert(0, victim);
                }
            }
        }
        programmed as f64 / written as f64
    }

    #[test]
    fn amplification_is_what_a_translation_layer_does() {
        for (spare, expected) in [
            (0.07, 7.5),
            (0.15, 3.8),
            (0.28, 2.2),
            (0.5, 1.5),
            (1.0, 1.25),
        ] {
            let formula = write_amplification(spare);
            assert!((formula / expected - 1.0).abs() < 0.2, "{spare}: {formula}");
            // Of many blocks, those that are kept free do not count.
            let counted = brute_force(1200, 64, spare, false);
            assert!(
                (counted / formula - 1.0).abs() < 0.04,
                "{spare}: {counted} counted, {formula} by formula"
            );
            let greedy = brute_force(1200, 64, spare, true);
            assert!(
                greedy < 1.01 * counted && greedy > 0.85 * counted,
                "{spare}: {greedy} greedy, {counted} in order"
            );
        }
    }

    #[test]
    fn whole_blocks_cost_no_copies() {
        let mut runs = Runs::new(1000);
        assert_eq!(runs.charge(1000, 3000), 0, "at once");
        assert_eq!(runs.charge(5000, 5400), 0);
        assert_eq!(runs.charge(5400, 6000), 0, "in order");
        assert_eq!(runs.charge(8100, 9000), 900, "not from its beginning");
        assert_eq!(runs.charge(9000, 9100), 0, "but the next one is");
        let forgotten: u64 = (0..20)
            .map(|n| runs.charge(20_100 + 2_000 * n, 20_200 + 2_000 * n))
            .sum();
        assert_eq!(forgotten, 20 * 100 + 100, "and charged when it is left");
    }
}
