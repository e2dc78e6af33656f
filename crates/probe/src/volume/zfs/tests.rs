//! Labels built by hand, and what they are read as.

use straddle_geometry::Map;
use straddle_io::Reader;
use straddle_stack::{AnomalyKind, GridRole, Key, Layer, LayerKind};

use super::nvlist::tests::{encoded, list, number, pair, text};
use super::*;
use crate::fixture::{Asked, Volume};
use crate::volume::{Assembly, Below, Part};

const SIZE: usize = 1 << 20;

/// A device whose four labels have this configuration, without checksums.
fn device(pairs: &[Vec<u8>]) -> Volume {
    let config = encoded(pairs);
    [0, 1, 2, 3]
        .into_iter()
        .fold(Volume::new(SIZE), |volume, label| {
            volume.with(label * 262_144 + 16_384, &config)
        })
}

fn disk(id: u64, guid: u64) -> Vec<u8> {
    list(&[
        text("type", "disk"),
        number("id", id),
        number("guid", guid),
        text("path", &format!("/dev/sd{id}")),
    ])
}

fn group(kind: &str, ashift: u64, more: &[Vec<u8>], guids: &[u64]) -> Vec<u8> {
    let children: Vec<Vec<u8>> = guids
        .iter()
        .zip(0..)
        .map(|(guid, id)| disk(id, *guid))
        .collect();
    let count = u32::try_from(guids.len()).expect("few");
    let pairs = [
        text("type", kind),
        number("id", 0),
        number("ashift", ashift),
        number("asize", 1 << 40),
        number("metaslab_shift", 34),
        more.concat(),
        pair("children", 20, count, &children.concat()),
    ];
    pair("vdev_tree", 19, 1, &list(&pairs))
}

fn config(guid: u64, tree: Vec<u8>, more: &[Vec<u8>]) -> Vec<Vec<u8>> {
    vec![
        number("version", 5000),
        text("name", "tank"),
        number("state", 0),
        number("txg", 9),
        number("pool_guid", 1000),
        number("guid", guid),
        number("vdev_children", 1),
        tree,
        more.concat(),
    ]
}

fn recognised(volume: &Volume) -> Option<Recognised> {
    let reader = Reader::new(&volume.0);
    FORMAT.run(&Window::whole(&reader, None)).expect("readable")
}

fn assembled(volumes: &[Volume]) -> Assembly {
    let readers: Vec<Reader<'_>> = volumes
        .iter()
        .map(|volume| Reader::new(&volume.0))
        .collect();
    let parts: Vec<Part<'_>> = readers
        .iter()
        .map(|reader| Part {
            window: Window::whole(reader, None),
            name: "sda",
            serial: None,
        })
        .collect();
    (FORMAT.assemble)(&parts).expect("readable")
}

fn text_of(layer: &Layer, key: Key) -> &str {
    layer.text(key).expect("a text")
}

#[test]
fn a_member_says_what_it_belongs_to_and_shows_where() {
    let tree = group("mirror", 12, &[], &[7, 8]);
    let found = recognised(&device(&config(7, tree, &[]))).expect("zfs");
    assert_eq!((found.set.as_str(), found.member.as_str()), ("1000", "7"));
    assert_eq!(found.of, Some(2));
    let detected = &found.detected;
    assert_eq!(detected.text(Key::Pool).as_deref(), Some("tank"));
    assert_eq!(detected.text(Key::State).as_deref(), Some("active"));
    assert_eq!(detected.get(Key::Txg).expect("it").to_string(), "9");
    assert_eq!(detected.bytes(Key::DataOffset), Some(4 << 20));
    let (at, bytes) = detected.evidence(Key::PoolGuid).expect("bytes");
    assert_eq!(bytes, 1000_u64.to_be_bytes());
    assert_eq!(
        &device(&config(7, group("mirror", 12, &[], &[7, 8]), &[])).0
            [usize::try_from(at).expect("small")..][..8],
        bytes
    );
    // These labels have no checksum.
    assert_eq!(detected.anomalies(), [AnomalyKind::Damaged]);
}

#[test]
fn a_raidz_deals_sectors_to_its_disks_in_turn_from_4_mib_on() {
    let tree = || group("raidz", 12, &[number("nparity", 2)], &[10, 11, 12, 13]);
    let given = [10, 13].map(|guid| device(&config(guid, tree(), &[])));
    let assembly = assembled(&given);
    let [array, filesystem] = assembly.nodes.as_slice() else {
        panic!("{assembly:#?}")
    };
    assert_eq!(array.layer.name, "tank/raidz2-0");
    assert_eq!(text_of(&array.layer, Key::Level), "raidz2");
    assert_eq!(
        array.below,
        [
            Below::Part(0),
            Below::Missing("/dev/sd1".into()),
            Below::Missing("/dev/sd2".into()),
            Below::Part(1)
        ]
    );
    let Map::Striped(striping) = &array.layer.map else {
        panic!("{:?}", array.layer.map)
    };
    assert_eq!(striping.unit.get(), 4096);
    assert!(striping.starts.iter().all(|start| start.get() == 4 << 20));
    let unit = array.layer.grid(GridRole::StripeUnit).expect("a grid");
    assert_eq!(unit.value.unit().get(), 4096);
    let data = array.layer.attribute(Key::DataMembers).expect("it");
    assert_eq!(data.value.to_string(), "2");
    assert_eq!(filesystem.layer.name, "tank");
    assert_eq!(filesystem.layer.kind, LayerKind::Filesystem);
    assert_eq!(
        filesystem.layer.size.as_ref().expect("it").value.get(),
        1 << 40
    );
    let slab = filesystem.layer.bytes(Key::MetaslabSize).expect("it");
    assert_eq!(slab.value.get(), 1 << 34);
}

#[test]
fn draid_and_what_is_being_expanded_are_placed_nowhere() {
    let draid = [
        number("nparity", 1),
        number("draid_ndata", 4),
        number("draid_nspares", 1),
    ];
    let tree = group("draid", 12, &draid, &[10, 11, 12, 13, 14, 15]);
    let assembly = assembled(&[device(&config(10, tree, &[]))]);
    let array = &assembly.nodes[0].layer;
    assert_eq!(array.name, "tank/draid1:4d:6c:1s-0");
    assert_eq!(array.map, Map::Segments(Vec::new()));

    let expanding = [number("nparity", 1), pair("raidz_expanding", 1, 0, &[])];
    let tree = group("raidz", 12, &expanding, &[10, 11, 12]);
    let assembly = assembled(&[device(&config(10, tree, &[]))]);
    let array = &assembly.nodes[0].layer;
    assert_eq!(array.map, Map::Segments(Vec::new()));
    assert_eq!(array.anomalies[0].kind, AnomalyKind::Pending);
}

#[test]
fn a_disk_by_itself_a_log_and_a_vdev_of_which_nothing_is_there() {
    let top = |id, guid, log| {
        let pairs = [
            text("type", "disk"),
            number("id", id),
            number("guid", guid),
            number("ashift", 9),
            number("asize", 1 << 30),
            number("is_log", log),
        ];
        pair("vdev_tree", 19, 1, &list(&pairs))
    };
    let four = |guid, tree| {
        let mut pairs = config(guid, tree, &[]);
        pairs[6] = number("vdev_children", 4);
        let holes = [[0, 0, 0, 1].to_vec(), 2_u64.to_be_bytes().to_vec()].concat();
        pairs.push(pair("hole_array", 16, 1, &holes));
        device(&pairs)
    };
    let assembly = assembled(&[four(70, top(0, 70, 0)), four(71, top(1, 71, 1))]);
    let [data, log] = assembly.nodes.as_slice() else {
        panic!("{assembly:#?}")
    };
    assert_eq!(data.layer.name, "tank/disk-0");
    assert_eq!(
        data.layer.map,
        Map::Linear {
            start: straddle_geometry::Bytes::mib(4)
        }
    );
    assert_eq!(
        (log.layer.kind, log.layer.name.as_str()),
        (LayerKind::Volume, "tank/disk-1 (log)")
    );
    let missing: Vec<&str> = [data, log]
        .iter()
        .flat_map(|node| &node.layer.anomalies)
        .filter(|odd| odd.kind == AnomalyKind::Missing)
        .map(|odd| odd.detail.as_str())
        .collect();
    assert_eq!(missing.len(), 1);
    assert!(
        missing[0].contains("number 3 has no device here"),
        "{missing:?}"
    );
}

#[test]
fn labels_that_disagree_or_are_not_there_are_said() {
    let tree = || group("mirror", 12, &[], &[7, 8]);
    let mut older = config(7, tree(), &[]);
    older[3] = number("txg", 8);
    let volume = device(&config(7, tree(), &[]))
        .with(262_144 + 16_384, encoded(&older))
        .with(3 * 262_144 + 16_384, [0; 16]);
    let found = recognised(&volume).expect("zfs");
    let said: Vec<&str> = found
        .detected
        .anomalies
        .iter()
        .map(|odd| odd.detail.as_str())
        .collect();
    assert!(
        said.iter()
            .any(|said| said.starts_with("label 1 has txg 8; label 0, the newest, has 9")),
        "{said:?}"
    );
    assert!(
        said.iter()
            .any(|said| said.contains("number 3 is not there")),
        "{said:?}"
    );
    let cut = device(&config(7, tree(), &[])).with(16_384 + 12, [0, 0, 0xff, 0xff]);
    let found = recognised(&cut).expect("zfs by another label");
    assert!(
        found.detected.anomalies[0]
            .detail
            .starts_with("label 0 cannot be read")
    );
}

#[test]
fn labels_left_over_under_something_newer_are_not_zfs() {
    let tree = || group("mirror", 12, &[], &[7, 8]);
    let left_over = || device(&config(7, tree(), &[])).with(16_384, [0; 512]);
    assert!(recognised(&left_over()).is_some(), "nothing else is there");
    // A swap header of 4 KiB pages.
    let swap = left_over()
        .with(1024, [1, 0, 0, 0, 0x10, 0, 0, 0])
        .with(4086, b"SWAPSPACE2");
    assert!(recognised(&swap).is_none());
    // A table leaves even the first label.
    let entry = [0, 0, 0, 0, 0x83, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0];
    let divided = device(&config(7, tree(), &[]))
        .with(446, entry)
        .with(510, [0x55, 0xaa]);
    assert!(recognised(&divided).is_none());
}

#[test]
fn hostile_figures_make_statements_and_nothing_large() {
    let tree = group(
        "raidz",
        u64::MAX,
        &[number("nparity", u64::MAX)],
        &[7, 7, 7],
    );
    let mut pairs = config(7, tree, &[]);
    pairs[6] = number("vdev_children", u64::MAX);
    let assembly = assembled(&[device(&pairs)]);
    let kinds: Vec<AnomalyKind> = assembly
        .nodes
        .iter()
        .flat_map(|node| &node.layer.anomalies)
        .map(|odd| odd.kind)
        .collect();
    assert!(kinds.contains(&AnomalyKind::Damaged) && kinds.contains(&AnomalyKind::Missing));
    let children: Vec<Vec<u8>> = (0..1100)
        .map(|guid| list(&[number("guid", guid)]))
        .collect();
    let children = pair("children", 20, 1100, &children.concat());
    let tree = list(&[text("type", "mirror"), number("ashift", 9), children]);
    let many = device(&config(7, pair("vdev_tree", 19, 1, &tree), &[]));
    let assembly = assembled(&[many]);
    assert_eq!(assembly.nodes[0].below.len(), 1024);
    assert_eq!(
        assembly.nodes[0].layer.anomalies[0].kind,
        AnomalyKind::LimitReached
    );
}
