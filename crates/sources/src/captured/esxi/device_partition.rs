//! `esxcli storage core device partition list` and `partition showguid`. The end sector of `list` is the first one behind
//! the partition; partition 0 is the device as a whole.

use straddle_geometry::{Bytes, SectorSize};
use straddle_stack::{Interval, Key, OddityKind, Value};

use super::{device, guid, is_device, partition, table};
use crate::captured::records::{Field, Record};
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "esxcli-device-partition",
    platform: "esxi",
    commands: &[
        "esxcli storage core device partition list",
        "esxcli storage core device partition showguid",
        "esxcli --formatter=csv storage core device partition list",
        "esxcli --formatter=json storage core device partition list",
    ],
    readers: &[
        Reader::Text {
            anchors: &[Anchor::Start("Device")],
            begins: |lines| {
                table::begins(lines, &["Device", "Partition", "Start Sector"])
                    || table::begins(lines, &["Device", "Partition", "Layout", "GUID"])
            },
            read: |section: &Section<'_>, notes: &mut Notes<'_>| {
                add_all(&table::rows(section.lines), notes);
            },
        },
        Reader::Records {
            keys: &["Device", "Partition", "StartSector"],
            read: records,
        },
        Reader::Records {
            keys: &["Device", "Partition", "Layout"],
            read: records,
        },
    ],
};

fn records(records: &[Record<'_>], _: &Context<'_>, notes: &mut Notes<'_>) {
    add_all(records, notes);
}

/// A field under its name in the table, or in the other shapes.
fn either<'r, 't>(record: &'r Record<'t>, a: &str, b: &str) -> Option<&'r Field<'t>> {
    record.filled(a).or(record.filled(b))
}

fn number<'t>(
    record: &Record<'t>,
    a: &str,
    b: &str,
) -> Option<(u64, crate::captured::text::Line<'t>)> {
    let field = either(record, a, b)?;
    Some((crate::captured::number::whole(&field.value)?, field.line))
}

fn add_all(records: &[Record<'_>], notes: &mut Notes<'_>) {
    for record in records {
        let Some(id) = record.filled("Device").filter(|id| is_device(&id.value)) else {
            continue;
        };
        let Some((index, line)) = number(record, "Partition", "Partition") else {
            continue;
        };
        let bytes = number(record, "Size", "Size").filter(|(size, _)| *size > 0);
        let size = bytes.map(|(size, line)| notes.said(&line, Interval::exact(Bytes::new(size))));
        if index == 0 {
            let mut thing = device(&id.value);
            thing.size = size;
            if let Some(layout) = record.filled("Layout").filter(|l| l.value != "N/A") {
                let kind = match &*layout.value.to_ascii_lowercase() {
                    "msdos" => "mbr".to_owned(),
                    other => other.to_owned(),
                };
                thing.set_text(Key::PartitionTable, notes.said(&layout.line, kind));
            }
            notes.add(thing);
            continue;
        }
        let mut thing = partition(&id.value, index);
        thing.set(Key::PartitionNumber, notes.said(&line, Value::Count(index)));
        thing.size = size;
        let first = number(record, "Start Sector", "StartSector");
        let end = number(record, "End Sector", "EndSector");
        // ESXi addresses what it partitions in sectors of 512 bytes; the size in bytes says whether it is so here.
        let sector = match (bytes, first, end) {
            (Some((bytes, line)), Some((first, _)), Some((end, _))) => {
                let sector = sector_size(bytes, first, end);
                if sector.is_none() {
                    let detail = format!(
                        "sectors {first} to {end} do not have {bytes} bytes, of whatever size they are"
                    );
                    notes.remark(OddityKind::Misprint, detail, &line);
                }
                sector
            }
            _ => Some(SectorSize::B512),
        };
        if let (Some((first, line)), Some(sector)) = (first, sector)
            && let Some(start) = sector.sectors(first).bytes()
        {
            thing.start = Some(notes.said(&line, Interval::exact(start)));
            thing.set(Key::StartSector, notes.said(&line, Value::Count(first)));
        }
        // `Type` is a type of MBR also where the table is GPT: ESXi's own translation.
        if let Some(kind) = record.filled("GUID")
            && let Some(text) = guid(&kind.value)
        {
            thing.set_text(Key::PartitionType, notes.said(&kind.line, text));
        }
        notes.add(thing);
    }
}

/// The sector of which `first` to `end` have so many bytes.
fn sector_size(bytes: u64, first: u64, end: u64) -> Option<SectorSize> {
    let count = end.checked_sub(first).filter(|count| *count > 0)?;
    [SectorSize::B512, SectorSize::B4096]
        .into_iter()
        .find(|sector| count.checked_mul(u64::from(sector.get())) == Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_behind_the_partition() {
        assert_eq!(sector_size(4_161_536, 64, 8192), Some(SectorSize::B512));
        assert_eq!(sector_size(4096 * 100, 0, 100), Some(SectorSize::B4096));
        assert_eq!(sector_size(4_161_024, 64, 8192), None);
        assert_eq!(sector_size(1, 2, 1), None);
    }
}
