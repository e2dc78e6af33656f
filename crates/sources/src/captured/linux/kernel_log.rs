//! What the kernel says of disks when it finds them, and what it and makers of filesystems say of a partition that is off:
//!
//! ```text
//! sd 2:0:0:0: [sdb] 7814037168 512-byte logical blocks: (4.00 TB/3.63 TiB)
//! sd 2:0:0:0: [sdb] 4096-byte physical blocks
//!  sdb: sdb1 sdb2
//! device-mapper: table: 254:3: adding target device sdb1 caused an alignment inconsistency: physical_block_size=4096, …, alignment_offset=3584, start=0
//! /dev/sdb1 alignment is offset by 3584 bytes.
//! ```
//!
//! Nothing of that says where a partition starts. What device-mapper calls `start` is where its device begins in the target device, in
//! bytes, and `alignment_offset` is that of the disk's queue, not of the partition on it (`dm_set_device_limits`).
//!
//! Source: Linux `drivers/scsi/sd.c`, `drivers/md/dm-table.c`; e2fsprogs `misc/mke2fs.c`.

use straddle_geometry::Bytes;
use straddle_stack::{AnomalyKind, GridRole, Interval, Key, Value};

use super::{device, fdisk};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "kernel-log",
    platform: "linux",
    commands: &["dmesg", "journalctl -k"],
    readers: &[Reader::Text {
        anchors: &[
            Anchor::Within("-byte logical blocks"),
            Anchor::Within("-byte physical blocks"),
            Anchor::Within("alignment_offset="),
            Anchor::Within(" alignment is offset by "),
            Anchor::Within(" is misaligned"),
            Anchor::Within(" not properly aligned"),
        ],
        begins: |lines| said(lines[0].text).is_some(),
        read,
    }],
};

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said<'t> {
    /// A disk has so many blocks of so many bytes.
    Length {
        disk: &'t str,
        count: u64,
        bytes: u64,
    },
    /// Its physical sectors are this long.
    Physical { disk: &'t str, bytes: u64 },
    /// A device is this many bytes before a boundary, where physical sectors are this long.
    Off {
        device: &'t str,
        by: u64,
        physical: Option<u64>,
    },
    /// A device is off, and nobody says how far.
    Misaligned { device: &'t str },
    /// A device of device-mapper begins at this byte of another, and the kernel says that their limits do not fit.
    Mapped {
        minor: u64,
        device: &'t str,
        start: u64,
        physical: u64,
        /// Where the physical sectors of the disk below begin.
        phase: u64,
    },
    /// The same, without what it lies on.
    Unfit { minor: u64 },
}

/// `254:3` of `device-mapper: table: 254:3: adding target device …`: its minor number.
fn minor(text: &str) -> Option<u64> {
    let (head, _) = text.split_once(": adding target device ")?;
    let (_, minor) = head.rsplit_once(' ')?.1.split_once(':')?;
    minor.parse().ok()
}

fn said(text: &str) -> Option<Said<'_>> {
    let number_before = |text: &str| -> Option<u64> {
        text.rsplit(|c: char| !c.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    };
    if let Some((head, _)) = text.split_once("-byte physical blocks") {
        let (disk, _) = bracketed(head)?;
        return Some(Said::Physical {
            disk,
            bytes: number_before(head)?,
        });
    }
    if let Some((head, _)) = text.split_once("-byte logical blocks") {
        let (disk, rest) = bracketed(head)?;
        let mut words = rest.split_whitespace();
        return Some(Said::Length {
            disk,
            count: words.next()?.parse().ok()?,
            bytes: number_before(head)?,
        });
    }
    if let Some((_, rest)) = text.split_once("target device ") {
        let device = rest.split(' ').next()?;
        let value = |key: &str| -> Option<u64> {
            let (_, value) = text.split_once(key)?;
            let end = value.find(|c: char| !c.is_ascii_digit());
            value[..end.unwrap_or(value.len())].parse().ok()
        };
        let off = rest.contains("inconsistency") || rest.contains("misaligned");
        let places = value("start=").zip(value("physical_block_size="));
        return off.then_some(match (minor(text), places) {
            (Some(minor), Some((start, physical))) => Said::Mapped {
                minor,
                device,
                start,
                physical,
                phase: value("alignment_offset=").unwrap_or(0),
            },
            // `(start sect 0 len 24576)`.
            (Some(minor), None) if device.starts_with('(') => Said::Unfit { minor },
            _ => Said::Misaligned { device },
        });
    }
    if let Some((head, rest)) = text.split_once(" alignment is offset by ") {
        let device = node(head.rsplit(' ').next()?)?;
        let by = rest.split(' ').next()?.parse().ok()?;
        return Some(Said::Off {
            device,
            by,
            physical: None,
        });
    }
    // mkswap, mkfs.xfs.
    let warned = text.to_lowercase().contains("warning");
    let device = match text.split_once(" is misaligned") {
        Some((head, _)) => head.rsplit(' ').next(),
        None => text
            .split_once(" not properly aligned")
            .and_then(|(_, rest)| rest.split_whitespace().next()),
    };
    let device = node(device?).filter(|_| warned)?;
    Some(Said::Misaligned { device })
}

/// `sdb` of `/dev/sdb`.
fn node(path: &str) -> Option<&str> {
    path.trim_end_matches([':', '.', ',']).strip_prefix("/dev/")
}

/// `sd 2:0:0:0: [sdb] …`: the disk, and what follows it.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let (head, rest) = text.rsplit_once(']')?;
    let (_, disk) = head.rsplit_once('[')?;
    let is_disk = !disk.is_empty() && disk.bytes().all(|b| b.is_ascii_alphanumeric());
    is_disk.then_some((disk, rest))
}

/// ` sdb: sdb1 sdb2 < sdb5 >`: the partitions that the kernel found on a disk.
fn partitions(text: &str) -> Option<(&str, Vec<&str>)> {
    // Behind the time of the line.
    let text = text.rsplit_once("] ").map_or(text, |(_, rest)| rest).trim();
    let (disk, rest) = text.split_once(": ")?;
    let nodes: Vec<&str> = rest
        .split_whitespace()
        .filter(|word| !matches!(*word, "<" | ">"))
        .collect();
    let of_disk = |node: &&str| {
        node.strip_prefix(disk)
            .or(node.strip_prefix('p'))
            .is_some_and(|number| {
                let number = number.strip_prefix('p').unwrap_or(number);
                !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
            })
    };
    let named = !disk.is_empty() && disk.bytes().all(|b| b.is_ascii_alphanumeric());
    (named && !nodes.is_empty() && nodes.iter().all(of_disk)).then_some((disk, nodes))
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    for line in section.lines {
        match said(line.text) {
            Some(said) => add(said, line, notes),
            None => {
                if let Some((disk, nodes)) = partitions(line.text) {
                    found(disk, &nodes, line, notes);
                }
            }
        }
    }
}

fn add(said: Said<'_>, line: &Line<'_>, notes: &mut Notes<'_>) {
    match said {
        Said::Length { disk, count, bytes } => {
            let mut thing = device::disk(&format!("/dev/{disk}"));
            let size = Bytes::new(bytes).checked_mul(count);
            thing.size = size.map(|size| notes.said(line, Interval::exact(size)));
            device::grid(&mut thing, GridRole::LogicalSector, bytes, 0, line, notes);
            notes.add(thing);
        }
        Said::Physical { disk, bytes } => {
            let mut thing = device::disk(&format!("/dev/{disk}"));
            device::grid(&mut thing, GridRole::PhysicalSector, bytes, 0, line, notes);
            notes.add(thing);
        }
        Said::Off {
            device: node,
            by,
            physical,
        } => {
            let node = format!("/dev/{node}");
            let Some(path) = fdisk::disk_of(&node) else {
                return misaligned(&node, line, notes);
            };
            let mut disk = device::disk(path);
            let bytes = physical.unwrap_or(0);
            device::grid(&mut disk, GridRole::PhysicalSector, bytes, 0, line, notes);
            notes.add(disk);
            let mut thing = device::partition(&node, path, line, notes);
            let by = i64::try_from(by).unwrap_or(i64::MAX);
            thing.set(
                Key::AlignmentOffset,
                notes.said(line, Value::SignedBytes(by)),
            );
            notes.add(thing);
        }
        Said::Misaligned { device: node } => misaligned(node, line, notes),
        Said::Unfit { minor } => misaligned(&format!("dm-{minor}"), line, notes),
        Said::Mapped {
            minor,
            device: node,
            start,
            physical,
            phase,
        } => {
            let node = format!("/dev/{node}");
            let path = fdisk::disk_of(&node);
            let mut disk = device::disk(path.unwrap_or(&node));
            let role = GridRole::PhysicalSector;
            device::grid(&mut disk, role, physical, phase, line, notes);
            notes.add(disk);
            if let Some(path) = path {
                notes.add(device::partition(&node, path, line, notes));
            }
            let name = format!("/dev/dm-{minor}");
            let mut thing = device::disk(&name).on(device::name(&node));
            thing.start = Some(notes.said(line, Interval::exact(Bytes::new(start))));
            notes.add(thing);
            if path.is_some() {
                let node = device::title(&node);
                let detail = format!(
                    "the kernel says that dm-{minor} and {node} do not fit together; it does not say where {node} starts, which decides"
                );
                notes.remark(AnomalyKind::Missing, detail, line);
            }
        }
    }
}

fn misaligned(node: &str, line: &Line<'_>, notes: &mut Notes<'_>) {
    let node = node.trim_start_matches("/dev/");
    let detail = format!("{node} is called misaligned here, and nothing says where it starts");
    notes.remark(AnomalyKind::Missing, detail, line);
}

/// Partitions whose places are not said.
fn found(disk: &str, nodes: &[&str], line: &Line<'_>, notes: &mut Notes<'_>) {
    let path = format!("/dev/{disk}");
    notes.add(device::disk(&path));
    for node in nodes {
        let node = match node.starts_with(disk) {
            true => format!("/dev/{node}"),
            false => format!("/dev/{disk}{node}"),
        };
        notes.add(device::partition(&node, &path, line, notes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_of_disks() {
        assert_eq!(
            said(
                "[    2.1] sd 2:0:0:0: [sdb] 7814037168 512-byte logical blocks: (4.00 TB/3.63 TiB)"
            ),
            Some(Said::Length {
                disk: "sdb",
                count: 7_814_037_168,
                bytes: 512
            })
        );
        assert_eq!(
            said("sd 2:0:0:0: [sdb] 4096-byte physical blocks"),
            Some(Said::Physical {
                disk: "sdb",
                bytes: 4096
            })
        );
        assert_eq!(
            partitions("[    2.190011]  sdb: sdb1 sdb2 < sdb5 >"),
            Some(("sdb", vec!["sdb1", "sdb2", "sdb5"]))
        );
        assert_eq!(
            partitions(" nvme0n1: p1 p2"),
            Some(("nvme0n1", vec!["p1", "p2"]))
        );
        for text in [
            "eth0: renamed",
            "note: see",
            " sdb: unknown partition table",
        ] {
            assert_eq!(partitions(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_said_of_partitions_that_are_off() {
        assert_eq!(
            said(
                "device-mapper: table: 254:3: adding target device sdb1 caused an alignment inconsistency: physical_block_size=4096, logical_block_size=512, alignment_offset=3584, start=0"
            ),
            Some(Said::Mapped {
                minor: 3,
                device: "sdb1",
                start: 0,
                physical: 4096,
                phase: 3584
            })
        );
        assert_eq!(
            said(
                "[   14.868930] device-mapper: table: 254:0: adding target device sda caused an alignment inconsistency: physical_block_size=4096, logical_block_size=512, alignment_offset=0, start=33553920"
            ),
            Some(Said::Mapped {
                minor: 0,
                device: "sda",
                start: 33_553_920,
                physical: 4096,
                phase: 0
            })
        );
        assert_eq!(
            said(
                "device-mapper: table: 252:10: adding target device (start sect 0 len 24576) caused an alignment inconsistency"
            ),
            Some(Said::Unfit { minor: 10 })
        );
        assert_eq!(
            said("/dev/sdb1 alignment is offset by 3584 bytes."),
            Some(Said::Off {
                device: "sdb1",
                by: 3584,
                physical: None
            })
        );
        assert_eq!(
            said("mkswap: warning: /dev/vol/swap is misaligned"),
            Some(Said::Misaligned { device: "vol/swap" })
        );
        assert_eq!(
            said("Warning: device is not properly aligned /dev/sdb1"),
            Some(Said::Misaligned { device: "sdb1" })
        );
        for text in [
            "I think that /dev/sdb1 is misaligned",
            "[sdb] Write Protect is off",
        ] {
            assert_eq!(said(text), None, "{text}");
        }
    }
}
