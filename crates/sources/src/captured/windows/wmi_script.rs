//! What scripts over WMI print of partitions: `DiskIndex: 0 -- Name: Disk #0, Partition #0  -- StartingOffset: 32256`, one
//! line for each, which mail breaks.

use std::borrow::Cow;

use crate::captured::records::{Field, Record};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::captured::windows::wmic;

pub(crate) static TOOL: Tool = Tool {
    name: "wmi-script",
    platform: "windows",
    commands: &["cscript //nologo partitions.vbs"],
    readers: &[Reader::Text {
        anchors: &[
            Anchor::Within("DiskIndex:"),
            Anchor::Within("StartingOffset:"),
            Anchor::Within("#"),
        ],
        begins,
        read,
    }],
};

/// A line in which the first of several fields stands; the others may have been broken off.
fn begins(lines: &[Line<'_>]) -> bool {
    let text = lines[0].text.trim();
    let known = ["DiskIndex:", "Name:", "DeviceID:", "StartingOffset:"];
    let goes_on = |line: &Line<'_>| line.text.trim_start().starts_with("-- ");
    known.iter().any(|key| text.starts_with(key))
        && (text.contains(" --") || lines.get(1).is_some_and(goes_on))
}

fn is_ruler(line: &Line<'_>) -> bool {
    line.text.trim().bytes().all(|b| b == b'-')
}

/// The fields of an object that may go over several lines, each with the line in which its value stands.
fn fields<'t>(lines: &[Line<'t>]) -> Vec<Field<'t>> {
    let mut joined = String::new();
    let mut starts: Vec<(usize, Line<'t>)> = Vec::new();
    for line in lines.iter().take(MOST_LINES) {
        if is_ruler(line) || line.text.contains("Win32_") {
            break;
        }
        starts.push((joined.len(), *line));
        joined.push_str(line.text.trim());
        joined.push(' ');
    }
    let mut fields = Vec::new();
    let mut at = 0;
    for part in joined.split("--") {
        if let Some((key, value)) = part.split_once(':') {
            let blanks = value.len() - value.trim_start().len();
            let place = at + key.len() + 1 + blanks;
            let line = starts.iter().rev().find(|(start, _)| *start <= place);
            if let Some((_, line)) = line {
                fields.push(Field {
                    key: Cow::Owned(key.trim().to_owned()),
                    value: Cow::Owned(value.trim().to_owned()),
                    line: *line,
                });
            }
        }
        at += part.len() + 2;
    }
    fields
}

/// Most lines that one object is broken into.
const MOST_LINES: usize = 12;

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let lines = section.lines;
    let end = lines.iter().position(Line::is_blank).unwrap_or(lines.len());
    let mut record = Record {
        fields: fields(&lines[..end]),
    };
    // What follows the last field on a line of its own is none of it.
    for field in &mut record.fields {
        let numeric = ["StartingOffset", "Size", "BlockSize", "DiskIndex", "Index"];
        if numeric.contains(&&*field.key) {
            let first = field.value.split_whitespace().next().unwrap_or_default();
            field.value = Cow::Owned(first.to_owned());
        }
    }
    if record.get("StartingOffset").is_some() {
        wmic::partition(&record, notes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_was_broken_off_is_in_the_line_where_it_stands() {
        let lines = [
            "DiskIndex: 1 -- Name: Disk #1,",
            "Partition #0 -- StartingOffset:",
            "32256",
        ];
        let lines: Vec<Line<'_>> = (1..)
            .zip(lines)
            .map(|(number, text)| Line { number, text })
            .collect();
        assert!(begins(&lines));
        let found: Vec<(String, String, u64)> = fields(&lines)
            .into_iter()
            .map(|field| {
                (
                    field.key.to_string(),
                    field.value.to_string(),
                    field.line.number,
                )
            })
            .collect();
        let expected = [
            ("DiskIndex", "1", 1),
            ("Name", "Disk #1, Partition #0", 1),
            ("StartingOffset", "32256", 3),
        ];
        let expected = expected.map(|(key, value, line)| (key.to_owned(), value.to_owned(), line));
        assert_eq!(found, expected);
    }
}
