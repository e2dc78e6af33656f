//! Random disks and damaged ones: what is accepted is what a row of bytes would be.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use straddle_geometry::{Bytes, Extent};
use straddle_realign::Access;

use super::in_place::{MIB, access, all, extent, guest, open, try_part};
use super::tools::{KINDS, made, must_read};
use super::world::World;

/// Some ranges of a disk of `len` bytes, by the sector.
fn some_ranges(len: usize, dice: &mut Xoshiro256PlusPlus) -> Vec<Extent> {
    let sectors = len / 512;
    let below =
        |most: usize, dice: &mut Xoshiro256PlusPlus| (dice.next_u64() % most as u64) as usize;
    (0..1 + below(5, dice))
        .map(|_| {
            let start = below(sectors - 1, dice);
            let most = [8, 300, sectors][below(3, dice)].min(sectors - start);
            extent(start * 512, (1 + below(most, dice)) * 512)
        })
        .collect()
}

#[test]
fn whatever_is_allocated_the_disk_is_what_a_row_of_bytes_would_be() {
    let rounds = if straddle_testkit::is_soak() { 200 } else { 4 };
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(21);
    for kind in KINDS {
        for round in 0..rounds {
            let len = 3 * MIB + (dice.next_u64() % 6000) as usize * 512;
            let mut model = guest(len / MIB * MIB, dice.next_u64(), dice.next_u64());
            model.resize(len, 0);
            let world = World::new(made(*kind, &model));
            for _ in 0..3 {
                let mut disk = open(&world);
                let ranges = some_ranges(model.len(), &mut dice);
                disk.prepare(&ranges).expect("has room");
                assert!(all(&*disk) == model, "{kind:?} {round}");
                for range in ranges {
                    let (start, len) = (range.start().get() as usize, range.len().get() as usize);
                    let byte = (dice.next_u64() % 256) as u8;
                    if byte < 40 {
                        disk.zero(range.start(), range.len())
                            .expect("has its place");
                        model[start..start + len].fill(0);
                    } else {
                        disk.write_at(range.start(), &vec![byte; len])
                            .expect("has its place");
                        model[start..start + len].fill(byte);
                    }
                }
                if dice.next_u64() % 2 == 0 {
                    let by = (1 + dice.next_u64() % 5000) as usize * 512;
                    disk.grow(Bytes::new(by as u64)).expect("has room");
                    model.resize(model.len() + by, 0);
                }
                assert!(all(&*disk) == model, "{kind:?} {round}");
            }
            assert!(all(&*open(&world)) == model, "{kind:?} {round}");
            must_read(*kind, &world.contents(), &model, true);
        }
    }
}

#[test]
fn however_tables_are_damaged_what_is_accepted_keeps_its_bytes() {
    let rounds = if straddle_testkit::is_soak() {
        5000
    } else {
        60
    };
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(22);
    let (mut accepted, mut refused) = (0, 0);
    for kind in KINDS.iter().filter(|kind| kind.name != "raw") {
        let whole = made(*kind, &guest(3 * MIB, 0b101, 23));
        for _ in 0..rounds {
            let mut files = whole.clone();
            for file in files.values_mut() {
                // Where structures are: near the beginning, near the end, and what is no data elsewhere.
                for _ in 0..1 + dice.next_u64() % 3 {
                    let len = file.len() as u64;
                    let at = match dice.next_u64() % 4 {
                        0 => dice.next_u64() % len.min(1024),
                        1 => len - 1 - dice.next_u64() % len.min(600),
                        _ => dice.next_u64() % len.min(4 << 20) / 512 * 512 + dice.next_u64() % 64,
                    };
                    let at = at.min(len - 1) as usize;
                    file[at] = [0, 1, 0x7f, 0xff, (dice.next_u64() % 256) as u8]
                        [(dice.next_u64() % 5) as usize];
                }
                if dice.next_u64() % 8 == 0 {
                    let len = file.len() / 2 + (dice.next_u64() % (file.len() as u64 / 2)) as usize;
                    file.truncate(len);
                }
            }
            let world = World::new(files);
            let Access::InPlace(mut disk) = access(&world) else {
                refused += 1;
                assert!(world.log().is_empty());
                continue;
            };
            if disk.size() > Bytes::mib(64) {
                continue;
            }
            accepted += 1;
            // A block that the end of the file cuts is read by nobody; then nothing may be written.
            let Ok(before) = try_part(&*disk, usize::MAX) else {
                assert!(world.log().is_empty(), "{kind:?}");
                continue;
            };
            let ended = disk.prepare(&[extent(MIB / 2, 2 * MIB)]);
            assert!(all(&*disk) == before, "{kind:?}: {ended:?}");
            if let Access::InPlace(disk) = access(&world) {
                assert!(all(&*disk) == before, "{kind:?}: {ended:?}");
            }
        }
    }
    assert!(
        accepted > 100 && refused > 100,
        "{accepted} accepted, {refused} refused"
    );
}
