//! `Get-Partition` of PowerShell, in any shape.

use straddle_geometry::Bytes;
use straddle_stack::{Interval, Key, LayerKind, Value};

use super::{set_size, shown_start, volumes};
use crate::captured::number;
use crate::captured::records::Record;
use crate::captured::tool::{Context, Notes, Reader, Tool};
use crate::captured::windows::{self, unknown::Unknown};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "get-partition",
    platform: "windows",
    commands: &[
        "Get-Partition",
        "Get-Partition | Format-List *",
        "Get-Partition | ConvertTo-Json",
        "Get-Partition | Export-Csv FILE",
        "Get-Partition | Export-Clixml FILE",
    ],
    readers: &[
        Reader::Records {
            keys: &["PartitionNumber", "Offset"],
            read,
        },
        Reader::Records {
            keys: &["DriveLetter", "Offset"],
            read,
        },
        // Its start was not asked for, or is cut off.
        Reader::Records {
            keys: &["PartitionNumber", "Size"],
            read,
        },
        Reader::Records {
            keys: &["PartitionNumber", "DriveLetter"],
            read,
        },
        Reader::Records {
            keys: &["PartitionNumber", "DiskNumber"],
            read,
        },
        Reader::Records {
            keys: &["DiskNumber", "Offset"],
            read,
        },
    ],
};

/// The number of the disk that was asked about: `Get-Partition -DiskNumber 2`, `Get-Disk 2 | Get-Partition`.
fn asked(context: &Context<'_>) -> Option<u64> {
    let words = &context.command.as_ref()?.words;
    let after = |name: &str| {
        let at = words.iter().position(|w| w.eq_ignore_ascii_case(name))?;
        words.get(at + 1)?.parse().ok()
    };
    ["-DiskNumber", "-Number", "Get-Disk"]
        .into_iter()
        .find_map(after)
}

fn read(records: &[Record<'_>], context: &Context<'_>, notes: &mut Notes<'_>) {
    let asked = asked(context);
    let mut unknown = Unknown::default();
    for record in records {
        let number = record.number("PartitionNumber").map(|(number, _)| number);
        let disk = record.number("DiskNumber").map(|(disk, _)| disk);
        // Tables name the disk by its path alone, above its partitions.
        let path = ["DiskPath", "DiskId"]
            .iter()
            .find_map(|key| record.uncut(key));
        let path = path.map(|field| Name::new(Space::DevicePath, field.value.to_string()));
        let disk = disk.or(asked.filter(|_| path.is_none()));
        let on = match (disk, &path) {
            (None, None) => {
                let start = record.number("Offset");
                let line = record.fields.first().map(|field| field.line);
                let start = start.or(line.map(|line| (0, line)));
                start.map(|(start, line)| unknown.disk(number, start, &line, notes))
            }
            _ => None,
        };
        let thing = match (on, number) {
            (Some(disk), Some(number)) => Some(windows::partition(&disk, number)),
            (on, None) => unnumbered(on, disk, path, record),
            (None, Some(number)) => named(disk, path, number, record),
        };
        let Some(mut thing) = thing else { continue };
        if let Some((start, line)) = record.number("Offset") {
            thing.start = Some(notes.said(&line, Interval::exact(Bytes::new(start))));
        } else {
            thing.start = shown_start(record, "Offset", notes);
        }
        set_size(&mut thing, record, &["Size"], notes);
        for key in ["DriveLetter", "AccessPaths"] {
            for name in record
                .filled(key)
                .map_or_else(Vec::new, |f| volumes(&f.value))
            {
                thing = thing.named(name);
            }
        }
        if let Some(guid) = record.uncut("Guid").filter(|f| f.value.starts_with('{')) {
            thing = thing.named(Name::new(Space::Uuid, guid.value.to_string()));
        }
        set_type(&mut thing, record, notes);
        notes.add(thing);
    }
}

/// A partition whose number was not asked for: it has a letter, or only its place.
fn unnumbered(
    unknown: Option<Name>,
    disk: Option<u64>,
    path: Option<Name>,
    record: &Record<'_>,
) -> Option<Thing> {
    let disk = unknown.or(disk.map(Name::windows_disk)).or(path)?;
    let letter = record.filled("DriveLetter");
    let letters = letter.map_or_else(Vec::new, |letter| volumes(&letter.value));
    let (title, name) = match letters.into_iter().next() {
        Some(letter) => (letter.text.to_uppercase(), letter),
        None => {
            let (start, _) = record.number("Offset")?;
            let name = Name::new(Space::WindowsPartition, format!("{}/@{start}", disk.text));
            (format!("partition at {start} of disk {}", disk.text), name)
        }
    };
    Some(Thing::new(LayerKind::Partition, title, name).on(disk))
}

/// What `Type` says instead of a GUID or a byte, and what it stands for. `IFS` and what follows are of an MBR.
const TYPES: [(&str, &str); 8] = [
    ("System", "C12A7328-F81F-11D2-BA4B-00A0C93EC93B"),
    ("Reserved", "E3C9E316-0B5C-4DB8-817D-F92DF00215AE"),
    ("Basic", "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7"),
    ("Recovery", "DE94BBA4-06D1-4D40-A16A-BFD50179D6AC"),
    ("IFS", "07"),
    ("Huge", "06"),
    ("Extended", "05"),
    ("FAT32", "0c"),
];

fn set_type(thing: &mut Thing, record: &Record<'_>, notes: &Notes<'_>) {
    let gpt = record
        .uncut("GptType")
        .filter(|field| field.value.starts_with('{'))
        .map(|field| (field.value.trim_matches(['{', '}']).to_uppercase(), field));
    let mbr = || {
        let field = record.filled("MbrType")?;
        let byte = number::whole(&field.value).filter(|byte| *byte > 0)?;
        Some((format!("{byte:02x}"), field))
    };
    let shown = || {
        let field = record.filled("Type")?;
        let (_, code) = TYPES.iter().find(|(name, _)| *name == field.value)?;
        Some(((*code).to_owned(), field))
    };
    let Some((text, field)) = gpt.or_else(mbr).or_else(shown) else {
        return;
    };
    if matches!(text.as_str(), "05" | "0f") {
        let fact = notes.said(&field.line, Value::Flag(true));
        thing.set(Key::HoldsPartitions, fact);
    }
    thing.set_text(Key::PartitionType, notes.said(&field.line, text));
}

/// A partition by its numbers, or by its disk's path and its number.
fn named(disk: Option<u64>, path: Option<Name>, number: u64, record: &Record<'_>) -> Option<Thing> {
    let by_path = path.as_ref().map(|path| {
        let text = format!("{}/partition{number}", path.text);
        Name::new(Space::DevicePath, text)
    });
    if let Some(disk) = disk {
        let name = Name::new(Space::WindowsPartition, format!("{disk}/{number}"));
        let title = format!("disk {disk} partition {number}");
        let thing = Thing::new(LayerKind::Partition, title, name).on(Name::windows_disk(disk));
        return Some(match by_path {
            Some(name) => thing.named(name),
            None => thing,
        });
    }
    let letter = record.filled("DriveLetter").filter(|f| f.value.len() == 1);
    let letter = letter.map_or_else(String::new, |f| format!(" ({}:)", f.value));
    let path = path?;
    let title = format!("partition {number}{letter} of {}", short(&path.text));
    Some(Thing::new(LayerKind::Partition, title, by_path?).on(path))
}

/// The model in `\\?\scsi#disk&ven_vmware&prod_virtual_disk#5&198…#{53f56307-…}`.
fn short(path: &str) -> String {
    let model = path.split('#').nth(1).unwrap_or(path);
    let words = model.split('&').filter(|part| *part != "disk");
    let words: Vec<&str> = words
        .map(|part| {
            part.strip_prefix("ven_")
                .or(part.strip_prefix("prod_"))
                .unwrap_or(part)
        })
        .collect();
    words.join(" ").replace('_', " ")
}
