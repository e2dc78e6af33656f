//! No prober panics, loops or reads without end, whatever the bytes: every format's valid head, damaged at random.

use proptest::prelude::*;
use std::io;
use straddle_geometry::{Bytes, SectorSize};
use straddle_io::{ReadAt, Reader};
use straddle_probe::{Limits, Window, inspect, registry};
use straddle_stack::{Fact, Layer, LayerKind, Source, Stack};

/// A volume of any size, zero but for a few pieces.
#[derive(Clone, Debug)]
struct Sparse {
    size: u64,
    pieces: Vec<(u64, Vec<u8>)>,
}

impl ReadAt for Sparse {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let offset = offset.get();
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = buf.len().min(left);
        let buf = &mut buf[..len];
        buf.fill(0);
        let end = offset + buf.len() as u64;
        for (at, bytes) in &self.pieces {
            let from = offset.max(*at);
            let to = end.min(*at + bytes.len() as u64);
            if from < to {
                let (here, there) = ((from - offset) as usize, (from - at) as usize);
                let n = (to - from) as usize;
                buf[here..here + n].copy_from_slice(&bytes[there..there + n]);
            }
        }
        Ok(buf.len())
    }
}

/// One structure of `len` bytes at `at`, zero but for `fields`.
fn piece(at: u64, len: usize, fields: &[(usize, &[u8])]) -> (u64, Vec<u8>) {
    let mut bytes = vec![0; len];
    for (offset, field) in fields {
        bytes[*offset..offset + field.len()].copy_from_slice(field);
    }
    (at, bytes)
}

type Fields = &'static [(usize, &'static [u8])];

const NTFS: Fields = &[
    (3, b"NTFS    "),
    (11, &[0, 2, 8]),
    (40, &[0xff, 0xff, 3]),
    (48, &[4]),
    (64, &[0xf6, 0, 0, 0, 1]),
];
const NTFS_VOLUME: Fields = &[
    (0, b"FILE"),
    (4, &[48, 0, 3]),
    (20, &[56]),
    (56, &[0x10, 0, 0, 0, 96]),
    (152, &[0x70, 0, 0, 0, 40]),
    (152 + 20, &[24]),
    (152 + 32, &[3, 1]),
];
const EXFAT: Fields = &[
    (3, b"EXFAT   "),
    (72, &[0, 0, 4]),
    (80, &[128, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0, 0, 1]),
    (104, &[0, 1, 0, 0, 9, 3, 1]),
];
const REFS: Fields = &[
    (3, b"ReFS"),
    (16, b"FSRS"),
    (24, &[0, 0, 4]),
    (32, &[0, 2, 0, 0, 128, 0, 0, 0, 3, 14]),
];
const XFS: Fields = &[
    (0, b"XFSB\0\0\x10\0\0\0\0\0\0\0\x80\0"),
    (84, &[0, 0, 32, 0, 0, 0, 0, 4]),
    (100, &[0xb4, 0xa5, 2, 0]),
    (120, &[12, 9]),
    (184, &[0, 0, 0, 16, 0, 0, 0, 48]),
];
const EXT: Fields = &[
    (4, &[0, 128, 0, 0]),
    (24, &[2, 0, 0, 0, 2, 0, 0, 0, 0, 128]),
    (56, &[0x53, 0xef]),
    (90, &[1]),
    (92, &[0x3c, 0, 0, 0, 0xc2, 2, 0, 0, 0x6b, 6]),
];
const BTRFS: Fields = &[
    (64, b"_BHRfS_M"),
    (114, &[0, 4]),
    (136, &[1]),
    (145, &[16, 0, 0, 0, 64, 0, 0, 0, 64, 0, 0, 0, 16]),
    (160, &[129]),
    (209, &[0, 0, 0, 4]),
    (819, &[228]),
    (844, &[0, 0, 1]),
];
const FAT32: Fields = &[
    (0, &[0xeb, 0x58, 0x90]),
    (11, &[0, 2, 1, 32, 0, 2]),
    (21, &[0xf8]),
    (32, &[0, 0, 4, 0, 0, 8]),
    (50, &[6]),
    (510, &[0x55, 0xaa]),
];
const INNODB: Fields = &[(24, &[0, 8]), (46, &[0, 0, 0, 4])];
const POSTGRES: Fields = &[(12, &[40, 0, 0, 3, 0, 32, 4, 32])];

/// As `wt` writes it, with allocation units of 4 KiB.
const WIREDTIGER: &[u8] = b"\x41\xd8\x01\0\x01\0\0\0\xd8\x08\x23\xb7";

/// The head of every format, with the name of the prober that must recognise it.
fn heads() -> Vec<(&'static str, Sparse)> {
    let size = 256 << 20;
    let of = |pieces: Vec<(u64, Vec<u8>)>| Sparse { size, pieces };
    let btrfs = |at: u64| {
        let (_, mut bytes) = piece(at, 4096, BTRFS);
        bytes[48..56].copy_from_slice(&at.to_le_bytes());
        (at, bytes)
    };
    let swap = |page: u64| {
        let mut fields = vec![(1024, &[1_u8, 0, 0, 0, 255][..])];
        let end = usize::try_from(page).expect("small");
        fields.push((end - 10, b"SWAPSPACE2"));
        piece(0, end, &fields)
    };
    let mut ntfs_backup = piece(size - 512, 512, NTFS);
    ntfs_backup.1[40..48].copy_from_slice(&(size / 512 - 1).to_le_bytes());
    let volume_record = piece(4 * 4096 + 3 * 1024, 1024, NTFS_VOLUME);
    vec![
        ("ntfs", of(vec![piece(0, 512, NTFS), volume_record])),
        ("exfat", of(vec![piece(0, 512, EXFAT)])),
        ("refs", of(vec![piece(0, 512, REFS)])),
        ("xfs", of(vec![piece(0, 512, XFS)])),
        ("ext4", of(vec![piece(1024, 1024, EXT)])),
        ("swap", of(vec![swap(4096)])),
        ("swap", of(vec![swap(65_536)])),
        ("btrfs", of(vec![btrfs(64 << 10)])),
        ("fat32", of(vec![piece(0, 512, FAT32)])),
        (
            "sqlserver",
            of(vec![
                piece(0, 96, &[(0, &[1, 15]), (36, &[1])]),
                piece(8192, 96, &[(0, &[1, 11]), (32, &[1, 0, 0, 0, 1])]),
            ]),
        ),
        (
            "innodb",
            of(vec![
                piece(0, 64, INNODB),
                piece(16_384, 64, &[(4, &[0, 0, 0, 1])]),
            ]),
        ),
        (
            "oracle",
            of(vec![
                piece(0, 32, &[(1, &[0xa2]), (21, &[0x20]), (28, b"}|{z")]),
                piece(8192, 32, &[(0, &[11, 0xa2]), (4, &[1])]),
            ]),
        ),
        ("wiredtiger", of(vec![piece(0, 16, &[(0, WIREDTIGER)])])),
        (
            "postgresql",
            of(vec![piece(0, 24, POSTGRES), piece(8192, 24, POSTGRES)]),
        ),
        ("fat32", of(vec![piece(6 * 512, 512, FAT32)])),
        ("exfat", of(vec![piece(12 * 512, 512, EXFAT)])),
        ("ntfs", of(vec![ntfs_backup])),
        ("btrfs", of(vec![btrfs(64 << 20)])),
        ("ext4", of(vec![piece(128 << 20, 1024, EXT)])),
    ]
}

/// Runs every prober by itself and the whole inspection; returns the formats found by the latter.
fn look(image: &Sparse, sector: Option<SectorSize>) -> Vec<String> {
    for prober in registry::all() {
        let reader = Reader::new(image);
        if let Ok(Some(found)) = prober.run(&Window::whole(&reader, sector)) {
            for attribute in &found.attributes {
                if let Source::Image(bytes) = &attribute.value.source {
                    let end = bytes.offset().get() + bytes.field().len() as u64;
                    assert!(end <= image.size, "evidence beyond the end");
                    assert!(!bytes.field().is_empty(), "{:?}", attribute.key);
                }
            }
        }
    }
    let reader = Reader::new(image);
    let mut stack = Stack::new();
    let mut base = Layer::new(LayerKind::Device, "image");
    base.size = Some(Fact::derived(image.size(), "its length"));
    let base = stack.push(base);
    inspect(&mut stack, base, &reader, sector, Limits::default());
    let spent = reader.spent();
    assert!(spent <= Bytes::kib(256), "{spent} were read");
    stack
        .layers()
        .iter()
        .filter_map(|layer| layer.format.as_ref().map(ToString::to_string))
        .collect()
}

#[test]
fn every_head_is_recognised_while_it_is_whole() {
    for (name, image) in heads() {
        assert_eq!(look(&image, None), [name]);
        assert_eq!(look(&image, Some(SectorSize::B4096)), [name]);
    }
}

/// A field is as likely to be set to a limit as to a random number.
fn damage() -> impl Strategy<Value = (prop::sample::Index, prop::sample::Index, Vec<u8>)> {
    let byte = prop_oneof![
        Just(0_u8),
        Just(1),
        Just(0x7f),
        Just(0x80),
        Just(0xff),
        any::<u8>()
    ];
    let bytes = prop_oneof![
        prop::collection::vec(byte, 1..9),
        (1_usize..17).prop_map(|n| vec![0xff; n]),
        (1_usize..17).prop_map(|n| vec![0; n]),
    ];
    (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        bytes,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn damaged_heads_do_no_harm(
        which in any::<prop::sample::Index>(),
        damages in prop::collection::vec(damage(), 0..6),
        size in prop_oneof![
            5 => Just(None),
            1 => (0_u64..140_000).prop_map(Some),
            1 => any::<u64>().prop_map(|n| Some(n >> 1)),
        ],
        sector in prop_oneof![Just(None), Just(Some(SectorSize::B512)), Just(Some(SectorSize::B4096))],
    ) {
        let mut heads = heads();
        let at = which.index(heads.len());
        let (_, mut image) = heads.swap_remove(at);
        for (piece, at, bytes) in damages {
            let n = image.pieces.len();
            let (_, piece) = &mut image.pieces[piece.index(n)];
            // Most fields are in the first 256 bytes.
            let at = at.index(piece.len().min(256));
            let n = bytes.len().min(piece.len() - at);
            piece[at..at + n].copy_from_slice(&bytes[..n]);
        }
        if let Some(size) = size {
            image.size = size;
        }
        look(&image, sector);
    }
}
