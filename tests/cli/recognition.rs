//! What is nobody's disk and no tool's output: the files of a Debian installation, of which none may be taken for one. By the static binary:
//! they are many.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::shipped::program;

/// Where packages have their files that hold the words of every tool and format there is: headers, programs, manuals.
const TREES: [&str; 4] = [
    "/usr/include",
    "/usr/lib/python3",
    "/usr/share/perl",
    "/usr/share/perl5",
];
/// As many are looked at for every commit.
const SAMPLE: usize = 1500;
/// Longest that is copied; no text of which a tool is recognised later is read further.
const LONGEST: u64 = 256 << 10;

/// Files below /usr that are what they are taken for, by a part of their path: images, and manuals that print a tool's whole output.
const TRUE: [&str; 4] = [
    // Boot sectors and disks of boot loaders and of emulators.
    "/grub/",
    "/syslinux/",
    "/qemu/",
    // What losetup prints, below its prompt.
    "/doc/util-linux",
];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&entry.path(), found),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

/// The targets of a folder that were recognised, and how many were not.
fn recognised(folder: &Path) -> (Vec<String>, u64) {
    let output = Command::new(program())
        .env("STRADDLE_HISTORY", "none")
        .args([
            "check",
            "--as",
            "collection",
            "--fail-on",
            "never",
            "--json",
        ])
        .arg(folder)
        .output()
        .expect("straddle runs");
    let document: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("a document, whatever was found");
    let targets = document["targets"].as_array().expect("targets");
    let names = targets
        .iter()
        .map(|target| target["target"].as_str().expect("a name").to_owned());
    let left = document["summary"]["unrecognised"].as_u64();
    (names.collect(), left.expect("a number"))
}

#[test]
fn no_file_of_a_system_is_taken_for_a_disk_or_a_host() {
    let mut all = Vec::new();
    for tree in TREES {
        files(Path::new(tree), &mut all);
    }
    all.sort();
    assert!(
        all.len() > SAMPLE,
        "{} files: this test needs headers, Python and Perl of Debian",
        all.len()
    );
    let folder = tempfile::tempdir().expect("temporary folder");
    let every = all.len() / SAMPLE;
    let mut copied = 0_u64;
    for path in all.iter().step_by(every) {
        let is_short = |found: fs::Metadata| (1..=LONGEST).contains(&found.len());
        if !fs::metadata(path).is_ok_and(is_short) {
            continue;
        }
        let copy = folder
            .path()
            .join(path.strip_prefix("/").expect("absolute"));
        fs::create_dir_all(copy.parent().expect("a folder")).expect("made");
        fs::copy(path, copy).expect("copied");
        copied += 1;
    }
    assert!(copied > 700, "{copied} files");
    // One that is one, so that it is seen that they are looked at.
    let output =
        "gpt\n71380 255 63 1146734896\n1 2048 1146719699 AA31E02A400F11DB9590000C2911D1B8 vmfs 0\n";
    fs::write(
        folder.path().join("usr/include/getptbl-naa.600508b1001c.h"),
        output,
    )
    .expect("written");
    let (names, left) = recognised(folder.path());
    assert_eq!(names.len(), 1, "{names:#?}");
    assert!(names[0].contains("include"), "{names:?}");
    assert!(left + 1 >= copied, "{left} of {copied} were looked at");
}

/// All of them, more than 100,000 on a machine that this is built on.
#[test]
fn nothing_of_usr_is_taken_for_a_disk_or_a_host() {
    if !straddle_testkit::is_soak() {
        return;
    }
    let (names, left) = recognised(Path::new("/usr"));
    let is_false = |name: &&String| !TRUE.iter().any(|part| name.contains(part));
    let wrong: Vec<&String> = names.iter().filter(is_false).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(
        left > 20_000,
        "only {left} files and folders were looked at"
    );
}
