//! Journals that were lost, cut, edited or are another's, and disks that lie.

use proptest::prelude::*;
use straddle_geometry::Bytes;
use straddle_realign::{Check, JournalError, Move, MoveError, Shift, journal};

use crate::disk::{Disk, Power, SECTOR};

const TOKEN: journal::Token = [7; 16];
/// Blocks that are recorded together.
const BATCH: u64 = 2;

/// Ten sectors from sector 3 to sector 5, in blocks of two.
fn shift() -> Shift {
    let bytes = |sectors: usize| Bytes::new((sectors * SECTOR) as u64);
    Shift::new(bytes(3), bytes(5), bytes(10), bytes(2)).expect("a move")
}

fn contents() -> Vec<u8> {
    (0..32_u8).flat_map(|n| [n; SECTOR]).collect()
}

fn empty() -> Vec<u8> {
    let len = journal::len(&shift(), BATCH).expect("small");
    vec![0; usize::try_from(len.get()).expect("small")]
}

/// A move that was stopped after so many writes and flushes, or came to its end before: target and journal.
fn stopped_or_done(after: u64) -> (Vec<u8>, Vec<u8>) {
    let power = Power::until(after);
    let disk = Disk::new(contents(), power.clone());
    let log = Disk::new(empty(), power);
    let begun = Move::create(disk.clone(), log.clone(), TOKEN, shift(), BATCH);
    let _ = begun.and_then(|mut it| it.forward(Check::AtTheEnd, |_| ()));
    (disk.seen(), log.seen())
}

/// One that was stopped.
fn stopped(after: u64) -> (Vec<u8>, Vec<u8>) {
    let (disk, log) = stopped_or_done(after);
    assert!(
        open(&disk, &log).is_ok_and(|it| !it.is_moved()),
        "it is stopped"
    );
    (disk, log)
}

fn open(disk: &[u8], log: &[u8]) -> Result<Move<Disk, Disk>, MoveError> {
    let disk = Disk::new(disk.to_vec(), Power::steady());
    let log = Disk::new(log.to_vec(), Power::steady());
    Move::open(disk, log)
}

/// In the middle of the blocks.
const MIDDLE: u64 = 34;

#[test]
fn a_journal_that_was_lost_or_cut_is_refused() {
    let (disk, log) = stopped(MIDDLE);
    assert!(open(&disk, &log).is_ok_and(|it| it.progress().0 > 0));
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
    let (disk, log) = stopped(MIDDLE);
    let (mut refused, mut taken) = (0, 0);
    for page in 0..log.len() / 4096 {
        for at in [0, 8, 16, 24, 40, 100, 4095] {
            for both in [false, true] {
                let mut edited = log.clone();
                edited[page * 4096 + at] ^= 0x40;
                if both {
                    edited[(page ^ 1) * 4096 + at] ^= 0x40;
                }
                match open(&disk, &edited) {
                    Err(MoveError::Journal(
                        JournalError::Damaged { .. } | JournalError::NoHeader,
                    )) => refused += 1,
                    Ok(mut it) => {
                        taken += 1;
                        it.forward(Check::AtTheEnd, |_| ())
                            .expect("nothing is lost");
                        let (after, _) = it.into_stores();
                        let moved = &after.seen()[5 * SECTOR..15 * SECTOR];
                        assert!(moved == &contents()[3 * SECTOR..13 * SECTOR], "{page} {at}");
                    }
                    Err(other) => panic!("page {page}, byte {at}, both {both}: {other}"),
                }
            }
        }
    }
    assert!(
        refused > 80 && taken > 40,
        "{refused} refused, {taken} taken"
    );
}

proptest! {
    #[test]
    fn however_a_journal_is_edited_nothing_is_lost(
        after in 0_u64..60,
        edits in proptest::collection::vec((0_usize..14 * 4096, any::<u8>(), 1_usize..5000), 0..8),
        cut in proptest::option::of(0_usize..14 * 4096),
    ) {
        let (disk, mut log) = stopped_or_done(after);
        for (at, byte, len) in edits {
            let end = log.len().min(at + len);
            log[at..end].fill(byte);
        }
        log.truncate(cut.unwrap_or(log.len()));
        let target = Disk::new(disk.clone(), Power::steady());
        let journal = Disk::new(log, Power::steady());
        let opened = Move::open(target.clone(), journal);
        // Looking changes nothing.
        prop_assert!(target.seen() == disk);
        let Ok(mut it) = opened else { return Ok(()) };
        it.forward(Check::AtTheEnd, |_| ()).expect("what is taken up comes to its end");
        let moved = &target.seen()[5 * SECTOR..15 * SECTOR];
        prop_assert!(moved == &contents()[3 * SECTOR..13 * SECTOR]);
    }
}

#[test]
fn the_journal_of_another_target_is_refused_and_nothing_is_written() {
    let (disk, log) = stopped(MIDDLE);
    let longer = [&disk[..], &[0; SECTOR]].concat();
    assert!(matches!(
        open(&longer, &log),
        Err(MoveError::Journal(JournalError::Target {
            found: 16_896,
            expected: 16_384
        }))
    ));
    // As long, with other bytes.
    let other: Vec<u8> = disk.iter().map(|byte| !byte).collect();
    assert!(matches!(open(&other, &log), Err(MoveError::Lost { .. })));
}

#[test]
fn a_target_that_was_changed_meanwhile_is_refused() {
    let (disk, log) = stopped(MIDDLE);
    let (copied, _) = open(&disk, &log).expect("whole").progress();
    let block = shift().block(copied).expect("one is left");
    let mut changed = disk.clone();
    changed[usize::try_from(block.from.start().get()).expect("small")] ^= 1;
    let refused = open(&changed, &log).map(|_| ());
    assert!(
        matches!(refused, Err(MoveError::Lost { from, .. }) if from == block.from),
        "{refused:?}"
    );
}

#[test]
fn a_move_over_one_that_was_stopped_is_refused() {
    let (disk, log) = stopped(MIDDLE);
    let target = Disk::new(disk.clone(), Power::steady());
    let journal = Disk::new(log.clone(), Power::steady());
    assert!(matches!(
        Move::create(target.clone(), journal.clone(), TOKEN, shift(), BATCH),
        Err(MoveError::Journal(JournalError::Taken))
    ));
    assert!(target.seen() == disk && journal.seen() == log);
}

#[test]
fn a_flush_that_fails_and_forgets_loses_nothing_when_it_goes_on() {
    let mut failed = 0;
    for number in 0..8 {
        for back in [false, true] {
            let disk = Disk::new(contents(), Power::steady());
            let log = Disk::new(empty(), Power::steady());
            let begun = Move::create(disk.clone(), log, TOKEN, shift(), BATCH);
            let mut it = begun.expect("room");
            disk.forget_at_flush(number);
            let Err(error) = it.forward(Check::AtTheEnd, |_| ()) else {
                continue;
            };
            assert!(matches!(error, MoveError::Flush(_)), "{error}");
            failed += 1;
            let (place, ended) = match back {
                true => (3, it.back(Check::AtTheEnd, |_| ())),
                false => (5, it.forward(Check::AtTheEnd, |_| ())),
            };
            ended.expect("nothing was lost");
            let moved = &disk.seen()[place * SECTOR..(place + 10) * SECTOR];
            assert!(
                moved == &contents()[3 * SECTOR..13 * SECTOR],
                "{number} {back}"
            );
        }
    }
    assert!(failed >= 10, "{failed}");
}

#[test]
fn what_has_no_room_is_refused() {
    let shift = shift();
    let short = Disk::new(vec![0; 14 * SECTOR], Power::steady());
    let log = Disk::new(empty(), Power::steady());
    assert!(matches!(
        Move::create(short, log, TOKEN, shift, BATCH),
        Err(MoveError::Outside {
            size: 7168,
            needed: 7680
        })
    ));
    let disk = Disk::new(contents(), Power::steady());
    let log = Disk::new(vec![0; 4096], Power::steady());
    assert!(matches!(
        Move::create(disk, log, TOKEN, shift, BATCH),
        Err(MoveError::Journal(JournalError::Length { found: 4096, .. }))
    ));
}

#[test]
fn a_write_that_the_disk_forgot_never_ends_well() {
    for check in [Check::AtTheEnd, Check::Each] {
        for sector in 5..15 {
            let disk = Disk::new(contents(), Power::steady());
            disk.drop_writes_to(sector * SECTOR..(sector + 1) * SECTOR);
            let log = Disk::new(empty(), Power::steady());
            let mut it =
                Move::create(disk.clone(), log.clone(), TOKEN, shift(), BATCH).expect("room");
            let ended = it.forward(check, |_| ());
            // Blocks are written whole: only their first sector is an address.
            if sector % 2 == 1 {
                assert!(matches!(ended, Err(MoveError::Dropped { .. })), "{ended:?}");
            } else {
                ended.expect("nothing was dropped");
                continue;
            }
            // Each block was looked at before its source was written over, so that everything can be taken back.
            if check == Check::Each {
                let mut it = open(&disk.seen(), &log.seen()).expect("nothing is lost");
                it.back(check, |_| ()).expect("nothing is lost");
                let (after, _) = it.into_stores();
                let restored = &after.seen()[3 * SECTOR..13 * SECTOR];
                assert!(restored == &contents()[3 * SECTOR..13 * SECTOR], "{sector}");
            }
        }
    }
}

#[test]
fn what_is_moved_stays_moved_and_can_be_taken_back() {
    let disk = Disk::new(contents(), Power::steady());
    let log = Disk::new(empty(), Power::steady());
    let mut it = Move::create(disk, log, TOKEN, shift(), BATCH).expect("room");
    let mut steps = Vec::new();
    it.forward(Check::AtTheEnd, |copied| steps.push(copied))
        .expect("moved");
    assert_eq!(steps, [1, 2, 3, 4, 5]);
    assert!(it.is_moved() && !it.is_restored());
    let (disk, log) = it.into_stores();
    let mut it = open(&disk.seen(), &log.seen()).expect("whole");
    assert!(it.is_moved());
    assert_eq!(it.progress(), (5, 5));
    it.forward(Check::AtTheEnd, |_| panic!("there is nothing to do"))
        .expect("moved");
    it.back(Check::Each, |_| ()).expect("taken back");
    assert!(it.is_restored() && !it.is_moved());
    assert!(matches!(
        it.forward(Check::AtTheEnd, |_| ()),
        Err(MoveError::Back)
    ));
    let (disk, _) = it.into_stores();
    assert!(disk.seen()[3 * SECTOR..13 * SECTOR] == contents()[3 * SECTOR..13 * SECTOR]);
}
