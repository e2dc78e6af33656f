//! What is left of parted's output when only some of its lines are shown, and its answers about alignment.

use straddle_stack::{AnomalyKind, Interval, Key, Value};

use super::columns::columns_of;
use super::figures::figure;
use super::table::rows;
use super::{Disk, device};
use crate::captured::linux::about;
use crate::captured::row;
use crate::captured::text::Line;
use crate::captured::tool::{Context, Notes, Section};

/// Most partitions that a disk is taken to have here.
const MAX_NUMBER: u64 = 1024;

/// A row of the table: a number, and three figures with their units.
pub(super) fn is_row(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let number = words.next().and_then(|word| word.parse::<u64>().ok());
    let has_unit =
        |word: &str| word.ends_with(['s', 'B']) && word.starts_with(|c: char| c.is_ascii_digit());
    number.is_some_and(|number| (1..=MAX_NUMBER).contains(&number))
        && words.by_ref().take(3).filter(|word| has_unit(word)).count() == 3
}

/// What is left of such a row, from its left: a number and a figure with its unit.
pub(super) fn begins_as_row(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let number = words.next().is_some_and(|word| word.parse::<u64>().is_ok());
    let figure = words.next().is_some_and(|word| {
        word.ends_with(['s', 'B']) && word.starts_with(|c: char| c.is_ascii_digit())
    });
    number && figure
}

/// The names of the columns, in any language: five or more, and no figures.
pub(super) fn is_names(text: &str) -> bool {
    let numbers = ["Num", "Núm", "Ном", "番号", "编号", "編號", "Nr", "Št"];
    numbers.iter().any(|start| text.starts_with(start))
        && !text.bytes().any(|b| b.is_ascii_digit())
        && columns_of(text).len() >= 5
}

/// The disk that the command was about.
fn disk(context: &Context<'_>, line: &Line<'_>, notes: &mut Notes<'_>) -> String {
    if let Some(name) = about::of(context, &["parted"]) {
        return format!("/dev/{}", name.text.trim_start_matches("/dev/"));
    }
    let detail = "the line that names the disk was lost";
    notes.remark(AnomalyKind::Missing, detail, line);
    "disk ?".to_owned()
}

pub(super) fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some(first) = section.lines.first() else {
        return;
    };
    let typed = section.lines.iter().take(3).any(|line| {
        let mut words = line.text.split_whitespace().skip(4);
        words.any(|word| matches!(word, "primary" | "extended" | "logical"))
    });
    let partitions = rows(section.lines, typed, notes);
    if partitions.is_empty() {
        let detail = "no row below these names could be read";
        notes.remark(AnomalyKind::Truncated, detail, first);
        return;
    }
    let disk = Disk {
        path: disk(&section.context, first, notes),
        size: None,
        sectors: None,
        label: None,
        transport: None,
        model: None,
        id: None,
        partitions,
    };
    disk.note(notes);
}

/// `1 not aligned: 63s % 2048s != 0s`, `1 aligned`: the partition, whether it is aligned, and where it starts.
pub(super) fn alignment(line: &Line<'_>) -> Option<(u64, bool, Option<Interval>)> {
    let (number, rest) = line.text.trim().split_once(' ')?;
    let number = number.parse().ok()?;
    match rest.trim().strip_prefix("not aligned") {
        None => (rest.trim() == "aligned").then_some((number, true, None)),
        Some(why) => {
            let start = why.trim_start_matches(':').split_whitespace().next();
            Some((number, false, start.and_then(|start| figure(start, 512))))
        }
    }
}

pub(super) fn read_alignment(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((line, (number, aligned, start))) = section
        .lines
        .first()
        .and_then(|line| Some((line, alignment(line)?)))
    else {
        return;
    };
    let Some(start) = start else {
        if !aligned {
            let detail = format!(
                "parted calls partition {number} not aligned, and does not say where it starts"
            );
            notes.remark(AnomalyKind::Missing, detail, line);
        }
        return;
    };
    let path = disk(&section.context, line, notes);
    notes.add(device::disk(&path));
    let mut thing = device::numbered_partition(&path, number, line, notes);
    let place = row::Row {
        start: Some(start),
        ..row::Row::default()
    };
    place.set(&mut thing, line, notes);
    if let Some(bytes) = start.known() {
        thing.set(
            Key::StartSector,
            notes.said(line, Value::Count(bytes.get() / 512)),
        );
    }
    notes.add(thing);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_names_are_known_by_themselves() {
        assert!(is_row(" 1      34s    7814037134s  7814037101s  xfs"));
        assert!(is_row("12  1049kB  538MB  537MB  fat32"));
        for text in [
            "1 34 7814037134 7814037101",
            "1 2048s",
            "0 1s 2s 3s",
            "x 1s 2s 3s",
        ] {
            assert!(!is_row(text), "{text}");
        }
        assert!(is_names(
            "Number  Start   End     Size    File system  Name  Flags"
        ));
        assert!(!is_names("Number of disks: 3"));
    }

    #[test]
    fn answers_about_alignment() {
        let of = |text| {
            let found = alignment(&Line { number: 1, text })?;
            Some((found.0, found.1, found.2.map(|start| start.from().get())))
        };
        assert_eq!(of("1 aligned"), Some((1, true, None)));
        assert_eq!(of("3 not aligned"), Some((3, false, None)));
        let shown = "1 not aligned: 63s % 2048s != 0s";
        assert_eq!(of(shown), Some((1, false, Some(32_256))));
        assert_eq!(of("2 disks are aligned"), None);
        assert_eq!(of("all aligned"), None);
    }
}
