//! `Get-Disk` of PowerShell, in any shape.

use straddle_stack::{Key, LayerKind};

use super::{bus, coded, first_number, identities, set_sectors, set_size, set_text, set_transport};
use crate::captured::records::Record;
use crate::captured::tool::{Context, Notes, Reader, Tool};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "get-disk",
    platform: "windows",
    commands: &[
        "Get-Disk",
        "Get-Disk | Format-List *",
        "Get-Disk | ConvertTo-Json",
        "Get-Disk | Export-Csv FILE",
        "Get-Disk | Export-Clixml FILE",
    ],
    readers: &[
        Reader::Records {
            keys: &["Number", "PartitionStyle"],
            read,
        },
        Reader::Records {
            keys: &["Number", "LogicalSectorSize"],
            read,
        },
        Reader::Records {
            keys: &["Number", "PhysicalSectorSize"],
            read,
        },
        Reader::Records {
            keys: &["DiskNumber", "PartitionStyle"],
            read,
        },
        Reader::Records {
            keys: &["DiskNumber", "LogicalSectorSize"],
            read,
        },
    ],
};

fn read(records: &[Record<'_>], _: &Context<'_>, notes: &mut Notes<'_>) {
    for record in records {
        let Some(disk) = first_number(record, &["Number", "DiskNumber"]) else {
            continue;
        };
        let title = format!("disk {disk}");
        let mut thing = Thing::new(LayerKind::Device, title, Name::windows_disk(disk));
        if let Some(path) = record.uncut("Path") {
            thing = thing.named(Name::new(Space::DevicePath, path.value.to_string()));
        }
        thing = identities(thing, record, notes);
        // Windows shows a storage space as a disk of this name.
        if let Some(("Storage Spaces" | "Spaces", _)) = bus(record)
            && let Some(name) = record.uncut("FriendlyName")
        {
            thing = thing.named(Name::new(Space::VirtualDisk, name.value.to_string()));
        }
        set_size(&mut thing, record, &["Size", "TotalSize"], notes);
        set_sectors(&mut thing, record, notes);
        set_transport(&mut thing, record, notes);
        set_text(
            &mut thing,
            Key::Model,
            record,
            &["Model", "FriendlyName"],
            notes,
        );
        if let Some(style) = record.filled("PartitionStyle")
            && let Some(name) = coded(&style.value, &[(1, "mbr"), (2, "gpt")])
        {
            thing.set_text(
                Key::PartitionTable,
                notes.said(&style.line, name.to_owned()),
            );
        }
        super::table_id(&mut thing, record, notes);
        notes.add(thing);
    }
}
