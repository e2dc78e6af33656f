//! The demonstration pair: a guest whose partitions are where every tool wants them, in a dynamic VHD and in a VDI that
//! qemu-img made. What straddle says that this costs is compared with a walk over every request of the disk and of each
//! partition, by what `qemu-img map` says of the blocks; nothing of straddle is used in the walk.
//!
//! virt-alignment-scan looks at the partition table alone, and says of these two images that nothing is wrong. It boots a
//! kernel, so it is no part of the test; by hand, with libguestfs 1.48.2:
//!
//! ```text
//! $ virt-alignment-scan -a guest.vhd; echo $?
//! /dev/sda1      1048576         1024K   ok
//! /dev/sda2    105906176         1024K   ok
//! /dev/sda3    231735296         1024K   ok
//! 0
//! $ virt-alignment-scan -a guest.vdi; echo $?
//! /dev/sda1      1048576         1024K   ok
//! /dev/sda2    105906176         1024K   ok
//! /dev/sda3    231735296         1024K   ok
//! 0
//! ```
//!
//! straddle, of the same images on 4 KiB sectors: STR401 and STR402, both errors. Of the guest at sector 63 both programs
//! complain.

use crate::support::qemu::{Mapped, Rng, copy_into, map, qemu_img, qemu_io};
use crate::support::{in_memory, straddle, tool};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;
use straddle::geometry::{Ratio, Unit};
use straddle::rules::{Context, Options, Prices};
use straddle::sources::{Overrides, Settings};
use straddle::stack::{Fact, GridRole, LayerKind};

const MIB: u64 = 1 << 20;
/// A disk of whole blocks in both formats.
const DISK: u64 = 320 * MIB;
const IO: [u64; 3] = [4096, 8192, 65_536];
const SECTOR: u64 = 4096;

/// A partition of the guest, in sectors, and what is in it.
#[derive(Clone, Copy)]
struct Part {
    start: u64,
    len: u64,
    ntfs: bool,
}

const ALIGNED: [Part; 3] = [
    Part {
        start: 2048,
        len: 100 * 2048,
        ntfs: true,
    },
    Part {
        start: 101 * 2048,
        len: 120 * 2048,
        ntfs: false,
    },
    Part {
        start: 221 * 2048,
        len: 90 * 2048 + 7,
        ntfs: true,
    },
];
/// As Windows XP and fdisk made them: on tracks of 63 sectors.
const LEGACY: [Part; 2] = [
    Part {
        start: 63,
        len: 16_065 * 15,
        ntfs: true,
    },
    Part {
        start: 16_065 * 15 + 63,
        len: 16_065 * 20 + 5,
        ntfs: false,
    },
];

/// The guest's disk as a raw image.
fn guest(folder: &Path, parts: &[Part]) {
    let raw = folder.join("guest.raw");
    let mut disk = File::create(&raw).expect("a scratch file");
    disk.set_len(DISK).expect("a sparse file");
    let mut table = [0; 512];
    for (entry, part) in table[446..].chunks_exact_mut(16).zip(parts) {
        let field = |n: u64| u32::try_from(n).expect("small").to_le_bytes();
        entry[4] = if part.ntfs { 7 } else { 0x83 };
        entry[8..12].copy_from_slice(&field(part.start));
        entry[12..].copy_from_slice(&field(part.len));
    }
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    disk.seek(SeekFrom::Start(0)).expect("seekable");
    disk.write_all(&table).expect("room for a sector");
    for part in parts {
        let volume = folder.join("volume");
        File::create(&volume)
            .and_then(|file| file.set_len(part.len * 512))
            .expect("a sparse file");
        if part.ntfs {
            let start = part.start.to_string();
            let options = ["-Q", "-F", "-q", "-s", "512", "-H", "255", "-S", "63", "-p"];
            let mut mkntfs = Command::new("/usr/sbin/mkntfs");
            tool("ntfs-3g", mkntfs.args(options).arg(start).arg(&volume));
        } else {
            let mut mkfs = Command::new("/usr/sbin/mkfs.ext4");
            tool(
                "e2fsprogs",
                mkfs.args(["-q", "-F", "-b", "4096"]).arg(&volume),
            );
        }
        copy_into(&mut disk, part.start * 512, &volume);
    }
}

/// The guest in a virtual disk most of whose blocks were first written in random order, as a machine in use does.
fn container(folder: &Path, format: &str, name: &str) {
    let (options, block) = match format {
        "vpc" => (&["-o", "force_size=on"][..], 2 * MIB),
        _ => (&[][..], MIB),
    };
    let mut args = vec!["create", "-q", "-f", format];
    args.extend(options);
    let size = DISK.to_string();
    args.extend([name, size.as_str()]);
    qemu_img(folder, &args);
    let mut rng = Rng(3);
    let mut blocks: Vec<u64> = (0..DISK / block).filter(|_| rng.below(4) > 0).collect();
    rng.shuffle(&mut blocks);
    let writes: Vec<String> = blocks
        .iter()
        .map(|n| format!("write -q -P 0 {} 4096", n * block + 4096 * rng.below(200)))
        .collect();
    qemu_io(folder, format, name, &writes);
    let convert = ["convert", "-n", "--target-is-zero", "-f", "raw", "-O"];
    let convert = convert.into_iter().chain([format, "guest.raw", name]);
    qemu_img(folder, convert);
}

/// What requests came to, in whole numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Walk {
    bytes: u128,
    granules: u128,
    partial: u128,
    straddling: u128,
}

/// A walk over all whole requests of `io` bytes from byte `start` of the disk to `end`: those bytes of each that lie
/// side by side in the file are an operation for every granule that they touch.
fn walk(blocks: &[Mapped], (start, end): (u64, u64), io: u64, unit: u64) -> Walk {
    let mut sum = Walk::default();
    let mut first = 0;
    for request in (start..).step_by(io as usize).take_while(|r| r + io <= end) {
        while first < blocks.len() && blocks[first].start + blocks[first].len <= request {
            first += 1;
        }
        // Parts in the file, those that touch each other joined.
        let mut parts: Vec<(u64, u64)> = Vec::new();
        for block in &blocks[first..] {
            let from = request.max(block.start);
            let to = (request + io).min(block.start + block.len);
            if from >= to {
                break;
            }
            let lower = block.offset + from - block.start;
            match parts.last_mut() {
                Some(last) if last.1 == lower => last.1 += to - from,
                _ => parts.push((lower, lower + to - from)),
            }
        }
        for (from, to) in parts {
            let mut granule = from / unit * unit;
            let mut count = 0;
            while granule < to {
                count += 1;
                if granule < from || to < granule + unit {
                    sum.partial += 1;
                }
                granule += unit;
            }
            sum.granules += count;
            sum.bytes += u128::from(to - from);
            if count > 1 {
                sum.straddling += u128::from(to - from);
            }
        }
    }
    sum
}

/// A fraction of a report.
fn fraction(value: &Value) -> (u128, u128) {
    let number = |key: &str| u128::from(value[key].as_u64().expect("a whole number"));
    (number("numerator"), number("denominator"))
}

#[track_caller]
fn same(what: &str, stated: (u128, u128), sum: u128, bytes: u128) {
    assert!(bytes > 0, "{what}: nothing is mapped");
    assert_eq!(
        stated.0 * bytes,
        sum * stated.1,
        "{what}: {stated:?} is stated; {sum} in {bytes} was counted"
    );
}

/// Whether a grid of this role is read and rewritten when it is written in part.
fn is_rewritten(role: &str) -> bool {
    match role {
        "physical-sector" => true,
        "stripe-unit" => false,
        other => panic!("no grid of the role {other} is expected"),
    }
}

/// Compares all prices in a report with the walk; how many there were, by code.
fn reported(
    folder: &Path,
    image: &str,
    blocks: &[Mapped],
    options: &[&str],
) -> BTreeMap<String, usize> {
    let mut args = vec!["check", "--as", "image", "--json", "--fail-on", "never"];
    args.extend(options);
    args.push(image);
    let run = straddle(folder, &args);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let target = &report["targets"][0];
    let mut compared = BTreeMap::new();
    for finding in target["findings"].as_array().expect("a list") {
        let code = finding["code"].as_str().expect("a code");
        let prices = &finding["prices"];
        if prices.is_null() {
            continue;
        }
        let layer = &target["stack"][finding["layer"].as_u64().expect("an index") as usize];
        let size = layer["size"]["value"].as_u64().expect("a size");
        let start = match layer["kind"].as_str() {
            Some("container") => 0,
            Some("partition") => layer["map"]["start"].as_u64().expect("a start"),
            other => panic!("{code} is about a {other:?}"),
        };
        let role = prices["role"].as_str().expect("a role");
        let unit = prices["unit"].as_u64().expect("a size");
        let rows = prices["rows"].as_array().expect("a list");
        assert_eq!(rows.len(), IO.len(), "{image} {code} {role}");
        for row in rows {
            let io = row["io"].as_u64().expect("a size");
            let what = format!("{image} {options:?} {code} {role} {unit}, requests of {io}");
            let sum = walk(blocks, (start, start + size), io, unit);
            let per = u128::from(io);
            same(
                &what,
                fraction(&row["read_now"]),
                sum.granules * per,
                sum.bytes,
            );
            let writes = sum.granules + if is_rewritten(role) { sum.partial } else { 0 };
            same(&what, fraction(&row["write_now"]), writes * per, sum.bytes);
            same(
                &what,
                fraction(&row["straddling"]),
                sum.straddling,
                sum.bytes,
            );
            // How much worse than requests that begin on boundaries.
            if unit.is_power_of_two() {
                let aligned = u128::from(io.div_ceil(unit));
                same(
                    &what,
                    fraction(&row["extra"]),
                    writes * per - aligned * sum.bytes,
                    aligned * sum.bytes,
                );
            }
            *compared.entry(code.to_owned()).or_insert(0) += 1;
        }
    }
    compared
}

/// Compares the price of every partition, whether there is a finding about it or not, with the walk; how many there were.
fn partitions(path: &Path, blocks: &[Mapped], stripe: Option<u64>) -> usize {
    let unit = |n: u64| Unit::new(n).expect("not zero");
    let settings = Settings {
        overrides: Overrides {
            stripe_unit: stripe.map(|n| Fact::stated(unit(n), "--stripe-unit", "")),
            ..Overrides::default()
        },
        io: IO.map(unit).to_vec(),
        ..Settings::default()
    };
    let target = straddle::io::Target::open(path).expect("readable");
    let stack = straddle::sources::image(&target.into(), &settings).expect("a stack");
    let options = Options::default();
    let context = Context::new(&stack, &options);
    let mut compared = 0;
    for (id, layer) in context.of_kind(LayerKind::Partition) {
        let start = stack
            .start_in(id, stack.layer(id).below[0])
            .expect("a start");
        let size = layer.size.as_ref().expect("a size").value;
        let range = (start.get(), start.get() + size.get());
        for role in [GridRole::PhysicalSector, GridRole::StripeUnit] {
            for grid in context.below(id, role) {
                let distance = grid.fact.value.unit().get();
                let prices: Prices = context.prices(grid);
                assert_eq!(prices.rows.len(), IO.len());
                for row in prices.rows {
                    let io = row.io.get();
                    let what = format!(
                        "{} {} {distance}, requests of {io}",
                        layer.name,
                        role.name()
                    );
                    let sum = walk(blocks, range, io, distance);
                    let fraction = |ratio: Ratio| {
                        (
                            u128::from(ratio.numerator()),
                            u128::from(ratio.denominator()),
                        )
                    };
                    let per = u128::from(io);
                    let writes = sum.granules
                        + if role == GridRole::PhysicalSector {
                            sum.partial
                        } else {
                            0
                        };
                    same(&what, fraction(row.read_now), sum.granules * per, sum.bytes);
                    same(&what, fraction(row.write_now), writes * per, sum.bytes);
                    same(&what, fraction(row.straddling), sum.straddling, sum.bytes);
                    compared += 1;
                }
            }
        }
    }
    compared
}

/// The blocks of the pair, and that they lie as in a disk in use.
fn pair(folder: &Path, parts: &[Part]) -> [(&'static str, Vec<Mapped>); 2] {
    guest(folder, parts);
    [("vpc", "guest.vhd"), ("vdi", "guest.vdi")].map(|(format, name)| {
        container(folder, format, name);
        let blocks = map(folder, format, name);
        let backwards = blocks
            .windows(2)
            .filter(|two| two[1].offset < two[0].offset);
        assert!(backwards.count() > 40, "{name} is in order");
        let phases: BTreeSet<u64> = blocks
            .iter()
            .map(|block| (block.offset + DISK - block.start) % SECTOR)
            .collect();
        assert_eq!(phases.len(), if format == "vpc" { 8 } else { 1 }, "{name}");
        (name, blocks)
    })
}

/// Image, stripe unit, how many prices in its report were compared by code, and how many of partitions.
type Compared = (&'static str, &'static str, String, usize);

fn in_full((name, stripe, codes, count): (&'static str, &'static str, &str, usize)) -> Compared {
    (name, stripe, codes.to_owned(), count)
}

/// Compares all prices of the pair.
fn prices(folder: &Path, parts: &[Part]) -> Vec<Compared> {
    let mut out = Vec::new();
    for (name, blocks) in pair(folder, parts) {
        for (stripe, option) in [
            (None, "none"),
            (Some(65_536), "64K"),
            (Some(196_608), "192K"),
        ] {
            let options = match stripe {
                Some(_) => &["--stripe-unit", option][..],
                None => &[],
            };
            let codes = reported(folder, name, &blocks, options);
            let codes: Vec<String> = codes.iter().map(|(c, n)| format!("{c} {n}")).collect();
            let of_partitions = partitions(&folder.join(name), &blocks, stripe);
            out.push((name, option, codes.join(", "), of_partitions));
        }
    }
    out
}

#[test]
fn an_aligned_guest_is_priced_exactly() {
    let folder = in_memory();
    let found = prices(folder.path(), &ALIGNED);
    let expected = [
        ("guest.vhd", "none", "STR401 3", 9),
        ("guest.vhd", "64K", "STR401 6", 18),
        ("guest.vhd", "192K", "STR401 6, STR412 3, STR416 9", 18),
        ("guest.vdi", "none", "STR402 3", 9),
        ("guest.vdi", "64K", "STR402 6", 18),
        ("guest.vdi", "192K", "STR402 3, STR412 3, STR416 9", 18),
    ];
    assert_eq!(found, expected.map(in_full));
}

#[test]
fn a_guest_at_sector_63_is_priced_exactly() {
    let folder = in_memory();
    let found = prices(folder.path(), &LEGACY);
    let expected = [
        ("guest.vhd", "none", "STR401 3, STR416 6", 6),
        ("guest.vhd", "64K", "STR401 6, STR416 12", 12),
        ("guest.vhd", "192K", "STR401 6, STR412 3, STR416 12", 12),
        ("guest.vdi", "none", "STR402 3, STR416 6", 6),
        ("guest.vdi", "64K", "STR402 6, STR416 12", 12),
        ("guest.vdi", "192K", "STR402 3, STR412 3, STR416 12", 12),
    ];
    assert_eq!(found, expected.map(in_full));
}
