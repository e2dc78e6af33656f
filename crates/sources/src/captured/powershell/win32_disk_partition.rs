//! `Win32_DiskPartition` of WMI, as objects.

use straddle_geometry::{Bytes, Unit};
use straddle_stack::{GridRole, Interval, LayerKind};

use super::{disk_and_partition, first, set_size};
use crate::captured::records::Record;
use crate::captured::tool::{Context, Notes, Reader, Tool};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "win32-diskpartition",
    platform: "windows",
    commands: &[
        "Get-CimInstance Win32_DiskPartition",
        "Get-WmiObject Win32_DiskPartition | Format-List *",
    ],
    readers: &[
        Reader::Records {
            keys: &["Name", "StartingOffset"],
            read,
        },
        Reader::Records {
            keys: &["DeviceID", "StartingOffset"],
            read,
        },
        Reader::Records {
            keys: &["DiskIndex", "StartingOffset"],
            read,
        },
        Reader::Records {
            keys: &["NumberOfBlocks", "PrimaryPartition"],
            read,
        },
    ],
};

pub(crate) fn read(records: &[Record<'_>], _: &Context<'_>, notes: &mut Notes<'_>) {
    for record in records {
        let named = ["DeviceID", "Name", "Caption"]
            .iter()
            .find_map(|key| disk_and_partition(&record.filled(key)?.value));
        let number = |key: &str| record.number(key).map(|(n, _)| n);
        let numbered = number("DiskIndex").zip(number("Index"));
        let Some((disk, index)) = named.or(numbered) else {
            continue;
        };
        block_size(disk, record, notes);
        let name = Name::new(Space::WmiPartition, format!("{disk}/{index}"));
        let title = format!("disk {disk} partition #{index}");
        let mut thing = Thing::new(LayerKind::Partition, title, name).on(Name::windows_disk(disk));
        if let Some((start, line)) = record.number("StartingOffset") {
            thing.start = Some(notes.said(&line, Interval::exact(Bytes::new(start))));
        }
        set_size(&mut thing, record, &["Size"], notes);
        if thing.size.is_none()
            && let Some((blocks, line)) = record.number("NumberOfBlocks")
            && let Some(block) = number("BlockSize")
            && let Some(size) = Bytes::new(block).checked_mul(blocks)
        {
            thing.size = Some(notes.said(&line, Interval::exact(size)));
        }
        notes.add(thing);
    }
}

/// What WMI calls a block is the logical sector of the disk.
fn block_size(disk: u64, record: &Record<'_>, notes: &mut Notes<'_>) {
    if let Some(field) = first(record, &["BlockSize"])
        && let Some(unit) = crate::captured::number::whole(&field.value).and_then(Unit::new)
    {
        let title = format!("disk {disk}");
        let mut thing = Thing::new(LayerKind::Device, title, Name::windows_disk(disk));
        thing.grid(GridRole::LogicalSector, notes.said(&field.line, unit));
        notes.add(thing);
    }
}
