//! `Get-Volume` of PowerShell, in any shape.

use straddle_stack::{GridRole, Key, LayerKind};

use super::{filesystem, first, set_grid, set_size, set_text, volumes};
use crate::captured::records::Record;
use crate::captured::tool::{Context, Notes, Reader, Tool};
use crate::inventory::{Name, Thing};

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
        let fields = ["DriveLetter", "Path", "UniqueId"];
        let names = fields.iter().filter_map(|key| record.uncut(key));
        let names: Vec<Name> = names.flat_map(|field| volumes(&field.value)).collect();
        add(
            record,
            names,
            &["FileSystem", "FileSystemType"],
            "AllocationUnitSize",
            "Size",
            notes,
        );
    }
}

/// Notes the filesystem of a volume with these names. A volume without one is nothing but its partition.
pub(super) fn add(
    record: &Record<'_>,
    names: Vec<Name>,
    formats: &[&str],
    unit: &str,
    size: &str,
    notes: &mut Notes<'_>,
) {
    let Some(format) = first(record, formats) else {
        return;
    };
    let Some(kind) = filesystem(&format.value) else {
        return;
    };
    let Some(on) = names.first().cloned() else {
        return;
    };
    let shown = match on.text.as_ref() {
        text if text.len() == 2 => text.to_uppercase(),
        text => text.to_owned(),
    };
    let title = format!("{} {shown}", kind.to_uppercase());
    let mut thing = Thing::new(LayerKind::Filesystem, title, on.clone()).on(on);
    for name in names {
        thing = thing.named(name);
    }
    thing.format = Some(notes.said(&format.line, kind.into()));
    set_size(&mut thing, record, &[size], notes);
    set_grid(&mut thing, GridRole::AllocationUnit, record, unit, notes);
    let labels = ["FileSystemLabel", "FriendlyName", "Label"];
    set_text(&mut thing, Key::Label, record, &labels, notes);
    notes.add(thing);
}
