use super::*;
use crate::container::testing::{extent, listed, open, table};
use crate::container::{OpensAs, Role};
use crate::fixture::{Asked, Volume};
use straddle_geometry::{Extent, Gap, Listed, Listing, Segment};
use straddle_stack::GridRole;

const M: usize = 1 << 20;
const LOG: usize = M;
const METADATA: usize = 2 * M;
const TABLE: usize = 3 * M;
const MIB64: u64 = 1 << 20;
/// Sorted as in the file.
const DATA_WRITE: [u8; 16] = [
    0x44, 0x33, 0x22, 0x11, 0x66, 0x55, 0x88, 0x77, 9, 10, 11, 12, 13, 14, 15, 16,
];

fn raw_guid(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|b| *b != b'-')
        .map(|b| u8::try_from(char::from(b).to_digit(16).expect("hex")).expect("small"))
        .collect();
    let b: Vec<u8> = digits.chunks(2).map(|d| d[0] * 16 + d[1]).collect();
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    order.iter().map(|at| b[*at]).collect()
}

fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = crc32c::sealed(&bytes, 4);
    bytes[4..8].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn header(sequence: u64, log: [u8; 16]) -> Vec<u8> {
    let bytes = Volume::new(4096)
        .with(0, b"head")
        .with(8, sequence.to_le_bytes())
        .with(32, DATA_WRITE)
        .with(48, log)
        .with(66, 1_u16.to_le_bytes())
        .with(68, (MIB64 as u32).to_le_bytes())
        .with(72, (LOG as u64).to_le_bytes());
    sealed(bytes.0)
}

/// Regions: GUID, offset, length, required.
fn regions(list: &[(&str, u64, u32, u32)]) -> Vec<u8> {
    let mut bytes = Volume::new(64 << 10)
        .with(0, b"regi")
        .with(8, (list.len() as u32).to_le_bytes());
    for (index, (id, at, len, required)) in list.iter().enumerate() {
        let entry = 16 + index * 32;
        bytes = bytes
            .with(entry, raw_guid(id))
            .with(entry + 16, at.to_le_bytes())
            .with(entry + 24, len.to_le_bytes())
            .with(entry + 28, required.to_le_bytes());
    }
    sealed(bytes.0)
}

const BAT: &str = "2dc27766-f623-4200-9d64-115e9bfd4a08";
const META: &str = "8b7ca206-4790-4b9a-b8fe-575f050f886e";
const OTHER: &str = "01234567-89ab-cdef-0123-456789abcdef";

fn usual() -> Vec<(&'static str, u64, u32, u32)> {
    vec![
        (BAT, TABLE as u64, MIB64 as u32, 1),
        (META, METADATA as u64, MIB64 as u32, 1),
    ]
}

/// Metadata items: GUID, flags, bytes.
fn metadata(list: &[(&str, u32, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Volume::new(M)
        .with(0, b"metadata")
        .with(10, (list.len() as u16).to_le_bytes());
    let mut at = 64 << 10;
    for (index, (id, flags, item)) in list.iter().enumerate() {
        let entry = 32 + index * 32;
        bytes = bytes
            .with(entry, raw_guid(id))
            .with(entry + 16, (at as u32).to_le_bytes())
            .with(entry + 20, (item.len() as u32).to_le_bytes())
            .with(entry + 24, flags.to_le_bytes())
            .with(at, item);
        at += item.len().next_multiple_of(8);
    }
    bytes.0
}

fn items(block: u32, flags: u32, size: u64, sector: u32) -> Vec<(&'static str, u32, Vec<u8>)> {
    let parameters = [block.to_le_bytes(), flags.to_le_bytes()].concat();
    vec![
        ("caa16737-fa36-4d43-b3b6-33f0aa44e76b", 4, parameters),
        (
            "2fa54224-cd1b-4876-b211-5dbed83bf4b8",
            6,
            size.to_le_bytes().to_vec(),
        ),
        ("beca12ab-b2e6-4523-93ef-c309e000c746", 6, raw_guid(OTHER)),
        (
            "8141bf1d-a96f-4709-ba47-f233a8faab5f",
            6,
            sector.to_le_bytes().to_vec(),
        ),
        (
            "cda348c7-445d-4471-9cc9-e9885251c556",
            6,
            4096_u32.to_le_bytes().to_vec(),
        ),
    ]
}

fn locator(pairs: &[(&str, &str)]) -> (&'static str, u32, Vec<u8>) {
    let utf16 =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let mut bytes = raw_guid("b04aefb7-d19e-4a81-b789-25b8e9445913");
    bytes.extend([0, 0]);
    bytes.extend((pairs.len() as u16).to_le_bytes());
    let mut strings = Vec::new();
    for (key, value) in pairs {
        let base = 20 + pairs.len() * 12 + strings.len();
        let (key, value) = (utf16(key), utf16(value));
        bytes.extend((base as u32).to_le_bytes());
        bytes.extend(((base + key.len()) as u32).to_le_bytes());
        bytes.extend((key.len() as u16).to_le_bytes());
        bytes.extend((value.len() as u16).to_le_bytes());
        strings.extend(key);
        strings.extend(value);
    }
    bytes.extend(strings);
    ("a8d35f2d-b30b-454d-abf7-d3d84834ab0c", 4, bytes)
}

/// A file of `mib` MiB.
fn image(mib: usize, metadata: Vec<u8>, table: &[u64]) -> Volume {
    let table: Vec<u8> = table.iter().flat_map(|entry| entry.to_le_bytes()).collect();
    let creator: Vec<u8> = "test".encode_utf16().flat_map(u16::to_le_bytes).collect();
    Volume::new(mib * M)
        .with(0, b"vhdxfile")
        .with(8, creator)
        .with(0x1_0000, header(7, [0; 16]))
        .with(0x2_0000, header(6, [0; 16]))
        .with(0x3_0000, regions(&usual()))
        .with(0x4_0000, regions(&usual()))
        .with(METADATA, metadata)
        .with(TABLE, table)
}

fn at(mib: u64) -> u64 {
    mib << 20 | 6
}

fn piece(start: u64, len: u64, lower: u64) -> Listed {
    Listed::Piece(Segment {
        upper: extent(start, len),
        target: 0,
        lower: Bytes::new(lower),
    })
}

fn gap(start: u64, len: u64, gap: Gap) -> Listed {
    Listed::Gap(extent(start, len), gap)
}

fn details(container: &Container) -> Vec<&str> {
    container
        .detected
        .anomalies
        .iter()
        .map(|anomaly| anomaly.detail.as_str())
        .collect()
}

#[test]
fn every_state_of_a_dynamic_disk() {
    let size = 8 * MIB64 - 4096;
    let states = [at(6), 0, 1, 2, 3, 5, 9 << 20 | 3, at(4)];
    let container = open(
        &FORMAT,
        &image(8, metadata(&items(MIB64 as u32, 0, size, 4096)), &states),
    );
    let found = &container.detected;
    assert_eq!(details(&container), [""; 0]);
    assert_eq!(found.text(Key::Subformat).as_deref(), Some("dynamic"));
    assert_eq!(found.text(Key::CreatedBy).as_deref(), Some("test"));
    assert_eq!(found.text(Key::Version).as_deref(), Some("1"));
    assert_eq!(found.text(Key::DiskId).as_deref(), Some(OTHER));
    assert_eq!(found.bytes(Key::GuestPhysicalSector), Some(4096));
    assert_eq!(found.bytes(Key::BlockStride), Some(MIB64));
    assert_eq!(found.grid(GridRole::LogicalSector), Some((4096, 0)));
    assert_eq!(found.grid(GridRole::ContainerBlock), Some((MIB64, 0)));
    assert_eq!(found.bytes(Key::DataOffset), Some(6 * MIB64));
    assert_eq!(
        found.evidence(Key::DataOffset),
        Some((TABLE as u64, vec![6, 0, 0x60, 0, 0, 0, 0, 0]))
    );
    let disk = container.disk.expect("a disk");
    assert_eq!(disk.identities, ["11223344-5566-7788-090a-0b0c0d0e0f10"]);
    assert_eq!(
        listed(&disk),
        [
            piece(0, MIB64, 6 * MIB64),
            gap(MIB64, MIB64, Gap::Absent),
            gap(2 * MIB64, 5 * MIB64, Gap::Zero),
            piece(7 * MIB64, MIB64 - 4096, 4 * MIB64),
        ]
    );
}

#[test]
fn the_entries_of_bitmaps_are_passed_over() {
    // Blocks of 256 MiB in sectors of 512: 16 to a chunk. The 17th entry is that of a bitmap.
    let block = 256 * MIB64;
    let mut states: Vec<u64> = (0..16).map(|n| at(4 + 256 * n)).collect();
    states.push(at(1_000_000));
    states.extend([at(4 + 256 * 20), at(4 + 256 * 18), at(4 + 256 * 19)]);
    let container = open(
        &FORMAT,
        &image(
            4,
            metadata(&items(block as u32, 1, 19 * block, 512)),
            &states,
        ),
    );
    assert_eq!(
        container.detected.text(Key::Subformat).as_deref(),
        Some("fixed")
    );
    let disk = container.disk.expect("a disk");
    assert_eq!(
        listed(&disk),
        [
            piece(0, 16 * block, 4 * MIB64),
            piece(16 * block, block, 4 * MIB64 + 20 * block),
            piece(17 * block, 2 * block, 4 * MIB64 + 18 * block),
        ]
    );
}

#[test]
fn entries_that_follow_each_other_evenly_are_what_they_are_one_by_one() {
    let mut states: Vec<u64> = (0..60).map(|n| at(10 + n)).collect();
    states.extend([0; 30]);
    states.extend([3; 20]);
    states.extend((0..40).map(|n| at(500 + n * 2)));
    states.extend((0..40).map(|n| at(900 - n)));
    // Bits that mean nothing, in all of them and in some.
    states.extend((0..20).map(|n| at(1000 + n) | 0x7_fff8));
    states.extend((0..20).map(|n| at(1100 + n) + n * 8));
    // At even distances, but each in another state; all in one place; and from the largest offset on to the smallest.
    states.extend((0..20).map(|n| 2000 << 20 | (n % 4)));
    states.extend([at(77); 20]);
    states.extend((0..32).map(|n: u64| at((1 << 44) - 16).wrapping_add(n << 20)));
    let count = states.len() as u64;
    let items = items(MIB64 as u32, 0, count * MIB64, 512);
    let container = open(&FORMAT, &image(4, metadata(&items), &states));
    let disk = container.disk.expect("a disk");
    let mut want: Vec<Listed> = Vec::new();
    for (index, entry) in (0..).zip(&states) {
        let (start, place) = (index * MIB64, entry & !0xf_ffff);
        let one = match entry & 7 {
            6 => piece(start, MIB64, place),
            0 => gap(start, MIB64, Gap::Absent),
            _ => gap(start, MIB64, Gap::Zero),
        };
        // Neighbours that continue each other are joined in a listing.
        match (want.last_mut(), one) {
            (Some(Listed::Gap(upper, a)), Listed::Gap(_, b)) if *a == b => {
                *upper = extent(upper.start().get(), upper.len().get() + MIB64);
            }
            (Some(Listed::Piece(a)), Listed::Piece(b))
                if a.lower.checked_add(a.upper.len()) == Some(b.lower) =>
            {
                a.upper = extent(a.upper.start().get(), a.upper.len().get() + MIB64);
            }
            _ => want.push(one),
        }
    }
    assert_eq!(listed(&disk), want);
}

#[test]
fn bitmaps_of_a_differencing_disk_decide_for_each_sector() {
    // Blocks of 128 MiB in sectors of 512: 32 to a chunk, 32 KiB of bitmap each; the 33rd entry is that of the bitmap.
    let block = 128 * MIB64;
    let mut states = vec![0; 66];
    states[0] = at(10) | 1; // block 0, partially present
    states[1] = at(200); // fully present
    states[2] = 2;
    states[31] = at(400) | 1;
    states[32] = at(4); // bitmap of chunk 0
    states[33] = at(600) | 1; // block 32
    states[65] = at(5); // bitmap of chunk 1
    let pairs = [
        ("parent_linkage", "{11223344-5566-7788-090A-0B0C0D0E0F10}"),
        ("absolute_win32_path", "\\\\?\\D:\\vm\\base.vhdx"),
        ("relative_path", ".\\base.vhdx"),
        (
            "volume_path",
            "\\\\?\\Volume{01234567-89ab-cdef-0123-456789abcdef}\\vm\\base.vhdx",
        ),
    ];
    let mut items = items(block as u32, 3, 33 * block, 512);
    items.push(locator(&pairs));
    let image = image(6, metadata(&items), &states)
        .with(4 * M, [0b0000_0111]) // sectors 0 to 2 of block 0
        .with(4 * M + (32 << 10) - 1, [0b1000_0000]) // its last
        .with(4 * M + 31 * (32 << 10), vec![0xff; 32 << 10]) // all of block 31
        .with(5 * M + 8, [0xff; 8]); // sectors 64 to 127 of block 32
    let container = open(&FORMAT, &image);
    let found = &container.detected;
    assert_eq!(found.text(Key::Subformat).as_deref(), Some("differencing"));
    assert_eq!(found.text(Key::Parent).as_deref(), Some("base.vhdx"));
    let disk = container.disk.expect("a disk");
    assert_eq!(
        listed(&disk),
        [
            piece(0, 1536, 10 * MIB64),
            gap(1536, block - 1536 - 512, Gap::Absent),
            piece(block - 512, 512, 10 * MIB64 + block - 512),
            piece(block, block, 200 * MIB64),
            gap(2 * block, block, Gap::Zero),
            gap(3 * block, 28 * block, Gap::Absent),
            piece(31 * block, block, 400 * MIB64),
            gap(32 * block, 32_768, Gap::Absent),
            piece(32 * block + 32_768, 32_768, 600 * MIB64 + 32_768),
            gap(32 * block + 65_536, block - 65_536, Gap::Absent),
        ]
    );
    let [parent] = disk.references.as_slice() else {
        panic!("{:?}", disk.references)
    };
    assert_eq!(
        (parent.role, parent.opens_as),
        (Role::Parent, OpensAs::Format("vhdx"))
    );
    assert_eq!(
        parent.expects.as_deref(),
        Some("11223344-5566-7788-090a-0b0c0d0e0f10")
    );
    assert_eq!(
        parent.names,
        [
            "base.vhdx",
            "Volume{01234567-89ab-cdef-0123-456789abcdef}/vm/base.vhdx",
            "D:/vm/base.vhdx"
        ]
    );
}

fn small() -> Volume {
    image(
        6,
        metadata(&items(MIB64 as u32, 0, 2 * MIB64, 512)),
        &[at(4), at(5)],
    )
}

#[test]
fn the_valid_header_with_the_greater_number_counts() {
    let other = |at: usize| {
        let mut bytes = header(9, [0; 16]);
        bytes[32] = 0xee;
        small().with(at, sealed(bytes))
    };
    for at in [0x1_0000, 0x2_0000] {
        let container = open(&FORMAT, &other(at));
        assert_eq!(details(&container), [""; 0]);
        let disk = container.disk.expect("a disk");
        assert_eq!(disk.identities, ["112233ee-5566-7788-090a-0b0c0d0e0f10"]);
    }
    let container = open(&FORMAT, &other(0x1_0000).with(0x1_0100, [1]));
    assert!(
        details(&container)[0].starts_with("the header at byte 65,536 records the checksum 0x")
    );
    assert!(details(&container)[0].ends_with("; the one at byte 131,072 is used"));
    assert_eq!(container.detected.anomalies(), [AnomalyKind::CopiesDiffer]);
    assert_eq!(
        container.disk.expect("a disk").identities,
        ["11223344-5566-7788-090a-0b0c0d0e0f10"]
    );
    let container = open(
        &FORMAT,
        &small().with(0x1_0000, [0; 4]).with(0x2_0000, [0; 4]),
    );
    assert!(container.disk.is_none());
    assert_eq!(
        details(&container),
        [
            "the header at byte 65,536 lacks its signature \"head\"",
            "the header at byte 131,072 lacks its signature \"head\""
        ]
    );
    let container = open(&FORMAT, &Volume(small().0[..600].to_vec()));
    assert!(container.disk.is_none());
    assert_eq!(container.detected.anomalies(), [AnomalyKind::Unreadable; 2]);
}

#[test]
fn regions_have_a_copy_and_must_be_known() {
    let container = open(&FORMAT, &small().with(0x3_0010, [0]));
    assert_eq!(container.detected.anomalies(), [AnomalyKind::CopiesDiffer]);
    assert!(container.disk.is_some());

    let with = |list: &[(&str, u64, u32, u32)]| {
        let bytes = regions(list);
        open(
            &FORMAT,
            &small().with(0x3_0000, &bytes).with(0x4_0000, &bytes),
        )
    };
    let mut list = usual();
    list.push((OTHER, 5 << 20, MIB64 as u32, 0));
    let container = with(&list);
    assert!(container.disk.is_some());
    assert_eq!(
        details(&container),
        ["block 1 at byte 5,242,880 lies over another region"]
    );
    list[2].3 = 1;
    let container = with(&list);
    assert!(container.disk.is_none());
    assert_eq!(
        details(&container),
        [
            "the region 01234567-89ab-cdef-0123-456789abcdef is required to understand the file, and unknown here"
        ]
    );
    let container = with(&usual()[..1]);
    assert_eq!(details(&container), ["no region holds the metadata"]);
    let container = with(&[usual()[0], usual()[1], usual()[0]]);
    assert_eq!(
        details(&container),
        [
            "the table at byte 3,145,728 lies over the table",
            "the table is listed twice; the first is used"
        ]
    );
    let container = with(&[(BAT, LOG as u64, MIB64 as u32, 1), usual()[1]]);
    assert_eq!(
        details(&container)[0],
        "the table at byte 1,048,576 lies over the log"
    );
    let container = with(&[(BAT, u64::MAX, MIB64 as u32, 1), usual()[1]]);
    assert!(container.disk.is_none());
    let container = with(&[(BAT, 1 << 40, MIB64 as u32, 1), usual()[1]]);
    assert_eq!(
        details(&container),
        [
            "the table lies at bytes 1,099,511,627,776 to 1,099,512,676,352, the file ends at 6,291,456"
        ]
    );
    let disk = container.disk.expect("a disk");
    let error = Listing::of(table(&disk), Extent::whole(disk.size.value), 9).expect_err("no table");
    assert!(
        error.to_string().contains("at byte 1,099,511,627,776"),
        "{error}"
    );
}

#[test]
fn metadata_that_make_no_disk_are_refused() {
    let refused = |list: &[(&str, u32, Vec<u8>)], want: &str| {
        let container = open(&FORMAT, &image(6, metadata(list), &[at(4), at(5)]));
        assert!(container.disk.is_none(), "{want}");
        assert_eq!(details(&container), [want]);
        assert_eq!(container.detected.anomalies(), [AnomalyKind::Unreadable]);
    };
    for block in [0, 3 << 20, 512 << 10, 512 << 20, 1 << 31] {
        let want = format!(
            "block size {}; expected a power of two from 1 MiB to 256 MiB",
            Bytes::new(u64::from(block)).grouped()
        );
        refused(&items(block, 0, 2 * MIB64, 512), &want);
    }
    refused(
        &items(MIB64 as u32, 0, 2 * MIB64, 1024),
        "logical sectors of 1024 bytes; expected 512 or 4,096",
    );
    refused(
        &items(MIB64 as u32, 0, 2 * MIB64, 512)[1..],
        "the metadata lack: file parameters",
    );
    let mut list = items(MIB64 as u32, 0, 2 * MIB64, 512);
    list.push((OTHER, 4, vec![1]));
    refused(
        &list,
        "the metadata item 01234567-89ab-cdef-0123-456789abcdef is required to understand the file, and unknown here",
    );
    list[5].1 = 0;
    let container = open(&FORMAT, &image(6, metadata(&list), &[at(4), at(5)]));
    assert_eq!(details(&container), [""; 0]);
    assert!(container.disk.is_some());
}

#[test]
fn sizes_that_no_table_can_hold() {
    let container = open(
        &FORMAT,
        &image(
            6,
            metadata(&items(MIB64 as u32, 0, u64::MAX, 512)),
            &[at(4)],
        ),
    );
    assert_eq!(
        details(&container),
        [
            "a disk of 18,446,744,073,709,551,615 bytes; expected a multiple of its sectors of 512 bytes, and at most 64 TiB",
            "a table with room for 131,072 entries; a disk of 17,592,186,044,416 blocks needs 17,596,481,011,711",
        ]
    );
    let disk = container.disk.expect("a disk");
    let error =
        Listing::of(table(&disk), Extent::whole(disk.size.value), 9).expect_err("too short");
    assert_eq!(
        error.to_string(),
        "the table has room for 131,072 entries; number 17,596,481,011,709 is beyond them"
    );
}

#[test]
fn states_that_cannot_be_are_errors_that_name_the_entry() {
    let error = |flags: u32, states: &[u64]| {
        let image = image(
            6,
            metadata(&items(MIB64 as u32, flags, 2 * MIB64, 512)),
            states,
        );
        let disk = open(&FORMAT, &image).disk.expect("a disk");
        let streamed =
            Listing::of(table(&disk), Extent::whole(disk.size.value), 9).expect_err("wrong");
        let located = table(&disk).locate(Bytes::new(MIB64)).expect_err("wrong");
        assert_eq!(streamed.to_string(), located.to_string());
        streamed.to_string()
    };
    assert_eq!(
        error(0, &[at(4), at(5) | 1]),
        "the table's entry at byte 3,145,736 is 0x0000000000500007: its state is partially present, which only blocks of \
         differencing disks can be"
    );
    assert_eq!(
        error(0, &[at(4), 4]),
        "the table's entry at byte 3,145,736 is 0x0000000000000004: its state is 4, which is none"
    );
    assert_eq!(
        error(2, &[at(4), at(5) | 1]),
        "block 1 is partially present, and there is no bitmap of its sectors: the entry at byte 3,178,496 is \
         0x0000000000000000"
    );
}

#[test]
fn blocks_in_wrong_places_are_named() {
    let container = |states: &[u64]| {
        open(
            &FORMAT,
            &image(6, metadata(&items(MIB64 as u32, 0, 2 * MIB64, 512)), states),
        )
    };
    assert_eq!(
        details(&container(&[at(4), at(4)])),
        ["block 1 at byte 4,194,304 lies over block 0 at byte 4,194,304"]
    );
    assert_eq!(
        details(&container(&[at(0), at(3)])),
        [
            "block 0 at byte 0 lies over the headers",
            "block 1 at byte 3,145,728 lies over the table"
        ]
    );
    assert_eq!(
        details(&container(&[at(4), at(1 << 43)])),
        [
            "block 1 lies at bytes 9,223,372,036,854,775,808 to 9,223,372,036,855,824,384, the file ends at 6,291,456"
        ]
    );
}

const LOG_ID: [u8; 16] = [5; 16];

enum Change {
    Zero(u64, u64),
    Data(u64, Vec<u8>),
}

/// A log entry.
fn log_entry(sequence: u64, tail: u32, last: u64, changes: &[Change]) -> Vec<u8> {
    let mut head = Volume::new(64)
        .with(0, b"loge")
        .with(12, tail.to_le_bytes())
        .with(16, sequence.to_le_bytes())
        .with(24, (changes.len() as u32).to_le_bytes())
        .with(32, LOG_ID)
        .with(48, (6 * MIB64).to_le_bytes())
        .with(56, last.to_le_bytes())
        .0;
    let mut data = Vec::new();
    for change in changes {
        let mut descriptor = Volume::new(32).with(24, sequence.to_le_bytes());
        match change {
            Change::Zero(at, len) => {
                descriptor = descriptor
                    .with(0, b"zero")
                    .with(8, len.to_le_bytes())
                    .with(16, at.to_le_bytes());
            }
            Change::Data(at, bytes) => {
                descriptor = descriptor
                    .with(0, b"desc")
                    .with(4, &bytes[4092..])
                    .with(8, &bytes[..8])
                    .with(16, at.to_le_bytes());
                let mut sector = bytes.clone();
                sector[..4].copy_from_slice(b"data");
                sector[4..8].copy_from_slice(&((sequence >> 32) as u32).to_le_bytes());
                sector[4092..].copy_from_slice(&(sequence as u32).to_le_bytes());
                data.extend(sector);
            }
        }
        head.extend(descriptor.0);
    }
    head.resize(head.len().next_multiple_of(4096), 0);
    head.extend(data);
    let len = head.len() as u32;
    head[8..12].copy_from_slice(&len.to_le_bytes());
    sealed(head)
}

/// A sector of the table with these entries at its beginning and `0xab` at its ends.
fn sector(entries: &[u64]) -> Vec<u8> {
    let mut bytes: Vec<u8> = entries
        .iter()
        .flat_map(|entry| entry.to_le_bytes())
        .collect();
    bytes.resize(4095, 0);
    bytes.push(0xab);
    bytes
}

fn pending() -> Volume {
    small().with(0x1_0000, header(8, LOG_ID))
}

#[test]
fn a_pending_log_is_replayed_in_memory() {
    // An old entry, then the sequence of 1,007 to 1,009; the last two wrap around the end of the ring. The newest says
    // that 1,008 is the oldest that is still needed, so 1,007 is not replayed.
    let base = (7_u64 << 32) + 1000;
    let ring = M;
    let entries = [
        (
            0x8000,
            log_entry(
                base + 3,
                0x8000,
                6 * MIB64,
                &[Change::Zero(TABLE as u64, 4096)],
            ),
        ),
        (
            ring - 0x5000,
            log_entry(
                base + 7,
                (ring - 0x5000) as u32,
                6 * MIB64,
                &[Change::Zero(METADATA as u64, 4096)],
            ),
        ),
        (
            ring - 0x4000,
            log_entry(
                base + 8,
                (ring - 0x4000) as u32,
                6 * MIB64,
                &[
                    Change::Zero(TABLE as u64, 8192),
                    Change::Data(TABLE as u64, sector(&[at(4), at(4)])),
                ],
            ),
        ),
        (
            ring - 0x2000,
            log_entry(
                base + 9,
                (ring - 0x4000) as u32,
                7 * MIB64,
                &[
                    Change::Data(TABLE as u64, sector(&[at(5), at(6)])),
                    Change::Zero(10 * MIB64, 4096),
                    Change::Data(TABLE as u64 + 4096, sector(&[1])),
                ],
            ),
        ),
    ];
    let mut image = pending();
    for (at, bytes) in entries {
        for (offset, byte) in bytes.into_iter().enumerate() {
            image.0[LOG + (at + offset) % ring] = byte;
        }
    }
    let container = open(&FORMAT, &image);
    assert_eq!(details(&container), [""; 0]);
    assert_eq!(
        container.detected.text(Key::PendingLog).as_deref(),
        Some("replayed in memory: 5 changes by entries 30064772080 to 30064772081")
    );
    let disk = container.disk.expect("a disk");
    assert_eq!(listed(&disk), [piece(0, 2 * MIB64, 5 * MIB64)]);
}

#[test]
fn a_log_that_cannot_be_replayed_is_refused_with_the_reason() {
    let refused = |image: &Volume, want: &str| {
        let container = open(&FORMAT, image);
        assert!(container.disk.is_none(), "{want}");
        assert_eq!(container.detected.anomalies(), [AnomalyKind::Unreadable]);
        let detail = details(&container)[0];
        assert!(detail.contains(want), "{detail}");
        assert!(detail.ends_with("or run `qemu-img check -r all` on a copy"));
    };
    let zero = || vec![Change::Zero(TABLE as u64, 4096)];
    refused(&pending(), "none of its entries is valid");
    let good = log_entry(5, 0, 6 * MIB64, &zero());
    let mut torn = good.clone();
    torn[100] ^= 1;
    refused(&pending().with(LOG, torn), "none of its entries is valid");
    // Its tail lies outside of the sequence.
    let entry = log_entry(5, 0x8000, 6 * MIB64, &zero());
    refused(&pending().with(LOG, entry), "none of its entries is valid");
    let mut entry = good.clone();
    entry[48..56].copy_from_slice(&(9 * MIB64).to_le_bytes());
    refused(
        &pending().with(LOG, sealed(entry)),
        "the file was cut off: it has 6,291,456 bytes, its log was written when it had 9,437,184",
    );
    let with = |at: usize, bytes: &[u8]| {
        let mut header = header(8, LOG_ID);
        header[at..at + bytes.len()].copy_from_slice(bytes);
        small().with(LOG, &good).with(0x1_0000, sealed(header))
    };
    assert!(open(&FORMAT, &with(8, &[8])).disk.is_some());
    refused(&with(64, &[1]), "its version 1 is unknown");
    refused(
        &with(68, &u32::MAX.to_le_bytes()),
        "it has 4,294,967,295 bytes",
    );
    refused(
        &with(72, &u64::MAX.to_le_bytes()),
        "it has 1,048,576 bytes at byte 18,446",
    );
    refused(&with(68, &0_u32.to_le_bytes()), "it has 0 bytes");
    // Each sector begins an entry that claims the whole ring.
    let mut image = pending();
    for at in (0..M).step_by(4096) {
        let mut entry = log_entry(5, 0, 0, &[]);
        entry[8..12].copy_from_slice(&(M as u32).to_le_bytes());
        image = image.with(LOG + at, entry);
    }
    refused(&image, "its entries lie over each other");
}

/// A ring full of valid entries, each following the one before, the first the last: walking on never ends.
#[test]
fn a_ring_of_entries_ends() {
    let mut image = pending();
    for n in 0..256_u64 {
        let entry = log_entry(
            1 + n,
            0,
            6 * MIB64,
            &[Change::Zero(TABLE as u64 + 4096, 4096)],
        );
        image = image.with(LOG + n as usize * 4096, entry);
    }
    let container = open(&FORMAT, &image);
    assert_eq!(
        container.detected.text(Key::PendingLog).as_deref(),
        Some("replayed in memory: 256 changes by entries 1 to 256")
    );
    assert!(container.disk.is_some());
}
