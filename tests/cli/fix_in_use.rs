//! Scripts for what is in use, by every name and in every namespace: each refuses, and not one byte is written.
//!
//! Arrays, device-mapper and what else needs another kernel are in the lab (`tests/lab/cases/fix-in-use.sh`).

mod support;
#[path = "fix_in_use/ways.rs"]
mod ways;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use support::straddle;
use ways::{Of, WAYS, Way};

/// What ways call; what is given to `later` is done at the end, the last first.
const FUNCTIONS: &str = r#"
set -eu
ends=:
later() { ends="$*; $ends"; }
attach() { DEVICE=$(losetup --find --show "$@"); later losetup --detach "$DEVICE"; }
node() { mknod "$2" b $(stat -L -c '0x%t 0x%T' "$1"); }
# hold HOW FILE: a process that has it open
hold() { eval "sleep 600 $1 \"\$2\" &"; later kill $!; until [ "$(readlink "/proc/$!/exe")" = "$(readlink -f "$(command -v sleep)")" ]; do sleep 0.02; done; }
# elsewhere LINES [HOW FILE]: in a mount namespace of its own
elsewhere() {
    touch "$T/file"
    unshare --mount --propagation private sh -c "$1; touch $T/there; exec sleep 600 ${2:-} ${3:-}" &
    later "kill $!; wait $! || :"
    until [ -e "$T/there" ] && [ "$(readlink "/proc/$!/exe")" = "$(readlink -f "$(command -v sleep)")" ]; do sleep 0.02; done
}
# What must not change.
bytes() { cat "$IMG"; }
# swap_to DEVICE: the fifth partition. A kernel short of memory does write to it, behind the page of its header.
swap_to() {
    swapon "$1"
    bytes() { head -c $(((190034 + 8) * 512)) "$IMG"; tail -c +$(((190034 + 100000) * 512 + 1)) "$IMG"; }
}
mkdir "$T/m" "$T/m2"
"#;

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

/// Lines that run scripts while the way is on, each with what it said and whether the disk's bytes are what they were.
fn tried(way: &Way, scripts: &[String], set_up: &str) -> String {
    let scripts = scripts.join(" ");
    format!(
        "{set_up}
{FUNCTIONS}
         trap 'set +e; eval \"$ends\" > /dev/null 2>&1' EXIT
         {make}
         sync; before=$(bytes | sha256sum)
         for script in {scripts}; do
             status=0; LUKS_KEY_FILE=key dash $script --yes > said 2>&1 || status=$?
             [ $status = 2 ] && grep -q '^refused, nothing was written: .*\\(mounted\\|open\\|attached\\|part of\\|used for\\|holds\\|stands on\\|a device of\\|Device or resource busy\\)' said || {{ echo \"$script: $status\"; cat said; }}
         done
         sync; [ \"$(bytes | sha256sum)\" = \"$before\" ] || echo 'it was written to'",
        make = way.make,
    )
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

/// Scripts for one disk, tried against every way: none of them writes, so that each finds it as the one before.
fn run_all(of: Of, least: usize) {
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
    let mut failed = Vec::new();
    let mut tries = 0;
    for (index, way) in WAYS.iter().filter(|way| way.of == of).enumerate() {
        let concerned = scripts
            .iter()
            .filter(|(partition, _)| *partition == 0 || way.partitions.contains(partition));
        let concerned: Vec<String> = concerned.map(|(_, name)| name.clone()).collect();
        tries += concerned.len();
        let set_up = format!("{set_up}; T=$PWD/t{index}; mkdir $T");
        let output = shell(folder, &tried(way, &concerned, &set_up));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() || !said.is_empty() {
            failed.push(format!("{}\n{said}{errors}{:?}", way.make, output.status));
        }
    }
    assert!(tries >= least, "{tries}");
    assert!(failed.is_empty(), "{}", failed.join("\n---\n"));
}

/// One after the other: both take the next free loop device.
#[test]
fn what_is_in_use_is_refused() {
    assert!(WAYS.len() >= 45);
    run_all(Of::Image, 20 * KINDS.len());
    run_all(Of::Device, 25 * 4);
}
