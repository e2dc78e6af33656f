//! Runs on files: what is counted, where requests go, when they are due, and how a run ends.
#![cfg(unix)]

use crate::run_common::{
    Place, engines, faults, options, region, run_at, run_for, timed, workload,
};
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use straddle_bench::run::{RunError, Storage, Watch, trial};
use straddle_bench::sample::Sample;
use straddle_bench::target::Target;
use straddle_geometry::{Access, Bytes, Unit};
use straddle_io::engine::Kind;
use straddle_io::engine::faulty::{What, When};
use straddle_workload::offset::Offset;
use straddle_workload::{Pattern, Percent, Workload};

const MIB: u64 = 1 << 20;

#[test]
fn counts_agree_with_each_other() {
    let mut kinds = engines();
    kinds.push(Kind::Null);
    for kind in kinds {
        for (workers, outstanding) in [(1, 1), (2, 8)] {
            let workload = workload(4096, workers, outstanding, 70);
            let told = Cell::new(0);
            let run = || {
                let place = Place::new();
                let target = place.target(Bytes::new(4 * MIB));
                let mut storage = Storage::new(target, region(0, 4 * MIB), options(kind));
                let watch = Watch::default();
                let sample = run_at(&mut storage, &workload, 0, 300, &watch).expect("a run");
                told.set(watch.requests.load(Ordering::Relaxed));
                sample
            };
            let (sample, _) = timed(run, |sample| {
                sample.reads.requests > sample.writes.requests && sample.writes.requests > 0
            });
            let (reads, writes) = (&sample.reads, &sample.writes);
            assert!(
                reads.requests > writes.requests && writes.requests > 0,
                "{kind}"
            );
            assert_eq!(reads.requests, reads.latencies.count(), "{kind}");
            assert_eq!(writes.requests, writes.latencies.count(), "{kind}");
            assert_eq!(reads.bytes.get(), reads.requests * 4096);
            let all = reads.requests + writes.requests;
            let ticks: u64 = sample.ticks.iter().map(|n| u64::from(*n)).sum();
            assert_eq!((sample.ticks.len(), ticks), (3, all), "{kind}");
            // Those of the warm-up and those after the end are told to the watcher, but not in the sample.
            assert!(told.get() >= all, "{kind}");
            assert!(sample.processor > Duration::ZERO && sample.began >= Duration::from_millis(50));
            // Little's law: what is under way on average is what was asked for, but for the worker's own time.
            let mean = sample.latencies().mean().as_secs_f64() * sample.rate();
            let asked = f64::from(workers * outstanding);
            // Those under way at the beginning count with the time before it.
            let before = sample.latencies().most().as_secs_f64() / sample.took.as_secs_f64();
            assert!(
                mean < asked * (1.0 + before) + 0.1,
                "{kind}: {mean} under way"
            );
        }
    }
}

#[test]
fn nothing_outside_the_region_is_touched_and_all_of_it_is_reached() {
    for kind in engines() {
        // A stride of the largest size leaves no gap.
        let sectors = |n: u64| Unit::new(n * 512).expect("not zero");
        for (pattern, sizes) in [
            (Pattern::Random, &[(512, 3), (2048, 1)][..]),
            (Pattern::Sequential, &[(512, 3), (2048, 1)]),
            (Pattern::Strided(sectors(4)), &[(2048, 1)]),
            (Pattern::Columns(sectors(16)), &[(2048, 1)]),
        ] {
            let place = Place::new();
            let target = place.target(Bytes::new(2 * MIB));
            let before = std::fs::read(place.path()).expect("the file");
            let workload = Workload {
                pattern,
                sizes: sizes
                    .iter()
                    .map(|(size, weight)| (Unit::new(*size).expect("not zero"), *weight))
                    .collect(),
                ..workload(512, 2, 4, 0)
            };
            let (base, len, offset) = (4096, 64 << 10, 63 * 512);
            let mut storage = Storage::new(target, region(base, len), options(kind));
            let start = usize::try_from(base + offset).expect("small");
            let end = start + usize::try_from(len).expect("small");
            let mut unwritten = usize::MAX;
            for _ in 0..10 {
                // By chance a sector is left out once in 10^13 times. A worker that waits for a busy machine while the other makes all
                // requests has its share left: one of ten runs is long enough for both.
                run_for(&mut storage, &workload, offset, 4000).expect("a run");
                let after = std::fs::read(place.path()).expect("the file");
                assert_eq!(before.get(..start), after.get(..start), "{kind}");
                assert_eq!(before.get(end..), after.get(end..), "{kind}");
                let sectors = |bytes: &[u8]| -> Vec<Vec<u8>> {
                    let inside = bytes.get(start..end).expect("inside");
                    inside.chunks(512).map(<[u8]>::to_vec).collect()
                };
                unwritten = sectors(&before)
                    .iter()
                    .zip(sectors(&after))
                    .filter(|(a, b)| **a == *b)
                    .count();
                if unwritten == 0 {
                    break;
                }
            }
            assert_eq!(
                unwritten, 0,
                "{kind}, {pattern:?}: every sector was written"
            );
        }
    }
}

#[test]
fn what_is_written_is_never_what_was_read() {
    for kind in engines() {
        let place = Place::new();
        let target = place.target(Bytes::new(4 * MIB));
        // Zeros to read: were they written back, storage could compress them.
        let zeros = vec![0; 4 << 20];
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(place.path())
            .expect("the file");
        std::os::unix::fs::FileExt::write_all_at(&file, &zeros, 0).expect("room");
        let mut storage = Storage::new(target, region(0, 4 * MIB), options(kind));
        let workload = workload(4096, 2, 4, 90);
        run_for(&mut storage, &workload, 0, 1000).expect("a run");
        let after = std::fs::read(place.path()).expect("the file");
        let after = after.get(..4 << 20).expect("4 MiB");
        let written: Vec<&[u8]> = after
            .chunks(4096)
            .filter(|block| block.iter().any(|b| *b != 0))
            .collect();
        assert!(!written.is_empty(), "{kind}");
        for block in &written {
            let zeros = block.iter().filter(|byte| **byte == 0).count();
            // 16 are to be expected of random bytes.
            assert!(zeros < 100, "{kind}: {zeros} zeros");
        }
        let different: HashSet<&[u8]> = written.iter().copied().collect();
        assert_eq!(different.len(), written.len(), "{kind}");
    }
}

/// So many reads that end in this time at this rate, when they are due one after the other.
fn due(rate: f64, took: Duration) -> f64 {
    rate * took.as_secs_f64() + 1.0
}

#[expect(clippy::cast_precision_loss, reason = "few")]
fn issued(sample: &Sample) -> f64 {
    sample.issued.reads as f64
}

/// Reads that took longer.
fn longer(sample: &Sample, than: Duration) -> u64 {
    let buckets = sample.reads.latencies.buckets();
    let long = buckets.filter(|(up_to, _)| *up_to > than);
    long.map(|(_, n)| n).sum()
}

#[test]
fn latency_counts_from_when_a_request_was_due() {
    for kind in engines() {
        let run = || {
            let place = Place::new();
            let stall = What::Stall(Duration::from_millis(200));
            let target = place.target(Bytes::new(MIB));
            let mut storage = Storage::new(target, region(0, MIB), options(kind))
                .with_faults(faults(When::Request(300), stall));
            let workload = Workload {
                rate: Some(1000.0),
                ..workload(4096, 1, 1, 100)
            };
            run_at(&mut storage, &workload, 0, 1000, &Watch::default()).expect("a run")
        };
        // What comes behind the stall may be more than fits into the rest of the second.
        let (sample, took) = timed(run, |sample| sample.reads.requests >= 800);
        // All 200 that were due during the stall had to wait, the later the shorter; nine in ten of them for 20 ms and more.
        let long = longer(&sample, Duration::from_millis(20));
        assert!(long >= 175, "{kind}: {long}");
        assert!(sample.reads.latencies.least() < Duration::from_millis(20));
        // And all were made up for, none twice.
        let all = sample.reads.requests;
        assert!(all >= 800, "{kind}: {all}");
        assert!(issued(&sample) <= due(1000.0, took), "{kind}: {sample:?}");
    }
}

#[test]
fn a_closed_loop_sees_the_same_stall_once() {
    let run = || {
        let place = Place::new();
        let stall = What::Stall(Duration::from_millis(200));
        let target = place.target(Bytes::new(MIB));
        let mut storage = Storage::new(target, region(0, MIB), options(Kind::Pread))
            .with_faults(faults(When::Request(300), stall));
        let workload = Workload {
            think: Duration::from_micros(500),
            ..workload(4096, 1, 1, 100)
        };
        run_at(&mut storage, &workload, 0, 1000, &Watch::default()).expect("a run")
    };
    let long = |sample: &Sample| longer(sample, Duration::from_millis(190));
    // A busy machine may add some of its own.
    let (sample, _) = timed(run, |sample| long(sample) == 1);
    assert!((1..=3).contains(&long(&sample)), "{}", long(&sample));
}

#[test]
fn an_offered_rate_is_shared_by_workers_and_their_threads() {
    for kind in engines() {
        let run = || {
            let place = Place::new();
            let target = place.target(Bytes::new(MIB));
            let mut storage = Storage::new(target, region(0, MIB), options(kind));
            let workload = Workload {
                rate: Some(500.0),
                ..workload(4096, 2, 3, 100)
            };
            run_at(&mut storage, &workload, 0, 1000, &Watch::default()).expect("a run")
        };
        let (sample, took) = timed(run, |sample| sample.reads.requests >= 400);
        let all = sample.reads.requests;
        assert!(all >= 400, "{kind}: {all}");
        // The first of each of six is due at once.
        assert!(
            issued(&sample) <= due(500.0, took) + 5.0,
            "{kind}: {sample:?}"
        );
    }
}

#[test]
fn time_to_think_is_taken() {
    for kind in engines() {
        let run = || {
            let place = Place::new();
            let target = place.target(Bytes::new(MIB));
            let mut storage = Storage::new(target, region(0, MIB), options(kind));
            let workload = Workload {
                think: Duration::from_millis(10),
                ..workload(4096, 1, 4, 100)
            };
            run_at(&mut storage, &workload, 0, 500, &Watch::default()).expect("a run")
        };
        let median = |sample: &Sample| sample.reads.latencies.percentile(50.0);
        // Thinking is no latency.
        let is_short = |sample: &Sample| median(sample) < Duration::from_millis(5);
        let (sample, took) = timed(run, |sample| {
            sample.reads.requests >= 50 && is_short(sample)
        });
        let all = sample.reads.requests;
        assert!(all >= 50, "{kind}: {all}");
        assert!(is_short(&sample), "{kind}: {:?}", median(&sample));
        // 4 every 10 ms, the first ones at once.
        assert!(
            issued(&sample) <= due(400.0, took) + 3.0,
            "{kind}: {sample:?}"
        );
    }
}

#[test]
fn a_run_that_is_stopped_ends_soon() {
    for kind in engines() {
        for rate in [None, Some(2.0)] {
            let place = Place::new();
            let target = place.target(Bytes::new(MIB));
            let mut storage = Storage::new(target, region(0, MIB), options(kind));
            let workload = Workload {
                rate,
                ..workload(4096, 2, 4, 100)
            };
            let watch = Watch::default();
            let began = Instant::now();
            let stopped = std::thread::scope(|scope| {
                let run = scope.spawn(|| {
                    let result = run_at(&mut storage, &workload, 0, 600_000, &watch);
                    (result, Instant::now())
                });
                // However long a busy machine takes to begin.
                while watch.requests.load(Ordering::Relaxed) == 0 && !run.is_finished() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                std::thread::sleep(Duration::from_millis(300));
                let asked = Instant::now();
                watch.stop.store(true, Ordering::Relaxed);
                let (result, ended) = run.join().expect("no panic");
                let Err(RunError::Stopped(Some(sample))) = result else {
                    panic!("{kind}: {result:?}");
                };
                // 50 ms of warm-up are left out of the 300.
                let least = Duration::from_millis(200);
                assert!(
                    sample.took >= least && sample.took <= ended - began,
                    "{kind}"
                );
                let all = sample.reads.requests;
                if rate.is_none() {
                    assert!(all > 0 && sample.ticks.len() >= 2, "{kind}");
                }
                assert_eq!(all, sample.reads.latencies.count(), "{kind}");
                let ticks: u64 = sample.ticks.iter().map(|n| u64::from(*n)).sum();
                assert!(ticks <= all, "{kind}");
                assert!(watch.requests.load(Ordering::Relaxed) >= all, "{kind}");
                ended - asked
            });
            // It would go on for ten minutes; what a busy machine adds is less than one.
            assert!(stopped < Duration::from_secs(60), "{kind}: {stopped:?}");
        }
    }
}

#[test]
fn a_run_that_is_stopped_before_it_is_measured_has_no_sample() {
    let place = Place::new();
    let target = place.target(Bytes::new(MIB));
    let mut storage = Storage::new(target, region(0, MIB), options(Kind::Null));
    let watch = Watch::default();
    watch.stop.store(true, Ordering::Relaxed);
    let workload = workload(4096, 1, 1, 100);
    let result = run_at(&mut storage, &workload, 0, 600_000, &watch);
    assert!(matches!(result, Err(RunError::Stopped(None))), "{result:?}");
}

#[test]
fn a_failing_request_ends_the_run_and_is_named() {
    for kind in engines() {
        let place = Place::new();
        let target = place.target(Bytes::new(MIB));
        let path = target.path().display().to_string();
        let mut storage = Storage::new(target, region(0, MIB), options(kind))
            .with_faults(faults(When::Request(100), What::Error(5)));
        let error = run_at(
            &mut storage,
            &workload(4096, 2, 4, 100),
            0,
            60_000,
            &Watch::default(),
        )
        .expect_err("EIO");
        let RunError::Request {
            access: Access::Read,
            at,
            len,
            ref source,
            ..
        } = error
        else {
            panic!("{kind}: {error}");
        };
        assert!(at.get() < MIB && at.get().is_multiple_of(4096) && len.get() == 4096);
        assert_eq!(source.raw_os_error(), Some(5));
        let said = error.to_string();
        assert!(
            said.starts_with("reading 4,096 bytes at byte") && said.contains(&path),
            "{said}"
        );
        // The next run on the same storage is a run like any other.
        run_at(
            &mut storage,
            &workload(4096, 2, 4, 100),
            0,
            50,
            &Watch::default(),
        )
        .expect("a run");
    }
}

#[test]
fn a_full_disk_and_a_short_write_are_named() {
    for kind in engines() {
        for (what, words) in [
            (What::Error(28), "No space left"),
            (What::Short(Bytes::new(512)), "only 512"),
        ] {
            let place = Place::new();
            let target = place.target(Bytes::new(MIB));
            let full = faults(When::Written(Bytes::new(100 << 10)), what);
            let mut storage = Storage::new(target, region(0, MIB), options(kind)).with_faults(full);
            let error = run_at(
                &mut storage,
                &workload(4096, 1, 4, 0),
                0,
                60_000,
                &Watch::default(),
            )
            .expect_err("no space");
            let said = error.to_string();
            assert!(
                said.starts_with("writing 4,096 bytes") && said.contains(words),
                "{kind}: {said}"
            );
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_read() {
    let null = || Target::null(Bytes::new(MIB)).expect("nothing is needed");
    let place = Place::new();
    let refused = |target: Target, base: u64, len: u64, workload: &Workload, verify: bool| {
        let options = straddle_bench::run::Options {
            verify,
            ..options(Kind::Pread)
        };
        let mut storage = Storage::new(target, region(base, len), options);
        let watch = Watch::default();
        let error = run_at(&mut storage, workload, 0, 50, &watch).expect_err("it does not fit");
        assert!(matches!(error, RunError::Unfit { .. }), "{error}");
        assert_eq!(watch.requests.load(Ordering::Relaxed), 0);
        error.to_string()
    };
    let file = place.target(Bytes::new(MIB));
    let said = refused(file, 4096, MIB, &workload(4096, 1, 1, 100), false);
    assert!(
        said.contains("an end within the target's 1,048,576 bytes"),
        "{said}"
    );
    let said = refused(null(), 0, 2048, &workload(4096, 1, 1, 100), false);
    assert!(said.contains("room for one request"), "{said}");
    let sequential = Workload {
        pattern: Pattern::Sequential,
        ..workload(4096, 3, 1, 100)
    };
    let said = refused(null(), 0, 8192, &sequential, false);
    assert!(said.contains("each of 3 workers"), "{said}");
    let said = refused(null(), 0, MIB, &workload(1000, 1, 1, 100), true);
    assert!(said.contains("multiple of 512"), "{said}");
    let said = refused(null(), 0, MIB, &workload(512, 0, 1, 100), false);
    assert!(said.contains("1 of each at least"), "{said}");
    let nothing = Workload {
        rate: Some(0.0),
        ..workload(512, 1, 1, 100)
    };
    let said = refused(null(), 0, MIB, &nothing, false);
    assert!(said.contains("a number above 0"), "{said}");
}

#[test]
fn the_same_seed_asks_for_the_same_places() {
    // 40 KiB are written at random places, then the disk is full: which places those were shows in the file.
    let written = |offset: u64| -> Vec<usize> {
        let place = Place::new();
        let target = place.target(Bytes::new(8 * MIB));
        let before = std::fs::read(place.path()).expect("the file");
        let full = faults(When::Written(Bytes::new(40 << 10)), What::Error(28));
        let mut storage =
            Storage::new(target, region(0, 4 * MIB), options(Kind::Pread)).with_faults(full);
        run_at(
            &mut storage,
            &workload(4096, 1, 1, 0),
            offset,
            60_000,
            &Watch::default(),
        )
        .expect_err("it is full");
        let after = std::fs::read(place.path()).expect("the file");
        let skip = usize::try_from(offset).expect("small");
        let blocks = |bytes: &[u8]| -> Vec<Vec<u8>> {
            bytes
                .iter()
                .skip(skip)
                .copied()
                .collect::<Vec<u8>>()
                .chunks(4096)
                .map(<[u8]>::to_vec)
                .collect()
        };
        let pairs = blocks(&before).into_iter().zip(blocks(&after)).enumerate();
        pairs.filter(|(_, (a, b))| a != b).map(|(n, _)| n).collect()
    };
    let aligned = written(0);
    assert_eq!(aligned.len(), 10);
    assert_eq!(
        aligned,
        written(63 * 512),
        "the same places of another lattice"
    );
}

#[test]
fn a_trial_measures_every_engine_and_writes_nothing() {
    let place = Place::new();
    let target = place.target(Bytes::new(4 * MIB));
    let before = std::fs::read(place.path()).expect("the file");
    let offset = Offset {
        name: "0".to_owned(),
        bytes: Bytes::new(0),
    };
    let workload = Workload {
        reads: Percent::NONE,
        rate: Some(1.0),
        ..workload(4096, 1, 4, 0)
    };
    let trial = trial(
        target,
        region(0, 4 * MIB),
        options(Kind::Null),
        &workload,
        &offset,
        &Watch::default(),
    )
    .expect("a trial");
    let names: Vec<&str> = trial
        .choice
        .trial
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    let expected: Vec<&str> = engines().iter().map(|kind| kind.name()).collect();
    assert_eq!(names, expected);
    assert!(trial.choice.trial.iter().all(|(_, rate)| *rate > 100.0));
    assert_eq!(trial.choice.name, trial.engine.name());
    assert!(
        trial.choice.reason.contains("short trial"),
        "{}",
        trial.choice.reason
    );
    assert_eq!(std::fs::read(place.path()).expect("the file"), before);
}
