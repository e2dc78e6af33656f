//! Every state in which a loss of power can leave a file whose tables are changed: the guest's bytes are those of before, and what was
//! stopped can be done again. For every commit one state of three is looked at, all in a soak.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use straddle_geometry::Bytes;

use super::in_place::{MIB, all, extent, guest, open, part};
use super::tools::{KINDS, Kind, made, must_read};
use super::world::{Contents, World, states};

/// How many random choices at each flush; all of up to 8 writes in the long form.
fn random() -> usize {
    if straddle_testkit::is_soak() { 64 } else { 3 }
}

/// One of so many states is looked at.
fn step() -> usize {
    if straddle_testkit::is_soak() { 1 } else { 3 }
}

/// One of so many states is shown to qemu-img.
fn shown() -> usize {
    if straddle_testkit::is_soak() { 23 } else { 42 }
}

/// A change of the tables, its states, and after each the same change again.
fn every_state(kind: Kind, files: &Contents, wanted: &[u8], change: &dyn Fn(&World)) -> usize {
    let world = World::new(files.clone());
    change(&world);
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut count = 0;
    states(files, &world.log(), random(), &mut dice, |state, _| {
        if count % step() != 0 {
            count += 1;
            return;
        }
        let after = World::new(state.clone());
        let is_shown = count % shown() == 0;
        let disk = open(&after);
        // Of a disk that is longer only so much is read, but for those that are shown.
        let read = if is_shown {
            all(&*disk)
        } else {
            part(&*disk, wanted.len() + MIB)
        };
        assert!(
            read.len() >= wanted.len() && read[..wanted.len()] == *wanted,
            "{kind:?}: state {count}"
        );
        // A fixed VHD that was stopped has its old footer behind its former end.
        let rest = &read[wanted.len()..];
        let left = rest.iter().filter(|byte| **byte != 0).count();
        let is_footer =
            kind.options.contains("fixed") && rest.starts_with(b"conectix") && left <= 512;
        assert!(left == 0 || is_footer, "{kind:?}: state {count}");
        if is_shown {
            must_read(kind, state, &read, false);
        }
        // Whatever was stopped, it is done again.
        let mut disk = open(&after);
        disk.prepare(&[extent(MIB, 4 * MIB)])
            .unwrap_or_else(|error| panic!("{kind:?}: state {count}: {error}"));
        disk.write_at(Bytes::mib(1), &vec![0xa5; 4 * MIB])
            .expect("has its place");
        let disk = open(&after);
        let read = if is_shown {
            all(&*disk)
        } else {
            part(&*disk, wanted.len())
        };
        assert!(
            read[MIB..5 * MIB].iter().all(|byte| *byte == 0xa5),
            "{kind:?}: state {count}"
        );
        assert!(
            read[..MIB] == wanted[..MIB] && read[5 * MIB..wanted.len()] == wanted[5 * MIB..],
            "{kind:?}: state {count}"
        );
        if is_shown {
            must_read(kind, &after.contents(), &read, false);
        }
        count += 1;
    })
}

#[test]
fn no_cluster_is_used_and_not_counted_wherever_power_fails() {
    // With clusters of 512 bytes everything has to be made longer: blocks of counts, their table, the L1 table.
    let kind = KINDS
        .iter()
        .find(|kind| kind.options.ends_with("cluster_size=512"));
    let kind = kind.expect("a known one");
    // The longest of three for every commit: it makes all of them longer.
    let first = if straddle_testkit::is_soak() { 0 } else { 2 };
    for seed in first..3 {
        let wanted = guest(6 * MIB, 0b10_0001, seed);
        let files = made(*kind, &wanted);
        every_state(*kind, &files, &wanted, &|world| {
            let mut disk = open(world);
            let len = (seed as usize + 1) * 700_000;
            disk.prepare(&[extent(MIB, len)]).expect("has room");
            disk.grow(Bytes::mib(40)).expect("has room");
        });
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the report of the long form")]
fn the_guest_sees_the_same_bytes_wherever_power_fails() {
    let mut sum = 0;
    for kind in KINDS {
        let wanted = guest(7 * MIB, 0b100_1001, 10);
        let files = made(*kind, &wanted);
        let prepared = every_state(*kind, &files, &wanted, &|world| {
            open(world)
                .prepare(&[extent(MIB, 4 * MIB)])
                .expect("has room");
        });
        let grown = every_state(*kind, &files, &wanted, &|world| {
            open(world).grow(Bytes::new(kind.much())).expect("has room");
        });
        println!("{kind:?}: {prepared} states of preparing, {grown} of growing");
        sum += prepared + grown;
    }
    assert!(sum > 800, "{sum} states");
}
