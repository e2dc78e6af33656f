//! `Get-VirtualDisk` of PowerShell, in any shape: a storage space.

use straddle_geometry::Unit;
use straddle_stack::{Fact, GridRole, Key, LayerKind, Value};

use super::{coded, identities, set_grid, set_sectors, set_size};
use crate::captured::records::Record;
use crate::captured::tool::{Context, Notes, Reader, Tool};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "get-virtualdisk",
    platform: "windows",
    commands: &[
        "Get-VirtualDisk",
        "Get-VirtualDisk | Format-List *",
        "Get-VirtualDisk | ConvertTo-Json",
        "Get-VirtualDisk | Export-Csv FILE",
    ],
    readers: &[
        Reader::Records {
            keys: &["ResiliencySettingName"],
            read,
        },
        Reader::Records {
            keys: &["Interleave", "NumberOfColumns"],
            read,
        },
    ],
};

fn read(records: &[Record<'_>], _: &Context<'_>, notes: &mut Notes<'_>) {
    for record in records {
        let Some(friendly) = record.filled("FriendlyName") else {
            continue;
        };
        let name = Name::new(Space::VirtualDisk, friendly.value.to_string());
        let title = format!("virtual disk {}", friendly.value);
        let mut thing = Thing::new(LayerKind::Device, title, name);
        thing = identities(thing, record, notes);
        set_size(&mut thing, record, &["Size"], notes);
        set_sectors(&mut thing, record, notes);
        set_grid(
            &mut thing,
            GridRole::StripeUnit,
            record,
            "Interleave",
            notes,
        );
        resiliency(&mut thing, record, notes);
        if let Some(kind) = record.filled("ProvisioningType")
            && let Some(kind_name) = coded(&kind.value, &[(1, "Thin"), (2, "Fixed")])
        {
            let fact = notes.said(&kind.line, Value::Flag(kind_name == "Thin"));
            thing.set(Key::ThinProvisioned, fact);
        }
        notes.add(thing);
    }
}

/// Level, members, and the full stripe of single parity.
///
/// Columns of a parity space include the one of the parity: three columns hold two of data. Columns of a mirror hold data,
/// and each has as many copies as there are. How many columns of dual parity hold data depends on the version of Windows
/// and on whether parity is local, so nothing is said of that.
fn resiliency(thing: &mut Thing, record: &Record<'_>, notes: &Notes<'_>) {
    let columns = record.number("NumberOfColumns").filter(|(n, _)| *n > 0);
    let copies = record.number("NumberOfDataCopies").filter(|(n, _)| *n > 0);
    let redundancy = record.number("PhysicalDiskRedundancy").map(|(n, _)| n);
    let Some(setting) = record.filled("ResiliencySettingName") else {
        return;
    };
    let many = columns.is_some_and(|(columns, _)| columns > 1);
    let (level, members, data) = match setting.value.to_ascii_lowercase().as_str() {
        "simple" => ("raid0", Some(1), columns.map(|(n, _)| n)),
        "mirror" => (
            if many { "raid10" } else { "raid1" },
            copies.map(|(n, _)| n),
            columns.map(|(n, _)| n),
        ),
        "parity" if redundancy == Some(2) => ("raid6", Some(1), None),
        "parity" => (
            "raid5",
            Some(1),
            columns
                .and_then(|(n, _)| n.checked_sub(1))
                .filter(|n| *n > 0),
        ),
        _ => return,
    };
    thing.set_text(Key::Level, notes.said(&setting.line, level.to_owned()));
    let Some((columns, line)) = columns else {
        return;
    };
    if let Some(members) = members.and_then(|each| columns.checked_mul(each)) {
        thing.set(Key::Members, notes.said(&line, Value::Count(members)));
    }
    let Some(data) = data else { return };
    let from = match level {
        "raid5" => format!("{columns} columns − 1 of parity"),
        _ => format!("{columns} columns of data"),
    };
    thing.set(Key::DataMembers, Fact::derived(Value::Count(data), from));
    if level == "raid5"
        && let Some((interleave, _)) = record.number("Interleave")
        && let Some(full) = Unit::new(interleave).and_then(|unit| unit.checked_mul(data))
    {
        let from = format!("{data} columns of data × {interleave} B");
        thing.grid(GridRole::FullStripe, Fact::derived(full, from));
    }
}
