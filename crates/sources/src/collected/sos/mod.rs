//! `sos report` (sos 3 and 4; RHEL, Debian, Ubuntu and others): a file for each command in `sos_commands/PLUGIN/`, copies of files below
//! `etc`, `proc` and `sys`.
//!
//! The name of a file is its command: what is no letter, digit, `-`, `.` or `/` became `_`, and `/` became `.`. So
//! `parted_-s_.dev.sda_unit_s_print` is what `parted -s /dev/sda unit s print` printed.
//!
//! Source: sos `sos/report/plugins/__init__.py` (`_mangle_command`), `block.py`, `lvm2.py`, `md.py`, `filesys.py`.

mod name;
mod tree;

use super::collector::{Collector, Reads};
use crate::missing::Missing;

pub(super) static COLLECTOR: Collector = Collector {
    name: "sosreport",
    marks: &["sos_commands/"],
    of: "`sos report`, `sosreport`",
    reads,
    host,
    is_named_inside: false,
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
    missing: &[
        (
            Missing::Start,
            "the sos plugin `block` (sos report -o block)",
        ),
        (
            Missing::Sectors,
            "the sos plugin `block` (sos report -o block)",
        ),
        (
            Missing::Encryption,
            "the sos plugin `block` (sos report -o block)",
        ),
        (
            Missing::Volume,
            "the sos plugins `lvm2` and `devicemapper` (sos report -o lvm2,devicemapper)",
        ),
        (Missing::Array, "the sos plugin `md` (sos report -o md)"),
        (
            Missing::Ext,
            "the sos plugin `filesys` (sos report -o filesys)",
        ),
        (Missing::Xfs, "the sos plugin `xfs` (sos report -o xfs)"),
        (
            Missing::Btrfs,
            "the sos plugin `btrfs` (sos report -o btrfs)",
        ),
    ],
    command: name::command_with,
};

/// Plugins whose commands tell of storage; the others print some thousands of files.
const PLUGINS: [&str; 24] = [
    "arcconf",
    "ata",
    "bcache",
    "block",
    "btrfs",
    "cryptsetup",
    "devicemapper",
    "devices",
    "filesys",
    "hardware",
    "hpssm",
    "lvm2",
    "md",
    "megacli",
    "multipath",
    "nvme",
    "perccli",
    "sas3ircu",
    "scsi",
    "ssacli",
    "storcli",
    "vdo",
    "xfs",
    "zfs",
];

/// Commands of these plugins that print long lists, and nothing that is read.
const OTHERS: [&str; 7] = [
    "ls_",
    "lsof",
    "lslocks",
    "e2freefrag",
    "lsmap",
    "dmidecode",
    "lspci",
];

fn reads(path: &str) -> Option<Reads> {
    if let Some(command) = path.strip_prefix("sos_commands/") {
        let (plugin, name) = command.split_once('/')?;
        return printed(plugin, name);
    }
    if let Some(group) = path.strip_prefix("etc/lvm/backup/") {
        return (!group.contains('/')).then_some(Reads::Text);
    }
    match path {
        "proc/mdstat" | "proc/partitions" => return Some(Reads::Printed(format!("cat /{path}"))),
        "var/log/dmesg" => return Some(Reads::Printed("dmesg".to_owned())),
        "etc/hostname" | "hostname" => return Some(Reads::HostName),
        // `mount` is a link to the file of the plugin, which some versions copied.
        "mount" | "proc/mounts" | "proc/self/mounts" | "proc/self/mountinfo" => {
            return Some(Reads::Mounts);
        }
        _ => {}
    }
    // What /proc/self was for sos.
    if let Some((process, "mounts")) = path
        .strip_prefix("proc/")
        .and_then(|path| path.split_once('/'))
        && process.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Some(Reads::Mounts);
    }
    tree::value(path).map(Reads::Value)
}

/// How the file of a command is read.
fn printed(plugin: &str, file: &str) -> Option<Reads> {
    if matches!(plugin, "host" | "general") && matches!(file, "hostname" | "hostname_-f") {
        return Some(Reads::HostName);
    }
    // The second of two kinds of dump alone has what is in use.
    let name = match (plugin, file.split_once('/')) {
        (_, None) => file,
        ("lvm2", Some(("metadata", dump))) if dump.starts_with("pvck_--dump_metadata_.dev") => dump,
        _ => return None,
    };
    if plugin == "kernel" && name.starts_with("dmesg") {
        return Some(Reads::Printed("dmesg".to_owned()));
    }
    if !PLUGINS.contains(&plugin) || OTHERS.iter().any(|other| name.starts_with(other)) {
        return None;
    }
    if ["mount", "findmnt"]
        .iter()
        .any(|program| name.starts_with(program))
    {
        return Some(Reads::Mounts);
    }
    Some(match name::is_unclear(name) {
        true => Reads::Named(name.to_owned()),
        false => Reads::Printed(name::command_of(name)),
    })
}

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
    // sos 3 wrote the time without hyphens.
    let is_time = |at: usize| {
        let digits = bytes.get(at + 1..at + 15);
        bytes.get(at) == Some(&b'-')
            && digits.is_some_and(|part| part.iter().all(u8::is_ascii_digit))
            && !bytes.get(at + 15).is_some_and(u8::is_ascii_digit)
    };
    let end = (0..bytes.len()).find(|at| is_date(*at) || is_time(*at));
    let name = end.map_or(name, |end| &name[..end]);
    let without_case = name
        .rsplit_once(['-', '.'])
        .filter(|(_, case)| case.len() >= 5 && case.bytes().all(|byte| byte.is_ascii_digit()));
    let name = without_case.map_or(name, |(name, _)| name);
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("sosreport-ora1.02512345-20140318101500-ab12", Some("ora1")),
            ("sosreport-db-20140318101500-ab12-xyz", Some("db")),
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
