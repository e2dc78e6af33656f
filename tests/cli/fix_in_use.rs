//! Scripts for what is in use, by every name and in every namespace: each refuses, and not one byte is written. So does `bench`, of a
//! device.
//!
//! Each way to be in use is tried with two of the scripts that it concerns, so that each script has its turn with images and with
//! devices, and every third with the script that writes a new file; `STRADDLE_SOAK=1` tries every way with every script.
//!
//! Arrays, device-mapper and what else needs another kernel are in the lab (`tests/lab/cases/fix-in-use.sh`).

pub(crate) mod ways;

use crate::support::straddle;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use straddle_testkit::is_soak;
use ways::{Of, WAYS, Way, of_any_image, tried};

/// Partitions off the boundary: 1 ext4, 2 LUKS, 3 XFS, 4 ext4 in small blocks, 5 empty.
const DISK: &str = r"
truncate -s 160M disk.img
printf '%s\n' 'label: gpt' 'first-lba: 34' 'start=34,size=40000' 'start=40034,size=40000' 'start=80034,size=80000' 'start=160034,size=30000' 'start=190034,size=100000' | sfdisk -q disk.img
put() { dd if=x of=disk.img bs=512 seek=$1 conv=notrunc,sparse status=none; rm x; }
truncate -s 20480000 x; mke2fs -q -t ext4 -b 4096 -F x; put 34
truncate -s 20480000 x; printf secret | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --sector-size 512 x -; put 40034
truncate -s 40960000 x; mkfs.xfs -q -f --unsupported -s size=4096 -d su=16k,sw=4,agsize=17m x 2> /dev/null; put 80034
truncate -s 15360000 x; mke2fs -q -t ext4 -b 1024 -F x; put 160034
printf secret > key
";

/// A kind of script: its tool, the partition that it is for (0: the whole disk), and what `straddle fix` is told.
struct Kind {
    tool: &'static str,
    partition: u32,
    flags: &'static [&'static str],
}

#[rustfmt::skip]
const KINDS: &[Kind] = &[
    Kind { tool: "sfdisk", partition: 0, flags: &["--only", "partitions"] },
    Kind { tool: "parted", partition: 0, flags: &["--only", "partitions"] },
    Kind { tool: "sgdisk", partition: 0, flags: &["--only", "partitions"] },
    Kind { tool: "systemd-repart", partition: 0, flags: &["--only", "partitions"] },
    Kind { tool: "tune2fs", partition: 1, flags: &["--only", "hints", "--stripe-unit", "64K"] },
    Kind { tool: "cryptsetup", partition: 2, flags: &["--only", "encryption-sector"] },
    Kind { tool: "mount", partition: 3, flags: &["--only", "hints", "--stripe-unit", "64K"] },
    Kind { tool: "mkfs", partition: 4, flags: &["--only", "filesystem"] },
];

fn shell(folder: &Path, lines: &str) -> Output {
    let mut command = Command::new("bash");
    command.args(["-c", lines]).current_dir(folder);
    command.env("STRADDLE", env!("CARGO_BIN_EXE_straddle"));
    command.env("STRADDLE_HISTORY", "none");
    command.output().expect("bash")
}

#[track_caller]
fn sh(folder: &Path, lines: &str) -> String {
    let output = shell(folder, lines);
    let (text, error) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert!(output.status.success(), "{lines}\n{text}{error}");
    text
}

/// Writes the script of a kind for a target; gives its name.
fn script(folder: &Path, kind: &Kind, target: &str) -> String {
    let args = [&["fix"], kind.flags, &["--script", kind.tool, target]].concat();
    let run = straddle(folder, &args);
    assert_eq!(run.code, Some(0), "{}: {}", kind.tool, run.transcript());
    let name = format!("{}.sh", kind.tool);
    fs::write(folder.join(&name), run.stdout).expect("writable");
    name
}

/// Loop devices over the disk of a way, and another one; given back however the test ends.
struct Loops(Vec<String>);

impl Loops {
    fn new(folder: &Path) -> Loops {
        let lines = "truncate -s 64M other.img; losetup --find --show disk.img; losetup --find --show other.img";
        let loops = Loops(sh(folder, lines).lines().map(str::to_owned).collect());
        // What was left of another file that was attached as this device.
        shell(folder, &format!("partx --delete {}", loops.0[0]));
        sh(folder, &format!("partx --add {}", loops.0[0]));
        loops
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        let lines = format!(
            "partx --delete {}; losetup --detach {}",
            self.0[0],
            self.0.join(" ")
        );
        shell(Path::new("/"), &lines);
    }
}

/// Scripts tried against ways: none of them writes, so that each finds it as the one before. Gives how often each was tried.
#[track_caller]
fn try_all<'a>(
    folder: &Path,
    set_up: &str,
    scripts: &'a [(u32, String)],
    ways: &[&Way],
) -> BTreeMap<&'a str, usize> {
    let mut failed = Vec::new();
    let mut tries: BTreeMap<&str, usize> = scripts.iter().map(|(_, name)| (&**name, 0)).collect();
    for (index, way) in ways.iter().enumerate() {
        let concerned = scripts
            .iter()
            .filter(|(partition, _)| *partition == 0 || way.partitions.contains(partition));
        let mut concerned: Vec<&str> = concerned.map(|(_, name)| &**name).collect();
        if !is_soak() {
            // Those that had fewer turns than others.
            concerned.sort_by_key(|name| tries[name]);
            concerned.truncate(2);
        }
        for name in &concerned {
            *tries.entry(name).or_default() += 1;
        }
        let set_up = format!("{set_up}; T=$PWD/t{index}; mkdir $T");
        let output = shell(folder, &tried(way, &concerned, &set_up));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() || !said.is_empty() {
            failed.push(format!("{}\n{said}{errors}{:?}", way.make, output.status));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n---\n"));
    tries
}

/// Gives how often each script was tried.
fn partitions_of(of: Of) -> Vec<usize> {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    sh(folder, &format!("set -eu\n{DISK}"));
    let loops = (of == Of::Device).then(|| Loops::new(folder));
    let mut set_up = "IMG=$PWD/disk.img".to_owned();
    if let Some(Loops(names)) = &loops {
        set_up += &format!("; D={}; OTHER={}", names[0], names[1]);
    }
    let scripts: Vec<(u32, String)> = KINDS
        .iter()
        .map(|kind| {
            let target = match (&loops, kind.partition) {
                (None, _) => "disk.img".to_owned(),
                (Some(Loops(names)), 0) => names[0].clone(),
                (Some(Loops(names)), n) => format!("{}p{n}", names[0]),
            };
            (kind.partition, script(folder, kind, &target))
        })
        .collect();
    let ways: Vec<&Way> = WAYS.iter().filter(|way| way.of == of).collect();
    let tries = try_all(folder, &set_up, &scripts, &ways);
    tries.into_values().collect()
}

/// A script that writes another file is for a disk at rest, too: what a running guest has written by halves would be in the new one.
fn virtual_disks() -> usize {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let lines = "truncate -s 64M raw.img; printf 'label: dos\\nstart=63,type=83\\n' | sfdisk -q raw.img; qemu-img convert -f raw -O vdi raw.img disk.img";
    sh(folder, lines);
    let kind = Kind {
        tool: "qemu-img",
        partition: 0,
        flags: &[],
    };
    let scripts = [(0, script(folder, &kind, "disk.img"))];
    let tries = try_all(folder, "IMG=$PWD/disk.img", &scripts, &of_any_image());
    let tries = tries.values().sum();
    let left = sh(folder, "ls -A | grep -v -E '^(t[0-9]+|said)$'");
    assert_eq!(left, "disk.img\nqemu-img.sh\nraw.img\n");
    tries
}

/// One after the other: all take the next free loop device.
#[test]
fn what_is_in_use_is_refused() {
    assert!(WAYS.len() >= 45);
    let (images, devices, converted) = (
        partitions_of(Of::Image),
        partitions_of(Of::Device),
        virtual_disks(),
    );
    let all = |tries: &[usize]| tries.iter().sum::<usize>();
    let fewest = if is_soak() {
        [20 * KINDS.len(), 25 * 4, 18]
    } else {
        [40, 50, 6]
    };
    assert!(all(&images) >= fewest[0], "{images:?}");
    assert!(all(&devices) >= fewest[1], "{devices:?}");
    assert!(converted >= fewest[2], "{converted}");
    // No script was left out.
    for tries in images.iter().chain(&devices) {
        assert!(*tries >= 2, "{images:?}, {devices:?}");
    }
}
