//! How moves come to their ends: done, rolled back, stopped; and what is left of free space and of holes.

use std::ops::ControlFlow;

use straddle_geometry::Bytes;
use straddle_realign::{Check, Edit, Job, Method, Move, MoveError, Part, Phase};

use crate::case::{Case, TOKEN, back, forward};
use crate::damage::{case, journaled, steady, stopped_or_done};
use crate::disk::SECTOR;

#[test]
fn what_is_done_stays_done_and_can_be_rolled_back() {
    let case = case();
    let (disk, log) = (steady(&case.disk()), steady(&case.journal()));
    let mut it = case.create(&disk, &log).expect("room");
    let mut told = Vec::new();
    it.forward(Check::AtTheEnd, |progress| {
        told.push((progress.phase, progress.done.get(), progress.of.get()));
        ControlFlow::Continue(())
    })
    .expect("done");
    let moving = (1..=5).map(|n| (Phase::Moving, n * 1024, 5120));
    let moving = moving.chain((1..=5).map(|n| (Phase::ReadingBack, n * 1024, 5120)));
    let editing = [16, 716, 720].map(|done| (Phase::Editing, done, 720));
    assert_eq!(told, moving.chain(editing).collect::<Vec<_>>());
    assert!(it.is_done() && it.keeps_free_space() && !it.is_restored());
    let mut it = case.open(&disk, &log).expect("whole");
    assert!(it.is_done());
    assert_eq!(it.progress(), (Bytes::new(5120), Bytes::new(5120)));
    it.forward(Check::AtTheEnd, |_| panic!("there is nothing to do"))
        .expect("done");
    back(&mut it, Check::Each).expect("rolled back");
    assert!(it.is_restored() && !it.is_done());
    assert!(matches!(
        forward(&mut it, Check::AtTheEnd),
        Err(MoveError::Back)
    ));
    assert!(disk.seen() == case.disk());
}

#[test]
fn what_was_used_since_is_not_rolled_back() {
    let case = case();
    let (disk, log) = stopped_or_done(&case, u64::MAX);
    let mut used = disk.clone();
    used[10 * SECTOR] ^= 1;
    let one = steady(&used);
    let mut it = case.open(&one, &steady(&log)).expect("it is done");
    let refused = back(&mut it, Check::AtTheEnd);
    assert!(
        matches!(refused, Err(MoveError::Changed { .. })),
        "{refused:?}"
    );
    assert!(one.seen() == used && !it.is_going_back());
}

#[test]
fn it_stops_when_it_is_asked_to_and_goes_on() {
    for has_threads in [false, true] {
        for case in [case(), journaled()] {
            let case = Case {
                has_threads,
                ..case
            };
            let (disk, log) = (steady(&case.disk()), steady(&case.journal()));
            let mut it = case.create(&disk, &log).expect("room");
            let mut stops = 0;
            for wanted in 0.. {
                let mut left = wanted;
                let ended = it.forward(case.check, |_| match left {
                    0 => ControlFlow::Break(()),
                    _ => {
                        left -= 1;
                        ControlFlow::Continue(())
                    }
                });
                match ended {
                    Err(MoveError::Stopped) => stops += 1,
                    ended => {
                        ended.expect("done");
                        break;
                    }
                }
            }
            assert!(stops >= 8, "{stops}");
            assert!(disk.seen() == case.done());
            back(&mut it, case.check).expect("rolled back");
            assert!(disk.seen() == case.disk());
        }
    }
}

/// More free space than is kept.
#[test]
fn without_free_space_rolling_back_restores_parts_only() {
    let at = |sectors: usize| Bytes::new((sectors * SECTOR) as u64);
    let far = 129 << 10;
    let part = Part {
        from: at(8),
        to: at(8 + far + far),
        len: at(far),
    };
    let job = Job::new(vec![part], Vec::new()).expect("a job");
    let options = straddle_realign::Options::default();
    let size = at(16 + 3 * far);
    let len = straddle_realign::journal::len(&job, &options.sizes, b"", size).expect("sound");
    assert!(len < Bytes::mib(64));
    let before: Vec<u8> = (0..size.get())
        .map(|at| (at % 251).to_le_bytes()[0])
        .collect();
    let (disk, log) = (
        steady(&before),
        steady(&vec![0; usize::try_from(len.get()).expect("small")]),
    );
    let mut it = Move::create(disk.clone(), log, TOKEN, &job, &options).expect("room");
    assert!(!it.keeps_free_space());
    forward(&mut it, Check::AtTheEnd).expect("moved");
    back(&mut it, Check::AtTheEnd).expect("rolled back");
    let after = disk.seen();
    let moved = 8 * SECTOR..(8 + far) * SECTOR;
    assert!(after[moved.clone()] == before[moved]);
    assert!(after != before, "copies are left");
}

#[test]
fn holes_stay_holes() {
    let mut before = vec![0; 64 * SECTOR];
    for sector in [3, 4, 9, 10] {
        before[sector * SECTOR..(sector + 1) * SECTOR].fill(5);
    }
    before[20 * SECTOR..30 * SECTOR].fill(7);
    let at = |sectors: usize| Bytes::new((sectors * SECTOR) as u64);
    let part = Part {
        from: at(3),
        to: at(20),
        len: at(10),
    };
    let job = Job::new(vec![part], Vec::<Edit>::new()).expect("a job");
    for method in [Method::Ordered, Method::Journaled] {
        let options = Case { method, ..case() }.options();
        let len = straddle_realign::journal::len(&job, &options.sizes, &options.label, at(64));
        let len = usize::try_from(len.expect("sound").get()).expect("small");
        let disk = steady(&before).with_holes();
        let begun = Move::create(disk.clone(), steady(&vec![0; len]), TOKEN, &job, &options);
        let mut it = begun.expect("room").with_method(method);
        forward(&mut it, Check::AtTheEnd).expect("moved");
        // Two of five blocks have bytes.
        assert_eq!(disk.written(), (4 * SECTOR as u64, 6 * SECTOR as u64));
        let mut wanted = before.clone();
        wanted.copy_within(3 * SECTOR..13 * SECTOR, 20 * SECTOR);
        assert!(disk.seen() == wanted);
        back(&mut it, Check::AtTheEnd).expect("rolled back");
        assert!(disk.seen() == before);
    }
}
