//! Structures that the tools do not make: trees that go backwards, blocks used twice, encrypted names.

use straddle_io::Reader;
use straddle_stack::AnomalyKind;

use crate::fixture::Volume;
use crate::{FindError, FoundFile, Window, find_file};

const BLOCK: usize = 1024;
/// The inode table is at block 5.
const INODES: usize = 5 * BLOCK;
const FILE: usize = INODES + 11 * 128;
const FIELD: usize = FILE + 40;

/// Blocks of 1 KiB; the root directory, at block 20, has `f`, inode 12, of 500,000 bytes, with these flags.
fn volume(flags: u32) -> Volume {
    let sb = 1024;
    let root = INODES + 128;
    Volume::new(1 << 20)
        .with(sb, 16_u32.to_le_bytes())
        .with(sb + 4, 1024_u32.to_le_bytes())
        .with(sb + 20, [1])
        .with(sb + 32, 8192_u32.to_le_bytes())
        .with(sb + 40, 16_u32.to_le_bytes())
        .with(sb + 56, [0x53, 0xef])
        .with(sb + 76, [1])
        .with(sb + 88, 128_u16.to_le_bytes())
        .with(2 * BLOCK + 8, [5])
        .with(root, 0x41ed_u16.to_le_bytes())
        .with(root + 4, 1024_u32.to_le_bytes())
        .with(root + 26, [2])
        .with(root + 40, [20])
        .with(20 * BLOCK, [12, 0, 0, 0, 0, 4, 1, 1, b'f'])
        .with(FILE, 0x81a4_u16.to_le_bytes())
        .with(FILE + 4, 500_000_u32.to_le_bytes())
        .with(FILE + 26, [1])
        .with(FILE + 32, flags.to_le_bytes())
}

const EXTENTS: u32 = 0x8_0000;

fn node(levels: u8, entries: &[[u8; 12]]) -> Vec<u8> {
    let count = u8::try_from(entries.len()).expect("few");
    let header = [0x0a, 0xf3, count, 0, 4, 0, levels, 0, 0, 0, 0, 0];
    [&header[..], &entries.concat()].concat()
}

fn extent(first: u8, count: u16, block: u8) -> [u8; 12] {
    let [low, high] = count.to_le_bytes();
    [first, 0, 0, 0, low, high, 0, 0, block, 0, 0, 0]
}

fn below(first: u8, block: u8) -> [u8; 12] {
    [first, 0, 0, 0, block, 0, 0, 0, 0, 0, 0, 0]
}

fn find(volume: &Volume) -> Result<FoundFile, FindError> {
    let reader = Reader::new(&volume.0);
    find_file(&Window::whole(&reader, None), "ext2", "/f")
}

fn error(volume: &Volume) -> String {
    find(volume).expect_err("damaged").to_string()
}

#[test]
fn unwritten_extents_have_32768_added() {
    let tree = node(0, &[extent(0, 10, 100), extent(10, 32_768 + 5, 110)]);
    let found = find(&volume(EXTENTS).with(FIELD, tree)).expect("there");
    assert_eq!(found.segments.len(), 1, "they continue each other");
    assert_eq!(found.segments[0].upper.len().get(), 15 * 1024);
    let part = found.unwritten[0];
    assert_eq!(
        (part.start().get(), part.len().get()),
        (10 * 1024, 5 * 1024)
    );
    let kinds: Vec<_> = found.anomalies.iter().map(|o| o.kind).collect();
    assert_eq!(kinds, [AnomalyKind::Sparse, AnomalyKind::Unwritten]);
}

#[test]
fn trees_that_lead_astray_end_in_an_error() {
    let leaf = node(0, &[extent(0, 5, 100)]);
    let twice = volume(EXTENTS)
        .with(FIELD, node(1, &[below(0, 50), below(5, 50)]))
        .with(50 * BLOCK, &leaf);
    assert_eq!(
        error(&twice),
        "extent tree node at byte 51,212 is damaged: an entry for block 0 of the file; expected 5 or later"
    );
    for (tree, want) in [
        (node(1, &[below(0, 60)]), "0x0000; expected 0xf30a"),
        (node(2, &[below(0, 50)]), "0 levels below; expected 1"),
        (
            node(6, &[below(0, 50)]),
            "6 levels below; expected at most 5",
        ),
        (node(0, &[extent(0, 0, 100)]), "an extent of 0 blocks"),
        (
            node(0, &[extent(0, 32_768, 100)]),
            "an extent of 32768 blocks",
        ),
        (
            node(0, &[extent(0, 5, 0)]),
            "at block 0; expected inside 1024",
        ),
        (node(0, &[[0xff; 12]]), "an extent of 32767 blocks"),
    ] {
        let text = error(&volume(EXTENTS).with(FIELD, tree).with(50 * BLOCK, &leaf));
        assert!(text.contains(want), "{text}");
    }
}

#[test]
fn a_block_of_numbers_is_used_once() {
    // The twelve direct numbers are a hole; the double indirect block names one block twice.
    let twice = volume(0)
        .with(FILE + 4, 2_000_000_u32.to_le_bytes())
        .with(FIELD + 13 * 4, [60])
        .with(60 * BLOCK, [61, 0, 0, 0, 61]);
    assert_eq!(
        error(&twice),
        "block number at byte 61,444 is damaged: a second use of block 61; \
         expected a block of its own inside 1024"
    );
    let far = volume(0).with(FIELD, [0xff; 4]);
    assert!(error(&far).contains("block 4294967295; expected"));
    let good = volume(0)
        .with(FIELD + 12 * 4, [62])
        .with(62 * BLOCK + 8, [70, 0, 0, 0, 71]);
    let found = find(&good).expect("there");
    assert_eq!(found.segments.len(), 1);
    assert_eq!(found.segments[0].upper.start().get(), 14 * 1024);
    assert_eq!(found.segments[0].lower.get(), 70 * 1024);
    assert_eq!(found.segments[0].upper.len().get(), 2048);
}

#[test]
fn what_is_encrypted_or_not_replayed_is_said() {
    let found = find(&volume(0x800).with(1024 + 96, [4])).expect("there");
    let kinds: Vec<_> = found.anomalies.iter().map(|o| o.kind).collect();
    assert_eq!(
        kinds,
        [
            AnomalyKind::Pending,
            AnomalyKind::Encrypted,
            AnomalyKind::Sparse
        ]
    );
    let names = volume(0).with(INODES + 128 + 33, [8]);
    assert_eq!(
        error(&names),
        "`f` is in a directory with encrypted names, inode 2"
    );
    let unknown = volume(0).with(1024 + 99, [1]);
    assert!(error(&unknown).contains("incompatible features 0x1000000"));
    let compressed = volume(4);
    assert!(error(&compressed).contains("e2compr"));
}

#[test]
fn damaged_inodes_and_entries_name_the_byte() {
    let unused = volume(0).with(FILE + 26, [0]);
    assert!(error(&unused).starts_with("inode 12 at byte 6,554 is damaged"));
    let far = volume(0).with(20 * BLOCK, [0xff; 4]);
    assert!(error(&far).contains("inode 4294967295; expected 1 to 16"));
    let short = volume(0).with(20 * BLOCK, [9, 0, 0, 0, 7, 0]);
    assert!(error(&short).contains("byte 20,484 is damaged: an entry of 7 bytes"));
    let table = volume(0).with(2 * BLOCK + 8, [0xff; 4]);
    assert!(error(&table).starts_with("descriptor of group 0 at byte 2,056 is damaged"));
    let huge = volume(0).with(FILE + 108, [0xff; 4]);
    assert!(error(&huge).contains("expected less than 2^63"));
}
