//! `Win32_DiskDrive` of WMI, as objects.
//!
//! `Size` is whole cylinders: cylinders × heads × sectors of an invented geometry. The disk is less than one cylinder larger.

use straddle_geometry::{Bytes, Unit};
use straddle_stack::{GridRole, Interval, Key, LayerKind};

use super::{identities, physical_drive, set_text, table_id};
use crate::captured::records::Record;
use crate::captured::tool::{Context, Notes, Reader, Tool};
use crate::inventory::{Name, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "win32-diskdrive",
    platform: "windows",
    commands: &[
        "Get-CimInstance Win32_DiskDrive",
        "Get-WmiObject Win32_DiskDrive | Format-List *",
    ],
    readers: &[
        Reader::Records {
            keys: &["DeviceID", "BytesPerSector"],
            read,
        },
        Reader::Records {
            keys: &["Index", "BytesPerSector"],
            read,
        },
        Reader::Records {
            keys: &["DeviceID", "Partitions", "Model"],
            read,
        },
        Reader::Records {
            keys: &["DeviceID", "InterfaceType"],
            read,
        },
        Reader::Records {
            keys: &["Index", "InterfaceType"],
            read,
        },
    ],
};

pub(crate) fn read(records: &[Record<'_>], _: &Context<'_>, notes: &mut Notes<'_>) {
    for record in records {
        let device = ["DeviceID", "Name"]
            .iter()
            .find_map(|key| record.filled(key));
        let by_index = record.number("Index").map(|(index, _)| index);
        let disk = by_index.or_else(|| physical_drive(&device?.value));
        let Some(disk) = disk else { continue };
        let title = format!("disk {disk}");
        let mut thing = Thing::new(LayerKind::Device, title, Name::windows_disk(disk));
        thing = identities(thing, record, notes);
        let sector = record.number("BytesPerSector");
        if let Some((sector, line)) = sector
            && let Some(unit) = Unit::new(sector)
        {
            thing.grid(GridRole::LogicalSector, notes.said(&line, unit));
        }
        if let Some((size, line)) = record.number("Size").filter(|(size, _)| *size > 0)
            && let Some(interval) = cylinders(size, record)
        {
            thing.size = Some(notes.said(&line, interval));
        }
        set_text(&mut thing, Key::Model, record, &["Model", "Caption"], notes);
        if let Some(interface) = record.filled("InterfaceType")
            && interface.value.eq_ignore_ascii_case("usb")
        {
            let fact = notes.said(&interface.line, "usb".to_owned());
            thing.set_text(Key::Transport, fact);
        }
        table_id(&mut thing, record, notes);
        notes.add(thing);
    }
}

/// A disk of `size` bytes in whole cylinders.
fn cylinders(size: u64, record: &Record<'_>) -> Option<Interval> {
    let number = |key: &str, usual: u64| match record.number(key) {
        Some((n, _)) if n > 0 => n,
        _ => usual,
    };
    let heads = number("TracksPerCylinder", 255);
    let track = number("SectorsPerTrack", 63);
    let sector = number("BytesPerSector", 512);
    let cylinder = heads.checked_mul(track)?.checked_mul(sector)?;
    let whole = cylinder > 0 && size.is_multiple_of(cylinder);
    let to = if whole {
        size.checked_add(cylinder - 1)?
    } else {
        size
    };
    Interval::new(Bytes::new(size), Bytes::new(to))
}
