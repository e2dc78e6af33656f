//! `diskpar -i N` of the Windows 2000 Resource Kit: the geometry of a disk and its partitions, in bytes. It misspells
//! `Information` and `StartingOffset`; corrected copies are about. `dmdiag -v` of the Support Tools prints the same with more
//! dashes, and the disk with each partition.

use straddle_geometry::{Bytes, Unit};
use straddle_stack::{AnomalyKind, Fact, GridRole, Interval, Key, LayerKind, Value};

use crate::captured::number;
use crate::captured::records::{Record, pair};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};
use crate::captured::windows::{self, unknown::Unknown};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "diskpar",
    platform: "windows",
    commands: &["diskpar -i N", "dmdiag -v"],
    readers: &[
        Reader::Text {
            anchors: &[Anchor::Start("----")],
            begins: |lines| heading(&lines[0]).is_some(),
            read,
        },
        // What a filter left of it.
        Reader::Records {
            keys: &["StatringOffset"],
            read: starts,
        },
    ],
};

enum Heading {
    Disk(u64),
    /// On this disk, if it says so; counted from 0.
    Partition(Option<u64>, u64),
}

/// `---- Drive 0 Geometry Infomation ----`, `---- Drive Partition 0 Infomation ----`, `---- Drive 1 Partition 0 …`.
fn heading(line: &Line<'_>) -> Option<Heading> {
    let text = line.text.trim().strip_prefix("----")?;
    let rest = text.trim_start_matches('-').strip_prefix(" Drive ")?;
    let words: Vec<&str> = rest.split_whitespace().take(3).collect();
    match words.as_slice() {
        ["Partition", number, ..] => Some(Heading::Partition(None, number.parse().ok()?)),
        [disk, "Partition", number] => {
            let number = number.parse().ok()?;
            Some(Heading::Partition(Some(disk.parse().ok()?), number))
        }
        [disk, what, ..] if what.starts_with("Geometry") => Some(Heading::Disk(disk.parse().ok()?)),
        _ => None,
    }
}

/// A section is one heading and the lines below it. The partitions of a disk follow its geometry, so each is put on the
/// disk that was spoken of last.
fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((first, rest)) = section.lines.split_first() else {
        return;
    };
    match heading(first) {
        Some(Heading::Disk(disk)) => geometry(disk, first, rest, notes),
        Some(Heading::Partition(disk, index)) => {
            if let Some(disk) = disk {
                notes.focus.disk = Some((disk, first.number));
            }
            partition(section, index, notes);
        }
        None => {}
    }
}

fn value<'t>(lines: &[Line<'t>], keys: &[&str]) -> Option<(u64, Line<'t>)> {
    lines.iter().find_map(|line| {
        let field = pair(line)?;
        let wanted = keys.iter().any(|key| key.eq_ignore_ascii_case(&field.key));
        wanted.then_some((number::leading(&field.value)?, *line))
    })
}

fn geometry(disk: u64, heading: &Line<'_>, lines: &[Line<'_>], notes: &mut Notes<'_>) {
    notes.focus.disk = Some((disk, heading.number));
    let mut thing = windows::disk(disk);
    let sector = value(lines, &["BytesPerSector"]);
    if let Some((size, line)) = value(lines, &["DiskSize"]) {
        let sector = sector.map_or(512, |(sector, _)| sector);
        thing.size = Some(notes.said(&line, windows::cylinders(size, sector)));
    }
    if let Some((sector, line)) = sector
        && let Some(unit) = Unit::new(sector)
    {
        thing.grid(GridRole::LogicalSector, notes.said(&line, unit));
    }
    notes.add(thing);
}

/// Sectors of a disk that was described.
fn sector_of(name: &Name, notes: &Notes<'_>) -> u64 {
    let described = notes.inventory.things().iter().rev();
    let mut grids = described
        .filter(|thing| thing.kind == LayerKind::Device && thing.names.contains(name))
        .flat_map(|thing: &Thing| &thing.grids)
        .filter(|grid| grid.role == GridRole::LogicalSector);
    grids
        .next()
        .map_or(512, |grid| grid.grid.value.unit().get())
}

/// Starts of which nothing else is left.
fn starts(records: &[Record<'_>], _: &Context<'_>, notes: &mut Notes<'_>) {
    let mut unknown = Unknown::default();
    for record in records {
        if let Some((start, line)) = record.number("StatringOffset") {
            let disk = unknown.disk(None, start, &line, notes);
            let name = Name::new(Space::WmiPartition, format!("{}/@{start}", disk.text));
            let title = format!("partition at {start} of disk {}", disk.text);
            let mut thing = Thing::new(LayerKind::Partition, title, name).on(disk);
            windows::put_at(&mut thing, start, windows::SECTOR.get(), &line, notes);
            notes.add(thing);
        }
    }
}

fn partition(section: &Section<'_>, index: u64, notes: &mut Notes<'_>) {
    let [first, lines @ ..] = section.lines else {
        return;
    };
    let start = value(lines, &["StatringOffset", "StartingOffset"]);
    let numbered = value(lines, &["PartitionNumber"]);
    if numbered.is_none() || start.is_none() {
        let detail = "the description of a partition ends before its start and its number";
        notes.remark(AnomalyKind::Truncated, detail, first);
    }
    let (number, line) = numbered.unwrap_or((index.saturating_add(1), *first));
    let disk = disk_of(section, notes).map(Name::windows_disk);
    let disk = disk.unwrap_or_else(|| windows::unknown_disk(&line, notes));
    let sector = sector_of(&notes.twins.name(disk.clone()), notes);
    let mut thing = windows::partition(&disk, number);
    if let Some((start, line)) = start {
        windows::put_at(&mut thing, start, sector, &line, notes);
    }
    if let Some((length, line)) = value(lines, &["PartitionLength"]) {
        thing.size = Some(notes.said(&line, Interval::exact(Bytes::new(length))));
    }
    if let Some(field) = lines
        .iter()
        .filter_map(pair)
        .find(|field| field.key == "PartitionType")
    {
        let digits = field.value.to_ascii_lowercase();
        let kind: Fact<String> = notes.said(&field.line, format!("{digits:0>2}"));
        let extended = ["05", "0f"].contains(&kind.value.as_str());
        if kind.value == "42" {
            windows::remark_dynamic(&mut thing, &field.line, notes);
        }
        thing.set_text(Key::PartitionType, kind);
        if extended {
            let fact = notes.said(&field.line, Value::Flag(true));
            thing.set(Key::HoldsPartitions, fact);
        }
    }
    if let Some((hidden, line)) = value(lines, &["HiddenSectors"])
        && let Some(bytes) = Bytes::new(sector).checked_mul(hidden)
    {
        // The tool computes one from the other, unless the partition is logical: then it counts from the extended one. The
        // first of a disk is not.
        let near = start.is_some_and(|(start, _)| bytes.get().abs_diff(start) < sector);
        if let Some((start, at)) = start
            && !near
            && number == 1
        {
            let detail = format!(
                "{hidden} hidden sectors are {} bytes, and the start is {start}",
                bytes.get()
            );
            notes.contradicts(&mut thing, detail, &at, &line);
        }
        if thing.start.is_none() && near {
            thing.start = Some(notes.said(&line, Interval::exact(bytes)));
        }
        thing.set(Key::HiddenSectors, notes.said(&line, Value::Bytes(bytes)));
    }
    notes.add(thing);
}

/// The disk that was described or asked about last, or that the file is named for.
fn disk_of(section: &Section<'_>, notes: &Notes<'_>) -> Option<u64> {
    let command = section.context.command.as_ref();
    let asked = command
        .filter(|command| command.program() == "diskpar")
        .and_then(|command| Some((command.last()?.parse().ok()?, command.line.number)));
    let latest = [notes.focus.disk, asked].into_iter().flatten();
    let latest = latest.max_by_key(|(_, line)| *line).map(|(disk, _)| disk);
    latest.or_else(|| windows::disk_of_file(&section.context))
}
