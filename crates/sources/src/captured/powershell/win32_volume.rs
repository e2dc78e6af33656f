//! `Win32_Volume` of WMI, as objects: letters, mount folders and allocation units.

use super::{get_volume, volumes};
use crate::captured::records::Record;
use crate::captured::tool::{Context, Notes, Reader, Tool};
use crate::inventory::Name;

pub(crate) static TOOL: Tool = Tool {
    name: "win32-volume",
    platform: "windows",
    commands: &[
        "Get-CimInstance Win32_Volume",
        "Get-WmiObject Win32_Volume | Format-List *",
    ],
    readers: &[
        Reader::Records {
            keys: &["FileSystem", "BlockSize"],
            read,
        },
        Reader::Records {
            keys: &["FileSystem", "Capacity"],
            read,
        },
    ],
};

pub(crate) fn read(records: &[Record<'_>], _: &Context<'_>, notes: &mut Notes<'_>) {
    for record in records {
        let fields = ["DriveLetter", "Name", "Caption", "DeviceID"];
        let names = fields.iter().filter_map(|key| record.uncut(key));
        let names: Vec<Name> = names.flat_map(|field| volumes(&field.value)).collect();
        get_volume::add(
            record,
            names,
            &["FileSystem"],
            "BlockSize",
            "Capacity",
            notes,
        );
    }
}
