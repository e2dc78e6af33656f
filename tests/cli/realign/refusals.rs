//! What is not done, and what is said instead. No byte changes.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::legacy;
use crate::fix_partitions::ways::WAYS;
use crate::fix_partitions::{made, write_at};
use crate::support::{sh, straddle};

/// Runs it, and sees that the disk is what it was.
fn refused(folder: &Path, args: &[&str], words: &[&str]) {
    let before = fs::read(folder.join("disk.img")).expect("readable");
    let run = straddle(folder, args);
    assert_eq!(run.code, Some(2), "{args:?}: {}", run.transcript());
    for word in words {
        assert!(run.stderr.contains(word), "{word}: {}", run.transcript());
    }
    let after = fs::read(folder.join("disk.img")).expect("readable");
    assert!(before == after, "{args:?} changed the disk");
}

const YES: &[&str] = &["realign", "disk.img", "--yes"];

#[test]
fn consent_is_for_what_it_was_given() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    legacy(folder);
    refused(
        folder,
        &["realign", "disk.img", "--yes-move", "disk.img"],
        &["no block device", "--yes"],
    );
    refused(
        folder,
        &["realign", "disk.img", "--yes", "--dry-run"],
        &["cannot be used with"],
    );
    refused(
        folder,
        &["realign", "disk.img", "--resume"],
        &["disk.img.realign-journal is not there", "nothing was moved"],
    );
    refused(
        folder,
        &["realign", "disk.img", "--rollback"],
        &["disk.img.realign-journal is not there"],
    );
    refused(
        folder,
        &["realign", "disk.img", "--partition", "7"],
        &["there is no partition 7", "the disk has 1"],
    );
    refused(
        folder,
        &["realign", "disk.img", "--to", "1MiB", "--format", "vhd"],
        &["--output"],
    );
    refused(
        folder,
        &["realign", "disk.img", "-o", "new"],
        &["says nothing of its format"],
    );
    refused(
        folder,
        &["realign", "disk.img", "-o", "new", "--format", "iso"],
        &["iso", "vhdx"],
    );
}

#[test]
fn dirty_contents_are_left_alone() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    legacy(folder);
    let disk = folder.join("disk.img");
    // The flag of $Volume: its record is the fourth.
    let bytes = fs::read(&disk).expect("readable");
    let partition = &bytes[63 * 512..];
    let word = |at: usize| u64::from(u16::from_le_bytes([partition[at], partition[at + 1]]));
    let cluster = word(11) * u64::from(partition[13]);
    let table = u64::from_le_bytes(partition[48..56].try_into().expect("eight")) * cluster;
    let record = usize::try_from(table).expect("small") + 3 * 1024;
    let at = partition[record..record + 1024]
        .windows(4)
        .position(|raw| raw == [0x70, 0, 0, 0]);
    let flags = 63 * 512 + record + at.expect("it has one") + 24 + 10;
    write_at(&disk, flags as u64, &[1]);
    refused(
        folder,
        YES,
        &["ntfs in partition 1 is marked dirty", "chkdsk /f"],
    );
    refused(
        folder,
        &["realign", "disk.img", "-o", "new.vhdx"],
        &["is marked dirty"],
    );
    write_at(&disk, flags as u64, &[0]);
    let run = straddle(folder, YES);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
}

#[test]
fn a_target_that_is_no_longer_what_the_plan_saw_is_left_alone() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let way = WAYS
        .iter()
        .find(|way| way.name == "ext4")
        .expect("one of them");
    made(folder, way);
    let planned: &[&str] = &["realign", "disk.img", "--yes", "--plan", "plan.json"];
    let disk = folder.join("disk.img");
    let bytes = fs::read(&disk).expect("readable");
    // Contents, as the plan sampled them.
    let plan = fs::read_to_string(folder.join("plan.json")).expect("readable");
    let plan: serde_json::Value = serde_json::from_str(&plan).expect("JSON");
    let samples = plan["survival"]["samples"].as_array().expect("samples");
    let contents = samples
        .iter()
        .find(|sample| sample["what"] == "contents")
        .expect("of ext4");
    let at = 63 * 512 + contents["offset"].as_u64().expect("a place");
    let was = bytes[usize::try_from(at).expect("small")];
    write_at(&disk, at, &[!was]);
    refused(folder, planned, &["changed since plan.json was made"]);
    write_at(&disk, at, &[was]);
    // Other geometry than then.
    let others = [planned, &["--stripe-unit", "3M"]].concat();
    refused(
        folder,
        &others,
        &["not what plan.json was made for", "--stripe-unit"],
    );
    // What is no plan.
    fs::write(folder.join("other.json"), "{}").expect("writes");
    refused(
        folder,
        &["realign", "disk.img", "--yes", "--plan", "other.json"],
        &["not a plan"],
    );
    refused(
        folder,
        &["realign", "disk.img", "--yes", "--plan", "none.json"],
        &["cannot open none.json"],
    );
    let run = straddle(folder, planned);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
}

#[test]
fn an_image_in_use_is_left_alone() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    legacy(folder);
    let disk = folder.join("disk.img");
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&disk)
        .expect("opens");
    file.lock().expect("locks");
    refused(folder, YES, &["somebody has locked it"]);
    file.unlock().expect("unlocks");
    // This process can write to it.
    refused(folder, YES, &["can write to it"]);
    drop(file);
    let device = sh(folder, "losetup -f --show disk.img");
    let device = device.trim();
    let result =
        std::panic::catch_unwind(|| refused(folder, YES, &["under another name", "losetup -d"]));
    sh(folder, &format!("losetup -d {device}"));
    result.expect("refused");
    let run = straddle(folder, YES);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
}

#[test]
fn journals_have_their_place() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    legacy(folder);
    refused(
        folder,
        &[
            "realign",
            "disk.img",
            "--yes",
            "--journal",
            "/dev/shm/straddle-journal",
        ],
        &["in memory", "--journal"],
    );
    assert!(!Path::new("/dev/shm/straddle-journal").exists());
    fs::write(folder.join("taken"), "something").expect("writes");
    refused(
        folder,
        &["realign", "disk.img", "--yes", "--journal", "taken"],
        &["taken exists", "--resume"],
    );
    assert_eq!(fs::read(folder.join("taken")).expect("there"), b"something");
    refused(
        folder,
        &["realign", "disk.img", "--resume", "--journal", "taken"],
        &["no journal of a move"],
    );
}

#[test]
fn damaged_tables_and_what_lies_in_the_way_are_refused() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let way = WAYS
        .iter()
        .find(|way| way.name == "gpt-sgdisk")
        .expect("one of them");
    made(folder, way);
    let disk = folder.join("disk.img");
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&disk)
        .expect("opens");
    let mut byte = [0];
    file.read_exact_at(&mut byte, 1024 + 40).expect("reads");
    file.write_all_at(&[!byte[0]], 1024 + 40).expect("writes");
    drop(file);
    let before = fs::read(&disk).expect("readable");
    let run = straddle(folder, YES);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    assert!(run.stderr.contains("damaged"), "{}", run.transcript());
    assert!(fs::read(&disk).expect("readable") == before);
    fs::remove_file(&disk).expect("removes");
    let way = WAYS
        .iter()
        .find(|way| way.name == "pushed")
        .expect("one of them");
    made(folder, way);
    refused(
        folder,
        &[
            "realign",
            "disk.img",
            "--partition",
            "2",
            "--to",
            "20MiB",
            "--yes",
        ],
        &["would overlap partition 3"],
    );
    refused(
        folder,
        &[
            "realign",
            "disk.img",
            "--partition",
            "3",
            "--to",
            "63MiB",
            "--yes",
        ],
        &["the disk has 67,108,864", "--grow"],
    );
    refused(
        folder,
        &[
            "realign",
            "disk.img",
            "--partition",
            "3",
            "--to",
            "30000001B",
            "--yes",
        ],
        &["inside a sector of 512"],
    );
    let mut nothing = fs::File::create(&disk).expect("creates");
    nothing.write_all(&[0; 4096]).expect("writes");
    refused(folder, YES, &["no partition table was found"]);
}
