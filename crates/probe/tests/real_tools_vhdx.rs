//! VHDX against qemu-img, which prints no offsets for it: the map must be what an independent walk over the table says,
//! every sector that was written must lie where the map points, and what is read there must be what `qemu-img convert`
//! reads. A pending log must end as `qemu-img check -r all` ends it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::qemu_map::{Chain, Rng, Spec, arg, convert, qemu_img, tool};
use straddle_geometry::{Bytes, Extent, Gap, Listed, Listing, Place};
use straddle_io::{Reader, Target};
use straddle_probe::container::{self, Container, Content};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// What a block is, by the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    At(u64),
    Absent,
    Zero,
}

fn number(bytes: &[u8], at: usize, len: usize) -> u64 {
    bytes[at..at + len]
        .iter()
        .rev()
        .fold(0, |n, byte| n << 8 | u64::from(*byte))
}

fn read(path: &Path, at: u64, len: usize) -> Vec<u8> {
    use std::os::unix::fs::FileExt;
    let mut bytes = vec![0; len];
    let file = fs::File::open(path).expect("opens");
    file.read_exact_at(&mut bytes, at).expect("readable");
    bytes
}

/// The blocks of an image, by nothing but the specification.
fn walk(path: &Path) -> (u64, Vec<Block>) {
    let regions = read(path, 0x3_0000, 0x1_0000);
    let region = |first: u64| {
        let count = number(&regions, 8, 4) as usize;
        let at = (0..count)
            .map(|n| 16 + 32 * n)
            .find(|at| number(&regions, *at, 4) == first);
        number(&regions, at.expect("a region") + 16, 8)
    };
    let (table, metadata) = (region(0x2dc2_7766), region(0x8b7c_a206));
    let items = read(path, metadata, 0x2_0000);
    let item = |first: u64, len: usize| {
        let count = number(&items, 10, 2) as usize;
        let at = (1..=count)
            .map(|n| 32 * n)
            .find(|at| number(&items, *at, 4) == first);
        number(
            &items,
            number(&items, at.expect("an item") + 16, 4) as usize,
            len,
        )
    };
    let (block, size, sector) = (
        item(0xcaa1_6737, 4),
        item(0x2fa5_4224, 8),
        item(0x8141_bf1d, 4),
    );
    let ratio = (1 << 23) * sector / block;
    let count = size.div_ceil(block);
    let all = read(path, table, ((count + count / ratio + 1) * 8) as usize);
    let blocks = (0..count).map(|n| {
        let entry = number(&all, ((n + n / ratio) * 8) as usize, 8);
        match entry % 8 {
            0 => Block::Absent,
            6 => Block::At(entry >> 20 << 20),
            _ => Block::Zero,
        }
    });
    (block, blocks.collect())
}

fn open(path: &Path) -> Container {
    let file: std::sync::Arc<dyn straddle_io::ReadAt> =
        std::sync::Arc::new(Target::open(path).expect("opens"));
    let (format, container) = container::recognise(&Reader::new(&*file), &file)
        .expect("readable")
        .expect("recognised");
    assert_eq!(format.name, "vhdx");
    container
}

/// The blocks of an image, by its map; those of a size that is not a whole number of blocks end with a part.
fn mapped(container: &Container, block: u64) -> Vec<Block> {
    let disk = container.disk.as_ref().expect("a disk");
    let Content::Blocks(table) = &disk.content else {
        panic!("no table")
    };
    assert_eq!(table.block().get(), block);
    let listing = Listing::of(&**table, Extent::whole(disk.size.value), 1 << 20).expect("a table");
    assert!(!listing.left_out());
    let mut blocks = Vec::new();
    for part in listing.parts() {
        let upper = part.upper();
        assert_eq!(upper.start().get(), blocks.len() as u64 * block);
        for n in 0..upper.len().get().div_ceil(block) {
            blocks.push(match part {
                Listed::Piece(piece) => Block::At(piece.lower.get() + n * block),
                Listed::Gap(_, Gap::Absent) => Block::Absent,
                Listed::Gap(_, _) => Block::Zero,
            });
        }
    }
    blocks
}

/// Makes an image, writes to it, and compares all that can be compared. Gives the number of blocks out of order.
fn vhdx(folder: &Path, seed: u64, size: u64, options: &[String], writes: u64) -> usize {
    let path = folder.join("image.vhdx");
    let what = format!("vhdx {options:?}, {size} bytes, seed {seed}");
    let mut spec = Spec::new("vhdx", size);
    spec.options = options.to_vec();
    spec.create(&path);
    // Each sector that is written holds its own address, over and over.
    let mut rng = Rng(seed);
    let mut args = vec!["-f".to_owned(), "vhdx".into()];
    let mut marked = BTreeMap::new();
    for n in 0..writes {
        let (at, len) = rng.range(size, 512, 40);
        let marks: Vec<u8> = (at..at + len)
            .step_by(512)
            .flat_map(|sector| sector.to_le_bytes().repeat(64))
            .collect();
        let source = folder.join(format!("marks{n}"));
        fs::write(&source, marks).expect("written");
        args.extend([
            "-c".into(),
            format!("write -q -s {} {at} {len}", arg(&source)),
        ]);
        marked.extend((at..at + len).step_by(512).map(|sector| (sector, ())));
    }
    args.push(arg(&path).into());
    let said = tool("qemu-io", "qemu-utils", args);
    assert!(said.is_empty(), "{what}: {said}");

    let (block, walked) = walk(&path);
    let container = open(&path);
    assert!(
        container.detected.anomalies.is_empty(),
        "{what}: {:?}",
        container.detected.anomalies
    );
    assert_eq!(mapped(&container, block), walked, "{what}");
    let disk = container.disk.as_ref().expect("a disk");
    assert_eq!(disk.size.value.get(), size, "{what}");
    let Content::Blocks(table) = &disk.content else {
        panic!("no table")
    };
    for sector in marked.keys() {
        let place = table.locate(Bytes::new(*sector)).expect("a readable table");
        let Place::At { offset, .. } = place else {
            panic!("{what}: sector at {sector}: {place:?}")
        };
        let found = read(&path, offset.get(), 512);
        assert_eq!(
            found,
            sector.to_le_bytes().repeat(64),
            "{what}: sector at {sector}"
        );
    }
    if size <= 64 * MIB {
        let chain = Chain::open(&[("vhdx", &path)]);
        chain.must_read_as(&what, &convert("vhdx", &path, &folder.join("raw")));
    }
    fs::remove_file(&path).expect("removed");
    let places: Vec<u64> = walked
        .iter()
        .filter_map(|block| match block {
            Block::At(at) => Some(*at),
            _ => None,
        })
        .collect();
    places.windows(2).filter(|pair| pair[0] > pair[1]).count()
}

#[test]
fn vhdx_as_qemu_img_makes_it() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let (mut images, mut disorder) = (0, 0);
    let mut make = |size: u64, options: &[String], writes: u64| {
        images += 1;
        disorder += vhdx(folder, images, size, options, writes);
    };
    for (n, block) in (0_u64..).zip([1, 2, 4, 8, 16, 32, 64, 128, 256]) {
        for zero in ["on", "off"] {
            let block = format!("block_size={}", block * MIB);
            let zero = format!("block_state_zero={zero}");
            make(40 * MIB + 512 * n, &[block.clone(), zero.clone()], 12);
            make(100 * GIB, &[block, zero], 40);
        }
    }
    for size in [4 * MIB, 9 * MIB + 512, 33 * MIB] {
        for block in [1, 8] {
            let block = format!("block_size={}", block * MIB);
            make(size, &["subformat=fixed".into(), block], 8);
        }
    }
    make(
        1 << 40,
        &["block_size=1M".into(), "block_state_zero=off".into()],
        60,
    );
    make(1 << 40, &["block_size=32M".into()], 60);
    make(1 << 40, &["log_size=4M".into()], 60);
    assert!(images >= 40, "{images}");
    assert!(
        disorder > 200,
        "only {disorder} blocks lie before the one that precedes them"
    );
}

/// A log entry as QEMU wrote it, before what it says was carried out: the header names it, the table is the old one.
#[test]
fn a_pending_log_ends_as_qemu_img_ends_it() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("image.vhdx");
    let spec = Spec::new("vhdx", 64 * MIB).with("block_size=1M");
    spec.create(&path);
    let write = |at: u64| {
        tool(
            "qemu-io",
            "qemu-utils",
            [
                "-f",
                "vhdx",
                "-c",
                &format!("write -q -P 7 {at} 1M"),
                arg(&path),
            ],
        )
    };
    write(5 * MIB);
    let before = read(&path, 0, 8 * MIB as usize);
    write(3 * MIB);
    let after = read(&path, 0, 8 * MIB as usize);
    let differ = |at: u64| {
        before[at as usize..(at + 4096) as usize] != after[at as usize..(at + 4096) as usize]
    };
    let log = number(&after, 0x1_0048, 8);
    let regions: Vec<u64> = (0..2)
        .map(|n| number(&after, 0x3_0010 + 32 * n + 16, 8))
        .collect();
    assert!(
        after[log as usize..].starts_with(b"loge"),
        "QEMU left its log entry"
    );
    let table: Vec<u64> = regions.iter().copied().filter(|at| differ(*at)).collect();
    let [table] = table.as_slice() else {
        panic!("one region changed: {table:?}")
    };
    let file = fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .expect("opens");
    file.write_all_at(&before[*table as usize..][..4096], *table)
        .expect("written");
    for at in [0x1_0000_usize, 0x2_0000] {
        let mut header = after[at..at + 4096].to_vec();
        header[48..64].copy_from_slice(&after[log as usize + 32..][..16]);
        header[4..8].fill(0);
        let sum = crc32c(&header).to_le_bytes();
        header[4..8].copy_from_slice(&sum);
        file.write_all_at(&header, at as u64).expect("written");
    }
    drop(file);

    let container = open(&path);
    let done = container
        .detected
        .attributes
        .iter()
        .find(|a| a.key == straddle_stack::Key::PendingLog);
    let done = done.expect("a pending log").value.value.to_string();
    assert!(done.starts_with("replayed in memory: "), "{done}");
    let here = mapped(&container, MIB);
    assert_eq!(walk(&path).1[3], Block::Zero, "the file is as it was");
    qemu_img(["check", "-q", "-r", "all", "-f", "vhdx", arg(&path)]);
    let (_, repaired) = walk(&path);
    assert!(matches!(repaired[3], Block::At(_)), "{:?}", repaired[3]);
    assert_eq!(here, repaired);
}

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0x82f6_3b78 * (crc & 1))
        })
    })
}
