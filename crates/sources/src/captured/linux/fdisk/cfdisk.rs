//! `cfdisk -P t` and `cfdisk -P s`, until util-linux 2.24: the entries of the table, and the places of partitions.
//!
//! ```text
//! Partition Table for /dev/sda
//!          ---Starting----      ----Ending-----    Start     Number of
//!  # Flags Head Sect  Cyl   ID  Head Sect  Cyl     Sector    Sectors
//!  1  0x80    1    1     0 0x83  254   63    12          63      208782
//!
//!                First       Last
//!  # Type       Sector      Sector   Offset    Length   Filesystem Type (ID) Flag
//!  1 Primary           0      208844     63      208845 Linux (83)           Boot
//! ```
//!
//! In the second, a partition begins at its first sector plus the offset; the track in front of it counts in the length.

use straddle_stack::{AnomalyKind, Key, Value};

use super::super::device;
use crate::captured::row;
use crate::captured::text::Line;
use crate::captured::tool::{Notes, Section};

/// cfdisk knows no other sector.
const SECTOR: u64 = 512;

/// The disk that the lines below are about.
pub(super) fn path<'t>(line: &Line<'t>) -> Option<&'t str> {
    let path = line.text.trim().strip_prefix("Partition Table for ")?;
    (!path.is_empty() && !path.contains(' ')).then_some(path)
}

/// What a row says of a partition. A number of 0 is an entry that is not used.
struct Entry<'t> {
    number: u64,
    start: u64,
    sectors: u64,
    kind: Option<&'t str>,
}

/// A figure; the entry of an extended partition has a mark behind its last sector.
fn figure(word: &str) -> Option<u64> {
    word.trim_end_matches('*').parse().ok()
}

fn entry<'t>(line: &Line<'t>) -> Option<Entry<'t>> {
    let words: Vec<&str> = line.text.split_whitespace().collect();
    let [number, second, rest @ ..] = words.as_slice() else {
        return None;
    };
    let number = number.parse().ok()?;
    if second.starts_with("0x") {
        // Head, sector and cylinder of both ends, with the type between.
        let [_, _, _, id, _, _, _, start, sectors, ..] = rest else {
            return None;
        };
        return Some(Entry {
            number,
            start: figure(start)?,
            sectors: figure(sectors)?,
            kind: id.strip_prefix("0x"),
        });
    }
    let [first, last, offset, _, ..] = rest else {
        return None;
    };
    let (start, last) = (figure(first)?.checked_add(figure(offset)?)?, figure(last)?);
    let kind = line
        .text
        .rsplit_once('(')
        .and_then(|(_, rest)| rest.split_once(')'));
    Some(Entry {
        number,
        start,
        sectors: last.checked_add(1)?.checked_sub(start)?,
        kind: kind.map(|(id, _)| id),
    })
}

/// True for the beginning of a row of which the rest was not understood.
fn is_row(line: &Line<'_>) -> bool {
    let mut words = line.text.split_whitespace();
    let numbered = words.next().is_some_and(|word| word.parse::<u8>().is_ok());
    numbered && words.next().is_some_and(|word| word != "Free")
}

pub(super) fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((first, lines)) = section.lines.split_first() else {
        return;
    };
    let Some(path) = path(first) else { return };
    let mut disk = device::disk(path);
    device::table(&mut disk, "dos", first, notes);
    notes.add(disk);
    for line in lines {
        let Some(entry) = entry(line) else {
            if is_row(line) {
                let detail = "the row of a partition is cut off, and was not read";
                notes.remark(AnomalyKind::Truncated, detail, line);
            }
            continue;
        };
        let unused = entry.sectors == 0 || entry.kind == Some("00");
        if unused {
            continue;
        }
        let mut thing = device::numbered_partition(path, entry.number, line, notes);
        let figures = row::Row {
            start: row::exact(entry.start, SECTOR),
            length: row::exact(entry.sectors, SECTOR),
            ..row::Row::default()
        };
        figures.set(&mut thing, line, notes);
        thing.set(
            Key::StartSector,
            notes.said(line, Value::Count(entry.start)),
        );
        if let Some(kind) = entry.kind {
            device::partition_type(&mut thing, kind, line, notes);
        }
        notes.add(thing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_say_the_same() {
        let of = |text| {
            let entry = entry(&Line { number: 1, text })?;
            Some((entry.number, entry.start, entry.sectors, entry.kind))
        };
        let expected = Some((1, 63, 208_782, Some("83")));
        let table = " 1  0x80    1    1     0 0x83  254   63    12          63      208782";
        let sectors =
            " 1 Primary           0      208844     63      208845 Linux (83)           Boot";
        assert_eq!((of(table), of(sectors)), (expected, expected));
        let marked =
            " 5 Logical      208845      417689*    63      208845 Linux swap (82)      None";
        assert_eq!(of(marked), Some((5, 208_908, 208_782, Some("82"))));
        for text in [
            "-- ----- ---- ----",
            " # Type       Sector",
            " 1 Primary  9 7 0 1",
            " 1 0x80 1 1 0 0x83",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
