//! Power fails at every write and every flush, and takes what was not flushed, in every way: nothing is lost, forward and back.

use std::collections::BTreeSet;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use straddle_geometry::Bytes;
use straddle_realign::{Check, JournalError, Move, MoveError, Shift, journal};

use crate::disk::{Disk, Power, SECTOR, Write};

const TOKEN: journal::Token = *b"0123456789abcdef";

/// A move on a small disk, in sectors.
#[derive(Clone, Copy, Debug)]
struct Case {
    from: u64,
    to: u64,
    len: u64,
    block: u64,
    /// Blocks that are recorded together.
    batch: u64,
    /// So many different sectors; few make blocks that are alike.
    contents: u64,
}

const DISK: u64 = 64;

impl Case {
    fn shift(&self) -> Shift {
        let bytes = |sectors: u64| Bytes::new(sectors * SECTOR as u64);
        let [from, to, len, block] = [self.from, self.to, self.len, self.block].map(bytes);
        Shift::new(from, to, len, block).expect("a move")
    }

    fn disk(&self) -> Vec<u8> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.from ^ self.contents << 8);
        let sectors = (0..DISK).map(|n| match n {
            n if n < self.from || n >= self.from + self.len => 0xF0,
            _ => u8::try_from(random.next_u64() % self.contents).expect("few"),
        });
        sectors.flat_map(|byte| [byte; SECTOR]).collect()
    }

    fn journal(&self) -> Vec<u8> {
        let len = journal::len(&self.shift(), self.batch).expect("small");
        vec![0; usize::try_from(len.get()).expect("small")]
    }

    fn range(&self, start: u64) -> std::ops::Range<usize> {
        let sectors = |n: u64| usize::try_from(n).expect("small") * SECTOR;
        sectors(start)..sectors(start + self.len)
    }

    /// The bytes that are moved.
    fn moved(&self) -> Vec<u8> {
        self.disk()[self.range(self.from)].to_vec()
    }

    /// Outside of both places nothing changes, ever.
    fn outside(&self, disk: &[u8]) -> Vec<u8> {
        let both = [self.range(self.from), self.range(self.to)];
        let bytes = disk.iter().enumerate();
        let outside = bytes.filter(|(at, _)| !both.iter().any(|range| range.contains(at)));
        outside.map(|(_, byte)| *byte).collect()
    }
}

/// What is left of writes that were not flushed: all ways of up to eight; of more none, all, each alone lost, each alone kept,
/// and sixty-four at random in which sectors of one write part.
fn ways(loose: &[Write], random: &mut Xoshiro256PlusPlus) -> Vec<Vec<Write>> {
    let chosen = |keep: &dyn Fn(usize) -> bool| -> Vec<Write> {
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
        let torn: Vec<Write> = loose.iter().flat_map(Write::torn).collect();
        for _ in 0..64 {
            let kept = torn.iter().filter(|_| random.next_u64() & 1 == 1);
            ways.push(kept.cloned().collect());
        }
    }
    ways
}

/// What a run came to, or where it was stopped.
fn run(
    disk: &Disk,
    log: &Disk,
    begin: bool,
    back: bool,
    check: Check,
    case: &Case,
) -> Result<(), MoveError> {
    let mut it = match begin {
        true => Move::create(disk.clone(), log.clone(), TOKEN, case.shift(), case.batch)?,
        false => Move::open(disk.clone(), log.clone())?,
    };
    match back || it.is_going_back() {
        true => it.back(check, |_| ()),
        false => it.forward(check, |_| ()),
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
    for back in [false, true] {
        let steady = |bytes: &[u8]| Disk::new(bytes.to_vec(), Power::steady());
        let (mut one, mut other) = (steady(disk), steady(log));
        for stops in (0..random.next_u64() % 3 + 1).rev() {
            let power = match stops {
                0 => Power::steady(),
                _ => Power::until(random.next_u64() % 40),
            };
            (one, other) = (one.taken_up(power.clone()), other.taken_up(power));
            match run(&one, &other, false, back, Check::AtTheEnd, case) {
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
        // What was being rolled back is not taken forward again.
        let last = Move::open(steady(&disk), steady(&log)).expect("whole");
        let place = match back || last.is_going_back() {
            true => case.from,
            false => case.to,
        };
        assert!(
            disk[case.range(place)] == case.moved(),
            "{case:?} back {back}"
        );
        assert!(
            case.outside(&disk) == case.outside(&case.disk()),
            "{case:?}"
        );
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
}

/// Every point at which a run can be stopped. How many states that gave.
fn every_point(case: &Case, check: Check, before: Before) -> u64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(case.len);
    let mut states = BTreeSet::new();
    for stop in 0.. {
        let power = Power::until(stop);
        let first = match before {
            Before::Nothing => power.clone(),
            Before::Killed(after) | Before::Back(after) => Power::until(after),
        };
        let mut disk = Disk::new(case.disk(), first.clone());
        let mut log = Disk::new(case.journal(), first);
        let mut ended = run(&disk, &log, true, false, check, case);
        if !matches!(before, Before::Nothing) {
            let back = matches!(before, Before::Back(_));
            (disk, log) = (disk.taken_up(power.clone()), log.taken_up(power.clone()));
            let is_over = ended.is_ok();
            ended = run(&disk, &log, false, back, check, case);
            if is_over || matches!(ended, Err(MoveError::Journal(JournalError::NoHeader))) {
                break;
            }
        }
        let ((kept, loose), (kept_log, loose_log)) =
            (disk.after_power_loss(), log.after_power_loss());
        for writes in ways(&loose, &mut random) {
            for log_writes in ways(&loose_log, &mut random) {
                let (mut disk, mut log) = (kept.clone(), kept_log.clone());
                writes.iter().for_each(|write| write.apply(&mut disk));
                log_writes.iter().for_each(|write| write.apply(&mut log));
                if states.insert(journal::digest(&[&disk[..], &log[..]].concat())) {
                    recovered(case, &disk, &log, &mut random);
                }
            }
        }
        if ended.is_ok() {
            break;
        }
    }
    states.len() as u64
}

/// Up and down, blocks as long as the distance and shorter, more and less than the distance, with and without sectors that are alike.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (from, to) in [(3_u64, 5_u64), (5, 3), (3, 8), (9, 2), (2, 40), (40, 2)] {
        for (len, block, batch) in [(11, 1, 3), (11, 2, 1), (5, 2, 100), (1, 1, 1), (16, 3, 2)] {
            for contents in [200, 2, 1] {
                if block <= from.abs_diff(to) {
                    cases.push(Case {
                        from,
                        to,
                        len,
                        block,
                        batch,
                        contents,
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
    let is_all = std::env::var_os("STRADDLE_SOAK").is_some();
    let step = if is_all { 1 } else { 13 };
    let afters: &[u64] = match is_all {
        true => &[17, 21, 24, 28, 31, 35, 38, 42, 46],
        false => &[31, 38],
    };
    let mut points = 0;
    for case in all.iter().step_by(step) {
        points += every_point(case, Check::AtTheEnd, Before::Nothing);
        points += every_point(case, Check::Each, Before::Nothing);
        for after in afters {
            points += every_point(case, Check::AtTheEnd, Before::Killed(*after));
            points += every_point(case, Check::AtTheEnd, Before::Back(*after));
        }
    }
    println!("{points} states after a loss of power, {} moves", all.len());
    assert!(
        points > if is_all { 50_000 } else { 3_000 },
        "only {points}"
    );
}
