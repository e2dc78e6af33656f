//! `Win32_LogicalDiskToPartition` of WMI, as objects: which letter is which partition.
//!
//! The letters of an extended partition all belong to one partition for WMI, so the start of a letter's volume is what
//! tells its partition; the number is used only where a letter has its partition to itself and no start is said.

use straddle_geometry::Bytes;
use straddle_stack::{Interval, LayerKind};

use super::disk_and_partition;
use crate::captured::records::Record;
use crate::captured::tool::{Context, Notes, Reader, Tool};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "win32-logicaldisktopartition",
    platform: "windows",
    commands: &[
        "Get-CimInstance Win32_LogicalDiskToPartition",
        "Get-WmiObject Win32_LogicalDiskToPartition",
    ],
    readers: &[Reader::Records {
        keys: &["Antecedent", "Dependent"],
        read,
    }],
};

pub(crate) fn read(records: &[Record<'_>], _: &Context<'_>, notes: &mut Notes<'_>) {
    let partition = |record: &Record<'_>| {
        let field = record.filled("Antecedent")?;
        field.value.contains("Win32_DiskPartition").then_some(())?;
        disk_and_partition(quoted(&field.value)?)
    };
    let all: Vec<Option<(u64, u64)>> = records.iter().map(partition).collect();
    for (record, found) in records.iter().zip(&all) {
        let letter = record.filled("Dependent").and_then(|f| quoted(&f.value));
        let (Some((disk, index)), Some(letter)) = (*found, letter) else {
            continue;
        };
        let name = Name::new(Space::WindowsVolume, letter.to_owned());
        let title = format!("disk {disk} partition #{index} ({letter})");
        let mut thing = Thing::new(LayerKind::Partition, title, name).on(Name::windows_disk(disk));
        let start = record.number("StartingAddress");
        let end = record.number("EndingAddress");
        if let Some((start, line)) = start {
            thing.start = Some(notes.said(&line, Interval::exact(Bytes::new(start))));
        }
        if let (Some((start, _)), Some((end, line))) = (start, end)
            && let Some(size) = end.checked_sub(start).and_then(|len| len.checked_add(1))
        {
            thing.size = Some(notes.said(&line, Interval::exact(Bytes::new(size))));
        }
        let alone = all.iter().filter(|other| *other == found).count() == 1;
        if start.is_none() && alone {
            thing = thing.named(Name::new(Space::WmiPartition, format!("{disk}/{index}")));
        }
        notes.add(thing);
    }
}

/// The key in `…Win32_LogicalDisk.DeviceID="C:"` and in `Win32_LogicalDisk (DeviceID = "C:")`.
fn quoted(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('"')?;
    Some(rest.split_once('"')?.0.trim_end_matches('\\'))
}
