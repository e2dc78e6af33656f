//! `Get-Partition` of PowerShell, in any shape.

use straddle_geometry::Bytes;
use straddle_stack::{Interval, Key, LayerKind};

use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::records::Record;
use crate::captured::tool::{Context, Notes, Reader, Tool};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "get-partition",
    platform: "windows",
    commands: &[
        "Get-Partition",
        "Get-Partition | Format-List *",
        "Get-Partition | ConvertTo-Json",
        "Get-Partition | Export-Csv",
        "Get-Partition | Export-Clixml",
    ],
    readers: &[Reader::Records {
        keys: &["PartitionNumber", "Offset"],
        read,
    }],
};

fn read(records: &[Record<'_>], _: &Context<'_>, notes: &mut Notes<'_>) {
    for record in records {
        let Some((disk, _)) = record.number("DiskNumber") else {
            continue;
        };
        let Some((number, _)) = record.number("PartitionNumber") else {
            continue;
        };
        let name = Name::new(Space::WindowsPartition, format!("{disk}/{number}"));
        let title = format!("disk {disk} partition {number}");
        let mut thing = Thing::new(LayerKind::Partition, title, name).on(Name::windows_disk(disk));
        if let Some((start, line)) = record.number("Offset") {
            thing.start = Some(notes.said(&line, Interval::exact(Bytes::new(start))));
        }
        if let Some(field) = record.filled("Size") {
            let exact = number::whole(&field.value).map(|n| Interval::exact(Bytes::new(n)));
            let size =
                exact.or_else(|| number::shown(&field.value, Prefix::Binary, Rounding::Nearest));
            thing.size = size.map(|size| notes.said(&field.line, size));
        }
        if let Some(letter) = record.filled("DriveLetter")
            && letter.value.bytes().all(|b| b.is_ascii_alphabetic())
        {
            thing = thing.named(Name::new(Space::WindowsVolume, letter.value.to_string()));
        }
        if let Some(kind) = record.filled("GptType") {
            let text = kind.value.trim_matches(['{', '}']).to_uppercase();
            thing.set_text(Key::PartitionType, notes.said(&kind.line, text));
        }
        notes.add(thing);
    }
}
