//! What `tests/real_tools_volumes_ldm.rs` does not show: what is damaged or hostile, and what ldmtool does not read.

use straddle_geometry::{Bytes, Map, RaidLayout, SectorSize};
use straddle_io::Reader;
use straddle_stack::{AnomalyKind, Key, LayerKind, Stack, Value};
use straddle_testkit::ldm;

use super::FORMAT;
use crate::volume::{Assembly, Below, Holds, Part, Recognised};
use crate::{Limits, Window, inspect};

const SIMPLE: &str = "disk Disk1 size=8192\nvolume Volume1 size=4096 hint=D:\ncomponent kind=spanned\npart disk=Disk1 start=0 size=4096\n";
const PRIVHEAD: usize = 6 * 512;
/// The database of a disk of 8,192 sectors with an MBR, and what lies in it.
const DATABASE: usize = (8192 - 2048) * 512;
const VMDB: usize = DATABASE + 17 * 512;

fn disks(description: &str) -> Vec<Vec<u8>> {
    let directory = tempfile::tempdir().expect("temporary directory");
    let made = ldm::make(directory.path(), description);
    made.into_iter().map(|(_, bytes)| bytes).collect()
}

fn recognised(disk: &[u8]) -> Option<Recognised> {
    let disk = disk.to_vec();
    let reader = Reader::new(&disk);
    FORMAT.run(&Window::whole(&reader, None)).expect("readable")
}

fn assembled(disks: &[Vec<u8>]) -> Assembly {
    let readers: Vec<Reader<'_>> = disks.iter().map(|disk| Reader::new(disk)).collect();
    let parts: Vec<Part<'_>> = readers
        .iter()
        .map(|reader| Part {
            window: Window::whole(reader, None),
            name: "disk",
            serial: None,
        })
        .collect();
    (FORMAT.assemble)(&parts).expect("readable")
}

fn kinds(assembly: &Assembly) -> Vec<AnomalyKind> {
    let nodes = assembly.nodes.iter();
    nodes
        .flat_map(|node| node.layer.anomalies.iter().map(|anomaly| anomaly.kind))
        .collect()
}

fn put(disk: &mut [u8], at: usize, bytes: &[u8]) {
    disk[at..at + bytes.len()].copy_from_slice(bytes);
}

/// What is odd about the member and its volumes when `bytes` stand at `at` of the simple disk.
fn changed(at: usize, bytes: &[u8]) -> (Vec<AnomalyKind>, Vec<AnomalyKind>) {
    let mut disks = disks(SIMPLE);
    put(&mut disks[0], at, bytes);
    let found = recognised(&disks[0]).expect("still one");
    let own = found.detected.anomalies.iter().map(|o| o.kind).collect();
    (own, kinds(&assembled(&disks)))
}

#[test]
fn a_disk_says_what_it_is_a_member_of() {
    let found = recognised(&disks(SIMPLE)[0]).expect("a dynamic disk");
    assert_eq!(found.set, "0a0b0c0d-1111-2222-3333-444455556666");
    assert_eq!(found.member, "d15c0000-0000-4000-8000-000000000001");
    assert_eq!(found.of, Some(1));
    let said = |key| {
        let mut all = found.detected.attributes.iter();
        let found = all.find(|attribute| attribute.key == key).expect("said");
        found.value.value.clone()
    };
    assert_eq!(said(Key::Version), Value::Text("2.12".into()));
    assert_eq!(said(Key::VolumeGroup), Value::Text("Dg0".into()));
    assert_eq!(said(Key::DataOffset), Value::Bytes(Bytes::new(63 * 512)));
    let size = (8192 - 2048 - 63) * 512;
    assert_eq!(said(Key::DataSize), Value::Bytes(Bytes::new(size)));
}

#[test]
fn another_use_of_type_42_is_no_dynamic_disk() {
    let mut disk = disks(SIMPLE).remove(0);
    for at in [PRIVHEAD, DATABASE + 1856 * 512, DATABASE + 2047 * 512] {
        put(&mut disk, at, b"nothing!");
    }
    assert!(recognised(&disk).is_none());
    assert!(assembled(&[disk]).nodes.is_empty());
}

#[test]
fn copies_stand_in_for_a_lost_header() {
    let (own, volumes) = changed(PRIVHEAD, b"lost");
    assert_eq!(
        (own.as_slice(), volumes.as_slice()),
        (&[AnomalyKind::UnusualPlace][..], &[][..])
    );
    let (own, _) = changed(DATABASE + 1856 * 512 + 0x11b, &[9]);
    assert_eq!(own, [AnomalyKind::CopiesDiffer]);
    let (own, _) = changed(DATABASE + 1856 * 512, b"lost");
    assert_eq!(own, [AnomalyKind::CopiesDiffer]);
    // Tables of contents: one is enough, and those that are there agree.
    let (own, volumes) = changed(DATABASE + 512, b"lost");
    assert_eq!((own.len(), volumes.len()), (0, 0));
    let (own, _) = changed(DATABASE + 2045 * 512 + 0x36, &[1]);
    assert_eq!(own, [AnomalyKind::CopiesDiffer]);
}

#[test]
fn a_database_that_cannot_be_found_leaves_a_member_without_volumes() {
    for (at, bytes) in [
        (VMDB, &b"lost"[..]),
        // Beyond the disk.
        (PRIVHEAD + 0x12b, &[0xff; 8][..]),
    ] {
        let mut disks = disks(SIMPLE);
        put(&mut disks[0], at, bytes);
        let found = recognised(&disks[0]).expect("still a member");
        let damaged = found.detected.anomalies.iter();
        assert!(damaged.clone().any(|o| o.kind == AnomalyKind::Damaged));
        assert_eq!(found.of, None);
        assert!(assembled(&disks).nodes.is_empty());
    }
}

#[test]
fn an_unfinished_change_is_told() {
    let (own, _) = changed(VMDB + 0x10, &[0, 2]);
    assert_eq!(own, [AnomalyKind::Pending]);
    let (own, _) = changed(VMDB + 0x7d, &[0, 0, 0, 0, 0, 0, 0, 8]);
    assert_eq!(own, [AnomalyKind::Pending]);
    let (own, _) = changed(VMDB + 0x12, &[0, 5]);
    assert_eq!(own, [AnomalyKind::Damaged]);
}

#[test]
fn the_latest_of_several_databases_counts() {
    let description = |sequence: u32, size: u32| {
        let group = format!("group Dg0 sequence={sequence} pending={sequence}\n");
        let disk = "disk Disk1 size=8192\ndisk Disk2 size=8192\n";
        let volume = format!(
            "volume Volume1 size={size}\ncomponent kind=spanned\npart disk=Disk1 start=0 size={size}\n"
        );
        disks(&format!("{group}{disk}{volume}"))
    };
    let (old, new) = (description(7, 1000), description(8, 2000));
    for disks in [
        [old[0].clone(), new[1].clone()],
        [new[0].clone(), old[1].clone()],
    ] {
        let assembly = assembled(&disks);
        assert_eq!(kinds(&assembly), [AnomalyKind::CopiesDiffer]);
        let size = assembly.nodes[0].layer.size.as_ref().expect("known");
        assert_eq!(size.value, Bytes::new(2000 * 512));
    }
}

#[test]
fn counts_and_sizes_of_records_that_cannot_be_are_bounded() {
    let max = [0xff; 4];
    // Last block, size of a block, place of the first, numbers of volumes and of disks.
    for (offset, is_readable) in [
        (0x04, true),
        (0x08, false),
        (0x0c, false),
        (0x85, true),
        (0x91, true),
    ] {
        let mut disks = disks(SIMPLE);
        put(&mut disks[0], VMDB + offset, &max);
        let assembly = assembled(&disks);
        assert_eq!(assembly.nodes.len() == 1, is_readable, "{offset:#x}");
        if is_readable {
            assert!(kinds(&assembly).contains(&AnomalyKind::Damaged));
        }
    }
    let mut disks = disks(SIMPLE);
    put(&mut disks[0], VMDB + 0x08, &[0; 4]);
    assert!(assembled(&disks).nodes.is_empty());
}

#[test]
fn pieces_of_records_that_never_come_leave_the_rest_readable() {
    // The first block is the group's; it becomes a piece of something long, or of something endless.
    for pieces in [[0, 2], [0xff, 0xff]] {
        let (own, volumes) = changed(VMDB + 512 + 14, &pieces);
        assert_eq!((own.len(), volumes), (0, vec![AnomalyKind::Damaged]));
    }
    // The component's record, cut to one byte: it, the number of components, and the volume that has none.
    let (_, volumes) = changed(VMDB + 512 + 3 * 128 + 16 + 7, &[1]);
    assert_eq!(volumes, [AnomalyKind::Damaged; 3]);
}

#[test]
fn impossible_sizes_are_told_and_nothing_is_looked_for() {
    let of = |size: &str, part: &str| {
        assembled(&disks(&format!(
            "disk Disk1 size=8192\nvolume Volume1 size={size}\ncomponent kind=spanned\npart disk=Disk1 {part}\n"
        )))
    };
    let huge = of("18446744073709551615", "start=0 size=4096");
    assert_eq!(
        (kinds(&huge), huge.nodes[0].holds),
        (vec![AnomalyKind::Damaged], Holds::Nothing)
    );
    let larger = of("5000", "start=0 size=4096");
    assert_eq!(kinds(&larger), [AnomalyKind::Damaged]);
    for part in [
        "start=18446744073709551615 size=4096",
        "start=0 size=18446744073709551615",
    ] {
        let assembly = of("4096", part);
        assert_eq!(kinds(&assembly), [AnomalyKind::Damaged]);
        assert_eq!(assembly.nodes[0].holds, Holds::Nothing);
        assert_eq!(assembly.nodes[0].layer.map, Map::Segments(Vec::new()));
    }
}

#[test]
fn partitions_that_share_sectors_are_told() {
    let assembly = assembled(&disks(
        "disk Disk1 size=8192\nvolume Volume1 size=1000\ncomponent kind=spanned\npart disk=Disk1 start=0 size=1000\n\
         volume Volume2 size=1000\ncomponent kind=spanned\npart disk=Disk1 start=999 size=1000\n",
    ));
    assert_eq!(kinds(&assembly), [AnomalyKind::Overlap]);
    assert_eq!(assembly.nodes.len(), 2);
}

#[test]
fn what_does_not_fit_together_has_no_place() {
    let volume = |rest: &str| {
        let disks = disks(&format!(
            "disk Disk1 size=8192\ndisk Disk2 size=8192\nvolume Volume1 size=1024 {rest}"
        ));
        let assembly = assembled(&disks);
        assert_eq!(assembly.nodes.len(), 1);
        assert_eq!(assembly.nodes[0].holds, Holds::Nothing);
        kinds(&assembly)
    };
    let damaged = [AnomalyKind::Damaged];
    let part = "\npart disk=Disk1 start=0 size=1024 index=0";
    // No component, a shape that is none, one column, columns that are not there, no stripe unit, a unit of nothing.
    assert_eq!(volume("children=3"), damaged);
    assert_eq!(volume(&format!("\ncomponent code=9{part}")), damaged);
    let striped = |rest: &str| volume(&format!("\ncomponent kind=striped {rest}{part}"));
    assert_eq!(striped("stripe=128 columns=1"), damaged);
    assert_eq!(striped("stripe=128 columns=2"), damaged);
    assert_eq!(striped("stripe=128 columns=4294967295"), damaged);
    assert_eq!(striped(""), damaged);
    assert_eq!(
        volume(&format!(
            "\ncomponent kind=striped stripe=0 columns=2{part}\npart disk=Disk2 start=0 size=1024 index=1"
        )),
        damaged
    );
}

#[test]
fn columns_of_several_parts_and_copies_that_are_spanned_are_layers_between() {
    let assembly = assembled(&disks(
        "disk Disk1 size=8192\ndisk Disk2 size=8192\nvolume Stripe1 size=4096\ncomponent kind=striped stripe=128 columns=2\n\
         part disk=Disk1 start=0 size=1024 index=0\npart disk=Disk1 start=4096 size=1024 offset=1024 index=0\n\
         part disk=Disk2 start=0 size=2048 index=1\n\
         volume Mirror1 size=1024\ncomponent kind=spanned\npart disk=Disk1 start=2048 size=512\n\
         part disk=Disk1 start=3072 size=512 offset=512 index=1\ncomponent kind=spanned\npart disk=Disk2 start=2048 size=1024\n",
    ));
    let names: Vec<&str> = assembly
        .nodes
        .iter()
        .map(|node| node.layer.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["Stripe1 column 1", "Stripe1", "Mirror1 copy 1", "Mirror1"]
    );
    assert_eq!(kinds(&assembly), []);
    let stripe = &assembly.nodes[1];
    assert_eq!(stripe.below, [Below::Node(0), Below::Part(1)]);
    assert_eq!(stripe.layer.kind, LayerKind::Array);
    // The first unit of the second part of the first column: 8 rows of two units are in the first parts.
    let there = stripe
        .layer
        .map
        .locate(Bytes::new(16 * 65_536))
        .expect("no holes");
    assert_eq!((there.target, there.offset), (0, Bytes::new(8 * 65_536)));
    let column = assembly.nodes[0]
        .layer
        .map
        .locate(there.offset)
        .expect("no holes");
    assert_eq!(column.offset, Bytes::new((63 + 4096) * 512));
    let Map::Raid(raid) = &assembly.nodes[3].layer.map else {
        panic!("a mirror");
    };
    assert_eq!(raid.layout, RaidLayout::Mirror);
    assert_eq!(raid.starts, [0, (63 + 2048) * 512].map(Bytes::new));
    assert_eq!(assembly.nodes[3].below, [Below::Node(2), Below::Part(1)]);
}

#[test]
fn sectors_of_4096_bytes_count_for_everything() {
    for table in ["mbr", "gpt"] {
        let disk = format!(
            "disk Disk1 size=4096 sector=4096 table={table}\nvolume Volume1 size=512\ncomponent kind=spanned\n\
             part disk=Disk1 start=8 size=512\n"
        );
        let disk = disks(&disk).remove(0);
        let reader = Reader::new(&disk);
        let window = Window::whole(&reader, SectorSize::new(4096));
        FORMAT
            .run(&window)
            .expect("readable")
            .expect("a dynamic disk");
        let part = Part {
            window,
            name: "disk",
            serial: None,
        };
        let assembly = (FORMAT.assemble)(&[part]).expect("readable");
        let layer = &assembly.nodes[0].layer;
        let first = if table == "mbr" { 63 } else { 6 + 2048 };
        let start = Bytes::new((first + 8) * 4096);
        assert_eq!(layer.map, Map::Linear { start }, "{table}");
        let size = layer.size.as_ref().expect("known").value;
        assert_eq!(size, Bytes::new(512 * 4096), "{table}");
    }
}

#[test]
fn entries_that_stand_for_the_volumes_hold_nothing_themselves() {
    for table in ["mbr", "gpt"] {
        let description = SIMPLE.replace("size=8192", &format!("size=16384 table={table}"));
        let mut disk = disks(&description).remove(0);
        // A boot sector where the first volume and the entry both begin.
        let first = if table == "mbr" { 63 } else { 34 + 2048 };
        let boot = first * 512;
        put(&mut disk, boot, b"\xeb\x52\x90NTFS    \0\x02\x08");
        put(&mut disk, boot + 510, &[0x55, 0xaa]);
        let reader = Reader::new(&disk);
        let mut stack = Stack::new();
        let base = stack.push(straddle_stack::Layer::new(LayerKind::Device, "disk"));
        let members = inspect(&mut stack, base, &reader, None, Limits::default());
        assert_eq!(members.len(), 1, "{table}");
        let partitions: Vec<_> = stack.iter().skip(1).collect();
        assert_eq!(partitions.len(), if table == "mbr" { 1 } else { 2 });
        for (id, layer) in partitions {
            assert_eq!(layer.kind, LayerKind::Partition);
            assert!(layer.attribute(Key::HoldsPartitions).is_some());
            assert!(stack.above(id).next().is_none());
        }
    }
}
