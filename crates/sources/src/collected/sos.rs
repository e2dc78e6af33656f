//! `sos report` (sos 3 and 4; RHEL, Debian, Ubuntu and others): a file for each command in `sos_commands/PLUGIN/`, copies of files below
//! `etc`, `proc` and `sys`.
//!
//! The name of a file is its command: what is no letter, digit, `-`, `.` or `/` became `_`, and `/` became `.`. So
//! `parted_-s_.dev.sda_unit_s_print` is what `parted -s /dev/sda unit s print` printed.
//!
//! Source: sos `sos/report/plugins/__init__.py` (`_mangle_command`), `block.py`, `lvm2.py`, `md.py`, `filesys.py`.

use super::{Collector, Reads};

pub(super) static COLLECTOR: Collector = Collector {
    name: "sosreport",
    marks: &["sos_commands/"],
    of: "`sos report`, `sosreport`",
    reads,
    host,
    wanting: &[
        (
            &["parted", "fdisk", "sfdisk", "udevadm", "sysfs"],
            "starts of partitions: the sos plugin `block` (sos report -o block)",
        ),
        (
            &["lsblk", "blkid"],
            "what lies on what: the sos plugin `block` (sos report -o block)",
        ),
    ],
};

/// Plugins whose commands tell of storage; the others print some thousands of files.
const PLUGINS: [&str; 16] = [
    "ata",
    "block",
    "btrfs",
    "devicemapper",
    "devices",
    "filesys",
    "hardware",
    "lvm2",
    "md",
    "multipath",
    "nvme",
    "sas3ircu",
    "scsi",
    "vdo",
    "xfs",
    "zfs",
];

/// Files of sysfs that tell of the geometry of a disk or of the place of a partition.
const OF_SYSFS: [&str; 11] = [
    "alignment_offset",
    "device/model",
    "queue/chunk_sectors",
    "queue/discard_granularity",
    "queue/logical_block_size",
    "queue/minimum_io_size",
    "queue/optimal_io_size",
    "queue/physical_block_size",
    "queue/rotational",
    "size",
    "start",
];

fn reads(path: &str) -> Option<Reads> {
    if let Some(command) = path.strip_prefix("sos_commands/") {
        let (plugin, name) = command.split_once('/')?;
        if matches!(plugin, "host" | "general") && name == "hostname" {
            return Some(Reads::HostName);
        }
        if plugin == "kernel" && name.starts_with("dmesg") {
            return Some(Reads::Printed(command_of(name)));
        }
        let is_known = PLUGINS.contains(&plugin) && !name.contains('/');
        return is_known.then(|| Reads::Printed(command_of(name)));
    }
    match path {
        "proc/mdstat" | "proc/partitions" => return Some(Reads::Printed(format!("cat /{path}"))),
        "var/log/dmesg" => return Some(Reads::Printed("dmesg".to_owned())),
        "etc/hostname" => return Some(Reads::HostName),
        _ => {}
    }
    let (_, below) = path.strip_prefix("sys/").and_then(|path| {
        path.split_once("/block/")
            .or_else(|| path.split_once("block/"))
    })?;
    let (disk, mut file) = below.split_once('/')?;
    // The file of a partition has its name in front.
    if let Some((part, rest)) = file.split_once('/')
        && part.starts_with(disk)
    {
        file = rest;
    }
    let tells = OF_SYSFS.contains(&file);
    tells.then(|| Reads::Value(format!("/sys/block/{below}")))
}

/// The command that a file is named after. What was an underscore in it is a blank.
pub(super) fn command_of(name: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut is_path = false;
    for word in name.split('_').filter(|word| !word.is_empty()) {
        let begins = [
            "dev", "sys", "proc", "etc", "mnt", "var", "boot", "usr", "home",
        ]
        .iter()
        .any(|top| {
            word.strip_prefix('.')
                .is_some_and(|rest| rest.starts_with(top))
        });
        let is_own = word.starts_with('-') || AFTER.contains(&word);
        match words.last_mut() {
            // The name of a volume may have underscores, and no word follows a device but these.
            Some(path) if is_path && !begins && !is_own => {
                path.push('_');
                path.push_str(word);
            }
            // So may that of a program.
            Some(program) if PREFIXES.contains(&program.as_str()) => {
                program.push('_');
                program.push_str(word);
            }
            _ => {
                is_path = begins;
                let path = || word.replace('.', "/");
                words.push(if begins { path() } else { word.to_owned() });
            }
        }
    }
    words.join(" ")
}

/// Words that stand behind a device in the commands that sos runs.
const AFTER: [&str; 3] = ["unit", "s", "print"];
/// What names of programs begin with that have an underscore.
const PREFIXES: [&str; 2] = ["xfs", "sg"];

/// `sosreport-db3-02512345-2026-11-28-abcdefg`, without what sos and whoever asked put around the name.
fn host(top: &str) -> Option<&str> {
    let name = top.rsplit('/').next()?;
    let name = name
        .strip_prefix("sosreport-")
        .or_else(|| name.strip_prefix("sos-"))?;
    // The date, and what makes the name unique; before that a number or label may stand.
    let bytes = name.as_bytes();
    let is_date = |at: usize| {
        let digits = |range: std::ops::Range<usize>| {
            bytes
                .get(range)
                .is_some_and(|part| part.iter().all(u8::is_ascii_digit))
        };
        bytes.get(at) == Some(&b'-')
            && digits(at + 1..at + 5)
            && bytes.get(at + 5) == Some(&b'-')
            && digits(at + 6..at + 8)
            && bytes.get(at + 8) == Some(&b'-')
            && digits(at + 9..at + 11)
    };
    let end = (0..bytes.len()).find(|at| is_date(*at));
    let name = end.map_or(name, |end| &name[..end]);
    let without_case = name
        .rsplit_once('-')
        .filter(|(_, case)| case.len() >= 5 && case.bytes().all(|byte| byte.is_ascii_digit()));
    let name = without_case.map_or(name, |(name, _)| name);
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_commands() {
        for (name, command) in [
            (
                "parted_-s_.dev.sda_unit_s_print",
                "parted -s /dev/sda unit s print",
            ),
            (
                "dumpe2fs_-h_.dev.mapper.vg-root",
                "dumpe2fs -h /dev/mapper/vg-root",
            ),
            ("lsblk_-f_-a_-l", "lsblk -f -a -l"),
            ("mdadm_-D_.dev.md0", "mdadm -D /dev/md0"),
            ("xfs_info_.data", "xfs_info .data"),
            (
                "dumpe2fs_-h_.dev.mapper.vg_data-lv_root",
                "dumpe2fs -h /dev/mapper/vg_data-lv_root",
            ),
        ] {
            assert_eq!(command_of(name), command);
        }
    }

    #[test]
    fn hosts_are_named_by_the_directory() {
        for (top, name) in [
            ("sosreport-vm-2026-11-28-fqtiqkq", Some("vm")),
            ("sosreport-db-3-02512345-2024-01-31-abcdefg", Some("db-3")),
            (
                "sosreport-web.example.com-20190412101112",
                Some("web.example.com"),
            ),
            ("x/sosreport-a-2026-11-28-b", Some("a")),
            ("unpacked", None),
        ] {
            assert_eq!(host(top), name, "{top}");
        }
    }

    #[test]
    fn only_what_tells_of_storage_is_read() {
        let reads = |path| reads(path).is_some();
        assert!(reads("sos_commands/block/lsblk"));
        assert!(reads(
            "sys/devices/pci0/ata1/host0/block/sda/queue/minimum_io_size"
        ));
        assert!(reads("sys/devices/pci0/ata1/host0/block/sda/sda1/start"));
        assert!(reads("sys/block/vda/size"));
        assert!(reads("proc/mdstat"));
        assert!(!reads("sos_commands/networking/ip_addr"));
        assert!(!reads("sys/devices/pci0/block/sda/queue/nr_requests"));
        assert!(!reads("var/log/messages"));
    }
}
