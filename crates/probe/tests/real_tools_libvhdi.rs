//! Differencing VHD and VHDX against libvhdi: qemu-img makes neither, so children are made by hand on parents that it
//! makes, with several blocks of which only some sectors are present, and libvhdi must read the chain as it is read here.

use std::fs;
use std::path::Path;

use crate::support::qemu_map::{Action, Chain, Rng, Spec, arg, tool};

const MIB: u64 = 1 << 20;

/// The guest's bytes by libvhdi.
fn libvhdi(child: &Path, parent: &Path, folder: &Path) -> Vec<u8> {
    const SCRIPT: &str = "
import pyvhdi, sys
child, parent = pyvhdi.file(), pyvhdi.file()
parent.open(sys.argv[2])
child.open(sys.argv[1])
child.set_parent(parent)
with open(sys.argv[3], 'wb') as raw:
    left = child.get_media_size()
    while left:
        data = child.read_buffer(min(left, 1 << 20))
        raw.write(data)
        left -= len(data)
";
    let raw = folder.join("raw");
    tool(
        "/usr/bin/python3",
        "python3-libvhdi",
        ["-c", SCRIPT, arg(child), arg(parent), arg(&raw)],
    );
    fs::read(&raw).expect("the raw image")
}

/// A bitmap of `count` sectors in runs of random length. Runs of sectors that are here end at multiples of `end` only.
fn random_bits(rng: &mut Rng, count: usize, end: usize) -> Vec<bool> {
    let mut bits: Vec<bool> = Vec::new();
    while bits.len() < count {
        let here = rng.below(2) == 1;
        let most = [3, 70, 1000][rng.below(3) as usize];
        let mut run = 1 + rng.below(most) as usize;
        if here {
            run = (bits.len() + run).next_multiple_of(end) - bits.len();
        }
        bits.extend(std::iter::repeat_n(here, run.min(count - bits.len())));
    }
    bits
}

fn parent(format: &str, path: &Path, rng: &mut Rng, size: u64, options: &[&str]) {
    let mut spec = Spec::new(format, size);
    spec.options = options.iter().map(|option| (*option).to_owned()).collect();
    spec.create(path);
    let actions: Vec<Action> = rng.actions(30, size, 512, 3000, 0);
    spec.actions(path, &actions);
}

#[test]
fn differencing_vhds_read_as_libvhdi_reads_them() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let (base, path) = (
        folder.path().join("base.vhd"),
        folder.path().join("child.vhd"),
    );
    for seed in 0..6 {
        let mut rng = Rng(seed);
        let size = 12 * MIB - 512 * rng.below(1000);
        let blocks = size.div_ceil(2 * MIB) as usize;
        parent("vpc", &base, &mut rng, size, &["force_size=on"]);
        let mut child = fs::read(&base).expect("the parent")[..1536].to_vec();
        let sum = |bytes: &mut [u8], at: usize| {
            bytes[at..at + 4].fill(0);
            let sum = !bytes.iter().map(|b| u32::from(*b)).sum::<u32>();
            bytes[at..at + 4].copy_from_slice(&sum.to_be_bytes());
        };
        let id: Vec<u8> = child[68..84].to_vec();
        child[60..64].copy_from_slice(&4_u32.to_be_bytes());
        child[68..84].fill(0x77);
        sum(&mut child[..512], 64);
        child[512 + 40..512 + 56].copy_from_slice(&id);
        let name: Vec<u8> = "base.vhd"
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect();
        child[512 + 64..512 + 64 + name.len()].copy_from_slice(&name);
        sum(&mut child[512..1536], 36);
        // The table, then the blocks in random order.
        child.resize(2048, 0xff);
        let mut order: Vec<usize> = (0..blocks).filter(|_| rng.below(4) > 0).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, rng.below(at as u64 + 1) as usize);
        }
        for block in order {
            let sector = (child.len() / 512) as u32;
            child[1536 + 4 * block..1540 + 4 * block].copy_from_slice(&sector.to_be_bytes());
            // libvhdi 20210425 takes a run of sectors in a VHD to go on to the end of the byte in which it ends.
            let bits = random_bits(&mut rng, 4096, 8);
            child.extend(bits.chunks(8).map(|bits| {
                bits.iter()
                    .fold(0_u8, |byte, bit| byte << 1 | u8::from(*bit))
            }));
            for (sector, _) in bits.iter().enumerate() {
                child.extend(
                    ((block * 4096 + sector) as u64 | 1 << 63)
                        .to_le_bytes()
                        .repeat(64),
                );
            }
        }
        let footer = child[..512].to_vec();
        child.extend(footer);
        fs::write(&path, child).expect("written");
        let chain = Chain::open(&[("vhd", &path), ("vhd", &base)]);
        let reference = &chain.disk().references[0];
        assert_eq!(reference.names, ["base.vhd"]);
        let parent = Chain::open(&[("vhd", &base)]);
        assert_eq!(reference.expects.as_ref(), parent.disk().identities.first());
        chain.must_read_as(
            &format!("vhd, seed {seed}"),
            &libvhdi(&path, &base, folder.path()),
        );
    }
}

fn number(bytes: &[u8], at: usize, len: usize) -> usize {
    bytes[at..at + len]
        .iter()
        .rev()
        .fold(0, |n, byte| n << 8 | usize::from(*byte))
}

#[test]
fn differencing_vhdxs_read_as_libvhdi_reads_them() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let (base, path) = (
        folder.path().join("base.vhdx"),
        folder.path().join("child.vhdx"),
    );
    let utf16 =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    for seed in 0..6 {
        let mut rng = Rng(50 + seed);
        let size = 12 * MIB;
        let options = ["block_size=1M", "block_state_zero=off"];
        parent("vhdx", &base, &mut rng, size, &options);
        parent("vhdx", &path, &mut rng, size, &options);
        let linkage = Chain::open(&[("vhdx", &base)]).disk().identities[0].clone();
        let mut child = fs::read(&path).expect("the child");
        let region = |id: usize| {
            let at = (0..2)
                .map(|n| 0x3_0010 + 32 * n)
                .find(|at| number(&child, *at, 4) == id);
            number(&child, at.expect("a region") + 16, 8)
        };
        let (table, metadata) = (region(0x2dc2_7766), region(0x8b7c_a206));
        let count = number(&child, metadata + 10, 2);
        let items: Vec<usize> = (1..=count).map(|n| metadata + 32 * n).collect();
        let parameters = items
            .iter()
            .find(|at| number(&child, **at, 4) == 0xcaa1_6737);
        let parameters = metadata + number(&child, parameters.expect("parameters") + 16, 4);
        child[parameters + 4] = 2;
        // One more item: the locator.
        let mut locator = vec![
            0xb7, 0xef, 0x4a, 0xb0, 0x9e, 0xd1, 0x81, 0x4a, 0xb7, 0x89, 0x25, 0xb8, 0xe9, 0x44,
            0x59, 0x13, 0, 0, 2, 0,
        ];
        let mut strings = Vec::new();
        for (key, value) in [
            ("parent_linkage", format!("{{{linkage}}}")),
            ("relative_path", ".\\base.vhdx".to_owned()),
        ] {
            let (key, value) = (utf16(key), utf16(&value));
            let at = 44 + strings.len();
            locator.extend((at as u32).to_le_bytes());
            locator.extend(((at + key.len()) as u32).to_le_bytes());
            locator.extend((key.len() as u16).to_le_bytes());
            locator.extend((value.len() as u16).to_le_bytes());
            strings.extend(key);
            strings.extend(value);
        }
        locator.extend(strings);
        let entry = metadata + 32 * (count + 1);
        let id = [
            0x2d, 0x5f, 0xd3, 0xa8, 0x0b, 0xb3, 0x4d, 0x45, 0xab, 0xf7, 0xd3, 0xd8, 0x48, 0x34,
            0xab, 0x0c,
        ];
        child[entry..entry + 16].copy_from_slice(&id);
        child[entry + 16..entry + 20].copy_from_slice(&0x1_8000_u32.to_le_bytes());
        child[entry + 20..entry + 24].copy_from_slice(&(locator.len() as u32).to_le_bytes());
        child[entry + 24..entry + 28].copy_from_slice(&4_u32.to_le_bytes());
        child[metadata + 10] = count as u8 + 1;
        child[metadata + 0x1_8000..metadata + 0x1_8000 + locator.len()].copy_from_slice(&locator);
        // Some of the blocks become partially present; the bitmap of the only chunk goes to the end.
        child.resize(child.len().next_multiple_of(MIB as usize), 0);
        let bitmap = child.len();
        child.resize(bitmap + MIB as usize, 0);
        let mut partial = 0;
        for block in 0..12 {
            let at = table + 8 * block;
            if number(&child, at, 1) & 7 == 6 && rng.below(4) > 0 {
                child[at] |= 1;
                partial += 1;
                let bits = random_bits(&mut rng, 2048, 1);
                for (n, bits) in bits.chunks(8).enumerate() {
                    child[bitmap + block * 256 + n] = bits
                        .iter()
                        .rev()
                        .fold(0_u8, |byte, bit| byte << 1 | u8::from(*bit));
                }
            }
        }
        assert!(partial > 2, "seed {seed}: {partial} blocks");
        child[table + 8 * 4096..][..8].copy_from_slice(&(bitmap as u64 | 6).to_le_bytes());
        fs::write(&path, child).expect("written");
        let chain = Chain::open(&[("vhdx", &path), ("vhdx", &base)]);
        let reference = &chain.disk().references[0];
        assert_eq!(reference.names, ["base.vhdx"]);
        assert_eq!(reference.expects.as_deref(), Some(linkage.as_str()));
        chain.must_read_as(
            &format!("vhdx, seed {seed}"),
            &libvhdi(&path, &base, folder.path()),
        );
    }
}
