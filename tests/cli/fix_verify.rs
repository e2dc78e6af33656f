//! `straddle fix --verify` against repairs that went wrong, other targets and other plans: what is not there, whole, in its place, is said.

mod plans;

use crate::support::{sh, straddle};
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Runs lines of shell in a folder; they must succeed.
#[track_caller]
/// A GPT with an ext4 (63 to 20,062), an NTFS (20,063 to 40,062) and noise (40,063 to 44,158), all off the boundary, in `new.img`, with its
/// plan; the same, repaired, in `good.img`.
fn repaired(folder: &Path) {
    sh(
        folder,
        "truncate -s 32M new.img
         printf '%s\\n' 'label: gpt' 'label-id: 5D2C1A90-0B1E-4C6A-9F3A-6E0C6B8C1D01' 'first-lba: 34' \
            'start=63, size=20000, uuid=00000000-0000-4000-8000-000000000001, name=\"data\"' \
            'start=20063, size=20000, type=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7, uuid=00000000-0000-4000-8000-000000000002' \
            'start=40063, size=4096, uuid=00000000-0000-4000-8000-000000000003' | sfdisk -q new.img
         mkdir tree; head -c 4000000 /dev/urandom > tree/file
         truncate -s 10240000 one; mke2fs -q -t ext4 -F -U 6f6d3c5b-9c55-4bd8-b1a2-1c9b1f6f0a01 -d tree one
         truncate -s 10240000 two; mkntfs -q -Q -F -p 20063 -H 16 -S 63 two 2> /dev/null
         head -c 2097152 /dev/urandom > three
         dd if=one of=new.img bs=512 seek=63 conv=notrunc status=none
         dd if=two of=new.img bs=512 seek=20063 conv=notrunc status=none
         dd if=three of=new.img bs=512 seek=40063 conv=notrunc status=none
         cp new.img good.img",
    );
    let plan = fix(folder, &["good.img", "--json"]);
    assert_eq!(plan.code, Some(0), "{}", plan.transcript());
    fs::write(folder.join("plan.json"), plan.stdout).expect("writable");
    let script = fix(folder, &["good.img", "--script", "sfdisk"]);
    fs::write(folder.join("fix.sh"), script.stdout).expect("writable");
    sh(folder, "sh fix.sh --yes");
}

fn fix(folder: &Path, args: &[&str]) -> crate::support::Run {
    straddle(folder, &[&["fix", "--only", "partitions"], args].concat())
}

/// What has gone wrong with `bad.img`, and what is said of it.
type Wrong = (&'static str, &'static str);

/// Partitions lie at 2,048, 22,528 and 43,008 after the repair.
#[rustfmt::skip]
const WRONG: &[Wrong] = &[
    // Nothing, or something else.
    (": > bad.img", "bad.img is not there"),
    ("truncate -s 0 bad.img; truncate -s 32M bad.img", "partition 1 is not there"),
    ("head -c 32M /dev/urandom > bad.img", "has no table identifier"),
    ("tr '\\0' '\\377' < /dev/zero | head -c 32M > bad.img", "has no table identifier"),
    ("cp new.img bad.img", "partition 1: start is 32256 bytes, not 1048576"),
    ("truncate -s 0 bad.img; truncate -s 32M bad.img; printf 'label: gpt\\nstart=2048,size=20000\\nstart=22528,size=20000\\nstart=43008,size=4096\\n' | sfdisk -q bad.img", "table identifier is"),
    ("sfdisk -q --disk-id bad.img 5D2C1A90-0B1E-4C6A-9F3A-6E0C6B8C1D02", "table identifier is"),
    ("truncate -s 31M bad.img; sgdisk -e bad.img > /dev/null 2>&1", "size is 32505856 bytes, not 33554432"),
    ("truncate -s 40M bad.img; sgdisk -e bad.img > /dev/null 2>&1", "size is 41943040 bytes, not 33554432"),
    // The table.
    ("wipefs -q -a -f bad.img", "partition 1 is not there"),
    ("printf 'label: dos\\nstart=2048,size=20000\\nstart=22528,size=20000\\nstart=43008,size=4096\\n' | sfdisk -q --wipe always --wipe-partitions never bad.img", "partition table is mbr, not gpt"),
    ("sgdisk -d 1 bad.img > /dev/null", "partition 1 is not there"),
    ("sgdisk -d 2 bad.img > /dev/null", "partition 2 is not there"),
    ("sgdisk -d 3 bad.img > /dev/null", "partition 3 is not there"),
    ("sfdisk -q --part-type bad.img 1 0657FD6D-A4AB-43C4-84E5-0933C84B4F4F", "partition type is"),
    ("sfdisk -q --part-label bad.img 1 other", "partition name is other, not data"),
    ("sfdisk -q --part-label bad.img 3 named", "attributes and name of partition 3"),
    ("sfdisk -q --part-uuid bad.img 3 00000000-0000-4000-8000-000000000009", "type and identifier of partition 3"),
    ("sfdisk -q --part-attrs bad.img 2 GUID:63", "attributes and name of partition 2"),
    ("sgdisk -r 1:2 bad.img > /dev/null", "partition 1: start is 11534336 bytes, not 1048576"),
    ("sgdisk -r 1:5 bad.img > /dev/null", "partition 1 is not there"),
    ("echo 'size=19000' | sfdisk -q -N 1 --wipe-partitions never bad.img", "partition 1: size is 9728000 bytes, not 10240000"),
    ("echo 'start=43016, size=4096' | sfdisk -q -N 3 --wipe-partitions never bad.img", "partition 3: start is 22024192 bytes, not 22020096"),
    // The table was written, and the data not moved, or half.
    ("dd if=new.img of=bad.img bs=512 skip=2048 seek=2048 count=48000 conv=notrunc status=none", "ext4"),
    ("dd if=new.img of=bad.img bs=512 skip=2048 seek=2048 count=10000 conv=notrunc status=none", "contents of ext4"),
    ("dd if=new.img of=bad.img bs=512 skip=43008 seek=43008 count=2048 conv=notrunc status=none", "contents of partition 3"),
    ("dd if=two of=bad.img bs=512 seek=2048 conv=notrunc status=none; dd if=one of=bad.img bs=512 seek=22528 conv=notrunc status=none", "ext4"),
    // What lies on the partitions.
    ("dd if=/dev/zero of=bad.img bs=512 seek=2048 count=20000 conv=notrunc status=none", "(ext4) is not there"),
    ("dd if=/dev/zero of=bad.img bs=512 seek=22528 count=20000 conv=notrunc status=none", "(ntfs) is not there"),
    ("dd if=/dev/zero of=bad.img bs=512 seek=43008 count=4096 conv=notrunc status=none", "contents of partition 3"),
    ("mke2fs -q -t ext4 -F -U 6f6d3c5b-9c55-4bd8-b1a2-1c9b1f6f0a02 -E offset=1048576 bad.img 10000k", "volume identifier is"),
    ("mke2fs -q -t ext4 -F -U 6f6d3c5b-9c55-4bd8-b1a2-1c9b1f6f0a01 -E offset=1048576 bad.img 10000k", "contents of ext4"),
    ("mke2fs -q -t ext2 -F -U 6f6d3c5b-9c55-4bd8-b1a2-1c9b1f6f0a01 -E offset=1048576 bad.img 10000k", "is ext2 now"),
    ("truncate -s 10240000 x; mkswap -q x 2> /dev/null; dd if=x of=bad.img bs=512 seek=2048 conv=notrunc status=none", "is swap now"),
    ("truncate -s 10240000 x; mkntfs -q -Q -F -p 22528 -H 16 -S 63 x 2> /dev/null; dd if=x of=bad.img bs=512 seek=22528 conv=notrunc status=none", "volume identifier is"),
    ("printf 'x' | dd of=bad.img bs=1 seek=1049720 conv=notrunc status=none", "ext4"),
];

#[test]
fn a_repair_that_went_wrong_is_not_called_kept() {
    assert!(WRONG.len() >= 30);
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    repaired(folder);
    let kept = fix(folder, &["good.img", "--verify", "plan.json"]);
    assert_eq!(kept.code, Some(0), "{}", kept.transcript());
    let mut failed = Vec::new();
    for (wrong, said) in WRONG {
        sh(
            folder,
            &format!("rm -f bad.img; cp good.img bad.img; {wrong}"),
        );
        let run = fix(folder, &["bad.img", "--verify", "plan.json"]);
        let words = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = said
            .replace("bad.img is", "good.img is")
            .replace("new.img is", "good.img is");
        if run.code != Some(1) || !words.contains(&said) || !words.contains(" 0 of ") {
            failed.push(format!("{wrong}: no {said:?} in\n{}", run.transcript()));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// One bit of any sample is missed by nobody.
#[test]
fn one_bit_of_each_sample() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    repaired(folder);
    let plan = fs::read_to_string(folder.join("plan.json")).expect("readable");
    let plan: Value = serde_json::from_str(&plan).expect("JSON");
    let layers = plan["survival"]["layers"].as_array().expect("layers");
    let samples = plan["survival"]["samples"].as_array().expect("samples");
    let contents: Vec<&Value> = samples.iter().filter(|s| s["what"] == "contents").collect();
    assert!(contents.len() >= 20, "{contents:?}");
    let disk = OpenOptions::new()
        .read(true)
        .write(true)
        .open(folder.join("good.img"))
        .expect("writable");
    for sample in contents {
        let mut at = sample["offset"].as_u64().expect("a place") + 2049;
        let mut layer =
            &layers[usize::try_from(sample["layer"].as_u64().expect("one")).expect("fits")];
        while let Some(below) = layer["below"][0].as_u64() {
            at += layer["start"].as_u64().expect("a place");
            layer = &layers[usize::try_from(below).expect("fits")];
        }
        let mut byte = [0];
        disk.read_exact_at(&mut byte, at).expect("readable");
        disk.write_all_at(&[byte[0] ^ 1], at).expect("writable");
        let run = fix(folder, &["good.img", "--verify", "plan.json"]);
        assert_eq!(run.code, Some(1), "byte {at}: {}", run.transcript());
        assert!(run.stdout.contains("0 of "), "{}", run.transcript());
        disk.write_all_at(&byte, at).expect("writable");
    }
    let kept = fix(folder, &["good.img", "--verify", "plan.json"]);
    assert_eq!(kept.code, Some(0), "{}", kept.transcript());
}
