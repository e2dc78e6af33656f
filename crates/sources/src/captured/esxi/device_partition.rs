//! `esxcli storage core device partition list` and `partition showguid`. The end sector of `list` is the first one behind
//! the partition; partition 0 is the device as a whole.

use std::borrow::Cow;
use straddle_geometry::{Bytes, SectorSize};
use straddle_stack::{Anomaly, AnomalyKind, Interval, Key, Value};

use super::{device, guid, is_device, partition, table};
use crate::captured::records::{Field, Record};
use crate::captured::text::Line;
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
                // A page may have taken the blanks that tell columns apart.
                let bare: Vec<Record<'_>> = section.lines.iter().filter_map(bare_row).collect();
                if bare.is_empty() {
                    add_all(&table::rows(section.lines), notes);
                } else {
                    add_all(&bare, notes);
                }
                cut_rows(section, notes);
            },
        },
        Reader::Text {
            anchors: &[Anchor::LooseShaped(is_bare_row)],
            begins: |_| true,
            read: |section: &Section<'_>, notes: &mut Notes<'_>| {
                let bare: Vec<Record<'_>> = section.lines.iter().filter_map(bare_row).collect();
                add_all(&bare, notes);
                cut_rows(section, notes);
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

/// The words of a row, from the device: a time may stand in front of it.
fn row_words(text: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = text.split_whitespace().take(10).collect();
    let at = words.iter().take(3).position(|word| is_device(word))?;
    Some(words[at..].to_vec())
}

fn is_bare_row(text: &str) -> bool {
    let number = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
    row_words(text).is_some_and(|words| match words.as_slice() {
        [_, partition, start, end, kind, size] => {
            let numbers = [partition, start, end, size];
            numbers.into_iter().all(|word| number(word)) && kind.len() <= 2
        }
        _ => false,
    })
}

/// `naa.6…  1  63  1048575967  fb  536870862848`: a row, whatever stands above it.
fn bare_row<'t>(line: &Line<'t>) -> Option<Record<'t>> {
    const NAMES: [&str; 6] = [
        "Device",
        "Partition",
        "StartSector",
        "EndSector",
        "Type",
        "Size",
    ];
    if !is_bare_row(line.text) {
        return None;
    }
    let fields = NAMES.iter().zip(row_words(line.text)?);
    let fields = fields.map(|(name, word)| Field {
        key: Cow::Borrowed(*name),
        value: Cow::Borrowed(word),
        line: *line,
    });
    Some(Record {
        fields: fields.collect(),
    })
}

/// Remarks rows of `partition list` that end before the size.
fn cut_rows(section: &Section<'_>, notes: &mut Notes<'_>) {
    let is_cut = |line: &&Line<'_>| {
        row_words(line.text).is_some_and(|words| {
            let numbers = words.iter().skip(1).take(3);
            words.len() < 6
                && numbers
                    .clone()
                    .all(|word| word.bytes().all(|b| b.is_ascii_digit()))
        })
    };
    let listed = section.lines.iter().any(|line| is_bare_row(line.text));
    for line in section.lines.iter().filter(is_cut).filter(|_| listed) {
        notes.remark(
            AnomalyKind::Truncated,
            "the row of a partition ends before its size",
            line,
        );
    }
}

fn records(records: &[Record<'_>], _: &Context<'_>, notes: &mut Notes<'_>) {
    add_all(records, notes);
}

/// A field under its name in the table, or in the other shapes.
fn either<'r, 't>(record: &'r Record<'t>, a: &str, b: &str) -> Option<&'r Field<'t>> {
    record.filled(a).or(record.filled(b))
}

fn number<'t>(record: &Record<'t>, a: &str, b: &str) -> Option<(u64, Line<'t>)> {
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
                    let anomaly = Anomaly::at(AnomalyKind::Misprint, detail, notes.source(&line));
                    thing.remarks.push(anomaly);
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
    fn a_row_is_known_without_its_heading() {
        for text in [
            "naa.6000d310 1 63 1048575967 fb 536870862848",
            "2020-04-02T10:11:12Z   naa.6000d310    1   63  1048575967    fb  536870862848",
        ] {
            let line = Line { number: 1, text };
            let row = bare_row(&line).expect("a row");
            let start = row.filled("StartSector").map(|f| f.value.to_string());
            assert_eq!(start.as_deref(), Some("63"));
        }
        for text in [
            "naa.6000d310 1 63",
            "naa.6000d310 3 gpt AA31",
            "device 1 2 3 fb 4",
        ] {
            assert!(!is_bare_row(text), "{text}");
        }
    }

    #[test]
    fn the_end_is_behind_the_partition() {
        assert_eq!(sector_size(4_161_536, 64, 8192), Some(SectorSize::B512));
        assert_eq!(sector_size(4096 * 100, 0, 100), Some(SectorSize::B4096));
        assert_eq!(sector_size(4_161_024, 64, 8192), None);
        assert_eq!(sector_size(1, 2, 1), None);
    }
}
