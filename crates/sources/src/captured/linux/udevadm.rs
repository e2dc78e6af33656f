//! `udevadm info -a DEVICE`: what sysfs says of a block device.
//!
//! ```text
//!   looking at device '/devices/pci0000:00/0000:00:05.0/ata1/host0/target0:0:0/0:0:0:0/block/sda/sda1':
//!     KERNEL=="sda1"
//!     ATTR{partition}=="1"
//!     ATTR{size}=="409600"
//!     ATTR{start}=="63"
//! ```
//!
//! Attributes are the files of sysfs. What stands about the devices above is left to where they are asked for. The database of udev
//! (`--export-db`) has what blkid found, and is read as that.
//!
//! Source: systemd `src/udev/udevadm-info.c`.

use super::sysfs;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "udevadm",
    platform: "linux",
    commands: &["udevadm info -a /dev/sdX"],
    readers: &[Reader::Text {
        anchors: &[Anchor::Start("looking at device '/")],
        begins: |lines| block_device(lines[0].text).is_some(),
        read: attributes,
    }],
};

/// The disk of a path below `block/`, and the partition on it.
fn block_device(text: &str) -> Option<(&str, Option<&str>)> {
    let (_, path) = text.split_once("/block/")?;
    let path = path.trim_end().trim_end_matches(['\'', ':']);
    match path.split_once('/') {
        Some((disk, partition)) if !partition.contains('/') => Some((disk, Some(partition))),
        Some(_) => None,
        None => (!path.is_empty()).then_some((path, None)),
    }
}

/// Notes one attribute of a disk, or of a partition.
fn note(
    (disk, partition): (&str, Option<&str>),
    name: &str,
    value: &str,
    line: &Line<'_>,
    notes: &mut Notes<'_>,
) {
    match partition {
        None => sysfs::note(disk, name, value, line, notes),
        Some(partition) => {
            let name = format!("{partition}/{name}");
            sysfs::note(disk, &name, value, line, notes);
        }
    }
}

fn attributes(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((first, rest)) = section.lines.split_first() else {
        return;
    };
    let Some(device) = block_device(first.text) else {
        return;
    };
    for line in rest {
        let text = line.text.trim();
        if text.starts_with("looking at ") {
            break;
        }
        let parts = text
            .strip_prefix("ATTR{")
            .and_then(|rest| rest.split_once("}==\""));
        let Some((name, value)) = parts else { continue };
        let value = value.trim_end_matches('"').trim();
        note(device, name, value, line, notes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_told_by_their_paths() {
        let of = block_device;
        assert_eq!(
            of("  looking at device '/devices/virtual/block/dm-0':"),
            Some(("dm-0", None))
        );
        assert_eq!(
            of("  looking at device '/devices/pci0/block/sda/sda1':"),
            Some(("sda", Some("sda1")))
        );
        assert_eq!(
            of("looking at device '/devices/pci0/block/sda/sda1/holders':"),
            None
        );
        assert_eq!(of("looking at device '/devices/pci0/net/eth0':"), None);
    }
}
