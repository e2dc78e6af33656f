//! Block devices whose partitions `realign` moves.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::bench_devices::{Loop, needs_root};
use crate::support::{Run, scratch, sh, straddle, tool};

fn realign(folder: &Path, device: &str, more: &[&str]) -> Run {
    let mut args = vec!["realign", device, "--journal", "journal"];
    args.extend(more);
    straddle(folder, &args)
}

fn starts(device: &str) -> Vec<u64> {
    let dump = tool("fdisk", Command::new("sfdisk").args(["--dump", device]));
    let dump = String::from_utf8(dump.stdout).expect("text");
    let starts = dump.lines().filter_map(|line| line.split_once("start="));
    let starts = starts.map(|(_, rest)| rest.split(',').next().expect("a number").trim().parse());
    starts.map(|start| start.expect("a number")).collect()
}

#[test]
fn a_device_is_moved_when_it_was_named_twice_and_nobody_uses_it() {
    needs_root();
    let here = scratch();
    let folder = here.path();
    sh(
        folder,
        "truncate -s 64M disk.img && printf 'label: dos\\nstart=63,size=80000,type=83\\n' | sfdisk -q disk.img && \
         truncate -s 40960000 fs && mke2fs -q -t ext4 -F fs && dd if=fs of=disk.img bs=512 seek=63 conv=notrunc status=none",
    );
    let before = fs::read(folder.join("disk.img")).expect("readable");
    let device = Loop::new(&folder.join("disk.img"), &[]);
    let refused = |more: &[&str], words: &[&str]| {
        let run = realign(folder, &device.0, more);
        assert_eq!(run.code, Some(2), "{more:?}: {}", run.transcript());
        for word in words {
            assert!(run.stderr.contains(word), "{word}: {}", run.transcript());
        }
        // Whoever has it mounted writes to the filesystem meanwhile; the table is nobody's but ours.
        let len = if words.contains(&"is mounted at") {
            512
        } else {
            before.len()
        };
        let after = fs::read(folder.join("disk.img")).expect("readable");
        assert!(after[..len] == before[..len], "{more:?}");
        assert!(!folder.join("journal").exists());
    };
    let proposed = realign(folder, &device.0, &[]);
    assert_eq!(proposed.code, Some(0), "{}", proposed.transcript());
    assert!(
        proposed
            .stdout
            .contains(&format!("--yes-move {}", device.name())),
        "{}",
        proposed.stdout
    );
    refused(&["--yes"], &["is a block device", "--yes-move"]);
    refused(&["--yes-move", "sda"], &["agrees to another device"]);
    let yes = ["--yes-move", device.name()];
    refused(
        &[&yes[..], &["--grow", "1MiB"]].concat(),
        &["cannot be made longer"],
    );
    // A partition of it in use, by the kernel's name for it and by another loop device.
    sh(
        folder,
        &format!("partx -a {0} && mkdir -p at && mount {0}p1 at", device.0),
    );
    let outcome =
        std::panic::catch_unwind(|| refused(&yes, &["is mounted at", "unmount it first"]));
    sh(folder, &format!("umount at && partx -d {}", device.0));
    outcome.expect("refused");
    // mount and umount have written to the filesystem.
    fs::write(folder.join("copy"), &before).expect("writes");
    sh(
        folder,
        &format!(
            "dd if=copy of={} bs=1M conv=notrunc,fsync status=none",
            device.0
        ),
    );
    let other = Loop::new(Path::new(&device.0), &["--offset", "32256"]);
    refused(&yes, &["under another name", "losetup -d"]);
    drop(other);
    sh(folder, &format!("blockdev --setro {}", device.0));
    let outcome = std::panic::catch_unwind(|| refused(&yes, &["set read-only", "--setrw"]));
    sh(folder, &format!("blockdev --setrw {}", device.0));
    outcome.expect("refused");
    let run = realign(folder, &device.0, &yes);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert_eq!(starts(&device.0), [2048]);
    let after = fs::read(folder.join("disk.img")).expect("readable");
    assert!(after[1 << 20..(1 << 20) + 40_960_000] == before[32_256..32_256 + 40_960_000]);
    fs::write(folder.join("fs"), &after[1 << 20..(1 << 20) + 40_960_000]).expect("writes");
    sh(folder, "e2fsck -fn fs > /dev/null 2>&1");
}

#[test]
fn sectors_of_4096_bytes_are_counted_as_such() {
    needs_root();
    let here = scratch();
    let folder = here.path();
    for (label, first) in [("dos", 10_u64), ("gpt\nfirst-lba: 6", 7)] {
        sh(folder, "rm -f disk.img; truncate -s 64M disk.img");
        let device = Loop::new(&folder.join("disk.img"), &["--sector-size", "4096"]);
        let script = format!(
            "printf 'label: {label}\\nstart={first},size=9000\\n' | sfdisk -q {}",
            device.0
        );
        sh(folder, &script);
        let noise: Vec<u8> = (0..9000_u32 * 4096 / 4)
            .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
            .collect();
        let start = usize::try_from(first * 4096).expect("small");
        fs::write(folder.join("noise"), &noise).expect("writes");
        sh(
            folder,
            &format!(
                "dd if=noise of={} bs=4096 seek={first} conv=notrunc,fsync status=none",
                device.0
            ),
        );
        let run = realign(
            folder,
            &device.0,
            &["--to", "1MiB", "--yes-move", device.name()],
        );
        assert_eq!(run.code, Some(0), "{label}: {}", run.transcript());
        assert_eq!(starts(&device.0), [256]);
        let back = realign(
            folder,
            &device.0,
            &["--to", &start.to_string(), "--yes-move", device.name()],
        );
        assert_eq!(back.code, Some(0), "{label}: {}", back.transcript());
        assert_eq!(starts(&device.0), [first]);
        let after = fs::read(folder.join("disk.img")).expect("readable");
        assert!(after[start..start + noise.len()] == noise, "{label}");
        // Inside a sector.
        let run = realign(
            folder,
            &device.0,
            &["--to", "31.5K", "--yes-move", device.name()],
        );
        assert_eq!(run.code, Some(2), "{}", run.transcript());
        assert!(
            run.stderr.contains("inside a sector of 4,096 B"),
            "{}",
            run.transcript()
        );
        drop(device);
    }
}
