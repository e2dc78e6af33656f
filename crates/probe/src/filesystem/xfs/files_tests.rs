//! Trees of extents, which need more fragments than mkfs makes, and damaged structures.

use straddle_io::Reader;
use straddle_stack::AnomalyKind;

use crate::fixture::Volume;
use crate::{FindError, FoundFile, Window, find_file};

const BLOCK: usize = 512;
const INODE: usize = 256;
const ROOT: usize = 20 * BLOCK;
const FILE: usize = ROOT + INODE;
const FORK: usize = 100;
/// Blocks of a group: the second group begins at block 1,000, and its number is 1 in bit 10.
const GROUP: u32 = 1000;

fn extent(unwritten: bool, first: u64, block: u64, count: u64) -> [u8; 16] {
    let bits = u128::from(unwritten) << 127
        | u128::from(first) << 73
        | u128::from(block) << 21
        | u128::from(count);
    bits.to_be_bytes()
}

/// Version 4 with two groups of 1,000 blocks; the root, in its inode, has `f`, inode 41, of 100,000 bytes.
fn volume(format: u8) -> Volume {
    let inode = |volume: Volume, at: usize, mode: u16, format: u8| {
        volume
            .with(at, b"IN")
            .with(at + 2, mode.to_be_bytes())
            .with(at + 4, [2, format])
    };
    let volume = Volume::new(2 * 1000 * BLOCK)
        .with(0, b"XFSB")
        .with(4, 512_u32.to_be_bytes())
        .with(8, 2000_u64.to_be_bytes())
        .with(56, 40_u64.to_be_bytes())
        .with(84, GROUP.to_be_bytes())
        .with(88, 2_u32.to_be_bytes())
        .with(100, 0xb4a4_u16.to_be_bytes())
        .with(102, 512_u16.to_be_bytes())
        .with(104, 256_u16.to_be_bytes())
        .with(106, 2_u16.to_be_bytes())
        .with(120, [9, 9, 8, 1, 10]);
    let volume = inode(volume, ROOT, 0x41ed, 1);
    let volume = inode(volume, FILE, 0x81a4, format);
    volume
        .with(ROOT + 56, 20_u64.to_be_bytes())
        .with(ROOT + FORK, [1, 0, 0, 0, 0, 40])
        .with(ROOT + FORK + 6, [1, 0, 96, b'f', 0, 0, 0, 41])
        .with(FILE + 56, 100_000_u64.to_be_bytes())
        .with(FILE + 64, 60_u64.to_be_bytes())
}

/// A root of one level with two leaves, in both groups.
fn tree() -> Volume {
    let fork = FILE + FORK;
    let room = (INODE - FORK - 4) / 16;
    let leaf = |volume: Volume, at: usize, extents: &[[u8; 16]]| {
        let count = u16::try_from(extents.len()).expect("few");
        volume
            .with(at, b"BMAP\0\0")
            .with(at + 6, count.to_be_bytes())
            .with(at + 24, extents.concat())
    };
    let volume = volume(3)
        .with(fork, [0, 1, 0, 2])
        .with(fork + 4 + 8, 30_u64.to_be_bytes())
        .with(fork + 4 + room * 8, 100_u64.to_be_bytes())
        .with(fork + 4 + room * 8 + 8, (1_u64 << 10 | 7).to_be_bytes());
    let volume = leaf(
        volume,
        100 * BLOCK,
        &[
            extent(false, 0, 200, 10),
            extent(false, 10, 1 << 10 | 300, 10),
        ],
    );
    leaf(
        volume,
        (1000 + 7) * BLOCK,
        &[extent(true, 30, 400, 20), extent(false, 50, 420, 500)],
    )
}

fn find(volume: &Volume) -> Result<FoundFile, FindError> {
    let reader = Reader::new(&volume.0);
    find_file(&Window::whole(&reader, None), "xfs", "/f")
}

fn error(volume: &Volume) -> String {
    find(volume).expect_err("damaged").to_string()
}

/// (upper, lower, length) in blocks; the last is cut at the file's end.
fn runs(found: &FoundFile) -> Vec<(u64, u64, u64)> {
    let segments = found.segments.iter();
    let in_blocks = segments.map(|s| {
        let block = BLOCK as u64;
        let (upper, len) = (s.upper.start().get(), s.upper.len().get());
        (upper / block, s.lower.get() / block, len.div_ceil(block))
    });
    in_blocks.collect()
}

#[test]
fn a_tree_of_extents_is_followed_into_both_groups() {
    let found = find(&tree()).expect("there");
    // 400 and 420 continue each other; byte 100,000 is in block 195.
    assert_eq!(runs(&found), [(0, 200, 10), (10, 1300, 10), (30, 400, 166)]);
    let last = found.segments.last().expect("three").upper;
    assert_eq!(last.end().get(), 100_000);
    assert_eq!(found.unwritten.len(), 1);
    assert_eq!(found.unwritten[0].start().get(), 30 * 512);
    assert_eq!(found.unwritten[0].end().get(), 50 * 512);
    let kinds: Vec<_> = found.anomalies.iter().map(|o| o.kind).collect();
    assert_eq!(kinds, [AnomalyKind::Sparse, AnomalyKind::Unwritten]);
    assert_eq!(found.allocated.value.get(), 60 * 512);
    let place = found.placement.expect("known");
    assert_eq!(place.value.start().get(), 200 * 512);
    let recorded = format!("{:?}", place.source);
    assert!(recorded.contains("0xc818"), "{recorded}");
}

#[test]
fn damaged_trees_name_the_byte() {
    let again = tree().with(FILE + FORK + 4 + 9 * 8 + 8, 100_u64.to_be_bytes());
    assert_eq!(
        error(&again),
        "extent tree node at byte 51,224 is damaged: 10 blocks at block 0xc8 for block 0 of the file; \
         expected a run inside one group, for block 20 or later"
    );
    let empty = tree().with(100 * BLOCK + 6, [0, 0]);
    assert!(error(&empty).starts_with("extent tree node at byte 51,206 is damaged: 0 extents"));
    let level = tree().with(100 * BLOCK + 4, [0, 1]);
    assert!(error(&level).contains("level 1; expected 0"));
    let deep = tree().with(FILE + FORK, [0xff, 0xff]);
    assert!(error(&deep).contains("level 65535; expected 1 to 9"));
    let many = tree().with(FILE + FORK + 2, [0xff, 0xff]);
    assert!(error(&many).contains("65535 entries; expected 1 to 9"));
    let far = tree().with(FILE + FORK + 4 + 9 * 8, [0xff; 8]);
    assert!(error(&far).contains("a node at block 0xffffffffffffffff"));
    // The number of the block fits in 64 bits, that of its first byte does not.
    let farther = tree().with(FILE + FORK + 4 + 9 * 8, (1_u64 << 60).to_be_bytes());
    assert!(error(&farther).contains("a node at block 0x1000000000000000"));
    let magic = tree().with(100 * BLOCK, b"BMA3");
    assert!(error(&magic).contains("`BMA3`; expected `BMAP`"));
}

#[test]
fn extents_must_be_inside_one_group_and_in_order() {
    let with = |extents: &[[u8; 16]]| {
        let count = u32::try_from(extents.len()).expect("few");
        volume(2)
            .with(FILE + 76, count.to_be_bytes())
            .with(FILE + FORK, extents.concat())
    };
    let good = with(&[extent(false, 5, 990, 10)]);
    assert_eq!(runs(&find(&good).expect("there")), [(5, 990, 10)]);
    for bad in [
        with(&[extent(false, 0, 990, 11)]),
        with(&[extent(false, 0, 5, 0)]),
        with(&[extent(false, 0, 2 << 10, 1)]),
        with(&[extent(false, 0, 5, 5), extent(false, 4, 20, 5)]),
        with(&[extent(false, (1 << 54) - 1, 5, 5)]),
    ] {
        assert!(error(&bad).contains("expected a run inside one group"));
    }
    let many = volume(2).with(FILE + 76, [0xff; 4]);
    assert!(error(&many).contains("4294967295 extents; expected at most 9"));
}

#[test]
fn data_on_another_device_or_in_the_inode_has_no_segments() {
    let realtime = find(&volume(2).with(FILE + 90, [0, 1])).expect("there");
    assert_eq!(realtime.anomalies[0].kind, AnomalyKind::Elsewhere);
    assert!(realtime.segments.is_empty() && realtime.placement.is_none());
    let inline = find(&volume(1).with(FILE + 56, 9_u64.to_be_bytes())).expect("there");
    assert_eq!(inline.anomalies[0].kind, AnomalyKind::Inline);
    let place = inline.placement.expect("known").value;
    assert_eq!(
        (place.start().get(), place.len().get()),
        ((FILE + FORK) as u64, 9)
    );
}

#[test]
fn directories_and_inodes_that_are_damaged_name_the_byte() {
    let cut = volume(2).with(ROOT + FORK, [9, 0, 0, 0, 0, 40, 200]);
    assert!(error(&cut).starts_with("directory in inode 40 at byte 10,346 is damaged"));
    let nowhere = volume(2).with(ROOT + FORK + 10, [0xff; 4]);
    assert!(error(&nowhere).contains("inode 4294967295; expected one inside 2000 blocks"));
    let unused = volume(2).with(FILE, b"XX");
    assert!(error(&unused).starts_with("inode 41 at byte 10,496 is damaged: `XX`; expected `IN`"));
    let huge = volume(2).with(FILE + 56, [0xff; 8]);
    assert!(error(&huge).contains("expected less than 2^63"));
    let other = volume(2).with(0, b"XFSC");
    assert_eq!(
        error(&other),
        "there is no xfs here: there is no superblock in the first sector"
    );
}
