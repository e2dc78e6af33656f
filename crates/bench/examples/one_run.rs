//! One run of one workload, without an experiment around it: what `cargo xtask bench engines` measures engines with.
//!
//! `one_run run|bare TARGET ENGINE WORKERS OUTSTANDING SIZE MILLISECONDS [read|write|mixed] [direct|buffered]`
//!
//! TARGET is `null` or the path of a file or device, which is only read. `bare` is the least that the engine can be driven
//! with: requests at places computed beforehand, no clock, no histogram, no counters but the number of requests.
//!
//! Prints requests, nanoseconds of time, nanoseconds of processor time of this process, and of a run the median and 99th
//! percentile of latency and the largest error of a time stamp, in nanoseconds, each on a line with its name.

#![allow(clippy::print_stdout, reason = "an example is a program")]

use std::error::Error;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};
use straddle_bench::place::Region;
use straddle_bench::plan::Slot;
use straddle_bench::run::{Options, Storage, Subject, Task, Watch};
use straddle_bench::target::Target;
use straddle_geometry::{Access, Bytes, Unit};
use straddle_io::engine::{Durability, Engine, Kind, Null, Pread, Request, Setup, Wait};
use straddle_workload::offset::Offset;
use straddle_workload::{Pattern, Percent, Workload};

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [
        how,
        path,
        engine,
        workers,
        outstanding,
        size,
        time,
        rest @ ..,
    ] = words.as_slice()
    else {
        return Err("one_run run|bare TARGET ENGINE WORKERS OUTSTANDING SIZE MILLISECONDS".into());
    };
    let engine: Kind = engine.parse()?;
    let (workers, outstanding): (u32, u32) = (workers.parse()?, outstanding.parse()?);
    let size = Unit::new(size.parse()?).ok_or("a size of 0")?;
    let measured = Duration::from_millis(time.parse()?);
    let reads = match rest.first() {
        None | Some(&"read") => Percent::ALL,
        Some(&"write") => Percent::NONE,
        Some(_) => Percent::new(70).ok_or("70%")?,
    };
    let direct = rest.get(1) != Some(&"buffered");
    let target = if *path == "null" {
        Target::null(Bytes::new(1 << 36))?
    } else {
        Target::existing(Path::new(path), direct)?
    };
    if *how == "bare" {
        return bare(&target, engine, workers, outstanding, size, measured);
    }
    let workload = Workload {
        reads,
        pattern: Pattern::Random,
        sizes: vec![(size, 1)],
        workers,
        outstanding,
        think: Duration::ZERO,
        rate: None,
    };
    let offset = Offset {
        name: "0".to_owned(),
        bytes: Bytes::new(0),
    };
    let task = Task {
        slot: Slot {
            cell: 0,
            block: 0,
            position: 0,
            offset: 0,
        },
        workload: &workload,
        offset: &offset,
        warm_up: Duration::from_millis(100),
        measured,
        seed: 1,
    };
    let options = Options {
        engine,
        durability: Durability::Cached,
        atomic: false,
        polled: false,
        verify: false,
    };
    let region = Region {
        base: Bytes::new(0),
        len: target.size(),
    };
    let sample = Storage::new(target, region, options).run(&task, &Watch::default())?;
    let latencies = sample.latencies();
    println!(
        "requests {}",
        sample.reads.requests + sample.writes.requests
    );
    println!("wall {}", sample.took.as_nanos());
    println!("processor {}", sample.processor.as_nanos());
    println!("p50 {}", latencies.percentile(50.0).as_nanos());
    println!("p99 {}", latencies.percentile(99.0).as_nanos());
    println!("stamp_error {}", sample.stamp_error.as_nanos());
    Ok(())
}

/// The engines alone.
fn bare(
    target: &Target,
    engine: Kind,
    workers: u32,
    outstanding: u32,
    size: Unit,
    measured: Duration,
) -> Result<(), Failure> {
    let (threads, slots) = if engine.most_slots() == 1 {
        (workers * outstanding, 1)
    } else {
        (workers, outstanding)
    };
    let barrier = Barrier::new(usize::try_from(threads)? + 1);
    let places = target.size().get() / size.get();
    let (requests, time, processor) = std::thread::scope(|scope| -> Result<_, Failure> {
        let mut all = Vec::new();
        for thread in 0..threads {
            let barrier = &barrier;
            all.push(scope.spawn(move || -> Result<u64, Failure> {
                let setup = target.handle(Durability::Cached).map(|file| Setup {
                    file,
                    slots,
                    largest: size,
                    memory_alignment: target.limits().memory,
                    durability: Durability::Cached,
                    atomic: false,
                    polled: false,
                });
                barrier.wait();
                let setup = setup?;
                let drive = Drive {
                    thread: u64::from(thread),
                    places,
                    size,
                    measured,
                };
                match engine {
                    #[cfg(target_os = "linux")]
                    Kind::IoUring => drive.all(straddle_io::engine::Uring::new(setup)?),
                    Kind::Pread => drive.all(Pread::new(setup)?),
                    Kind::Null => drive.all(Null::new(&setup)?),
                }
            }));
        }
        barrier.wait();
        let before = processor();
        let start = Instant::now();
        let mut requests = 0;
        for thread in all {
            requests += thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok((requests, start.elapsed(), processor() - before))
    })?;
    println!("requests {requests}");
    println!("wall {}", time.as_nanos());
    println!("processor {}", processor.as_nanos());
    Ok(())
}

struct Drive {
    thread: u64,
    places: u64,
    size: Unit,
    measured: Duration,
}

impl Drive {
    fn all<E: Engine>(&self, mut engine: E) -> Result<u64, Failure> {
        // Places come from a table: drawing them is no part of the engine.
        let mut state = self.thread + 1;
        let table: Vec<Bytes> = (0..1 << 12)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                Bytes::new((state >> 16) % self.places * self.size.get())
            })
            .collect();
        let mut next = table.iter().cycle();
        let mut ended = Vec::new();
        let mut requests = 0;
        let mut free: Vec<u32> = (0..engine.slots()).collect();
        let end = Instant::now() + self.measured;
        loop {
            // The clock is looked at once in 256 rounds.
            for _ in 0..256 {
                for slot in free.drain(..) {
                    engine.start(Request {
                        access: Access::Read,
                        offset: *next.next().ok_or("an empty table")?,
                        len: self.size.bytes(),
                        slot,
                    });
                }
                engine.finish(Wait::One, &mut ended)?;
                for ended in ended.drain(..) {
                    ended.moved?;
                    requests += 1;
                    free.push(ended.slot);
                }
            }
            if Instant::now() >= end {
                return Ok(requests);
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn processor() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(windows)]
fn processor() -> Duration {
    straddle_io::windows::process_time().unwrap_or_default()
}

#[cfg(not(any(target_os = "linux", windows)))]
fn processor() -> Duration {
    Duration::ZERO
}
