use std::io::Write;

use straddle_geometry::{Bytes, Gap, Listed, Place, Segment};
use straddle_stack::{AnomalyKind, GridRole, Key};

use super::FORMAT;
use crate::container::testing::{extent, listed, open, table, work};
use crate::container::{Container, Content, ExtentOf, OpensAs, Role};
use crate::fixture::{Asked, Volume};

const TEXT: &str = "# Disk DescriptorFile\nversion=1\nCID=0d249be9\nparentCID=ffffffff\n\
    createType=\"monolithicSparse\"\nRW 40 SPARSE \"a.vmdk\"\nddb.adapterType = \"lsilogic\"\n\
    ddb.geometry.cylinders = \"2\"\nddb.geometry.heads = \"16\"\nddb.geometry.sectors = \"63\"\n\
    ddb.thinProvisioned = \"1\"\n";

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A header with grains of 8 sectors, 4 to a table; descriptor at sector 1, directory at 3, overhead 8.
fn header(flags: u32, capacity: u64) -> Vec<u8> {
    let mut raw = b"KDMV".to_vec();
    raw.extend(words(&[1, flags]));
    for n in [capacity, 8, 1, 2] {
        raw.extend(n.to_le_bytes());
    }
    raw.extend(words(&[4]));
    for n in [5_u64, 3, 8] {
        raw.extend(n.to_le_bytes());
    }
    raw.extend(b"\0\n \r\n\0\0");
    raw
}

/// 40 sectors: 5 grains in 2 tables, the last grain whole. Grain 0 is absent, 1 and 2 are at sectors 16 and 8, 3 is at
/// 24 or zeroes; the second table does not exist.
fn image(flags: u32, text: &str) -> Volume {
    Volume::new(32 * 512)
        .with(0, header(flags, 40))
        .with(512, text)
        .with(3 * 512, words(&[4, 0]))
        .with(
            4 * 512,
            words(&[0, 16, 8, if flags & 4 == 0 { 24 } else { 1 }]),
        )
        .with(5 * 512, words(&[6, 0]))
        .with(
            6 * 512,
            words(&[0, 16, 8, if flags & 4 == 0 { 24 } else { 1 }]),
        )
}

fn details(container: &Container) -> String {
    let details: Vec<&str> = container
        .detected
        .anomalies
        .iter()
        .map(|anomaly| anomaly.detail.as_str())
        .collect();
    details.join("; ")
}

fn piece(start: u64, len: u64, lower: u64) -> Listed {
    Listed::Piece(Segment {
        upper: extent(start, len),
        target: 0,
        lower: Bytes::new(lower),
    })
}

#[test]
fn grains_are_found_through_directory_and_table() {
    let container = open(&FORMAT, &image(3, TEXT));
    assert_eq!(details(&container), "");
    let found = &container.detected;
    assert_eq!(
        found.text(Key::Subformat).as_deref(),
        Some("monolithicSparse")
    );
    assert_eq!(found.text(Key::DiskId).as_deref(), Some("0d249be9"));
    assert_eq!(found.text(Key::AdapterType).as_deref(), Some("lsilogic"));
    assert_eq!(found.text(Key::DiskGeometry).as_deref(), Some("2/16/63"));
    assert_eq!(found.text(Key::ThinProvisioned).as_deref(), Some("yes"));
    assert_eq!(found.bytes(Key::DataOffset), Some(4096));
    assert_eq!(found.grid(GridRole::ContainerBlock), Some((4096, 0)));
    let (at, bytes) = found.evidence(Key::DiskId).expect("evidence");
    assert_eq!((at, bytes.as_slice()), (512 + 32, &b"CID=0d249be9"[..]));
    let disk = container.disk.expect("a disk");
    assert_eq!(disk.size.value, Bytes::new(20_480));
    assert_eq!(disk.identities, ["0d249be9"]);
    assert!(disk.references.is_empty());
    assert_eq!(
        listed(&disk),
        [
            Listed::Gap(extent(0, 4096), Gap::Absent),
            piece(4096, 4096, 8192),
            piece(8192, 4096, 4096),
            piece(12_288, 4096, 12_288),
            Listed::Gap(extent(16_384, 4096), Gap::Absent),
        ]
    );
}

#[test]
fn an_entry_of_1_is_zeroes_only_where_the_header_says_so() {
    let disk = open(&FORMAT, &image(7, TEXT)).disk.expect("a disk");
    assert_eq!(
        listed(&disk)[3],
        Listed::Gap(extent(12_288, 4096), Gap::Zero)
    );
    let without = image(3, TEXT).with(4 * 512 + 12, words(&[1]));
    let disk = open(&FORMAT, &without).disk.expect("a disk");
    assert_eq!(listed(&disk)[3], piece(12_288, 4096, 512));
}

#[test]
fn a_disk_that_ends_inside_a_grain_is_cut_there() {
    let short = image(3, TEXT).with(12, 29_u64.to_le_bytes());
    let disk = open(&FORMAT, &short).disk.expect("a disk");
    assert_eq!(listed(&disk)[3], piece(12_288, 2560, 12_288));
}

#[test]
fn a_child_names_its_parent_and_the_content_it_expects() {
    let text = TEXT
        .replace("parentCID=ffffffff", "parentCID=DEADbeef")
        .replace(
            "RW 40",
            "parentFileNameHint=\"C:\\VMs\\Base Disk\\base.vmdk\"\nRW 40",
        );
    let container = open(&FORMAT, &image(3, &text));
    assert_eq!(
        container.detected.text(Key::Parent).as_deref(),
        Some("C:\\VMs\\Base Disk\\base.vmdk")
    );
    let disk = container.disk.expect("a disk");
    assert_eq!(table(&disk).parent(), Some(1));
    let [parent] = disk.references.as_slice() else {
        panic!("{:?}", disk.references)
    };
    assert_eq!(
        (parent.role, parent.opens_as),
        (Role::Parent, OpensAs::Format("vmdk"))
    );
    assert_eq!(parent.expects.as_deref(), Some("deadbeef"));
    assert_eq!(parent.names, ["C:/VMs/Base Disk/base.vmdk", "base.vmdk"]);
}

#[test]
fn a_descriptor_file_is_a_row_of_parts() {
    let text = "# Disk DescriptorFile\nversion=1\nCID=00000001\nparentCID=00000002\nparentFileNameHint=\"b.vmdk\"\n\
        createType=\"custom\"\nRW 8 FLAT \"a-f001.vmdk\" 63\nRW 16 ZERO\nRW 8 SPARSE \"sub/a-s001.vmdk\"\n\
        RW 4 VMFS \"a-flat.vmdk\"\n";
    let container = open(&FORMAT, &Volume(text.into()));
    assert_eq!(details(&container), "");
    assert_eq!(
        container.detected.text(Key::Subformat).as_deref(),
        Some("custom")
    );
    let disk = container.disk.expect("a disk");
    assert_eq!(disk.size.value, Bytes::new(36 * 512));
    let Content::Extents(extents) = &disk.content else {
        panic!("{:?}", disk.content)
    };
    let part = |len: u64, lies: Option<(usize, u64)>| ExtentOf {
        len: Bytes::new(len),
        lies: lies.map(|(target, start)| (target, Bytes::new(start))),
    };
    assert_eq!(
        extents.as_slice(),
        [
            part(4096, Some((2, 63 * 512))),
            part(8192, None),
            part(4096, Some((3, 0))),
            part(2048, Some((4, 0))),
        ]
    );
    let short: Vec<_> = disk
        .references
        .iter()
        .map(|reference| {
            (
                reference.role,
                reference.names[0].as_str(),
                reference.opens_as,
            )
        })
        .collect();
    assert_eq!(
        short,
        [
            (Role::Parent, "b.vmdk", OpensAs::Format("vmdk")),
            (Role::Part, "a-f001.vmdk", OpensAs::Raw),
            (Role::Part, "sub/a-s001.vmdk", OpensAs::Format("vmdk")),
            (Role::Part, "a-flat.vmdk", OpensAs::Raw),
        ]
    );
}

#[test]
fn what_cannot_be_followed_is_named() {
    let with = |line: &str| {
        let text = format!("# Disk DescriptorFile\nversion=1\ncreateType=\"x\"\n{line}\n");
        let container = open(&FORMAT, &Volume(text.into()));
        assert!(container.disk.is_none(), "{line}");
        details(&container)
    };
    for (line, want) in [
        ("RW 8 SESPARSE \"a-sesparse.vmdk\"", "seSparse"),
        ("RW 8 VMFSRDM \"a-rdm.vmdk\"", "maps a LUN through"),
        (
            "RW 8 FLAT \"\\\\.\\PhysicalDrive0\" 0",
            "check the device itself",
        ),
        ("RW 8 FLAT \"/dev/sda\" 0", "check the device itself"),
        ("RW 8 ROUND \"a\"", "is no part of a disk"),
        ("RW 36028797018963968 FLAT \"a\" 0", "beyond 2⁶⁴ bytes"),
        ("RW 36028797018963967 FLAT \"a\" 1", "beyond 2⁶⁴ bytes"),
        (
            "RW 36028797018963967 FLAT \"a\"\nRW 9 ZERO",
            "beyond 2⁶⁴ bytes",
        ),
        ("", "without a line"),
    ] {
        let got = with(line);
        assert!(got.contains(want), "{line}: {got}");
    }
    let container = open(
        &FORMAT,
        &Volume::new(4096).with(0, 0xcafe_babe_u64.to_le_bytes()),
    );
    assert_eq!(container.detected.anomalies(), [AnomalyKind::Unreadable]);
}

#[test]
fn damaged_headers_are_stated() {
    let with = |at: usize, bytes: &[u8]| details(&open(&FORMAT, &image(7, TEXT).with(at, bytes)));
    let max = [0xff; 8];
    for (at, bytes, want) in [
        (4, &[4][..], "version 4"),
        (12, &max, "beyond 2⁶⁴"),
        (20, &[0; 8], "a grain of 0 sectors"),
        (20, &[3], "a grain of 3 sectors"),
        (20, &max, "a grain of 18,446,744,073,709,551,615"),
        (28, &[9, 9], "left unread"),
        (36, &max, "left unread"),
        (44, &[0; 4], "0 grains per table"),
        (44, &max[..4], "4294967295 grains per table"),
        (48, &[9, 9], "the first one is used"),
        (56, &[9, 9], "the second one is used"),
        (72, &[1], "not closed cleanly"),
        (73, b"\n \n\n", "transferred as text"),
        (56, &max, "cut short: fetch it again"),
        (
            3 * 512,
            &words(&[4, 200]),
            "lies beyond the end of the file",
        ),
        (3 * 512, &words(&[3]), "lies in the grain directory itself"),
        (3 * 512, &words(&[4, 4]), "lies over another grain table"),
        (
            4 * 512,
            &words(&[99]),
            "grain 0 (sector 99) lies beyond the end",
        ),
        (4 * 512, &words(&[4]), "grain 0 (sector 4) lies where"),
        (4 * 512, &words(&[3]), "grain 0 (sector 3) lies where"),
        (6 * 512, &words(&[7]), "differs from its copy"),
        (5 * 512, &words(&[0]), "differs from its copy"),
    ] {
        let got = with(at, bytes);
        assert!(got.contains(want), "{at} {bytes:?}: {got}");
    }
}

/// A small file that claims a disk of 2 GiB, all of it by way of one table.
#[test]
fn a_table_that_is_named_often_is_read_once() {
    const ENTRIES: u32 = 1 << 17;
    let with = |entry: &dyn Fn(u32) -> u32| {
        let mut image = Volume::new((3 + 1024 + 3) * 512)
            .with(0, header(1, u64::from(ENTRIES) * 32))
            .with(512, TEXT);
        let entries: Vec<u32> = (0..ENTRIES).map(entry).collect();
        image = image.with(3 * 512, words(&entries));
        image
            .with(1027 * 512, words(&[1029; 4]))
            .with(1028 * 512, words(&[1029; 4]))
    };
    let said = "name one grain table: what follows is not read";
    let (error, told, read) = work(&FORMAT, &with(&|_| 1027));
    assert!(
        error.as_ref().is_some_and(|error| error.contains(said)),
        "{error:?}"
    );
    assert_eq!(told, 4);
    // The directory, once, and little else.
    assert!(read < 600_000, "{read} bytes");
    // Two that take turns are read once each.
    let (error, told, _) = work(&FORMAT, &with(&|n| 1027 + n % 2));
    assert!(
        error.as_ref().is_some_and(|error| error.contains(said)),
        "{error:?}"
    );
    assert_eq!(told, 8);
}

#[test]
fn a_directory_that_ends_early_names_the_byte() {
    // 512 tables need 2,048 bytes from byte 31 × 512 on.
    let container = open(
        &FORMAT,
        &image(1, TEXT)
            .with(12, (32 * 512_u64).to_le_bytes())
            .with(56, [31]),
    );
    assert!(
        details(&container).contains("ends beyond the end"),
        "{}",
        details(&container)
    );
    let disk = container.disk.expect("a disk");
    let table = table(&disk);
    let inside = table.locate(Bytes::new(127 * 16_384));
    assert_eq!(
        inside.expect("readable"),
        Place::Absent {
            run: Bytes::new(16_384)
        }
    );
    let beyond = table.locate(Bytes::new(128 * 16_384)).expect_err("beyond");
    assert!(beyond.to_string().contains("at byte 16,384"), "{beyond}");
}

fn packed(lba: u64, data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).expect("in memory");
    let stream = encoder.finish().expect("in memory");
    let mut out = lba.to_le_bytes().to_vec();
    out.extend(u32::try_from(stream.len()).expect("small").to_le_bytes());
    out.extend(stream);
    out
}

/// A stream: grain 0 packed at sector 8, grain 1 absent; table at 20, directory at 22, footer at 24.
fn stream() -> (Volume, Vec<u8>) {
    let data: Vec<u8> = (0..4096_u32).map(|n| (n % 251) as u8).collect();
    let mut front = header(0x3_0001, 16);
    front[56..64].copy_from_slice(&[0xff; 8]);
    front[77] = 1;
    let mut foot = header(0x3_0001, 16);
    foot[56..64].copy_from_slice(&22_u64.to_le_bytes());
    foot[77] = 1;
    let text = TEXT.replace("monolithicSparse", "streamOptimized");
    let image = Volume::new(26 * 512)
        .with(0, front)
        .with(512, text)
        .with(8 * 512, packed(0, &data))
        .with(20 * 512, words(&[8, 0]))
        .with(22 * 512, words(&[20]))
        .with(24 * 512, foot);
    (image, data)
}

#[test]
fn a_stream_is_read_by_its_footer_and_unpacked() {
    let (image, data) = stream();
    let container = open(&FORMAT, &image);
    assert_eq!(details(&container), "");
    assert_eq!(
        container.detected.text(Key::Compression).as_deref(),
        Some("deflate")
    );
    let (at, _) = container
        .detected
        .evidence(Key::Compression)
        .expect("evidence");
    assert_eq!(at, 24 * 512 + 77);
    let disk = container.disk.expect("a disk");
    assert_eq!(
        listed(&disk),
        [
            Listed::Gap(extent(0, 4096), Gap::Packed),
            Listed::Gap(extent(4096, 4096), Gap::Absent)
        ]
    );
    let table = table(&disk);
    let Place::Packed { upper, lower, .. } = table.locate(Bytes::new(99)).expect("readable") else {
        panic!("packed")
    };
    assert_eq!(upper, extent(0, 4096));
    let len = packed(0, &data).len() as u64;
    assert_eq!(lower, extent(4096, len));
    let from = 4096;
    let raw = &image.0[from..from + usize::try_from(len).expect("small")];
    let mut out = vec![0; 4096];
    table.unpack(raw, &mut out).expect("whole");
    assert_eq!(out, data);
    // The end of the disk may come inside a grain that was packed whole.
    table.unpack(raw, &mut out[..512]).expect("a part");
    for (bad, want) in [
        (&raw[..8], "inside its marker"),
        (&raw[..100], "of which 88 are there"),
    ] {
        let error = table
            .unpack(bad, &mut out)
            .expect_err("cut short")
            .to_string();
        assert!(error.contains(want), "{error}");
    }
    let bomb = packed(0, &[0; 1 << 20]);
    let error = table
        .unpack(&bomb, &mut out)
        .expect_err("too much")
        .to_string();
    assert!(error.contains("more than the 4 KiB"), "{error}");
    let mut longer = vec![0; 4097];
    assert!(table.unpack(raw, &mut longer).is_err());
}

#[test]
fn a_stream_without_its_end_says_so() {
    let (mut image, _) = stream();
    image.0.truncate(23 * 512);
    let container = open(&FORMAT, &image);
    assert!(container.disk.is_none());
    assert!(details(&container).contains("no footer"));
    // A footer that sends on to a footer.
    let (image, _) = stream();
    let container = open(&FORMAT, &image.with(24 * 512 + 56, [0xff; 8]));
    assert!(container.disk.is_none());
    assert_eq!(container.detected.anomalies(), [AnomalyKind::Damaged]);
}

#[test]
fn a_delta_disk_of_esx_has_long_tables_of_sectors() {
    let mut raw = b"COWD".to_vec();
    raw.extend(words(&[1, 3, 4098, 1, 4, 2, 40]));
    let image = Volume::new(41 * 512)
        .with(0, raw)
        .with(4 * 512, words(&[5, 0]))
        .with(5 * 512, words(&[40, 0, 39]));
    let container = open(&FORMAT, &image);
    assert_eq!(details(&container), "");
    assert_eq!(
        container.detected.grid(GridRole::ContainerBlock),
        Some((512, 0))
    );
    let disk = container.disk.expect("a disk");
    assert_eq!(disk.size.value, Bytes::new(4098 * 512));
    assert_eq!(
        listed(&disk),
        [
            piece(0, 512, 40 * 512),
            Listed::Gap(extent(512, 512), Gap::Absent),
            piece(1024, 512, 39 * 512),
            Listed::Gap(extent(1536, 4095 * 512), Gap::Absent),
        ]
    );
    let short = image.with(24, [1]);
    let container = open(&FORMAT, &short);
    assert!(details(&container).contains("2 would be needed"));
}

#[test]
fn a_capacity_of_0_leaves_the_disk_to_the_descriptor() {
    let empty = image(3, TEXT).with(12, [0]);
    let disk = open(&FORMAT, &empty).disk.expect("a disk");
    assert!(matches!(disk.content, Content::Extents(parts) if parts.len() == 1));
    let container = open(&FORMAT, &empty.with(28, [0]));
    assert!(container.disk.is_none());
    assert!(details(&container).contains("a capacity of 0 sectors"));
}

#[test]
fn a_descriptor_of_megabytes_is_not_read() {
    let image = Volume::new(3 << 20).with(0, TEXT);
    let container = open(&FORMAT, &image);
    assert!(container.disk.is_none());
    assert_eq!(container.detected.anomalies(), [AnomalyKind::LimitReached]);
    // 62 TB in parts of 2 GB.
    let mut text = TEXT.to_owned();
    for n in 0..31_744 {
        text += &format!("RW 4192256 SPARSE \"a-s{n}.vmdk\"\n");
    }
    let disk = open(&FORMAT, &Volume(text.into())).disk.expect("a disk");
    assert_eq!(disk.references.len(), 31_745);
    assert_eq!(disk.size.value, Bytes::new((31_744 * 4_192_256 + 40) * 512));
}
