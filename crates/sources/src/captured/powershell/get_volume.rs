//! `Get-Volume` of PowerShell, in any shape.

use straddle_geometry::{Bytes, Unit};
use straddle_stack::{GridRole, Interval, Key, LayerKind, Value};

use super::{coded, set_size, set_text, volumes};
use crate::captured::records::Record;
use crate::captured::tool::{Context, Notes, Reader, Tool};
use crate::captured::windows;
use crate::inventory::Thing;

pub(crate) static TOOL: Tool = Tool {
    name: "get-volume",
    platform: "windows",
    commands: &[
        "Get-Volume",
        "Get-Volume | Format-List *",
        "Get-Volume | ConvertTo-Json",
        "Get-Volume | Export-Csv FILE",
    ],
    readers: &[
        Reader::Records {
            keys: &["DriveLetter", "SizeRemaining"],
            read,
        },
        Reader::Records {
            keys: &["DriveLetter", "AllocationUnitSize"],
            read,
        },
        Reader::Records {
            keys: &["Path", "AllocationUnitSize"],
            read,
        },
    ],
};

fn read(records: &[Record<'_>], _: &Context<'_>, notes: &mut Notes<'_>) {
    for record in records {
        if let Some(thing) = volume(record, notes) {
            notes.add(thing);
        }
    }
}

/// `MSFT_Volume.FileSystemType`, where JSON has its numbers.
const TYPES: [(u64, &str); 7] = [
    (4, "FAT"),
    (5, "FAT"),
    (6, "FAT32"),
    (14, "NTFS"),
    (15, "ReFS"),
    (0x8000, "CSVFS_NTFS"),
    (0x8001, "CSVFS_ReFS"),
];

/// The filesystem of a volume. A volume without one is nothing but its partition.
fn volume(record: &Record<'_>, notes: &Notes<'_>) -> Option<Thing> {
    let fields = ["DriveLetter", "Path", "UniqueId"];
    let names = fields.iter().filter_map(|key| record.uncut(key));
    let mut names = names.flat_map(|field| volumes(&field.value));
    let on = names.next()?;
    let (format, line) = ["FileSystem", "FileSystemType"].iter().find_map(|key| {
        let field = record.filled(key)?;
        let shown = coded(&field.value, &TYPES).unwrap_or(&field.value);
        Some((windows::filesystem(shown)?, field.line))
    })?;
    let title = match on.text.as_ref() {
        letter if letter.len() == 2 => letter.to_uppercase(),
        path => path.to_owned(),
    };
    let mut thing = Thing::new(LayerKind::Filesystem, title, on.clone()).on(on);
    for name in names {
        thing = thing.named(name);
    }
    thing.format = Some(notes.said(&line, format.into()));
    let unit = record
        .number("AllocationUnitSize")
        .and_then(|(bytes, line)| Some((Unit::new(bytes)?, line)));
    if let Some((unit, line)) = &unit {
        thing.grid(GridRole::AllocationUnit, notes.said(line, *unit));
        thing.set(Key::BlockSize, notes.said(line, Value::Bytes(unit.bytes())));
    }
    set_size(&mut thing, record, &["Size"], notes);
    // Whole clusters: what is left of the last one is not counted.
    let left = unit.map_or(65_536, |(unit, _)| unit.get()) - 1;
    thing.size = thing.size.map(|fact| {
        let most = Bytes::new(fact.value.to().get().saturating_add(left));
        let wider = Interval::new(fact.value.from(), most);
        fact.map(|known| wider.unwrap_or(known))
    });
    let labels = ["FileSystemLabel", "FriendlyName"];
    set_text(&mut thing, Key::Label, record, &labels, notes);
    Some(thing)
}
