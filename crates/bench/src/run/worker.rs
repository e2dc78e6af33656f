//! What a worker does: start requests, take those that have ended, count.

use std::collections::VecDeque;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use straddle_geometry::{Access, Bytes};
use straddle_io::engine::{Ended, Engine, Request, Wait};

use super::pace::Pace;
use super::payload::Payload;
use super::replay::{Replaying, Taken};
use super::verify::Verifier;
use super::{RunError, Watch};
use crate::sample::{Issued, Side};
use straddle_workload::generator::{Drawn, Generator};

/// A tenth of a second: how finely requests are counted over time, and how often others are told.
pub(super) const TICK: u64 = 100_000_000;
/// Most requests that share a time stamp at their start, and that are handed over at once.
const BATCH: u32 = 64;
/// Every how many rounds it is measured what sharing a time stamp adds.
const SAMPLED: u32 = 256;
/// Sleep ends this much before a request is due, and the rest is spent looking at the clock: a timer may be late by about
/// as much.
const SPIN: u64 = 20_000;
/// Longest sleep, so that a run can be stopped.
const NAP: u64 = 50_000_000;
/// Places that are drawn, in a run with verification, before a worker waits for one to become free.
const DRAWS: u32 = 16;

/// What all workers of a run share.
#[derive(Debug)]
pub(super) struct Common<'a> {
    pub(super) watch: &'a Watch,
    pub(super) target: String,
    pub(super) engine: &'static str,
    /// When the measured part begins and ends, in nanoseconds from the beginning.
    pub(super) from: u64,
    pub(super) until: u64,
    pub(super) think: u64,
    pub(super) verifier: Option<&'a Verifier>,
    pub(super) failure: Mutex<Option<RunError>>,
    pub(super) failed: AtomicBool,
}

impl Common<'_> {
    /// Ends the run with an error; the first one counts.
    #[cold]
    pub(super) fn fail(&self, error: RunError) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(error);
        }
        self.failed.store(true, Ordering::Release);
    }

    pub(super) fn stopped(&self) -> bool {
        self.watch.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }

    #[cold]
    fn request_failed(&self, flight: &Flight, moved: io::Result<Bytes>) {
        let source = match moved {
            Err(error) => error,
            Ok(moved) => {
                let what = format!(
                    "only {} of them were moved; expected all: the target ends there, or is full",
                    moved.grouped()
                );
                io::Error::new(io::ErrorKind::UnexpectedEof, what)
            }
        };
        self.fail(RunError::Request {
            target: self.target.clone(),
            access: flight.access,
            at: Bytes::new(flight.offset),
            len: Bytes::new(flight.len),
            source,
        });
    }
}

/// What one stream of requests is made of.
#[derive(Debug)]
pub(super) struct Stream<'a> {
    pub(super) generator: Generator<'a>,
    pub(super) pace: Option<&'a Pace>,
    /// Recorded requests in place of drawn ones.
    pub(super) replay: Option<&'a Replaying<'a>>,
    pub(super) payload: Payload,
    /// Requests under way at once.
    pub(super) outstanding: u32,
    /// The slot of the first write: with reads and writes mixed, they have slots of their own.
    pub(super) first_write: u32,
}

/// What a stream has counted.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) reads: Side,
    pub(super) writes: Side,
    pub(super) issued: Issued,
    pub(super) ticks: Vec<u32>,
    pub(super) stamp_error: u64,
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Flight {
    access: Access,
    offset: u64,
    len: u64,
    /// When it started or was due.
    from: u64,
}

/// Where a run is in time.
#[derive(Debug, Default)]
struct Progress {
    counting: bool,
    draining: bool,
    /// When this is to be looked at again.
    boundary: u64,
    tick: usize,
    /// Not yet told.
    requests: u64,
    nanoseconds: u64,
    /// Requests of the tick.
    ticked: u32,
}

impl Progress {
    #[cold]
    fn advance(&mut self, now: u64, common: &Common<'_>, ticks: &mut [u32]) {
        let watch = common.watch;
        watch.requests.fetch_add(self.requests, Ordering::Relaxed);
        watch
            .nanoseconds
            .fetch_add(self.nanoseconds, Ordering::Relaxed);
        (self.requests, self.nanoseconds) = (0, 0);
        if let Some(tick) = ticks.get_mut(self.tick) {
            *tick += self.ticked;
        }
        self.ticked = 0;
        self.counting = false;
        if now >= common.until {
            self.draining = true;
            self.boundary = now + TICK;
        } else if now >= common.from {
            self.counting = true;
            let tick = (now - common.from) / TICK;
            self.tick = usize::try_from(tick).unwrap_or(usize::MAX);
            self.boundary = common.until.min(common.from + (tick + 1) * TICK);
        } else {
            self.boundary = common.from.min(now + TICK);
        }
    }
}

/// Keeps requests under way until the measured part is over, and waits for the last ones. Errors go to `common`.
pub(super) fn drive<E: Engine>(
    engine: &mut E,
    stream: Stream<'_>,
    common: &Common<'_>,
    begin: Instant,
) -> Tally {
    let ticks = usize::try_from((common.until - common.from) / TICK).unwrap_or(0);
    let nothing = Flight {
        access: Access::Read,
        offset: 0,
        len: 0,
        from: 0,
    };
    let worker = Worker {
        engine,
        common,
        begin,
        tally: Tally {
            ticks: vec![0; ticks],
            ..Tally::default()
        },
        progress: Progress::default(),
        flights: vec![nothing; stream.outstanding as usize],
        free: (0..stream.outstanding).map(|flight| (0, flight)).collect(),
        ended: Vec::with_capacity(stream.outstanding as usize),
        due: None,
        taken: None,
        stream,
    };
    worker.run()
}

/// A thread at work.
struct Worker<'a, E> {
    engine: &'a mut E,
    stream: Stream<'a>,
    common: &'a Common<'a>,
    begin: Instant,
    tally: Tally,
    progress: Progress,
    flights: Vec<Flight>,
    /// Flights that may start, and when: after the time to think.
    free: VecDeque<(u64, u32)>,
    ended: Vec<Ended>,
    /// When the next request is due, in an open loop.
    due: Option<u64>,
    /// The next recorded request, until it is started.
    taken: Option<Taken>,
}

impl<E: Engine> Worker<'_, E> {
    fn run(mut self) -> Tally {
        let mut round = 0_u32;
        loop {
            let mut now = nanoseconds(self.begin);
            if now >= self.progress.boundary {
                self.progress
                    .advance(now, self.common, &mut self.tally.ticks);
            }
            if self.settle(now) > BATCH as usize {
                now = nanoseconds(self.begin);
            }
            // On a starved machine a thread may get the processor only after the run is over. It makes a batch of requests
            // all the same: storage that fails is not to pass for storage that was asked nothing.
            let over = self.progress.draining && round > 0;
            let wait = if over || self.common.stopped() {
                if self.is_idle() {
                    break;
                }
                Wait::One
            } else {
                let (wait, started) = self.start(now);
                round = round.wrapping_add(1);
                if round.is_multiple_of(SAMPLED) && started && self.progress.counting {
                    let error = nanoseconds(self.begin) - now;
                    self.tally.stamp_error = self.tally.stamp_error.max(error);
                }
                wait
            };
            if self.is_idle() {
                // Nothing is under way, so there is nothing that an engine could wait for.
                match wait {
                    Wait::For(time) => std::thread::sleep(time),
                    _ => std::hint::spin_loop(),
                }
                continue;
            }
            if let Err(source) = self.engine.finish(wait, &mut self.ended) {
                self.common.fail(RunError::Engine {
                    engine: self.common.engine,
                    source,
                });
                break;
            }
        }
        let now = nanoseconds(self.begin);
        self.progress
            .advance(now, self.common, &mut self.tally.ticks);
        self.tally
    }

    fn is_idle(&self) -> bool {
        self.free.len() == self.flights.len()
    }

    /// Counts what has ended by `now`; gives its number.
    #[inline]
    fn settle(&mut self, now: u64) -> usize {
        let count = self.ended.len();
        let outstanding = self.stream.outstanding;
        for Ended { slot, moved } in self.ended.drain(..) {
            let index = if slot < outstanding {
                slot
            } else {
                slot - outstanding
            };
            let Some(flight) = self.flights.get(index as usize) else {
                continue;
            };
            self.free.push_back((now + self.common.think, index));
            let well = moved.as_ref().is_ok_and(|moved| moved.get() == flight.len);
            if let Some(verifier) = self.common.verifier {
                verify(verifier, self.engine, slot, flight, well, self.common);
            }
            if !well {
                self.common.request_failed(flight, moved);
                continue;
            }
            self.tally.issued.add(flight.access, flight.len);
            let latency = now - flight.from;
            self.progress.requests += 1;
            self.progress.nanoseconds += latency;
            if self.progress.counting {
                let side = match flight.access {
                    Access::Read => &mut self.tally.reads,
                    Access::Write => &mut self.tally.writes,
                };
                side.latencies.record(latency);
                side.requests += 1;
                side.bytes = Bytes::new(side.bytes.get() + flight.len);
                self.progress.ticked += 1;
            }
        }
        count
    }

    /// Starts what may start, a batch at most; how long to wait then, and whether there was any.
    #[inline]
    fn start(&mut self, now: u64) -> (Wait, bool) {
        let mut started = 0;
        while let Some((ready, index)) = self.free.front().copied() {
            let wait = |wait| (wait, started > 0);
            if started == BATCH {
                return wait(Wait::No);
            }
            if ready > now {
                return wait(pause(ready - now));
            }
            let mut from = now;
            if let Some(pace) = self.stream.pace {
                from = *self.due.get_or_insert_with(|| pace.take());
                if from > now {
                    return wait(pause(from - now));
                }
            }
            if let Some(replay) = self.stream.replay {
                self.taken = self.taken.or_else(|| replay.take());
                if let Some(due) = self.taken.and_then(|taken| taken.due) {
                    from = due;
                    if from > now {
                        return wait(pause(from - now));
                    }
                }
            }
            let drawn = match self.taken {
                Some(taken) => claimed(taken.drawn, self.common.verifier),
                None => draw(&mut self.stream.generator, self.common.verifier),
            };
            let Some(drawn) = drawn else {
                return wait(Wait::One);
            };
            self.taken = None;
            let slot = match drawn.access {
                Access::Read => index,
                Access::Write => index + self.stream.first_write,
            };
            if drawn.access == Access::Write {
                let payload = &mut self.stream.payload;
                renew(self.engine, slot, payload, &drawn, self.common.verifier);
            }
            if let Some(flight) = self.flights.get_mut(index as usize) {
                *flight = Flight {
                    access: drawn.access,
                    offset: drawn.offset.get(),
                    len: drawn.len.get(),
                    from,
                };
            }
            self.engine.start(Request {
                access: drawn.access,
                offset: drawn.offset,
                len: drawn.len,
                slot,
            });
            self.free.pop_front();
            self.due = None;
            started += 1;
        }
        (Wait::One, started > 0)
    }
}

/// Nanoseconds since then, for 584 years.
#[inline]
fn nanoseconds(begin: Instant) -> u64 {
    let since = begin.elapsed();
    since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos())
}

/// Waits for `nanoseconds` less what is spent spinning.
fn pause(nanoseconds: u64) -> Wait {
    match nanoseconds.saturating_sub(SPIN) {
        0 => Wait::No,
        time => Wait::For(Duration::from_nanos(time.min(NAP))),
    }
}

/// The next request; with verification, one whose sectors nobody is at.
#[inline]
fn draw(generator: &mut Generator<'_>, verifier: Option<&Verifier>) -> Option<Drawn> {
    let Some(verifier) = verifier else {
        return Some(generator.draw());
    };
    (0..DRAWS)
        .map(|_| generator.draw())
        .find(|drawn| verifier.claim(drawn.offset.get(), drawn.len.get()))
}

/// A recorded request, which is made where it was and nowhere else; nothing while somebody is at its sectors.
#[inline]
fn claimed(drawn: Drawn, verifier: Option<&Verifier>) -> Option<Drawn> {
    let is_free = verifier.is_none_or(|v| v.claim(drawn.offset.get(), drawn.len.get()));
    is_free.then_some(drawn)
}

/// Puts into the buffer what is written next.
#[inline]
fn renew<E: Engine>(
    engine: &mut E,
    slot: u32,
    payload: &mut Payload,
    drawn: &Drawn,
    verifier: Option<&Verifier>,
) {
    let len = usize::try_from(drawn.len.get()).unwrap_or(usize::MAX);
    let Some(bytes) = engine.buffer(slot).and_then(|buffer| buffer.get_mut(..len)) else {
        // The engine refuses such a request, and says why.
        return;
    };
    payload.renew(bytes);
    if let Some(verifier) = verifier {
        verifier.stamp(drawn.offset.get(), bytes);
    }
}

/// Holds what was read against what was written, and notes what was written.
#[inline(never)]
fn verify<E: Engine>(
    verifier: &Verifier,
    engine: &mut E,
    slot: u32,
    flight: &Flight,
    well: bool,
    common: &Common<'_>,
) {
    if flight.access == Access::Write {
        verifier.wrote(flight.offset, flight.len, well);
        return;
    }
    let len = usize::try_from(flight.len).unwrap_or(usize::MAX);
    let bytes = engine.buffer(slot).and_then(|buffer| buffer.get(..len));
    let checked = match bytes {
        Some(bytes) if well => verifier.check(flight.offset, bytes),
        _ => Ok(()),
    };
    verifier.release(flight.offset, flight.len);
    if let Err(mismatch) = checked {
        common.fail(RunError::Verification {
            target: common.target.clone(),
            at: mismatch.at,
            found: mismatch.found,
            expected: mismatch.expected,
        });
    }
}
