use super::*;
use crate::fixture::{Asked, Volume as Image};
use proptest::prelude::*;
use straddle_geometry::{Listed, Listing};
use straddle_io::Reader;

/// A superblock as `integritysetup format` of a device of 32 MiB wrote it.
fn superblock() -> Superblock {
    Superblock {
        magic: MAGIC,
        version: 5,
        log2_interleave_sectors: 15,
        tag_size: U16::new(4),
        journal_sections: U32::new(2),
        provided_data_sectors: U64::new(64_664),
        flags: U32::new(HAS_FIXED_PADDING | 0x10),
        log2_sectors_per_block: 0,
        log2_blocks_per_bitmap_bit: 15,
        pad: [0; 2],
        recalc_sector: U64::new(0),
        pad2: [0; 8],
        salt: [0; 16],
    }
}

fn node_at(superblock: &Superblock, at: usize, len: usize) -> Node {
    let image = Image::new(len).with(at, superblock.as_bytes()).0;
    let reader = Reader::new(&image);
    let part = Part {
        window: Window::whole(&reader, None),
        name: "device",
        serial: None,
    };
    let at = Bytes::new(u64::try_from(at).expect("small"));
    behind(&part, at).expect("readable").expect("a superblock")
}

#[test]
fn the_journal_is_as_long_as_the_kernel_s_table_says() {
    // `journal_sectors:352` of two sections.
    assert_eq!(superblock().journal(), Some(352 * 512));
    // 32 MiB − 4 KiB − 352 sectors, two runs of tags: 64,664 sectors of data, and as many as fit.
    let node = node_at(&superblock(), 0, 32 << 20);
    let layer = &node.layer;
    assert!(layer.anomalies.is_empty(), "{:?}", layer.anomalies);
    let start = 4096 + 352 * 512 + 32_768 * 4;
    let first = layer.map.locate(Bytes::ZERO).expect("a place");
    assert_eq!((first.offset.get(), first.run.get()), (start, 16 << 20));
    let second = layer.map.locate(Bytes::mib(16)).expect("a place");
    assert_eq!(second.offset.get(), start + (16 << 20) + 32_768 * 4);
    assert_eq!(node.holds, Holds::Volume);
    assert_eq!(layer.text(Key::IntegrityMode), Some("journal"));
}

#[test]
fn behind_another_header_all_is_shifted() {
    let moved = node_at(&superblock(), 1 << 20, 33 << 20);
    let plain = node_at(&superblock(), 0, 32 << 20);
    let at = |node: &Node, x| node.layer.map.locate(Bytes::new(x)).map(|l| l.offset.get());
    for x in [0, 5000, 16 << 20, (16 << 20) + 77] {
        assert_eq!(at(&moved, x), at(&plain, x).map(|at| at + (1 << 20)));
    }
    assert!(moved.layer.bytes(Key::JournalSize).is_some());
}

#[test]
fn what_cannot_be_is_damage() {
    type Spoil = fn(&mut Superblock);
    let cases: [(&str, Spoil); 7] = [
        ("interleave", |s| s.log2_interleave_sectors = 32),
        ("interleave", |s| s.log2_interleave_sectors = 2),
        ("block", |s| s.log2_sectors_per_block = 4),
        ("data sectors", |s| {
            s.provided_data_sectors = U64::new(u64::MAX)
        }),
        ("beyond the end", |s| {
            s.provided_data_sectors = U64::new(64_665 + 32_768)
        }),
        ("journal", |s| s.journal_sections = U32::new(u32::MAX)),
        ("version 9", |s| s.version = 9),
    ];
    for (what, spoil) in cases {
        let mut spoilt = superblock();
        spoil(&mut spoilt);
        let node = node_at(&spoilt, 0, 32 << 20);
        let [anomaly] = node.layer.anomalies.as_slice() else {
            panic!("{what}: {:?}", node.layer.anomalies)
        };
        assert_eq!(
            (anomaly.kind, node.holds),
            (AnomalyKind::Damaged, Holds::Nothing)
        );
    }
}

#[test]
fn tags_apart_and_tags_inside_have_no_runs_between() {
    let mut apart = superblock();
    apart.log2_interleave_sectors = 0;
    let node = node_at(&apart, 0, 1 << 20);
    assert!(matches!(
        node.below.as_slice(),
        [Below::Missing(_), Below::Part(0)]
    ));
    let mut inside = superblock();
    inside.version = 6;
    inside.flags = U32::new(IS_INLINE);
    let node = node_at(&inside, 0, 1 << 20);
    assert_eq!(
        node.layer.map,
        Map::Linear {
            start: Bytes::new(4096)
        }
    );
}

#[test]
fn a_device_says_what_it_stores() {
    let image = Image::new(8192).with(0, superblock().as_bytes()).0;
    let reader = Reader::new(&image);
    let found = FORMAT
        .run(&Window::whole(&reader, None))
        .expect("readable")
        .expect("integrity");
    assert_eq!(found.detected.bytes(Key::TagSize), Some(4));
    assert_eq!(found.detected.bytes(Key::Interleave), Some(16 << 20));
    assert_eq!(found.detected.bytes(Key::JournalSize), Some(352 * 512));
    assert!(found.set.is_empty());
}

fn any_layout() -> impl Strategy<Value = Superblock> {
    (
        3_u8..12,
        1_u16..200,
        0_u32..5,
        1_u64..40_000,
        0_u8..4,
        prop::bool::ANY,
        prop::bool::ANY,
    )
        .prop_map(
            |(interleave, tag, sections, sectors, block, fixed, mac)| Superblock {
                log2_interleave_sectors: interleave.max(block + 3),
                tag_size: U16::new(tag),
                journal_sections: U32::new(sections),
                provided_data_sectors: U64::new(sectors),
                log2_sectors_per_block: block,
                flags: U32::new(u32::from(fixed) * HAS_FIXED_PADDING + u32::from(mac)),
                ..superblock()
            },
        )
}

proptest! {
    /// `get_data_sector` of the kernel: area, offset, runs of metadata before it, and what stands before all.
    #[test]
    fn places_are_those_of_the_published_arithmetic(read in any_layout(), at in 0_u64..40_000) {
        let block_sectors = 1_u64 << read.log2_sectors_per_block;
        let entry = (8 + 8 * block_sectors + u64::from(read.tag_size.get())).div_ceil(8) * 8;
        let space = if read.has(HAS_JOURNAL_MAC) { 496 } else { 504 };
        let section = space / entry * 8 * block_sectors + 8;
        let initial = 8 + section * u64::from(read.journal_sections.get());
        let padding = if read.has(HAS_FIXED_PADDING) { 4096 } else { 131_072 };
        let interleave = 1_u64 << read.log2_interleave_sectors;
        let tags = u64::from(read.tag_size.get()) * (interleave / block_sectors);
        let run = tags.div_ceil(padding) * padding / 512;
        let places = read.places(0).expect("within limits");
        let table = places.locate(Bytes::new(at * 512)).expect("a place");
        if at < read.provided_data_sectors.get() {
            let (area, offset) = (at / interleave, at % interleave);
            let expected = initial + area * interleave + (area + 1) * run + offset;
            let Located::At { offset, .. } = table else { panic!("{table:?}") };
            prop_assert_eq!(offset.get(), expected * 512);
            let map = places.map().expect("segments");
            let map = map.locate(Bytes::new(at * 512)).expect("a place");
            prop_assert_eq!(map.offset, offset);
        } else {
            prop_assert!(matches!(table, Located::Absent { .. }), "behind the end");
        }
    }

    #[test]
    fn streaming_says_what_looking_up_says(read in any_layout(), from in 0_u64..20_000, len in 1_u64..20_000) {
        let places = read.places(0).expect("within limits");
        let range = Extent::new(Bytes::new(from * 512), Bytes::new(len * 512)).expect("small");
        let listing = Listing::of(&places, range, 1 << 20).expect("streams");
        for part in listing.parts() {
            let Listed::Piece(piece) = part else { continue };
            let there = places.locate(piece.upper.start()).expect("a place");
            let Located::At { offset, .. } = there else { panic!("{there:?}") };
            prop_assert_eq!(offset, piece.lower);
        }
        let listed: u64 = listing.parts().iter().map(|part| part.upper().len().get()).sum();
        let end = range.end().get().min(places.size.get());
        prop_assert_eq!(listed, end.saturating_sub(range.start().get()));
    }
}
