use std::collections::BTreeMap;
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
}

/// Every use of a block device that the kernel tells of below `root` (`/` but in tests): of itself, of its partitions,
/// and, when it is a partition, of its disk. Opening it with `O_EXCL` finds others, without their names.
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
    let text = fs::read_to_string(root.join("proc/self/mountinfo"))?;
    for line in text.lines() {
        let (left, right) = line.split_once(" - ").unwrap_or((line, ""));
        let mut left = left.split(' ').skip(2);
        // btrfs gives a number of its own to each filesystem; what it is mounted from is named behind the dash.
        let number = left.next().and_then(number);
        let source = right.split(' ').nth(1).map(unescape);
        let at = left.nth(1).map(unescape).unwrap_or_default();
        let source = source.and_then(|path| number_of(root, Path::new(&path)));
        let known = [number, source].into_iter().flatten();
        if let Some((name, _)) = known.filter_map(|number| family.get(&number)).next() {
            uses.push(DeviceUse::Mounted {
                device: name.clone(),
                at,
            });
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
        let number = number_of(root, Path::new(path.trim_end_matches('\n')));
        if let Some((name, _)) = number.and_then(|number| family.get(&number)) {
            uses.push(DeviceUse::Loop {
                device: name.clone(),
                by,
            });
        }
    }
    Ok(uses)
}

/// A device, its partitions and its disk: their names and directories in sysfs, by number.
fn family(
    root: &Path,
    (major, minor): (u32, u32),
) -> io::Result<BTreeMap<(u32, u32), (String, PathBuf)>> {
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
        };
        let uses = device_uses(root.path(), (8, 16)).expect("exists");
        assert_eq!(uses, [mounted]);
        let again = device_uses(root.path(), (8, 17)).expect("exists");
        assert_eq!(again, uses);
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
