//! Scripts that move partitions, run on images that real tools made misaligned.

mod support;

use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{straddle, tool};

/// A disk, what lies on it, and the tool that mends it.
struct Way {
    /// What is special about it.
    name: &'static str,
    table: Table,
    /// Sectors of the whole disk.
    sectors: u64,
    partitions: &'static [Part],
    /// Geometry flags.
    flags: &'static [&'static str],
    tool: &'static str,
    /// Number and start sector of each that moves.
    starts: &'static [(u64, u64)],
}

#[derive(Clone, Copy, PartialEq)]
enum Table {
    Mbr,
    Gpt,
}

/// A partition: number, first sector, sectors, type as sfdisk takes it, what is on it.
type Part = (u64, u64, u64, &'static str, On);

#[derive(Clone, Copy, PartialEq)]
enum On {
    /// Holds other partitions.
    Logical,
    Noise,
    Ext4,
    Xfs,
    Btrfs,
    Fat16,
    Fat32,
    Exfat,
    Ntfs,
    Swap,
    Luks,
    Lvm,
}

use On::{Btrfs, Exfat, Ext4, Fat16, Fat32, Logical, Luks, Lvm, Noise, Ntfs, Swap, Xfs};
use Table::{Gpt, Mbr};

const MIB: u64 = 2048;

#[rustfmt::skip]
const WAYS: &[Way] = &[
    Way { name: "one-ntfs", table: Mbr, sectors: 32 * MIB, partitions: &[(1, 63, 40_000, "7,bootable", Ntfs)], flags: &[], tool: "sfdisk", starts: &[(1, 2048)] },
    Way { name: "one-ntfs-parted", table: Mbr, sectors: 32 * MIB, partitions: &[(1, 63, 40_000, "7,bootable", Ntfs)], flags: &[], tool: "parted", starts: &[(1, 2048)] },
    Way { name: "ext4", table: Mbr, sectors: 32 * MIB, partitions: &[(1, 63, 40_000, "83", Ext4)], flags: &[], tool: "sfdisk", starts: &[(1, 2048)] },
    Way { name: "ext4-stripe", table: Mbr, sectors: 32 * MIB, partitions: &[(1, 2080, 40_000, "83", Ext4)], flags: &["--stripe-unit", "64K"], tool: "sfdisk", starts: &[(1, 4096)] },
    Way { name: "fat16", table: Mbr, sectors: 32 * MIB, partitions: &[(1, 63, 40_000, "6", Fat16)], flags: &[], tool: "sfdisk", starts: &[(1, 2048)] },
    Way { name: "fat32-parted", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 80_000, "c,bootable", Fat32)], flags: &[], tool: "parted", starts: &[(1, 2048)] },
    Way { name: "fat32", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 80_000, "c", Fat32)], flags: &[], tool: "sfdisk", starts: &[(1, 2048)] },
    Way { name: "exfat", table: Mbr, sectors: 32 * MIB, partitions: &[(1, 63, 40_000, "7", Exfat)], flags: &[], tool: "sfdisk", starts: &[(1, 2048)] },
    Way { name: "exfat-parted", table: Mbr, sectors: 32 * MIB, partitions: &[(1, 63, 40_000, "7", Exfat)], flags: &[], tool: "parted", starts: &[(1, 2048)] },
    Way { name: "xfs", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 80_000, "83", Xfs)], flags: &[], tool: "sfdisk", starts: &[(1, 2048)] },
    Way { name: "btrfs", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 2049, 80_000, "linux", Btrfs)], flags: &[], tool: "sfdisk", starts: &[(1, 4096)] },
    Way { name: "swap-luks-lvm", table: Mbr, sectors: 96 * MIB, partitions: &[(1, 63, 20_000, "82", Swap), (2, 20_063, 40_001, "83", Luks), (3, 60_065, 40_001, "8e", Lvm)], flags: &[], tool: "sfdisk", starts: &[(1, 2048), (2, 22_528), (3, 63_488)] },
    Way { name: "swap-luks-lvm-parted", table: Mbr, sectors: 96 * MIB, partitions: &[(1, 63, 20_000, "82", Swap), (2, 20_063, 40_001, "83", Luks), (3, 60_065, 40_001, "8e", Lvm)], flags: &[], tool: "parted", starts: &[(1, 2048), (2, 22_528), (3, 63_488)] },
    Way { name: "pushed", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 4033, "7", Noise), (2, 4096, 20_480, "83", Ext4), (3, 40_960, 8192, "83", Ext4)], flags: &[], tool: "sfdisk", starts: &[(1, 2048), (2, 6144)] },
    Way { name: "pushed-parted", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 4033, "7", Noise), (2, 4096, 20_480, "83", Ext4), (3, 40_960, 8192, "83", Ext4)], flags: &[], tool: "parted", starts: &[(1, 2048), (2, 6144)] },
    Way { name: "four-primaries", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 10_000, "83", Ext4), (2, 10_063, 10_000, "7", Ntfs), (3, 20_063, 10_000, "82", Swap), (4, 30_063, 10_000, "83", Noise)], flags: &[], tool: "parted", starts: &[(1, 2048), (2, 12_288), (3, 22_528), (4, 32_768)] },
    Way { name: "other-order", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 30_001, 10_000, "83", Ext4), (2, 20_001, 9999, "7", Noise), (3, 63, 10_000, "83", Noise)], flags: &[], tool: "sfdisk", starts: &[(1, 30_720), (2, 20_480), (3, 2048)] },
    Way { name: "other-order-parted", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 30_001, 10_000, "83", Ext4), (2, 20_001, 9999, "7", Noise), (3, 63, 10_000, "83", Noise)], flags: &[], tool: "parted", starts: &[(1, 30_720), (2, 20_480), (3, 2048)] },
    Way { name: "number-2-only", table: Mbr, sectors: 32 * MIB, partitions: &[(2, 63, 40_000, "7", Ntfs)], flags: &[], tool: "sfdisk", starts: &[(2, 2048)] },
    Way { name: "logical", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 40_000, "7,bootable", Ntfs), (2, 40_063, 80_000, "f", Logical), (5, 40_126, 20_000, "83", Ext4), (6, 60_189, 20_000, "b", Fat16)], flags: &[], tool: "sfdisk", starts: &[(1, 2048), (2, 42_048), (5, 43_008), (6, 63_488)] },
    Way { name: "logical-parted", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 40_000, "7,bootable", Ntfs), (2, 40_063, 80_000, "f", Logical), (5, 40_126, 20_000, "83", Ext4), (6, 60_189, 20_000, "b", Fat16)], flags: &[], tool: "parted", starts: &[(1, 2048), (2, 42_048), (5, 43_008), (6, 63_488)] },
    Way { name: "logical-only", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 2048, 20_480, "83", Ext4), (4, 22_528, 90_000, "5", Logical), (5, 22_591, 20_000, "83", Ext4), (6, 43_008, 20_479, "82", Swap), (7, 63_488, 20_000, "7", Ntfs)], flags: &[], tool: "parted", starts: &[(5, 24_576), (6, 45_056), (7, 65_536)] },
    Way { name: "logical-tight", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 19_937, "83", Noise), (2, 20_000, 22_000, "5", Logical), (5, 20_063, 20_480, "83", Ext4), (3, 42_000, 20_000, "83", Noise)], flags: &[], tool: "parted", starts: &[(1, 2048), (2, 21_985), (3, 43_008), (5, 22_528)] },
    Way { name: "five-members", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 40_000, "7", Ntfs)], flags: &["--stripe-unit", "64K", "--stripe-width", "320K"], tool: "sfdisk", starts: &[(1, 10_240)] },
    Way { name: "seven-members", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 2048, 40_000, "linux", Ext4)], flags: &["--stripe-unit", "64K", "--stripe-width", "448K"], tool: "sgdisk", starts: &[(1, 14_336)] },
    Way { name: "eleven-members", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 2048, 40_000, "linux", Ext4)], flags: &["--stripe-unit", "64K", "--stripe-width", "704K"], tool: "sgdisk", starts: &[(1, 22_528)] },
    Way { name: "no-room-for-1-mib", table: Mbr, sectors: 40_100, partitions: &[(1, 63, 40_000, "7", Ntfs)], flags: &[], tool: "sfdisk", starts: &[(1, 64)] },
    Way { name: "five-members-no-room-for-5-mib", table: Mbr, sectors: 41_000, partitions: &[(1, 63, 40_000, "7", Noise)], flags: &["--stripe-unit", "64K", "--stripe-width", "320K"], tool: "sfdisk", starts: &[(1, 640)] },
    Way { name: "gpt-sgdisk", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 34, 40_000, "linux", Ext4), (2, 40_034, 20_001, "uefi", Fat16), (3, 61_441, 20_480, "swap", Swap)], flags: &[], tool: "sgdisk", starts: &[(1, 2048), (2, 43_008), (3, 63_488)] },
    Way { name: "gpt-sfdisk", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 34, 40_000, "linux", Ext4), (2, 40_034, 20_001, "uefi", Fat16), (3, 61_441, 20_480, "swap", Swap)], flags: &[], tool: "sfdisk", starts: &[(1, 2048), (2, 43_008), (3, 63_488)] },
    Way { name: "gpt-parted", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 34, 40_000, "linux", Ext4), (2, 40_034, 20_001, "uefi", Fat16), (3, 61_441, 20_480, "swap", Swap)], flags: &[], tool: "parted", starts: &[(1, 2048), (2, 43_008), (3, 63_488)] },
    Way { name: "gpt-parted-pushed", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 34, 20_446, "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7", Ntfs), (2, 20_480, 20_480, "linux", Ext4), (3, 61_440, 20_480, "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7", Exfat)], flags: &[], tool: "parted", starts: &[(1, 2048), (2, 22_528)] },
    Way { name: "gpt-ntfs-sgdisk", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 63, 40_000, "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7", Ntfs), (5, 40_063, 40_000, "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7", Exfat)], flags: &[], tool: "sgdisk", starts: &[(1, 2048), (5, 43_008)] },
    Way { name: "gpt-other-order-sgdisk", table: Gpt, sectors: 64 * MIB, partitions: &[(2, 63, 40_000, "linux", Luks), (1, 40_063, 40_000, "lvm", Lvm)], flags: &[], tool: "sgdisk", starts: &[(2, 2048), (1, 43_008)] },
    Way { name: "gpt-repart", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 34, 40_000, "linux", Ext4), (2, 40_034, 20_000, "linux", Luks), (3, 61_441, 20_480, "swap", Swap)], flags: &[], tool: "systemd-repart", starts: &[(1, 2048), (2, 43_008), (3, 63_488)] },
    Way { name: "gpt-repart-ntfs", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 63, 40_000, "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7", Ntfs), (2, 63_488, 40_000, "linux", Ext4)], flags: &[], tool: "systemd-repart", starts: &[(1, 2048)] },
    Way { name: "gpt-repart-fat-exfat", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 63, 40_000, "uefi", Fat16), (2, 40_063, 40_000, "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7", Exfat)], flags: &["--stripe-unit", "64K"], tool: "systemd-repart", starts: &[(1, 2048), (2, 43_008)] },
    Way { name: "ext4-shrinks", table: Mbr, sectors: 65_536, partitions: &[(1, 63, 65_473, "83", Ext4)], flags: &["--stripe-unit", "64K"], tool: "sfdisk", starts: &[(1, 2048)] },
    Way { name: "ext4-shrinks-parted", table: Mbr, sectors: 65_536, partitions: &[(1, 2048, 20_480, "7", Noise), (2, 22_591, 42_945, "83", Ext4)], flags: &["--stripe-unit", "64K"], tool: "parted", starts: &[(2, 24_576)] },
    Way { name: "ext4-shrinks-sgdisk", table: Gpt, sectors: 65_536, partitions: &[(1, 63, 65_440, "linux", Ext4)], flags: &["--stripe-unit", "64K"], tool: "sgdisk", starts: &[(1, 2048)] },
    Way { name: "ntfs-shrinks", table: Mbr, sectors: 65_536, partitions: &[(1, 63, 65_473, "7,bootable", Ntfs)], flags: &["--stripe-unit", "64K"], tool: "sfdisk", starts: &[(1, 2048)] },
    Way { name: "ntfs-shrinks-logical", table: Mbr, sectors: 65_536, partitions: &[(1, 63, 30_000, "83", Ext4), (2, 30_063, 35_473, "f", Logical), (5, 30_126, 35_410, "7", Ntfs)], flags: &["--stripe-unit", "64K"], tool: "sfdisk", starts: &[(1, 2048), (2, 32_048), (5, 32_768)] },
];

fn output(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Runs a line of shell; fails when it does.
fn shell(folder: &Path, line: &str) -> String {
    let out = output(Command::new("sh").args(["-euc", line]).current_dir(folder));
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{line}: {text}{errors}");
    text
}

fn read_at(path: &Path, start: u64, len: u64) -> Vec<u8> {
    let mut file = File::open(path).expect("exists");
    file.seek(SeekFrom::Start(start)).expect("seekable");
    let mut bytes = Vec::new();
    file.take(len).read_to_end(&mut bytes).expect("readable");
    bytes
}

fn write_at(path: &Path, start: u64, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(path).expect("exists");
    file.seek(SeekFrom::Start(start)).expect("seekable");
    file.write_all(bytes).expect("writable");
}

/// Bytes that do not repeat, the same each time.
fn noise(len: u64, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut bytes: Vec<u8> = std::iter::repeat_with(next)
        .take(usize::try_from(len.div_ceil(8)).expect("fits"))
        .flat_map(u64::to_le_bytes)
        .collect();
    bytes.truncate(usize::try_from(len).expect("fits"));
    bytes
}

/// Makes what lies on a partition, in a file of its own.
fn contents(folder: &Path, on: On, start: u64, sectors: u64) -> Vec<u8> {
    let path = folder.join("contents");
    let bytes = sectors * 512;
    File::create(&path)
        .and_then(|file| file.set_len(bytes))
        .expect("writable");
    let make = match on {
        Noise => {
            // No filesystem begins in it.
            let mut bytes = noise(bytes, start);
            bytes.iter_mut().take(65_536).for_each(|byte| *byte = 0);
            return bytes;
        }
        Logical | Lvm => String::new(),
        Ext4 => "mkdir -p tree && echo kept > tree/file && cp /bin/sh tree/sh && mke2fs -q -t ext4 -F -U 6f6d3c5b-9c55-4bd8-b1a2-1c9b1f6f0a01 -d tree contents".to_owned(),
        Xfs => "mkfs.xfs -q -f --unsupported contents".to_owned(),
        Btrfs => "mkfs.btrfs -q -f --mixed contents".to_owned(),
        Fat16 => format!("mkfs.vfat -F 16 -h {start} contents > /dev/null"),
        Fat32 => format!("mkfs.vfat -F 32 -h {start} contents > /dev/null"),
        Exfat => "mkfs.exfat contents > /dev/null".to_owned(),
        Ntfs => format!("mkntfs -q -F -f -p {start} -H 16 -S 63 contents $(( {sectors} )) 2> /dev/null"),
        Swap => "mkswap -q contents".to_owned(),
        Luks => "printf secret | cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 contents -".to_owned(),
    };
    shell(folder, &make);
    let mut made = fs::read(&path).expect("made");
    match on {
        // A physical volume as pvcreate writes it, without a device for it: the label in the second sector.
        Lvm => made[512..544].copy_from_slice(b"LABELONE\x01\0\0\0\0\0\0\0\0\0\0\0 \0\0\0LVM2 001"),
        Exfat => records_start(&mut made, start),
        _ => {}
    }
    made
}

/// Makes an exFAT that Windows would have made in a partition: it records its start.
fn records_start(volume: &mut [u8], start: u64) {
    for region in [0, 12 * 512] {
        volume[region + 64..region + 72].copy_from_slice(&start.to_le_bytes());
        let sum = exfat_checksum(&volume[region..region + 11 * 512]);
        for word in volume[region + 11 * 512..region + 12 * 512].chunks_exact_mut(4) {
            word.copy_from_slice(&sum.to_le_bytes());
        }
    }
}

fn exfat_checksum(sectors: &[u8]) -> u32 {
    let counted = sectors
        .iter()
        .enumerate()
        .filter(|(at, _)| ![106, 107, 112].contains(at));
    counted.fold(0_u32, |sum, (_, byte)| {
        sum.rotate_right(1).wrapping_add(u32::from(*byte))
    })
}

/// The bytes of a partition without those that say where it begins, and what those say.
fn compared(mut bytes: Vec<u8>, on: On) -> (Vec<u8>, Vec<u64>) {
    let word = |bytes: &[u8], at: usize| {
        u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4")))
    };
    let mut said = Vec::new();
    let places: Vec<usize> = match on {
        Fat16 => vec![0],
        Fat32 => vec![0, 6 * 512],
        Ntfs => vec![0, bytes.len() - 512],
        _ => vec![],
    };
    for place in places {
        said.push(word(&bytes, place + 28));
        bytes[place + 28..place + 32].fill(0);
    }
    if on == Exfat {
        for region in [0, 12 * 512] {
            let sum = exfat_checksum(&bytes[region..region + 11 * 512]);
            let kept = word(&bytes, region + 11 * 512);
            assert_eq!(u64::from(sum), kept, "boot checksum");
            assert_eq!(word(&bytes, region + 12 * 512 - 4), kept);
            said.push(word(&bytes, region + 64));
            bytes[region + 64..region + 72].fill(0);
            bytes[region + 11 * 512..region + 12 * 512].fill(0);
        }
    }
    (bytes, said)
}

/// Makes the image of a way.
fn image(folder: &Path, path: &Path, way: &Way) {
    File::create(path)
        .and_then(|file| file.set_len(way.sectors * 512))
        .expect("writable");
    write_at(path, 0, &noise(440, 7));
    let mut script = match way.table {
        Mbr => "label: dos\nlabel-id: 0x5d2c1a90\n".to_owned(),
        Gpt => {
            "label: gpt\nlabel-id: 5D2C1A90-0B1E-4C6A-9F3A-6E0C6B8C1D01\nfirst-lba: 34\n".to_owned()
        }
    };
    for (number, start, sectors, kind, _) in way.partitions {
        script += &format!("{number} : start={start}, size={sectors}, type={kind}");
        if way.table == Gpt {
            script += &format!(
                ", uuid=00000000-0000-4000-8000-00000000000{number}, name=\"it's no. {number}\", attrs=\"GUID:60\""
            );
        }
        script.push('\n');
    }
    fs::write(folder.join("table"), script).expect("writable");
    let disk = format!("'{}'", path.display().to_string().replace('\'', "'\\''"));
    shell(folder, &format!("sfdisk -q --wipe never {disk} < table"));
    for (_, start, sectors, _, on) in way.partitions {
        if *on != Logical {
            write_at(path, start * 512, &contents(folder, *on, *start, *sectors));
        }
    }
}

/// What sfdisk says of a table, apart from where partitions lie: lines sorted, numbers of sectors left out.
fn identity(path: &Path) -> Vec<String> {
    let dump = tool("fdisk", Command::new("sfdisk").arg("--dump").arg(path));
    let dump = String::from_utf8(dump.stdout).expect("text");
    let kept = |line: &str| {
        let fields = line.split(", ").map(str::trim);
        let fields: Vec<&str> = fields
            .filter(|f| !f.contains("start=") && !f.starts_with("size="))
            .collect();
        let number = line.split(" : ").next().unwrap_or_default();
        format!("{number} {}", fields.join(", "))
    };
    let mut lines: Vec<String> = dump
        .lines()
        .filter(|line| line.contains("start=") || line.starts_with("label"))
        .map(kept)
        .collect();
    lines.sort();
    lines
}

/// Start and length of each partition, in sectors.
fn places(path: &Path) -> Vec<(u64, u64, u64)> {
    let dump = tool("fdisk", Command::new("sfdisk").arg("--json").arg(path));
    let dump: Value = serde_json::from_slice(&dump.stdout).expect("JSON");
    let rows = dump["partitiontable"]["partitions"]
        .as_array()
        .expect("partitions");
    let row = |row: &Value| {
        let node = row["node"].as_str().expect("a name");
        let number = node
            .rsplit(|c: char| !c.is_ascii_digit())
            .next()
            .expect("a number");
        let field = |name: &str| row[name].as_u64().expect("a number");
        (
            number.parse().expect("a number"),
            field("start"),
            field("size"),
        )
    };
    rows.iter().map(row).collect()
}

fn check(folder: &Path, flags: &[&str]) -> Vec<(String, String)> {
    let mut args = vec!["check", "--json", "--fail-on", "never", "disk.img"];
    args.extend(flags);
    let run = straddle(folder, &args);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let document: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let target = &document["targets"][0];
    let findings = target["findings"].as_array().expect("findings");
    let name = |finding: &Value| {
        let layer = usize::try_from(finding["layer"].as_u64().expect("a layer")).expect("fits");
        let code = finding["code"].as_str().expect("a code");
        let name = target["stack"][layer]["name"].as_str().expect("a name");
        (code.to_owned(), name.to_owned())
    };
    findings.iter().map(name).collect()
}

/// Carries a way out and looks at what came of it; gives the script.
fn carried_out(way: &Way) -> String {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let disk = folder.join("disk.img");
    image(folder, &disk, way);
    let before: Vec<Vec<u8>> = way
        .partitions
        .iter()
        .map(|(_, start, sectors, ..)| read_at(&disk, start * 512, sectors * 512))
        .collect();
    let (identity_before, boot_before) = (identity(&disk), read_at(&disk, 0, 446));
    let with = |args: &[&'static str]| [args, way.flags].concat();
    let plan = straddle(
        folder,
        &with(&["fix", "disk.img", "--only", "partitions", "--json"]),
    );
    assert_eq!(plan.code, Some(0), "{}: {}", way.name, plan.transcript());
    fs::write(folder.join("plan.json"), &plan.stdout).expect("writable");
    let script = straddle(
        folder,
        &with(&[
            "fix",
            "disk.img",
            "--only",
            "partitions",
            "--script",
            way.tool,
        ]),
    );
    assert_eq!(
        script.code,
        Some(0),
        "{}: {}",
        way.name,
        script.transcript()
    );
    fs::write(folder.join("fix.sh"), &script.stdout).expect("writable");

    let run = output(
        Command::new("dash")
            .args(["fix.sh", "--yes"])
            .current_dir(folder),
    );
    let said = format!(
        "{}: {}{}",
        way.name,
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr)
    );
    assert_eq!(run.status.code(), Some(0), "{said}");

    let now = places(&disk);
    for (number, start) in way.starts {
        let at = now
            .iter()
            .find(|(n, ..)| n == number)
            .map(|(_, start, _)| start);
        assert_eq!(at, Some(start), "{}: partition {number}: {now:?}", way.name);
    }
    assert_eq!(now.len(), way.partitions.len(), "{}", way.name);
    for ((number, old, len, _, on), before) in way.partitions.iter().zip(before) {
        let (_, start, size) = now.iter().find(|(n, ..)| n == number).expect("still there");
        let has_moved = way.starts.iter().any(|(n, _)| n == number);
        assert_eq!(start != old, has_moved, "{}: partition {number}", way.name);
        if *on == Logical {
            continue;
        }
        let after = read_at(&disk, start * 512, size * 512);
        if size == len {
            let (before, after) = (compared(before, *on), compared(after, *on));
            assert!(
                before.0 == after.0,
                "{}: partition {number} has changed",
                way.name
            );
            assert!(
                after.1.iter().all(|said| said == start),
                "{}: {:?}",
                way.name,
                after.1
            );
        } else {
            assert!(size < len, "{}", way.name);
            shortened(folder, *on, &before, &after, way.name);
        }
    }
    assert_eq!(identity(&disk), identity_before, "{}", way.name);
    assert_eq!(
        read_at(&disk, 0, 446),
        boot_before,
        "{}: boot code",
        way.name
    );

    let verified = straddle(
        folder,
        &with(&[
            "fix",
            "disk.img",
            "--only",
            "partitions",
            "--verify",
            "plan.json",
        ]),
    );
    assert_eq!(
        verified.code,
        Some(0),
        "{}: {}",
        way.name,
        verified.transcript()
    );
    let plan: Value = serde_json::from_str(&plan.stdout).expect("JSON");
    let left = check(folder, way.flags);
    let promised = plan["cured"].as_array().expect("promises");
    assert!(!promised.is_empty(), "{}", way.name);
    for promise in promised {
        let text = |key: &str| promise[key].as_str().expect("text").to_owned();
        let promise = (text("code"), text("layer"));
        assert!(
            !left.contains(&promise),
            "{}: {promise:?} is still there",
            way.name
        );
    }
    let expected = plan["left"].as_array().expect("rest");
    assert_eq!(
        left.len(),
        expected.len(),
        "{}: {left:?}, {expected:?}",
        way.name
    );
    let verify = tool("fdisk", Command::new("sfdisk").arg("--verify").arg(&disk));
    let verify = String::from_utf8_lossy(&verify.stdout).into_owned();
    assert!(
        verify.contains("No errors detected"),
        "{}: {verify}",
        way.name
    );
    if way.table == Gpt {
        let verify = tool("gdisk", Command::new("sgdisk").arg("-v").arg(&disk));
        let verify = String::from_utf8_lossy(&verify.stdout).into_owned();
        assert!(
            verify.contains("No problems found"),
            "{}: {verify}",
            way.name
        );
    }
    script.stdout
}

/// A filesystem that became shorter is sound, and has the same files.
fn shortened(folder: &Path, on: On, before: &[u8], after: &[u8], name: &str) {
    fs::write(folder.join("before"), before).expect("writable");
    fs::write(folder.join("after"), after).expect("writable");
    let files = match on {
        Ext4 => {
            shell(folder, "e2fsck -fn after > /dev/null 2>&1");
            "for f in file sh; do debugfs -R \"cat $f\" IMAGE 2> /dev/null | sha256sum; done"
        }
        Ntfs => {
            shell(
                folder,
                "ntfsresize --info --force --no-progress-bar after > /dev/null",
            );
            "for f in 4 10; do ntfscat -f -i $f IMAGE 2> /dev/null | sha256sum; done"
        }
        _ => panic!("{name}: nothing makes this shorter"),
    };
    let of = |image: &str| shell(folder, &files.replace("IMAGE", image));
    assert_eq!(of("before"), of("after"), "{name}");
}

/// Fails when shellcheck has anything to say about a script.
fn lint(scripts: &[String]) {
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut command = Command::new("shellcheck");
    for (index, script) in scripts.iter().enumerate() {
        let path = folder.path().join(format!("{index}.sh"));
        fs::write(&path, script).expect("writable");
        command.arg(path);
    }
    let out = output(&mut command);
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{text}");
}

#[test]
fn every_way_is_mended_and_keeps_its_contents() {
    assert!(WAYS.len() >= 30);
    let next = AtomicUsize::new(0);
    let scripts = Mutex::new(Vec::new());
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        // More than there are cores: they wait for the disk.
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(way) = WAYS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match std::panic::catch_unwind(|| carried_out(way)) {
                        Ok(script) => scripts.lock().expect("no panic").push(script),
                        Err(_) => failed.lock().expect("no panic").push(way.name),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no panic");
    assert!(
        failed.is_empty(),
        "what was wrong with these is said above: {failed:?}"
    );
    lint(&scripts.into_inner().expect("no panic"));
}

/// An image with one NTFS, or in a GPT two ext4.
fn small(folder: &Path, name: &str, table: Table) {
    let way = Way {
        name: "small",
        table,
        sectors: 32 * MIB,
        partitions: match table {
            Mbr => &[(1, 63, 20_000, "7,bootable", Ntfs)],
            Gpt => &[
                (1, 63, 20_000, "linux", Ext4),
                (2, 30_721, 4096, "linux", Noise),
            ],
        },
        flags: &[],
        tool: "",
        starts: &[],
    };
    image(folder, &folder.join(name), &way);
}

/// The script of a tool for an image.
fn script(folder: &Path, name: &str, tool: &str) -> String {
    let run = straddle(
        folder,
        &["fix", "--only", "partitions", "--script", tool, "--", name],
    );
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    run.stdout
}

/// Runs `fix.sh` with programs of `tools` before all others; gives the exit status and what it said.
fn run_script(folder: &Path, text: &str, args: &[&str], tools: &[(&str, &str)]) -> (i32, String) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(folder.join("fix.sh"), text).expect("writable");
    let others = tempfile::tempdir().expect("temporary folder");
    for (name, text) in tools {
        let path = others.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("possible");
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let out = output(
        Command::new("dash")
            .arg("fix.sh")
            .args(args)
            .env("PATH", format!("{}:{path}", others.path().display()))
            .current_dir(folder),
    );
    let said = [out.stdout, out.stderr].concat();
    (
        out.status.code().expect("no signal"),
        String::from_utf8(said).expect("UTF-8"),
    )
}

const TOOLS: [(&str, Table); 4] = [
    ("sfdisk", Mbr),
    ("parted", Mbr),
    ("sgdisk", Gpt),
    ("systemd-repart", Gpt),
];

#[test]
fn no_other_disk_is_touched() {
    for (tool, table) in TOOLS {
        let folder = tempfile::tempdir().expect("temporary folder");
        let folder = folder.path();
        small(folder, "disk.img", table);
        let disk = folder.join("disk.img");
        let text = script(folder, "disk.img", tool);
        let whole = fs::read(&disk).expect("readable");
        let refused = |said: &str, changed: &[u8], args: &[&str], tools: &[(&str, &str)]| {
            fs::write(&disk, changed).expect("writable");
            let (code, out) = run_script(folder, &text, args, tools);
            assert_eq!(code, 2, "{tool}: {out}");
            assert!(out.contains(said), "{tool}: {out}");
            assert!(
                fs::read(&disk).expect("readable") == changed,
                "{tool}: {said}: it was written to"
            );
        };
        let longer = [whole.as_slice(), &[0; 512]].concat();
        refused("it is another disk", &longer, &["--yes"], &[]);
        refused(
            "it is another disk",
            &whole[..whole.len() - 512],
            &["--yes"],
            &[],
        );
        // The identifier of the table: in an MBR at byte 440, in a GPT at byte 56 of its header.
        let mut other = whole.clone();
        other[if table == Mbr { 440 } else { 512 + 56 }] ^= 1;
        refused("it is another disk", &other, &["--yes"], &[]);
        let mounted = format!("echo '{} /mnt ext4 rw 0 0'", disk.display());
        refused("is mounted", &whole, &["--yes"], &[("cat", &mounted)]);
        refused(
            "is attached to a loop device",
            &whole,
            &["--yes"],
            &[("losetup", "echo /dev/loop7")],
        );
        let pool = format!("echo '  {} ONLINE 0 0 0'", disk.display());
        refused("is in a ZFS pool", &whole, &["--yes"], &[("zpool", &pool)]);
        // A partition that is longer than planned, and one that nobody planned.
        let mut other = whole.clone();
        other[if table == Mbr { 446 + 12 } else { 1024 + 40 }] ^= 1;
        refused("it was changed", &other, &["--yes"], &[]);
        if table == Mbr {
            let mut other = whole.clone();
            let entry = [0, 0, 0, 0, 0x83, 0, 0, 0, 0, 0xa0, 0, 0, 8, 0, 0, 0];
            other[462..478].copy_from_slice(&entry);
            refused("it was changed", &other, &["--yes"], &[]);
        }
        refused("usage:", &whole, &["--maybe"], &[]);
        refused("cannot make a folder", &whole, &["--yes", "nowhere"], &[]);
        if tool != "sfdisk" {
            let full = "echo 'Filesystem 1024-blocks Used Available Capacity Mounted on'; echo 'x 1 1 99 1% /'";
            refused("has room for 99 KiB", &whole, &["--yes"], &[("df", full)]);
            refused(
                "is not what is at byte",
                &whole,
                &["--yes"],
                &[("cmp", "exit 1")],
            );
        }
        let kept = fs::read_dir(folder)
            .expect("readable")
            .filter_map(Result::ok);
        let kept: Vec<_> = kept
            .filter(|entry| entry.path().join("partition-1").exists())
            .collect();
        assert!(
            kept.is_empty(),
            "{tool}: copies of what was refused: {kept:?}"
        );
        // Without --yes nothing is written either.
        fs::write(&disk, &whole).expect("writable");
        let (code, out) = run_script(folder, &text, &[], &[]);
        assert_eq!(code, 0, "{out}");
        assert!(out.contains("run it again with --yes"), "{out}");
        assert!(fs::read(&disk).expect("readable") == whole);
        // What fails later says in which state things are.
        let fake = if tool == "sfdisk" { "sfdisk" } else { tool };
        let real = format!("/usr/sbin/{tool}");
        let fails = format!(
            "case \"$*\" in *--info*|*--backup*|*--dump*|*print*) exec {real} \"$@\" ;; esac; exit 1"
        );
        let (code, out) = run_script(folder, &text, &["--yes"], &[(fake, &fails)]);
        assert_eq!(code, 1, "{tool}: {out}");
        assert!(
            out.contains("stopped while") && out.contains("straddle-fix."),
            "{tool}: {out}"
        );
    }
}

#[test]
fn scripts_look_like_this() {
    for (tool, table) in TOOLS {
        let folder = tempfile::tempdir().expect("temporary folder");
        small(folder.path(), "disk.img", table);
        insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("fix_{tool}"), script(folder.path(), "disk.img", tool));
        });
    }
}

#[test]
fn names_are_quoted_or_refused() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let mut scripts = Vec::new();
    for name in ["it's a \"quoted\" $HOME `id` \\.img", "-it's.img", "*.img"] {
        // All tools with the worst name; what is quoted with the others does not depend on the tool.
        let tools = if name.contains('$') { 4 } else { 2 };
        for (tool, table) in TOOLS.into_iter().take(tools) {
            small(folder, name, table);
            let text = script(folder, name, tool);
            let (code, out) = run_script(folder, &text, &["--yes"], &[]);
            assert_eq!(code, 0, "{tool}, {name}: {out}");
            let disk = folder.join(name);
            assert_eq!(places(&disk)[0].1, 2048, "{tool}, {name}");
            scripts.push(text);
            fs::remove_file(disk).expect("there");
        }
    }
    lint(&scripts);
    for name in ["two\nlines.img", "bell\u{7}.img", "\u{202e}gmi.img"] {
        small(folder, name, Mbr);
        let run = straddle(
            folder,
            &[
                "fix",
                "--only",
                "partitions",
                "--script",
                "sfdisk",
                "--",
                name,
            ],
        );
        assert_eq!(run.code, Some(2), "{}", run.transcript());
        assert!(
            run.stderr.contains("not safe in a script"),
            "{}",
            run.stderr
        );
    }
}

/// A table, what lies on it, and why no script moves it.
type Hindered = (
    &'static str,
    u64,
    &'static str,
    On,
    &'static [&'static str],
    &'static str,
);

#[test]
fn what_a_script_must_not_do_is_said() {
    const MBR: &str = "label: dos\n";
    #[rustfmt::skip]
    let cases: [Hindered; 6] = [
        ("63 20000 83; 15000 9000 83", 32 * MIB, MBR, Noise, &[], "partition 1 and partition 2 overlap"),
        ("63 65473 83", 65_536, MBR, Xfs, &["--stripe-unit", "64K"], "XFS cannot be made smaller"),
        ("63 65473 82", 65_536, MBR, Swap, &["--stripe-unit", "64K"], "mkswap -U UUID DEVICE 31744"),
        ("63 65473 83", 65_536, MBR, Luks, &["--stripe-unit", "64K"], "LUKS itself records no length"),
        ("63 65473 83", 65_536, MBR, Noise, &["--stripe-unit", "64K"], "was not recognised"),
        ("63 65473 83", 65_536, MBR, Ext4, &["--stripe-unit", "16M"], "there is no room for it"),
    ];
    for (table, sectors, label, on, flags, why) in cases {
        let folder = tempfile::tempdir().expect("temporary folder");
        let folder = folder.path();
        let disk = folder.join("disk.img");
        File::create(&disk)
            .and_then(|file| file.set_len(sectors * 512))
            .expect("writable");
        let mut all = label.to_owned();
        let rows: Vec<Vec<&str>> = table
            .split("; ")
            .map(|row| row.split(' ').collect())
            .collect();
        if let [only] = rows.as_slice() {
            all += &format!("start={}, size={}, type={}\n", only[0], only[1], only[2]);
        }
        fs::write(folder.join("table"), all).expect("writable");
        shell(folder, "sfdisk -q --force --wipe never disk.img < table");
        let number = |text: &str| text.parse::<u64>().expect("a number");
        if rows.len() > 1 {
            // No tool makes such a table, so its entries are written by hand.
            for (row, at) in rows.iter().zip([446, 462]) {
                let word = |text: &str| u32::try_from(number(text)).expect("small").to_le_bytes();
                let entry = [
                    &[0, 0, 0, 0, 0x83, 0, 0, 0][..],
                    &word(row[0]),
                    &word(row[1]),
                ]
                .concat();
                write_at(&disk, at, &entry);
            }
        }
        let (start, len) = (number(rows[0][0]), number(rows[0][1]));
        write_at(&disk, start * 512, &contents(folder, on, start, len));
        let args = [
            &[
                "fix",
                "disk.img",
                "--only",
                "partitions",
                "--script",
                "sfdisk",
            ],
            flags,
        ]
        .concat();
        let run = straddle(folder, &args);
        assert_eq!(run.code, Some(2), "{why}: {}", run.transcript());
        assert!(run.stderr.contains(why), "{why}: {}", run.transcript());
    }
}

#[test]
fn a_hybrid_table_is_not_moved() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    small(folder, "disk.img", Gpt);
    tool(
        "gdisk",
        Command::new("sgdisk")
            .args(["--hybrid=1"])
            .arg(folder.join("disk.img")),
    );
    let run = straddle(
        folder,
        &[
            "fix",
            "disk.img",
            "--only",
            "partitions",
            "--script",
            "sgdisk",
        ],
    );
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    assert!(run.stderr.contains("(hybrid)"), "{}", run.stderr);
}

#[test]
fn a_full_filesystem_is_not_made_shorter() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let disk = folder.join("disk.img");
    File::create(&disk)
        .and_then(|file| file.set_len(65_536 * 512))
        .expect("writable");
    shell(
        folder,
        "echo 'start=63, size=65473, type=83' | sfdisk -q disk.img",
    );
    let fill = "truncate -s 33522176 contents; mkdir tree; head -c 28400000 /dev/zero | tr '\\0' x > tree/file; \
                mke2fs -q -t ext4 -F -m 0 -d tree contents";
    shell(folder, fill);
    write_at(
        &disk,
        63 * 512,
        &fs::read(folder.join("contents")).expect("made"),
    );
    let before = fs::read(&disk).expect("readable");
    let run = straddle(
        folder,
        &[
            "fix",
            "--only",
            "partitions",
            "disk.img",
            "--script",
            "sfdisk",
            "--stripe-unit",
            "64K",
        ],
    );
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let (code, out) = run_script(folder, &run.stdout, &["--yes"], &[]);
    assert_eq!(code, 2, "{out}");
    assert!(out.contains("resize2fs cannot make it shorter"), "{out}");
    assert!(fs::read(&disk).expect("readable") == before);
}

/// Tests with loop devices come one after another: the script of one attaches what is free, too.
static ATTACHED: Mutex<()> = Mutex::new(());

/// A loop device that ends with the test; `None` where this user may make none.
struct Loop(String);

impl Loop {
    fn new(file: &Path, sector: &str) -> Option<Loop> {
        let mut command = Command::new("losetup");
        command
            .args(["--find", "--show", "--sector-size", sector])
            .arg(file);
        let out = output(&mut command);
        let name = String::from_utf8_lossy(&out.stdout).trim().to_owned();
        // What was left of another file that was attached as this device.
        let _ = Command::new("partx").args(["--delete", &name]).output();
        out.status.success().then_some(Loop(name))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // What a tool told the kernel of it would outlive it.
        let _ = Command::new("partx").args(["--delete", &self.0]).output();
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn sectors_of_4096_bytes() {
    let _alone = ATTACHED.lock();
    for tool in ["sfdisk", "parted", "sgdisk"] {
        let folder = tempfile::tempdir().expect("temporary folder");
        let folder = folder.path();
        let disk = folder.join("disk.img");
        File::create(&disk)
            .and_then(|file| file.set_len(128 << 20))
            .expect("writable");
        fs::write(
            folder.join("table"),
            "label: gpt\nfirst-lba: 6\nstart=263, size=5000\nstart=5263, size=5000\n",
        )
        .expect("writable");
        // Needs root and loop devices; other cases hold everywhere.
        let Some(device) = Loop::new(&disk, "4096") else {
            return;
        };
        shell(
            folder,
            &format!(
                "sfdisk -q --no-reread --no-tell-kernel {} < table",
                device.0
            ),
        );
        drop(device);
        let bytes = noise(5000 * 4096, 3);
        write_at(&disk, 263 * 4096, &bytes);
        write_at(&disk, 5263 * 4096, &bytes);
        let flags = [
            "fix",
            "disk.img",
            "--only",
            "partitions",
            "--stripe-unit",
            "64K",
        ];
        let plan = straddle(folder, &[&flags[..], &["--json"]].concat());
        fs::write(folder.join("plan.json"), &plan.stdout).expect("writable");
        let run = straddle(folder, &[&flags[..], &["--script", tool]].concat());
        assert_eq!(run.code, Some(0), "{}", run.transcript());
        let (code, out) = run_script(folder, &run.stdout, &["--yes"], &[]);
        assert_eq!(code, 0, "{out}");
        // 263 × 4,096 goes to 2 MiB; 5,263 to the first MiB behind that and 5,000 sectors.
        assert!(read_at(&disk, 2 << 20, 5000 * 4096) == bytes, "{tool}");
        assert!(read_at(&disk, 22 << 20, 5000 * 4096) == bytes, "{tool}");
        let verified = straddle(folder, &[&flags[..], &["--verify", "plan.json"]].concat());
        assert_eq!(verified.code, Some(0), "{}", verified.transcript());
        let left = output(Command::new("losetup").arg("-j").arg(&disk));
        assert!(left.stdout.is_empty(), "{tool} left a loop device behind");
    }
}

#[test]
fn a_block_device_and_one_that_is_mounted() {
    let _alone = ATTACHED.lock();
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    small(folder, "disk.img", Mbr);
    let disk = folder.join("disk.img");
    let before = read_at(&disk, 63 * 512, 20_000 * 512);
    let Some(device) = Loop::new(&disk, "512") else {
        return;
    };
    let run = straddle(
        folder,
        &[
            "fix",
            "--only",
            "partitions",
            "--script",
            "sfdisk",
            &device.0,
        ],
    );
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let mounted = format!("echo '{}p1 /mnt ntfs rw 0 0'", device.0);
    let (code, out) = run_script(folder, &run.stdout, &["--yes"], &[("cat", &mounted)]);
    assert_eq!(code, 2, "{out}");
    assert!(out.contains("is mounted"), "{out}");
    let (code, out) = run_script(folder, &run.stdout, &["--yes"], &[]);
    assert_eq!(code, 0, "{out}");
    drop(device);
    let after = read_at(&disk, 2048 * 512, 20_000 * 512);
    assert!(compared(before, Ntfs).0 == compared(after, Ntfs).0);
}
