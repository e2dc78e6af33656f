//! Power fails at every write and every flush, and takes what was not flushed, in every way: nothing is lost, forward and back.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use straddle_realign::{Check, JournalError, Method, MoveError, journal};

use crate::case::{Case, back, forward};
use crate::disk::{Disk, Power, Write};

/// What is left of writes to two disks that were not flushed: all ways of up to eight; of more none, all, each alone lost, each alone
/// kept; and sixty-four at random in which sectors of one write part.
fn ways(loose: &[(bool, Write)], random: &mut Xoshiro256PlusPlus) -> Vec<Vec<(bool, Write)>> {
    let chosen = |keep: &dyn Fn(usize) -> bool| -> Vec<(bool, Write)> {
        let kept = loose.iter().enumerate().filter(|(n, _)| keep(*n));
        kept.map(|(_, write)| write.clone()).collect()
    };
    let mut ways = Vec::new();
    if loose.len() <= 8 {
        ways.extend((0_u32..1 << loose.len()).map(|set| chosen(&|n| set >> n & 1 == 1)));
    } else {
        ways.push(chosen(&|_| true));
        ways.push(Vec::new());
        for one in 0..loose.len() {
            ways.push(chosen(&|n| n != one));
            ways.push(chosen(&|n| n == one));
        }
    }
    if !loose.is_empty() {
        let torn = loose.iter();
        let torn = torn.flat_map(|(of, write)| write.torn().map(|torn| (*of, torn)));
        let torn: Vec<(bool, Write)> = torn.collect();
        for _ in 0..64 {
            let kept = torn.iter().filter(|_| random.next_u64() & 1 == 1);
            ways.push(kept.cloned().collect());
        }
    }
    ways
}

/// What a run came to, or where it was stopped.
fn run(case: &Case, disk: &Disk, log: &Disk, begin: bool, to_back: bool) -> Result<(), MoveError> {
    let mut it = match begin {
        true => case.create(disk, log)?,
        false => case.open(disk, log)?,
    };
    match to_back || it.is_going_back() {
        true => back(&mut it, case.check),
        false => forward(&mut it, case.check),
    }
}

/// What a loss of power leaves of a disk, at random.
fn lose(disk: &Disk, random: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let (mut bytes, loose) = disk.after_power_loss();
    let torn = loose.iter().flat_map(Write::torn);
    for sector in torn.filter(|_| random.next_u64() & 1 == 1) {
        sector.apply(&mut bytes);
    }
    bytes
}

/// Takes up what is left, in both directions, and looks at every byte. Some of the runs are stopped again: killed, so that what was
/// not flushed can still be read, and may be lost later, or by another loss of power.
fn recovered(case: &Case, disk: &[u8], log: &[u8], random: &mut Xoshiro256PlusPlus) {
    // It may be taken up with another method than it was begun with.
    let mut case = case.clone();
    if case.method != Method::Ordered && random.next_u64() & 1 == 1 {
        case.method = Method::JournaledAfter(random.next_u64() % 5);
    }
    let case = &case;
    for back in [false, true] {
        let steady = |bytes: &[u8]| Disk::new(bytes.to_vec(), Power::steady());
        let (mut one, mut other) = (steady(disk), steady(log));
        for stops in (0..random.next_u64() % 3 + 1).rev() {
            let power = match stops {
                0 => Power::steady(),
                _ => Power::until(random.next_u64() % 60),
            };
            (one, other) = (one.taken_up(power.clone()), other.taken_up(power));
            match run(case, &one, &other, false, back) {
                Ok(()) => break,
                // Its header was not written: nothing was begun.
                Err(MoveError::Journal(JournalError::NoHeader)) => {
                    assert!(
                        one.seen() == case.disk(),
                        "{case:?}: changed without a journal"
                    );
                    return;
                }
                Err(error) if stops == 0 => panic!("{case:?} back {back}: {error}"),
                Err(_) if random.next_u64() & 1 == 1 => {
                    (one, other) = (steady(&lose(&one, random)), steady(&lose(&other, random)));
                }
                Err(_) => {}
            }
        }
        // It said that it had come to its end: no loss of power takes anything of that.
        let (disk, log) = (lose(&one, random), lose(&other, random));
        let last = case.open(&steady(&disk), &steady(&log)).expect("whole");
        assert_eq!(last.label(), b"target 7");
        // What was being rolled back is not taken forward again.
        let wanted = match back || last.is_going_back() {
            true => case.disk(),
            false => case.done(),
        };
        assert!(last.is_done() || last.is_restored());
        assert!(disk == wanted, "{case:?} back {back}");
    }
}

/// What was before the run that is stopped at every point.
#[derive(Clone, Copy, Debug)]
enum Before {
    Nothing,
    /// A move that was killed after so many writes and flushes; it is gone on with.
    Killed(u64),
    /// The same, and it is taken back.
    Back(u64),
    /// A move that lost power after so many, and is gone on with by another method, or taken back.
    Lost(u64, Method, bool),
}

/// Every point at which a run can be stopped. How many states that gave.
fn every_point(case: &Case, before: Before) -> u64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(case.block);
    let mut states = BTreeSet::new();
    for stop in 0.. {
        let power = Power::until(stop);
        let first = match before {
            Before::Nothing => power.clone(),
            Before::Killed(after) | Before::Back(after) | Before::Lost(after, ..) => {
                Power::until(after)
            }
        };
        let mut disk = Disk::new(case.disk(), first.clone());
        let mut log = Disk::new(case.journal(), first);
        let mut ended = run(case, &disk, &log, true, false);
        if !matches!(before, Before::Nothing) {
            let to_back = matches!(before, Before::Back(_) | Before::Lost(_, _, true));
            let mut second = case.clone();
            if let Before::Lost(after, method, _) = before {
                // The same each time, whatever comes later.
                let mut random = Xoshiro256PlusPlus::seed_from_u64(after);
                disk = Disk::new(lose(&disk, &mut random), power.clone());
                log = Disk::new(lose(&log, &mut random), power.clone());
                second.method = method;
            } else {
                (disk, log) = (disk.taken_up(power.clone()), log.taken_up(power.clone()));
            }
            let is_over = ended.is_ok() && !to_back;
            ended = run(&second, &disk, &log, false, to_back);
            if is_over || matches!(ended, Err(MoveError::Journal(JournalError::NoHeader))) {
                break;
            }
        }
        let ((kept, loose), (kept_log, loose_log)) =
            (disk.after_power_loss(), log.after_power_loss());
        let loose = loose.into_iter().map(|write| (false, write));
        let loose: Vec<(bool, Write)> = loose
            .chain(loose_log.into_iter().map(|write| (true, write)))
            .collect();
        for writes in ways(&loose, &mut random) {
            let (mut disk, mut log) = (kept.clone(), kept_log.clone());
            for (is_log, write) in &writes {
                write.apply(if *is_log { &mut log } else { &mut disk });
            }
            if states.insert((journal::digest(&disk), journal::digest(&log))) {
                recovered(case, &disk, &log, &mut random);
            }
        }
        if ended.is_ok() {
            break;
        }
    }
    states.len() as u64
}

/// Up and down, one part and several, blocks shorter and longer than the distance, edits or none, and sectors that are alike.
fn cases() -> Vec<Case> {
    let jobs: &[&[(u64, u64, u64)]] = &[
        &[(3, 5, 11)],
        &[(5, 3, 11)],
        &[(3, 8, 5)],
        &[(9, 2, 16)],
        &[(2, 40, 7)],
        &[(40, 2, 7)],
        &[(4, 5, 9)],
        // Neighbours, each written over what the one before it leaves.
        &[(3, 5, 10), (13, 16, 9)],
        &[(5, 3, 8), (16, 11, 6)],
        // One goes up, one goes down, one goes where another was.
        &[(3, 6, 8), (40, 37, 6)],
        &[(10, 30, 6), (20, 8, 6), (45, 46, 5)],
    ];
    let mut cases = Vec::new();
    for parts in jobs {
        for (block, batch) in [(1, 3), (2, 1), (2, 100), (3, 2)] {
            for (method, check) in [
                (Method::Ordered, Check::AtTheEnd),
                (Method::Journaled, Check::AtTheEnd),
                (Method::Ordered, Check::Each),
                (Method::JournaledAfter(2), Check::Each),
            ] {
                for (contents, has_edits) in [(200, true), (2, false), (1, true)] {
                    cases.push(Case {
                        batch,
                        contents,
                        has_edits,
                        method,
                        check,
                        ..Case::new(parts, block)
                    });
                }
            }
        }
    }
    cases
}

#[test]
#[expect(clippy::print_stdout, reason = "the report of the long form")]
fn nothing_is_lost_wherever_power_fails() {
    let all = cases();
    let is_all = straddle_testkit::is_soak();
    let step = if is_all { 4 } else { 37 };
    let chosen: Vec<(usize, &Case)> = all.iter().enumerate().step_by(step).collect();
    let next = AtomicUsize::new(0);
    let points = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(|| {
                while let Some((n, case)) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut random = Xoshiro256PlusPlus::seed_from_u64(*n as u64);
                    let mut found = every_point(case, Before::Nothing);
                    for _ in 0..if is_all { 2 } else { 1 } {
                        let after = 10 + random.next_u64() % 70;
                        found += every_point(case, Before::Killed(after));
                        found += every_point(case, Before::Back(after));
                    }
                    points.fetch_add(found, Ordering::Relaxed);
                }
            });
        }
    });
    let points = points.into_inner();
    println!(
        "{points} states after a loss of power, {} moves",
        chosen.len()
    );
    assert!(
        points > if is_all { 50_000 } else { 3_000 },
        "only {points}"
    );
}

/// A move that changes from the one method to the other while it runs, and one that is taken up by another method than it was begun
/// with, when some of it is in the data journal only.
#[test]
fn nothing_is_lost_when_the_method_changes() {
    let mut points = 0;
    for (parts, block) in [([(3, 5, 28)], 2), ([(5, 3, 28)], 2)] {
        let case = |method| Case {
            batch: 2,
            method,
            ..Case::new(&parts, block)
        };
        points += every_point(&case(Method::JournaledAfter(3)), Before::Nothing);
        let journaled = case(Method::Journaled);
        let mut only_journaled = 0;
        for after in 30..110 {
            // Only where the data journal has what is nowhere else.
            let power = Power::until(after);
            let disk = Disk::new(journaled.disk(), power.clone());
            let log = Disk::new(journaled.journal(), power);
            let _ = run(&journaled, &disk, &log, true, false);
            let mut random = Xoshiro256PlusPlus::seed_from_u64(after);
            let disk = Disk::new(lose(&disk, &mut random), Power::steady());
            let mut log = lose(&log, &mut random);
            let slots = log.len() - 2 * 4096;
            log[slots..].fill(0);
            let found = journaled.open(&disk, &Disk::new(log, Power::steady()));
            if !matches!(found, Err(MoveError::Lost { .. })) {
                continue;
            }
            only_journaled += 1;
            // They change where a slot is used again.
            for (first, to_back) in [(1, true), (2, true), (2, false)] {
                let before = Before::Lost(after, Method::JournaledAfter(first), to_back);
                points += every_point(&journaled, before);
            }
        }
        assert!(only_journaled >= 4, "{only_journaled}");
    }
    assert!(points > 3_000, "only {points}");
}

/// What other threads do at the same time differs from run to run; nothing may depend on it.
#[test]
fn nothing_is_lost_with_threads_that_read_ahead() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut stops = 0;
    for method in [
        Method::Ordered,
        Method::Journaled,
        Method::JournaledAfter(3),
    ] {
        let case = Case {
            batch: 1,
            has_edits: true,
            has_threads: true,
            method,
            check: Check::Each,
            ..Case::new(&[(10, 30, 6), (20, 8, 6), (45, 46, 5)], 2)
        };
        for stop in 0.. {
            let power = Power::until(stop);
            let disk = Disk::new(case.disk(), power.clone());
            let log = Disk::new(case.journal(), power);
            let ended = run(&case, &disk, &log, true, false);
            for _ in 0..4 {
                let (one, other) = (lose(&disk, &mut random), lose(&log, &mut random));
                recovered(&case, &one, &other, &mut random);
            }
            stops += 1;
            if ended.is_ok() {
                break;
            }
        }
    }
    assert!(stops > 100, "{stops}");
}
