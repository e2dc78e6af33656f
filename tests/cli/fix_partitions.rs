//! Scripts that move partitions, run on images that real tools made misaligned: on those of `SAMPLE`, or with `STRADDLE_SOAK=1` on all.

mod blocks;
pub(crate) mod contents;
mod recovery;
mod refusals;
pub(crate) mod ways;

use crate::support::{in_memory, lint, sh, straddle, tool};
use contents::{compared, image};
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use straddle_testkit::is_soak;
use ways::On::{self, Ext4, Logical, Noise, Ntfs};
use ways::Table::{self, Gpt, Mbr};
use ways::{MIB, SAMPLE, WAYS, Way};

pub(crate) fn output(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

pub(crate) fn read_at(path: &Path, start: u64, len: u64) -> Vec<u8> {
    let mut file = File::open(path).expect("exists");
    file.seek(SeekFrom::Start(start)).expect("seekable");
    let mut bytes = Vec::new();
    file.take(len).read_to_end(&mut bytes).expect("readable");
    bytes
}

pub(crate) fn write_at(path: &Path, start: u64, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(path).expect("exists");
    file.seek(SeekFrom::Start(start)).expect("seekable");
    file.write_all(bytes).expect("writable");
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
pub(crate) fn places(path: &Path) -> Vec<(u64, u64, u64)> {
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

pub(crate) fn check(folder: &Path, flags: &[&str]) -> Vec<(String, String)> {
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

/// The disk of a way as it is before anything is done to it, `disk.img`, with the plan for it, `plan.json`.
pub(crate) struct Before {
    contents: Vec<Vec<u8>>,
    identity: Vec<String>,
    boot_code: Vec<u8>,
    plan: String,
}

/// What is typed behind a verb, with the geometry of a way.
pub(crate) fn with(way: &Way, args: &[&'static str]) -> Vec<&'static str> {
    [args, way.flags].concat()
}

pub(crate) fn made(folder: &Path, way: &Way) -> Before {
    let disk = folder.join("disk.img");
    image(folder, &disk, way);
    let args = with(way, &["fix", "disk.img", "--only", "partitions", "--json"]);
    let plan = straddle(folder, &args);
    assert_eq!(plan.code, Some(0), "{}: {}", way.name, plan.transcript());
    fs::write(folder.join("plan.json"), &plan.stdout).expect("writable");
    let contents = way
        .partitions
        .iter()
        .map(|(_, start, sectors, ..)| read_at(&disk, start * 512, sectors * 512));
    Before {
        contents: contents.collect(),
        identity: identity(&disk),
        boot_code: read_at(&disk, 0, 446),
        plan: plan.stdout,
    }
}

/// Carries a way out by a script and looks at what came of it; gives the script.
fn carried_out(way: &Way) -> String {
    let folder = in_memory();
    let folder = folder.path();
    let before = made(folder, way);
    let args = [
        "fix",
        "disk.img",
        "--only",
        "partitions",
        "--script",
        way.tool,
    ];
    let script = straddle(folder, &with(way, &args));
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
    assert_carried_out(folder, way, before);
    script.stdout
}

/// `disk.img` is what the plan promised: everything is there, at its place, and nothing else has changed.
pub(crate) fn assert_carried_out(folder: &Path, way: &Way, before: Before) {
    let disk = folder.join("disk.img");
    let now = places(&disk);
    for (number, start) in way.starts {
        let at = now
            .iter()
            .find(|(n, ..)| n == number)
            .map(|(_, start, _)| start);
        assert_eq!(at, Some(start), "{}: partition {number}: {now:?}", way.name);
    }
    assert_eq!(now.len(), way.partitions.len(), "{}", way.name);
    for ((number, old, len, _, on), before) in way.partitions.iter().zip(before.contents) {
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
    assert_eq!(identity(&disk), before.identity, "{}", way.name);
    assert_eq!(
        read_at(&disk, 0, 446),
        before.boot_code,
        "{}: boot code",
        way.name
    );

    let verified = straddle(
        folder,
        &with(
            way,
            &[
                "fix",
                "disk.img",
                "--only",
                "partitions",
                "--verify",
                "plan.json",
            ],
        ),
    );
    assert_eq!(
        verified.code,
        Some(0),
        "{}: {}",
        way.name,
        verified.transcript()
    );
    let plan: Value = serde_json::from_str(&before.plan).expect("JSON");
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
}

/// A filesystem that became shorter is sound, and has the same files.
fn shortened(folder: &Path, on: On, before: &[u8], after: &[u8], name: &str) {
    fs::write(folder.join("before"), before).expect("writable");
    fs::write(folder.join("after"), after).expect("writable");
    let files = match on {
        Ext4 => {
            sh(folder, "e2fsck -fn after > /dev/null 2>&1");
            "for f in file sh; do debugfs -R \"cat $f\" IMAGE 2> /dev/null | sha256sum; done"
        }
        Ntfs => {
            sh(
                folder,
                "ntfsresize --info --force --no-progress-bar after > /dev/null",
            );
            "for f in 4 10; do ntfscat -f -i $f IMAGE 2> /dev/null | sha256sum; done"
        }
        _ => panic!("{name}: nothing makes this shorter"),
    };
    let of = |image: &str| sh(folder, &files.replace("IMAGE", image));
    assert_eq!(of("before"), of("after"), "{name}");
}

/// What is tried for every commit has each tool with each table that it is for, everything that lies on partitions, and each tool that
/// makes filesystems shorter.
#[test]
fn the_sample_has_every_class_of_ways() {
    let sampled = |way: &&Way| SAMPLE.contains(&way.name);
    assert_eq!(WAYS.iter().filter(sampled).count(), SAMPLE.len());
    let classes = |way: &Way| {
        let shorter = way.name.contains("shrinks");
        let mut classes = vec![
            format!("{} of {:?}", way.tool, way.table),
            format!("{} of {} flags", shorter, way.flags.len()),
        ];
        classes.extend(way.partitions.iter().map(|part| format!("{:?}", part.4)));
        if shorter {
            classes.push(format!("{} makes shorter", way.tool));
        }
        classes
    };
    let in_sample: Vec<String> = WAYS.iter().filter(sampled).flat_map(classes).collect();
    for class in WAYS.iter().flat_map(classes) {
        assert!(in_sample.contains(&class), "{class}");
    }
}

#[test]
fn every_way_is_repaired_and_keeps_its_contents() {
    assert!(WAYS.len() >= 30);
    let ways: Vec<&Way> = WAYS
        .iter()
        .filter(|way| is_soak() || SAMPLE.contains(&way.name))
        .collect();
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        // More than there are cores: they wait for the disk.
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(way) = ways.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if std::panic::catch_unwind(|| lint(&carried_out(way))).is_err() {
                        failed.lock().expect("no panic").push(way.name);
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
fn scripts_look_like_this() {
    for (tool, table) in TOOLS {
        let folder = in_memory();
        small(folder.path(), "disk.img", table);
        // Filesystems have identifiers of their own each time they are made.
        let script = script(folder.path(), "disk.img", tool);
        let lines = script.lines().map(|line| {
            let digits = line.strip_suffix(" 'volume identifier'");
            match digits.and_then(|line| line.rsplit_once(' ')) {
                Some((before, digits)) => {
                    format!("{before} ({} digits) 'volume identifier'", digits.len())
                }
                None => line.to_owned(),
            }
        });
        let lines: Vec<String> = lines.collect();
        insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("fix_{tool}"), lines.join("\n"));
        });
    }
}
