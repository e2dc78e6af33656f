//! Ways for a device to be in use that any kernel with loop devices knows.

use super::{Loop, Uses, sparse};
use crate::support::tool;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Waits for a process in another namespace to say that it is ready.
fn ready(child: &mut Child) {
    use std::io::Read;
    let mut byte = [0];
    let stdout = child.stdout.as_mut().expect("piped");
    stdout.read_exact(&mut byte).expect("it says so");
}

/// A process that does this in a mount namespace of its own, and stays.
fn elsewhere(script: &str, arguments: &[&str]) -> Child {
    let mut child = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-ec"])
        .arg(format!("{script}; echo; exec sleep 1000"))
        .arg("sh")
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .expect("unshare runs");
    ready(&mut child);
    child
}

pub(crate) type Way = fn(&Path, &Loop) -> Uses;

fn mounted(device: &str, at: &Path, options: &[&str]) -> PathBuf {
    fs::create_dir_all(at).expect("writable");
    tool(
        "mount",
        Command::new("mount").args(options).arg(device).arg(at),
    );
    at.to_owned()
}

fn alias(directory: &Path, device: &Loop) -> PathBuf {
    use rustix::fs::{CWD, FileType, Mode};
    use std::os::unix::fs::MetadataExt;
    let node = directory.join("alias");
    let number = fs::metadata(&device.0).expect("it is there").rdev();
    rustix::fs::mknodat(
        CWD,
        &node,
        FileType::BlockDevice,
        Mode::from_raw_mode(0o600),
        number,
    )
    .expect("a node");
    node
}

/// Ways to be in use. The device is blank but for an ext4 filesystem on all of it, or on partition 1.
pub(crate) const WAYS: &[(&str, Way)] = &[
    ("mounted", |here, device| Uses {
        mounts: vec![mounted(&device.0, &here.join("m"), &[])],
        ..Uses::default()
    }),
    ("mounted read-only", |here, device| Uses {
        mounts: vec![mounted(&device.0, &here.join("m"), &["-o", "ro"])],
        ..Uses::default()
    }),
    ("mounted at a place with odd letters", |here, device| Uses {
        mounts: vec![mounted(&device.0, &here.join("a b\\\n\u{202e}c"), &[])],
        ..Uses::default()
    }),
    ("bound elsewhere", |here, device| {
        let first = mounted(&device.0, &here.join("m"), &[]);
        let second = mounted(first.to_str().expect("UTF-8"), &here.join("n"), &["--bind"]);
        tool("mount", Command::new("umount").arg(&first));
        Uses {
            mounts: vec![second],
            ..Uses::default()
        }
    }),
    ("mounted in another namespace", |here, device| {
        fs::create_dir_all(here.join("m")).expect("writable");
        let at = here.join("m");
        let at = at.to_str().expect("UTF-8");
        Uses {
            processes: vec![elsewhere("mount \"$1\" \"$2\"", &[&device.0, at])],
            ..Uses::default()
        }
    }),
    (
        "mounted in another namespace by another node",
        |here, device| {
            fs::create_dir_all(here.join("m")).expect("writable");
            let node = alias(here, device);
            let (node, at) = (node.to_str().expect("UTF-8"), here.join("m"));
            let script = "mount \"$1\" \"$2\"; rm \"$1\"";
            Uses {
                processes: vec![elsewhere(script, &[node, at.to_str().expect("UTF-8")])],
                ..Uses::default()
            }
        },
    ),
    ("mounted by another node that is gone", |here, device| {
        let node = alias(here, device);
        let mount = mounted(node.to_str().expect("UTF-8"), &here.join("m"), &[]);
        fs::remove_file(node).expect("removes");
        Uses {
            mounts: vec![mount],
            ..Uses::default()
        }
    }),
    ("unmounted lazily, with a file open", |here, device| {
        let mount = mounted(&device.0, &here.join("m"), &[]);
        let file = fs::File::create(mount.join("open")).expect("writable");
        tool("mount", Command::new("umount").arg("-l").arg(&mount));
        Uses {
            files: vec![file],
            ..Uses::default()
        }
    }),
    ("swap", |_, device| {
        tool(
            "util-linux",
            Command::new("mkswap").args(["-q", "-f", &device.0]),
        );
        tool("mount", Command::new("swapon").arg(&device.0));
        Uses {
            swaps: vec![device.0.clone()],
            ..Uses::default()
        }
    }),
    ("swap by another node", |here, device| {
        let node = alias(here, device);
        tool(
            "util-linux",
            Command::new("mkswap").args(["-q", "-f", &device.0]),
        );
        tool("mount", Command::new("swapon").arg(&node));
        Uses {
            swaps: vec![node.to_str().expect("UTF-8").to_owned()],
            nodes: vec![node],
            ..Uses::default()
        }
    }),
    ("below a loop device", |_, device| Uses {
        _loops: vec![Loop::new(device.0.as_ref(), &[])],
        ..Uses::default()
    }),
    ("below a loop device, read-only", |_, device| Uses {
        _loops: vec![Loop::new(device.0.as_ref(), &["--read-only"])],
        ..Uses::default()
    }),
    ("below a loop device at an offset", |_, device| Uses {
        _loops: vec![Loop::new(device.0.as_ref(), &["--offset", "1048576"])],
        ..Uses::default()
    }),
    (
        "below a loop device by a node that is gone",
        |here, device| {
            let node = alias(here, device);
            let above = Loop::new(&node, &[]);
            fs::remove_file(node).expect("removes");
            Uses {
                _loops: vec![above],
                ..Uses::default()
            }
        },
    ),
    ("below a loop device that is mounted", |here, device| {
        let above = Loop::new(device.0.as_ref(), &[]);
        let mount = mounted(&above.0, &here.join("m"), &[]);
        Uses {
            mounts: vec![mount],
            _loops: vec![above],
            ..Uses::default()
        }
    }),
    ("held by an exclusive open", |_, device| {
        let held = Command::new("perl")
            .args(["-MFcntl", "-e"])
            .arg("$|=1; sysopen(F, $ARGV[0], O_RDONLY|O_EXCL) or die; print \"\\n\"; sleep 1000")
            .arg(&device.0)
            .stdout(Stdio::piped())
            .spawn();
        let mut held = held.expect("perl runs");
        ready(&mut held);
        Uses {
            processes: vec![held],
            ..Uses::default()
        }
    }),
    (
        "open for writing, as a virtual machine has it",
        |_, device| {
            let held = Command::new("perl")
                .args([
                    "-e",
                    "$|=1; open(F, '+<', $ARGV[0]) or die; print \"\\n\"; sleep 1000",
                ])
                .arg(&device.0)
                .stdout(Stdio::piped())
                .spawn();
            let mut held = held.expect("perl runs");
            ready(&mut held);
            Uses {
                processes: vec![held],
                ..Uses::default()
            }
        },
    ),
    ("the second device of btrfs", |here, device| {
        let file = here.join("first.img");
        sparse(&file, 128 << 20);
        let first = Loop::new(&file, &[]);
        tool(
            "btrfs-progs",
            Command::new("mkfs.btrfs").args([
                "-q", "-f", "-d", "single", "-m", "single", &first.0, &device.0,
            ]),
        );
        let mount = mounted(&first.0, &here.join("m"), &[]);
        Uses {
            mounts: vec![mount],
            _loops: vec![first],
            ..Uses::default()
        }
    }),
    ("the external journal of ext4", |here, device| {
        let file = here.join("first.img");
        sparse(&file, 64 << 20);
        let first = Loop::new(&file, &[]);
        tool(
            "e2fsprogs",
            Command::new("mke2fs").args(["-q", "-F", "-b", "4096", "-O", "journal_dev", &device.0]),
        );
        let journal = format!("device={}", device.0);
        tool(
            "e2fsprogs",
            Command::new("mkfs.ext4").args(["-q", "-F", "-b", "4096", "-J", &journal, &first.0]),
        );
        let mount = mounted(&first.0, &here.join("m"), &[]);
        Uses {
            mounts: vec![mount],
            _loops: vec![first],
            ..Uses::default()
        }
    }),
    ("the external log of XFS", |here, device| {
        let file = here.join("first.img");
        sparse(&file, 320 << 20);
        let first = Loop::new(&file, &[]);
        let log = format!("logdev={},size=64m", device.0);
        tool(
            "xfsprogs",
            Command::new("mkfs.xfs").args(["-q", "-f", "-l", &log, &first.0]),
        );
        let option = format!("logdev={}", device.0);
        let mount = mounted(&first.0, &here.join("m"), &["-o", &option]);
        Uses {
            mounts: vec![mount],
            _loops: vec![first],
            ..Uses::default()
        }
    }),
    ("the lower layer of an overlay", |here, device| {
        let lower = mounted(&device.0, &here.join("m"), &[]);
        for name in ["u", "w", "o"] {
            fs::create_dir_all(here.join(name)).expect("writable");
        }
        let at = |name: &str| here.join(name).to_str().expect("UTF-8").to_owned();
        tool(
            "mount",
            Command::new("mount").args(["-t", "tmpfs", "none", &at("u")]),
        );
        fs::create_dir_all(here.join("u/up")).expect("writable");
        fs::create_dir_all(here.join("u/work")).expect("writable");
        let option = format!(
            "lowerdir={},upperdir={},workdir={}",
            at("m"),
            at("u/up"),
            at("u/work")
        );
        tool(
            "mount",
            Command::new("mount").args(["-t", "overlay", "none", "-o", &option, &at("o")]),
        );
        tool("mount", Command::new("umount").args(["-l"]).arg(&lower));
        Uses {
            mounts: vec![here.join("u"), here.join("o")],
            ..Uses::default()
        }
    }),
];
