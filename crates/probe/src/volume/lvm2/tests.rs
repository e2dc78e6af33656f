use super::*;
use crate::volume::{Below, Holds, Node};
use straddle_geometry::{Bytes, Map, RaidLayout, Rotation};
use straddle_io::Reader;

const GROUP: &str = "GROUPG-GGGG-GGGG-GGGG-GGGG-GGGG-GGGGGG";
const AREA: usize = 4096;
const LENGTH: usize = 1_044_480;
/// Extents are of 64 KiB, the first at 1 MiB.
const EXTENT: u64 = 65_536;
const START: u64 = 1 << 20;

fn id(number: usize) -> String {
    format!("PV0000-0000-0000-0000-0000-0000-{number:06}")
}

fn put(disk: &mut [u8], at: usize, bytes: &[u8]) {
    disk[at..at + bytes.len()].copy_from_slice(bytes);
}

fn le(number: usize) -> [u8; 8] {
    u64::try_from(number).expect("fits").to_le_bytes()
}

/// A physical volume of 4 MiB with this text, which lies at byte `at` of its metadata area of `length` bytes.
fn volume(number: usize, text: &str, at: usize, length: usize) -> Vec<u8> {
    let mut disk = vec![0; 4 << 20];
    let mut label = [0; 512];
    put(&mut label, 0, b"LABELONE");
    put(&mut label, 8, &le(1));
    put(&mut label, 20, &32_u32.to_le_bytes());
    put(&mut label, 24, b"LVM2 001");
    put(&mut label, 32, id(number).replace('-', "").as_bytes());
    put(&mut label, 64, &le(4 << 20));
    put(&mut label, 72, &le(1 << 20));
    put(&mut label, 104, &le(AREA));
    put(&mut label, 112, &le(length));
    put(&mut label, 136, &2_u32.to_le_bytes());
    put(&mut label, 140, &1_u32.to_le_bytes());
    let sum = crc::of(&label[20..]);
    put(&mut label, 16, &sum.to_le_bytes());
    put(&mut disk, 512, &label);
    let mut head = [0; 512];
    put(&mut head, 4, b" LVM2 x[5A%r0N*>");
    put(&mut head, 20, &1_u32.to_le_bytes());
    put(&mut head, 24, &le(AREA));
    put(&mut head, 32, &le(length));
    if !text.is_empty() {
        put(&mut head, 40, &le(at));
        put(&mut head, 48, &le(text.len()));
        put(&mut head, 56, &crc::of(text.as_bytes()).to_le_bytes());
    }
    let sum = crc::of(&head[4..]);
    put(&mut head, 0, &sum.to_le_bytes());
    put(&mut disk, AREA, &head);
    let (first, second) = text.split_at(text.len().min(length - at));
    put(&mut disk, AREA + at, first.as_bytes());
    put(&mut disk, AREA + 512, second.as_bytes());
    disk
}

/// The text of a group of `count` physical volumes.
fn text(revision: u64, count: usize, volumes: &str) -> String {
    let mut out = format!(
        "vg {{\nid = \"{GROUP}\"\nseqno = {revision}\nextent_size = 128\nphysical_volumes {{\n"
    );
    for number in 0..count {
        out += &format!(
            "pv{number} {{\nid = \"{}\"\npe_start = 2048\npe_count = 48\n}}\n",
            id(number)
        );
    }
    out + "}\nlogical_volumes {\n" + volumes + "}\n}\nversion = 1\n\0"
}

/// A logical volume; hidden when its name has an underscore.
fn lv(name: &str, segments: &[(u64, u64, &str)]) -> String {
    let status = if name.contains('_') {
        ""
    } else {
        "\"VISIBLE\""
    };
    let mut out = format!("{name} {{\nstatus = [{status}]\n");
    for (number, (start, count, rest)) in segments.iter().enumerate() {
        out += &format!(
            "segment{} {{\nstart_extent = {start}\nextent_count = {count}\n{rest}\n}}\n",
            number + 1
        );
    }
    out + "}\n"
}

fn linear(on: &str, first: u64) -> String {
    format!("type = \"striped\"\nstripe_count = 1\nstripes = [\"{on}\", {first}]")
}

fn recognised(disk: &[u8]) -> Recognised {
    let reader = Reader::new(&disk);
    let found = FORMAT.run(&Window::whole(&reader, None)).expect("readable");
    found.expect("a physical volume")
}

fn assembled(disks: &[&[u8]]) -> Vec<Node> {
    let readers: Vec<Reader<'_>> = disks.iter().map(|disk| Reader::new(disk)).collect();
    let parts: Vec<Part<'_>> = readers
        .iter()
        .map(|reader| Part {
            window: Window::whole(reader, None),
            name: "disk",
            serial: None,
        })
        .collect();
    assemble(&parts).expect("readable").nodes
}

/// The volumes of one group of `count` physical volumes, all given.
fn group(count: usize, volumes: &str) -> Vec<Node> {
    let text = text(1, count, volumes);
    let disks: Vec<Vec<u8>> = (0..count).map(|n| volume(n, &text, 512, LENGTH)).collect();
    let disks: Vec<&[u8]> = disks.iter().map(Vec::as_slice).collect();
    assembled(&disks)
}

fn node<'n>(nodes: &'n [Node], name: &str) -> &'n Node {
    let found = nodes.iter().find(|node| node.layer.name == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

fn anomalies(node: &Node) -> Vec<(AnomalyKind, &str)> {
    let all = node.layer.anomalies.iter();
    all.map(|odd| (odd.kind, odd.detail.as_str())).collect()
}

fn value(found: &Recognised, key: Key) -> String {
    let attributes = &found.detected.attributes;
    let attribute = attributes.iter().find(|attribute| attribute.key == key);
    attribute.map_or("none".to_owned(), |attribute| {
        attribute.value.value.to_string()
    })
}

#[test]
fn a_physical_volume_says_what_it_is_a_member_of() {
    let disk = volume(1, &text(7, 2, ""), 512, LENGTH);
    let found = recognised(&disk);
    assert_eq!((found.set.as_str(), found.of), (GROUP, Some(2)));
    assert_eq!(found.member, id(1));
    assert_eq!(value(&found, Key::VolumeGroup), "vg");
    assert_eq!(value(&found, Key::FirstExtent), Bytes::mib(1).to_string());
    assert_eq!(
        value(&found, Key::ExtentSize),
        Bytes::new(EXTENT).to_string()
    );
    assert_eq!(value(&found, Key::Events), "7");
    assert_eq!(found.detected.anomalies, []);
}

#[test]
fn every_fact_of_the_text_points_at_its_bytes_also_behind_the_end_of_the_area() {
    let text = text(7, 1, "");
    let wraps = text.find("extent_size").expect("there") + 4;
    let disk = volume(0, &text, 2048 - wraps, 2048);
    let found = recognised(&disk);
    assert_eq!(found.detected.anomalies, []);
    let shown = |key| {
        let found = found.detected.attributes.iter().find(|a| a.key == key);
        let straddle_stack::Source::Image(bytes) = &found.expect("a fact").value.source else {
            panic!("from the image")
        };
        String::from_utf8_lossy(bytes.field()).into_owned()
    };
    assert_eq!(shown(Key::VolumeGroup), "vg");
    assert_eq!(shown(Key::ExtentSize), "128");
    assert_eq!(shown(Key::FirstExtent), "2048");
}

#[test]
fn without_a_group_it_is_a_set_of_its_own() {
    let found = recognised(&volume(3, "", 512, LENGTH));
    assert_eq!((found.set, found.of), (id(3), Some(1)));
    assert_eq!(found.detected.anomalies.len(), 1);
    assert!(
        found.detected.anomalies[0]
            .detail
            .starts_with("it belongs to a volume group")
    );
    assert!(assembled(&[&volume(3, "", 512, LENGTH)]).is_empty());
}

#[test]
fn checksums_are_verified_and_what_is_sane_is_read_all_the_same() {
    let good = volume(0, &text(1, 1, ""), 512, LENGTH);
    for (at, what) in [
        (512 + 200, "the checksum of the LVM2 label is"),
        (
            AREA + 200,
            "the checksum of the metadata area at byte 4096 is",
        ),
        (
            AREA + 512 + text(1, 1, "").len() - 10,
            "the checksum of the metadata text is",
        ),
    ] {
        let mut disk = good.clone();
        disk[at] ^= 0x20;
        let found = recognised(&disk);
        let details: Vec<&str> = found
            .detected
            .anomalies
            .iter()
            .map(|o| o.detail.as_str())
            .collect();
        assert!(
            details.iter().any(|detail| detail.starts_with(what)),
            "{details:?}"
        );
        assert_eq!(found.set, GROUP);
    }
    let mut disk = good;
    disk[AREA + 4] ^= 1;
    assert_eq!(recognised(&disk).set, id(0));
}

#[test]
fn a_text_longer_than_the_limit_is_not_read() {
    let mut disk = volume(0, &text(1, 1, ""), 512, LENGTH);
    put(&mut disk, AREA + 48, &le(1 << 30));
    let found = recognised(&disk);
    assert!(
        found
            .detected
            .anomalies
            .iter()
            .any(|o| o.kind == AnomalyKind::Damaged)
    );
    // An area that would hold it.
    let mut disk = volume(0, &text(1, 1, ""), 512, LENGTH);
    disk.resize(16 << 20, 0);
    put(&mut disk, 512 + 112, &le(12 << 20));
    put(&mut disk, AREA + 32, &le(12 << 20));
    put(&mut disk, AREA + 48, &le(5 << 20));
    let found = recognised(&disk);
    let limit = found
        .detected
        .anomalies
        .iter()
        .find(|o| o.kind == AnomalyKind::LimitReached);
    let detail = &limit.expect("a limit").detail;
    assert!(
        detail.starts_with("metadata of 5242880 bytes; at most 4194304 are read"),
        "{detail}"
    );
}

#[test]
fn linear_pieces_that_continue_each_other_are_one() {
    let nodes = group(
        2,
        &(lv(
            "one",
            &[(0, 4, &linear("pv0", 3)), (4, 2, &linear("pv0", 7))],
        ) + &lv(
            "two",
            &[(0, 4, &linear("pv0", 20)), (4, 2, &linear("pv1", 9))],
        )),
    );
    let one = &node(&nodes, "vg/one").layer;
    assert_eq!(
        one.map,
        Map::Linear {
            start: Bytes::new(START + 3 * EXTENT)
        }
    );
    assert_eq!(one.size.as_ref().map(|s| s.value.get()), Some(6 * EXTENT));
    assert_eq!(one.format.as_deref(), Some("linear"));
    assert_eq!(one.text(Key::Label), Some("vg-one"));
    let two = node(&nodes, "vg/two");
    let place = two
        .layer
        .map
        .locate(Bytes::new(5 * EXTENT))
        .expect("a place");
    assert_eq!((place.target, place.offset.get()), (1, START + 10 * EXTENT));
    assert_eq!(two.below, [Below::Part(0), Below::Part(1)]);
    assert_eq!(two.holds, Holds::Volume);
}

#[test]
fn segments_of_different_shapes_are_layers_of_their_own() {
    let striped = "type = \"striped\"\nstripe_count = 2\nstripe_size = 32\nstripes = [\"pv0\", 0, \"pv1\", 4]";
    let nodes = group(2, &lv("lv", &[(0, 4, striped), (4, 1, &linear("pv0", 9))]));
    let inner = node(&nodes, "vg/lv segment 1");
    let Map::Striped(striping) = &inner.layer.map else {
        panic!("stripes")
    };
    assert_eq!(striping.unit.get(), 16_384);
    assert_eq!(striping.starts, [START, START + 4 * EXTENT].map(Bytes::new));
    assert_eq!(inner.holds, Holds::Nothing);
    let outer = node(&nodes, "vg/lv");
    assert_eq!(outer.below, [Below::Node(0), Below::Part(0)]);
    assert_eq!(outer.layer.format.as_deref(), Some("striped+linear"));
    let place = outer
        .layer
        .map
        .locate(Bytes::new(4 * EXTENT))
        .expect("a place");
    assert_eq!((place.target, place.offset.get()), (1, START + 9 * EXTENT));
}

/// Images and metadata images of an array `r` over all of `count` physical volumes, each of five extents, and the array.
fn array(count: usize, segment: &str) -> String {
    let mut out = String::new();
    let mut images = Vec::new();
    for number in 0..count {
        out += &lv(
            &format!("r_i{number}"),
            &[(0, 5, &linear(&format!("pv{number}"), 2))],
        );
        out += &lv(
            &format!("r_m{number}"),
            &[(0, 1, &linear(&format!("pv{number}"), 0))],
        );
        images.push(format!("\"r_m{number}\", \"r_i{number}\""));
    }
    out + &lv(
        "r",
        &[(
            0,
            10,
            &format!(
                "{segment}\nstripe_size = 32\nraids = [{}]",
                images.join(", ")
            ),
        )],
    )
}

#[test]
fn arrays_have_the_layouts_of_device_mapper() {
    let layout = |kind: &str| {
        let nodes = group(
            3,
            &array(3, &format!("type = \"{kind}\"\ndevice_count = 3")),
        );
        let layer = &node(&nodes, "vg/r").layer;
        let Map::Raid(raid) = &layer.map else {
            panic!("an array")
        };
        (raid.layout, layer.text(Key::Level).map(str::to_owned))
    };
    let parity = RaidLayout::Parity;
    assert_eq!(
        layout("raid4"),
        (parity(Rotation::First), Some("raid4".to_owned()))
    );
    assert_eq!(
        layout("raid5"),
        (parity(Rotation::LeftSymmetric), Some("raid5_ls".to_owned()))
    );
    assert_eq!(layout("raid5_n+RESHAPE").0, parity(Rotation::Last));
    let nodes = group(3, &array(3, "type = \"raid5\"\ndevice_count = 3"));
    let layer = &node(&nodes, "vg/r").layer;
    let unit = |role| layer.grid(role).map(|grid| grid.value.unit().get());
    assert_eq!(unit(straddle_stack::GridRole::StripeUnit), Some(16_384));
    assert_eq!(unit(straddle_stack::GridRole::FullStripe), Some(32_768));
}

#[test]
fn only_metadata_images_tell_where_data_start_after_reshaping() {
    let text = text(
        1,
        3,
        &array(3, "type = \"raid5\"\nreshape_count = 1\ndevice_count = 3"),
    );
    let mut disks: Vec<Vec<u8>> = (0..3).map(|n| volume(n, &text, 512, LENGTH)).collect();
    let read = |disks: &[Vec<u8>]| {
        let disks: Vec<&[u8]> = disks.iter().map(Vec::as_slice).collect();
        let nodes = assembled(&disks);
        let node = node(&nodes, "vg/r");
        let start = match &node.layer.map {
            Map::Raid(raid) => raid.starts.first().map(|start| start.get()),
            _ => None,
        };
        (
            start,
            node.layer.size.clone().map(|s| s.value.get()),
            anomalies(node).first().map(|odd| odd.0),
        )
    };
    let size = Some(8 * EXTENT);
    assert_eq!(read(&disks), (None, size, Some(AnomalyKind::Missing)));
    let at = usize::try_from(START).expect("fits");
    put(&mut disks[1], at, b"DmRd\x01\0\0\0");
    put(&mut disks[1], at + 96, &le(128));
    assert_eq!(read(&disks), (Some(EXTENT), size, None));
    put(&mut disks[1], at + 96, &le(256));
    assert_eq!(read(&disks), (None, size, Some(AnomalyKind::Damaged)));
    put(&mut disks[1], at + 60, &[1]);
    assert_eq!(read(&disks), (None, size, Some(AnomalyKind::Reshaping)));
}

#[test]
fn pools_caches_and_snapshots_lie_on_their_parts() {
    let nodes = group(
        1,
        &(lv("p_tdata", &[(0, 9, &linear("pv0", 0))])
            + &lv("p_tmeta", &[(0, 1, &linear("pv0", 9))])
            + &lv(
                "thin",
                &[(
                    0,
                    90,
                    "type = \"thin\"\nthin_pool = \"p\"\norigin = \"thin\"",
                )],
            )
            + &lv(
                "p",
                &[(
                    0,
                    9,
                    "type = \"thin-pool\"\nmetadata = \"p_tmeta\"\npool = \"p_tdata\"\nchunk_size = 384",
                )],
            )
            + &lv("o", &[(0, 3, &linear("pv0", 10))])
            + &lv("s", &[(0, 2, &linear("pv0", 13))]).replace("\"VISIBLE\"", "")
            + &lv(
                "snapshot0",
                &[(
                    0,
                    3,
                    "type = \"snapshot\"\nchunk_size = 16\norigin = \"o\"\ncow_store = \"s\"",
                )],
            )
            + &lv("c_orig", &[(0, 3, &linear("pv0", 20))])
            + &lv("k_data", &[(0, 2, &linear("pv0", 23))])
            + &lv("k_meta", &[(0, 1, &linear("pv0", 25))])
            + &lv(
                "k_pool",
                &[(
                    0,
                    2,
                    "type = \"cache-pool\"\ndata = \"k_data\"\nmetadata = \"k_meta\"\nchunk_size = 128\ncache_mode = \"writeback\"",
                )],
            )
            + &lv(
                "c",
                &[(
                    0,
                    3,
                    "type = \"cache\"\ncache_pool = \"k_pool\"\norigin = \"c_orig\"",
                )],
            )),
    );
    let names: Vec<&str> = nodes.iter().map(|node| node.layer.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "vg/p_tdata",
            "vg/p_tmeta",
            "vg/p",
            "vg/thin",
            "vg/o",
            "vg/c_orig",
            "vg/k_data",
            "vg/k_meta",
            "vg/c",
            "vg/s-cow",
            "vg/s"
        ]
    );
    let chunk = |name| {
        node(&nodes, name)
            .layer
            .grid(straddle_stack::GridRole::ThinChunk)
            .map(|g| g.value.unit().get())
    };
    assert_eq!(
        ["vg/p", "vg/thin", "vg/s", "vg/c"].map(chunk),
        [196_608, 196_608, 8192, 65_536].map(Some)
    );
    assert_eq!(node(&nodes, "vg/p").below, [Below::Node(0), Below::Node(1)]);
    assert_eq!(node(&nodes, "vg/thin").below, [Below::Node(2)]);
    assert_eq!(node(&nodes, "vg/thin").holds, Holds::Nothing);
    assert_eq!(node(&nodes, "vg/c").below, [5, 6, 7].map(Below::Node));
    assert_eq!(anomalies(node(&nodes, "vg/c"))[0].0, AnomalyKind::Pending);
    assert_eq!(node(&nodes, "vg/s").below, [Below::Node(4), Below::Node(9)]);
}

#[test]
fn what_is_missing_is_called_by_its_identifier() {
    let text = text(1, 2, &lv("lv", &[(0, 4, &linear("pv1", 0))]));
    let nodes = assembled(&[&volume(0, &text, 512, LENGTH)]);
    assert_eq!(node(&nodes, "vg/lv").below, [Below::Missing(id(1))]);
}

#[test]
fn the_newest_text_of_all_members_is_used() {
    let old = volume(
        0,
        &text(3, 2, &lv("old", &[(0, 4, &linear("pv0", 0))])),
        512,
        LENGTH,
    );
    let new = volume(
        1,
        &text(4, 2, &lv("new", &[(0, 4, &linear("pv1", 0))])),
        512,
        LENGTH,
    );
    let nodes = assembled(&[&old, &new]);
    assert_eq!(nodes.len(), 1);
    let (kind, detail) = anomalies(node(&nodes, "vg/new"))[0];
    assert_eq!(kind, AnomalyKind::MembersDiffer);
    assert!(
        detail.contains("of revision 4") && detail.ends_with("older: disk 3"),
        "{detail}"
    );
}

#[test]
fn what_cannot_be_is_named_and_lies_nowhere() {
    let nodes = group(
        1,
        &(lv("a", &[(0, 4, &linear("b", 0))])
            + &lv("b", &[(0, 4, &linear("a", 0))])
            + &lv("huge", &[(0, u64::MAX, &linear("pv0", u64::MAX))])
            + &lv("beyond", &[(0, 4, &linear("pv0", 46))])
            + &lv(
                "twice",
                &[(0, 4, &linear("pv0", 0)), (2, 4, &linear("pv0", 8))],
            )
            + &lv("gone", &[(0, 4, &linear("nobody", 0))])
            + &lv("strange", &[(0, 4, "type = \"hologram\"")])),
    );
    let kinds = |name| {
        anomalies(node(&nodes, name))
            .iter()
            .map(|odd| odd.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds("vg/b"), [AnomalyKind::Chain]);
    assert_eq!(kinds("vg/huge"), [AnomalyKind::Damaged]);
    assert_eq!(kinds("vg/beyond"), [AnomalyKind::Overlap]);
    assert_eq!(
        kinds("vg/twice"),
        [AnomalyKind::Damaged, AnomalyKind::Damaged]
    );
    assert_eq!(kinds("vg/gone"), [AnomalyKind::Damaged]);
    assert_eq!(kinds("vg/strange"), [AnomalyKind::Missing]);
    for name in ["vg/b", "vg/huge", "vg/twice", "vg/gone", "vg/strange"] {
        let node = node(&nodes, name);
        assert_eq!(
            (node.layer.map.locate(Bytes::ZERO), node.holds),
            (None, Holds::Nothing),
            "{name}"
        );
    }
}

#[test]
fn extents_that_two_volumes_claim_are_named() {
    let nodes = group(
        1,
        &(lv("one", &[(0, 4, &linear("pv0", 0))]) + &lv("two", &[(0, 4, &linear("pv0", 3))])),
    );
    assert_eq!(
        anomalies(node(&nodes, "vg/two")),
        [(AnomalyKind::Overlap, "extent 3 of pv0 belongs to one too")]
    );
}

#[test]
fn at_most_4096_layers_come_out() {
    let volumes: String = (0..5000).map(|n| format!("l{n}{{status=[\"VISIBLE\"]\ns{{start_extent=0\nextent_count=1\ntype=\"error\"}}}}\n")).collect();
    let nodes = group(1, &volumes);
    assert_eq!(nodes.len(), 4096);
    assert_eq!(anomalies(&nodes[0])[0].0, AnomalyKind::LimitReached);
}
