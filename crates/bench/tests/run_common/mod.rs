//! Targets and tasks for tests of runs.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses a part of it"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use straddle_bench::place::Region;
use straddle_bench::plan::Slot;
use straddle_bench::run::{Options, RunError, Storage, Subject, Task, Watch};
use straddle_bench::sample::Sample;
use straddle_bench::target::{Draft, Owner, Target};
use straddle_geometry::{Bytes, Unit};
use straddle_io::engine::faulty::{Fault, Faults, What, When};
use straddle_io::engine::{Durability, Kind};
use straddle_io::owned::Token;
use straddle_workload::offset::Offset;
use straddle_workload::{Pattern, Percent, Workload};

pub fn options(engine: Kind) -> Options {
    Options {
        engine,
        durability: Durability::Cached,
        atomic: false,
        polled: false,
        verify: false,
    }
}

/// The engines that move bytes and work here.
pub fn engines() -> Vec<Kind> {
    let kinds = Kind::ALL.iter().copied().filter(|kind| *kind != Kind::Null);
    kinds.filter(|kind| kind.available().is_ok()).collect()
}

pub fn workload(size: u64, workers: u32, outstanding: u32, reads: u8) -> Workload {
    Workload {
        reads: Percent::new(reads).expect("at most 100"),
        pattern: Pattern::Random,
        sizes: vec![(Unit::new(size).expect("not zero"), 1)],
        workers,
        outstanding,
        think: Duration::ZERO,
        rate: None,
    }
}

/// A test file that goes away with the folder.
pub struct Place(pub tempfile::TempDir);

impl Place {
    pub fn new() -> Place {
        Place(tempfile::tempdir().expect("a folder"))
    }

    pub fn path(&self) -> std::path::PathBuf {
        self.0.path().join("data")
    }

    pub fn target(&self, size: Bytes) -> Target {
        let stop = AtomicBool::new(false);
        {
            let owner = Owner {
                token: Token::random().expect("random bits"),
                sum: String::new(),
            };
            let draft = Draft::new(&self.path(), size, false, &owner).expect("a new file");
            draft.fill(|_| (), &stop).expect("is filled")
        }
    }
}

pub fn region(base: u64, len: u64) -> Region {
    Region {
        base: Bytes::new(base),
        len: Bytes::new(len),
    }
}

pub fn run_at(
    storage: &mut Storage,
    workload: &Workload,
    offset: u64,
    milliseconds: u64,
    watch: &Watch,
) -> Result<Sample, RunError> {
    let offset = Offset {
        name: offset.to_string(),
        bytes: Bytes::new(offset),
    };
    let task = Task {
        slot: Slot {
            cell: 0,
            block: 0,
            position: 0,
            offset: 0,
        },
        workload,
        offset: &offset,
        warm_up: Duration::from_millis(50),
        measured: Duration::from_millis(milliseconds),
        seed: 42,
    };
    storage.run(&task, watch)
}

/// A run that lasts until so many requests have ended, warm-up included, however long a busy machine takes for them.
pub fn run_for(
    storage: &mut Storage,
    workload: &Workload,
    offset: u64,
    requests: u64,
) -> Result<Sample, RunError> {
    let watch = Watch::default();
    let result = std::thread::scope(|scope| {
        let run = scope.spawn(|| run_at(storage, workload, offset, 600_000, &watch));
        let ended = || watch.requests.load(Ordering::Relaxed);
        let wait = |enough: u64| {
            while ended() < enough && !run.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        wait(1);
        // Past the warm-up, so that there is a sample.
        std::thread::sleep(Duration::from_millis(100));
        wait(requests);
        watch.stop.store(true, Ordering::Relaxed);
        run.join().expect("no panic")
    });
    match result {
        Err(RunError::Stopped(Some(sample))) => Ok(*sample),
        other => other,
    }
}

/// A run, and how long it took with all that is before and after the measured part. On a busy machine one of ten is `enough`: what is done at
/// least is up to the machine, what is done at most is not.
pub fn timed(run: impl Fn() -> Sample, enough: impl Fn(&Sample) -> bool) -> (Sample, Duration) {
    let once = || {
        let began = Instant::now();
        let sample = run();
        (sample, began.elapsed())
    };
    let mut last = once();
    for _ in 0..9 {
        if enough(&last.0) {
            break;
        }
        last = once();
    }
    last
}

pub fn faults(when: When, what: What) -> Arc<Faults> {
    Arc::new(Faults::new(vec![Fault { when, what }]))
}
