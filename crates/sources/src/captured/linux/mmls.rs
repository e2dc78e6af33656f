//! `mmls` of The Sleuth Kit: the slots of a partition table.
//!
//! ```text
//! Units are in 512-byte sectors
//!       Slot      Start        End          Length       Description
//! 002:  000:000   0000000063   0002056319   0002056257   Win95 FAT32 (0x0b)
//! ```
//!
//! Source: sleuthkit `tools/vstools/mmls.cpp`. Before version 3, numbers of slots have two digits.

use straddle_stack::AnomalyKind;

use super::{about, device};
use crate::captured::row;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "mmls",
    platform: "linux",
    commands: &["mmls IMAGE"],
    readers: &[Reader::Text {
        anchors: &[
            Anchor::Start("Slot "),
            Anchor::LooseShaped(|text| row(text).is_some()),
        ],
        begins: |lines| is_heading(lines[0].text) || row(lines[0].text).is_some(),
        read,
    }],
};

fn is_heading(text: &str) -> bool {
    let words = text.split_whitespace().take(4);
    words.eq(["Slot", "Start", "End", "Length"])
}

struct Row<'t> {
    start: u64,
    end: u64,
    length: u64,
    /// The type of an MBR's entry.
    kind: Option<&'t str>,
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// A slot with a partition in it: neither a table itself nor what is not allocated.
fn row(text: &str) -> Option<Row<'_>> {
    let mut words = text.split_whitespace();
    let number = words.next()?.strip_suffix(':')?;
    let slot = words.next()?;
    let figure = |word: &str| (word.len() == 10 && digits(word)).then(|| word.parse().ok())?;
    if !digits(number) || !slot.split(':').all(digits) {
        return None;
    }
    Some(Row {
        start: figure(words.next()?)?,
        end: figure(words.next()?)?,
        length: figure(words.next()?)?,
        kind: text
            .rsplit_once("(0x")
            .and_then(|(_, kind)| kind.trim_end().strip_suffix(')')),
    })
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let path = about::path(&section.context, &["mmls"]);
    let mut near = section.lines.iter().chain(section.before.iter().rev());
    let unit = near.find_map(|line| {
        let rest = line.text.trim().strip_prefix("Units are in ")?;
        rest.split('-').next()?.parse().ok()
    });
    let unit: u64 = unit.unwrap_or(512);
    notes.add(device::disk(&path));
    for line in section.lines {
        let Some(found) = row(line.text) else {
            if is_cut(line) {
                let detail = "the row of a slot is cut off, and was not read";
                notes.remark(AnomalyKind::Truncated, detail, line);
            }
            continue;
        };
        let in_512 = found.start.saturating_mul(unit) / 512;
        let mut thing = device::partition_at(&path, in_512);
        let figures = row::Row {
            start: row::exact(found.start, unit),
            end: found
                .end
                .checked_add(1)
                .and_then(|end| row::exact(end, unit)),
            length: row::exact(found.length, unit),
            ..row::Row::default()
        };
        figures.set(&mut thing, line, notes);
        if let Some(kind) = found.kind {
            device::partition_type(&mut thing, kind, line, notes);
        }
        notes.add(thing);
    }
}

/// `003:  000:001   00020`.
fn is_cut(line: &Line<'_>) -> bool {
    let mut words = line.text.split_whitespace();
    let number = words.next().and_then(|word| word.strip_suffix(':'));
    number.is_some_and(digits) && words.next().is_some_and(|slot| slot.split(':').all(digits))
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn slots_with_partitions_are_rows() {
        let of = |text| row(text).map(|row| (row.start, row.end, row.length, row.kind));
        assert_eq!(
            of("002:  000:000   0000000063   0002056319   0002056257   Win95 FAT32 (0x0b)"),
            Some((63, 2_056_319, 2_056_257, Some("0b")))
        );
        assert_eq!(
            of("004:  000       0000002048   0000411647   0000409600   EFI system partition"),
            Some((2048, 411_647, 409_600, None))
        );
        assert_eq!(
            of("000:  Meta      0000000000   0000000000   0000000001   Primary Table (#0)"),
            None
        );
        assert_eq!(
            of("001:  -------   0000000000   0000000062   0000000063   Unallocated"),
            None
        );
        assert_eq!(of("002:  000:000   0000000063   00020"), None);
    }
}
