//! `esxcli storage core device capacity list`: sectors of devices, exactly.
//!
//! `4Kn SWE` is a 4Kn disk for which ESXi emulates sectors of 512 bytes: those are what partitions are counted in.

use straddle_geometry::{SectorSize, Unit};
use straddle_stack::{GridRole, Interval};

use super::{device, is_device, table};
use crate::captured::records::{Field, Record};
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "esxcli-device-capacity",
    platform: "esxi",
    commands: &[
        "esxcli storage core device capacity list",
        "esxcli --formatter=csv storage core device capacity list",
        "esxcli --formatter=json storage core device capacity list",
    ],
    readers: &[
        Reader::Text {
            anchors: &[Anchor::Within("Logical Blocksize")],
            begins: |lines| table::begins(lines, &["Device", "Physical Blocksize"]),
            read: |section: &Section<'_>, notes: &mut Notes<'_>| {
                add_all(&table::rows(section.lines), notes);
            },
        },
        Reader::Records {
            keys: &["Device", "LogicalBlocksize"],
            read: |records: &[Record<'_>], _: &Context<'_>, notes: &mut Notes<'_>| {
                add_all(records, notes);
            },
        },
    ],
};

/// A field under its name in the table, or in the other shapes.
fn either<'r, 't>(record: &'r Record<'t>, a: &str, b: &str) -> Option<&'r Field<'t>> {
    record.filled(a).or(record.filled(b))
}

fn add_all(records: &[Record<'_>], notes: &mut Notes<'_>) {
    for record in records {
        let Some(id) = record.filled("Device").filter(|id| is_device(&id.value)) else {
            continue;
        };
        let mut thing = device(&id.value);
        let number = |a, b| {
            let field = either(record, a, b)?;
            let number = crate::captured::number::whole(&field.value)?;
            (number > 0).then_some((number, field.line))
        };
        let logical = number("Logical Blocksize", "LogicalBlocksize");
        let physical = number("Physical Blocksize", "PhysicalBlocksize");
        for (role, said) in [
            (GridRole::LogicalSector, logical),
            (GridRole::PhysicalSector, physical),
        ] {
            if let Some((size, line)) = said
                && let Some(unit) = Unit::new(size)
            {
                thing.grid(role, notes.said(&line, unit));
            }
        }
        let format = either(record, "Format Type", "FormatType");
        let meant = format.and_then(|field| match &*field.value {
            "512n" => Some((512, field)),
            "512e" | "4Kn" | "4Kn SWE" => Some((4096, field)),
            _ => None,
        });
        if let (Some((meant, field)), Some((size, line))) = (meant, physical)
            && meant != size
        {
            let detail = format!(
                "{} means physical sectors of {meant} bytes, not {size}",
                field.value
            );
            notes.contradicts(&mut thing, detail, &line, &field.line);
        }
        if let (Some((size, _)), Some((count, line))) =
            (logical, number("Logical Block Count", "LogicalBlockCount"))
            && let Some(sector) = u32::try_from(size).ok().and_then(SectorSize::new)
            && let Some(bytes) = sector.sectors(count).bytes()
        {
            thing.size = Some(notes.said(&line, Interval::exact(bytes)));
        }
        notes.add(thing);
    }
}
