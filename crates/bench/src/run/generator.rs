//! Which request comes next.
//!
//! Each size has a lattice of its own: places every `size` bytes, the first at the beginning of the extent, as many as fit.
//! Random requests take each place of their lattice equally often; sequential ones follow a cursor, rounded up to the
//! lattice of the size that was drawn.
//!
//! Each stream of requests (a worker, or a thread of a worker whose engine blocks) draws from its own part of one
//! xoshiro256++ sequence, 2¹²⁸ numbers apart. What is drawn depends on the seed, the stream and the workload alone, never on
//! the offset: each offset gets the same places of its lattice in the same order.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::sync::atomic::{AtomicU64, Ordering};
use straddle_geometry::{Access, Bytes, Extent};

use crate::workload::{Pattern, Percent, Workload};

/// The random numbers of each stream of a run, one after the other.
pub(super) fn streams(seed: u64) -> impl Iterator<Item = Xoshiro256PlusPlus> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    std::iter::repeat_with(move || {
        let this = random.clone();
        random.jump();
        this
    })
}

/// A number below `end`, each equally likely but for one part in 2⁶⁴ / `end`.
pub(super) fn below(random: u64, end: u64) -> u64 {
    ((u128::from(random) * u128::from(end)) >> 64) as u64
}

/// A request without a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Drawn {
    pub(super) access: Access,
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// What a workload cannot do in an extent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooSmall {
    pub(super) found: String,
    pub(super) expected: String,
}

/// The places of one size.
#[derive(Clone, Copy, Debug)]
struct Lattice {
    size: u64,
    places: u64,
    /// Draws below this and not below the last one's take this size.
    until: u64,
}

/// What all streams of a run have in common.
#[derive(Clone, Debug)]
pub(super) struct Places {
    base: u64,
    len: u64,
    lattices: Vec<Lattice>,
    weights: u64,
    /// What the parts of the workers are multiples of.
    share: u64,
    pattern: Pattern,
    reads: Percent,
    workers: u32,
}

impl Places {
    pub(super) fn new(workload: &Workload, extent: Extent) -> Result<Places, TooSmall> {
        let len = extent.len().get();
        let mut lattices = Vec::new();
        let mut weights = 0_u64;
        for (size, weight) in &workload.sizes {
            let size = size.get();
            weights += u64::from(*weight);
            let places = len / size;
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
        let share = match workers {
            0 | 1 => workload.largest().get(),
            _ => common_multiple(&lattices),
        };
        if workload.pattern == Pattern::Sequential && len / share < u64::from(workers) {
            return Err(TooSmall {
                found: format!(
                    "room for {} times {} bytes, which is a multiple of every request size",
                    len / share,
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
            pattern: workload.pattern,
            reads: workload.reads,
            workers,
        })
    }

    /// The cursor that the streams of a worker share; none is needed for random requests.
    pub(super) fn cursor(&self, worker: u32) -> Cursor {
        let places = self.len / self.share;
        let share = |worker: u32| {
            let before = u128::from(places) * u128::from(worker) / u128::from(self.workers.max(1));
            u64::try_from(before).unwrap_or(places) * self.share
        };
        let begin = share(worker);
        let end = if worker + 1 >= self.workers {
            self.len
        } else {
            share(worker + 1)
        };
        Cursor {
            begin,
            end,
            next: AtomicU64::new(begin),
        }
    }
}

/// The least common multiple of all sizes; the largest number there is where it would be larger.
fn common_multiple(lattices: &[Lattice]) -> u64 {
    lattices.iter().fold(1, |multiple, lattice| {
        let (mut a, mut b) = (multiple, lattice.size);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        (multiple / a).saturating_mul(lattice.size)
    })
}

/// Where sequential requests of a worker have got to, from the beginning of the extent.
#[derive(Debug)]
pub(super) struct Cursor {
    begin: u64,
    end: u64,
    next: AtomicU64,
}

impl Cursor {
    fn take(&self, size: u64) -> u64 {
        let fit = |next: u64| {
            let start = next.next_multiple_of(size);
            if start + size <= self.end {
                start
            } else {
                self.begin.next_multiple_of(size)
            }
        };
        // The closure always gives a value.
        let before = self
            .next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
                Some(fit(next) + size)
            });
        fit(before.unwrap_or(self.begin))
    }
}

/// A stream of requests.
#[derive(Debug)]
pub(super) struct Generator<'a> {
    places: &'a Places,
    cursor: &'a Cursor,
    random: Xoshiro256PlusPlus,
    /// Of the places alone.
    first: Lattice,
    single: bool,
}

impl<'a> Generator<'a> {
    pub(super) fn new(
        places: &'a Places,
        cursor: &'a Cursor,
        random: Xoshiro256PlusPlus,
    ) -> Generator<'a> {
        let first = places.lattices.first().copied().unwrap_or(Lattice {
            size: 512,
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

    #[inline]
    pub(super) fn draw(&mut self) -> Drawn {
        let lattice = if self.single {
            self.first
        } else {
            self.lattice()
        };
        let at = match self.places.pattern {
            Pattern::Random => below(self.random.next_u64(), lattice.places) * lattice.size,
            Pattern::Sequential => self.cursor.take(lattice.size),
        };
        let access = match self.places.reads {
            Percent::ALL => Access::Read,
            Percent::NONE => Access::Write,
            share if below(self.random.next_u64(), 100) < u64::from(share.get()) => Access::Read,
            _ => Access::Write,
        };
        Drawn {
            access,
            offset: self.places.base + at,
            len: lattice.size,
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
            let at = usize::try_from((generator.draw().offset - 63 * 512) / 4096).expect("small");
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
        let mut seen = HashSet::new();
        for worker in 0..3 {
            let cursor = places.cursor(worker);
            let mut generator = Generator::new(&places, &cursor, random(1, worker));
            let first = generator.draw().offset;
            let mut last = first;
            assert!(seen.insert(first));
            loop {
                let next = generator.draw().offset;
                if next == first {
                    break;
                }
                assert_eq!(next, last + 8192);
                assert!(seen.insert(next));
                last = next;
            }
        }
        assert_eq!(seen.len(), 100);
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
            small += i32::from(drawn.len == 4096);
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
            std::array::from_fn::<u64, 8, _>(|_| generator.draw().offset)
        };
        assert_eq!(draw(3, 1), draw(3, 1));
        assert_ne!(draw(3, 1), draw(3, 0));
        assert_ne!(draw(3, 1), draw(4, 1));
    }
}
