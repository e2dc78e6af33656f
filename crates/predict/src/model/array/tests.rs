//! Levels against slow models of their own, which know members byte by byte.

use super::*;
use crate::profile::Profile;
use proptest::prelude::*;
use std::collections::BTreeMap;

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
