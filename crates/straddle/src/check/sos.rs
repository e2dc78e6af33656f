//! Trees of `sos report`: what the commands printed on one machine, one file for each, in folders by subject.

use std::fs;
use std::path::{Path, PathBuf};

use super::jobs::is_small;

/// The folder that makes a tree one of these.
pub(super) const COMMANDS: &str = "sos_commands";

/// Folders whose files tell of storage; the others hold some thousands.
const FOLDERS: [&str; 14] = [
    "sos_commands/ata",
    "sos_commands/block",
    "sos_commands/btrfs",
    "sos_commands/devicemapper",
    "sos_commands/devices",
    "sos_commands/filesys",
    "sos_commands/hardware",
    "sos_commands/kernel",
    "sos_commands/lvm2",
    "sos_commands/md",
    "sos_commands/multipath",
    "sos_commands/nvme",
    "sos_commands/scsi",
    "sos_commands/xfs",
];
/// Files outside them.
const FILES: [&str; 3] = ["proc/mdstat", "proc/partitions", "var/log/dmesg"];
/// Most files that are read together: a server with hundreds of disks has one or two for each.
const MAX_FILES: usize = 2048;

/// The files in the tree below `root` that tell of storage.
pub(super) fn files(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in FOLDERS {
        let Ok(entries) = fs::read_dir(root.join(folder)) else {
            continue;
        };
        let small = entries.flatten().filter(is_small);
        found.extend(small.map(|entry| entry.path()));
    }
    found.extend(
        FILES
            .iter()
            .map(|file| root.join(file))
            .filter(|path| path.is_file()),
    );
    found.sort();
    found.truncate(MAX_FILES);
    found
}
