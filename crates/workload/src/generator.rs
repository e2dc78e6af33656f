//! Which request comes next.
//!
//! Each size has a lattice of its own: places every `size` bytes, the first at the beginning of the extent, as many as fit.
//! Random requests take each place of their lattice equally often, also where they are asked for on a lattice finer or
//! coarser than they are long; sequential ones follow a cursor, rounded up to the
//! lattice of the size that was drawn. With a stride, the lattices of all sizes are the same: places every `stride` bytes.
//! In columns, a cursor counts requests, and where one lies follows from its number.
//!
//! Each stream of requests (a worker, or a thread of a worker whose engine blocks) draws from its own part of one
//! xoshiro256++ sequence, 2¹²⁸ numbers apart. What is drawn depends on the seed, the stream and the workload alone, never on
//! the offset: each offset gets the same places of its lattice in the same order.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::sync::atomic::{AtomicU64, Ordering};
use straddle_geometry::{Access, Bytes, Extent, lcm};

use crate::workload::{Pattern, Percent, Workload};

/// The random numbers of each stream of a run, one after the other.
pub fn streams(seed: u64) -> impl Iterator<Item = Xoshiro256PlusPlus> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    std::iter::repeat_with(move || {
        let this = random.clone();
        random.jump();
        this
    })
}

/// A number below `end`, each equally likely but for one part in 2⁶⁴ / `end`.
#[must_use]
pub fn below(random: u64, end: u64) -> u64 {
    ((u128::from(random) * u128::from(end)) >> 64) as u64
}

/// A request without a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Which way.
    pub access: Access,
    /// Where it begins.
    pub offset: Bytes,
    /// How long it is.
    pub len: Bytes,
}

/// What a workload cannot do in an extent.
#[derive(Debug, PartialEq, Eq)]
pub struct TooSmall {
    /// What there is.
    pub found: String,
    /// What there would have to be.
    pub expected: String,
}

/// The places of one size.
#[derive(Clone, Copy, Debug)]
struct Lattice {
    size: u64,
    /// Distance of places.
    step: u64,
    places: u64,
    /// Draws below this and not below the last one's take this size.
    until: u64,
}

/// What all streams of a run have in common.
#[derive(Clone, Debug)]
pub struct Places {
    base: u64,
    len: u64,
    lattices: Vec<Lattice>,
    weights: u64,
    /// What the parts of the workers are multiples of, and how many of those there are.
    share: u64,
    shares: u64,
    pattern: Pattern,
    reads: Percent,
    workers: u32,
}

impl Places {
    /// The places of a workload's requests in an extent.
    ///
    /// # Errors
    /// Too little room for the requests or the workers.
    pub fn new(workload: &Workload, extent: Extent) -> Result<Places, TooSmall> {
        let len = extent.len().get();
        let mut lattices = Vec::new();
        let mut weights = 0_u64;
        for (size, weight) in &workload.sizes {
            let size = size.get();
            weights += u64::from(*weight);
            let step = match workload.pattern {
                Pattern::Strided(step) | Pattern::RandomEvery(step) | Pattern::Recorded(step) => {
                    step.get()
                }
                Pattern::Random | Pattern::Sequential | Pattern::Columns(_) => size,
            };
            let places = len.checked_sub(size).map_or(0, |rest| rest / step + 1);
            if places == 0 {
                return Err(TooSmall {
                    found: format!("{} bytes for one offset", extent.len().grouped()),
                    expected: format!(
                        "room for one request of {} bytes at least",
                        Bytes::new(size).grouped()
                    ),
                });
            }
            if *weight > 0 {
                lattices.push(Lattice {
                    size,
                    step,
                    places,
                    until: weights,
                });
            }
        }
        if weights == 0 {
            return Err(TooSmall {
                found: "no request size with a weight above 0".to_owned(),
                expected: "at least one".to_owned(),
            });
        }
        let workers = workload.workers;
        // Parts that begin on the lattices of all sizes at once have room for each of them.
        let largest = workload.largest().get();
        let (share, shares, what) = match (workload.pattern, workers) {
            // The last request needs no gap behind it.
            (Pattern::Strided(stride), _) => {
                let stride = stride.get();
                let after_first = len.saturating_sub(largest) / stride;
                (stride, after_first + 1, "the stride")
            }
            // A share is a column: it is the workers' numbers of those that differ.
            (Pattern::Columns(row), _) => {
                let rows = len / row.get();
                let columns = if rows == 0 { 0 } else { row.get() / largest };
                (largest, columns, "a column")
            }
            (_, 0 | 1) => (largest, len / largest, "the largest request"),
            _ => {
                let share = common_multiple(&lattices);
                (share, len / share, "a multiple of every request size")
            }
        };
        if !workload.pattern.is_random() && shares < u64::from(workers) {
            return Err(TooSmall {
                found: format!(
                    "room for {shares} times {} bytes, which is {what}",
                    Bytes::new(share).grouped()
                ),
                expected: format!("one for each of {workers} workers at least"),
            });
        }
        Ok(Places {
            base: extent.start().get(),
            len,
            lattices,
            weights,
            share,
            shares,
            pattern: workload.pattern,
            reads: workload.reads,
            workers,
        })
    }

    /// The cursor that the streams of a worker share; none is needed for random requests.
    #[must_use]
    pub fn cursor(&self, worker: u32) -> Cursor {
        self.cursor_from(worker, 0)
    }

    /// A cursor that begins `turn` / 2⁶⁴ of the way through the worker's part, and goes round.
    #[must_use]
    pub fn cursor_from(&self, worker: u32, turn: u64) -> Cursor {
        let shares = |worker: u32| {
            let all = u128::from(self.shares);
            let before = all * u128::from(worker) / u128::from(self.workers.max(1));
            u64::try_from(before).unwrap_or(self.shares)
        };
        let (from, to) = (shares(worker), shares(worker + 1));
        let begin = from * self.share;
        let is_last = worker + 1 >= self.workers;
        let (end, next) = match self.pattern {
            Pattern::Columns(row) => {
                let cells = (to - from).saturating_mul(self.len / row.get());
                (to * self.share, below(turn, cells))
            }
            _ => {
                let end = if is_last { self.len } else { to * self.share };
                (end, begin + below(turn, to - from) * self.share)
            }
        };
        Cursor {
            begin,
            end,
            next: AtomicU64::new(next),
        }
    }
}

/// The least common multiple of all sizes; the largest number there is where it would be larger.
fn common_multiple(lattices: &[Lattice]) -> u64 {
    lattices.iter().fold(1, |multiple, lattice| {
        lcm(multiple, lattice.size).unwrap_or(u64::MAX)
    })
}

/// Where requests of a worker have got to that are not random.
#[derive(Debug)]
pub struct Cursor {
    /// Its part, from the beginning of the extent; in columns, from the beginning of a row.
    begin: u64,
    end: u64,
    /// Where the next request may lie; in columns, how many of a pass were made.
    next: AtomicU64,
}

impl Cursor {
    fn take(&self, lattice: Lattice) -> u64 {
        let Lattice { size, step, .. } = lattice;
        let fit = |next: u64| {
            let start = next.next_multiple_of(step);
            if start + size <= self.end {
                start
            } else {
                self.begin.next_multiple_of(step)
            }
        };
        fit(self.advance(|next| fit(next) + step))
    }

    /// The next cell of a table of so many rows.
    fn take_cell(&self, size: u64, row: u64, rows: u64) -> u64 {
        let cells = (self.end - self.begin) / size * rows;
        let cell = self.advance(|cell| (cell + 1) % cells.max(1));
        self.begin + cell / rows.max(1) * size + cell % rows.max(1) * row
    }

    /// What was next before it became what `next` makes of it.
    fn advance(&self, mut next: impl FnMut(u64) -> u64) -> u64 {
        let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
        // The closure always gives a value.
        let before = self.next.fetch_update(set, get, |now| Some(next(now)));
        before.unwrap_or(self.begin)
    }
}

/// A stream of requests.
#[derive(Debug)]
pub struct Generator<'a> {
    places: &'a Places,
    cursor: &'a Cursor,
    random: Xoshiro256PlusPlus,
    /// Of the places alone.
    first: Lattice,
    single: bool,
}

impl<'a> Generator<'a> {
    /// A stream that takes its places from `places` and, unless it is random, in the order of `cursor`.
    #[must_use]
    pub fn new(
        places: &'a Places,
        cursor: &'a Cursor,
        random: Xoshiro256PlusPlus,
    ) -> Generator<'a> {
        let first = places.lattices.first().copied().unwrap_or(Lattice {
            size: 512,
            step: 512,
            places: 1,
            until: 1,
        });
        Generator {
            places,
            cursor,
            random,
            first,
            single: places.lattices.len() == 1,
        }
    }

    /// The next request.
    #[inline]
    pub fn draw(&mut self) -> Drawn {
        let lattice = if self.single {
            self.first
        } else {
            self.lattice()
        };
        let at = match self.places.pattern {
            // Places of a recording are not drawn; a trial of engines takes any on its lattice.
            Pattern::Random | Pattern::RandomEvery(_) | Pattern::Recorded(_) => {
                below(self.random.next_u64(), lattice.places) * lattice.step
            }
            Pattern::Sequential | Pattern::Strided(_) => self.cursor.take(lattice),
            Pattern::Columns(row) => {
                let (row, len) = (row.get(), self.places.len);
                self.cursor.take_cell(lattice.size, row, len / row)
            }
        };
        let access = match self.places.reads {
            Percent::ALL => Access::Read,
            Percent::NONE => Access::Write,
            share if below(self.random.next_u64(), 100) < u64::from(share.get()) => Access::Read,
            _ => Access::Write,
        };
        Drawn {
            access,
            offset: Bytes::new(self.places.base + at),
            len: Bytes::new(lattice.size),
        }
    }

    fn lattice(&mut self) -> Lattice {
        let drawn = below(self.random.next_u64(), self.places.weights);
        let lattices = self.places.lattices.iter();
        lattices
            .copied()
            .find(|lattice| drawn < lattice.until)
            .unwrap_or(self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;
    use std::time::Duration;
    use straddle_geometry::Unit;

    fn random(seed: u64, stream: u32) -> Xoshiro256PlusPlus {
        let mut all = streams(seed).skip(stream as usize);
        all.next().expect("there is no end")
    }

    fn workload(sizes: &[(u64, u32)], pattern: Pattern, workers: u32, reads: u8) -> Workload {
        Workload {
            reads: Percent::new(reads).expect("at most 100"),
            pattern,
            sizes: sizes
                .iter()
                .map(|(size, weight)| (Unit::new(*size).expect("not zero"), *weight))
                .collect(),
            workers,
            outstanding: 4,
            think: Duration::ZERO,
            rate: None,
        }
    }

    fn extent(start: u64, len: u64) -> Extent {
        Extent::new(Bytes::new(start), Bytes::new(len)).expect("it ends below 2⁶⁴")
    }

    proptest! {
        #[test]
        fn requests_lie_on_their_lattice_inside_the_extent(
            sizes in proptest::collection::vec((1_u64..64, 0_u32..4), 1..4),
            start in 0_u64..10_000,
            sectors in 64_u64..2_000,
            sequential: bool,
            workers in 1_u32..4,
            reads in 0_u8..=100,
            seed: u64,
        ) {
            let sizes: Vec<_> = sizes.into_iter().map(|(n, weight)| (n * 512, weight)).collect();
            let pattern = if sequential { Pattern::Sequential } else { Pattern::Random };
            let workload = workload(&sizes, pattern, workers, reads);
            let (start, len) = (start * 512, sectors * 512);
            let Ok(places) = Places::new(&workload, extent(start, len)) else {
                let none = sizes.iter().all(|(_, weight)| *weight == 0);
                let multiple = (1..=len / 512).find(|n| {
                    let mut weighted = sizes.iter().filter(|(_, weight)| *weight > 0);
                    weighted.all(|(size, _)| (n * 512).is_multiple_of(*size))
                });
                let parts = multiple.map_or(0, |n| len / (n * 512));
                prop_assert!(
                    none || len < workload.largest().get()
                        || sequential && workers > 1 && parts < u64::from(workers)
                );
                return Ok(());
            };
            for worker in 0..workers {
                let cursor = places.cursor(worker);
                let mut generator = Generator::new(&places, &cursor, random(seed, worker));
                for _ in 0..300 {
                    let Drawn { offset, len: size, .. } = generator.draw();
                    let (offset, size) = (offset.get(), size.get());
                    prop_assert!(offset >= start && offset + size <= start + len);
                    prop_assert_eq!((offset - start) % size, 0);
                    prop_assert!(sizes.iter().any(|(n, weight)| *n == size && *weight > 0));
                    if sequential {
                        prop_assert!(offset - start >= cursor.begin && offset - start + size <= cursor.end);
                    }
                }
            }
        }
    }

    #[test]
    fn every_place_is_reached_and_equally_often() {
        let workload = workload(&[(4096, 1)], Pattern::Random, 1, 100);
        let places = Places::new(&workload, extent(63 * 512, 100 * 4096 + 512)).expect("it fits");
        let cursor = places.cursor(0);
        let mut generator = Generator::new(&places, &cursor, random(1, 0));
        let mut counts = [0_u32; 100];
        for _ in 0..100_000 {
            let at =
                usize::try_from((generator.draw().offset.get() - 63 * 512) / 4096).expect("small");
            *counts.get_mut(at).expect("one of the hundred places") += 1;
        }
        // Chi-squared with 99 degrees of freedom: above 148.2 one time in a thousand, and the seed is fixed.
        let chi: f64 = counts
            .iter()
            .map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0)
            .sum();
        assert!(chi < 148.2, "{chi}");
    }

    #[test]
    fn sequential_workers_cover_the_extent_once_and_begin_again() {
        let workload = workload(&[(8192, 1)], Pattern::Sequential, 3, 100);
        let places = Places::new(&workload, extent(512, 100 * 8192)).expect("it fits");
        // Where each begins, in places; 33, 33 and 34 of them belong to the workers.
        for (turn, begins) in [
            (0, [0, 33, 66]),
            (1 << 63, [16, 49, 83]),
            (u64::MAX, [32, 65, 99]),
        ] {
            let mut seen = HashSet::new();
            for (worker, begin) in (0..).zip(begins) {
                let cursor = places.cursor_from(worker, turn);
                let mut generator = Generator::new(&places, &cursor, random(1, worker));
                let first = generator.draw().offset.get();
                assert_eq!(first, 512 + begin * 8192);
                let mut last = first;
                assert!(seen.insert(first));
                loop {
                    let next = generator.draw().offset.get();
                    if next == first {
                        break;
                    }
                    let is_round = next == 512 + cursor.begin && last + 8192 == 512 + cursor.end;
                    assert!(next == last + 8192 || is_round, "{last} {next}");
                    assert!(seen.insert(next));
                    last = next;
                }
            }
            assert_eq!(seen.len(), 100);
        }
    }

    proptest! {
        /// Each place once in a pass, in order, all workers together; then the same again.
        #[test]
        fn strides_reach_each_place_once_a_pass(
            size in 1_u64..32,
            gap in 0_u64..64,
            start in 0_u64..10_000,
            sectors in 1_u64..3_000,
            workers in 1_u32..5,
            seed: u64,
        ) {
            let (size, step) = (size * 512, (size + gap) * 512);
            let (start, len) = (start * 512, sectors * 512);
            let pattern = Pattern::Strided(Unit::new(step).expect("not zero"));
            let workload = workload(&[(size, 1)], pattern, workers, 100);
            // By counting: places at which a request ends within the extent.
            let expected: Vec<u64> =
                (0..).map(|n| n * step).take_while(|at| at + size <= len).collect();
            let Ok(places) = Places::new(&workload, extent(start, len)) else {
                prop_assert!(expected.len() < workers as usize);
                return Ok(());
            };
            let mut seen = Vec::new();
            for worker in 0..workers {
                let cursor = places.cursor(worker);
                let mut generator = Generator::new(&places, &cursor, random(seed, worker));
                let first = generator.draw().offset.get();
                let mut pass = vec![first];
                loop {
                    let next = generator.draw();
                    prop_assert_eq!(next.len.get(), size);
                    if next.offset.get() == first {
                        break;
                    }
                    prop_assert!(pass.len() < expected.len(), "it never comes back");
                    pass.push(next.offset.get());
                }
                for at in &pass[1..] {
                    prop_assert_eq!(generator.draw().offset.get(), *at, "the second pass");
                }
                seen.extend(pass);
            }
            let expected: Vec<u64> = expected.iter().map(|at| start + at).collect();
            prop_assert_eq!(seen, expected);
        }

        /// Places every so many bytes, each as often, none with its end beyond that of the extent.
        #[test]
        fn random_requests_keep_to_a_lattice_of_their_own(
            size in 1_u64..32,
            step in 1_u64..64,
            sectors in 32_u64..500,
            start in 0_u64..10_000,
            seed: u64,
        ) {
            let (size, step, len, start) = (size * 512, step * 512, sectors * 512, start * 512);
            let pattern = Pattern::RandomEvery(Unit::new(step).expect("not zero"));
            let places = Places::new(&workload(&[(size, 1)], pattern, 1, 100), extent(start, len));
            let places = places.expect("there is room");
            let cursor = places.cursor(0);
            let mut generator = Generator::new(&places, &cursor, random(seed, 0));
            let expected: HashSet<u64> =
                (0..).map(|n| n * step).take_while(|at| at + size <= len).map(|at| start + at).collect();
            let seen: HashSet<u64> = (0..30 * expected.len())
                .map(|_| generator.draw().offset.get())
                .collect();
            prop_assert!(seen.is_subset(&expected));
            // Of 500 places at most, one is missed by all with a probability below 500·e⁻³⁰.
            prop_assert_eq!(seen, expected);
        }

        /// The sizes of a mix have one lattice, and a worker stays in its part.
        #[test]
        fn strides_of_several_sizes_keep_to_one_lattice(
            sizes in proptest::collection::vec((1_u64..16, 1_u32..4), 1..4),
            gap in 0_u64..32,
            sectors in 64_u64..2_000,
            workers in 1_u32..4,
            seed: u64,
        ) {
            let sizes: Vec<_> = sizes.into_iter().map(|(n, weight)| (n * 512, weight)).collect();
            let largest = sizes.iter().map(|(size, _)| *size).max().expect("one at least");
            let (step, start, len) = (largest + gap * 512, 63 * 512, sectors * 512);
            let pattern = Pattern::Strided(Unit::new(step).expect("not zero"));
            let workload = workload(&sizes, pattern, workers, 50);
            let Ok(places) = Places::new(&workload, extent(start, len)) else {
                return Ok(());
            };
            for worker in 0..workers {
                let cursor = places.cursor(worker);
                let mut generator = Generator::new(&places, &cursor, random(seed, worker));
                let mut last: Option<u64> = None;
                for _ in 0..300 {
                    let Drawn { offset, len: size, .. } = generator.draw();
                    let (offset, size) = (offset.get(), size.get());
                    let at = offset - start;
                    prop_assert_eq!(at % step, 0);
                    prop_assert!(at >= cursor.begin && at + size <= cursor.end && at + size <= len);
                    if let Some(last) = last {
                        prop_assert!(at == last + step || at == cursor.begin, "{} after {}", at, last);
                    }
                    last = Some(at);
                }
            }
        }

        /// SQLIO's table, walked by hand.
        #[test]
        fn columns_are_walked_one_after_the_other(
            size in 1_u64..8,
            columns in 1_u64..12,
            rows in 1_u64..12,
            rest in 0_u64..8,
            workers in 1_u32..5,
            seed: u64,
        ) {
            let (size, row) = (size * 512, columns * size * 512);
            let (start, len) = (63 * 512, rows * row + rest * row / 8);
            let pattern = Pattern::Columns(Unit::new(row).expect("not zero"));
            let workload = workload(&[(size, 1)], pattern, workers, 0);
            let Ok(places) = Places::new(&workload, extent(start, len)) else {
                prop_assert!(columns < u64::from(workers));
                return Ok(());
            };
            let mut seen = Vec::new();
            let mut expected = Vec::new();
            for worker in 0..workers {
                let cursor = places.cursor(worker);
                let mut generator = Generator::new(&places, &cursor, random(seed, worker));
                let column = |worker: u32| columns * u64::from(worker) / u64::from(workers);
                let of_worker: Vec<u64> = (column(worker)..column(worker + 1))
                    .flat_map(|column| (0..rows).map(move |n| start + n * row + column * size))
                    .collect();
                for _ in 0..2 {
                    seen.extend(of_worker.iter().map(|_| generator.draw().offset.get()));
                    expected.extend(of_worker.iter().copied());
                }
            }
            let all: HashSet<u64> = seen.iter().copied().collect();
            prop_assert_eq!(all.len() as u64, rows * columns);
            prop_assert_eq!(seen, expected);
        }
    }

    #[test]
    fn mixes_keep_their_shares() {
        let workload = workload(&[(4096, 3), (65536, 1)], Pattern::Random, 1, 70);
        let places = Places::new(&workload, extent(0, 1 << 30)).expect("it fits");
        let cursor = places.cursor(0);
        let mut generator = Generator::new(&places, &cursor, random(7, 0));
        let (mut reads, mut small) = (0_i32, 0_i32);
        for _ in 0..100_000 {
            let drawn = generator.draw();
            reads += i32::from(drawn.access == Access::Read);
            small += i32::from(drawn.len.get() == 4096);
        }
        // Five standard deviations.
        assert!((reads - 70_000).abs() < 725, "{reads}");
        assert!((small - 75_000).abs() < 685, "{small}");
    }

    #[test]
    fn streams_differ_and_repeat() {
        let workload = workload(&[(4096, 1)], Pattern::Random, 1, 100);
        let places = Places::new(&workload, extent(0, 1 << 40)).expect("it fits");
        let cursor = places.cursor(0);
        let draw = |seed, stream| {
            let mut generator = Generator::new(&places, &cursor, random(seed, stream));
            std::array::from_fn::<u64, 8, _>(|_| generator.draw().offset.get())
        };
        assert_eq!(draw(3, 1), draw(3, 1));
        assert_ne!(draw(3, 1), draw(3, 0));
        assert_ne!(draw(3, 1), draw(4, 1));
    }
}
