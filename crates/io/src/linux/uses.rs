use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Who uses a block device, or a part of it, or the disk that it is a part of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceUse {
    /// A filesystem on it is mounted.
    Mounted {
        /// The device, such as `sdb1`.
        device: String,
        /// Where.
        at: String,
        /// Which process sees it there, when this one does not: `containerd-shim (process 812)`.
        seen_by: Option<String>,
    },
    /// Memory is paged out to it.
    Swap {
        /// The device.
        device: String,
    },
    /// A device of the kernel's is made of it: md, device mapper, bcache.
    Held {
        /// The device.
        device: String,
        /// The one made of it, such as `md0` or `dm-2`.
        by: String,
    },
    /// A loop device shows it under another name.
    Loop {
        /// The device.
        device: String,
        /// The loop device.
        by: String,
    },
    /// A process can write to it.
    Opened {
        /// The device.
        device: String,
        /// Which: `qemu-system-x86 (process 4711)`.
        by: String,
    },
}

/// Every use of a block device that the kernel tells of below `root` (`/` but in tests): of itself, of its partitions,
/// and, when it is a partition, of its disk. Names decide nothing, device numbers do: mounts are those of every mount
/// namespace that a process is in, loop devices say which inode they stand on, and descriptors of other processes which device they
/// lead to. Opening it with `O_EXCL` finds others, without their names: further devices of btrfs, external journals.
///
/// # Errors
/// When there is no such device in sysfs, or mounts cannot be read.
pub fn device_uses(root: &Path, device: (u32, u32)) -> io::Result<Vec<DeviceUse>> {
    let family = family(root, device)?;
    let mut uses = Vec::new();
    for (name, dir) in family.values() {
        for by in entries(&dir.join("holders")) {
            uses.push(DeviceUse::Held {
                device: name.clone(),
                by,
            });
        }
    }
    let own = fs::read_to_string(root.join("proc/self/mountinfo"))?;
    mounted(root, &own, None, &family, &mut uses);
    let processes = processes(root);
    let mut namespaces = vec![fs::read_link(root.join("proc/self/ns/mnt")).ok()];
    for process in &processes {
        let namespace = fs::read_link(process.dir.join("ns/mnt")).ok();
        if namespaces.contains(&namespace) {
            continue;
        }
        if let Ok(text) = fs::read_to_string(process.dir.join("mountinfo")) {
            mounted(root, &text, Some(process), &family, &mut uses);
            namespaces.push(namespace);
        }
    }
    // A kernel without swap has no such file.
    let swaps = fs::read_to_string(root.join("proc/swaps")).unwrap_or_default();
    for line in swaps.lines().skip(1) {
        let path = unescape(line.split_whitespace().next().unwrap_or_default());
        let number = number_of(root, Path::new(&path));
        if let Some((name, _)) = number.and_then(|number| family.get(&number)) {
            uses.push(DeviceUse::Swap {
                device: name.clone(),
            });
        }
    }
    for by in entries(&root.join("sys/block")) {
        let backing = root.join("sys/block").join(&by).join("loop/backing_file");
        let Ok(path) = fs::read_to_string(backing) else {
            continue;
        };
        // The name may be another device's by now, or nobody's.
        let named = number_of(root, Path::new(path.trim_end_matches('\n')));
        let number = below_loop(&root.join("dev").join(&by)).or(named);
        if let Some((name, _)) = number.and_then(|number| family.get(&number)) {
            uses.push(DeviceUse::Loop {
                device: name.clone(),
                by,
            });
        }
    }
    for process in &processes {
        for number in process.writes_to() {
            if let Some((name, _)) = family.get(&number) {
                uses.push(DeviceUse::Opened {
                    device: name.clone(),
                    by: process.to_string(),
                });
                break;
            }
        }
    }
    Ok(uses)
}

/// Every use of a regular file, by device and inode, that the kernel tells of below `root`: loop devices that show it, swap in it, and
/// processes that can write to it.
///
/// # Errors
/// None at present: what cannot be read is not used by anybody who can be named.
pub fn file_uses(root: &Path, inode: (u64, u64)) -> io::Result<Vec<DeviceUse>> {
    const NAME: &str = "it";
    let mut uses = Vec::new();
    let is_it = |path: &Path| {
        let found = fs::metadata(path);
        found.is_ok_and(|found| (found.dev(), found.ino()) == inode)
    };
    for by in entries(&root.join("sys/block")) {
        let backing = root.join("sys/block").join(&by).join("loop/backing_file");
        let Ok(path) = fs::read_to_string(backing) else {
            continue;
        };
        // The name may be another file's by now, or nobody's.
        let named = is_it(Path::new(path.trim_end_matches('\n')));
        if loop_status(&root.join("dev").join(&by)).is_some_and(|status| status.inode == inode)
            || named
        {
            uses.push(DeviceUse::Loop {
                device: NAME.to_owned(),
                by,
            });
        }
    }
    let swaps = fs::read_to_string(root.join("proc/swaps")).unwrap_or_default();
    let mut swaps = swaps
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next());
    if swaps.any(|path| is_it(Path::new(&unescape(path)))) {
        uses.push(DeviceUse::Swap {
            device: NAME.to_owned(),
        });
    }
    for process in processes(root) {
        if process
            .writable()
            .any(|found| (found.dev(), found.ino()) == inode)
        {
            uses.push(DeviceUse::Opened {
                device: NAME.to_owned(),
                by: process.to_string(),
            });
        }
    }
    Ok(uses)
}

type Family = BTreeMap<(u32, u32), (String, PathBuf)>;

/// What of a family a process has mounted, by its `mountinfo`. What others see is said once for each device and place.
fn mounted(
    root: &Path,
    text: &str,
    seen_by: Option<&Process>,
    family: &Family,
    uses: &mut Vec<DeviceUse>,
) {
    for line in text.lines() {
        let (left, right) = line.split_once(" - ").unwrap_or((line, ""));
        let mut left = left.split(' ').skip(2);
        // btrfs gives a number of its own to each filesystem; what it is mounted from is named behind the dash.
        let number = left.next().and_then(number);
        let source = right.split(' ').nth(1).map(unescape);
        let at = left.nth(1).map(unescape).unwrap_or_default();
        let source = source.and_then(|path| number_of(root, Path::new(&path)));
        let known = [number, source].into_iter().flatten();
        let Some((name, _)) = known.filter_map(|number| family.get(&number)).next() else {
            continue;
        };
        let is_known = |known: &DeviceUse| matches!(known, DeviceUse::Mounted { device, at: place, .. } if device == name && *place == at);
        if seen_by.is_none() || !uses.iter().any(is_known) {
            uses.push(DeviceUse::Mounted {
                device: name.clone(),
                at,
                seen_by: seen_by.map(Process::to_string),
            });
        }
    }
}

/// Another process.
struct Process {
    dir: PathBuf,
    number: u32,
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = fs::read_to_string(self.dir.join("comm")).unwrap_or_default();
        write!(
            f,
            "{} (process {})",
            name.trim_end().escape_debug(),
            self.number
        )
    }
}

impl Process {
    /// Block devices that it has open for writing.
    fn writes_to(&self) -> impl Iterator<Item = (u32, u32)> {
        let devices = self
            .writable()
            .filter(|found| found.file_type().is_block_device());
        devices.map(|found| {
            (
                rustix::fs::major(found.rdev()),
                rustix::fs::minor(found.rdev()),
            )
        })
    }

    /// Files and devices that it has open for writing.
    fn writable(&self) -> impl Iterator<Item = fs::Metadata> {
        let entries = fs::read_dir(self.dir.join("fd"));
        entries.into_iter().flatten().flatten().filter_map(|entry| {
            let found = fs::metadata(entry.path()).ok()?;
            if !found.file_type().is_block_device() && !found.file_type().is_file() {
                return None;
            }
            let info = self.dir.join("fdinfo").join(entry.file_name());
            let info = fs::read_to_string(info).ok()?;
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
            // O_ACCMODE: 0 reads, 1 writes, 2 does both.
            let flags = u32::from_str_radix(flags.trim(), 8).ok()?;
            (flags & 3 != 0).then_some(found)
        })
    }
}

/// All processes but this one, in the order of their numbers.
fn processes(root: &Path) -> Vec<Process> {
    let own = std::process::id();
    let names = entries(&root.join("proc")).into_iter();
    let mut all: Vec<Process> = names
        .filter_map(|name| name.parse().ok())
        .filter(|number| *number != own)
        .map(|number: u32| Process {
            dir: root.join("proc").join(number.to_string()),
            number,
        })
        .collect();
    all.sort_by_key(|process| process.number);
    all
}

/// The block device that a loop device stands on; `None` when it stands on a file, or cannot be asked.
fn below_loop(path: &Path) -> Option<(u32, u32)> {
    let device = loop_status(path)?.device;
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    (major != 0).then_some((major, minor))
}

/// What a loop device says of what it stands on.
struct LoopStatus {
    /// Device and inode of the file.
    inode: (u64, u64),
    /// The device, where it is one; 0 where it is none.
    device: u64,
}

#[allow(unsafe_code)]
fn loop_status(path: &Path) -> Option<LoopStatus> {
    use std::os::fd::AsRawFd;
    /// `LOOP_GET_STATUS64` of `linux/loop.h`.
    const GET_STATUS: libc::Ioctl = 0x4c05;
    /// Length of `struct loop_info64`, which begins with `lo_device`, `lo_inode` and `lo_rdevice`.
    const LEN: usize = 232 / 8;
    let device = fs::File::open(path).ok()?;
    let mut info = [0_u64; LEN];
    // SAFETY: the descriptor is open during the call, and the kernel writes at most the 232 bytes of the structure, all
    // of which belong to `info`; any bits are valid there.
    let done = unsafe { libc::ioctl(device.as_raw_fd(), GET_STATUS, info.as_mut_ptr()) };
    (done == 0).then_some(LoopStatus {
        inode: (info[0], info[1]),
        device: info[2],
    })
}

/// A device, its partitions and its disk: their names and directories in sysfs, by number.
fn family(root: &Path, (major, minor): (u32, u32)) -> io::Result<Family> {
    let dir = fs::canonicalize(root.join(format!("sys/dev/block/{major}:{minor}")))?;
    let mut members = vec![dir.clone()];
    if dir.join("partition").exists() {
        members.extend(dir.parent().map(Path::to_owned));
    }
    for name in entries(&dir) {
        let part = dir.join(name);
        if part.join("partition").exists() {
            members.push(part);
        }
    }
    let mut family = BTreeMap::new();
    for dir in members {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(dir.join("dev"))?;
        if let Some(number) = number(text.trim()) {
            family.insert(number, (name.into_owned(), dir));
        }
    }
    Ok(family)
}

/// Names in a directory, sorted; none when it cannot be read.
fn entries(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// `8:16`.
fn number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The number of the device at a path; `None` when it is none.
fn number_of(root: &Path, path: &Path) -> Option<(u32, u32)> {
    let below = path.strip_prefix("/").ok()?;
    let metadata = fs::metadata(root.join(below)).ok()?;
    let device = metadata.rdev();
    metadata
        .file_type()
        .is_block_device()
        .then(|| (rustix::fs::major(device), rustix::fs::minor(device)))
}

/// `/proc` writes space, tab, newline and backslash as a backslash and three octal digits.
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let code = rest.get(at + 1..at + 4);
        let code = code.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        out.push_str(&rest[..at]);
        match code {
            Some(code) => {
                out.push(char::from(code));
                rest = &rest[at + 4..];
            }
            None => {
                out.push('\\');
                rest = &rest[at + 1..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A host with a disk `sdb` (8:16) that has a partition `sdb1` (8:17).
    fn host(mounts: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("temporary directory");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("below the root")).expect("directories");
            fs::write(path, text).expect("writes");
        };
        write("sys/devices/block/sdb/dev", "8:16\n");
        write("sys/devices/block/sdb/sdb1/dev", "8:17\n");
        write("sys/devices/block/sdb/sdb1/partition", "1\n");
        write("sys/devices/block/sdb/holders/.keep", "");
        fs::remove_file(root.path().join("sys/devices/block/sdb/holders/.keep")).expect("removes");
        write("sys/dev/block/readme", "");
        let link = |name: &str, to: &str| {
            symlink(to, root.path().join("sys/dev/block").join(name)).expect("links");
        };
        link("8:16", "../../devices/block/sdb");
        link("8:17", "../../devices/block/sdb/sdb1");
        write("proc/self/mountinfo", mounts);
        write(
            "proc/swaps",
            "Filename Type Size Used Priority\n/nowhere partition 1 0 -2\n",
        );
        root
    }

    #[test]
    fn a_mounted_partition_is_a_use_of_its_disk() {
        let root = host("25 1 8:17 / /srv/my\\040data rw,noatime shared:1 - ext4 /dev/sdb1 rw\n");
        let mounted = DeviceUse::Mounted {
            device: "sdb1".to_owned(),
            at: "/srv/my data".to_owned(),
            seen_by: None,
        };
        let uses = device_uses(root.path(), (8, 16)).expect("exists");
        assert_eq!(uses, [mounted]);
        let again = device_uses(root.path(), (8, 17)).expect("exists");
        assert_eq!(again, uses);
    }

    #[test]
    fn mounts_of_other_namespaces_are_uses_too() {
        let root = host("");
        let proc = root.path().join("proc");
        for (number, namespace, mounts) in [
            (7, "mnt:[1]", "25 1 8:17 / /own rw - ext4 /dev/sdb1 rw\n"),
            (8, "mnt:[2]", "25 1 8:17 / /srv rw - ext4 /dev/root rw\n"),
            (9, "mnt:[2]", "25 1 8:17 / /never rw - ext4 /dev/root rw\n"),
        ] {
            let dir = proc.join(number.to_string());
            fs::create_dir_all(dir.join("ns")).expect("directories");
            symlink(namespace, dir.join("ns/mnt")).expect("links");
            fs::write(dir.join("mountinfo"), mounts).expect("writes");
            fs::write(dir.join("comm"), "a\u{1b}b\n").expect("writes");
        }
        fs::create_dir_all(proc.join("self/ns")).expect("directories");
        symlink("mnt:[1]", proc.join("self/ns/mnt")).expect("links");
        let mounted = DeviceUse::Mounted {
            device: "sdb1".to_owned(),
            at: "/srv".to_owned(),
            seen_by: Some("a\\u{1b}b (process 8)".to_owned()),
        };
        let uses = device_uses(root.path(), (8, 16)).expect("exists");
        assert_eq!(uses, [mounted]);
    }

    #[test]
    fn what_is_made_of_the_disk_holds_its_partitions_too() {
        let root = host("");
        let holders = root.path().join("sys/devices/block/sdb/holders");
        fs::create_dir_all(holders.join("md0")).expect("directory");
        for device in [(8, 16), (8, 17)] {
            let uses = device_uses(root.path(), device).expect("exists");
            let held = DeviceUse::Held {
                device: "sdb".to_owned(),
                by: "md0".to_owned(),
            };
            assert_eq!(uses, [held]);
        }
    }

    #[test]
    fn an_unused_disk_has_no_uses_and_an_unknown_one_is_an_error() {
        let root = host("25 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
        assert_eq!(device_uses(root.path(), (8, 16)).expect("exists"), []);
        device_uses(root.path(), (9, 9)).expect_err("no such device");
    }

    #[test]
    fn octal_escapes_are_undone() {
        assert_eq!(unescape("a\\040b\\134c\\"), "a b\\c\\");
    }
}
