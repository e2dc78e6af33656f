//! The parts of `/sys` that sos copies, as it finds them behind the links of `/sys/block`.

/// Files that tell of the geometry of a disk or of the place of a partition.
const FILES: [&str; 13] = [
    "alignment_offset",
    "device/model",
    "partition",
    "queue/atomic_write_unit_max_bytes",
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

/// The file of `/sys/block` that a path is: `/sys/block/sda/queue/rotational`.
pub(super) fn value(path: &str) -> Option<String> {
    let path = path.strip_prefix("sys/")?;
    let tops = ["block/", "class/block/", "devices/"];
    tops.iter().find(|top| path.starts_with(**top))?;
    let file = FILES.iter().find(|file| {
        path.strip_suffix(*file)
            .is_some_and(|above| above.ends_with('/'))
    })?;
    let above = path.strip_suffix(*file)?.trim_end_matches('/');
    let mut names = above.rsplit('/');
    let (own, parent) = (names.next()?, names.next().unwrap_or_default());
    // Disks of SCSI, virtio and device-mapper lie in a directory of this name; those of NVMe and Xen in that of their controller.
    let is_disk = |name: &str| lies_in_block(above, name) || is_named_as_disk(name);
    if is_disk(parent) && own.starts_with(parent) && own != parent {
        return Some(format!("/sys/block/{parent}/{own}/{file}"));
    }
    is_disk(own).then(|| format!("/sys/block/{own}/{file}"))
}

/// True for what lies in a directory of block devices.
fn lies_in_block(above: &str, name: &str) -> bool {
    above.contains(&format!("block/{name}"))
}

/// `nvme0n1`, but neither `nvme0` nor the path to a namespace, `nvme0c0n1`.
fn is_named_as_disk(name: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let nvme = name
        .strip_prefix("nvme")
        .and_then(|rest| rest.split_once('n'))
        .is_some_and(|(controller, space)| digits(controller) && digits(space));
    nvme || name
        .strip_prefix("xvd")
        .is_some_and(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_found_wherever_their_controllers_put_them() {
        for (path, found) in [
            ("sys/block/vda/size", Some("/sys/block/vda/size")),
            (
                "sys/devices/pci0/ata1/host0/block/sda/queue/rotational",
                Some("/sys/block/sda/queue/rotational"),
            ),
            (
                "sys/devices/pci0/ata1/host0/block/sda/sda1/start",
                Some("/sys/block/sda/sda1/start"),
            ),
            (
                "sys/devices/pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n1/queue/minimum_io_size",
                Some("/sys/block/nvme0n1/queue/minimum_io_size"),
            ),
            (
                "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1/nvme0n1p2/start",
                Some("/sys/block/nvme0n1/nvme0n1p2/start"),
            ),
            (
                "sys/devices/vbd-51712/block/xvda/queue/logical_block_size",
                Some("/sys/block/xvda/queue/logical_block_size"),
            ),
            (
                "sys/devices/virtual/block/dm-0/queue/optimal_io_size",
                Some("/sys/block/dm-0/queue/optimal_io_size"),
            ),
            ("sys/devices/pci0/block/sda/queue/nr_requests", None),
            ("sys/module/block/parameters/size", None),
            ("sys/devices/system/memory/size", None),
        ] {
            assert_eq!(value(path).as_deref(), found, "{path}");
        }
    }
}
