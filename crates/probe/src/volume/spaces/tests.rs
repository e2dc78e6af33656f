//! Pools made by `tests/makers/spaces.pl`; there is no maker and no other reader outside of Windows.

use straddle_geometry::{Bytes, Map, RaidLayout};
use straddle_io::Reader;
use straddle_stack::{AnomalyKind, GridRole, Key, Value};
use straddle_testkit::ldm;

use super::FORMAT;
use crate::Window;
use crate::volume::{Assembly, Below, Holds, Part, Recognised};

const MIRROR: &str = "disk Disk1\ndisk Disk2\nspace Data size=536870912 resiliency=2 redundancy=1 copies=2\n\
                      slabs disk=Disk1 physical=3 count=2\nslabs disk=Disk2 copy=1 physical=7 count=2\n";

fn disks(description: &str) -> Vec<Vec<u8>> {
    let directory = tempfile::tempdir().expect("temporary directory");
    let made = ldm::make_with("spaces.pl", directory.path(), description);
    made.into_iter().map(|(_, bytes)| bytes).collect()
}

fn recognised(disk: &[u8]) -> Recognised {
    let disk = disk.to_vec();
    let reader = Reader::new(&disk);
    let found = FORMAT.run(&Window::whole(&reader, None)).expect("readable");
    found.expect("a disk of a pool")
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

fn odd(assembly: &Assembly) -> Vec<AnomalyKind> {
    let nodes = assembly.nodes.iter();
    nodes
        .flat_map(|node| node.layer.anomalies.iter().map(|anomaly| anomaly.kind))
        .collect()
}

const SLABS: u64 = 512 << 20;
const SLAB: u64 = 256 << 20;

#[test]
fn a_disk_says_what_pool_it_is_of() {
    let found = recognised(&disks(MIRROR)[1]);
    assert_eq!(found.set, "9001c0de-0000-4000-8000-000000000001");
    assert_eq!(found.member, "d15c0000-0000-4000-8000-000000000002");
    assert_eq!(found.of, Some(2));
    assert!(found.detected.anomalies.is_empty(), "{:?}", found.detected);
    let name = found
        .detected
        .attributes
        .iter()
        .find(|attribute| attribute.key == Key::VolumeGroup);
    let name = &name.expect("said").value.value;
    assert_eq!(*name, Value::Text("Pool1".into()));
}

#[test]
fn a_disk_without_a_database_is_still_one() {
    let disks = disks("disk Disk1 database=0\nspace Data\nslabs disk=Disk1\n");
    let found = recognised(&disks[0]);
    assert_eq!((found.of, found.detected.anomalies.len()), (None, 0));
    assert!(assembled(&disks).nodes.is_empty());
}

#[test]
fn a_mirror_has_copies_of_its_column() {
    let assembly = assembled(&disks(MIRROR));
    assert_eq!(odd(&assembly), []);
    let names: Vec<&str> = assembly
        .nodes
        .iter()
        .map(|node| node.layer.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "Data column 1 copy 1",
            "Data column 1 copy 2",
            "Data column 1",
            "Data"
        ]
    );
    let at = |node: usize, offset: u64| {
        let map = &assembly.nodes[node].layer.map;
        map.locate(Bytes::new(offset)).expect("no holes").offset
    };
    assert_eq!(at(0, 5), Bytes::new(SLABS + 3 * SLAB + 5));
    assert_eq!(at(1, SLAB), Bytes::new(SLABS + 8 * SLAB));
    assert_eq!(assembly.nodes[1].below, [Below::Part(1)]);
    let Map::Raid(raid) = &assembly.nodes[2].layer.map else {
        panic!("a mirror");
    };
    assert_eq!(raid.layout, RaidLayout::Mirror);
    let space = &assembly.nodes[3];
    assert_eq!(space.holds, Holds::Volume);
    assert_eq!(space.layer.text(Key::Level), Some("raid1"));
    assert!(space.layer.grid(GridRole::StripeUnit).is_none());
}

#[test]
fn columns_take_turns_and_parity_goes_round() {
    let simple = "disk Disk1\ndisk Disk2 missing=1\nspace Fast size=1073741824 columns=2 interleave=16 thin=1\n\
                  slabs disk=Disk1 column=0 physical=1\nslabs disk=Disk2 column=1 physical=4\n\
                  slabs disk=Disk1 column=0 first=2 physical=9\nslabs disk=Disk2 column=1 first=2 physical=5\n";
    let assembly = assembled(&disks(simple));
    let fast = &assembly.nodes[2].layer;
    let stripe = fast.grid(GridRole::StripeUnit).expect("known").value;
    assert_eq!(stripe.unit().get(), 65_536);
    let there = fast.map.locate(Bytes::new(65_536)).expect("no holes");
    assert_eq!(there.target, 1);
    let Below::Missing(name) = &assembly.nodes[1].below[0] else {
        panic!("it was not given");
    };
    assert_eq!(name, "Disk2 (d15c0000-0000-4000-8000-000000000002)");
    // The second row of slabs.
    let second = assembly.nodes[0].layer.map.locate(Bytes::new(SLAB));
    let second = second.expect("no holes").offset;
    assert_eq!(second, Bytes::new(SLABS + 9 * SLAB));

    let parity = "disk Disk1\ndisk Disk2\ndisk Disk3\nspace Archive size=536870912 resiliency=3 redundancy=1 columns=3 interleave=15\n\
                  slabs disk=Disk1 column=0\nslabs disk=Disk2 column=1\nslabs disk=Disk3 column=2\n";
    let assembly = assembled(&disks(parity));
    let archive = &assembly.nodes[3].layer;
    let full = archive.grid(GridRole::FullStripe).expect("known").value;
    assert_eq!(full.unit().get(), 65_536);
    let Map::Raid(raid) = &archive.map else {
        panic!("parity");
    };
    // Row 0: parity on the last column, row 1 on the one before; data go on behind it.
    let columns: Vec<usize> = raid
        .reaches(Bytes::new(65_536))
        .iter()
        .map(|reach| reach.column)
        .collect();
    assert_eq!(columns, [2, 1]);
    assert_eq!(odd(&assembly), []);
}

#[test]
fn what_is_not_followed_is_described_without_a_place() {
    let described = |rest: &str| {
        let assembly = assembled(&disks(&format!("disk Disk1\nspace Data {rest}")));
        let node = assembly.nodes.last().expect("described");
        assert_eq!(node.holds, Holds::Nothing);
        assert_eq!(node.layer.map, Map::Segments(Vec::new()));
        assert!(node.below.is_empty());
        assert_eq!(odd(&assembly), [AnomalyKind::Missing]);
        node.layer.grid(GridRole::StripeUnit).is_some()
    };
    // Two parities, tiers, extents that are not there, out of date, columns beyond all bounds, an interleave of 2^200.
    assert!(described("resiliency=3 redundancy=2 columns=7"));
    assert!(described("columns=2\ntier SSD\n"));
    assert!(described("columns=2\n"));
    assert!(!described("\nslabs disk=Disk1 stale=2\n"));
    assert!(!described("columns=4294967295\n"));
    assert!(!described("copies=18446744073709551615\n"));
    assert!(!described("columns=2 interleave=200\n"));
    assert!(!described("resiliency=3 redundancy=9 columns=3\n"));
    assert!(!described(
        "\nslabs disk=Disk1 physical=18446744073709551615\n"
    ));
    assert!(!described(
        "\nslabs disk=Disk1 first=18446744073709551615\n"
    ));
}

#[test]
fn older_records_are_read_and_unknown_ones_told() {
    let assembly = assembled(&disks(&format!("pool Pool1 record=16\n{MIRROR}")));
    assert_eq!(assembly.nodes.len(), 4);
    let unknown = disks(&format!("pool Pool1 record=9\n{MIRROR}"));
    let found = recognised(&unknown[0]);
    let kinds: Vec<AnomalyKind> = found.detected.anomalies.iter().map(|o| o.kind).collect();
    assert_eq!(kinds, [AnomalyKind::Damaged]);
    assert!(assembled(&unknown).nodes.is_empty());
}

#[test]
fn the_latest_database_counts_and_damage_is_told() {
    let old = disks(MIRROR);
    let new = disks(&format!(
        "pool Pool1 sequence=6\n{}",
        MIRROR.replace("physical=3", "physical=30")
    ));
    let assembly = assembled(&[old[0].clone(), new[1].clone()]);
    let first = assembly.nodes[0].layer.map.locate(Bytes::ZERO);
    let first = first.expect("no holes").offset;
    assert_eq!(first, Bytes::new(SLABS + 30 * SLAB));

    let damaged = |at: usize, bytes: &[u8]| {
        let mut disk = old[0].clone();
        disk[at..at + bytes.len()].copy_from_slice(bytes);
        let found = recognised(&disk);
        let _ = assembled(&[disk]);
        found.detected.anomalies.len()
    };
    // Checksums of both, size of a slot, slots in use, a slot's number, fragments of a record.
    assert_eq!(damaged(100, &[1]), 1);
    assert_eq!(damaged(4096 + 100, &[1]), 1);
    assert_eq!(damaged(4096 + 36, &[0xff; 4]), 2);
    assert!(damaged(4096 + 40, &[0xff; 4]) >= 2);
    assert_eq!(damaged(4096 + 512 + 4, &[9]), 1);
    assert!(damaged(4096 + 512 + 14, &[0xff; 2]) >= 1);
}
