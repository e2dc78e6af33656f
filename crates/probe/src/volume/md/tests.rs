use straddle_geometry::{Bytes, Map};
use straddle_io::Reader;
use straddle_stack::{AnomalyKind, Key};

use super::*;
use crate::volume::{Assembly, Below, Holds, Part};

fn put(image: &mut [u8], at: usize, bytes: &[u8]) {
    image[at..at + bytes.len()].copy_from_slice(bytes);
}

fn sum(bytes: &[u8], big: bool) -> u32 {
    let word = |four: &[u8]| {
        let four = four.try_into().expect("four bytes");
        u64::from(if big {
            u32::from_be_bytes(four)
        } else {
            u32::from_le_bytes(four)
        })
    };
    let sum: u64 = bytes.chunks(4).map(word).sum();
    u32::try_from((sum & 0xffff_ffff) + (sum >> 32)).expect("folded")
}

/// Corrects the checksum of a superblock of version 1 at `at`, with roles of 8 devices.
fn seal(image: &mut [u8], at: usize) {
    put(image, at + 216, &[0; 4]);
    let sum = sum(&image[at..at + 272], false);
    put(image, at + 216, &sum.to_le_bytes());
}

/// Member `number` of an array over four, of 64 KiB, its data at 16 KiB.
fn member(minor: u8, level: i32, layout: u32, number: u32) -> Vec<u8> {
    let mut image = vec![0; 64 << 10];
    let (at, data): (usize, u64) = match minor {
        0 => (57_344, 0),
        1 => (0, 32),
        _ => (4096, 32),
    };
    let sb = &mut image[at..at + 4096];
    put(sb, 0, &version1::MAGIC);
    put(sb, 4, &[1]);
    put(sb, 16, &[0x11; 16]);
    put(sb, 32, b"host:0");
    put(sb, 72, &level.to_le_bytes());
    put(sb, 76, &layout.to_le_bytes());
    put(sb, 80, &64_u64.to_le_bytes());
    put(sb, 88, &8_u32.to_le_bytes());
    put(sb, 92, &4_u32.to_le_bytes());
    put(sb, 128, &data.to_le_bytes());
    put(sb, 136, &64_u64.to_le_bytes());
    put(
        sb,
        144,
        &(u64::try_from(at).expect("small") / 512).to_le_bytes(),
    );
    put(sb, 160, &number.to_le_bytes());
    put(sb, 168, &[0x66; 15]);
    put(sb, 183, &[u8::try_from(number).expect("small")]);
    put(sb, 200, &17_u64.to_le_bytes());
    put(sb, 208, &[0xff; 8]);
    put(sb, 220, &8_u32.to_le_bytes());
    put(sb, 256, &[0, 0, 1, 0, 2, 0, 3, 0]);
    put(sb, 264, &[0xff; 8]);
    seal(&mut image, at);
    image
}

/// Changes a field of a superblock 1.2.
fn with(mut image: Vec<u8>, field: usize, bytes: &[u8]) -> Vec<u8> {
    put(&mut image, 4096 + field, bytes);
    seal(&mut image, 4096);
    image
}

fn four(level: i32, layout: u32) -> Vec<Vec<u8>> {
    (0..4)
        .map(|number| member(2, level, layout, number))
        .collect()
}

fn recognised(image: &[u8]) -> Option<Recognised> {
    let reader = Reader::new(&image);
    FORMAT.run(&Window::whole(&reader, None)).expect("readable")
}

fn assembled(images: &[Vec<u8>]) -> Assembly {
    let readers: Vec<Reader<'_>> = images.iter().map(|image| Reader::new(image)).collect();
    let names = ["a", "b", "c", "d", "e"];
    let parts: Vec<Part<'_>> = readers
        .iter()
        .zip(names)
        .map(|(reader, name)| Part {
            window: Window::whole(reader, None),
            name,
            serial: None,
        })
        .collect();
    (FORMAT.assemble)(&parts).expect("readable")
}

fn kinds(assembly: &Assembly) -> Vec<AnomalyKind> {
    let array = assembly.nodes.last().expect("an array");
    array
        .layer
        .anomalies
        .iter()
        .map(|anomaly| anomaly.kind)
        .collect()
}

fn place(assembly: &Assembly, at: u64) -> Option<(usize, u64)> {
    let array = assembly.nodes.last().expect("an array");
    let location = array.layer.map.locate(Bytes::new(at))?;
    Some((location.target, location.offset.get()))
}

#[test]
fn members_of_version_1_say_where_they_belong() {
    for (minor, version, data) in [(0, "1.0", 0), (1, "1.1", 16_384), (2, "1.2", 16_384)] {
        let found = recognised(&member(minor, 5, 2, 3)).expect("a member");
        assert_eq!(found.set, "11111111:11111111:11111111:11111111");
        assert_eq!(found.member, "66666666:66666666:66666666:66666603");
        assert_eq!(found.of, Some(4));
        let value = |key: Key| {
            let attribute = found.detected.attributes.iter().find(|a| a.key == key);
            attribute
                .map(|a| a.value.value.to_string())
                .unwrap_or_default()
        };
        assert_eq!(value(Key::Version), version);
        assert_eq!(value(Key::Role), "member 3");
        assert_eq!(value(Key::Level), "raid5");
        assert_eq!(value(Key::DataOffset), Bytes::new(data).to_string());
        assert!(
            found.detected.anomalies.is_empty(),
            "{:?}",
            found.detected.anomalies
        );
    }
    // One at the end that was made for another end is not this device's.
    let mut moved = member(0, 1, 0, 0);
    put(&mut moved, 57_344 + 144, &[16]);
    seal(&mut moved, 57_344);
    assert!(recognised(&moved).is_none());
}

#[test]
fn what_is_damaged_is_told_and_read_all_the_same() {
    let mut wrong = member(2, 5, 2, 0);
    wrong[4096 + 201] ^= 1;
    let found = recognised(&wrong).expect("a member");
    assert_eq!(found.detected.anomalies[0].kind, AnomalyKind::Damaged);
    let devices = with(member(2, 5, 2, 0), 220, &[0xff; 4]);
    let found = recognised(&devices).expect("a member");
    assert!(
        found.detected.anomalies[0]
            .detail
            .contains("4294967295 devices")
    );
    let beyond = with(member(2, 5, 2, 0), 136, &u64::MAX.to_le_bytes());
    let found = recognised(&beyond).expect("a member");
    assert!(found.detected.anomalies[0].detail.contains("md refuses it"));
    for (field, bytes) in [
        (92, vec![0xff; 4]),
        (88, vec![0; 4]),
        (76, vec![0x77; 4]),
        (72, vec![99, 0, 0, 0]),
    ] {
        let image = with(member(2, 5, 2, 0), field, &bytes);
        let assembly = assembled(&[image]);
        assert_eq!(
            assembly.nodes.last().map(|node| node.holds),
            Some(Holds::Nothing),
            "{field}"
        );
        let found = kinds(&assembly);
        assert!(
            found.contains(&AnomalyKind::Damaged) || found.contains(&AnomalyKind::Missing),
            "{field}: {found:?}"
        );
    }
}

#[test]
fn an_array_with_parity_has_its_map_sizes_and_grids() {
    let assembly = assembled(&four(5, 2));
    let array = &assembly.nodes[0].layer;
    assert_eq!(
        (array.name.as_str(), array.format.as_deref()),
        ("md0", Some("raid5"))
    );
    assert_eq!(
        array.size.as_ref().map(|size| size.value),
        Some(Bytes::kib(96))
    );
    assert_eq!(array.text(Key::Layout), Some("left-symmetric"));
    assert_eq!(array.grids.len(), 2);
    assert_eq!(place(&assembly, 0), Some((0, 16_384)));
    assert_eq!(place(&assembly, 3 * 4096 + 5), Some((3, 16_384 + 4096 + 5)));
    assert!(array.anomalies.is_empty());
    assert_eq!(
        assembly.nodes[0].below,
        (0..4).map(Below::Part).collect::<Vec<_>>()
    );
    // In whatever order they are given.
    let mut turned = four(5, 2);
    turned.rotate_left(1);
    let assembly = assembled(&turned);
    assert_eq!(assembly.nodes[0].below[0], Below::Part(3));
}

#[test]
fn missing_stale_and_rebuilt_members_are_told_apart() {
    let all = four(5, 2);
    let assembly = assembled(&all[1..]);
    assert_eq!(kinds(&assembly), [AnomalyKind::PartlyGiven]);
    assert_eq!(
        assembly.nodes[0].below[0],
        Below::Missing("member 0 of md0".into())
    );
    // The newest superblock knows of no member 0.
    let without: Vec<_> = all[1..]
        .iter()
        .map(|m| with(m.clone(), 256, &[0xfe, 0xff]))
        .collect();
    let assembly = assembled(&without);
    assert_eq!(kinds(&assembly), [AnomalyKind::Degraded]);
    let missing = assembly.nodes[0]
        .layer
        .attribute(Key::MissingMembers)
        .cloned();
    assert_eq!(
        missing.map(|fact| fact.value.to_string()).as_deref(),
        Some("1")
    );
    let mut stale = all.clone();
    stale[2] = with(stale[2].clone(), 200, &3_u64.to_le_bytes());
    let assembly = assembled(&stale);
    assert_eq!(
        kinds(&assembly),
        [AnomalyKind::MembersDiffer, AnomalyKind::Degraded]
    );
    assert!(matches!(assembly.nodes[0].below[2], Below::Missing(_)));
    // One write apart is what a crash leaves.
    stale[2] = with(stale[2].clone(), 200, &16_u64.to_le_bytes());
    assert_eq!(kinds(&assembled(&stale)), []);
    let mut rebuilt = all.clone();
    rebuilt[1] = with(with(rebuilt[1].clone(), 8, &[2]), 152, &[8]);
    assert_eq!(kinds(&assembled(&rebuilt)), [AnomalyKind::Degraded]);
    let mut chunk = all.clone();
    chunk[3] = with(chunk[3].clone(), 88, &[16]);
    let assembly = assembled(&chunk);
    assert!(
        assembly.nodes[0].layer.anomalies[0]
            .detail
            .contains("chunk 8192 on d, 4096 on a")
    );
    let mut twice = all;
    twice.push(with(twice[0].clone(), 183, &[9]));
    assert_eq!(kinds(&assembled(&twice)), [AnomalyKind::MembersDiffer]);
}

#[test]
fn raid_0_over_members_of_several_sizes_is_zones() {
    let members: Vec<_> = four(0, 2)
        .into_iter()
        .zip([24_u64, 40, 40, 40])
        .map(|(member, sectors)| {
            let member = with(member, 8, &0x1000_u32.to_le_bytes());
            with(member, 136, &sectors.to_le_bytes())
        })
        .collect();
    let assembly = assembled(&members);
    assert_eq!(assembly.nodes.len(), 3);
    let array = &assembly.nodes[2];
    assert_eq!(
        array.layer.size.as_ref().map(|size| size.value.get()),
        Some((24 + 3 * 40) * 512)
    );
    assert_eq!(array.below, [Below::Node(0), Below::Node(1)]);
    assert_eq!(place(&assembly, 12 * 4096), Some((1, 0)));
    let second = &assembly.nodes[1];
    assert_eq!(
        second.below,
        [Below::Part(1), Below::Part(2), Below::Part(3)]
    );
    let start = second.layer.map.locate(Bytes::ZERO).map(|l| l.offset.get());
    assert_eq!(start, Some(16_384 + 3 * 4096));
    // Without a layout only the first is sure.
    let unknown: Vec<_> = members.into_iter().map(|m| with(m, 8, &[0; 4])).collect();
    let assembly = assembled(&unknown);
    assert_eq!(
        assembly.nodes.last().expect("an array").layer.anomalies[0].kind,
        AnomalyKind::Missing
    );
}

#[test]
fn during_a_reshape_both_geometries_hold_up_to_where_it_has_come() {
    let members: Vec<_> = four(5, 2)
        .into_iter()
        .map(|member| {
            let member = with(member, 8, &[4]);
            let member = with(member, 100, &5_u32.to_le_bytes());
            let member = with(member, 104, &48_u64.to_le_bytes());
            let member = with(member, 112, &1_u32.to_le_bytes());
            let member = with(member, 116, &2_u32.to_le_bytes());
            with(member, 120, &8_u32.to_le_bytes())
        })
        .collect();
    let assembly = assembled(&members);
    assert_eq!(kinds(&assembly), [AnomalyKind::Reshaping]);
    let array = &assembly.nodes[2];
    assert_eq!(
        array.layer.size.as_ref().map(|size| size.value),
        Some(Bytes::kib(64))
    );
    // Six units are dealt over four members, what follows still over three.
    assert_eq!(place(&assembly, 5 * 4096), Some((1, 5 * 4096)));
    assert_eq!(place(&assembly, 6 * 4096), Some((0, 6 * 4096)));
    let columns = |node: usize| match &assembly.nodes[node].layer.map {
        Map::Raid(raid) => raid.columns(),
        _ => 0,
    };
    assert_eq!((columns(0), columns(1)), (3, 4));
}

/// Version 0.90 of a mirror over two, in 128 KiB.
fn old(big: bool, used_kib: u32) -> Vec<u8> {
    let mut image = vec![0; 128 << 10];
    let mut word = |n: usize, value: u32| {
        let bytes = if big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        };
        put(&mut image, 65_536 + 4 * n, &bytes);
    };
    for (n, value) in [
        (0, 0xa92b_4efc),
        (2, 90),
        (5, 0x1111_1111),
        (7, 1),
        (8, used_kib),
        (10, 2),
        (11, 7),
        (33, 1),
        (992, 1),
        (995, 1),
        (996, 6),
    ] {
        word(n, value);
    }
    for disk in 0..2 {
        for (n, value) in [(3, u32::try_from(disk).expect("small")), (4, 6)] {
            word(128 + 32 * disk + n, value);
        }
    }
    word(if big { 40 } else { 39 }, 5);
    let sum = sum(&image[65_536..65_536 + 4096], big);
    let bytes = if big {
        sum.to_be_bytes()
    } else {
        sum.to_le_bytes()
    };
    put(&mut image, 65_536 + 4 * 38, &bytes);
    image
}

#[test]
fn version_0_90_is_read_in_both_byte_orders() {
    for big in [false, true] {
        let image = old(big, 64);
        let found = recognised(&image).expect("a member");
        assert!(
            found.detected.anomalies.is_empty(),
            "{:?}",
            found.detected.anomalies
        );
        assert_eq!((found.member.as_str(), found.of), ("device 1", Some(2)));
        assert_eq!(found.set, "11111111:00000000:00000000:00000000");
        let assembly = assembled(&[image]);
        assert_eq!(kinds(&assembly), [AnomalyKind::PartlyGiven]);
        assert_eq!(assembly.nodes[0].layer.name, "md7");
        assert_eq!(
            assembly.nodes[0].layer.size.as_ref().map(|s| s.value),
            Some(Bytes::kib(64))
        );
    }
}

#[test]
fn the_size_tells_whether_the_disk_or_its_last_partition_is_the_member() {
    // An MBR with one partition from 64 KiB to the end of 256 KiB: 0.90 stands at 192 KiB for both.
    let disk = |used_kib: u32| {
        let mut image = vec![0; 256 << 10];
        let superblock = old(false, used_kib)[65_536..].to_vec();
        put(&mut image, 192 << 10, &superblock);
        put(&mut image, 510, &[0x55, 0xaa]);
        put(&mut image, 446, &[0, 0, 0, 0, 0xfd, 0, 0, 0]);
        put(&mut image, 454, &128_u32.to_le_bytes());
        put(&mut image, 458, &384_u32.to_le_bytes());
        image
    };
    assert!(recognised(&disk(128)).is_none());
    assert!(recognised(&disk(192)).is_some());
    let image = disk(128);
    let reader = Reader::new(&image);
    let partition = Extent::new(Bytes::kib(64), Bytes::kib(192)).expect("small");
    let window = Window::whole(&reader, None)
        .part(partition)
        .expect("inside");
    assert!(
        FORMAT
            .run(&window)
            .expect("readable")
            .expect("a member")
            .detected
            .anomalies
            .is_empty()
    );
    // A level without a size is the partition's, and it is said that it need not be.
    let image = disk(0);
    let reader = Reader::new(&image);
    let window = Window::whole(&reader, None)
        .part(partition)
        .expect("inside");
    let found = FORMAT.run(&window).expect("readable").expect("a member");
    assert_eq!(found.detected.anomalies[0].kind, AnomalyKind::UnclearOwner);
}
