//! `grep . /sys/block/*/queue/*`: files of sysfs with their names before them.

use straddle_geometry::{Bytes, SectorSize};
use straddle_stack::{AnomalyKind, GridRole, Interval, Key, LayerKind, Value, disk_of};

use super::about::is_disk;
use super::device;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "sysfs",
    platform: "linux",
    commands: &["grep . /sys/block/*/* /sys/block/*/queue/*"],
    readers: &[
        Reader::Text {
            anchors: &[
                Anchor::Start("/sys/block/"),
                Anchor::Start("/sys/class/block/"),
                Anchor::Start("/sys/devices/"),
            ],
            begins: |lines| lines[0].text.contains(':'),
            read,
        },
        // Asked in that directory.
        Reader::Text {
            anchors: &[
                Anchor::Within("/start:"),
                Anchor::Within("/size:"),
                Anchor::Within("/queue/"),
            ],
            begins: |lines| file(&lines[0]).is_some(),
            read,
        },
    ],
};

const UNITS: [(&str, GridRole); 6] = [
    ("queue/logical_block_size", GridRole::LogicalSector),
    ("queue/physical_block_size", GridRole::PhysicalSector),
    ("queue/minimum_io_size", GridRole::MinimumIo),
    ("queue/optimal_io_size", GridRole::OptimalIo),
    ("queue/discard_granularity", GridRole::DiscardGranularity),
    ("queue/atomic_write_unit_max_bytes", GridRole::AtomicWrite),
];

/// `/sys/block/sda/queue/rotational:0`: the disk, the file below it, and what it says.
fn file<'t>(line: &Line<'t>) -> Option<(&'t str, &'t str, &'t str)> {
    let text = line.text.trim();
    let whole = text
        .strip_prefix("/sys/block/")
        .or_else(|| text.strip_prefix("/sys/class/block/"))
        .or_else(|| Some(text.strip_prefix("/sys/devices/")?.split_once("/block/")?.1));
    let from_here = || {
        let rest = text.strip_prefix("./").unwrap_or(text);
        let rest = rest.strip_prefix("block/").unwrap_or(rest);
        let (disk, _) = rest.split_once('/')?;
        is_disk(disk).then_some(rest)
    };
    let (disk, rest) = whole.or_else(from_here)?.split_once('/')?;
    let (file, value) = rest.split_once(':')?;
    (!file.contains(' ')).then_some((disk, file, value.trim()))
}

/// A section is one line: the next begins another.
fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some(line) = section.lines.first() else {
        return;
    };
    // What `cat` prints of a file has its name in the command alone.
    let lone = section.lines[1..]
        .iter()
        .find(|line| line.text.trim().parse::<u64>().is_ok());
    if let Some(line) = lone {
        let detail = "a number stands here without the name of its file: it was not read";
        notes.remark(AnomalyKind::Missing, detail, line);
    }
    let Some((disk, file, value)) = file(line) else {
        let name = line.text.trim().split(':').next().unwrap_or_default();
        let detail =
            format!("{name} is no file that is known here: what stands behind it was not read");
        notes.remark(AnomalyKind::Missing, detail, line);
        return;
    };
    note(disk, file, value, line, notes);
}

/// Notes what a file of sysfs says of a disk, or of a partition on it: `sda1/start`.
pub(super) fn note(disk: &str, file: &str, value: &str, line: &Line<'_>, notes: &mut Notes<'_>) {
    // Below `class`, partitions stand beside their disks.
    if let Some(whole) = disk_of(disk)
        && matches!(file, "start" | "size")
    {
        let file = format!("{disk}/{file}");
        return partition(whole, &file, value, line, notes);
    }
    let path = format!("/dev/{}", disk.replace('!', "/"));
    let mut thing = device::disk(&path);
    if disk.starts_with("dm-") {
        thing.kind = LayerKind::Volume;
    }
    let number = || value.parse::<u64>().ok();
    if let Some((_, role)) = UNITS.iter().find(|(name, _)| *name == file) {
        let bytes = number().unwrap_or(0);
        match role {
            GridRole::LogicalSector => device::grid(&mut thing, *role, bytes, 0, line, notes),
            // A stacked device repeats what lies below it.
            _ => device::limit(&mut thing, &path, *role, bytes, 0, line, notes),
        }
    } else {
        let sectors = |count| SectorSize::B512.sectors(count).bytes();
        match file {
            "size" => {
                let size = number().and_then(sectors);
                thing.size = size.map(|size| notes.said(line, Interval::exact(size)));
            }
            "alignment_offset" => {
                if let Ok(offset) = value.parse() {
                    let value = Value::SignedBytes(offset);
                    thing.set(Key::AlignmentOffset, notes.said(line, value));
                }
            }
            "queue/rotational" => {
                if let Some(flag) = number() {
                    thing.set(Key::Rotational, notes.said(line, Value::Flag(flag != 0)));
                }
            }
            "queue/chunk_sectors" => {
                let bytes = number().and_then(sectors).map_or(0, Bytes::get);
                device::grid(&mut thing, GridRole::ChunkSectors, bytes, 0, line, notes);
            }
            "queue/max_sectors_kb" => {
                if let Some(bytes) = number().and_then(|kib| Bytes::new(kib).checked_mul(1024)) {
                    thing.set(Key::MaxRequest, notes.said(line, Value::Bytes(bytes)));
                }
            }
            "queue/zoned" => thing.set_text(Key::Zoned, notes.said(line, value.to_owned())),
            "device/model" => thing.set_text(Key::Model, notes.said(line, value.to_owned())),
            _ => partition(disk, file, value, line, notes),
        }
    }
    if thing.size.is_some()
        || !thing.grids.is_empty()
        || !thing.passed_on.is_empty()
        || !thing.attributes.is_empty()
    {
        notes.add(thing);
    }
}

/// `sda1/start`, `sda1/size`: in sectors of 512 bytes, whatever the disk's are.
fn partition(disk: &str, file: &str, value: &str, line: &Line<'_>, notes: &mut Notes<'_>) {
    let Some((node, what)) = file.split_once('/') else {
        return;
    };
    let Ok(sectors) = value.parse() else { return };
    if !node.starts_with(disk) || !matches!(what, "start" | "size") {
        return;
    }
    let (path, node) = (format!("/dev/{disk}"), format!("/dev/{node}"));
    let mut thing = device::partition(&node, &path, line, notes);
    let sector = u64::from(SectorSize::B512.get());
    if what == "start" {
        device::start(&mut thing, sectors, sector, line, notes);
        // The table counts in the disk's own sectors, which may be larger.
        thing.attributes.retain(|a| a.key != Key::StartSector);
    } else {
        device::size(&mut thing, sectors, sector, line, notes);
    }
    notes.add(thing);
}
