//! Firmware RAID: what no kernel makes here. Members come from `tests/makers/firmware-raid.pl`; what mdadm reads of DDF
//! images is compared with what is read here. IMSM and what the kernel runs of both: `tests/lab/cases/firmware-raid.sh`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::support::firmware::{assembled, made, make, node, odd, recognised, texts};
use straddle_geometry::{Bytes, Map, RaidLayout, Rotation, Share};
use straddle_probe::volume::{Below, Holds, Node};
use straddle_stack::{GridRole, Key};

/// What of a virtual disk mdadm prints: name, members with their starts in bytes, chunk in bytes, level.
type Seen = (Vec<(usize, u64)>, u64, String);

/// The virtual disks that mdadm finds on an image, without those under a secondary level.
fn examined(image: &Path) -> BTreeMap<String, Seen> {
    let run = Command::new("mdadm")
        .arg("--examine")
        .arg(image)
        .output()
        .unwrap_or_else(|error| panic!("mdadm: {error}; this test needs the Debian package mdadm"));
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let mut found = BTreeMap::new();
    let (mut name, mut members, mut chunk) = (String::new(), Vec::new(), 0);
    for line in text.lines() {
        let Some((key, value)) = line.split_once(" : ") else {
            continue;
        };
        let value = value.trim();
        match key.trim().split('[').next().unwrap_or("") {
            "Name" => value.clone_into(&mut name),
            // `3 (0@0K 1@0K 2@0K)`
            "Raid Devices" => {
                members = value
                    .split(['(', ' ', ')'])
                    .filter_map(|word| word.strip_suffix('K')?.split_once('@'))
                    .map(|(disk, kib)| {
                        let kib: u64 = kib.parse().expect("a number");
                        (disk.parse().expect("a number"), kib * 1024)
                    })
                    .collect();
            }
            "Chunk Size" => {
                let sectors: u64 = value
                    .trim_end_matches(" sectors")
                    .parse()
                    .expect("a number");
                chunk = sectors * 512;
            }
            "Raid Level" => {
                let seen = (members.clone(), chunk, value.to_lowercase());
                found.insert(name.clone(), seen);
            }
            "Secondary Level" => {
                found.remove(&name);
            }
            _ => {}
        }
    }
    found
}

fn starts(node: &Node) -> Vec<u64> {
    match &node.layer.map {
        Map::Raid(raid) => raid.starts.iter().map(|start| start.get()).collect(),
        Map::Striped(striping) => striping.starts.iter().map(|start| start.get()).collect(),
        Map::Segments(pieces) => pieces.iter().map(|piece| piece.lower.get()).collect(),
        _ => Vec::new(),
    }
}

/// As mdadm prints it, from what is read here.
fn ours(node: &Node) -> Seen {
    let members = node.below.iter().zip(starts(node));
    let members = members.map(|(below, start)| match below {
        Below::Part(index) => (*index, start),
        other => panic!("{other:?}"),
    });
    let unit = node.layer.grid(GridRole::StripeUnit);
    let level = texts(node, Key::Level).remove(0);
    let level = match level.as_str() {
        "raid10" => "raid1e",
        "linear" => "concat",
        other => other,
    };
    (
        members.collect(),
        unit.map_or(0, |unit| unit.value.unit().get()),
        level.to_owned(),
    )
}

const LEVELS: &str = "
    set ddf
    disk a size=70000
    disk b size=70000
    disk c size=70000
    disk d size=70000
    volume v0 level=0 strip=8 used=2048 start=8 disks=b,c,a,d size=8192
    volume v5 level=5 qualifier=3 strip=64 used=4096 start=8192 disks=a,b,c size=8192
    volume v6 level=6 qualifier=2 strip=2048 used=8192 start=16384 disks=d,c,b,a size=16384
    volume v1e level=17 qualifier=0 strip=1 used=2048 start=30002 disks=c,b,a size=3072
";

#[test]
fn virtual_disks_are_what_mdadm_examines() {
    let directory = tempfile::tempdir().expect("a directory");
    let more = "
        set ddf
        disk a size=70000
        disk b size=70000
        disk c size=70000
        disk d size=70000
        volume v4 level=4 qualifier=1 strip=32 used=2048 start=100 disks=a,b,c size=4096
        volume v5a level=5 qualifier=0 strip=128 used=2048 start=4096 disks=b,c,a size=4096
        volume v5b level=5 qualifier=2 strip=256 used=2048 start=8192 disks=c,a,b starts=8192,8200,9000
        volume vc level=31 strip=128 used=2048 start=16000 disks=d,a
    ";
    let mut compared = 0;
    for description in [LEVELS, more] {
        let disks = make(directory.path(), description);
        let assembly = assembled("ddf", &disks);
        // Each disk has the records of its own virtual disks only.
        for name in ["a", "d"] {
            let theirs = examined(&directory.path().join(format!("{name}.img")));
            for (name, theirs) in theirs {
                let node = node(&assembly, &name);
                let mut ours = ours(node);
                if matches!(node.layer.map, Map::Segments(_)) {
                    ours.1 = theirs.1; // A concatenation has a chunk for mdadm.
                }
                assert_eq!(ours, theirs, "{name}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 11);
}

#[test]
fn maps_and_sizes_follow_level_and_qualifier() {
    let assembly = assembled("ddf", &made(LEVELS));
    let v5 = node(&assembly, "v5");
    let Map::Raid(raid) = &v5.layer.map else {
        panic!("{:?}", v5.layer.map)
    };
    assert_eq!(raid.layout, RaidLayout::Parity(Rotation::LeftSymmetric));
    let size = v5.layer.size.as_ref().expect("known");
    assert_eq!(size.value, Bytes::new(8192 * 512));
    let full = v5.layer.grid(GridRole::FullStripe).expect("known");
    assert_eq!(full.value.unit().get(), 2 * 64 * 512);
    assert_eq!(v5.holds, Holds::Volume);
    assert_eq!(texts(v5, Key::State), ["optimal"]);
    assert_eq!(texts(node(&assembly, "v6"), Key::Layout), ["ddf-N-restart"]);
    assert_eq!(texts(node(&assembly, "v1e"), Key::Layout), ["near=2"]);
}

#[test]
fn spans_of_parity_are_layers_below_a_secondary_level() {
    let disks = made(
        "set ddf
        disk a size=70000
        disk b size=70000
        disk c size=70000
        disk d size=70000
        disk e size=70000
        disk f size=70000
        volume r50 level=5 qualifier=2 strip=128 used=4096 start=64 parts=a,b,c/d,e,f secondary=0
        volume r10 level=1 strip=64 used=4096 start=8192 parts=a,b/c,d/e,f secondary=3
        volume r51 level=5 qualifier=2 strip=128 used=4096 start=16384 parts=a,b,c/d,e,f secondary=1
        volume r5c level=5 qualifier=2 strip=128 used=4096 start=32768 parts=a,b,c/d,e,f secondary=2",
    );
    let assembly = assembled("ddf", &disks);
    let names: Vec<&str> = assembly
        .nodes
        .iter()
        .map(|n| n.layer.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "r50 part 0",
            "r50 part 1",
            "r50",
            "r10",
            "r51 part 0",
            "r51 part 1",
            "r51",
            "r5c part 0",
            "r5c part 1",
            "r5c"
        ]
    );
    // A secondary stripe is a whole stripe of the part: 2 × 64 KiB.
    let r50 = node(&assembly, "r50");
    let Map::Striped(striping) = &r50.layer.map else {
        panic!("{:?}", r50.layer.map)
    };
    assert_eq!(striping.unit.get(), 128 << 10);
    assert_eq!(r50.below, [Below::Node(0), Below::Node(1)]);
    assert_eq!(
        r50.layer.size.as_ref().expect("known").value.get(),
        4 * 4096 * 512
    );
    assert_eq!(node(&assembly, "r50 part 1").holds, Holds::Nothing);
    // Mirrors under stripes are one RAID 10, as md sees them.
    let r10 = node(&assembly, "r10");
    let Map::Raid(raid) = &r10.layer.map else {
        panic!("{:?}", r10.layer.map)
    };
    let reaches: Vec<(usize, u64, Share)> = raid
        .reaches(Bytes::new(32 << 10))
        .iter()
        .map(|reach| (reach.column, reach.offset.get(), reach.share))
        .collect();
    let start = 8192 * 512;
    assert_eq!(reaches, [(2, start, Share::Data), (3, start, Share::Copy)]);
    assert_eq!(
        r10.layer.size.as_ref().expect("known").value.get(),
        3 * 4096 * 512
    );
    assert!(
        matches!(&node(&assembly, "r51").layer.map, Map::Raid(raid) if raid.layout == RaidLayout::Mirror)
    );
    let r5c = node(&assembly, "r5c");
    assert_eq!(
        r5c.layer.size.as_ref().expect("known").value.get(),
        4 * 4096 * 512
    );
    let second = r5c
        .layer
        .map
        .locate(Bytes::new(2 * 4096 * 512))
        .expect("mapped");
    assert_eq!((second.target, second.offset), (1, Bytes::ZERO));
}

#[test]
fn missing_members_are_named_and_states_told() {
    let disks = made(
        "set ddf
        disk a size=70000 serial=WD-1
        disk b size=70000 serial=WD-2 missing=1
        disk c size=70000 serial=WD-3 state=5
        volume v level=5 qualifier=3 strip=64 used=4096 state=17 disks=a,b,c
        volume w level=0 strip=64 used=4096 start=8192 state=8 init=1 disks=a,c",
    );
    let assembly = assembled("ddf", &disks);
    let v = node(&assembly, "v");
    assert_eq!(texts(v, Key::State), ["degraded", "dirty"]);
    let missing = |below: &Below| match below {
        Below::Missing(name) => name.clone(),
        other => format!("{other:?}"),
    };
    let below: Vec<String> = v.below.iter().map(missing).collect();
    assert_eq!(
        below,
        [
            "Part(0)",
            "disk 00001001 WD-2",
            "disk 00001002 WD-3 (rebuilding)"
        ]
    );
    assert_eq!(
        texts(node(&assembly, "w"), Key::State),
        ["migrating", "initialising"]
    );
    let found = recognised("ddf", &disks[0].1).expect("a member");
    assert_eq!(
        (found.of, found.set.as_str()),
        (Some(3), "MAKER:7365742020202020202020200a0b0c0d")
    );
}

#[test]
fn wrong_crcs_are_told_and_the_newest_lists_used() {
    let disks = made(
        "set ddf generation=5
        disk a size=70000 generation=4
        disk b size=70000
        disk c size=70000 break=3700
        volume v level=0 strip=64 used=4096 disks=a,b,c",
    );
    let assembly = assembled("ddf", &disks);
    let found = odd(node(&assembly, "v"));
    assert!(
        found.contains(
            "members differ: the metadata of a have sequence number 4, those of b have 5"
        ),
        "{found}"
    );
    let broken = recognised("ddf", &disks[2].1).expect("a member").detected;
    let broken: Vec<&str> = broken.anomalies.iter().map(|o| o.detail.as_str()).collect();
    assert!(
        broken[0].contains("the CRC of the configuration record is"),
        "{broken:?}"
    );
}

#[test]
fn blocks_of_4096_bytes_count_as_such() {
    let disks = made(
        "set ddf sector=4096
        disk a size=9000
        disk b size=9000
        volume v level=0 strip=16 used=512 start=10 disks=b,a",
    );
    let assembly = assembled("ddf", &disks);
    let v = node(&assembly, "v");
    assert_eq!(starts(v), [40_960, 40_960]);
    assert_eq!(v.below, [Below::Part(1), Below::Part(0)]);
    let unit = v.layer.grid(GridRole::StripeUnit).expect("known");
    assert_eq!(unit.value.unit().get(), 16 * 4096);
}

#[test]
fn imsm_volumes_have_their_levels_strips_and_starts() {
    let disks = made(
        "set imsm
        disk a size=16384 serial=S-A
        disk b size=16384 serial=S-B
        disk c size=16384 serial=S-C
        disk d size=16384 serial=S-D
        volume five level=5 strip=64 used=4096 disks=d,c,b
        volume ten level=1 strip=8 used=2048 start=8193 disks=c,a,b,d dirty=1",
    );
    // In the order given, since names of files tell nothing.
    let assembly = assembled("imsm", &disks);
    let five = node(&assembly, "five");
    assert_eq!(five.below, [Below::Part(3), Below::Part(2), Below::Part(1)]);
    let Map::Raid(raid) = &five.layer.map else {
        panic!("{:?}", five.layer.map)
    };
    assert_eq!(raid.layout, RaidLayout::Parity(Rotation::LeftAsymmetric));
    assert_eq!(raid.unit.get(), 32 << 10);
    assert_eq!(
        five.layer.size.as_ref().expect("known").value.get(),
        2 * 4096 * 512
    );
    assert!(
        odd(five).contains("taken in the order given (a as S-A, b as S-B, c as S-C, d as S-D)")
    );
    let ten = node(&assembly, "ten");
    assert_eq!(texts(ten, Key::Layout), ["near=2"]);
    assert_eq!(starts(ten), [8193 * 512; 4]);
    assert_eq!(texts(ten, Key::State), ["dirty"]);
    let found = recognised("imsm", &disks[0].1).expect("a member");
    assert_eq!((found.set.as_str(), found.of), ("0a0b0c0d", Some(4)));
}

#[test]
fn images_called_by_their_serial_number_are_known_in_any_order() {
    let mut disks = made(
        "set imsm
        disk a size=16384 serial=S-A
        disk b size=16384 serial=S-B
        disk c size=16384 serial=S-C
        volume v level=0 strip=64 used=4096 disks=a,b,c",
    );
    disks.reverse();
    for (name, _) in &mut disks {
        *name = format!("/images/S-{}.img", name.to_uppercase());
    }
    let assembly = assembled("imsm", &disks);
    let v = node(&assembly, "v");
    assert_eq!(v.below, [Below::Part(2), Below::Part(1), Below::Part(0)]);
    assert_eq!(odd(v), "");
    disks.remove(1);
    let assembly = assembled("imsm", &disks);
    assert_eq!(
        node(&assembly, "v").below,
        [
            Below::Part(1),
            Below::Missing("disk S-B".to_owned()),
            Below::Part(0)
        ]
    );
}

#[test]
fn a_migration_has_two_geometries_and_no_map() {
    let disks = made(
        "set imsm
        disk a size=16384
        disk b size=16384
        disk c size=16384
        volume grows level=5 strip=64 used=4096 disks=a,b,c migrate=3 was=0:32:a,b
        volume heals level=5 strip=64 used=4096 start=8192 disks=a,b,c migrate=1 was-state=2 stale=1",
    );
    let assembly = assembled("imsm", &disks);
    let grows = node(&assembly, "grows");
    assert_eq!(texts(grows, Key::State), ["migrating"]);
    assert_eq!(grows.layer.map, Map::Segments(Vec::new()));
    assert!(
        odd(grows).contains(
            "from level 0, 2 members, strips of 16 KiB to level 5, 3 members, strips of 32 KiB"
        ),
        "{}",
        odd(grows)
    );
    let heals = node(&assembly, "heals");
    assert_eq!(texts(heals, Key::State), ["degraded", "rebuilding"]);
    assert!(matches!(heals.layer.map, Map::Raid(_)));
    assert_eq!(
        heals.below[1],
        Below::Missing("disk b (failed or being rebuilt)".to_owned())
    );
}

#[test]
fn imsm_counts_in_sectors_of_4096_bytes_where_the_disk_has_them() {
    let disks = made(
        "set imsm sector=4096
        disk a size=4096
        disk b size=4096
        volume v level=1 strip=16 used=1024 start=3 disks=a,b",
    );
    let assembly = assembled("imsm", &disks);
    let v = node(&assembly, "v");
    assert_eq!(starts(v), [12_288, 12_288]);
    assert_eq!(v.layer.size.as_ref().expect("known").value, Bytes::mib(4));
    assert!(
        v.layer.grid(GridRole::StripeUnit).is_none(),
        "a mirror has none"
    );
}

#[test]
fn imsm_that_is_damaged_is_read_and_told() {
    let disks = made(
        "set imsm generation=9
        disk a size=16384 serial=S-A break=44
        disk b size=16384 serial=S-B
        volume v level=0 strip=0 used=4096 disks=a,b
        volume w level=1 strip=8 used=20000 start=8192 disks=a,b",
    );
    let broken = recognised("imsm", &disks[0].1).expect("a member").detected;
    let broken: Vec<&str> = broken.anomalies.iter().map(|o| o.detail.as_str()).collect();
    assert!(
        broken[0].contains("the metadata's checksum is"),
        "{broken:?}"
    );
    let assembly = assembled("imsm", &disks);
    let (v, w) = (node(&assembly, "v"), node(&assembly, "w"));
    assert!(odd(v).contains("its stripe unit is zero"), "{}", odd(v));
    assert_eq!(v.layer.map, Map::Segments(Vec::new()));
    assert!(
        odd(w).contains("the member ends at 8,388,608"),
        "{}",
        odd(w)
    );
}

#[test]
fn disks_that_are_kept_ready_are_left_alone() {
    let spare = made(
        "set ddf
        disk a size=70000
        disk b size=70000
        volume v level=0 strip=64 used=4096 disks=a",
    );
    assert!(recognised("ddf", &spare[1].1).is_none());
    let empty = made("set imsm\ndisk a size=16384");
    assert!(recognised("imsm", &empty[0].1).is_none());
}
