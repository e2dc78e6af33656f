//! The folders that our own collection scripts write: `straddle-collect.sh` on Linux and ESXi, `straddle-collect.ps1` and `.cmd` on Windows.
//!
//! Each file begins with `### host: db1` and `### command: lsblk -JO -b`.

use super::collector::{Collector, Reads, as_named};
use crate::missing::Missing;

pub(super) static COLLECTOR: Collector = Collector {
    name: "straddle-collect folder",
    marks: &[
        "lsblk-topology.txt",
        "esxcli-partitions.txt",
        "win32-diskpartition.txt",
        "wmic-logicaldisktopartition.txt",
    ],
    of: "`straddle-collect.sh`, `straddle-collect.ps1`, `straddle-collect.cmd`",
    reads,
    host,
    is_named_inside: true,
    wanting: &[],
    missing: &[
        (Missing::Start, "run the collector as root or administrator"),
        (
            Missing::Sectors,
            "run the collector as root or administrator",
        ),
        (Missing::Array, "run the collector as root"),
        (Missing::Volume, "run the collector as root"),
        (Missing::Encryption, "run the collector as root"),
        (Missing::Ext, "run the collector as root"),
        (Missing::Xfs, "run the collector as root"),
    ],
    command: as_named,
};

fn reads(path: &str) -> Option<Reads> {
    let stem = path.strip_suffix(".txt")?;
    if stem.contains('/') {
        return None;
    }
    Some(match stem {
        "mounts" => Reads::Mounts,
        _ => Reads::Text,
    })
}

/// `straddle-db3-20261128-101500`; the scripts of Windows write the date as that Windows does.
fn host(top: &str) -> Option<&str> {
    let name = top.rsplit('/').next()?.strip_prefix("straddle-")?;
    let (host, time) = name.rsplit_once('-')?;
    let (host, date) = host.rsplit_once('-')?;
    let is_number = |text: &str, len| text.len() == len && text.bytes().all(|b| b.is_ascii_digit());
    (is_number(date, 8) && is_number(time, 6) && !host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_by_the_directory() {
        assert_eq!(host("straddle-db-3-20261128-101500"), Some("db-3"));
        assert_eq!(host("straddle-db3-28.11.2026"), None);
        assert_eq!(host("captures"), None);
    }
}
