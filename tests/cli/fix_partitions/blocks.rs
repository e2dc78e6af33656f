//! Block devices, and sectors of 4,096 bytes.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use super::contents::{compared, noise};
use super::ways::On::Ntfs;
use super::ways::Table::Mbr;
use super::{output, read_at, run_script, sh, small, write_at};
use crate::support::{straddle, tool};

/// Tests with loop devices come one after another: the script of one attaches what is free, too.
static ATTACHED: Mutex<()> = Mutex::new(());

/// A loop device that ends with the test.
struct Loop(String);

impl Loop {
    /// Fails where this user may make none.
    fn new(file: &Path, sector: &str) -> Loop {
        let mut command = Command::new("losetup");
        command
            .args(["--find", "--show", "--sector-size", sector])
            .arg(file);
        let out = tool("mount", &mut command);
        let name = String::from_utf8_lossy(&out.stdout).trim().to_owned();
        // What was left of another file that was attached as this device.
        let _ = Command::new("partx").args(["--delete", &name]).output();
        Loop(name)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // What a tool told the kernel of it would outlive it.
        let _ = Command::new("partx").args(["--delete", &self.0]).output();
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn sectors_of_4096_bytes() {
    let _alone = ATTACHED.lock();
    for tool in ["sfdisk", "parted", "sgdisk"] {
        let folder = tempfile::tempdir().expect("temporary folder");
        let folder = folder.path();
        let disk = folder.join("disk.img");
        File::create(&disk)
            .and_then(|file| file.set_len(128 << 20))
            .expect("writable");
        fs::write(
            folder.join("table"),
            "label: gpt\nfirst-lba: 6\nstart=263, size=5000\nstart=5263, size=5000\n",
        )
        .expect("writable");
        let device = Loop::new(&disk, "4096");
        sh(
            folder,
            &format!(
                "sfdisk -q --no-reread --no-tell-kernel {} < table",
                device.0
            ),
        );
        drop(device);
        let bytes = noise(5000 * 4096, 3);
        write_at(&disk, 263 * 4096, &bytes);
        write_at(&disk, 5263 * 4096, &bytes);
        let flags = [
            "fix",
            "disk.img",
            "--only",
            "partitions",
            "--stripe-unit",
            "64K",
        ];
        let plan = straddle(folder, &[&flags[..], &["--json"]].concat());
        fs::write(folder.join("plan.json"), &plan.stdout).expect("writable");
        let run = straddle(folder, &[&flags[..], &["--script", tool]].concat());
        assert_eq!(run.code, Some(0), "{}", run.transcript());
        let (code, out) = run_script(folder, &run.stdout, &["--yes"], &[]);
        assert_eq!(code, 0, "{out}");
        // 263 × 4,096 goes to 2 MiB; 5,263 to the first MiB behind that and 5,000 sectors.
        assert!(read_at(&disk, 2 << 20, 5000 * 4096) == bytes, "{tool}");
        assert!(read_at(&disk, 22 << 20, 5000 * 4096) == bytes, "{tool}");
        let verified = straddle(folder, &[&flags[..], &["--verify", "plan.json"]].concat());
        assert_eq!(verified.code, Some(0), "{}", verified.transcript());
        let left = output(Command::new("losetup").arg("-j").arg(&disk));
        assert!(left.stdout.is_empty(), "{tool} left a loop device behind");
    }
}

#[test]
fn a_block_device() {
    let _alone = ATTACHED.lock();
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    small(folder, "disk.img", Mbr);
    let disk = folder.join("disk.img");
    let before = read_at(&disk, 63 * 512, 20_000 * 512);
    let device = Loop::new(&disk, "512");
    let run = straddle(
        folder,
        &[
            "fix",
            "--only",
            "partitions",
            "--script",
            "sfdisk",
            &device.0,
        ],
    );
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let (code, out) = run_script(folder, &run.stdout, &["--yes"], &[]);
    assert_eq!(code, 0, "{out}");
    drop(device);
    let after = read_at(&disk, 2048 * 512, 20_000 * 512);
    assert!(compared(before, Ntfs).0 == compared(after, Ntfs).0);
}
