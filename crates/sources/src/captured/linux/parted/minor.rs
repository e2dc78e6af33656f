//! The table of parted 1.6: places in MiB with three decimals.
//!
//! ```text
//! Disk geometry for /dev/hda: 0.000-38166.679 megabytes
//! Disk label type: msdos
//! Minor    Start       End     Type      Filesystem  Flags
//! 1          0.031   9538.593  primary   ntfs        boot
//! ```

use straddle_stack::{AnomalyKind, Interval};

use crate::captured::linux::{about, device};
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::row as figures;
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

/// A row, without what somebody put before it to point at it.
struct Row<'t> {
    number: u64,
    start: Interval,
    end: Interval,
    kind: Option<&'t str>,
}

/// A place in MiB, with its three decimals.
fn place(figure: &str) -> Option<Interval> {
    let dotted = figure.contains('.');
    let shown = || number::shown(&format!("{figure}MiB"), Prefix::Binary, Rounding::Nearest);
    dotted.then(shown).flatten()
}

fn row(text: &str) -> Option<Row<'_>> {
    let text = text.trim_start();
    let bare = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    // What a diff took away is not there any more.
    if text.strip_prefix('-') == Some(bare) {
        return None;
    }
    let mut words = bare.split_whitespace();
    Some(Row {
        number: words.next()?.parse().ok()?,
        start: place(words.next()?)?,
        end: place(words.next()?)?,
        kind: words.next(),
    })
}

/// Whether two places stand in a line, or the number of a row begins it.
fn is_like_a_row(text: &str) -> bool {
    let places = text.split_whitespace().filter_map(place).count();
    let first = text.split_whitespace().next();
    places >= 2 || first.is_some_and(|word| word.parse::<u64>().is_ok())
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
        let Some(Row {
            number,
            start,
            end,
            kind,
        }) = row(line.text)
        else {
            if is_like_a_row(line.text) {
                let detail = "the row of a partition could not be read";
                notes.remark(AnomalyKind::Truncated, detail, line);
            }
            continue;
        };
        let mut thing = device::numbered_partition(path, number, line, notes);
        if kind == Some("extended") {
            device::partition_type(&mut thing, "0x5", line, notes);
        }
        let figures = figures::Row {
            start: Some(start),
            end: Some(end),
            ..figures::Row::default()
        };
        figures.set(&mut thing, line, notes);
        notes.add(thing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_may_be_marked() {
        for text in [
            "2        101.975   4102.294  primary   linux-swap",
            "+2       101.975   4102.294  primary   linux-swap",
            "> 2      101.975   4102.294  primary   linux-swap",
            "* 2      101.975   4102.294  primary   linux-swap",
            "- 2      101.975   4102.294  primary   linux-swap",
            "-->2     101.975   4102.294  primary   linux-swap",
        ] {
            let row = row(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((row.number, row.kind), (2, Some("primary")), "{text}");
            assert_eq!(Some(row.start), place("101.975"), "{text}");
        }
        for (text, named) in [
            ("-2       101.975   4102.294  primary", true),
            ("web2:2   101.975   4102.294  primary", true),
            ("2        101", true),
            ("<-- this one", false),
            (
                "Information: Don't forget to update /etc/fstab, if necessary.",
                false,
            ),
        ] {
            assert!(row(text).is_none(), "{text}");
            assert_eq!(is_like_a_row(text), named, "{text}");
        }
    }
}
