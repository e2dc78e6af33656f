//! Which things are joined, and which are kept apart.

use straddle_geometry::{Bytes, Unit};
use straddle_stack::{
    AnomalyKind, Fact, GridRole, Interval, Layer, LayerKind, Source, Stack, Trust,
};

use super::{Inventory, Name, Space, Thing};
use crate::Overrides;

fn said<T>(value: T, file: u32) -> Fact<T> {
    Fact {
        value,
        source: Source::Captured {
            file: format!("{file}.txt").into(),
            line: 1,
            text: String::new(),
        },
        trust: Trust::Reported,
    }
}

fn disk(file: u32, number: u64) -> Thing {
    let mut thing = Thing::new(
        LayerKind::Device,
        format!("disk {number}"),
        Name::windows_disk(number),
    );
    thing.file = file;
    thing
}

/// Partition `number` of `disk`, from `start`, `size` long.
fn partition(file: u32, disk: u64, number: u64, start: u64, size: u64) -> Thing {
    let name = Name::new(Space::WindowsPartition, format!("{disk}/{number}"));
    let title = format!("disk {disk} partition {number}");
    let mut thing = Thing::new(LayerKind::Partition, title, name).on(Name::windows_disk(disk));
    thing.start = Some(said(Interval::exact(Bytes::new(start)), file));
    thing.size = Some(said(Interval::exact(Bytes::new(size)), file));
    thing.file = file;
    thing
}

fn volume(file: u32, letter: &'static str) -> Thing {
    let name = Name::new(Space::WindowsVolume, letter);
    let mut thing = Thing::new(LayerKind::Partition, letter, name);
    thing.file = file;
    thing
}

fn stack(things: Vec<Thing>) -> Stack {
    let mut inventory = Inventory::default();
    for thing in things {
        inventory.add(thing);
    }
    inventory.stack(&Overrides::default())
}

fn of_kind(stack: &Stack, kind: LayerKind) -> Vec<&Layer> {
    let layers = stack.iter().map(|(_, layer)| layer);
    layers.filter(|layer| layer.kind == kind).collect()
}

fn names(layers: &[&Layer]) -> Vec<String> {
    layers.iter().map(|layer| layer.name.clone()).collect()
}

fn kinds(stack: &Stack) -> Vec<AnomalyKind> {
    let layers = stack.layers().iter();
    layers
        .flat_map(|layer| layer.anomalies.iter().map(|anomaly| anomaly.kind))
        .collect()
}

fn serial(text: &'static str) -> Name {
    Name::new(Space::Serial, text)
}

#[test]
fn partitions_of_a_disk_that_was_replaced_are_kept_apart() {
    // The partition is spoken of before its disk.
    let stack = stack(vec![
        partition(0, 1, 1, 32_256, 1 << 30),
        disk(0, 1).named(serial("OLD1")),
        disk(1, 1).named(serial("NEW2")),
        partition(1, 1, 1, 1 << 20, 1 << 31),
    ]);
    assert_eq!(of_kind(&stack, LayerKind::Device).len(), 2);
    assert_eq!(of_kind(&stack, LayerKind::Partition).len(), 2);
    assert_eq!(kinds(&stack), [AnomalyKind::Stale]);
    let starts: Vec<u64> = of_kind(&stack, LayerKind::Partition)
        .iter()
        .filter_map(|layer| layer.placement.as_ref())
        .map(|placement| placement.value.start().get())
        .collect();
    assert_eq!(starts, [32_256, 1 << 20]);
}

#[test]
fn of_two_disks_with_one_signature_each_is_known_again_by_its_number() {
    let table = || Name::new(Space::TableId, "1c2d3e4f");
    let stack = stack(vec![
        disk(0, 0).named(table()),
        disk(0, 1).named(table()),
        disk(1, 1).named(table()),
    ]);
    let disks = of_kind(&stack, LayerKind::Device);
    assert_eq!(names(&disks), ["disk 0", "disk 1"]);
    assert_eq!(kinds(&stack), [AnomalyKind::SameIdentity]);
}

#[test]
fn a_table_that_was_cloned_does_not_make_two_serial_numbers_one_disk() {
    let table = || Name::new(Space::TableId, "1c2d3e4f");
    let elsewhere = stack(vec![
        disk(0, 0).named(table()).named(serial("A")),
        disk(1, 5).named(table()).named(serial("B")),
    ]);
    assert_eq!(kinds(&elsewhere), [AnomalyKind::SameIdentity]);
    let in_its_place = stack(vec![
        disk(0, 0).named(table()).named(serial("A")),
        disk(1, 0).named(table()).named(serial("B")),
    ]);
    assert_eq!(kinds(&in_its_place), [AnomalyKind::Stale]);
}

#[test]
fn things_come_in_the_order_of_the_texts() {
    let stack = stack(vec![
        disk(0, 0),
        partition(0, 0, 1, 1 << 20, 1 << 30),
        disk(0, 1),
        partition(0, 1, 1, 1 << 20, 1 << 30),
    ]);
    let all: Vec<&str> = stack.layers().iter().map(|l| l.name.as_str()).collect();
    let expected = [
        "disk 0",
        "disk 0 partition 1",
        "disk 1",
        "disk 1 partition 1",
    ];
    assert_eq!(all, expected);
}

#[test]
fn a_letter_that_two_partitions_had_is_that_of_the_one_that_names_it_too() {
    let lettered = partition(0, 0, 2, 1 << 20, 1 << 30).named(Name::new(Space::WindowsVolume, "c"));
    let mut bare = volume(1, "C:").named(Name::new(Space::WindowsVolumeNumber, "1"));
    bare.size = Some(said(Interval::exact(Bytes::new(1 << 30)), 1));
    let stack = stack(vec![bare, disk(0, 0), lettered]);
    let partitions = of_kind(&stack, LayerKind::Partition);
    assert_eq!(names(&partitions), ["disk 0 partition 2"]);
    assert_eq!(kinds(&stack), []);
}

#[test]
fn a_volume_is_found_by_its_size_when_there_is_one_of_it() {
    let bare = |letter, size| {
        let mut thing = volume(0, letter);
        thing.size = Some(said(Interval::exact(Bytes::new(size)), 0));
        thing
    };
    let two = || {
        vec![
            disk(0, 0),
            partition(0, 0, 1, 1 << 20, 1 << 30),
            partition(0, 0, 2, 2 << 30, 1 << 31),
        ]
    };
    let mut things = two();
    things.push(bare("D:", 1 << 31));
    let found = stack(things);
    assert_eq!(of_kind(&found, LayerKind::Partition).len(), 2);
    assert_eq!(kinds(&found), [AnomalyKind::Missing]);
    // Two volumes of that size: it may be either.
    let mut things = two();
    things.extend([bare("D:", 1 << 31), bare("E:", 1 << 31)]);
    let found = stack(things);
    assert_eq!(of_kind(&found, LayerKind::Partition).len(), 4);
}

#[test]
fn a_filesystem_lies_on_the_partition_that_leaves_less_than_a_cluster_over() {
    let mut content = Thing::new(
        LayerKind::Filesystem,
        "D:",
        Name::new(Space::WindowsVolume, "D:"),
    )
    .on(Name::new(Space::WindowsVolume, "D:"));
    content.size = Some(said(Interval::exact(Bytes::new((1 << 30) - 65_536)), 0));
    content.grid(
        GridRole::AllocationUnit,
        said(Unit::new(65_536).expect("not zero"), 0),
    );
    let stack = stack(vec![
        disk(0, 0),
        partition(0, 0, 1, 1 << 20, 1 << 30),
        content,
    ]);
    let partition = stack
        .iter()
        .find(|(_, layer)| layer.kind == LayerKind::Partition)
        .map(|(id, _)| id)
        .expect("there");
    let above = stack.above(partition).count();
    assert_eq!(above, 1);
}

#[test]
fn what_lies_on_a_letter_does_not_start_with_a_disk() {
    let content = Thing::new(
        LayerKind::Filesystem,
        "C:",
        Name::new(Space::WindowsVolume, "C:"),
    )
    .on(Name::new(Space::WindowsVolume, "C:"));
    let stack = stack(vec![content]);
    let below = &stack.layers()[0];
    assert_eq!(
        (below.kind, below.name.as_str()),
        (LayerKind::Partition, "volume C:")
    );
    assert_eq!(of_kind(&stack, LayerKind::Device).len(), 0);
}

#[test]
fn the_system_is_known_whatever_file_comes_first() {
    let platforms = |order: [Option<&'static str>; 3]| {
        let mut all = Inventory::default();
        for platform in order {
            all.append(Inventory {
                platform,
                ..Inventory::default()
            });
        }
        all.platform
    };
    assert_eq!(
        platforms([Some("raid"), Some("linux"), Some("raid")]),
        Some("linux")
    );
    assert_eq!(
        platforms([Some("linux"), None, Some("raid")]),
        Some("linux")
    );
    assert_eq!(platforms([None, Some("raid"), None]), Some("raid"));
}

/// A device that is known only as what a volume lies on.
fn below(file: u32, letter: &'static str, physical: u64) -> [Thing; 2] {
    let name = Name::new(Space::WindowsVolumeDisk, letter);
    let mut device = Thing::new(LayerKind::Device, "disk of a volume", name.clone());
    device.file = file;
    let unit = Unit::new(physical).expect("not zero");
    device.grid(GridRole::PhysicalSector, said(unit, file));
    [device, volume(file, letter).on(name)]
}

#[test]
fn what_a_volume_says_of_its_disk_is_said_of_the_disk_of_its_partition() {
    let lettered = partition(0, 3, 1, 1 << 20, 1 << 30).named(Name::new(Space::WindowsVolume, "E"));
    for order in [false, true] {
        let mut things = vec![disk(0, 3), lettered.clone()];
        if order {
            things.extend(below(1, "E:", 4096));
        } else {
            things.splice(0..0, below(1, "E:", 4096));
        }
        let stack = stack(things);
        let disks = of_kind(&stack, LayerKind::Device);
        assert_eq!(names(&disks), ["disk 3"]);
        let sector = disks[0].grid(GridRole::PhysicalSector).expect("there");
        assert_eq!(sector.value.unit().get(), 4096);
        assert_eq!(of_kind(&stack, LayerKind::Partition).len(), 1);
        assert_eq!(kinds(&stack), []);
    }
}

#[test]
fn two_volumes_of_one_disk_speak_of_one_disk() {
    let mut things = vec![disk(0, 0)];
    for (number, letter) in [(1, "C"), (2, "D")] {
        let start = number << 30;
        things.push(
            partition(0, 0, number, start, 1 << 30).named(Name::new(Space::WindowsVolume, letter)),
        );
    }
    things.extend(below(1, "C:", 4096));
    things.extend(below(2, "D:", 512));
    let stack = stack(things);
    assert_eq!(of_kind(&stack, LayerKind::Device).len(), 1);
    assert_eq!(kinds(&stack), [AnomalyKind::Contradiction]);
}

#[test]
fn four_kib_in_one_place_and_more_in_another_is_no_contradiction() {
    for sizes in [[4096, 16_384], [16_384, 4096]] {
        let mut things = vec![disk(0, 0)];
        things
            .push(partition(0, 0, 1, 1 << 20, 1 << 30).named(Name::new(Space::WindowsVolume, "C")));
        for (file, size) in (1..).zip(sizes) {
            things.extend(below(file, "C:", size));
        }
        let stack = stack(things);
        let disk = of_kind(&stack, LayerKind::Device)[0];
        let sector = disk.grid(GridRole::PhysicalSector).expect("there");
        assert_eq!(sector.value.unit().get(), 16_384);
        assert_eq!(kinds(&stack), []);
    }
}

#[test]
fn a_volume_without_a_partition_keeps_its_own_disk() {
    let stack = stack(below(0, "C:", 4096).into());
    let disks = of_kind(&stack, LayerKind::Device);
    assert_eq!(names(&disks), ["disk of a volume"]);
    assert_eq!(kinds(&stack), []);
}

#[test]
fn who_does_not_say_where_sectors_begin_contradicts_nobody() {
    let with = |file, phase| {
        let mut thing = disk(file, 0);
        let unit = Unit::new(4096).expect("a unit");
        let grid = straddle_geometry::Grid::with_phase(unit, Bytes::new(phase));
        thing.grids.push(straddle_stack::GridFact {
            role: GridRole::PhysicalSector,
            grid: said(grid, file),
        });
        thing
    };
    for phases in [[0, 3584], [3584, 0]] {
        let stack = stack(vec![with(0, phases[0]), with(1, phases[1])]);
        let disks = of_kind(&stack, LayerKind::Device);
        let sector = disks[0].grid(GridRole::PhysicalSector).expect("a sector");
        assert_eq!(sector.value.phase(), Bytes::new(3584));
        assert!(disks[0].anomalies.is_empty(), "{:?}", disks[0].anomalies);
    }
    let stack = stack(vec![with(0, 512), with(1, 3584)]);
    let disks = of_kind(&stack, LayerKind::Device);
    assert_eq!(disks[0].anomalies[0].kind, AnomalyKind::Contradiction);
}

#[test]
fn what_the_kernel_says_of_an_unplaced_partition_is_seen_from_above() {
    use straddle_stack::{Key, Seen, Value};
    let device = |name: &'static str| Name::new(Space::Device, name);
    let seen = |offset: i64| {
        let mut disk = Thing::new(LayerKind::Device, "sda", device("sda"));
        let unit = Unit::new(4096).expect("a unit");
        disk.grid(GridRole::PhysicalSector, said(unit, 0));
        let mut lower = Thing::new(LayerKind::Partition, "sda1", device("sda1")).on(device("sda"));
        lower.set(Key::AlignmentOffset, said(Value::SignedBytes(offset), 0));
        let mut upper =
            Thing::new(LayerKind::Encryption, "x", device("mapper/x")).on(device("sda1"));
        upper.start = Some(said(Interval::exact(Bytes::new(4095 * 512)), 0));
        let stack = stack(vec![disk, lower, upper]);
        let (id, _) = stack.iter().last().expect("three layers");
        let grids = stack.grids_seen_from(id);
        let mut sectors = grids
            .iter()
            .filter(|grid| grid.role == GridRole::PhysicalSector);
        sectors.next().map(|grid| match grid.seen {
            Seen::Uniform(grid) => grid.phase().get(),
            Seen::Pieces(_) => panic!("one piece"),
        })
    };
    // 4,095 sectors are 511 × 4,096 + 3,584.
    assert_eq!(seen(0), Some(512));
    assert_eq!(seen(3584), Some(0));
    // In units of 64 KiB it may be further.
    assert_eq!(seen(61_440), Some(512));
    assert_eq!(seen(-1), None);
}

#[test]
fn what_is_of_no_machine_is_of_the_first_where_there_are_several() {
    let called = |inventory: &Inventory| -> Vec<(String, Option<String>)> {
        let of = |name: &Name| name.and_machine().1.map(str::to_owned);
        let things = inventory.things().iter();
        things
            .map(|thing| {
                (
                    thing.title.clone(),
                    of(thing.on.first().unwrap_or(&thing.names[0])),
                )
            })
            .collect()
    };
    let mut inventory = Inventory::default();
    inventory.add(disk(1, 0));
    inventory.add(partition(1, 0, 1, 32_256, 512));
    inventory.rest_of_machine("db1");
    let alone = [
        ("disk 0".to_owned(), None),
        ("disk 0 partition 1".to_owned(), None),
    ];
    assert_eq!(called(&inventory), alone);

    let mut other = disk(1, 0);
    other.of_machine("db2");
    inventory.add(other);
    // Known by nothing but what it carries in itself.
    let mut known = Thing::new(LayerKind::Volume, "tank", serial("A1"));
    known.of_machine("db2");
    inventory.add(known);
    inventory.rest_of_machine("db1");
    let (first, second) = (Some("db1".to_owned()), Some("db2".to_owned()));
    let expected = [
        ("disk 0 of db1".to_owned(), first.clone()),
        ("disk 0 partition 1 of db1".to_owned(), first),
        ("disk 0 of db2".to_owned(), second),
        ("tank of db2".to_owned(), None),
    ];
    assert_eq!(called(&inventory), expected);
}

#[test]
fn members_and_pieces_are_of_the_machine_of_what_is_made_of_them() {
    use super::{Extents, Piece, Placing, Raid, RaidMember};
    let on = || Name::new(Space::Device, "/dev/sda");
    let raid = Raid {
        members: vec![RaidMember {
            name: on(),
            slot: None,
            start: None,
            size: None,
        }],
        ..Raid::default()
    };
    let piece = Piece {
        at: 0,
        len: None,
        on: on(),
        first: 0,
    };
    let extents = Extents {
        unit: None,
        pieces: vec![piece],
        source: Source::Captured {
            file: "1.txt".into(),
            line: 1,
            text: String::new(),
        },
    };
    for placing in [
        Placing::Raid(Box::new(raid)),
        Placing::Extents(Box::new(extents)),
    ] {
        let mut thing = Thing::new(
            LayerKind::Array,
            "md0",
            Name::new(Space::Device, "/dev/md0"),
        );
        thing.placing = placing;
        thing.of_machine("db2");
        let below = match &thing.placing {
            Placing::Raid(raid) => &raid.members[0].name,
            Placing::Extents(extents) => &extents.pieces[0].on,
            other => panic!("{other:?}"),
        };
        assert_eq!(below.and_machine(), ("sda", Some("db2")));
    }
}
