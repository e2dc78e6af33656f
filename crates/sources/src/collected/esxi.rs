//! `vm-support` of ESXi: a file for each command in `commands/`, named after it.
//!
//! Source: the manifests below `/etc/vmware/vm-support` of ESXi 6 to 8.

use super::{Collector, Reads};

pub(super) static COLLECTOR: Collector = Collector {
    name: "vm-support",
    marks: &[
        "commands/esxcfg-scsidevs_-l.txt",
        "commands/localcli_storage-core-device-list.txt",
        "commands/localcli_storage-core-device-list---all.txt",
        "commands/esxcli_storage_core_device_list.txt",
        "commands/esxcfg-info_-a--F-xml.txt",
        "commands/vmware_-vl.txt",
    ],
    of: "`vm-support`",
    reads,
    host,
    wanting: &[(
        &["esxi-partedutil", "esxi-device-partition", "partedutil"],
        "starts of partitions: `partedUtil getptbl /vmfs/devices/disks/NAME` or `esxcli storage core device partition list`",
    )],
};

/// What a file's name has in it when its command tells of storage.
const WORDS: [&str; 10] = [
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
    if path == "etc/hostname" || path == "commands/hostname.txt" {
        return Some(Reads::HostName);
    }
    let name = path.strip_prefix("commands/")?;
    let name = name.strip_suffix(".txt").unwrap_or(name);
    let tells = WORDS.iter().any(|word| name.contains(word));
    tells.then(|| Reads::Printed(command_of(name)))
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

/// `esx-db3.example.com-2026-11-28--10.15-2100123`.
fn host(top: &str) -> Option<&str> {
    let name = top.rsplit('/').next()?.strip_prefix("esx-")?;
    let end = name.find("--").and_then(|end| name[..end].rfind("-20"));
    Some(end.map_or(name, |end| &name[..end]))
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
        assert_eq!(host("else"), None);
    }
}
