use super::*;
use crate::container::testing::{extent, listed, open};
use crate::container::{OpensAs, Role};
use crate::fixture::{Asked, Volume};
use straddle_geometry::{Gap, Listed, Listing, Segment};

/// A checksummed structure with its bytes.
fn sealed(mut bytes: Vec<u8>, at: usize) -> Vec<u8> {
    let sum = checksum(&bytes, at);
    bytes[at..at + 4].copy_from_slice(&sum.to_be_bytes());
    bytes
}

fn footer(kind: u32, size: u64, header: u64) -> Vec<u8> {
    let bytes = Volume::new(512)
        .with(0, COOKIE)
        .with(8, 2_u32.to_be_bytes())
        .with(12, 0x0001_0000_u32.to_be_bytes())
        .with(16, header.to_be_bytes())
        .with(28, b"win ")
        .with(40, 7_000_000_u64.to_be_bytes())
        .with(48, size.to_be_bytes())
        .with(56, [0, 100, 4, 17])
        .with(60, kind.to_be_bytes())
        .with(68, (0..16).collect::<Vec<u8>>())
        .0;
    sealed(bytes, 64)
}

const TABLE: usize = 1536 + 512;

/// Blocks of 4 KiB: bitmap of 512 bytes, eight sectors. The table is at 2,048, blocks follow from 2,560 on.
fn header(entries: u32, block: u32) -> Volume {
    Volume::new(1024)
        .with(0, b"cxsparse")
        .with(8, [0xff; 8])
        .with(16, (TABLE as u64).to_be_bytes())
        .with(24, 0x0001_0000_u32.to_be_bytes())
        .with(28, entries.to_be_bytes())
        .with(32, block.to_be_bytes())
}

fn sparse(
    kind: u32,
    size: u64,
    block: u32,
    table: &[u32],
    blocks: usize,
    header: Volume,
) -> Volume {
    let stride = bitmap_len(u64::from(block)) as usize + block as usize;
    let len = 2560 + blocks * stride + 512;
    let table: Vec<u8> = table.iter().flat_map(|n| n.to_be_bytes()).collect();
    let footer = footer(kind, size, 512);
    Volume::new(len)
        .with(0, &footer)
        .with(512, sealed(header.0, 36))
        .with(TABLE, table)
        .with(len - 512, &footer)
}

fn piece(start: u64, len: u64, lower: u64) -> Listed {
    Listed::Piece(Segment {
        upper: extent(start, len),
        target: 0,
        lower: Bytes::new(lower),
    })
}

fn absent(start: u64, len: u64) -> Listed {
    Listed::Gap(extent(start, len), Gap::Absent)
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
fn a_fixed_disk_is_the_file_before_its_footer() {
    let image = Volume::new(8192 + 512).with(8192, footer(2, 8192, u64::MAX));
    let container = open(&FORMAT, &image);
    let found = &container.detected;
    assert_eq!(found.anomalies(), []);
    assert_eq!(found.text(Key::Subformat).as_deref(), Some("fixed"));
    assert_eq!(found.text(Key::CreatedBy).as_deref(), Some("win"));
    assert_eq!(found.bytes(Key::OriginalSize), Some(7_000_000));
    assert_eq!(found.bytes(Key::GeometrySize), Some(100 * 4 * 17 * 512));
    assert_eq!(found.bytes(Key::FooterOffset), Some(8192));
    assert_eq!(found.bytes(Key::DataOffset), Some(0));
    let disk = container.disk.expect("a disk");
    assert_eq!(disk.identities, ["00010203-0405-0607-0809-0a0b0c0d0e0f"]);
    assert!(matches!(&disk.content, Content::Linear(f) if f.value == extent(0, 8192)));
}

#[test]
fn a_footer_of_511_bytes_is_one_too() {
    let footer = footer(2, 8192, u64::MAX);
    let image = Volume::new(8192 + 511).with(8192, &footer[..511]);
    let container = open(&FORMAT, &image);
    assert_eq!(container.detected.anomalies(), []);
    assert_eq!(container.disk.expect("a disk").size.value, Bytes::new(8192));
}

#[test]
fn a_fixed_disk_of_another_size_than_its_footer_says_is_cut() {
    let image = Volume::new(8192 + 512).with(8192, footer(2, 1 << 20, u64::MAX));
    let container = open(&FORMAT, &image);
    assert_eq!(
        details(&container),
        ["the footer records a disk of 1,048,576 bytes; 8,192 bytes lie before it"]
    );
    assert_eq!(container.disk.expect("a disk").size.value, Bytes::new(8192));
    let alone = Volume::new(512).with(0, footer(2, 1 << 20, u64::MAX));
    let container = open(&FORMAT, &alone);
    assert!(container.disk.is_none());
    assert_eq!(container.detected.anomalies(), [AnomalyKind::Unreadable]);
}

#[test]
fn blocks_of_a_dynamic_disk_drift_by_their_bitmaps() {
    // Block 1 first in the file, then block 3, cut at the disk's end, then 0; block 2 is free.
    let table = [5 + 18, 5, FREE, 5 + 9];
    let image = sparse(3, 3 * 4096 + 1024, 4096, &table, 3, header(4, 4096));
    let container = open(&FORMAT, &image);
    let found = &container.detected;
    assert_eq!(found.anomalies(), []);
    assert_eq!(found.text(Key::Subformat).as_deref(), Some("dynamic"));
    assert_eq!(found.grid(GridRole::ContainerBlock), Some((4096, 0)));
    assert_eq!(found.bytes(Key::BlockStride), Some(4608));
    assert_eq!(found.bytes(Key::DataOffset), Some(23 * 512 + 512));
    assert_eq!(
        found.evidence(Key::DataOffset),
        Some((2048, vec![0, 0, 0, 23]))
    );
    let disk = container.disk.expect("a disk");
    assert_eq!(
        listed(&disk),
        [
            piece(0, 4096, 23 * 512 + 512),
            piece(4096, 4096, 5 * 512 + 512),
            absent(8192, 4096),
            piece(12_288, 1024, 14 * 512 + 512),
        ]
    );
}

#[test]
fn bitmaps_of_a_differencing_disk_decide_for_each_sector() {
    let table = [5, FREE, 14, 23, 32];
    let mut head = header(5, 4096)
        .with(40, [0xab; 16])
        .with(56, 1000_u32.to_be_bytes());
    let name: Vec<u8> = "base.vhd"
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    head = head.with(64, name);
    let path = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let (absolute, relative) = (path("C:\\disks\\base.vhd"), path(".\\old\\base.vhd"));
    let places = [
        (b"W2ku", 20_992_u64, absolute.len()),
        (b"W2ru", 21_504, relative.len()),
    ];
    for (index, (platform, at, len)) in places.into_iter().enumerate() {
        let entry = 576 + index * 24;
        head = head
            .with(entry, platform)
            .with(entry + 4, 512_u32.to_be_bytes())
            .with(entry + 8, u32::try_from(len).expect("short").to_be_bytes())
            .with(entry + 16, at.to_be_bytes());
    }
    // Block 0: sectors 0, 6 and 7 here. Block 2: all. Block 3: none. Block 4: the last one, cut after five sectors.
    let footer = footer(4, 4 * 4096 + 2560, 512);
    let image = sparse(4, 4 * 4096 + 2560, 4096, &table, 4, head);
    let image = Volume(image.0[..image.0.len() - 512].to_vec());
    let image = Volume([image.0, vec![0; 2048]].concat())
        .with(20_992, absolute)
        .with(21_504, relative)
        .with(22_528, &footer)
        .with(2560, [0b1000_0011])
        .with(7168, [0xff])
        .with(16_384, [0b0110_0111]);
    let container = open(&FORMAT, &image);
    assert_eq!(details(&container), [""; 0]);
    let disk = container.disk.expect("a disk");
    assert_eq!(
        listed(&disk),
        [
            piece(0, 512, 3072),
            absent(512, 2560),
            piece(3072, 1024, 3072 + 3072),
            absent(4096, 4096),
            piece(8192, 4096, 14 * 512 + 512),
            absent(12_288, 4096 + 512),
            piece(16_896, 1024, 32 * 512 + 512 + 512),
            absent(17_920, 1024),
        ]
    );
    let [parent] = disk.references.as_slice() else {
        panic!("{:?}", disk.references)
    };
    assert_eq!(parent.role, Role::Parent);
    assert_eq!(parent.opens_as, OpensAs::Format("vhd"));
    assert_eq!(
        parent.expects.as_deref(),
        Some("abababab-abab-abab-abab-abababababab")
    );
    assert_eq!(
        parent.names,
        ["old/base.vhd", "C:/disks/base.vhd", "base.vhd"]
    );
    assert_eq!(
        container.detected.text(Key::Parent).as_deref(),
        Some("base.vhd")
    );
}

#[test]
fn a_block_whose_bitmap_fills_more_than_a_chunk() {
    // 1 GiB: 2²¹ sectors, a bitmap of 256 KiB; only one sector is here, behind the first 64 KiB of it.
    let block = 1_u32 << 30;
    let table = [5];
    let footer = footer(4, 1 << 30, 512);
    let image = Volume::new(2560 + (256 << 10) + 4096)
        .with(0, &footer)
        .with(512, sealed(header(1, block).0, 36))
        .with(TABLE, table.map(u32::to_be_bytes).concat())
        .with(2560 + 100_000, [0x10]);
    let container = open(&FORMAT, &image);
    let disk = container.disk.expect("a disk");
    let sector = (100_000 * 8 + 3) * 512;
    assert_eq!(
        listed(&disk),
        [
            absent(0, sector),
            piece(sector, 512, 2560 + (256 << 10) + sector),
            absent(sector + 512, (1 << 30) - sector - 512),
        ]
    );
}

#[test]
fn the_copy_counts_when_the_footer_is_gone_or_damaged() {
    let image = sparse(3, 4096, 4096, &[5], 1, header(1, 4096));
    let end = image.0.len() - 512;
    let cut = Volume(image.0[..end].to_vec());
    let container = open(&FORMAT, &cut);
    assert_eq!(
        details(&container),
        ["the footer at the end is missing; its copy at byte 0 is used"]
    );
    assert_eq!(
        listed(&container.disk.expect("a disk")),
        [piece(0, 4096, 3072)]
    );

    let harmed = Volume(image.0.clone()).with(end + 48, [9]);
    let container = open(&FORMAT, &harmed);
    assert_eq!(
        details(&container),
        ["the footer at the end is damaged; its copy at byte 0 is used"]
    );
    assert_eq!(container.disk.expect("a disk").size.value, Bytes::new(4096));

    let harmed = Volume(image.0.clone()).with(0, [9]);
    let container = open(&FORMAT, &harmed);
    assert_eq!(
        details(&container),
        ["its copy at byte 0 is missing; the footer at the end is used"]
    );

    let differs = Volume(image.0.clone()).with(0, footer(3, 2048, 512));
    let container = open(&FORMAT, &differs);
    assert_eq!(
        details(&container),
        ["the footer and its copy at byte 0 differ from byte 54 on; the footer at the end is used"]
    );
    assert_eq!(container.disk.expect("a disk").size.value, Bytes::new(4096));

    let both = Volume(image.0).with(end + 48, [9]).with(48, [9]);
    let container = open(&FORMAT, &both);
    assert!(details(&container)[0].starts_with("the footer's checksum is 0x"));
    assert!(container.disk.is_some());
}

#[test]
fn what_is_impossible_is_refused_and_what_is_odd_is_named() {
    let refuse = |header: Volume, want: &str| {
        let container = open(&FORMAT, &sparse(3, 4096, 4096, &[5], 1, header));
        assert!(container.disk.is_none(), "{want}");
        assert_eq!(details(&container), [want]);
    };
    refuse(
        header(1, 0),
        "block size 0; expected a power of two from 512 on, usually 2 MiB",
    );
    refuse(
        header(1, 1000),
        "block size 1000; expected a power of two from 512 on, usually 2 MiB",
    );
    refuse(
        header(1, 4096).with(24, 0x0002_0000_u32.to_be_bytes()),
        "header version 0x00020000; expected 0x00010000",
    );
    refuse(
        header(1, 4096).with(0, [0]),
        "no header with the text \"cxsparse\" at byte 512, where the footer says it is",
    );
    let name = |table: &[u32], header: Volume, want: &[&str]| {
        let container = open(&FORMAT, &sparse(3, 8192, 4096, table, 2, header));
        assert!(container.disk.is_some(), "{want:?}");
        assert_eq!(details(&container), want);
    };
    name(
        &[5, 5 + 8],
        header(2, 4096),
        &["block 1 at byte 6,656 lies over block 0 at byte 2,560"],
    );
    name(
        &[5, 0xffff_fffe],
        header(2, 4096),
        &["block 1 lies at bytes 2,199,023,254,528 to 2,199,023,259,136, the file ends at 12,288"],
    );
    name(
        &[3, 14],
        header(2, 4096),
        &["block 0 at byte 1,536 lies over the table"],
    );
    name(
        &[5, 14],
        header(1, 4096),
        &["a table of 1 entries for a disk of 2 blocks"],
    );
    name(
        &[5, 14],
        header(2, 4096).with(16, 0_u64.to_be_bytes()),
        &[
            "the table at byte 0 lies over the copy of the footer",
            "block 0 lies at bytes 854,142,536,192 to 854,142,540,800, the file ends at 12,288",
        ],
    );
}

#[test]
fn a_table_beyond_the_file_is_an_error_that_names_the_byte() {
    let image = sparse(3, 1 << 40, 4096, &[5], 1, header(u32::MAX, 4096));
    let container = open(&FORMAT, &image);
    assert_eq!(
        details(&container)[0],
        "the table of 268,435,456 entries lies at bytes 2,048 to 1,073,743,872, the file ends at 7,680"
    );
    let disk = container.disk.expect("a disk");
    let Content::Blocks(table) = &disk.content else {
        panic!("no table")
    };
    let error = Listing::of(&**table, Extent::whole(disk.size.value), 8).expect_err("too short");
    assert!(error.to_string().contains("at byte 7,680"), "{error}");
}

#[test]
fn entries_that_share_a_bitmap_do_not_read_it_for_ever() {
    // 4,000 entries on one block with a bitmap of 512 bytes in a file of 24 KiB.
    let block = 2 << 20;
    let table = vec![50; 4000];
    let image = Volume::new(26_112)
        .with(0, footer(4, 4000 << 21, 512))
        .with(512, sealed(header(4000, block).0, 36))
        .with(
            TABLE,
            table
                .iter()
                .flat_map(|n: &u32| n.to_be_bytes())
                .collect::<Vec<u8>>(),
        );
    let container = open(&FORMAT, &image);
    let disk = container.disk.expect("a disk");
    let Content::Blocks(table) = &disk.content else {
        panic!("no table")
    };
    let error = Listing::of(&**table, Extent::whole(disk.size.value), 8).expect_err("shared");
    assert_eq!(
        error.to_string(),
        "the bitmaps of the blocks are longer than the file: blocks share the bitmap at byte 25,600"
    );
}

/// What a table says of each block when it is asked for it, beside what it sends.
#[test]
fn entries_that_follow_each_other_evenly_are_what_they_are_one_by_one() {
    let mut entries: Vec<u32> = (0..60).map(|n| 10 + n * 9).collect();
    entries.extend([FREE; 30]);
    // Contiguous with its bitmap left out, downwards, and with a break.
    entries.extend((0..40).map(|n| 5000 + n * 8));
    entries.extend((0..40).map(|n| 9000 - n * 9));
    entries.extend((0..17).map(|n| 20_000 + n * 9));
    entries.extend((0..20).map(|n| 20_001 + n * 9));
    // All the same, and beyond what 32 bits hold: the sums go on from the other end, over the mark.
    entries.extend([77; 20]);
    entries.extend((0..40).map(|n: u32| (u32::MAX - 20).wrapping_add(n)));
    let count = u32::try_from(entries.len()).expect("small");
    let image = sparse(
        3,
        u64::from(count) * 4096,
        4096,
        &entries,
        1,
        header(count, 4096),
    );
    let disk = open(&FORMAT, &image).disk.expect("a disk");
    let listing = listed(&disk);
    let mut asked = Vec::new();
    for (index, number) in (0_u64..).zip(&entries) {
        let one = match *number {
            FREE => absent(index * 4096, 4096),
            n => piece(index * 4096, 4096, u64::from(n) * 512 + 512),
        };
        let whole = extent(index * 4096, 4096);
        let table = crate::container::testing::table(&disk);
        let alone = Listing::of(table, whole, 4).expect("readable");
        assert_eq!(alone.parts(), [one], "block {index}");
        asked.push(one);
    }
    // Neighbours that continue each other are joined in a listing.
    let covers = |one: &Listed| {
        let part = listing
            .iter()
            .find(|part| part.upper().end() >= one.upper().end());
        match (part, one) {
            (Some(Listed::Gap(_, a)), Listed::Gap(_, b)) => a == b,
            (Some(Listed::Piece(a)), Listed::Piece(b)) => {
                let skip = b.upper.start().checked_sub(a.upper.start());
                skip.and_then(|skip| a.lower.checked_add(skip)) == Some(b.lower)
            }
            _ => false,
        }
    };
    assert!(asked.iter().all(covers));
}
