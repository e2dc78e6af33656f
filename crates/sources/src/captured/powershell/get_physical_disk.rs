//! `Get-PhysicalDisk` of PowerShell, in any shape.

use straddle_stack::{Key, LayerKind, Value};

use super::{coded, first_number, identities, set_sectors, set_size, set_text, set_transport};
use crate::captured::records::Record;
use crate::captured::tool::{Context, Notes, Reader, Tool};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "get-physicaldisk",
    platform: "windows",
    commands: &[
        "Get-PhysicalDisk",
        "Get-PhysicalDisk | Format-List *",
        "Get-PhysicalDisk | ConvertTo-Json",
        "Get-PhysicalDisk | Export-Csv FILE",
    ],
    readers: &[
        Reader::Records {
            keys: &["DeviceId", "CanPool"],
            read,
        },
        Reader::Records {
            keys: &["Number", "CanPool"],
            read,
        },
        Reader::Records {
            keys: &["FriendlyName", "CanPool"],
            read,
        },
        Reader::Records {
            keys: &["DeviceId", "PhysicalSectorSize"],
            read,
        },
        Reader::Records {
            keys: &["FriendlyName", "SpindleSpeed"],
            read,
        },
        // What `select` leaves, in which nothing tells two disks of one model apart.
        Reader::Records {
            keys: &["FriendlyName", "PhysicalSectorSize"],
            read,
        },
        Reader::Records {
            keys: &["FriendlyName", "LogicalSectorSize"],
            read,
        },
        Reader::Records {
            keys: &["FriendlyName", "MediaType"],
            read,
        },
    ],
};

/// Disks of a cluster are numbered by node and disk, from 1,001 on; those are no numbers of `Get-Disk`.
const FIRST_OF_CLUSTER: u64 = 1000;

/// A name for a disk of which nothing but its model is said: the place in the text. Nothing else is called so.
fn by_line(record: &Record<'_>, file: &str) -> Option<Name> {
    let line = record.filled("FriendlyName")?.line.number;
    Some(Name::new(Space::DevicePath, format!("{file}:{line}")))
}

fn read(records: &[Record<'_>], _: &Context<'_>, notes: &mut Notes<'_>) {
    for record in records {
        let number = first_number(record, &["DeviceId", "Number"]);
        let disk = number.filter(|number| *number < FIRST_OF_CLUSTER);
        let identity = || {
            let serial = record
                .uncut("SerialNumber")
                .map(|f| super::serials(&f.value));
            let unique = record.uncut("UniqueId").and_then(|f| super::wwn(&f.value));
            serial.and_then(|names| names.into_iter().next()).or(unique)
        };
        let (title, name) = match (disk, number) {
            (Some(disk), _) => (format!("disk {disk}"), Some(Name::windows_disk(disk))),
            (None, Some(number)) => (format!("physical disk {number}"), identity()),
            (None, None) => {
                let model = record.filled("FriendlyName");
                let model = model.map_or("", |field| &*field.value);
                (format!("physical disk {model}"), identity())
            }
        };
        let Some(name) = name.or_else(|| by_line(record, notes.file)) else {
            continue;
        };
        let mut thing = Thing::new(LayerKind::Device, title.trim().to_owned(), name);
        thing = identities(thing, record, notes);
        set_size(&mut thing, record, &["Size"], notes);
        set_sectors(&mut thing, record, notes);
        set_transport(&mut thing, record, notes);
        set_text(
            &mut thing,
            Key::Model,
            record,
            &["Model", "FriendlyName"],
            notes,
        );
        if let Some(media) = record.filled("MediaType")
            && let Some(kind) = coded(&media.value, &[(3, "HDD"), (4, "SSD"), (5, "SCM")])
        {
            let fact = notes.said(&media.line, Value::Flag(kind == "HDD"));
            thing.set(Key::Rotational, fact);
        }
        notes.add(thing);
    }
}
