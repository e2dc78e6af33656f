//! Tables as Markdown has them: `| Name | Size |` above `|---|---|`.

use std::borrow::Cow;

use super::{Field, MAX_FIELDS, MAX_RECORDS, Record};
use crate::captured::text::Line;

/// The cells of a line between bars, with bars at its ends or without.
fn cells<'t>(line: &Line<'t>) -> impl Iterator<Item = &'t str> {
    let text = line.text.trim();
    let text = text.strip_prefix('|').unwrap_or(text);
    let text = text.strip_suffix('|').unwrap_or(text);
    text.split('|').take(MAX_FIELDS).map(str::trim)
}

fn is_ruler(line: &Line<'_>) -> bool {
    line.text.contains("--")
        && line.text.contains(['|', '+'])
        && line
            .text
            .bytes()
            .all(|b| matches!(b, b'-' | b':' | b'|' | b'+' | b' '))
}

/// True for a row with bars at both ends: of HTML, or of a tracker's own marks.
fn is_framed(line: &Line<'_>) -> bool {
    let text = line.text.trim();
    text.len() > 2 && text.starts_with('|') && text.ends_with('|') && !is_ruler(line)
}

fn record<'t>(names: &[&'t str], line: &Line<'t>) -> Record<'t> {
    let fields = names.iter().zip(cells(line)).map(|(name, value)| Field {
        key: Cow::Borrowed(*name),
        value: Cow::Borrowed(value),
        line: *line,
    });
    Record {
        fields: fields.collect(),
    }
}

/// The records in a table that begins in the first of these lines, and how many lines it takes. `before` are the lines above.
/// `known` is asked with the names before any row is read.
pub(crate) fn from_markdown<'t>(
    before: &[Line<'t>],
    lines: &[Line<'t>],
    known: impl Fn(&Record<'t>) -> bool,
) -> Option<(Vec<Record<'t>>, usize)> {
    let [header, rest @ ..] = lines else {
        return None;
    };
    if !header.text.contains('|') {
        return None;
    }
    let ruled = rest.first().is_some_and(is_ruler);
    if !ruled && !is_framed(header) {
        return None;
    }
    let names: Vec<&str> = cells(header).filter(|name| !name.is_empty()).collect();
    if names.len() < 2 {
        return None;
    }
    if !known(&record(&names, header)) {
        // Inside such a table, its first row has been asked already.
        let mut above = before.iter().rev().take(2).filter(|line| !line.is_blank());
        let inside = above
            .next()
            .is_some_and(|line| is_framed(line) && cells(line).count() == 2);
        return (names.len() == 2 && !inside).then(|| pairs(lines, known))?;
    }
    let mut records = Vec::new();
    let mut taken = 1;
    // Rows of a page have blank lines between them.
    for (index, line) in rest.iter().enumerate() {
        if is_ruler(line) || !ruled && line.is_blank() {
            continue;
        }
        if !line.text.contains('|') || records.len() >= MAX_RECORDS {
            break;
        }
        records.push(record(&names, line));
        taken = index + 2;
    }
    Some((records, taken))
}

/// One object a table: a name and its value in each row.
fn pairs<'t>(
    lines: &[Line<'t>],
    known: impl Fn(&Record<'t>) -> bool,
) -> Option<(Vec<Record<'t>>, usize)> {
    let mut records: Vec<Record<'t>> = Vec::new();
    let mut taken = 0;
    let mut open = Record::default();
    let mut close = |open: &mut Record<'t>| {
        let record = std::mem::take(open);
        if records.len() < MAX_RECORDS && known(&record) {
            records.push(record);
        }
    };
    for (index, line) in lines.iter().enumerate() {
        if line.is_blank() || is_ruler(line) {
            continue;
        }
        let row: Vec<&str> = cells(line).take(3).collect();
        let [name, value] = row.as_slice() else {
            // What the table is about, over both columns.
            if is_framed(line) {
                continue;
            }
            break;
        };
        let key = name.trim_end_matches(':');
        if open.get(key).is_some() {
            close(&mut open);
        }
        open.add(Field {
            key: Cow::Borrowed(key),
            value: Cow::Borrowed(*value),
            line: *line,
        });
        taken = index + 1;
    }
    close(&mut open);
    (!records.is_empty()).then_some((records, taken))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::text::Text;

    #[test]
    fn cells_stand_between_bars() {
        for text in [
            "| Name | StartingOffset |\n|---|---:|\n| Disk #0, Partition #0 | 32256 |\nend\n",
            "Name | StartingOffset\n---|---\nDisk #0, Partition #0 | 32256\n",
        ] {
            let text = Text::new(text.as_bytes(), false);
            let (records, taken) = from_markdown(&[], &text.lines(), |_| true).expect("a table");
            assert_eq!((records.len(), taken), (1, 3));
            assert_eq!(
                records[0].number("StartingOffset").map(|(n, _)| n),
                Some(32_256)
            );
        }
        let bare = "| Name | StartingOffset |\n\n| Disk #0, Partition #0 | 32256 |\n\n";
        let text = Text::new(bare.as_bytes(), false);
        let (records, taken) = from_markdown(&[], &text.lines(), |_| true).expect("a table");
        assert_eq!((records.len(), taken), (1, 3));
        let text = Text::new(b"a | b\nc | d\n", false);
        assert!(from_markdown(&[], &text.lines(), |_| true).is_none());
    }

    #[test]
    fn a_name_and_its_value_may_stand_in_each_row() {
        let text = "| Disk #2, Partition #0 |\n| Property | Value |\n| Index | 0 |\n| Offset: | 32256 |\n| Index | 1 |\nend\n";
        let text = Text::new(text.as_bytes(), false);
        let known = |record: &Record<'_>| record.has(&["Index"]);
        let lines = text.lines();
        let (records, taken) = from_markdown(&lines[..1], &lines[1..], known).expect("objects");
        assert_eq!((records.len(), taken), (2, 4));
        assert_eq!(records[0].number("Offset").map(|(n, _)| n), Some(32_256));
    }
}
