//! The table of parted 1.6: places in MiB with three decimals.
//!
//! ```text
//! Disk geometry for /dev/hda: 0.000-38166.679 megabytes
//! Disk label type: msdos
//! Minor    Start       End     Type      Filesystem  Flags
//! 1          0.031   9538.593  primary   ntfs        boot
//! ```

use straddle_stack::OddityKind;

use crate::captured::linux::{about, device};
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::row;
use crate::captured::text::Line;
use crate::captured::tool::{Notes, Section};

/// `Minor    Start       End     Type      Filesystem  Flags`.
pub(super) fn is_heading(line: &Line<'_>) -> bool {
    let words = line.text.split_whitespace().take(3);
    words.eq(["Minor", "Start", "End"])
}

/// `Disk geometry for /dev/hda: 0.000-38166.679 megabytes`.
fn path<'t>(line: &Line<'t>) -> Option<&'t str> {
    let rest = line.text.trim().strip_prefix("Disk geometry for ")?;
    Some(rest.split_once(": ")?.0)
}

pub(super) fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let above = || section.before.iter().rev();
    let asked = about::path(&section.context, &["parted"]);
    let path = above().find_map(path).unwrap_or(&asked);
    let mut disk = device::disk(path);
    let label = above().find_map(|line| {
        let label = line.text.trim().strip_prefix("Disk label type: ")?;
        Some((label, *line))
    });
    if let Some((label, line)) = label {
        device::table(&mut disk, label, &line, notes);
    }
    notes.add(disk);
    for line in section
        .lines
        .iter()
        .skip(1)
        .take_while(|line| !line.is_blank())
    {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let Some(number) = words.first().and_then(|word| word.parse().ok()) else {
            break;
        };
        let place = |at: usize| {
            let figure = words.get(at).filter(|word| word.contains('.'))?;
            number::shown(&format!("{figure}MiB"), Prefix::Binary, Rounding::Nearest)
        };
        let (Some(start), Some(end)) = (place(1), place(2)) else {
            let detail = "the row of a partition could not be read";
            notes.remark(OddityKind::Truncated, detail, line);
            continue;
        };
        let mut thing = device::numbered_partition(path, number, line, notes);
        if words.get(3) == Some(&"extended") {
            device::partition_type(&mut thing, "0x5", line, notes);
        }
        let figures = row::Row {
            start: Some(start),
            end: Some(end),
            ..row::Row::default()
        };
        figures.set(&mut thing, line, notes);
        notes.add(thing);
    }
}
