//! The tables of `esxcli`: names, a line of dashes that shows how wide the columns are, rows.

use std::borrow::Cow;

use crate::captured::records::{Field, Record};
use crate::captured::text::Line;

/// True when a table begins in the first of these lines: with these columns, and a line of dashes below.
pub(super) fn begins(lines: &[Line<'_>], columns: &[&str]) -> bool {
    let [header, dashes, ..] = lines else {
        return false;
    };
    is_dashes(dashes) && columns.iter().all(|column| header.text.contains(column))
}

fn is_dashes(line: &Line<'_>) -> bool {
    line.text.contains("---") && line.text.bytes().all(|b| b == b'-' || b == b' ')
}

/// The rows of the table that begins in the first line, up to a blank line.
pub(super) fn rows<'t>(lines: &[Line<'t>]) -> Vec<Record<'t>> {
    let [header, dashes, rest @ ..] = lines else {
        return Vec::new();
    };
    let columns = columns(dashes.text);
    let names: Vec<&str> = columns
        .iter()
        .enumerate()
        .map(|(index, _)| cell(header.text, &columns, index))
        .collect();
    let body = rest.iter().take_while(|line| !line.is_blank());
    let row = |line: &Line<'t>| {
        let whole = columns.iter().enumerate().all(|(index, _)| {
            // Pasted text loses blanks; then words are columns.
            !cell(line.text, &columns, index).is_empty()
        });
        let words: Vec<&str> = if whole || line.text.split_whitespace().count() != names.len() {
            let cells = columns.iter().enumerate();
            cells
                .map(|(index, _)| cell(line.text, &columns, index))
                .collect()
        } else {
            line.text.split_whitespace().collect()
        };
        let fields = names.iter().zip(words).map(|(name, value)| Field {
            key: Cow::Borrowed(*name),
            value: Cow::Borrowed(value),
            line: *line,
        });
        Record {
            fields: fields.collect(),
        }
    };
    body.map(row).collect()
}

/// Where each run of dashes starts and ends, in characters.
fn columns(dashes: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, byte) in dashes.bytes().enumerate() {
        match found.last_mut() {
            _ if byte != b'-' => {}
            Some((_, end)) if *end == at => *end = at + 1,
            _ => found.push((at, at + 1)),
        }
        if found.len() > 32 {
            break;
        }
    }
    found
}

/// What stands in a column, from its first dash to where the next column starts.
fn cell<'t>(text: &'t str, columns: &[(usize, usize)], index: usize) -> &'t str {
    // A word that stands across the beginning of a column belongs to that as a whole: rows shift where a cell is too long.
    let place = |characters: usize| {
        let at = text.char_indices().nth(characters);
        let at = at.map_or(text.len(), |(at, _)| at);
        text[..at]
            .rfind(' ')
            .map_or(at, |blank| match text.as_bytes().get(at) {
                Some(b' ') | None => at,
                Some(_) => blank + 1,
            })
    };
    let from = place(columns[index].0);
    let to = match columns.get(index + 1) {
        Some((next, _)) => place(*next),
        None => text.len(),
    };
    text.get(from..to).unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines<'t>(texts: &[&'t str]) -> Vec<Line<'t>> {
        let line = |(index, text): (usize, &&'t str)| Line {
            number: index as u64 + 1,
            text,
        };
        texts.iter().enumerate().map(line).collect()
    }

    #[test]
    fn cells_are_what_stands_under_their_dashes() {
        let table = lines(&[
            "Volume Name  VMFS UUID  Extent Number  Device Name  Partition",
            "-----------  ---------  -------------  -----------  ---------",
            "data store   51d6-a     0              mpx.a        3",
            "x 51d6-b 1 mpx.b 4",
            "",
            "not a row",
        ]);
        assert!(begins(&table, &["Volume Name", "Partition"]));
        let rows = rows(&table);
        assert_eq!(rows.len(), 2);
        let get = |row: usize, key: &str| rows[row].get(key).map(|f| f.value.to_string());
        assert_eq!(get(0, "Volume Name").as_deref(), Some("data store"));
        assert_eq!(get(0, "Partition").as_deref(), Some("3"));
        let shifted = lines(&[
            "Device  Size    Format Type",
            "------  ------  -----------",
            "mpx.a   500 MiB  512n",
            "mpx.b   5 MiB  512e",
        ]);
        let of = |row: &Record<'_>| row.get("Format Type").map(|f| f.value.to_string());
        let formats: Vec<_> = self::rows(&shifted).iter().filter_map(of).collect();
        assert_eq!(formats, ["512n", "512e"]);
        // Blanks were lost: as many words as columns.
        assert_eq!(get(1, "Device Name").as_deref(), Some("mpx.b"));
    }
}
