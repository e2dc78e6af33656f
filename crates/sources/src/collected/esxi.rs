//! `vm-support` of ESXi: a file for each command in `commands/`, named after it, and some of them again as JSON in `json/`.
//! `partedUtil.sh` prints the partition table of every disk.
//!
//! Source: the manifests below `/etc/vmware/vm-support` of ESXi 6 to 8.

use super::collector::{Collector, Reads, as_named};
use crate::missing::Missing;

pub(super) static COLLECTOR: Collector = Collector {
    name: "vm-support",
    marks: &[
        "commands/esxcfg-scsidevs_-l.txt",
        "commands/esxcfg-scsidevs_-c.txt",
        "commands/localcli_storage-core-device-list.txt",
        "commands/localcli_storage-core-device-list---all.txt",
        "commands/localcli_storage-core-device-partition-list.txt",
        "commands/esxcli_storage_core_device_list.txt",
        "commands/esxcli_storage_core_device_partition_list.txt",
        "commands/esxcfg-info_-a--F-xml.txt",
        "commands/vmware_-vl.txt",
        "commands/partedUtil.sh.txt",
        "json/localcli_storage-core-device-list.json",
        "json/localcli_storage-core-device-partition-list.json",
    ],
    of: "`vm-support`",
    reads,
    host,
    is_named_inside: false,
    wanting: &[(
        &["esxi-partedutil", "esxi-device-partition", "partedutil"],
        "starts of partitions: `partedUtil getptbl /vmfs/devices/disks/NAME` or `esxcli storage core device partition list`",
    )],
    missing: &[
        (
            Missing::Start,
            "`partedUtil getptbl /vmfs/devices/disks/NAME` (vm-support -a Storage)",
        ),
        (
            Missing::Sectors,
            "`esxcli storage core device capacity list` (ESXi 6.5 and later)",
        ),
    ],
    command: as_named,
};

/// What a file's name has in it when its command tells of storage.
const WORDS: [&str; 11] = [
    "scsidevs",
    "storage-core",
    "storage_core",
    "storage-vmfs",
    "storage_vmfs",
    "storage-filesystem",
    "partedutil",
    "partedUtil",
    "vmkfstools",
    "fdisk",
    "nvme",
];

fn reads(path: &str) -> Option<Reads> {
    match path {
        "etc/hostname" | "commands/hostname.txt" => return Some(Reads::HostName),
        "commands/uname_-a.txt" => return Some(Reads::System),
        _ => {}
    }
    let (folder, name) = path.split_once('/')?;
    let name = match folder {
        "commands" => name.strip_suffix(".txt").unwrap_or(name),
        "json" => name.strip_suffix(".json")?,
        _ => return None,
    };
    let tells = WORDS.iter().any(|word| name.contains(word));
    (tells && !name.contains('/')).then(|| Reads::Printed(command_of(name)))
}

/// `localcli_storage-core-device-list` is what `esxcli storage core device list` prints.
fn command_of(name: &str) -> String {
    let (program, rest) = name.split_once('_').unwrap_or((name, ""));
    let program = if program == "localcli" {
        "esxcli"
    } else {
        program
    };
    let rest = match program {
        "esxcli" => rest.replace(['-', '_'], " "),
        _ => rest.replace('_', " "),
    };
    format!("{program} {rest}").trim().to_owned()
}

/// `esx-db3.example.com-2026-11-28--10.15-2100123`; `esx-2012-06-07--08.09.4711` names none.
fn host(top: &str) -> Option<&str> {
    let name = top.rsplit('/').next()?.strip_prefix("esx-")?;
    let Some(end) = name.find("--") else {
        return Some(name);
    };
    // Of ESX 4, the name has the date alone.
    let (named, date) = name[..end].split_at_checked(end.checked_sub(10)?)?;
    let is_date = date
        .split('-')
        .map(|part| part.parse::<u16>().map_or(0, |_| part.len()))
        .eq([4, 2, 2]);
    match is_date {
        true => named.strip_suffix('-'),
        false => Some(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_commands_and_directories_hosts() {
        assert_eq!(
            command_of("localcli_storage-core-device-list"),
            "esxcli storage core device list"
        );
        assert_eq!(
            command_of("vmkfstools_-P--v-10-vmfs"),
            "vmkfstools -P--v-10-vmfs"
        );
        assert_eq!(
            host("esx-db3.example.com-2026-11-28--10.15-2100123"),
            Some("db3.example.com")
        );
        // The twentieth of a month is no year.
        assert_eq!(host("esx-n3-2016-11-20--21.03-36107"), Some("n3"));
        assert_eq!(host("esx-2012-06-07--08.09.4711"), None);
        assert_eq!(host("esx-a--b"), None);
        assert_eq!(host("esx-2016"), Some("2016"));
        assert_eq!(host("else"), None);
    }
}
