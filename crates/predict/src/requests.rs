//! Where requests come from: a workload, or a recorded stream.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use straddle_geometry::{Access, Bytes, Extent};
use straddle_workload::Workload;
use straddle_workload::generator::{Cursor, Generator, Places, streams};

use crate::kernel::Time;
use crate::model::server::exponential;
use crate::profile::Refusal;

/// A request that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// When it is due. Latency counts from there, also when it could not be made then.
    pub due: Time,
    /// Which way.
    pub access: Access,
    /// Where it begins, in the addresses of whatever the system is.
    pub start: Bytes,
    /// How long it is; not zero.
    pub len: Bytes,
}

/// A source of requests: a workload here, a recorded trace elsewhere.
///
/// A *stream* makes one request after the other: in a closed loop, a place for an outstanding request, which is asked again
/// when its request has been answered; in an open loop, arrivals, which do not wait for answers.
pub trait Requests {
    /// How many streams there are.
    fn streams(&self) -> u32;

    /// The next request of a stream, `now` being the time at which its last one was answered or, in an open loop, made.
    /// `None` when there are no more.
    fn next(&mut self, now: Time, stream: u32) -> Option<Next>;

    /// True when requests come at their time, whether earlier ones have been answered or not.
    fn is_open(&self) -> bool;

    /// A request of a stream as it was made before time began, to fill caches with; `None` where nothing was.
    fn before(&mut self, _stream: u32) -> Option<Next> {
        None
    }

    /// Streams that had no next request and want to be asked again.
    #[inline]
    fn wake(&mut self, _ready: &mut Vec<u32>) {}
}

/// How requests of an open loop arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// At fixed distances, as `bench` makes them.
    #[default]
    Even,
    /// At random, independent of each other (Poisson): many users.
    Random,
}

/// What all streams of a workload share.
pub(crate) struct Ground {
    places: Places,
    cursors: Vec<Cursor>,
}

impl Ground {
    /// A workload in an extent.
    ///
    /// Each seed's requests in order begin at a place of their own, the same share of each worker's part. Were it always the
    /// same one, replicates would repeat each other's stretch, and their spread would say nothing of what comes after it.
    pub(crate) fn new(workload: &Workload, extent: Extent, seed: u64) -> Result<Ground, Refusal> {
        let places = Places::new(workload, extent)
            .map_err(|small| Refusal::new("the workload", small.found, small.expected))?;
        // Not among the numbers of any stream of requests.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        random.long_jump();
        let turn = random.next_u64();
        let cursors = (0..workload.workers)
            .map(|worker| places.cursor_from(worker, turn))
            .collect();
        Ok(Ground { places, cursors })
    }

    /// One for each worker, each with random numbers of its own.
    pub(crate) fn generators<'a>(
        &'a self,
        random: &mut impl Iterator<Item = Xoshiro256PlusPlus>,
    ) -> Vec<Generator<'a>> {
        let pairs = self.cursors.iter().zip(random);
        let generators = pairs.map(|(cursor, random)| Generator::new(&self.places, cursor, random));
        generators.collect()
    }
}

/// A workload as a source of requests.
pub(crate) struct Synthetic<'a> {
    /// One for each worker; its outstanding requests draw from it in turn.
    generators: Vec<Generator<'a>>,
    outstanding: u32,
    think: Time,
    /// Of an open loop.
    arrivals: Option<Pace>,
}

/// When requests of an open loop are due.
struct Pace {
    /// Seconds from one arrival of a stream to the next, on average.
    interval: f64,
    /// For each stream, when its next arrival is, in seconds.
    next: Vec<f64>,
    random: Option<Xoshiro256PlusPlus>,
}

impl<'a> Synthetic<'a> {
    /// The same seed draws the same places of the lattice, at whatever offset the ground lies.
    pub(crate) fn new(
        workload: &Workload,
        arrivals: Arrivals,
        ground: &'a Ground,
        seed: u64,
    ) -> Synthetic<'a> {
        let mut random = streams(seed);
        let generators = ground.generators(random.by_ref());
        let pace = workload.rate.map(|rate| {
            let workers = f64::from(workload.workers);
            let interval = workers / rate;
            Pace {
                interval,
                next: (0..workload.workers)
                    .map(|worker| interval * f64::from(worker) / workers)
                    .collect(),
                random: random.next().filter(|_| arrivals == Arrivals::Random),
            }
        });
        Synthetic {
            generators,
            outstanding: workload.outstanding,
            think: Time::seconds(workload.think.as_secs_f64()),
            arrivals: pace,
        }
    }
}

impl Synthetic<'_> {
    #[inline]
    fn draw(&mut self, due: Time, worker: u32) -> Option<Next> {
        let drawn = self.generators.get_mut(worker as usize)?.draw();
        Some(Next {
            due,
            access: drawn.access,
            start: drawn.offset,
            len: drawn.len,
        })
    }
}

impl Requests for Synthetic<'_> {
    fn streams(&self) -> u32 {
        let workers = u32::try_from(self.generators.len()).unwrap_or(u32::MAX);
        match self.arrivals {
            Some(_) => workers,
            None => workers.saturating_mul(self.outstanding),
        }
    }

    #[inline]
    fn next(&mut self, now: Time, stream: u32) -> Option<Next> {
        let (worker, due) = match &mut self.arrivals {
            Some(pace) => {
                let next = pace.next.get_mut(stream as usize)?;
                let due = Time::seconds(*next);
                *next += pace.interval * pace.random.as_mut().map_or(1.0, exponential);
                (stream, due)
            }
            None if now == Time::ZERO => (stream / self.outstanding, now),
            None => (stream / self.outstanding, now + self.think),
        };
        self.draw(due, worker)
    }

    fn is_open(&self) -> bool {
        self.arrivals.is_some()
    }

    fn before(&mut self, stream: u32) -> Option<Next> {
        let worker = match self.arrivals {
            Some(_) => stream,
            None => stream / self.outstanding,
        };
        self.draw(Time::ZERO, worker)
    }
}
