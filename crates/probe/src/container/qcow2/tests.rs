use super::*;
use crate::container::testing::{extent, listed, open, table, work};
use crate::fixture::{Asked, Volume};
use straddle_geometry::{Gap, Listed, Listing, Segment};

/// A header of version 3 with clusters of `1 << bits` bytes, a disk of `size` bytes and an L1 table of `l1` entries in
/// cluster 1; the file has eight clusters.
fn image(bits: u32, size: u64, l1: u32) -> Volume {
    Volume::new(8 << bits)
        .with(0, b"QFI\xfb")
        .with(0x04, 3_u32.to_be_bytes())
        .with(0x14, bits.to_be_bytes())
        .with(0x18, size.to_be_bytes())
        .with(0x24, l1.to_be_bytes())
        .with(0x28, (1_u64 << bits).to_be_bytes())
        .with(0x60, 4_u32.to_be_bytes())
        .with(0x64, 112_u32.to_be_bytes())
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn piece(start: u64, len: u64, target: usize, lower: u64) -> Listed {
    Listed::Piece(Segment {
        upper: extent(start, len),
        target,
        lower: Bytes::new(lower),
    })
}

fn gap(start: u64, len: u64, gap: Gap) -> Listed {
    Listed::Gap(extent(start, len), gap)
}

#[test]
fn both_levels_are_followed() {
    // 64 entries of 512 bytes to an L2 table: two tables and a hole between them; the last cluster is half one.
    let image = image(9, 2 * 32_768 + 1024 + 256, 3)
        .with(0x200, words(&[0x8000_0000_0000_0400, 0, 0x600]))
        .with(
            0x400,
            words(&[0x8000_0000_0000_0a00, 0xc00, 0, 1, 0xe01, 0xa00]),
        )
        .with(0x600, words(&[0, 0xa00, 0xc00]));
    let container = open(&FORMAT, &image);
    assert_eq!(container.detected.anomalies(), []);
    assert_eq!(
        container.detected.grid(GridRole::ContainerBlock),
        Some((512, 0))
    );
    assert_eq!(
        container.detected.text(Key::Version).as_deref(),
        Some("3"),
        "version"
    );
    assert_eq!(
        container.detected.text(Key::ClusterCompression).as_deref(),
        Some("deflate")
    );
    let disk = container.disk.expect("a disk");
    assert_eq!(disk.size.value, Bytes::new(66_816));
    assert_eq!(
        listed(&disk),
        [
            piece(0, 1024, 0, 0xa00),
            gap(1024, 512, Gap::Absent),
            gap(1536, 1024, Gap::Zero),
            piece(2560, 512, 0, 0xa00),
            gap(3072, 62_976, Gap::Absent),
            piece(66_048, 768, 0, 0xa00),
        ]
    );
}

#[test]
fn a_hole_of_many_tables_is_sent_as_one() {
    #[derive(Default)]
    struct Calls(Vec<(u64, u64)>, usize);
    impl straddle_geometry::Sink for Calls {
        fn blocks(&mut self, _: Bytes, _: usize, _: &[u64]) {
            self.1 += 1;
        }
        fn piece(&mut self, _: Segment) {}
        fn gap(&mut self, upper: Extent, _: Gap) {
            self.0.push((upper.start().get(), upper.len().get()));
        }
    }
    // 512 entries of 4 KiB to an L2 table: 2 MiB. Only the third of 16 is there.
    let image = image(12, 16 << 21, 16).with(0x1010, words(&[0x2000]));
    let disk = open(&FORMAT, &image).disk.expect("a disk");
    let mut calls = Calls::default();
    let whole = Extent::whole(disk.size.value);
    table(&disk).stream(whole, &mut calls).expect("readable");
    assert_eq!(calls.0, [(0, 4 << 20), (6 << 20, 26 << 20)]);
    assert_eq!(calls.1, 1);
}

#[test]
fn compressed_clusters_lie_at_any_byte() {
    use std::io::Write;
    // With clusters of 4 KiB the offset has 58 bits and the number of sectors 4.
    let entry = 1 << 62 | 2_u64 << 58 | 0x3123;
    let guest: Vec<u8> = (0..4096_u32).map(|n| (n / 7 % 251) as u8).collect();
    let mut deflate =
        flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    deflate.write_all(&guest).expect("in memory");
    let packed = deflate.finish().expect("in memory");
    assert!(packed.len() < 1500, "{}", packed.len());
    let image = image(12, 4096, 1)
        .with(0x1000, words(&[0x2000]))
        .with(0x2000, words(&[entry]))
        .with(0x3123, &packed);
    let disk = open(&FORMAT, &image).disk.expect("a disk");
    assert_eq!(listed(&disk), [gap(0, 4096, Gap::Packed)]);
    let place = table(&disk).locate(Bytes::new(77)).expect("readable");
    assert_eq!(
        place,
        straddle_geometry::Place::Packed {
            upper: extent(0, 4096),
            target: 0,
            lower: extent(0x3123, 3 * 512 - 0x123),
        }
    );
    let bytes = &image.0[0x3123..0x3123 + 3 * 512 - 0x123];
    let mut out = vec![0; 4096];
    table(&disk).unpack(bytes, &mut out).expect("unpacks");
    assert_eq!(out, guest);
    // A part of a cluster can be had, and no more than there is.
    let mut out = vec![0; 100];
    table(&disk).unpack(bytes, &mut out).expect("unpacks");
    assert_eq!(out, guest[..100]);
    let error = table(&disk).unpack(bytes, &mut vec![0; 4097]);
    assert_eq!(
        error.expect_err("too short").to_string(),
        "a compressed cluster ends after 4096 bytes; expected 4097"
    );
}

#[test]
fn subclusters_are_parts_of_a_cluster() {
    let subcluster = 512;
    let image = image(14, 5 << 14, 1)
        .with(0x48, EXTENDED_L2.to_be_bytes())
        .with(0x4000, words(&[0x8000]))
        .with(
            0x8000,
            words(&[
                // All there; none; all zeroes, the cluster kept; the first four there, then four zeroes, then none;
                // the last one zeroes, without a cluster.
                0x1_0000,
                0xffff_ffff,
                0x1_4000,
                0,
                0x1_8000,
                0xffff_ffff_0000_0000,
                0x1_c000,
                0x0000_00f0_0000_000f,
                0,
                0x8000_0000_0000_0000,
            ]),
        );
    let container = open(&FORMAT, &image);
    assert_eq!(
        container.detected.bytes(Key::SubclusterSize),
        Some(subcluster)
    );
    let disk = container.disk.expect("a disk");
    let at = 3 << 14;
    assert_eq!(
        listed(&disk),
        [
            piece(0, 1 << 14, 0, 0x1_0000),
            gap(1 << 14, 1 << 14, Gap::Absent),
            gap(2 << 14, 1 << 14, Gap::Zero),
            piece(at, 4 * subcluster, 0, 0x1_c000),
            gap(at + 4 * subcluster, 4 * subcluster, Gap::Zero),
            gap(at + 8 * subcluster, 55 * subcluster, Gap::Absent),
            gap((5 << 14) - subcluster, subcluster, Gap::Zero),
        ]
    );
}

#[test]
fn a_data_file_is_target_one_and_may_hold_the_first_cluster_at_its_start() {
    let name = b"disk.raw";
    let image = image(9, 1536, 1)
        .with(0x48, DATA_FILE.to_be_bytes())
        .with(0x58, RAW_DATA_FILE.to_be_bytes())
        .with(112, DATA_FILE_NAME.to_be_bytes())
        .with(116, 8_u32.to_be_bytes())
        .with(120, name)
        .with(0x200, words(&[0x400]))
        // The same places that the tables have in their own file.
        .with(0x400, words(&[COPIED_AT_0, 0x200, 0x400]));
    let container = open(&FORMAT, &image);
    assert_eq!(
        container.detected.evidence(Key::DataFile),
        Some((120, name.to_vec()))
    );
    assert_eq!(
        container.detected.text(Key::RawDataFile).as_deref(),
        Some("yes")
    );
    let disk = container.disk.expect("a disk");
    assert_eq!(disk.references[0].names, ["disk.raw"]);
    assert_eq!(disk.references[0].opens_as, OpensAs::Raw);
    assert_eq!(table(&disk).parent(), None);
    assert_eq!(listed(&disk), [piece(0, 1536, 1, 0)]);
}

const COPIED_AT_0: u64 = 1 << 63;

#[test]
fn the_parent_is_named_with_its_format() {
    let image = image(9, 1024, 1)
        .with(0x08, 300_u64.to_be_bytes())
        .with(0x10, 11_u32.to_be_bytes())
        .with(300, b"a/base.vmdk")
        .with(112, BACKING_FORMAT.to_be_bytes())
        .with(116, 4_u32.to_be_bytes())
        .with(120, b"vmdk");
    let container = open(&FORMAT, &image);
    assert_eq!(
        container.detected.evidence(Key::Parent),
        Some((300, b"a/base.vmdk".to_vec()))
    );
    assert_eq!(
        container.detected.evidence(Key::ParentFormat),
        Some((120, b"vmdk".to_vec()))
    );
    let disk = container.disk.expect("a disk");
    let [parent] = disk.references.as_slice() else {
        panic!("{:?}", disk.references)
    };
    assert_eq!(
        (parent.role, parent.opens_as, parent.names.as_slice()),
        (
            Role::Parent,
            OpensAs::Format("vmdk"),
            &["a/base.vmdk".to_owned()][..]
        )
    );
    assert_eq!(table(&disk).parent(), Some(1));
}

#[test]
fn only_paths_are_followed() {
    let long = "x".repeat(11);
    for (name, want) in [
        ("file:/a/b.im", Some("/a/b.im")),
        ("C:/disks/a.b", Some("C:/disks/a.b")),
        ("./nbd:a-file", Some("./nbd:a-file")),
        ("dir/nbd:a-fi", Some("dir/nbd:a-fi")),
        ("nbd://server", None),
        ("json:{\"a\":1}", None),
        (&format!("{long}a"), Some("xxxxxxxxxxxa")),
    ] {
        assert_eq!(name.len(), 12, "{name}");
        let image = image(9, 1024, 1)
            .with(0x08, 300_u64.to_be_bytes())
            .with(0x10, 12_u32.to_be_bytes())
            .with(300, name);
        let container = open(&FORMAT, &image);
        let disk = container.disk.expect("a disk");
        let names: Vec<&str> = disk.references[0]
            .names
            .iter()
            .map(String::as_str)
            .collect();
        assert_eq!(names, want.into_iter().collect::<Vec<_>>(), "{name}");
        let odd: &[AnomalyKind] = if want.is_some() {
            &[]
        } else {
            &[AnomalyKind::Missing]
        };
        let found: Vec<_> = container
            .detected
            .anomalies
            .iter()
            .map(|o| o.kind)
            .collect();
        assert_eq!(found, odd, "{name}");
    }
}

#[test]
fn version_2_has_no_features() {
    let image = image(9, 1024, 1)
        .with(0x04, 2_u32.to_be_bytes())
        .with(0x3c, 3_u32.to_be_bytes())
        // Where version 3 has its features: the end of the extensions.
        .with(0x48, [0; 64]);
    let container = open(&FORMAT, &image);
    assert_eq!(container.detected.text(Key::Version).as_deref(), Some("2"));
    assert_eq!(
        container.detected.text(Key::Snapshots).as_deref(),
        Some("3")
    );
    assert!(container.detected.get(Key::LazyRefcounts).is_none());
    assert_eq!(
        listed(&container.disk.expect("a disk")),
        [gap(0, 1024, Gap::Absent)]
    );
}

#[test]
fn features_that_are_not_known_refuse_with_their_names() {
    let mut entry = vec![0, 63];
    entry.extend(b"moon phase\x1b[2J");
    entry.resize(48, 0);
    let image = image(9, 1024, 1)
        .with(0x48, (1_u64 << 63 | 1 << 7 | DIRTY).to_be_bytes())
        .with(112, FEATURE_NAMES.to_be_bytes())
        .with(116, 48_u32.to_be_bytes())
        .with(120, entry);
    let container = open(&FORMAT, &image);
    assert!(container.disk.is_none());
    assert_eq!(
        container.detected.anomalies(),
        [AnomalyKind::Damaged, AnomalyKind::Unreadable]
    );
    let detail = &container.detected.anomalies[1].detail;
    assert!(
        detail
            .contains("known here: moon phase\u{fffd}[2J (bit 63), bit 7, which it does not name."),
        "{detail}"
    );
}

#[test]
fn facts_of_the_features() {
    let image = image(9, 1024, 1)
        .with(0x20, 2_u32.to_be_bytes())
        .with(0x48, COMPRESSION_TYPE.to_be_bytes())
        .with(0x50, LAZY_REFCOUNTS.to_be_bytes())
        .with(0x58, BITMAPS.to_be_bytes())
        .with(0x68, [1]);
    let found = open(&FORMAT, &image).detected;
    let text = |key| found.text(key).unwrap_or_default();
    assert_eq!(text(Key::ClusterCompression), "zstd");
    assert_eq!(
        found.evidence(Key::ClusterCompression),
        Some((0x68, vec![1]))
    );
    assert_eq!(text(Key::LazyRefcounts), "yes");
    assert_eq!(text(Key::DirtyBitmaps), "yes");
    assert_eq!(text(Key::Encryption), "LUKS");
    assert_eq!(found.anomalies(), [AnomalyKind::Missing]);
}

#[test]
fn what_was_read_before_damage_is_sent() {
    let image = image(9, 4096, 1)
        .with(0x200, words(&[0x400]))
        .with(0x400, words(&[0xa00, 0xc00, 0x400, 0xe00]));
    let disk = open(&FORMAT, &image).disk.expect("a disk");
    let mut sent = Sent(0);
    let error = table(&disk)
        .stream(Extent::whole(disk.size.value), &mut sent)
        .expect_err("a cluster over its own table");
    assert_eq!(
        error.to_string(),
        "the L2 entry at byte 1,040 is 0x0000000000000400: a cluster over the very table that names it"
    );
    assert_eq!(sent.0, 1024);
    // The rest of it can still be asked for.
    let rest = Listing::of(table(&disk), extent(1536, 2560), 9).expect("readable");
    assert_eq!(
        rest.parts(),
        [piece(1536, 512, 0, 0xe00), gap(2048, 2048, Gap::Absent)]
    );
}

/// A small file that claims a disk of 4 GiB, all of it by way of one table.
#[test]
fn a_table_that_is_named_often_is_read_once() {
    const ENTRIES: u32 = 1 << 17;
    let size = u64::from(ENTRIES) * 64 * 512;
    let l1_len = ENTRIES as usize * 8;
    let with = |entry: &dyn Fn(u64) -> u64| {
        let mut image = image(9, size, ENTRIES);
        image.0.resize(0x200 + l1_len + 4 * 512, 0);
        let entries: Vec<u64> = (0..u64::from(ENTRIES)).map(entry).collect();
        image
            .with(0x200, words(&entries))
            .with(0x200 + l1_len, words(&[0x200 + l1_len as u64 + 1024; 64]))
            .with(0x400 + l1_len, words(&[0x200 + l1_len as u64 + 1024; 64]))
    };
    let first = 0x200 + l1_len as u64;
    let (error, told, read) = work(&FORMAT, &with(&|_| first));
    let said =
        "one of them at byte 520, name the L2 table at byte 1,049,088: what follows is not read";
    assert!(
        error.as_ref().is_some_and(|error| error.contains(said)),
        "{error:?}"
    );
    assert_eq!(told, 64);
    assert!(read < 128 << 10, "{read} bytes");
    // Two that take turns are read once each.
    let (error, told, _) = work(&FORMAT, &with(&|n| first + n % 2 * 512));
    let said = "one of them at byte 528, name";
    assert!(
        error.as_ref().is_some_and(|error| error.contains(said)),
        "{error:?}"
    );
    assert_eq!(told, 128);
}

/// Counts the bytes that were sent.
struct Sent(u64);

impl straddle_geometry::Sink for Sent {
    fn blocks(&mut self, _: Bytes, _: usize, lower: &[u64]) {
        self.0 += 512 * lower.len() as u64;
    }
    fn piece(&mut self, piece: Segment) {
        self.0 += piece.upper.len().get();
    }
    fn gap(&mut self, upper: Extent, _: Gap) {
        self.0 += upper.len().get();
    }
}
