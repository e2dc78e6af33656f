//! A run on storage: threads, engines, counters, and the sample that they give.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, mpsc};
use std::time::{Duration, Instant};
use straddle_geometry::{Bytes, Extent, Unit};
#[cfg(windows)]
use straddle_io::engine::Overlapped;
#[cfg(target_os = "linux")]
use straddle_io::engine::Uring;
use straddle_io::engine::faulty::Faulty;
use straddle_io::engine::{Engine, Kind, Null, Pread, Setup};

use rand_xoshiro::rand_core::Rng;

use super::pace::Pace;
use super::payload::Payload;
use super::worker::{Common, Stream, TICK, Tally, drive};
use super::{RunError, Storage, Subject, Task, Watch};
use crate::counters;
use crate::sample::{Issued, Sample};
use crate::target::Medium;
use straddle_workload::generator::{Generator, Places, streams};
use straddle_workload::{Pattern, Percent, Workload};

/// Longest that [`Watch::stop`] is not looked at.
const NAP: Duration = Duration::from_millis(20);

impl Subject for Storage {
    fn run(&mut self, task: &Task<'_>, watch: &Watch) -> Result<Sample, RunError> {
        watch.requests.store(0, Ordering::Relaxed);
        watch.nanoseconds.store(0, Ordering::Relaxed);
        if let Some(verifier) = &self.verifier {
            verifier.release_all();
        }
        self.measure(task, watch)
    }
}

/// What a thread of a worker starts with.
struct Start<'a> {
    stream: Stream<'a>,
    /// Slots of its engine.
    slots: u32,
}

impl Storage {
    fn measure(&self, task: &Task<'_>, watch: &Watch) -> Result<Sample, RunError> {
        let workload = task.workload;
        let extent = self.extent(task)?;
        let places = Places::new(workload, extent).map_err(|small| RunError::Unfit {
            what: "the region for one offset",
            found: small.found,
            expected: small.expected,
        })?;
        let warm_up = nanoseconds(task.warm_up);
        let common = Common {
            watch,
            target: self.target.path().display().to_string(),
            engine: self.options.engine.name(),
            from: warm_up,
            until: warm_up.saturating_add(nanoseconds(task.measured)),
            think: nanoseconds(workload.think),
            verifier: self.verifier.as_ref(),
            failure: Mutex::new(None),
            failed: AtomicBool::new(false),
        };
        // Runs of one block ask for the same places at every offset.
        let place = u64::from(task.slot.cell) << 32 | u64::from(task.slot.block);
        let mut streams = streams(task.seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut random = || streams.next().ok_or(RunError::Stopped(None));
        let cursors: Vec<_> = (0..workload.workers)
            .map(|worker| places.cursor(worker))
            .collect();
        let mut paces = Vec::new();
        for _ in 0..workload.workers {
            let share = workload.rate.map(|rate| rate / f64::from(workload.workers));
            let phase = random()?.next_u64();
            let pace = share.map(|share| Pace::new(share, phase).ok_or(share));
            paces.push(pace.transpose().map_err(|share| RunError::Unfit {
                what: "the offered rate of each worker",
                found: format!("{share} requests each second"),
                expected: "a number above 0".to_owned(),
            })?);
        }
        let replay = self
            .replay
            .as_ref()
            .filter(|_| matches!(workload.pattern, Pattern::Recorded(_)))
            .map(|replay| {
                let all = replay.recording.requests().len() as u64;
                let first = straddle_workload::generator::below(random()?.next_u64(), all);
                replay.run(extent, first).map_err(|error| RunError::Unfit {
                    what: "the recording",
                    found: error.found,
                    expected: error.expected,
                })
            })
            .transpose()?;
        let (threads, outstanding) = if self.options.engine.most_slots() == 1 {
            (workload.outstanding, 1)
        } else {
            (1, workload.outstanding)
        };
        let mixed = !matches!(workload.reads, Percent::ALL | Percent::NONE);
        let mut starts = Vec::new();
        for (cursor, pace) in cursors.iter().zip(&paces) {
            for _ in 0..threads {
                starts.push(Start {
                    stream: Stream {
                        generator: Generator::new(&places, cursor, random()?),
                        pace: pace.as_ref(),
                        replay: replay.as_ref(),
                        payload: Payload::new(random()?),
                        outstanding,
                        first_write: if mixed { outstanding } else { 0 },
                    },
                    slots: if mixed { 2 * outstanding } else { outstanding },
                });
            }
        }
        let sample = self.threads(task, &common, starts);
        if let Ok(Some(failure)) = common.failure.lock().map(|mut failure| failure.take()) {
            return Err(failure);
        }
        if watch.stop.load(Ordering::Relaxed) {
            let measured = !sample.took.is_zero();
            return Err(RunError::Stopped(measured.then(|| Box::new(sample))));
        }
        Ok(sample)
    }

    /// The bytes that requests may touch, if the target has them and the workload can be run there.
    fn extent(&self, task: &Task<'_>) -> Result<Extent, RunError> {
        let unfit = |what, found: String, expected: String| RunError::Unfit {
            what,
            found,
            expected,
        };
        let workload = task.workload;
        let size = self.target.size();
        let extent = self.region.at(task.offset.bytes);
        let extent = extent
            .filter(|extent| extent.end() <= size || self.target.medium() == Medium::Null)
            .ok_or_else(|| {
                unfit(
                    "the region for one offset",
                    format!(
                        "{} bytes from byte {} on, at offset {}",
                        self.region.len.grouped(),
                        self.region.base.grouped(),
                        task.offset.bytes.grouped()
                    ),
                    format!("an end within the target's {} bytes", size.grouped()),
                )
            })?;
        let limit = self.target.limits().offset;
        let limit = if self.options.verify {
            limit.max(Unit::new(super::verify::SECTOR).unwrap_or(limit))
        } else {
            limit
        };
        let multiple = format!("a multiple of {} bytes", limit.bytes().grouped());
        if !extent.start().is_multiple_of(limit) {
            let found = format!("byte {}", extent.start().grouped());
            return Err(unfit("the first request", found, multiple));
        }
        for (size, _) in &workload.sizes {
            if !size.bytes().is_multiple_of(limit) {
                let found = format!("{} bytes", size.bytes().grouped());
                return Err(unfit("a request size", found, multiple));
            }
        }
        if let Pattern::Recorded(step) = workload.pattern
            && !step.bytes().is_multiple_of(limit)
        {
            let found = format!("multiples of {} bytes", step.bytes().grouped());
            return Err(unfit(
                "places and lengths of recorded requests",
                found,
                multiple,
            ));
        }
        if let Pattern::Strided(step) | Pattern::Columns(step) = workload.pattern {
            let (bytes, largest) = (step.bytes().grouped(), workload.largest());
            if !step.bytes().is_multiple_of(limit) {
                return Err(unfit("the stride", format!("{bytes} bytes"), multiple));
            }
            if step < largest {
                let least = format!(
                    "{} or more, so that none overlap",
                    largest.bytes().grouped()
                );
                return Err(unfit("the stride", format!("{bytes} bytes"), least));
            }
        }
        let most = match self.options.engine.most_slots() {
            1 => u32::MAX,
            most => most,
        };
        if workload.workers == 0 || workload.outstanding == 0 || workload.outstanding > most {
            return Err(unfit(
                "workers and outstanding requests",
                format!("{} and {}", workload.workers, workload.outstanding),
                format!("1 of each at least, and {most} outstanding requests a worker at most"),
            ));
        }
        Ok(extent)
    }

    /// Starts the threads together, observes, and adds up what they have counted.
    fn threads(&self, task: &Task<'_>, common: &Common<'_>, starts: Vec<Start<'_>>) -> Sample {
        let gate = Gate::default();
        let (ready, readies) = mpsc::channel();
        std::thread::scope(|scope| {
            let mut workers = Vec::new();
            for (number, start) in starts.into_iter().enumerate() {
                let ready = ready.clone();
                let gate = &gate;
                let worker = std::thread::Builder::new()
                    .name(format!("worker-{number}"))
                    .spawn_scoped(scope, move || {
                        let ready = Ready(ready);
                        self.worker(task.workload, common, gate, start, ready)
                    });
                match worker {
                    Ok(worker) => workers.push(worker),
                    Err(source) => {
                        common.fail(RunError::Engine {
                            engine: common.engine,
                            source,
                        });
                        break;
                    }
                }
            }
            drop(ready);
            // One message from each thread, whether its engine could be made or not.
            for _ in 0..workers.len() {
                let _ = readies.recv();
            }
            let counted = || counters::read(&self.devices).unwrap_or_default();
            let before = counted();
            let begin = Instant::now();
            gate.open(begin);
            let mut sample = self.observe(task, common, begin);
            for worker in workers {
                match worker.join() {
                    Ok(tally) => add(&mut sample, &tally),
                    Err(_) => common.fail(RunError::Engine {
                        engine: common.engine,
                        source: std::io::Error::other("a worker panicked; this is a bug"),
                    }),
                }
            }
            if common.watch.stop.load(Ordering::Relaxed) {
                // What was under way is waited for and counts, so the time until then does, too.
                let began = begin + task.warm_up;
                let took = Instant::now().saturating_duration_since(began);
                sample.took = took.min(task.measured);
                let ticks = nanoseconds(sample.took) / TICK;
                sample
                    .ticks
                    .truncate(usize::try_from(ticks).unwrap_or(usize::MAX));
            }
            sample.devices = counters::between(&before, &counted());
            sample
        })
    }

    /// Waits for the end of the measured part, and looks how much processor time it takes.
    fn observe(&self, task: &Task<'_>, common: &Common<'_>, begin: Instant) -> Sample {
        let began = begin + task.warm_up;
        sleep_until(began, common);
        let processor = processor();
        sleep_until(began + task.measured, common);
        let used = self::processor().saturating_sub(processor);
        Sample {
            slot: task.slot,
            began: began.saturating_duration_since(self.began),
            took: task.measured,
            reads: crate::sample::Side::default(),
            writes: crate::sample::Side::default(),
            ticks: Vec::new(),
            stamp_error: Duration::ZERO,
            issued: Issued::default(),
            devices: Vec::new(),
            processor: used,
        }
    }

    /// One thread: its engine, made in it because an engine may belong to a thread, and what it counts.
    fn worker(
        &self,
        workload: &Workload,
        common: &Common<'_>,
        gate: &Gate,
        start: Start<'_>,
        ready: Ready,
    ) -> Tally {
        let failed = |source| {
            common.fail(RunError::Engine {
                engine: common.engine,
                source,
            });
            Tally::default()
        };
        let file = match self.target.handle(self.options.durability) {
            Ok(file) => file,
            Err(source) => return failed(source),
        };
        let setup = Setup {
            file,
            slots: start.slots,
            largest: workload.largest(),
            memory_alignment: self.target.limits().memory,
            durability: self.options.durability,
            atomic: self.options.atomic,
            polled: self.options.polled,
        };
        let is_timed = self
            .replay
            .as_ref()
            .is_some_and(|replay| replay.speed.is_some());
        if workload.rate.is_some() || !workload.think.is_zero() || is_timed {
            exact_timers();
        }
        match self.options.engine {
            #[cfg(target_os = "linux")]
            Kind::IoUring => match Uring::new(setup) {
                Ok(engine) => self.with_engine(engine, workload, common, gate, start, ready),
                Err(source) => failed(source),
            },
            #[cfg(windows)]
            Kind::Overlapped => match Overlapped::new(setup) {
                Ok(engine) => self.with_engine(engine, workload, common, gate, start, ready),
                Err(source) => failed(source),
            },
            Kind::Pread => match Pread::new(setup) {
                Ok(engine) => self.with_engine(engine, workload, common, gate, start, ready),
                Err(source) => failed(source),
            },
            Kind::Null => match Null::new(&setup) {
                Ok(engine) => self.with_engine(engine, workload, common, gate, start, ready),
                Err(source) => failed(source),
            },
        }
    }

    fn with_engine<E: Engine>(
        &self,
        mut engine: E,
        workload: &Workload,
        common: &Common<'_>,
        gate: &Gate,
        mut start: Start<'_>,
        ready: Ready,
    ) -> Tally {
        if !workload.is_read_only() {
            for slot in start.stream.first_write..start.slots {
                if let Some(buffer) = engine.buffer(slot) {
                    start.stream.payload.fill(buffer);
                }
            }
        }
        drop(ready);
        let Some(begin) = gate.wait() else {
            return Tally::default();
        };
        match &self.faults {
            Some(faults) => drive(
                &mut Faulty::new(engine, faults),
                start.stream,
                common,
                begin,
            ),
            None => drive(&mut engine, start.stream, common, begin),
        }
    }
}

/// Tells once that a thread has come as far as it will before the start, also when it ends early or panics.
struct Ready(mpsc::Sender<()>);

impl Drop for Ready {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// Where threads wait for the beginning.
#[derive(Debug, Default)]
struct Gate {
    begin: Mutex<Option<Instant>>,
    opened: Condvar,
}

impl Gate {
    fn open(&self, begin: Instant) {
        if let Ok(mut place) = self.begin.lock() {
            *place = Some(begin);
        }
        self.opened.notify_all();
    }

    fn wait(&self) -> Option<Instant> {
        let begin = self.begin.lock().ok()?;
        let begin = self.opened.wait_while(begin, |begin| begin.is_none());
        *begin.ok()?
    }
}

fn add(sample: &mut Sample, tally: &Tally) {
    for (all, one) in [
        (&mut sample.reads, &tally.reads),
        (&mut sample.writes, &tally.writes),
    ] {
        all.requests += one.requests;
        all.bytes = Bytes::new(all.bytes.get() + one.bytes.get());
        all.latencies.merge(&one.latencies);
    }
    sample.issued.merge(&tally.issued);
    sample
        .ticks
        .resize(sample.ticks.len().max(tally.ticks.len()), 0);
    for (all, one) in sample.ticks.iter_mut().zip(&tally.ticks) {
        *all += one;
    }
    let stamp_error = Duration::from_nanos(tally.stamp_error);
    sample.stamp_error = sample.stamp_error.max(stamp_error);
}

fn sleep_until(then: Instant, common: &Common<'_>) {
    while !common.stopped() {
        let left = then.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(NAP));
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 4)
}

/// Processor time of this process so far; zero where it is not known.
fn processor() -> Duration {
    #[cfg(target_os = "linux")]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::try_from(time).unwrap_or_default()
    }
    #[cfg(windows)]
    {
        straddle_io::windows::process_time().unwrap_or_default()
    }
    #[cfg(not(any(target_os = "linux", windows)))]
    Duration::ZERO
}

/// Lets sleeps of this thread end when they should, not up to 50 µs later.
fn exact_timers() {
    #[cfg(target_os = "linux")]
    {
        // Without it, requests start a little late, and that is counted.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }
}
