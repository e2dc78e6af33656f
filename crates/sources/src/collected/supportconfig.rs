//! SUSE's `supportconfig`: one text for each subject, with a title and the command above each output.
//!
//! ```text
//! #==[ Command ]======================================#
//! # /sbin/parted -s /dev/sda print
//! ```
//!
//! Source: supportutils `bin/supportconfig`.

use super::collector::{Collector, Reads, as_named};
use crate::missing::Missing;

pub(super) static COLLECTOR: Collector = Collector {
    name: "supportconfig",
    marks: &["supportconfig.txt", "basic-environment.txt"],
    of: "`supportconfig`",
    reads,
    host,
    is_named_inside: false,
    wanting: &[(
        &["parted", "fdisk", "sfdisk", "lsblk"],
        "starts of partitions: supportconfig with `fs-diskio.txt` (supportconfig -i DISK)",
    )],
    missing: &[
        (Missing::Start, "`fs-diskio.txt` (supportconfig -i DISK)"),
        (Missing::Sectors, "`fs-diskio.txt` (supportconfig -i DISK)"),
        (Missing::Array, "`fs-softraid.txt` (supportconfig -i SRAID)"),
        (Missing::Volume, "`lvm.txt` (supportconfig -i LVM)"),
        (
            Missing::Encryption,
            "`cryptsetup luksDump DEVICE`; supportconfig does not collect it",
        ),
        (
            Missing::Ext,
            "`fs-diskio.txt` (supportconfig -i DISK), or `tune2fs -l DEVICE`",
        ),
        (
            Missing::Xfs,
            "`fs-diskio.txt` (supportconfig -i DISK), or `xfs_info MOUNTPOINT`",
        ),
        (Missing::Btrfs, "`fs-btrfs.txt` (supportconfig -i BTRFS)"),
    ],
    command: as_named,
};

/// The texts that tell of storage.
const TEXTS: [&str; 15] = [
    "basic-health-check.txt",
    "boot.txt",
    "fs-btrfs.txt",
    "fs-diskio.txt",
    "fs-files-additional.txt",
    "fs-iscsi.txt",
    "fs-softraid.txt",
    "storage.txt",
    "hardware.txt",
    "lvm.txt",
    "mpio.txt",
    "nvme.txt",
    "proc.txt",
    "sysfs.txt",
    "evms.txt",
];

fn reads(path: &str) -> Option<Reads> {
    if path == "basic-environment.txt" {
        return Some(Reads::System);
    }
    TEXTS.contains(&path).then_some(Reads::Titled)
}

/// `scc_db3_261128_1015`, `nts_db3_261128_1015`.
fn host(top: &str) -> Option<&str> {
    let name = top.rsplit('/').next()?;
    let name = name
        .strip_prefix("scc_")
        .or_else(|| name.strip_prefix("nts_"))?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (rest, time) = name.rsplit_once('_').filter(|(_, time)| is_number(time))?;
    let _ = time;
    let named = rest.rsplit_once('_').filter(|(_, date)| is_number(date));
    Some(named.map_or(rest, |(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_by_the_directory() {
        assert_eq!(host("scc_db3_261128_1015"), Some("db3"));
        assert_eq!(host("nts_app_server_190412_0930"), Some("app_server"));
        assert_eq!(host("var/log/scc_db3_261128_1015"), Some("db3"));
        assert_eq!(host("unpacked"), None);
    }
}
