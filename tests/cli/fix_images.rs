//! Virtual disks that `fix` converts: the script is run, its contents compared, and what was promised looked for again.

mod support;

use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Output};
use support::{straddle, tool};

/// Runs a line of shell whose tools are in a Debian package.
fn shell(package: &str, folder: &Path, line: &str) {
    let output = tool(
        package,
        Command::new("sh").args(["-euc", line]).current_dir(folder),
    );
    assert!(output.status.success(), "{line}: {output:?}");
}

/// A disk of 64 MiB with one aligned partition, in which there are data.
fn raw(folder: &Path) {
    shell(
        "fdisk",
        folder,
        "truncate -s 64M raw.img; printf 'label: dos\\nlabel-id: 0x5354\\nstart=2048,type=83\\n' | sfdisk -q raw.img",
    );
    shell(
        "e2fsprogs",
        folder,
        "mkfs.ext4 -q -F -b 4096 -E offset=1048576 raw.img 63M",
    );
    let mut file = OpenOptions::new()
        .write(true)
        .open(folder.join("raw.img"))
        .expect("it was made");
    for at in [20_u64, 33, 47] {
        file.seek(SeekFrom::Start((at << 20) + 12_345))
            .expect("inside");
        file.write_all(format!("data at {at}").as_bytes())
            .expect("writable");
    }
}

/// Makes one disk, plans for it and runs the script; gives the new file's name.
fn converted(folder: &Path, name: &str, expected: &str, codes: &[&str]) -> (Output, String) {
    let plan = straddle(folder, &["fix", name, "--json"]);
    assert_eq!(plan.code, Some(0), "{name}: {}", plan.transcript());
    let document: Value = serde_json::from_str(&plan.stdout).expect("JSON");
    let cured = document["cured"].as_array().expect("promises");
    let promised: Vec<&str> = cured.iter().filter_map(|c| c["code"].as_str()).collect();
    for code in codes {
        assert!(
            promised.contains(code),
            "{name}: {promised:?} has no {code}"
        );
    }
    fs::write(folder.join("plan.json"), &plan.stdout).expect("writable");
    let script = straddle(folder, &["fix", name, "--script", "qemu-img"]);
    assert_eq!(script.code, Some(0), "{name}: {}", script.transcript());
    fs::write(folder.join("fix.sh"), &script.stdout).expect("writable");
    let checked = tool(
        "shellcheck",
        Command::new("shellcheck").arg("fix.sh").current_dir(folder),
    );
    assert!(checked.status.success(), "{name}: {checked:?}");
    let run = tool(
        "dash",
        Command::new("dash")
            .args(["fix.sh", "--yes"])
            .current_dir(folder),
    );
    (run, expected.to_owned())
}

fn is_mended(folder: &Path, new: &str, run: &Output) {
    assert!(run.status.success(), "{new}: {run:?}");
    let compared = tool(
        "qemu-utils",
        Command::new("qemu-img")
            .args(["compare", "-f", "raw", "raw.img", new])
            .current_dir(folder),
    );
    assert!(compared.status.success(), "{new}: {compared:?}");
    let verified = straddle(folder, &["fix", new, "--verify", "plan.json"]);
    assert_eq!(verified.code, Some(0), "{}", verified.transcript());
    assert!(
        !verified.stdout.contains("still there"),
        "{}",
        verified.stdout
    );
}

#[test]
fn every_kind_that_is_off_the_grid_is_converted_and_is_on_it_then() {
    let cases = [
        (
            "vpc -o subformat=dynamic",
            "a.vhd",
            "a.vhdx",
            &["STR401"][..],
        ),
        (
            "vpc -o subformat=dynamic,force_size=on",
            "b.vhd",
            "b.vhdx",
            &["STR401"],
        ),
        ("vdi", "c.vdi", "c.qcow2", &["STR402"]),
        (
            "vmdk -o subformat=streamOptimized",
            "d.vmdk",
            "d.aligned.vmdk",
            &["STR410"],
        ),
        (
            "qcow2 -o cluster_size=512",
            "e.qcow2",
            "e.aligned.qcow2",
            &["STR404"],
        ),
        (
            "qcow2 -o cluster_size=2048",
            "f.qcow2",
            "f.aligned.qcow2",
            &["STR404"],
        ),
        ("qcow2 -c", "g.qcow2", "g.aligned.qcow2", &["STR411"]),
        (
            "vpc -o subformat=dynamic",
            "with space, and comma's.vhd",
            "with space, and comma's.vhdx",
            &["STR401"],
        ),
    ];
    for (format, old, new, codes) in cases {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let folder = folder.path();
        raw(folder);
        shell(
            "qemu-utils",
            folder,
            &format!("qemu-img convert -f raw -O {format} raw.img disk && mv disk \"{old}\""),
        );
        let before = fs::read(folder.join(old)).expect("readable");
        let (run, new) = converted(folder, old, new, codes);
        is_mended(folder, &new, &run);
        assert!(
            before == fs::read(folder.join(old)).expect("readable"),
            "{old} was written to"
        );
        // What is there is not overwritten.
        let again = Command::new("dash")
            .args(["fix.sh", "--yes"])
            .current_dir(folder)
            .output()
            .expect("dash runs");
        assert_eq!(again.status.code(), Some(2), "{again:?}");
    }
}

#[test]
fn a_chain_of_four_files_becomes_one() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let folder = folder.path();
    raw(folder);
    shell(
        "qemu-utils",
        folder,
        "qemu-img convert -f raw -O qcow2 raw.img one.qcow2\n\
         for pair in one:two two:three three:four; do \
         qemu-img create -q -f qcow2 -F qcow2 -b ${pair%:*}.qcow2 ${pair#*:}.qcow2; done\n\
         qemu-io -c 'write -P 7 40M 64k' four.qcow2 > /dev/null\n\
         qemu-io -f raw -c 'write -P 7 40M 64k' raw.img > /dev/null",
    );
    let (run, new) = converted(folder, "four.qcow2", "four.aligned.qcow2", &["STR417"]);
    is_mended(folder, &new, &run);
}

#[test]
fn another_disk_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let folder = folder.path();
    raw(folder);
    shell(
        "qemu-utils",
        folder,
        "qemu-img convert -f raw -O vpc -o subformat=dynamic raw.img disk.vhd; cp disk.vhd kept.vhd",
    );
    let script = straddle(folder, &["fix", "disk.vhd", "--script", "qemu-img"]);
    fs::write(folder.join("fix.sh"), &script.stdout).expect("writable");
    let refused = |what: &str| {
        let run = Command::new("dash")
            .args(["fix.sh", "--yes"])
            .current_dir(folder)
            .output()
            .expect("dash runs");
        assert_eq!(run.status.code(), Some(2), "{what}: {run:?}");
        let words = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(
            words.contains("refused, nothing was written"),
            "{what}: {words}"
        );
        assert!(!folder.join("disk.vhdx").exists(), "{what}");
    };
    shell("coreutils", folder, "truncate -s +512 disk.vhd");
    refused("another size");
    shell(
        "qemu-utils",
        folder,
        "qemu-img convert -f raw -O vpc -o subformat=dynamic raw.img disk.vhd",
    );
    let sizes =
        ["disk.vhd", "kept.vhd"].map(|name| fs::metadata(folder.join(name)).expect("there").len());
    assert_eq!(sizes[0], sizes[1], "only the identifier is to differ");
    refused("another identifier");
    shell("coreutils", folder, "rm disk.vhd");
    refused("gone");
    let mut text = String::new();
    fs::File::open(folder.join("fix.sh"))
        .and_then(|mut file| file.read_to_string(&mut text))
        .expect("readable");
    assert!(text.contains("bytes_are \"$disk\""), "{text}");
}

#[test]
fn a_partition_in_a_virtual_disk_is_moved_in_a_raw_file() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let folder = folder.path();
    shell(
        "fdisk",
        folder,
        "truncate -s 64M made.img; printf 'label: dos\nlabel-id: 0x5354\nstart=63,size=65536,type=83\n' | sfdisk -q made.img",
    );
    shell(
        "qemu-utils",
        folder,
        "qemu-img convert -f raw -S 0 -O qcow2 made.img disk.qcow2",
    );
    let only = ["fix", "disk.qcow2", "--only", "partitions"];
    let plan = straddle(folder, &[&only[..], &["--json"]].concat());
    fs::write(folder.join("plan.json"), &plan.stdout).expect("writable");
    let refused = straddle(folder, &[&only[..], &["--script", "sfdisk"]].concat());
    assert_eq!(refused.code, Some(2), "{}", refused.transcript());
    assert!(
        refused.stderr.contains("qemu-img convert -O raw"),
        "{}",
        refused.stderr
    );
    // What the words say.
    shell(
        "qemu-utils",
        folder,
        "qemu-img convert -O raw disk.qcow2 disk.raw",
    );
    let script = straddle(
        folder,
        &[
            "fix",
            "disk.raw",
            "--only",
            "partitions",
            "--script",
            "sfdisk",
        ],
    );
    assert_eq!(script.code, Some(0), "{}", script.transcript());
    fs::write(folder.join("fix.sh"), &script.stdout).expect("writable");
    shell("fdisk", folder, "sh fix.sh --yes");
    shell(
        "qemu-utils",
        folder,
        "qemu-img convert -S 0 -f raw -O qcow2 disk.raw new.qcow2",
    );
    let verified = straddle(folder, &["fix", "new.qcow2", "--verify", "plan.json"]);
    assert_eq!(verified.code, Some(0), "{}", verified.transcript());
}
