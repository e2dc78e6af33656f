//! Disks that are made at random, moved, and read by the tools that own their formats.
//!
//! Tables of both kinds, one to twelve partitions with whatever filesystem fits, any direction and distance, in every container. The
//! first twenty for every commit, each container twice, all by `cargo xtask soak realign`.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use crate::fix_partitions::contents::{compared, contents};
use crate::fix_partitions::ways::On::{
    self, Btrfs, Exfat, Ext4, Fat16, Luks, Lvm, Noise, Ntfs, Swap, Xfs,
};
use crate::fix_partitions::{places, read_at, write_at};
use crate::support::qemu::{Rng, qemu_img};
use crate::support::{sh, straddle};

/// What is made for every commit, and in all.
const SOME: u64 = 20;
const ALL: u64 = 220;

struct Made {
    /// Number, first sector, sectors, what is on it.
    partitions: Vec<(u64, u64, u64, On)>,
    sectors: u64,
    is_gpt: bool,
}

/// Containers as QEMU writes them, by what it calls them.
const CONTAINERS: &[(&str, &str)] = &[
    ("raw", ""),
    ("vpc", "subformat=dynamic,force_size=on"),
    ("vpc", "subformat=fixed,force_size=on"),
    ("vhdx", "subformat=dynamic"),
    ("vmdk", "subformat=monolithicSparse"),
    ("vmdk", "subformat=monolithicFlat"),
    ("vdi", "static=off"),
    ("qcow2", "compat=1.1"),
    ("raw", ""),
    ("qcow2", "cluster_size=4K"),
];

fn smallest(on: On) -> u64 {
    match on {
        Xfs => 80_000,
        Btrfs => 80_000,
        Luks | Fat16 => 20_000,
        _ => 12_000,
    }
}

fn kind(on: On, is_gpt: bool) -> &'static str {
    match (on, is_gpt) {
        (Ntfs | Exfat, true) => "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7",
        (Ntfs | Exfat, false) => "7",
        (Swap, true) => "swap",
        (Swap, false) => "82",
        (Lvm, true) => "lvm",
        (Lvm, false) => "8e",
        (_, true) => "linux",
        (Fat16, false) => "6",
        (_, false) => "83",
    }
}

fn made(folder: &Path, random: &mut Rng) -> Made {
    let kinds = [Ntfs, Ext4, Fat16, Exfat, Xfs, Btrfs, Luks, Lvm, Swap, Noise];
    let is_gpt = random.below(2) == 1;
    let most = if random.below(4) == 0 { 12 } else { 3 };
    let count = 1 + random.below(most);
    let mut free = if is_gpt { 34 } else { 63 };
    let mut partitions = Vec::new();
    let mut script = match is_gpt {
        true => "label: gpt\nfirst-lba: 34\n".to_owned(),
        false => "label: dos\n".to_owned(),
    };
    let is_extended = !is_gpt && count > 3;
    let mut extended = 0;
    for n in 0..count {
        let on = kinds[usize::try_from(random.below(kinds.len() as u64)).expect("few")];
        let on = match on {
            // Many partitions are small ones.
            Xfs | Btrfs if count > 3 => Ext4,
            on => on,
        };
        let mut number = n + 1;
        if is_extended && n == 2 {
            extended = free;
        }
        if is_extended && n >= 2 {
            free += 63;
            number = n + 3;
        }
        let sectors = smallest(on) + random.below(9000);
        let start = free + random.below(3) * 17;
        partitions.push((number, start, sectors, on));
        free = start + sectors;
    }
    for (number, start, sectors, on) in &partitions {
        if is_extended && *number == 5 {
            script += &format!("3 : start={extended}, size={}, type=5\n", free - extended);
        }
        script += &format!(
            "{number} : start={start}, size={sectors}, type={}\n",
            kind(*on, is_gpt)
        );
    }
    // Room behind the last one: as a rule.
    let sectors = free + 40_000 + random.below(20_000) + if is_gpt { 33 } else { 0 };
    let disk = folder.join("disk.img");
    let file = File::create(&disk).expect("creates");
    file.set_len(sectors * 512).expect("sparse");
    fs::write(folder.join("table"), script).expect("writes");
    sh(folder, "sfdisk -q --wipe never disk.img < table");
    for (_, start, sectors, on) in &partitions {
        write_at(&disk, start * 512, &contents(folder, *on, *start, *sectors));
    }
    Made {
        partitions,
        sectors,
        is_gpt,
    }
}

/// The tool that owns a filesystem finds nothing wrong with it.
fn assert_sound(folder: &Path, on: On, bytes: &[u8], what: &str) {
    fs::write(folder.join("partition"), bytes).expect("writes");
    let check = match on {
        Ext4 => "e2fsck -fn partition",
        Xfs => "xfs_repair -n -f partition",
        Btrfs => "btrfs check partition",
        Fat16 => "fsck.fat -n partition",
        Exfat => "fsck.exfat -n partition",
        Ntfs => "ntfsfix -n partition && ntfsresize --info --force --no-progress-bar partition",
        Luks => "cryptsetup isLuks partition",
        _ => return,
    };
    let run = Command::new("sh")
        .args(["-c", check])
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .current_dir(folder)
        .output()
        .expect("a shell");
    let said =
        String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{what}: {check}: {said}");
}

fn one(seed: u64) {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let mut random = Rng(seed);
    let made = made(folder, &mut random);
    let disk = folder.join("disk.img");
    let before = fs::read(&disk).expect("readable");
    let (format, options) =
        CONTAINERS[usize::try_from(seed % CONTAINERS.len() as u64).expect("few")];
    let name = if format == "raw" {
        "disk.img".to_owned()
    } else {
        format!("guest.{format}")
    };
    if format != "raw" {
        qemu_img(
            folder,
            [
                "convert", "-f", "raw", "-O", format, "-o", options, "disk.img", &name,
            ],
        );
    }
    // What is proposed; or one partition somewhere else, up or down, as far as there is room.
    let mut args = vec!["realign".to_owned(), name.clone()];
    let last = made.partitions.last().expect("one at least");
    let is_told = seed.is_multiple_of(3) && last.0 <= 4;
    if is_told {
        let end = made.sectors - if made.is_gpt { 34 } else { 0 };
        let room = end - last.1 - last.2;
        let to = match random.below(2) {
            0 if made.partitions.len() == 1 && last.1 > 40 => 36 + random.below(last.1 - 36),
            _ => last.1 + 1 + random.below(room),
        };
        args.extend([
            "--partition".to_owned(),
            last.0.to_string(),
            "--to".to_owned(),
            format!("{to}s"),
        ]);
    }
    let is_copied = seed % 5 == 4;
    let (result, result_format) = match is_copied {
        true => ("new.qcow2".to_owned(), "qcow2"),
        false => (name.clone(), format),
    };
    match is_copied {
        true => args.extend(["-o".to_owned(), result.clone()]),
        false => args.push("--yes".to_owned()),
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let run = straddle(folder, &args);
    let what = format!("{seed}: {} on {format} {options}", args.join(" "));
    assert_eq!(run.code, Some(0), "{what}: {}", run.transcript());
    if result != "disk.img" {
        let from = [
            "convert",
            "-f",
            result_format,
            "-O",
            "raw",
            &result,
            "after.img",
        ];
        qemu_img(folder, from);
    } else {
        fs::rename(&disk, folder.join("after.img")).expect("renames");
    }
    let after = folder.join("after.img");
    let file = File::options().write(true).open(&after).expect("opens");
    file.set_len(made.sectors * 512)
        .expect("the length that the table knows");
    let now = places(&after);
    for (number, start, sectors, on) in &made.partitions {
        let found = now.iter().find(|(n, ..)| n == number);
        let (_, to, len) = found.unwrap_or_else(|| panic!("{what}: partition {number}: {now:?}"));
        assert_eq!(len, sectors, "{what}: partition {number}");
        let range = |start: u64| {
            let at = usize::try_from(start * 512).expect("small");
            at..at + usize::try_from(sectors * 512).expect("small")
        };
        let old = before[range(*start)].to_vec();
        let new = read_at(&after, to * 512, sectors * 512);
        assert_sound(folder, *on, &new, &what);
        let (old, new) = (compared(old, *on), compared(new, *on));
        assert!(old.0 == new.0, "{what}: partition {number} has changed");
        assert!(new.1.iter().all(|said| said == to), "{what}: {:?}", new.1);
        assert!(
            is_told || to % 8 == 0,
            "{what}: partition {number} starts at {to}"
        );
    }
    let verified = sh(folder, "sfdisk --verify after.img 2>&1");
    assert!(
        !verified.contains("overlap") && !verified.contains("outside"),
        "{what}: {verified}"
    );
    if made.is_gpt {
        let verified = sh(folder, "sgdisk -v after.img");
        assert!(verified.contains("No problems found"), "{what}: {verified}");
    }
}

#[test]
fn disks_made_at_random_are_moved_without_a_loss() {
    let count = if straddle_testkit::is_soak() {
        ALL
    } else {
        SOME
    };
    let next = std::sync::atomic::AtomicU64::new(0);
    let failed = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if seed >= count {
                        return;
                    }
                    if std::panic::catch_unwind(|| one(seed)).is_err() {
                        failed.lock().expect("no panic").push(seed);
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
}
