//! Verification: sound storage gives no alarm, whatever happens at once; storage that is not is caught, and the block named.
#![cfg(unix)]

use crate::run_common::{Place, engines, faults, options, region, run_at, run_for, workload};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use straddle_bench::run::{Options, RunError, Storage, Watch};
use straddle_bench::target::Target;
use straddle_geometry::{Bytes, Extent, Unit};
use straddle_io::engine::Kind;
use straddle_io::engine::faulty::{What, When};
use straddle_workload::{Pattern, Workload};

const MIB: u64 = 1 << 20;

fn verifying(target: Target, base: u64, len: u64, engine: Kind) -> Storage {
    let options = Options {
        verify: true,
        ..options(engine)
    };
    Storage::new(target, region(base, len), options)
}

fn sequential(reads: u8) -> Workload {
    Workload {
        pattern: Pattern::Sequential,
        ..workload(4096, 1, 4, reads)
    }
}

/// Twice all of a region of 1 MiB, however long a busy machine takes.
fn twice(storage: &mut Storage, workload: &Workload) {
    run_for(storage, workload, 0, 2 * MIB / 4096).expect("a run");
}

/// The failure of a run: byte, found, expected.
fn caught(storage: &mut Storage, workload: &Workload) -> (u64, String, String) {
    match run_at(storage, workload, 0, 600_000, &Watch::default()) {
        Err(RunError::Verification {
            at,
            found,
            expected,
            ..
        }) => (at.get(), found, expected),
        other => panic!("{other:?}"),
    }
}

#[test]
fn sound_storage_gives_no_alarm_though_all_write_to_the_same_places() {
    for kind in engines() {
        let place = Place::new();
        let target = place.target(Bytes::new(MIB));
        // 24 sectors of places for up to 24 requests at once: nearly every draw meets one that is under way.
        let mut storage = verifying(target, 0, 32 << 10, kind);
        let workload = Workload {
            sizes: [512, 1536, 4096]
                .iter()
                .map(|size| (Unit::new(*size).expect("not zero"), 1))
                .collect(),
            ..workload(512, 3, 8, 50)
        };
        for offset in [0, 63 * 512, 512, 0] {
            run_for(&mut storage, &workload, offset, 20_000).expect("nothing is wrong");
        }
        let seen = storage.verified().expect("it verifies");
        assert!(seen.written > 1000 && seen.right > 1000, "{kind}: {seen:?}");
        // The file was full of random bytes.
        assert!(seen.strange > 0 && seen.earlier == 0, "{kind}: {seen:?}");
    }
}

#[test]
fn a_later_session_knows_the_blocks_of_an_earlier_one() {
    let place = Place::new();
    let target = place.target(Bytes::new(MIB));
    let mut storage = verifying(target, 0, MIB, Kind::Pread);
    twice(&mut storage, &sequential(0));
    let mut storage = verifying(storage.into_target(), 0, MIB, Kind::Pread);
    twice(&mut storage, &sequential(100));
    let seen = storage.verified().expect("it verifies");
    assert!(
        seen.earlier >= MIB / 512 && seen.right == 0 && seen.strange == 0,
        "{seen:?}"
    );
}

#[test]
fn a_bit_that_flips_on_the_way_is_caught() {
    for kind in engines() {
        let place = Place::new();
        let target = place.target(Bytes::new(MIB));
        let at = Extent::new(Bytes::new(100 * 4096), Bytes::new(1)).expect("inside");
        let flip = faults(
            When::Reading(at),
            What::Flip {
                byte: 1000,
                mask: 4,
            },
        );
        let mut storage = verifying(target, 0, MIB, kind).with_faults(flip);
        twice(&mut storage, &sequential(0));
        let (at, found, expected) = caught(&mut storage, &sequential(100));
        assert_eq!(
            at,
            100 * 4096 + 512,
            "{kind}: byte 1000 of the block is in its second sector"
        );
        assert!(found.contains("bits have changed"), "{found}");
        assert!(expected.contains("byte 410,112"), "{expected}");
    }
}

#[test]
fn a_write_that_was_acknowledged_and_lost_is_caught() {
    for kind in engines() {
        let place = Place::new();
        let target = place.target(Bytes::new(MIB));
        let mut storage = verifying(target, 0, MIB, kind);
        twice(&mut storage, &sequential(0));
        let at = Extent::new(Bytes::new(33 * 4096), Bytes::new(1)).expect("inside");
        let mut storage = storage.with_faults(faults(When::Writing(at), What::Lost));
        twice(&mut storage, &sequential(0));
        let (at, found, expected) = caught(&mut storage, &sequential(100));
        assert_eq!(at, 33 * 4096, "{kind}");
        assert!(found.contains("an acknowledged write is lost"), "{found}");
        assert!(
            expected.contains("acknowledged in this session"),
            "{expected}"
        );
    }
}

#[test]
fn a_read_from_the_wrong_place_is_caught() {
    for kind in engines() {
        let place = Place::new();
        let target = place.target(Bytes::new(MIB));
        let at = Extent::new(Bytes::new(50 * 4096), Bytes::new(1)).expect("inside");
        let to = Bytes::new(51 * 4096);
        let wrong = faults(When::Reading(at), What::Misdirected { to });
        let mut storage = verifying(target, 0, MIB, kind).with_faults(wrong);
        twice(&mut storage, &sequential(0));
        let (at, found, _) = caught(&mut storage, &sequential(100));
        assert_eq!(at, 50 * 4096, "{kind}");
        assert!(
            found.starts_with("what was written to byte 208,896"),
            "{found}"
        );
    }
}

/// Writes all of a file, lets `spoil` change it, and says what reading it finds.
fn spoilt_between_runs(spoil: impl Fn(&File, &dyn Fn())) -> (u64, String, String) {
    let place = Place::new();
    let target = place.target(Bytes::new(MIB));
    let storage = std::cell::RefCell::new(verifying(target, 0, MIB, Kind::Pread));
    let write = || twice(&mut storage.borrow_mut(), &sequential(0));
    write();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(place.path())
        .expect("the file");
    spoil(&file, &write);
    caught(&mut storage.borrow_mut(), &sequential(100))
}

#[test]
fn a_flipped_bit_of_the_file_is_caught() {
    for at in [4096 * 7 + 12, 4096 * 7 + 33, 4096 * 7 + 511] {
        let (byte, found, expected) = spoilt_between_runs(|file, _| {
            let mut one = [0];
            file.read_exact_at(&mut one, at).expect("inside");
            file.write_all_at(&[one[0] ^ 0x80], at).expect("inside");
        });
        assert_eq!(byte, 4096 * 7);
        assert!(found.contains("bits have changed"), "{found}");
        assert!(expected.contains("byte 28,672"), "{expected}");
    }
}

#[test]
fn a_block_with_the_data_of_another_address_is_caught() {
    let (byte, found, _) = spoilt_between_runs(|file, _| {
        let mut block = [0; 4096];
        file.read_exact_at(&mut block, 4096 * 9).expect("inside");
        file.write_all_at(&block, 4096 * 200).expect("inside");
    });
    assert_eq!(byte, 4096 * 200);
    assert!(
        found.starts_with("what was written to byte 36,864"),
        "{found}"
    );
}

#[test]
fn a_stale_block_is_caught() {
    let (byte, found, expected) = spoilt_between_runs(|file, write| {
        let mut block = [0; 512];
        file.read_exact_at(&mut block, 4096 * 11 + 512)
            .expect("inside");
        write();
        file.write_all_at(&block, 4096 * 11 + 512).expect("inside");
    });
    assert_eq!(byte, 4096 * 11 + 512);
    let generation = |said: &str| -> u32 {
        let number = said
            .strip_prefix("generation ")
            .and_then(|rest| rest.split(' ').next());
        number
            .and_then(|number| number.parse().ok())
            .expect("a generation")
    };
    assert!(
        generation(&found) < generation(&expected),
        "{found}; {expected}"
    );
}

#[test]
fn a_block_that_is_gone_is_caught() {
    let (byte, found, _) = spoilt_between_runs(|file, _| {
        file.write_all_at(&[0; 512], 4096 * 3).expect("inside");
    });
    assert_eq!(byte, 4096 * 3);
    assert!(
        found.starts_with("no stamp; it begins with 00 00"),
        "{found}"
    );
}
