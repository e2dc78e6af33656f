//! `diskpar -i N` of the Windows 2000 Resource Kit: the geometry of a disk and its partitions, in bytes. It misspells
//! `Information` and `StartingOffset`; corrected copies are about.

use straddle_geometry::{Bytes, Unit};
use straddle_stack::{Fact, GridRole, Interval, Key, LayerKind, Value};

use crate::captured::number;
use crate::captured::records::pair;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "diskpar",
    platform: "windows",
    commands: &["diskpar -i N"],
    readers: &[Reader::Text {
        anchors: &[Anchor::Start("---- Drive ")],
        begins: |lines| heading(&lines[0]).is_some(),
        read,
    }],
};

enum Heading {
    Disk(u64),
    Partition,
}

/// `---- Drive 0 Geometry Infomation ----`, `---- Drive Partition 0 Infomation ----`.
fn heading(line: &Line<'_>) -> Option<Heading> {
    let rest = line.text.trim().strip_prefix("---- Drive ")?;
    let mut words = rest.split_whitespace();
    let first = words.next()?;
    if first == "Partition" {
        return words
            .next()?
            .parse::<u64>()
            .is_ok()
            .then_some(Heading::Partition);
    }
    let disk = first.parse().ok()?;
    words
        .next()?
        .starts_with("Geometry")
        .then_some(Heading::Disk(disk))
}

/// A section is one heading and the lines below it. The partitions of a disk follow its geometry, so each is put on the
/// disk that was spoken of last.
fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((first, rest)) = section.lines.split_first() else {
        return;
    };
    match heading(first) {
        Some(Heading::Disk(disk)) => geometry(disk, rest, notes),
        Some(Heading::Partition) => partition(section, rest, notes),
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

fn geometry(disk: u64, lines: &[Line<'_>], notes: &mut Notes<'_>) {
    let mut thing = Thing::new(
        LayerKind::Device,
        format!("disk {disk}"),
        Name::windows_disk(disk),
    );
    if let Some((size, line)) = value(lines, &["DiskSize"]) {
        thing.size = Some(notes.said(&line, Interval::exact(Bytes::new(size))));
    }
    if let Some((sector, line)) = value(lines, &["BytesPerSector"])
        && let Some(unit) = Unit::new(sector)
    {
        thing.grid(GridRole::LogicalSector, notes.said(&line, unit));
    }
    notes.add(thing);
}

fn partition(section: &Section<'_>, lines: &[Line<'_>], notes: &mut Notes<'_>) {
    let disk = last_disk(notes).or_else(|| disk_of_command(section));
    let disk = disk.unwrap_or_else(|| Name::windows_disk(0));
    let number = value(lines, &["PartitionNumber"]);
    let title = match number {
        Some((number, _)) => format!("disk {} partition {number}", disk.text),
        None => format!("disk {} partition", disk.text),
    };
    let name = match number {
        Some((number, _)) => Name::new(Space::WindowsPartition, format!("{}/{number}", disk.text)),
        None => return,
    };
    let mut thing = Thing::new(LayerKind::Partition, title, name).on(disk);
    if let Some((start, line)) = value(lines, &["StatringOffset", "StartingOffset"]) {
        thing.start = Some(notes.said(&line, Interval::exact(Bytes::new(start))));
    }
    if let Some((length, line)) = value(lines, &["PartitionLength"]) {
        thing.size = Some(notes.said(&line, Interval::exact(Bytes::new(length))));
    }
    if let Some(field) = lines
        .iter()
        .filter_map(pair)
        .find(|field| field.key == "PartitionType")
    {
        let kind: Fact<String> = notes.said(&field.line, field.value.to_ascii_lowercase());
        thing.set_text(Key::PartitionType, kind);
    }
    if let Some((hidden, line)) = value(lines, &["HiddenSectors"]) {
        let bytes = Bytes::new(512).checked_mul(hidden);
        if let Some(bytes) = bytes {
            thing.set(Key::HiddenSectors, notes.said(&line, Value::Bytes(bytes)));
        }
    }
    notes.add(thing);
}

fn last_disk(notes: &Notes<'_>) -> Option<Name> {
    let things = notes.inventory.things().iter().rev();
    let mut disks = things.filter(|thing| thing.kind == LayerKind::Device);
    let disk = disks.next()?;
    let mut names = disk.names.iter();
    names.find(|name| name.space == Space::WindowsDisk).cloned()
}

fn disk_of_command(section: &Section<'_>) -> Option<Name> {
    let command = section.context.command.as_ref()?;
    command.last()?.parse().ok().map(Name::windows_disk)
}
