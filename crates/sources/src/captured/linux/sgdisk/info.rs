//! `sgdisk -i N`: all about one partition.
//!
//! ```text
//! Partition GUID code: 0FC63DAF-8483-4772-8E79-3D69D8477DE4 (Linux filesystem)
//! First sector: 34 (at 17.0 KiB)
//! Last sector: 7814037134 (at 3.6 TiB)
//! Partition size: 7814037101 sectors (3.6 TiB)
//! ```
//!
//! How long a sector is follows from where it says that the first one is.
//!
//! Source: gptfdisk `gpt.cc`, `ShowPartDetails`, and `gptpart.cc`, `ShowDetails`.

use straddle_stack::{AnomalyKind, GridRole, Key, Value};

use super::{device, named};
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::row;
use crate::captured::text::Line;
use crate::captured::tool::{Command, Notes, Section};

/// The value of a line that begins like this.
fn value<'t>(lines: &[Line<'t>], label: &str) -> Option<(&'t str, Line<'t>)> {
    lines.iter().find_map(|line| {
        let value = line.text.trim().strip_prefix(label)?;
        Some((value.trim(), *line))
    })
}

/// `34 (at 17.0 KiB)`: the sector, and how long sectors are if that is where it lies.
fn sector(text: &str) -> Option<(u64, Option<u64>)> {
    let (number, place) = match text.split_once(" (at ") {
        Some((number, place)) => (number, place.strip_suffix(')')),
        None => (text, None),
    };
    let number: u64 = number.trim().parse().ok()?;
    let shown = place.and_then(|place| number::shown(place, Prefix::Binary, Rounding::Any));
    let length = shown.and_then(|shown| {
        let fits = |bytes: &u64| row::exact(number, *bytes).and_then(|at| at.intersect(&shown));
        [512, 4096].into_iter().find(|bytes| fits(bytes).is_some())
    });
    Some((number, length))
}

/// The number behind `-i` or `--info`.
fn number(command: &Command<'_>) -> Option<u64> {
    let mut words = command.words.iter();
    let of = |word: &str| word.trim_matches(['=', ';']).parse().ok();
    while let Some(word) = words.next() {
        if matches!(*word, "-i" | "--info") {
            return of(words.next()?);
        }
        let glued = word
            .strip_prefix("--info")
            .or_else(|| word.strip_prefix("-i"));
        if let Some(number) = glued.and_then(of) {
            return Some(number);
        }
    }
    None
}

pub(super) fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let lines = section.lines;
    let Some((start, line)) = value(lines, "First sector: ") else {
        if let Some(line) = lines.first() {
            let detail = "what sgdisk says of a partition ends before where that starts";
            notes.remark(AnomalyKind::Truncated, detail, line);
        }
        return;
    };
    let Some((first, length)) = sector(start) else {
        return;
    };
    let bytes = length.unwrap_or(512);
    // Typed within gdisk, the disk and the table are those shown before.
    let known = notes.inventory.things().iter().any(|thing| {
        let start = thing.start.as_ref().and_then(|start| start.value.known());
        start.is_some() && start == row::exact(first, bytes).and_then(|at| at.known())
    });
    let path = named(&section.context);
    if path == "/dev/?" && known {
        return;
    }
    let mut disk = device::disk(&path);
    device::grid(
        &mut disk,
        GridRole::LogicalSector,
        length.unwrap_or(0),
        0,
        &line,
        notes,
    );
    device::table(&mut disk, "gpt", &line, notes);
    notes.add(disk);
    let mut thing = match section.context.command.as_ref().and_then(number) {
        Some(number) => device::numbered_partition(&path, number, &line, notes),
        None => device::partition_at(&path, first),
    };
    let last = value(lines, "Last sector: ").and_then(|(text, _)| sector(text));
    let size = value(lines, "Partition size: ");
    let count = size.and_then(|(text, _)| text.split(' ').next()?.parse().ok());
    let figures = row::Row {
        start: row::exact(first, bytes),
        end: last.and_then(|(last, _)| row::exact(last.checked_add(1)?, bytes)),
        length: count.and_then(|count| row::exact(count, bytes)),
        ..row::Row::default()
    };
    figures.set(&mut thing, &line, notes);
    thing.set(Key::StartSector, notes.said(&line, Value::Count(first)));
    if let Some((code, line)) = value(lines, "Partition GUID code: ") {
        let guid = code.split(' ').next().unwrap_or(code);
        device::partition_type(&mut thing, guid, &line, notes);
    }
    if let Some((name, line)) = value(lines, "Partition name: ") {
        let name = name.trim_matches('\'');
        if !name.is_empty() {
            thing.set_text(Key::PartitionName, notes.said(&line, name.to_owned()));
        }
    }
    notes.add(thing);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_first_sector_lies_tells_how_long_sectors_are() {
        assert_eq!(sector("34 (at 17.0 KiB)"), Some((34, Some(512))));
        assert_eq!(sector("256 (at 1024.0 KiB)"), Some((256, Some(4096))));
        assert_eq!(sector("34"), Some((34, None)));
        assert_eq!(sector("none"), None);
    }

    #[test]
    fn the_number_stands_in_the_command() {
        let of = |text: &'static str| {
            let line = Line { number: 1, text };
            let words = text.split_whitespace().collect();
            number(&Command { line, words })
        };
        assert_eq!(of("sgdisk -i 3 /dev/sda"), Some(3));
        assert_eq!(of("sgdisk --info=12 /dev/sda"), Some(12));
        assert_eq!(of("sgdisk -i2 /dev/sda"), Some(2));
        assert_eq!(of("sgdisk --info=$p /dev/sda"), None);
    }
}
