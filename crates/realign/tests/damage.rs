//! Journals that were lost, cut, edited or are another's, and disks that lie.

use proptest::prelude::*;
use straddle_geometry::Bytes;
use straddle_realign::{Check, JournalError, Method, Move, MoveError};

use crate::case::{Case, back, forward};
use crate::disk::{Disk, Power, SECTOR};

/// Ten sectors from sector 3 to sector 5, in blocks of two, recorded two at a time, with edits.
pub(crate) fn case() -> Case {
    Case {
        batch: 2,
        has_edits: true,
        ..Case::new(&[(3, 5, 10)], 2)
    }
}

/// The same through the data journal.
pub(crate) fn journaled() -> Case {
    Case {
        method: Method::Journaled,
        ..case()
    }
}

pub(crate) fn steady(bytes: &[u8]) -> Disk {
    Disk::new(bytes.to_vec(), Power::steady())
}

/// A move that was stopped after so many writes and flushes, or came to its end before: target and journal.
pub(crate) fn stopped_or_done(case: &Case, after: u64) -> (Vec<u8>, Vec<u8>) {
    let power = Power::until(after);
    let disk = Disk::new(case.disk(), power.clone());
    let log = Disk::new(case.journal(), power);
    let _ = case
        .create(&disk, &log)
        .and_then(|mut it| forward(&mut it, case.check));
    (disk.seen(), log.seen())
}

/// One that was stopped while it copied.
fn stopped(case: &Case) -> (Vec<u8>, Vec<u8>) {
    let mut middle = (0..).map(|after| stopped_or_done(case, after));
    let found = middle.find(|(disk, log)| {
        open(disk, log).is_ok_and(|it| it.progress().0 >= Bytes::new(4 * SECTOR as u64))
    });
    let (disk, log) = found.expect("there is one");
    assert!(open(&disk, &log).is_ok_and(|it| !it.is_moved()));
    (disk, log)
}

fn open(disk: &[u8], log: &[u8]) -> Result<Move<Disk, Disk>, MoveError> {
    case().open(&steady(disk), &steady(log))
}

#[test]
fn a_journal_that_was_lost_or_cut_is_refused() {
    let (disk, log) = stopped(&case());
    for len in [0, 1, 4096, 8191, 8192, log.len() - 4096, log.len() - 1] {
        let refused = open(&disk, &log[..len]).map(|_| ());
        match len {
            0..4096 => assert!(
                matches!(refused, Err(MoveError::Journal(JournalError::NoHeader))),
                "{len}: {refused:?}"
            ),
            _ => assert!(
                matches!(refused, Err(MoveError::Journal(JournalError::Length { found, .. })) if found == len as u64),
                "{len}: {refused:?}"
            ),
        }
    }
    let longer = [&log[..], &[0; 4096]].concat();
    assert!(matches!(
        open(&disk, &longer),
        Err(MoveError::Journal(JournalError::Length { .. }))
    ));
}

#[test]
fn every_byte_of_a_journal_that_is_edited_is_noticed_or_does_no_harm() {
    for case in [case(), journaled()] {
        let (disk, log) = stopped(&case);
        let (mut refused, mut taken) = (0, 0);
        for page in 0..log.len() / 4096 {
            for at in [0, 8, 16, 24, 40, 100, 4095] {
                for both in [false, true] {
                    let mut edited = log.clone();
                    edited[page * 4096 + at] ^= 0x40;
                    let other = (page ^ 1) * 4096 + at;
                    if both && other < log.len() {
                        edited[other] ^= 0x40;
                    }
                    let (one, other) = (steady(&disk), steady(&edited));
                    match case.open(&one, &other) {
                        Err(MoveError::Journal(
                            JournalError::Damaged { .. } | JournalError::NoHeader,
                        )) => refused += 1,
                        Ok(mut it) => {
                            taken += 1;
                            forward(&mut it, Check::AtTheEnd).expect("nothing is lost");
                            assert!(one.seen() == case.done(), "{page} {at}");
                        }
                        Err(other) => panic!("page {page}, byte {at}, both {both}: {other}"),
                    }
                    assert!(one.seen() == disk || one.seen() == case.done());
                }
            }
        }
        assert!(
            refused > 80 && taken > 60,
            "{refused} refused, {taken} taken"
        );
    }
}

proptest! {
    #[test]
    fn however_a_journal_is_edited_nothing_is_lost(
        after in 0_u64..120,
        is_journaled in any::<bool>(),
        edits in proptest::collection::vec((0_usize..40 * 4096, any::<u8>(), 1_usize..5000), 0..8),
        cut in proptest::option::of(0_usize..40 * 4096),
        to_back in any::<bool>(),
    ) {
        let case = if is_journaled { journaled() } else { case() };
        let (disk, mut log) = stopped_or_done(&case, after);
        for (at, byte, len) in edits {
            let (start, end) = (log.len().min(at), log.len().min(at + len));
            log[start..end].fill(byte);
        }
        log.truncate(cut.unwrap_or(log.len()));
        let (one, other) = (steady(&disk), steady(&log));
        let opened = case.open(&one, &other);
        // Looking changes nothing.
        prop_assert!(one.seen() == disk && other.seen() == log);
        let Ok(mut it) = opened else { return Ok(()) };
        let keeps = it.keeps_free_space();
        let ended = match to_back {
            true => back(&mut it, Check::AtTheEnd),
            false => forward(&mut it, Check::AtTheEnd),
        };
        match ended {
            Ok(()) if to_back && !keeps => prop_assert!(one.seen()[..13 * SECTOR] == case.disk()[..13 * SECTOR]),
            Ok(()) if to_back => prop_assert!(one.seen() == case.disk()),
            Ok(()) => prop_assert!(one.seen() == case.done()),
            // Digests of what is moved already are in the journal, too: they are all looked at before anything is written.
            Err(error) => {
                prop_assert!(one.seen() == disk, "{}", error);
                prop_assert!(matches!(error, MoveError::Journal(JournalError::Damaged { .. })), "{}", error);
            }
        }
    }
}

#[test]
fn the_journal_of_another_target_is_refused_and_nothing_is_written() {
    let (disk, log) = stopped(&case());
    let longer = [&disk[..], &[0; SECTOR]].concat();
    assert!(matches!(
        open(&longer, &log),
        Err(MoveError::Journal(JournalError::Target {
            found: 33_280,
            expected: 32_768
        }))
    ));
    // As long, with other bytes.
    let other: Vec<u8> = disk.iter().map(|byte| !byte).collect();
    assert!(matches!(open(&other, &log), Err(MoveError::Changed { .. })));
    // The table is the same, and what is moved is not.
    let mut other = disk.clone();
    other[3 * SECTOR..15 * SECTOR].fill(9);
    assert!(matches!(open(&other, &log), Err(MoveError::Changed { .. })));
    // Nothing was moved yet.
    let plain = Case {
        has_edits: false,
        ..case()
    };
    let empty = steady(&plain.journal());
    plain.create(&steady(&plain.disk()), &empty).expect("room");
    let begun = empty.seen();
    assert!(open(&plain.disk(), &begun).is_ok());
    for n in 3..13 {
        let mut other = plain.disk();
        other[n * SECTOR] ^= 1;
        let found = open(&other, &begun).map(|_| ());
        // Of a block the beginning is sampled, which here is all of it.
        assert!(
            matches!(found, Err(MoveError::Changed { .. })),
            "{n} {found:?}"
        );
    }
}

#[test]
fn pages_of_the_journal_of_another_move_are_no_pages_of_this() {
    let (disk, log) = stopped(&case());
    let other = steady(&case().journal());
    let on = steady(&case().disk());
    let begun = Move::create(on, other.clone(), [1; 16], &case().job(), &case().options());
    begun
        .and_then(|mut it| forward(&mut it, Check::AtTheEnd))
        .expect("moved");
    let other = other.seen();
    let (mut refused, pages) = (0, 12 + 2 * 3);
    for page in (2..pages).step_by(2) {
        let mut mixed = log.clone();
        let place = page * 4096..(page + 2) * 4096;
        if mixed[place.clone()] != other[place.clone()] {
            mixed[place.clone()].copy_from_slice(&other[place]);
            let found = open(&disk, &mixed).map(|_| ());
            assert!(
                matches!(found, Err(MoveError::Journal(JournalError::Damaged { at })) if at == page as u64 * 4096),
                "{page} {found:?}"
            );
            refused += 1;
        }
    }
    assert_eq!(refused, 8);
}

#[test]
fn the_contents_of_a_journal_are_there_twice() {
    let (disk, log) = stopped(&case());
    let label: Vec<usize> = (0..log.len() - 8)
        .filter(|at| log[*at..].starts_with(b"target 7"))
        .collect();
    assert_eq!(label.len(), 2);
    for which in [&label[..1], &label[1..], &label[..]] {
        let mut edited = log.clone();
        which.iter().for_each(|at| edited[*at] = b'T');
        match open(&disk, &edited) {
            Ok(it) => assert!(which.len() == 1 && it.label() == b"target 7"),
            Err(error) => {
                let is_damaged = matches!(error, MoveError::Journal(JournalError::Damaged { .. }));
                assert!(which.len() == 2 && is_damaged, "{which:?} {error}");
            }
        }
    }
}

#[test]
fn a_record_that_is_missing_before_another_is_noticed() {
    let (disk, log) = stopped_or_done(&case(), u64::MAX);
    let begun = steady(&case().journal());
    case()
        .create(&steady(&case().disk()), &begun)
        .expect("room");
    // As it was when it was begun.
    let mut edited = log.clone();
    let place = 12 * 4096..14 * 4096;
    edited[place.clone()].copy_from_slice(&begun.seen()[place]);
    let found = open(&disk, &edited).map(|_| ());
    assert!(
        matches!(
            found,
            Err(MoveError::Journal(JournalError::Damaged { at: 57_344 }))
        ),
        "{found:?}"
    );
}

/// Each bit of what is moved, of the table and of what is edited, at each point where a move can be stopped: noticed before a byte
/// is written, or on the far side of what matters.
#[test]
fn a_target_that_was_changed_meanwhile_is_refused() {
    let (mut refused, mut harmless) = (0, 0);
    for case in [case(), journaled()] {
        for after in 0..200 {
            let (disk, log) = stopped_or_done(&case, after);
            let whole = match case.open(&steady(&disk), &steady(&log)) {
                Ok(whole) if !whole.is_done() => whole,
                _ => continue,
            };
            let is_moved = whole.is_moved();
            for at in [
                446,
                3 * SECTOR + 1,
                6 * SECTOR,
                9 * SECTOR + 5,
                13 * SECTOR,
                61 * SECTOR,
            ] {
                for to_back in [false, true] {
                    let mut changed = disk.clone();
                    changed[at] ^= 0x55;
                    let (one, other) = (steady(&changed), steady(&log));
                    let ended = case.open(&one, &other).and_then(|mut it| match to_back {
                        true => back(&mut it, case.check),
                        false => forward(&mut it, case.check),
                    });
                    match ended {
                        Err(MoveError::Changed { .. } | MoveError::Lost { .. }) => {
                            refused += 1;
                            assert!(one.seen() == changed, "{after} {at} {is_moved}");
                        }
                        // It was copied already, or is written over by the block that comes there.
                        Ok(()) => {
                            harmless += 1;
                            assert!(at != 446 && at != 61 * SECTOR, "what is edited is known");
                            let wanted = if to_back { case.disk() } else { case.done() };
                            // What is left at the old place is nobody's any more.
                            let left = if to_back {
                                0..0
                            } else {
                                3 * SECTOR..5 * SECTOR
                            };
                            let found = one.seen();
                            let differ = (0..wanted.len())
                                .find(|at| !left.contains(at) && found[*at] != wanted[*at]);
                            assert_eq!(differ, None, "{after} {at} {to_back}");
                        }
                        Err(error) => panic!("{after} {at} {to_back}: {error}"),
                    }
                }
            }
        }
    }
    assert!(refused > 400 && harmless > 60, "{refused} {harmless}");
}

#[test]
fn a_journal_that_was_stopped_between_two_copies_has_both_when_it_is_gone_on_with() {
    let mut halves = 0;
    for after in 0..200 {
        let case = case();
        let (disk, log) = stopped_or_done(&case, after);
        let pages = (12 + 2 * 3) * 4096;
        let differ = |log: &[u8]| {
            let mut pairs = log[..pages].chunks(2 * 4096);
            pairs.any(|pair| pair[..4096] != pair[4096..])
        };
        let (one, other) = (steady(&disk), steady(&log));
        let Ok(mut it) = case.open(&one, &other) else {
            continue;
        };
        halves += u32::from(differ(&log));
        forward(&mut it, case.check).expect("nothing is lost");
        assert!(!differ(&other.seen()), "{after}");
    }
    assert!(halves >= 5, "{halves}");
}

#[test]
fn a_move_over_one_that_was_stopped_is_refused() {
    let (disk, log) = stopped(&case());
    let (target, journal) = (steady(&disk), steady(&log));
    assert!(matches!(
        case().create(&target, &journal),
        Err(MoveError::Journal(JournalError::Taken))
    ));
    assert!(target.seen() == disk && journal.seen() == log);
}

#[test]
fn what_is_not_as_planned_is_refused_before_anything_is_written() {
    let case = case();
    for edit in case.job().edits() {
        let at = edit.at.get() + edit.before.len() as u64 - 1;
        let (origin, _) = case.job().origin(Bytes::new(at));
        let mut other = case.disk();
        other[usize::try_from(origin.get()).expect("small")] ^= 1;
        let (disk, log) = (steady(&other), steady(&case.journal()));
        let refused = case.create(&disk, &log).map(|_| ());
        assert!(
            matches!(&refused, Err(MoveError::Changed { place, .. }) if place.start() == edit.at),
            "{refused:?}"
        );
        assert!(disk.seen() == other && log.seen() == case.journal());
    }
}

#[test]
fn a_write_or_a_flush_that_fails_once_loses_nothing_when_it_goes_on() {
    for case in [case(), journaled()] {
        let mut failed = 0;
        for number in 0..14 {
            for (to_back, is_flush, is_log) in [
                (false, true, false),
                (true, true, false),
                (false, false, false),
                (true, false, false),
                (false, true, true),
                (true, true, true),
                (false, false, true),
            ] {
                let (disk, log) = (steady(&case.disk()), steady(&case.journal()));
                let mut it = case.create(&disk, &log).expect("room");
                let one = if is_log { &log } else { &disk };
                match is_flush {
                    true => one.forget_at_flush(number),
                    false => one.fail_at_write(number),
                }
                let Err(error) = forward(&mut it, case.check) else {
                    continue;
                };
                assert!(
                    matches!(
                        error,
                        MoveError::Flush(_)
                            | MoveError::Target {
                                what: "writing",
                                ..
                            }
                            | MoveError::Journal(JournalError::Io(_))
                    ),
                    "{error}"
                );
                failed += 1;
                let (wanted, ended) = match to_back {
                    true => (case.disk(), back(&mut it, case.check)),
                    false => (case.done(), forward(&mut it, case.check)),
                };
                ended.unwrap_or_else(|error| {
                    panic!("{number} {to_back} {is_flush} {is_log}: {error}")
                });
                assert!(
                    disk.seen() == wanted,
                    "{number} {to_back} {is_flush} {is_log}"
                );
            }
        }
        assert!(failed >= 50, "{failed}");
    }
}

#[test]
fn what_has_no_room_is_refused() {
    let case = case();
    let short = steady(&case.disk()[..14 * SECTOR]);
    assert!(matches!(
        case.create(&short, &steady(&case.journal())),
        Err(MoveError::Outside {
            size: 7168,
            needed: 31_520
        })
    ));
    let log = steady(&[0; 4096]);
    assert!(matches!(
        case.create(&steady(&case.disk()), &log),
        Err(MoveError::Journal(JournalError::Length { found: 4096, .. }))
    ));
}

#[test]
fn a_write_that_the_disk_forgot_never_ends_well() {
    for (method, check) in [
        (Method::Ordered, Check::AtTheEnd),
        (Method::Ordered, Check::Each),
        (Method::Journaled, Check::Each),
    ] {
        let case = Case {
            method,
            check,
            ..case()
        };
        let mut dropped = 0;
        for sector in (0..64).rev() {
            let disk = steady(&case.disk());
            disk.drop_writes_to(sector * SECTOR..(sector + 1) * SECTOR);
            let log = steady(&case.journal());
            let mut it = case.create(&disk, &log).expect("room");
            match forward(&mut it, case.check) {
                Err(MoveError::Dropped { place }) => {
                    dropped += 1;
                    assert_eq!(place.start().get() / SECTOR as u64, sector as u64);
                }
                // Nothing was written there, or what was there already.
                Ok(()) => assert!(disk.seen() == case.done()),
                Err(error) => panic!("{sector}: {error}"),
            }
            // Each block was looked at before its source was written over, so that everything can be taken back.
            if case.check == Check::Each && !it.is_done() {
                disk.drop_writes_to(0..0);
                back(&mut it, case.check).expect("nothing is lost");
                assert!(disk.seen() == case.disk(), "{sector}");
            }
        }
        // Writes that begin there: five blocks, the table, a field in the part, and one edit of two sectors.
        assert_eq!(dropped, 7, "{method:?} {check:?}");
    }
}
