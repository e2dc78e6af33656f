//! Partitions inside virtual disks: moved in place, and into new files of every format.

use std::fs;
use std::path::Path;
use std::process::Command;

use straddle_testkit::first_difference;

use super::legacy;
use crate::support::qemu::qemu_img;
use crate::support::{in_memory, sh, straddle, tool};

/// What the disk is once its partition has moved, as raw bytes.
fn wanted(folder: &Path) -> Vec<u8> {
    legacy(folder);
    fs::copy(folder.join("disk.img"), folder.join("moved.img")).expect("copies");
    let run = straddle(folder, &["realign", "moved.img", "--yes"]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    fs::read(folder.join("moved.img")).expect("readable")
}

/// The bytes that a guest sees, by QEMU.
fn guest(folder: &Path, name: &str, format: &str) -> Vec<u8> {
    let raw = folder.join("guest.raw");
    let args = ["convert", "-f", format, "-O", "raw", name, "guest.raw"];
    qemu_img(folder, args);
    fs::read(raw).expect("readable")
}

fn assert_same(found: &[u8], wanted: &[u8], what: &str) {
    // Formats round the length of a disk up.
    let (head, rest) = found.split_at(wanted.len().min(found.len()));
    assert_eq!(head.len(), wanted.len(), "{what}");
    let first = first_difference(head, wanted);
    assert_eq!(first, None, "{what}: the first byte that differs");
    assert!(rest.iter().all(|byte| *byte == 0), "{what}");
}

#[test]
fn in_place_in_every_format_that_can_be_written() {
    let folder = in_memory();
    let folder = folder.path();
    let wanted = wanted(folder);
    for (format, options, is_checked) in [
        ("vpc", "subformat=dynamic,force_size=on", false),
        ("vpc", "subformat=fixed,force_size=on", false),
        ("vhdx", "subformat=dynamic", true),
        ("vhdx", "subformat=fixed", true),
        ("vmdk", "subformat=monolithicSparse", true),
        ("vmdk", "subformat=monolithicFlat", false),
        ("vmdk", "subformat=twoGbMaxExtentSparse", true),
        ("vdi", "static=off", true),
        ("vdi", "static=on", true),
        ("qcow2", "compat=1.1", true),
        ("qcow2", "compat=0.10", true),
        ("qcow2", "cluster_size=2M", true),
        ("qcow2", "cluster_size=512", true),
    ] {
        let what = format!("{format} {options}");
        let inner = folder.join("one");
        fs::create_dir(&inner).expect("a folder");
        let name = format!("guest.{format}");
        let args = [
            "convert",
            "-f",
            "raw",
            "-O",
            format,
            "-o",
            options,
            "../disk.img",
            name.as_str(),
        ];
        qemu_img(&inner, args);
        let run = straddle(&inner, &["realign", &name, "--yes", "--to", "1MiB"]);
        assert_eq!(run.code, Some(0), "{what}: {}", run.transcript());
        assert_same(&guest(&inner, &name, format), &wanted, &what);
        if is_checked {
            let checked = qemu_img(&inner, ["check", "-f", format, name.as_str()]);
            assert!(checked.contains("No errors"), "{what}: {checked}");
        }
        // Once more: nothing is to be done.
        let again = straddle(&inner, &["realign", &name, "--to", "1MiB"]);
        assert_eq!(again.code, Some(0), "{what}");
        assert!(
            again
                .stdout
                .contains("starts at 1 MiB = 2,048 sectors = 1,048,576 B already"),
            "{}",
            again.transcript()
        );
        fs::remove_dir_all(&inner).expect("removes");
    }
}

#[test]
fn a_guest_sees_the_same_files_afterwards() {
    let folder = in_memory();
    let folder = folder.path();
    legacy(folder);
    qemu_img(
        folder,
        [
            "convert",
            "-f",
            "raw",
            "-O",
            "qcow2",
            "disk.img",
            "guest.qcow2",
        ],
    );
    let files = |start: u64| {
        let raw = guest(folder, "guest.qcow2", "qcow2");
        let start = usize::try_from(start * 512).expect("small");
        fs::write(folder.join("ntfs"), &raw[start..start + 40_000 * 512]).expect("writes");
        let listed = tool(
            "ntfs-3g",
            Command::new("ntfsinfo")
                .args(["-m", "-f"])
                .arg(folder.join("ntfs")),
        );
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        assert!(text.contains("Volume Version: 3.1"), "{text}");
        text
    };
    let before = files(63);
    let run = straddle(folder, &["realign", "guest.qcow2", "--yes"]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert_eq!(files(2048), before);
}

#[test]
fn every_format_becomes_every_other() {
    let folder = in_memory();
    let folder = folder.path();
    let wanted = wanted(folder);
    // Sources that cannot be changed in place: compressed, and with a parent.
    let sources = [
        (
            "raw",
            &["convert", "-f", "raw", "-O", "raw", "disk.img", "source"][..],
        ),
        (
            "qcow2",
            &[
                "convert", "-c", "-f", "raw", "-O", "qcow2", "disk.img", "source",
            ],
        ),
        (
            "vmdk",
            &[
                "convert",
                "-f",
                "raw",
                "-O",
                "vmdk",
                "-o",
                "subformat=streamOptimized",
                "disk.img",
                "source",
            ],
        ),
        (
            "qcow2",
            &[
                "create", "-q", "-f", "qcow2", "-b", "disk.img", "-F", "raw", "source",
            ],
        ),
    ];
    let formats = [
        ("raw", "raw"),
        ("vhd", "vpc"),
        ("vhd-fixed", "vpc"),
        ("vhdx", "vhdx"),
        ("vhdx-fixed", "vhdx"),
        ("vmdk", "vmdk"),
        ("vmdk-flat", "vmdk"),
        ("vdi", "vdi"),
        ("vdi-fixed", "vdi"),
        ("qcow2", "qcow2"),
    ];
    for (n, (_, make)) in sources.iter().enumerate() {
        qemu_img(folder, make.iter().copied());
        let source = fs::read(folder.join("source")).expect("readable");
        // Each source into some, all of them into all.
        for (name, format) in formats
            .iter()
            .skip(n % 2)
            .step_by(if n < 2 { 1 } else { 2 })
        {
            let what = format!("{} to {name}", make.join(" "));
            let run = straddle(
                folder,
                &["realign", "source", "-o", "new", "--format", name],
            );
            assert_eq!(run.code, Some(0), "{what}: {}", run.transcript());
            assert!(
                run.stdout.contains("the target was only read"),
                "{}",
                run.transcript()
            );
            assert_same(&guest(folder, "new", format), &wanted, &what);
            assert!(
                fs::read(folder.join("source")).expect("readable") == source,
                "{what}"
            );
            // The new file adds no misalignment of its own.
            let checked = straddle(folder, &["check", "new", "--json", "--as", "image"]);
            for code in ["STR101", "STR401", "STR402"] {
                assert!(!checked.stdout.contains(code), "{what}: {code}");
            }
            let again = straddle(
                folder,
                &["realign", "source", "-o", "new", "--format", name],
            );
            assert_eq!(again.code, Some(2), "{what}: it is there already");
            for file in ["new", "new-flat.vmdk"] {
                let _ = fs::remove_file(folder.join(file));
            }
        }
        fs::remove_file(folder.join("source")).expect("removes");
    }
}

#[test]
fn what_cannot_be_changed_in_place_is_refused_with_the_way_out() {
    let folder = in_memory();
    let folder = folder.path();
    legacy(folder);
    for (make, why) in [
        (
            &[
                "convert", "-c", "-f", "raw", "-O", "qcow2", "disk.img", "guest",
            ][..],
            "compressed",
        ),
        (
            &[
                "convert",
                "-f",
                "raw",
                "-O",
                "vmdk",
                "-o",
                "subformat=streamOptimized",
                "disk.img",
                "guest",
            ],
            "compressed",
        ),
        (
            &[
                "create", "-q", "-f", "qcow2", "-b", "disk.img", "-F", "raw", "guest",
            ],
            "differs from its parent",
        ),
    ] {
        qemu_img(folder, make.iter().copied());
        let before = fs::read(folder.join("guest")).expect("readable");
        let run = straddle(folder, &["realign", "guest", "--yes", "--to", "1MiB"]);
        assert_eq!(run.code, Some(2), "{}", run.transcript());
        assert!(
            run.stderr.contains(why)
                && run.stderr.contains(
                    "`straddle realign guest --to 1048576B -o NEW` writes a new file from it"
                ),
            "{why}: {}",
            run.transcript()
        );
        assert!(fs::read(folder.join("guest")).expect("readable") == before);
        fs::remove_file(folder.join("guest")).expect("removes");
    }
    qemu_img(
        folder,
        ["convert", "-f", "raw", "-O", "qcow2", "disk.img", "guest"],
    );
    qemu_img(folder, ["snapshot", "-c", "before", "guest"]);
    let run = straddle(folder, &["realign", "guest", "--yes"]);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    assert!(run.stderr.contains("snapshot"), "{}", run.transcript());
}

#[test]
fn a_disk_without_room_is_made_longer_when_that_is_asked_for() {
    let folder = in_memory();
    let folder = folder.path();
    let script = "truncate -s 20480000 disk.img && printf 'label: gpt\\nfirst-lba: 34\\nstart=34,size=39900\\n' | sfdisk -q disk.img && \
                  printf 'at the start' | dd of=disk.img bs=1 seek=17408 conv=notrunc status=none";
    for format in ["raw", "vpc", "vhdx", "vmdk", "vdi", "qcow2"] {
        let _ = fs::remove_file(folder.join("disk.img"));
        sh(folder, script);
        let name = format!("one.{format}");
        qemu_img(
            folder,
            ["convert", "-f", "raw", "-O", format, "disk.img", &name],
        );
        let refused = straddle(folder, &["realign", &name, "--to", "1MiB", "--yes"]);
        assert_eq!(refused.code, Some(2), "{}", refused.transcript());
        assert!(
            refused.stderr.contains("--grow"),
            "{}",
            refused.transcript()
        );
        let run = straddle(
            folder,
            &["realign", &name, "--to", "1MiB", "--yes", "--grow", "2MiB"],
        );
        assert_eq!(run.code, Some(0), "{format}: {}", run.transcript());
        let raw = guest(folder, &name, format);
        assert_eq!(&raw[1 << 20..(1 << 20) + 12], b"at the start", "{format}");
        let path = folder.join("guest.raw");
        let verified = tool("gdisk", Command::new("sgdisk").arg("-v").arg(&path));
        let verified = String::from_utf8_lossy(&verified.stdout).into_owned();
        // A VHD is rounded up to whole cylinders by whoever reads it.
        assert!(
            verified.contains("No problems found") || format == "vpc",
            "{format}: {verified}"
        );
        fs::remove_file(folder.join(&name)).expect("removes");
    }
}

#[test]
fn what_is_free_is_left_out_and_every_file_is_there() {
    let folder = in_memory();
    let folder = folder.path();
    // Each filesystem full of files that are deleted again, but for some.
    for (format, make, put, get) in [
        (
            "ntfs",
            "mkntfs -q -F -f -p 63 -H 16 -S 63 fs 2> /dev/null",
            "ntfscp -f fs FILE FILE",
            "ntfscat -f fs FILE",
        ),
        (
            "ext4",
            "mke2fs -q -t ext4 -O ^uninit_bg,^metadata_csum -F fs",
            "debugfs -w -R 'write FILE FILE' fs 2> /dev/null",
            "debugfs -R 'cat FILE' fs 2> /dev/null",
        ),
        (
            "fat",
            "mkfs.vfat -F 16 -h 63 fs > /dev/null",
            "mcopy -i fs FILE ::FILE",
            "mtype -i fs ::FILE",
        ),
        (
            "fat32",
            "mkfs.vfat -F 32 -h 63 fs > /dev/null",
            "mcopy -i fs FILE ::FILE",
            "mtype -i fs ::FILE",
        ),
        // No tool puts a file into an exFAT that is not mounted: its own metadata have to be there.
        ("exfat", "mkfs.exfat fs > /dev/null", "true", "cat FILE"),
    ] {
        let step = |command: &str, file: &str| command.replace("FILE", file);
        sh(
            folder,
            &format!(
                "rm -f fs disk.img new.* && truncate -s 100M fs && head -c 102760448 /dev/urandom > noise && \
                 head -c 3000000 noise > kept && {make} && {put}",
                put = step(put, "kept"),
            ),
        );
        // What is free is full of noise: by the map that the tool wrote, nothing else tells.
        let before = fs::read(folder.join("fs")).expect("readable");
        let noise = fs::read(folder.join("noise")).expect("readable");
        let mut dirty = before.clone();
        for (n, page) in dirty.chunks_mut(4096).enumerate().skip(30_000_000 / 4096) {
            if page.iter().all(|byte| *byte == 0) {
                page.copy_from_slice(&noise[n * 4096 % 50_000_000..][..4096]);
            }
        }
        fs::write(folder.join("fs"), &dirty).expect("writes");
        sh(
            folder,
            "truncate -s 110M disk.img && printf 'label: dos\nlabel-id: 0x1\nstart=63,size=204800,type=7\n' | sfdisk -q disk.img && \
             dd if=fs of=disk.img bs=1M seek=32256 oflag=seek_bytes conv=notrunc,sparse status=none",
        );
        let run = straddle(
            folder,
            &[
                "realign",
                "disk.img",
                "-o",
                "new.qcow2",
                "--used-only",
                "--to",
                "1MiB",
            ],
        );
        assert_eq!(run.code, Some(0), "{format}: {}", run.transcript());
        let len = |name: &str| fs::metadata(folder.join(name)).expect("there").len();
        assert!(
            len("new.qcow2") < 60 << 20,
            "{format}: {} of 70 MB of noise",
            len("new.qcow2")
        );
        let whole = straddle(
            folder,
            &["realign", "disk.img", "-o", "all.qcow2", "--to", "1MiB"],
        );
        assert_eq!(whole.code, Some(0), "{format}: {}", whole.transcript());
        assert!(
            len("all.qcow2") > 60 << 20,
            "{format}: {}",
            len("all.qcow2")
        );
        fs::remove_file(folder.join("all.qcow2")).expect("removes");
        let raw = guest(folder, "new.qcow2", "qcow2");
        fs::write(folder.join("fs"), &raw[1 << 20..(1 << 20) + (100 << 20)]).expect("writes");
        let found = sh(
            folder,
            &format!(
                "{} > found && cmp found kept && echo same",
                step(get, "kept")
            ),
        );
        assert_eq!(found.trim(), "same", "{format}");
        let check = match format {
            "ntfs" => "ntfsresize --info --force --no-progress-bar fs",
            "ext4" => "e2fsck -fn fs 2>&1",
            "exfat" => "fsck.exfat -n fs",
            _ => "fsck.fat -n fs",
        };
        sh(folder, check);
    }
    // Of what has no map here, all is copied, and that is said.
    let run = straddle(folder, &["realign", "disk.img", "-o", "x.vhdx"]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
}
