//! Replays on files: the requests that reach the storage are the recorded ones, shifted, by value.
#![cfg(unix)]

use crate::run_common::{Place, engines, faults, options, region, run_at, run_for, timed};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use straddle_bench::plan::{Plan, Schedule, Slot};
use straddle_bench::run::{Replay, RunError, Storage, Subject, Task, Watch};
use straddle_bench::sample::{Issued, Sample, Side};
use straddle_bench::session::Session;
use straddle_geometry::{Access, Bytes, Extent};
use straddle_io::engine::Kind;
use straddle_io::engine::faulty::{What, When};
use straddle_workload::offset::Offset;
use straddle_workload::recording::{Fit, Recorded, Recording};

const MIB: u64 = 1 << 20;

fn recording(requests: &[(Access, u64, u64)]) -> Arc<Recording> {
    let requests = (0_u64..).zip(requests);
    let requests = requests.map(|(number, (access, start, len))| Recorded {
        access: *access,
        start: *start,
        len: *len,
        time: Some(number * 10_000_000),
    });
    Arc::new(Recording::new(requests.collect()).expect("requests"))
}

fn replay(recording: &Arc<Recording>, fit: Fit, speed: Option<f64>) -> Replay {
    Replay {
        recording: Arc::clone(recording),
        fit,
        speed,
    }
}

/// Reads and writes of several lengths, inside 4 MiB but for the last.
fn mixed() -> Vec<(Access, u64, u64)> {
    vec![
        (Access::Read, 32_256, 8192),
        (Access::Write, 65_536, 65_536),
        (Access::Read, MIB + 512, 512),
        (Access::Write, 3 * MIB - 4096, 8192),
        (Access::Read, 37 * MIB + 1024, 4096),
    ]
}

/// Each request fails in its turn, and the error says which it was.
#[test]
fn the_storage_gets_the_recorded_requests_in_their_order() {
    let requests = mixed();
    let recording = recording(&requests);
    for (offset, fit) in [(0, Fit::Wrap), (32_256, Fit::Wrap), (MIB, Fit::Scale)] {
        let len = 6 * MIB;
        // Five MiB and the longest request: 37 MiB are 2 by the one rule, and 37 of 38 MiB are 4 of 5 by the other.
        let last = match fit {
            Fit::Wrap => 2 * MIB + 1024,
            Fit::Scale => 4 * MIB + 1024,
        };
        let scaled = |start: u64| match fit {
            Fit::Wrap => start,
            Fit::Scale => start / MIB * 5 / 38 * MIB + start % MIB,
        };
        let expected: Vec<(Access, u64, u64)> = requests
            .iter()
            .map(|(access, start, len)| match *start {
                start if start > 4 * MIB => (*access, 4096 + offset + last, *len),
                start => (*access, 4096 + offset + scaled(start), *len),
            })
            .collect();
        let mut seen = Vec::new();
        for number in 1..=7 {
            let place = Place::new();
            let target = place.target(Bytes::new(8 * MIB));
            let mut storage = Storage::new(target, region(4096, len), options(Kind::Pread))
                .with_replay(Some(replay(&recording, fit, None)))
                .with_faults(faults(When::Request(number), What::Error(5)));
            let workload = recording.workload(1, 1);
            match run_at(&mut storage, &workload, offset, 600_000, &Watch::default()) {
                Err(RunError::Request {
                    access, at, len, ..
                }) => {
                    seen.push((access, at.get(), len.get()));
                }
                other => panic!("{other:?}"),
            }
        }
        let first = expected
            .iter()
            .position(|one| *one == seen[0])
            .expect("one of them");
        let round: Vec<_> = (0..7).map(|n| expected[(first + n) % 5]).collect();
        assert_eq!(seen, round, "{offset} {fit:?}");
    }
}

/// What is written is what was recorded, on every engine with several requests under way, and nothing else.
#[test]
fn writes_change_the_recorded_places_and_no_others() {
    let requests = mixed();
    let recording = recording(&requests);
    for kind in engines() {
        for offset in [0, 32_256] {
            let place = Place::new();
            let target = place.target(Bytes::new(45 * MIB));
            let before = std::fs::read(place.path()).expect("the file");
            let mut storage = Storage::new(target, region(512, 40 * MIB), options(kind))
                .with_replay(Some(replay(&recording, Fit::Wrap, None)));
            let workload = recording.workload(2, 3);
            let sample = run_for(&mut storage, &workload, offset, 500).expect("a run");
            let after = std::fs::read(place.path()).expect("the file");
            let sectors = before.chunks(512).zip(after.chunks(512)).enumerate();
            let changed: BTreeSet<u64> = sectors
                .filter(|(_, (before, after))| before != after)
                .map(|(number, _)| number as u64 * 512)
                .collect();
            let writes = requests
                .iter()
                .filter(|(access, ..)| *access == Access::Write);
            let expected: BTreeSet<u64> = writes
                .flat_map(|(_, start, len)| {
                    (0..len / 512).map(move |n| 512 + offset + start + n * 512)
                })
                .collect();
            assert_eq!(changed, expected, "{kind} at {offset}");
            // Two of five write, and as many of each are made; those at the ends may be counted on one side only.
            let (reads, writes) = (sample.issued.reads, sample.issued.writes);
            assert!(
                (reads * 2).abs_diff(writes * 3) <= 6,
                "{kind}: {reads} reads, {writes} writes"
            );
        }
    }
}

#[test]
fn timed_requests_are_due_when_they_were_recorded() {
    let recording = recording(&mixed());
    for (speed, rate) in [(1.0, 100.0), (2.0, 200.0)] {
        let run = || {
            let place = Place::new();
            let target = place.target(Bytes::new(45 * MIB));
            let mut storage = Storage::new(target, region(0, 40 * MIB), options(Kind::Pread))
                .with_replay(Some(replay(&recording, Fit::Wrap, Some(speed))));
            let workload = recording.workload(1, 2);
            run_at(&mut storage, &workload, 0, 500, &Watch::default()).expect("a run")
        };
        // One every 10 ms as recorded; a busy machine may be late at the ends.
        let is_near = |sample: &Sample| (sample.rate() - rate).abs() <= rate * 0.2;
        let (sample, _) = timed(run, is_near);
        let found = sample.rate();
        assert!(is_near(&sample), "{found} instead of {rate}");
    }
}

#[test]
fn places_that_direct_io_does_not_take_are_an_error() {
    let recording = recording(&[(Access::Read, 100, 512)]);
    let place = Place::new();
    let target = place.target(Bytes::new(4 * MIB));
    let mut storage = Storage::new(target, region(0, MIB / 2), options(Kind::Pread))
        .with_replay(Some(replay(&recording, Fit::Scale, None)));
    let workload = recording.workload(1, 1);
    // Through the page cache any byte will do.
    run_at(&mut storage, &workload, 0, 50, &Watch::default()).expect("a run");
    let far = self::recording(&[(Access::Read, 9 * MIB, 512)]);
    let mut storage = Storage::new(storage.into_target(), region(0, MIB), options(Kind::Pread))
        .with_replay(Some(replay(&far, Fit::Wrap, None)));
    match run_at(&mut storage, &far.workload(1, 1), 0, 50, &Watch::default()) {
        Err(RunError::Unfit { what, .. }) => assert_eq!(what, "the recording"),
        other => panic!("{other:?}"),
    }
}

/// A model whose time for a request is known: 1 ms, and twice that over a boundary of 64 KiB.
struct Model {
    replay: Replay,
    asked: AtomicU64,
}

impl Subject for Model {
    fn run(&mut self, task: &Task<'_>, _: &Watch) -> Result<Sample, RunError> {
        let extent = Extent::new(task.offset.bytes, Bytes::new(64 * MIB)).expect("an extent");
        let first = u64::from(task.slot.block);
        let run = self.replay.run(extent, first).expect("room");
        let (mut reads, mut writes) = (Side::default(), Side::default());
        let mut left = 1_000_000_000_u64;
        while let Some(taken) = run.take() {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let (start, len) = (taken.drawn.offset.get(), taken.drawn.len.get());
            let straddles = start / 65_536 != (start + len - 1) / 65_536;
            let time = if straddles { 2_000_000 } else { 1_000_000 };
            let Some(rest) = left.checked_sub(time) else {
                break;
            };
            left = rest;
            let side = match taken.drawn.access {
                Access::Read => &mut reads,
                Access::Write => &mut writes,
            };
            side.requests += 1;
            side.bytes = Bytes::new(side.bytes.get() + len);
            side.latencies.record(time);
        }
        Ok(Sample {
            slot: task.slot,
            began: Duration::ZERO,
            took: Duration::from_secs(1),
            reads,
            writes,
            ticks: Vec::new(),
            stamp_error: Duration::ZERO,
            issued: Issued::default(),
            devices: Vec::new(),
            processor: Duration::ZERO,
        })
    }
}

/// The whole way, plan and statistics: reads of 64 KiB on their boundaries gain twice from an offset of whole 64 KiB.
#[test]
fn a_recording_goes_through_plan_and_statistics() {
    let requests: Vec<(Access, u64, u64)> = (0..100)
        .map(|n| (Access::Read, n * 7 % 100 * 65_536, 65_536))
        .collect();
    let recording = recording(&requests);
    let offset = |name: &str, bytes| Offset {
        name: name.to_owned(),
        bytes: Bytes::new(bytes),
    };
    let plan = Plan {
        cells: vec![recording.workload(1, 1)],
        names: Vec::new(),
        replay: None,
        offsets: vec![offset("unaligned", 32_256), offset("1M", MIB)],
        measured: Duration::from_secs(1),
        warm_up: Duration::ZERO,
        least_blocks: 5,
        most_blocks: 5,
        precision: 0.01,
        budget: None,
        seed: 1,
    };
    assert!(Schedule::new(plan.clone()).is_ok());
    let mut session = Session::new(plan.clone(), None).expect("a plan");
    let mut model = Model {
        replay: replay(&recording, Fit::Wrap, None),
        asked: AtomicU64::new(0),
    };
    let _ = session.run(&mut model, &Watch::default(), |_| ());
    let rate = |offset: u32| {
        let mut rates = session
            .samples()
            .iter()
            .filter(|sample| sample.slot.offset == offset);
        rates.next().map(Sample::rate)
    };
    assert_eq!((rate(0), rate(1)), (Some(500.0), Some(1000.0)));
    let slots: Vec<Slot> = session.samples().iter().map(|sample| sample.slot).collect();
    assert_eq!(slots.len(), 15);
    let (cells, _) = straddle_bench::statistics::analyse(&plan, session.samples(), &[]);
    let ratio = cells[0].gains[0].ratio.expect("an interval");
    assert!((ratio.mean - 2.0).abs() < 1e-9, "{ratio:?}");
}
