//! Levels against slow models of their own, which know members byte by byte.

mod parity;

use super::*;
use crate::profile::Profile;
use proptest::prelude::*;
use std::collections::BTreeMap;
use straddle_geometry::gcd;

const SECTOR: u64 = 512;

/// An array of tiny members, from `key = value` lines.
pub(super) fn layout(keys: &str, member: u64) -> Result<Layout, Refusal> {
    let figures: String = keys
        .split(',')
        .map(|pair| {
            let (key, value) = pair.split_once('=').expect("a pair");
            let value = value.trim();
            let value = match value.parse::<u64>() {
                Ok(number) => number.to_string(),
                Err(_) => format!("{value:?}"),
            };
            format!(
                "{} = {{ value = {value}, assumed = \"a test\" }}\n",
                key.trim()
            )
        })
        .collect();
    let profile = Profile::read("test", &format!("[array]\n{figures}"))?;
    Layout::build(&profile.complete()?, member)
}

fn built(keys: &str, member: u64) -> Layout {
    layout(keys, member).unwrap_or_else(|refusal| panic!("{keys}: {refusal}"))
}

fn split(layout: &Layout, operation: Operation) -> Split {
    let mut out = Split::default();
    layout.split(operation, |_| 0, &mut out);
    let pieces: u32 = out.groups.iter().map(|(first, then)| first + then).sum();
    assert_eq!(pieces as usize, out.pieces.len());
    out
}

/// Where each sector of an array lies, found one sector at a time by writing it.
fn places(layout: &Layout) -> BTreeMap<u64, Vec<(u32, u64)>> {
    (0..layout.capacity() / SECTOR)
        .map(|sector| {
            let out = split(layout, Operation::write(sector * SECTOR, SECTOR));
            let mut at: Vec<(u32, u64)> = out
                .pieces
                .iter()
                .filter(|piece| !piece.operation.is_read())
                .map(|piece| (piece.member, piece.operation.start / SECTOR))
                .collect();
            at.sort_unstable();
            (sector, at)
        })
        .collect()
}

/// Every sector has so many places of its own on different members, and `used` sectors of members are used.
fn covers(keys: &str, member: u64, copies: usize, used: u64) {
    let layout = built(keys, member);
    let mut seen = BTreeMap::new();
    for (sector, at) in places(&layout) {
        assert_eq!(at.len(), copies, "{keys}: sector {sector} at {at:?}");
        for pair in at.windows(2) {
            assert_ne!(
                pair[0].0, pair[1].0,
                "{keys}: two copies of {sector} on one member"
            );
        }
        for place in at {
            assert!(
                place.0 < layout.members() && place.1 < member / SECTOR,
                "{keys}: {place:?}"
            );
            if let Some(other) = seen.insert(place, sector) {
                panic!("{keys}: {sector} and {other} share {place:?}");
            }
        }
    }
    assert_eq!(seen.len() as u64, used, "{keys}");
}

#[test]
fn every_byte_has_places_of_its_own() {
    // Members of 65 sectors; with units of 4, that is 16 rows and a rest.
    let member = 65 * SECTOR;
    covers("level=single, members=1", member, 1, 65);
    covers("level=linear, members=3", member, 1, 3 * 65);
    covers(
        "level=raid0, members=5, stripe_unit=2048",
        member,
        1,
        5 * 64,
    );
    covers(
        "level=raid0, members=5, stripe_unit=1536",
        member,
        1,
        5 * 63,
    );
    covers(
        "level=raid0, members=5, stripe_unit=2048, data_offset=1024",
        member,
        1,
        5 * 60,
    );
    covers("level=raid1, members=2", member, 2, 2 * 65);
    covers("level=raid1, members=3", member, 3, 3 * 65);
    covers(
        "level=raid10, members=6, stripe_unit=2048",
        member,
        2,
        6 * 64,
    );
    // 80 units of 16 rows on 5 members are 40 in two copies; three copies leave two over.
    covers(
        "level=raid10, members=5, stripe_unit=2048",
        member,
        2,
        5 * 64,
    );
    covers(
        "level=raid10, members=5, stripe_unit=2048, copies=3",
        member,
        3,
        78 * 4,
    );
    for members in 2..8 {
        covers(
            &format!("level=raid10, members={members}, stripe_unit=2048, layout=far"),
            member,
            2,
            members * 64,
        );
        covers(
            &format!("level=raid10, members={members}, stripe_unit=2048, layout=offset"),
            member,
            2,
            members * 64,
        );
        covers(
            &format!("level=vraid1, members={members}, stripe_unit=2048"),
            member,
            2,
            members * 64,
        );
    }
    covers(
        "level=raid10, members=5, stripe_unit=2048, layout=far, copies=3",
        member,
        3,
        5 * 60,
    );
    covers(
        "level=raid01, members=6, stripe_unit=2048",
        member,
        2,
        6 * 64,
    );
}

/// md's own tables for small arrays (md(4), RAID10): which units each member holds, row after row.
#[test]
fn copies_lie_where_md_puts_them() {
    let rows = |keys: &str, member: u64| {
        let layout = built(keys, member * SECTOR);
        let mut rows = vec![
            vec![u64::MAX; layout.members() as usize];
            usize::try_from(member).expect("small")
        ];
        for (sector, at) in places(&layout) {
            for (member, row) in at {
                rows[usize::try_from(row).expect("small")][member as usize] = sector;
            }
        }
        rows
    };
    assert_eq!(
        rows("level=raid10, members=3, stripe_unit=512", 4),
        [[0, 0, 1], [1, 2, 2], [3, 3, 4], [4, 5, 5]]
    );
    assert_eq!(
        rows("level=raid10, members=4, stripe_unit=512", 2),
        [[0, 0, 1, 1], [2, 2, 3, 3]]
    );
    assert_eq!(
        rows("level=raid10, members=3, stripe_unit=512, layout=far", 4),
        [[0, 1, 2], [3, 4, 5], [2, 0, 1], [5, 3, 4]]
    );
    assert_eq!(
        rows("level=raid10, members=4, stripe_unit=512, layout=offset", 4),
        [[0, 1, 2, 3], [3, 0, 1, 2], [4, 5, 6, 7], [7, 4, 5, 6]]
    );
    assert_eq!(
        rows("level=raid01, members=4, stripe_unit=512", 2),
        [[0, 1, 0, 1], [2, 3, 2, 3]]
    );
}

/// Bytes of members that operations of an access cover, each member's sorted and joined.
fn ranges(out: &Split, is_read: bool) -> Vec<(u32, u64, u64)> {
    let mut ranges: Vec<(u32, u64, u64)> = out
        .pieces
        .iter()
        .filter(|piece| piece.operation.is_read() == is_read)
        .map(|piece| (piece.member, piece.operation.start, piece.operation.end()))
        .collect();
    ranges.sort_unstable();
    ranges
}

fn joined(mut ranges: Vec<(u32, u64, u64)>) -> Vec<(u32, u64, u64)> {
    ranges.sort_unstable();
    let mut out: Vec<(u32, u64, u64)> = Vec::new();
    for (member, start, end) in ranges {
        match out.last_mut() {
            Some((last, _, before)) if *last == member && start <= *before => {
                *before = end.max(*before)
            }
            _ => out.push((member, start, end)),
        }
    }
    out
}

proptest! {
    /// Long requests cover exactly the places of their sectors, merged or not.
    #[test]
    fn long_requests_are_the_sum_of_their_sectors(
        members in 2_u64..9,
        copies in 2_u64..4,
        level in 0_usize..6,
        unit in 1_u64..9,
        start in 0_u64..300,
        len in 1_u64..200,
        is_merged in any::<bool>(),
    ) {
        let copies = copies.min(members);
        let keys = [
            "level=raid0".to_owned(),
            "level=linear".to_owned(),
            "level=raid1".to_owned(),
            format!("level=raid10, copies={copies}"),
            format!("level=raid10, copies={copies}, layout=far"),
            format!("level=raid10, copies={copies}, layout=offset"),
        ];
        let merge = if is_merged { "adjacent" } else { "none" };
        let keys = format!("{}, members={members}, stripe_unit={}, merge={merge}", keys[level], unit * SECTOR);
        let layout = built(&keys, 400 * SECTOR);
        let end = ((start + len) * SECTOR).min(layout.capacity());
        let begin = start * SECTOR;
        prop_assume!(begin < end);
        let whole = split(&layout, Operation::write(begin, end - begin));
        let mut parts = Vec::new();
        for sector in begin / SECTOR..end / SECTOR {
            parts.extend(ranges(&split(&layout, Operation::write(sector * SECTOR, SECTOR)), false));
        }
        let bytes: u64 = whole.pieces.iter().map(|piece| piece.operation.len).sum();
        prop_assert_eq!(bytes, parts.iter().map(|(_, start, end)| end - start).sum::<u64>());
        let parts = joined(parts);
        prop_assert_eq!(&joined(ranges(&whole, false)), &parts);
        if is_merged && level != 5 {
            prop_assert_eq!(whole.pieces.len(), parts.len(), "nothing is left to merge");
        }
        let read = split(&layout, Operation::read(begin, end - begin));
        let read_bytes: u64 = read.pieces.iter().map(|piece| piece.operation.len).sum();
        prop_assert_eq!(read_bytes, end - begin, "a byte is read once");
        for range in joined(ranges(&read, true)) {
            let holds = |(member, start, end): &(u32, u64, u64)| {
                *member == range.0 && *start <= range.1 && range.2 <= *end
            };
            prop_assert!(parts.iter().any(holds), "{:?} is not a copy of what was asked for", range);
        }
    }
}

/// Units touched, over all requests of a lattice, are what geometry's closed form says, exactly; of one that straddles on
/// a stripe, so are the pieces.
#[test]
fn units_touched_equal_the_closed_form() {
    use straddle_geometry::{Bytes, Grid, Lattice, Unit};
    let unit = |bytes| Unit::new(bytes).expect("not zero");
    let kib = 1024;
    for (level, copies) in [
        ("raid0, members=150", 1),
        ("raid10, members=8", 2),
        ("raid5, members=5", 0),
    ] {
        for stripe in [16 * kib, 64 * kib, 128 * kib, 96 * kib] {
            for (step, len) in [(8, 8), (64, 64), (4, 28), (12, 20), (8, 600)] {
                for start in [0, 512, 32_256, 64 * kib, 1 << 20] {
                    let layout = built(
                        &format!("level={level}, stripe_unit={stripe}, merge=none"),
                        1 << 30,
                    );
                    let lattice =
                        Lattice::new(Bytes::new(start), unit(step * kib), unit(len * kib));
                    let crossings = lattice.mean_units(Grid::new(unit(stripe)));
                    // A whole period of the lattice's places in the unit.
                    let requests = stripe / gcd(stripe, step * kib);
                    let (mut units, mut pieces) = (0, 0);
                    for number in 0..requests {
                        let operation = Operation::write(start + number * step * kib, len * kib);
                        units += u64::from(layout.units(operation));
                        pieces += split(&layout, operation).pieces.len() as u64;
                    }
                    let (over, under) = (crossings.numerator(), crossings.denominator());
                    assert_eq!(
                        u128::from(units) * u128::from(under),
                        u128::from(over) * u128::from(requests),
                        "{level}, {stripe}, {step} KiB, {len} KiB from {start}"
                    );
                    if copies > 0 {
                        assert_eq!(pieces, copies * units);
                    }
                }
            }
        }
    }
}

#[test]
fn mirrors_are_read_where_the_balance_says() {
    let read = |keys: &str, queued: fn(u32) -> u32, times: u32| {
        let layout = built(keys, 1 << 20);
        let mut out = Split::default();
        let mut members = Vec::new();
        for _ in 0..times {
            layout.split(Operation::read(4096, 4096), queued, &mut out);
            assert_eq!(out.pieces.len(), 1);
            members.push(out.pieces[0].member);
        }
        members
    };
    let queues = |member: u32| [5, 3, 3, 9][member as usize];
    let raid1 = "level=raid1, members=4";
    assert_eq!(read(raid1, queues, 2), [1, 1], "the first of the shortest");
    assert_eq!(read(&format!("{raid1}, balance=first"), queues, 2), [0, 0]);
    assert_eq!(
        read(&format!("{raid1}, balance=first, failed=0"), queues, 2),
        [1, 1]
    );
    assert_eq!(
        read(&format!("{raid1}, balance=alternate"), queues, 5),
        [0, 1, 2, 3, 0]
    );
    assert_eq!(
        read(&format!("{raid1}, balance=alternate, failed=1"), queues, 5),
        [0, 2, 2, 3, 0]
    );
    let far = "level=raid10, members=4, layout=far, stripe_unit=4096";
    assert_eq!(read(far, queues, 2), [1, 1]);
    // The second unit lies on member 1 of each stripe; without member 0, the first stripe is out of use.
    let raid01 = "level=raid01, members=4, stripe_unit=4096, failed=0";
    assert_eq!(read(raid01, queues, 1), [3]);
}

#[test]
fn writes_skip_a_failed_member() {
    for (keys, expected) in [
        (
            "level=raid10, members=4, stripe_unit=4096, failed=2",
            vec![3],
        ),
        (
            "level=raid10, members=4, stripe_unit=4096, failed=1",
            vec![2, 3],
        ),
        (
            "level=raid01, members=4, stripe_unit=4096, failed=2",
            vec![1],
        ),
        ("level=raid1, members=3, failed=1", vec![0, 2]),
    ] {
        let out = split(&built(keys, 1 << 20), Operation::write(4096, 4096));
        let members: Vec<u32> = out.pieces.iter().map(|piece| piece.member).collect();
        assert_eq!(members, expected, "{keys}");
    }
}

/// Operations for each request as the lab's kernel counted them (benches/2026-11-22-arrays): md's RAID 10, near.
#[test]
fn operations_are_those_that_the_lab_counted() {
    let mean = |keys: &str, access: fn(u64, u64) -> Operation, io: u64, offset: u64| {
        let layout = built(&format!("{keys}, merge=none"), 1 << 29);
        let requests = 1 << 12;
        let pieces: usize = (0..requests)
            .map(|number| {
                split(&layout, access(offset + number * io, io))
                    .pieces
                    .len()
            })
            .sum();
        pieces as f64 / requests as f64
    };
    let (read, write) = (
        Operation::read as fn(u64, u64) -> Operation,
        Operation::write,
    );
    let (k8, k64, misaligned, aligned) = (8 << 10, 64 << 10, 63 * 512, 1 << 20);
    for members in [6, 8] {
        let keys = format!("level=raid10, members={members}, stripe_unit=65536");
        for (access, io, offset, expected) in [
            (read, k64, misaligned, 2.0),
            (read, k64, aligned, 1.0),
            (read, k8, misaligned, 1.125),
            (read, k8, aligned, 1.0),
            (write as fn(u64, u64) -> Operation, k64, misaligned, 4.0),
            (write, k64, aligned, 2.0),
            (write, k8, misaligned, 2.25),
            (write, k8, aligned, 2.0),
        ] {
            assert_eq!(
                mean(&keys, access, io, offset),
                expected,
                "{io} at {offset}"
            );
        }
    }
    let small = "level=raid10, members=8, stripe_unit=16384";
    assert_eq!(mean(small, read, k64, misaligned), 5.0);
    assert_eq!(mean(small, read, k64, aligned), 4.0);
    let large = "level=raid10, members=8, stripe_unit=262144";
    assert_eq!(mean(large, read, k64, misaligned), 1.25);
    assert_eq!(mean("level=raid1, members=2", read, k64, misaligned), 1.0);
}

#[test]
fn nonsense_is_refused_with_key_and_range() {
    for (keys, path) in [
        ("level=raid0, members=4", "array.stripe_unit"),
        (
            "level=raid0, members=4, stripe_unit=131072",
            "array.stripe_unit",
        ),
        (
            "level=raid0, members=4, stripe_unit=4096, failed=1",
            "array.failed",
        ),
        ("level=raid1, members=1", "array.members"),
        ("level=single, members=2", "array.members"),
        (
            "level=raid10, members=4, stripe_unit=4096, copies=5",
            "array.members",
        ),
        (
            "level=raid10, members=4, stripe_unit=4096, layout=left-symmetric",
            "array.layout",
        ),
        (
            "level=raid10, members=4, stripe_unit=4096, failed=4",
            "array.failed",
        ),
        ("level=raid01, members=5, stripe_unit=4096", "array.members"),
        ("level=raid5, members=1, stripe_unit=4096", "array.members"),
        ("level=raid6, members=3, stripe_unit=4096", "array.members"),
        (
            "level=raid5, members=4, stripe_unit=4096, layout=far",
            "array.layout",
        ),
        (
            "level=raid5, members=4, stripe_unit=4096, granule=3072",
            "array.granule",
        ),
        (
            "level=raid5, members=4, stripe_unit=4096, granule=8192",
            "array.granule",
        ),
        ("level=raid50, members=8, stripe_unit=4096", "array.spans"),
        (
            "level=raid50, members=9, stripe_unit=4096, spans=2",
            "array.members",
        ),
        ("level=vraid5, members=4, stripe_unit=4096", "array.members"),
        (
            "level=raid0, members=4, stripe_unit=4096, data_offset=65536",
            "array.data_offset",
        ),
        ("level=raid7, members=4", "array.level"),
        ("level=raid0, members=0, stripe_unit=4096", "array.members"),
    ] {
        match layout(keys, 65_536) {
            Ok(_) => panic!("{keys} was taken"),
            Err(refusal) => assert!(refusal.to_string().contains(path), "{keys}: {refusal}"),
        }
    }
}
