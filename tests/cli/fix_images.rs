//! Virtual disks that `fix` converts: the script is run, its contents compared, and what was promised looked for again.

use crate::support::{in_memory, lint, straddle, tool};
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Output};

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
    let plan = written(folder, &[name], "qemu-img");
    let promised = promised(&plan);
    for code in codes {
        assert!(
            promised.contains(code),
            "{name}: {promised:?} has no {code}"
        );
    }
    let run = tool(
        "dash",
        Command::new("dash")
            .args(["fix.sh", "--yes"])
            .current_dir(folder),
    );
    (run, expected.to_owned())
}

fn is_repaired(folder: &Path, new: &str, run: &Output) {
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
        let folder = in_memory();
        let folder = folder.path();
        raw(folder);
        shell(
            "qemu-utils",
            folder,
            &format!("qemu-img convert -f raw -O {format} raw.img disk && mv disk \"{old}\""),
        );
        let before = fs::read(folder.join(old)).expect("readable");
        let (run, new) = converted(folder, old, new, codes);
        is_repaired(folder, &new, &run);
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
    let folder = in_memory();
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
    is_repaired(folder, &new, &run);
}

#[test]
fn another_disk_is_refused_before_anything_is_written() {
    let folder = in_memory();
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

/// A virtual disk with a partition that is off: how it is made, what changes it, and the file that comes out of it.
struct Inside {
    format: &'static str,
    table: &'static str,
    old: &'static str,
    new: &'static str,
    script: &'static str,
    /// Kinds of change that are planned; all when it is empty.
    only: &'static str,
}

const INSIDE: &[Inside] = &[
    Inside {
        format: "qcow2",
        table: "dos",
        old: "a.qcow2",
        new: "a.aligned.qcow2",
        script: "sfdisk",
        only: "",
    },
    Inside {
        format: "qcow2 -o cluster_size=1048576",
        table: "gpt",
        old: "with space, comma's and: colon.img",
        new: "with space, comma's and: colon.aligned.img",
        script: "sgdisk",
        only: "",
    },
    Inside {
        format: "vhdx -o subformat=dynamic,block_size=2097152",
        table: "gpt",
        old: "c.vhdx",
        new: "c.aligned.vhdx",
        script: "parted",
        only: "",
    },
    // Two steps: what is converted anyway is written once.
    Inside {
        format: "vpc -o subformat=dynamic,force_size=on",
        table: "dos",
        old: "d.vhd",
        new: "d.vhdx",
        script: "sfdisk",
        only: "",
    },
    Inside {
        format: "vpc -o subformat=dynamic,force_size=on",
        table: "dos",
        old: "e.vhd",
        new: "e.aligned.vhd",
        script: "parted",
        only: "partitions",
    },
    Inside {
        format: "vpc -o subformat=fixed,force_size=on",
        table: "dos",
        old: "f.vhd",
        new: "f.aligned.vhd",
        script: "sfdisk",
        only: "",
    },
    Inside {
        format: "vdi",
        table: "dos",
        old: "g.vdi",
        new: "g.qcow2",
        script: "sfdisk",
        only: "",
    },
    Inside {
        format: "vmdk -o subformat=monolithicSparse",
        table: "dos",
        old: "h.vmdk",
        new: "h.aligned.vmdk",
        script: "sfdisk",
        only: "",
    },
];

/// Bytes of the one partition of `made.img`.
const HELD: usize = 32 << 20;

/// `made.img`: a partition at sector 63, full of bytes that differ from sector to sector.
fn off(folder: &Path, table: &str) -> Vec<u8> {
    let head = match table {
        "gpt" => "label: gpt\\nlabel-id: 0D0E0F10-1112-1314-1516-171819202122\\nfirst-lba: 34",
        _ => "label: dos\\nlabel-id: 0x5354",
    };
    shell(
        "fdisk",
        folder,
        &format!(
            "truncate -s 64M made.img; printf '{head}\\nstart=63,size={}\\n' | sfdisk -q made.img",
            HELD / 512
        ),
    );
    let held: Vec<u8> = (0..HELD / 512)
        .flat_map(|sector| {
            let mut bytes = [0; 512];
            let words = bytes.chunks_exact_mut(8).enumerate();
            words.for_each(|(at, word)| {
                word.copy_from_slice(&((sector * 64 + at + 1) as u64).to_le_bytes());
            });
            bytes
        })
        .collect();
    let mut file = OpenOptions::new()
        .write(true)
        .open(folder.join("made.img"))
        .expect("it was made");
    file.seek(SeekFrom::Start(63 * 512)).expect("inside");
    file.write_all(&held).expect("writable");
    held
}

/// Writes `plan.json` and `fix.sh`, in which shellcheck finds nothing; gives the plan.
fn written(folder: &Path, asked: &[&str], script: &str) -> Value {
    let plan = straddle(folder, &[&["fix"], asked, &["--json"]].concat());
    assert_eq!(plan.code, Some(0), "{asked:?}: {}", plan.transcript());
    fs::write(folder.join("plan.json"), &plan.stdout).expect("writable");
    let text = straddle(folder, &[&["fix"], asked, &["--script", script]].concat());
    assert_eq!(text.code, Some(0), "{asked:?}: {}", text.transcript());
    fs::write(folder.join("fix.sh"), &text.stdout).expect("writable");
    lint(&text.stdout);
    serde_json::from_str(&plan.stdout).expect("JSON")
}

/// The codes that a plan promises to cure.
fn promised(plan: &Value) -> Vec<&str> {
    let cured = plan["cured"].as_array().expect("promises");
    cured
        .iter()
        .filter_map(|cure| cure["code"].as_str())
        .collect()
}

/// Runs a script; gives its exit status and what it said.
fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let run = Command::new("dash")
        .arg("fix.sh")
        .args(arguments)
        .current_dir(folder)
        .env(
            "PATH",
            "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        )
        .output()
        .expect("dash runs");
    let words = [run.stdout, run.stderr].concat();
    (
        run.status.code(),
        String::from_utf8_lossy(&words).into_owned(),
    )
}

#[test]
fn a_partition_in_a_virtual_disk_is_moved_in_a_new_one() {
    for way in INSIDE {
        let folder = in_memory();
        let folder = folder.path();
        let Inside {
            format,
            table,
            old,
            new,
            script,
            only,
        } = way;
        let held = off(folder, table);
        shell(
            "qemu-utils",
            folder,
            &format!("qemu-img convert -f raw -O {format} made.img disk && mv disk \"{old}\""),
        );
        let before = fs::read(folder.join(old)).expect("readable");
        let mut asked = vec![*old];
        if !only.is_empty() {
            asked.extend(["--only", only]);
        }
        let document = written(folder, &asked, script);
        let codes = promised(&document);
        // In a disk whose blocks drift, neither is aligned.
        let is_off = codes.iter().any(|code| ["STR101", "STR416"].contains(code));
        assert!(is_off, "{old}: {codes:?}");
        let (status, words) = run(folder, &[]);
        assert_eq!(status, Some(0), "{old}: {words}");
        assert!(!folder.join(new).exists(), "{old}: without --yes");
        let (status, words) = run(folder, &["--yes"]);
        assert_eq!(status, Some(0), "{old}: {words}");
        assert!(
            before == fs::read(folder.join(old)).expect("readable"),
            "{old} was written to"
        );
        let start = document["steps"]
            .as_array()
            .expect("steps")
            .iter()
            .find_map(|step| step["change"]["entries"][0]["to"]["start"].as_u64())
            .expect("a new place");
        assert_eq!(start % (1 << 20), 0, "{old}: {start}");
        shell(
            "qemu-utils",
            folder,
            &format!("qemu-img convert -O raw \"./{new}\" after.raw"),
        );
        let after = fs::read(folder.join("after.raw")).expect("readable");
        let start = usize::try_from(start).expect("small");
        assert!(after[start..start + HELD] == held, "{old}: contents");
        let verified = straddle(folder, &["fix", new, "--verify", "plan.json"]);
        assert_eq!(verified.code, Some(0), "{old}: {}", verified.transcript());
        let left: Vec<_> = fs::read_dir(folder)
            .expect("readable")
            .filter_map(|entry| Some(entry.ok()?.path().join("disk.raw")))
            .filter(|raw| raw.exists())
            .collect();
        assert!(left.is_empty(), "{old}: {left:?}");
        // What is there is not overwritten.
        let (status, words) = run(folder, &["--yes"]);
        assert_eq!(status, Some(2), "{old}: {words}");
        assert!(words.contains("is there already"), "{words}");
    }
}

#[test]
fn another_virtual_disk_is_refused_before_it_is_changed() {
    // Not in memory: its script is compared, names and all.
    let folder = tempfile::tempdir().expect("a scratch directory");
    let folder = folder.path();
    off(folder, "dos");
    let convert = |from: &str| {
        let line = format!("qemu-img convert -f raw -S 0 -O qcow2 {from} disk.qcow2");
        shell("qemu-utils", folder, &line);
    };
    convert("made.img");
    written(folder, &["disk.qcow2", "--only", "partitions"], "sfdisk");
    let text = fs::read_to_string(folder.join("fix.sh")).expect("readable");
    let shown = text.replace(folder.to_str().expect("text"), "/FOLDER");
    insta::assert_snapshot!("a_partition_in_a_qcow2", shown);
    let refused = |what: &str, why: &str| {
        let (status, words) = run(folder, &["--yes"]);
        assert_eq!(status, Some(2), "{what}: {words}");
        assert!(
            words.contains("refused, nothing was written") && words.contains(why),
            "{what}: {words}"
        );
        let new = folder.join("disk.aligned.qcow2");
        assert!(!new.exists(), "{what}");
    };
    // Of the same length and format, and another table in it.
    shell(
        "fdisk",
        folder,
        "printf '\\x77' | dd of=made.img bs=1 seek=440 conv=notrunc status=none",
    );
    convert("made.img");
    refused("another table", "plan was made for");
    shell("coreutils", folder, "truncate -s +65536 disk.qcow2");
    refused("another length", "it is another disk");
    shell("coreutils", folder, "rm disk.qcow2");
    refused("gone", "does not exist");
}

/// A filesystem in a partition of a virtual disk: re-created where it lies, in the new file.
#[test]
fn a_filesystem_in_a_virtual_disk_is_recreated_in_a_new_one() {
    let folder = in_memory();
    let folder = folder.path();
    shell(
        "fdisk",
        folder,
        "truncate -s 64M raw.img; printf 'label: dos\\nlabel-id: 0x5354\\nstart=2048,size=65536,type=83\\n' | sfdisk -q raw.img",
    );
    shell(
        "e2fsprogs",
        folder,
        "mkfs.ext4 -q -F -b 1024 -L small -E offset=1048576 raw.img 32M",
    );
    shell(
        "qemu-utils",
        folder,
        "qemu-img convert -f raw -O qcow2 raw.img disk.qcow2",
    );
    let plan = written(folder, &["disk.qcow2"], "mkfs");
    assert!(promised(&plan).contains(&"STR305"), "{plan}");
    let before = fs::read(folder.join("disk.qcow2")).expect("readable");
    let (status, words) = run(folder, &["--yes"]);
    assert_eq!(status, Some(0), "{words}");
    assert!(before == fs::read(folder.join("disk.qcow2")).expect("readable"));
    let verified = straddle(
        folder,
        &["fix", "disk.aligned.qcow2", "--verify", "plan.json"],
    );
    assert_eq!(verified.code, Some(0), "{}", verified.transcript());
    let checked = straddle(folder, &["check", "disk.aligned.qcow2"]);
    assert!(checked.stdout.contains("small"), "{}", checked.transcript());
    assert!(!checked.stdout.contains("STR305"), "{}", checked.stdout);
}

#[test]
fn a_virtual_disk_with_snapshots_in_it_is_refused() {
    let folder = in_memory();
    let folder = folder.path();
    off(folder, "dos");
    shell(
        "qemu-utils",
        folder,
        "qemu-img convert -f raw -O qcow2 made.img disk.qcow2; qemu-img snapshot -c kept disk.qcow2",
    );
    written(folder, &["disk.qcow2", "--only", "partitions"], "sfdisk");
    let (status, words) = run(folder, &["--yes"]);
    assert_eq!(status, Some(2), "{words}");
    assert!(words.contains("has snapshots in it"), "{words}");
}
