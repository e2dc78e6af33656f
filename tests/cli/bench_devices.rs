//! Devices that `straddle bench` may be pointed at: whatever is on them stays unless it was given up twice, whoever uses
//! them keeps them, and what was blank is blank again.

#![cfg(target_os = "linux")]

mod contents;
mod ways;

use crate::support::{Run, scratch, straddle, tool};
use contents::{CONTENTS, MIB};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;
use ways::WAYS;

/// A small experiment.
const QUICK: &[&str] = &[
    "--size",
    "1M",
    "--offsets",
    "0,4K",
    "--rw",
    "write",
    "--runtime",
    "2ms",
    "--warm-up",
    "0s",
    "--blocks",
    "3-3",
    "--engine",
    "pread",
    "--outstanding",
    "1",
    "--seed",
    "1",
];

/// A loop device; it ends with the test.
pub(crate) struct Loop(pub(crate) String);

impl Loop {
    pub(crate) fn new(file: &Path, options: &[&str]) -> Loop {
        let mut command = Command::new("losetup");
        let output = tool(
            "mount",
            command.args(["--find", "--show"]).args(options).arg(file),
        );
        let path = String::from_utf8(output.stdout).expect("a path");
        Loop(path.trim().to_owned())
    }

    pub(crate) fn name(&self) -> &str {
        self.0.trim_start_matches("/dev/")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

fn bench(directory: &Path, device: &str, more: &[&str]) -> Run {
    let name = device.rsplit('/').next().expect("a name");
    let mut arguments = vec!["bench", "--destroy-data", device, "--yes-destroy", name];
    arguments.extend(QUICK.iter().chain(more));
    straddle(directory, &arguments)
}

pub(crate) fn needs_root() {
    assert!(
        rustix::process::geteuid().is_root(),
        "this test needs root, for loop devices and mounts; run it with sudo"
    );
}

fn sparse(path: &Path, size: u64) {
    let file = fs::File::create(path).expect("writable");
    file.set_len(size).expect("a sparse file");
}

#[test]
fn what_is_on_a_device_stays_unless_it_was_given_up() {
    needs_root();
    let here = scratch();
    let mut tried = 0;
    for (name, size, content) in CONTENTS {
        let file = here.path().join("disk.img");
        sparse(&file, size * MIB);
        content.put(&file, size * MIB);
        let before = fs::read(&file).expect("readable");
        assert!(
            before.iter().any(|byte| *byte != 0),
            "{name}: nothing was made"
        );
        let device = Loop::new(&file, &[]);
        for more in [&[][..], &["--dry-run"]] {
            let run = bench(here.path(), &device.0, more);
            assert_eq!(run.code, Some(2), "{name}: {}", run.transcript());
            assert!(
                run.stderr.contains("add --overwrite-signatures"),
                "{name}: {}",
                run.transcript()
            );
        }
        drop(device);
        assert!(
            fs::read(&file).expect("readable") == before,
            "{name} was written to"
        );
        tried += 1;
    }
    assert!(tried >= 60, "{tried} kinds of contents");
}

#[test]
fn a_blank_device_is_blank_again_after_a_run() {
    needs_root();
    let here = scratch();
    for byte in [0x00, 0xff] {
        let file = here.path().join("disk.img");
        fs::write(&file, vec![byte; 24 << 20]).expect("writable");
        let device = Loop::new(&file, &[]);
        // The second time nobody has to be asked either.
        for _ in 0..2 {
            let run = bench(here.path(), &device.0, &[]);
            assert_eq!(run.code, Some(0), "{byte:#x}: {}", run.transcript());
        }
        drop(device);
        let after = fs::read(&file).expect("readable");
        let blank = |from: usize, to: usize| after[from..to].iter().all(|found| *found == byte);
        assert!(blank(0, 4 << 20) && blank(20 << 20, 24 << 20), "{byte:#x}");
    }
}

#[test]
fn a_device_of_an_interrupted_run_is_known_until_somebody_writes_a_mark() {
    needs_root();
    let here = scratch();
    let file = here.path().join("disk.img");
    sparse(&file, 24 << 20);
    let device = Loop::new(&file, &[]);
    let name = device.name().to_owned();
    let run = bench(here.path(), &device.0, &["--keep"]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let journal = format!("{name}.journal");
    let journal = fs::read_dir(here.path())
        .expect("readable")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .find(|found| found.ends_with(".journal"))
        .unwrap_or(journal);
    let path = here.path().join(&journal);
    let text = fs::read_to_string(&path).expect("kept");
    let cut: String = text.split_inclusive('\n').take(6).collect();
    fs::write(&path, &cut).expect("writable");
    // A run that starts over does not know it.
    let other = here.path().join("other");
    fs::create_dir(&other).expect("writable");
    let run = bench(&other, &device.0, &[]);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    let resume = |journal: &str| {
        let arguments = [
            "bench",
            "--resume",
            journal,
            "--keep",
            "--destroy-data",
            &device.0,
            "--yes-destroy",
            &name,
        ];
        straddle(here.path(), &arguments)
    };
    let run = resume(&journal);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    // Somebody makes a filesystem there; the token behind it is left.
    fs::write(&path, &cut).expect("writable");
    tool(
        "e2fsprogs",
        Command::new("mkfs.ext2").args(["-q", "-F", &device.0, "16M"]),
    );
    let before = fs::read(&file).expect("readable");
    let run = resume(&journal);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    assert!(run.stderr.contains("ext"), "{}", run.transcript());
    assert!(
        fs::read(&file).expect("readable") == before,
        "it was written to"
    );
    // As another device that has the name by now.
    let node = fs::OpenOptions::new().write(true).open(&device.0);
    let node = node.expect("opens");
    node.write_all_at(&vec![0; 24 << 20], 0).expect("writes");
    node.sync_all().expect("is written");
    drop(node);
    let run = resume(&journal);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    assert!(
        run.stderr.contains("without the label of this run"),
        "{}",
        run.transcript()
    );
    assert!(
        fs::read(&file)
            .expect("readable")
            .iter()
            .all(|byte| *byte == 0)
    );
}

/// What uses a device.
#[derive(Default)]
struct Uses {
    mounts: Vec<PathBuf>,
    swaps: Vec<String>,
    processes: Vec<Child>,
    _loops: Vec<Loop>,
    files: Vec<fs::File>,
    nodes: Vec<PathBuf>,
}

/// It ends with the test.
struct Held(Uses);

impl Drop for Held {
    fn drop(&mut self) {
        for process in &mut self.0.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
        self.0.files.clear();
        for mount in self.0.mounts.iter().rev() {
            let _ = Command::new("umount").arg(mount).status();
        }
        for swap in &self.0.swaps {
            let _ = Command::new("swapoff").arg(swap).status();
        }
        for node in &self.0.nodes {
            let _ = fs::remove_file(node);
        }
    }
}

/// Each way by the device's own name, by a link, and by a node of another name: the kernel's number decides. Where the disk is
/// in use, so is its partition, and the other way round.
#[test]
fn a_device_in_use_is_left_alone_by_whatever_name() {
    needs_root();
    let mut tried = 0;
    for partitioned in [false, true] {
        for (way, use_it) in WAYS {
            let here = scratch();
            let file = here.path().join("disk.img");
            sparse(&file, 160 << 20);
            let disk = Loop::new(&file, if partitioned { &["--partscan"] } else { &[] });
            if partitioned {
                // Not every kernel reads every table; it is told of the partition by itself.
                let sectors = ((159 << 20) / 512).to_string();
                let mut command = Command::new("addpart");
                tool("util-linux", command.args([&disk.0, "1", "2048", &sectors]));
            }
            // A partition of a loop device goes with it.
            let used = if partitioned {
                format!("{}p1", disk.0)
            } else {
                disk.0.clone()
            };
            tool(
                "e2fsprogs",
                Command::new("mkfs.ext4").args(["-q", "-F", &used]),
            );
            let part = std::mem::ManuallyDrop::new(Loop(used.clone()));
            let held = Held(use_it(here.path(), &part));
            std::thread::sleep(Duration::from_millis(20));
            let before = written(&file);
            let link = here.path().join("link");
            std::os::unix::fs::symlink(&disk.0, &link).expect("links");
            let named = [disk.0.as_str(), link.to_str().expect("UTF-8")];
            for device in named
                .into_iter()
                .chain(partitioned.then_some(used.as_str()))
            {
                let run = bench(here.path(), device, &["--overwrite-signatures"]);
                assert_eq!(run.code, Some(2), "{way}, {device}: {}", run.transcript());
                assert!(
                    run.stderr.contains("is in use:") && run.stderr.contains("nothing was written"),
                    "{way}, {device}: {}",
                    run.transcript()
                );
                assert!(!run.stderr.contains('\u{202e}'), "{way}");
                tried += 1;
            }
            assert!(written(&file) == before, "{way}: it was written to");
            drop(held);
            // The use was what spoke against it.
            let mut code = None;
            for _ in 0..50 {
                let run = bench(
                    here.path(),
                    &disk.0,
                    &["--overwrite-signatures", "--dry-run"],
                );
                code = run.code;
                if code == Some(0) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            assert_eq!(code, Some(0), "{way}: it is free again");
        }
    }
    assert!(tried >= 40, "{tried} ways");
}

/// What bench would have written: the label at the end, and requests at the start. Filesystems in use may write elsewhere.
fn written(file: &Path) -> Vec<u8> {
    let file = fs::File::open(file).expect("readable");
    let mut bytes = vec![0; 4096];
    let size = file.metadata().expect("stats").len();
    file.read_exact_at(&mut bytes, size - 4096).expect("reads");
    bytes
}
