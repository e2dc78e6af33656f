//! What is left to do by hand: boot loaders that know places, and Windows that knows partitions by theirs.

use std::fs;
use std::path::Path;

use super::legacy;
use crate::fix_partitions::ways::WAYS;
use crate::fix_partitions::{made, write_at};
use crate::support::{sh, straddle};

/// As GRUB's boot sector has it, and where.
const GRUB: &[u8] = b"GRUB \0Geom\0Hard Disk\0Read\0 Error\r\n";
const GRUB_AT: u64 = 0x180;
const PARTITION: u64 = 63 * 512;

/// What is said to be done afterwards.
fn follow_ups(folder: &Path) -> Vec<String> {
    let run = straddle(folder, &["realign", "disk.img", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let found: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let all = found["follow_ups"].as_array().expect("a list");
    let text = |one: &serde_json::Value| one.as_str().expect("text").to_owned();
    all.iter().map(text).collect()
}

/// Puts files into the NTFS of the first partition.
fn holds(folder: &Path, files: &[&str]) {
    sh(folder, "dd if=disk.img of=part bs=512 skip=63 status=none");
    fs::write(folder.join("file"), "its contents").expect("writes");
    for file in files {
        sh(folder, &format!("ntfscp -q -f part file {file}"));
    }
    sh(
        folder,
        "dd if=part of=disk.img bs=512 seek=63 conv=notrunc status=none",
    );
}

fn is_one(found: &[String], words: &[&str]) {
    let of = found
        .iter()
        .filter(|one| words.iter().all(|word| one.contains(word)));
    assert_eq!(of.count(), 1, "{words:?} in {found:#?}");
}

#[test]
fn windows_is_told_where_its_volumes_are() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    legacy(folder);
    let letters = ["drive letters", "partition 1 may come up", "mountvol X:"];
    let plain = follow_ups(folder);
    is_one(&plain, &letters);
    assert_eq!(plain.len(), 1, "{plain:#?}");

    holds(folder, &["bootmgr"]);
    let vista = follow_ups(folder);
    is_one(&vista, &letters);
    is_one(
        &vista,
        &[
            "boot configuration data name partition 1",
            "bcdboot D:\\Windows /s S:",
        ],
    );
    assert_eq!(vista.len(), 2, "{vista:#?}");

    legacy(folder);
    holds(folder, &["ntldr"]);
    let older = follow_ups(folder);
    is_one(&older, &letters);
    is_one(&older, &["boot.ini names partition 1", "fixboot"]);
    assert_eq!(older.len(), 2, "{older:#?}");
}

#[test]
fn grub_is_told_where_its_files_are_and_never_written_over() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    legacy(folder);
    let disk = folder.join("disk.img");
    write_at(&disk, GRUB_AT, GRUB);
    let in_mbr = follow_ups(folder);
    is_one(
        &in_mbr,
        &[
            "core image",
            "grub-install --boot-directory=/mnt/boot disk.img",
        ],
    );
    write_at(&disk, PARTITION + GRUB_AT, GRUB);
    let in_both = follow_ups(folder);
    is_one(
        &in_both,
        &["in the boot sector of partition 1", "grub-install --force"],
    );
    assert_eq!(in_both.len(), in_mbr.len() + 1, "{in_both:#?}");

    let before = fs::read(&disk).expect("readable");
    let run = straddle(folder, &["realign", "disk.img", "--to", "20480", "--yes"]);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    assert!(
        run.stderr.contains("on GRUB's core image") && run.stderr.contains("1 MiB or more"),
        "{}",
        run.transcript()
    );
    assert!(fs::read(&disk).expect("readable") == before);
    // Without GRUB there is nothing in the way.
    write_at(&disk, GRUB_AT, &vec![0; GRUB.len()]);
    let run = straddle(folder, &["realign", "disk.img", "--to", "20480", "--yes"]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
}

#[test]
fn partitions_of_a_gpt_are_known_by_their_guids() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let way = WAYS
        .iter()
        .find(|way| way.name == "gpt-sgdisk")
        .expect("one of them");
    made(folder, way);
    write_at(&folder.join("disk.img"), GRUB_AT, GRUB);
    assert_eq!(follow_ups(folder), Vec::<String>::new());
}
