//! Tables as Markdown has them: `| Name | Size |` above `|---|---|`.

use std::borrow::Cow;

use super::{Field, MOST_FIELDS, MOST_RECORDS, Record};
use crate::captured::text::Line;

/// The cells of a line between bars, with bars at its ends or without.
fn cells<'t>(line: &Line<'t>) -> impl Iterator<Item = &'t str> {
    let text = line.text.trim();
    let text = text.strip_prefix('|').unwrap_or(text);
    let text = text.strip_suffix('|').unwrap_or(text);
    text.split('|').take(MOST_FIELDS).map(str::trim)
}

fn is_ruler(line: &Line<'_>) -> bool {
    line.text.contains("--")
        && line.text.contains('|')
        && line
            .text
            .bytes()
            .all(|b| matches!(b, b'-' | b':' | b'|' | b' '))
}

/// The records in a table that begins in the first of these lines, and how many lines it takes. `known` is asked with the
/// names before any row is read.
pub(crate) fn from_markdown<'t>(
    lines: &[Line<'t>],
    known: impl Fn(&Record<'t>) -> bool,
) -> Option<(Vec<Record<'t>>, usize)> {
    let [header, ruler, rest @ ..] = lines else {
        return None;
    };
    if !header.text.contains('|') || !is_ruler(ruler) {
        return None;
    }
    let names: Vec<&str> = cells(header).collect();
    let record = |line: &Line<'t>, values: Vec<&'t str>| {
        let fields = names.iter().zip(values).map(|(name, value)| Field {
            key: Cow::Borrowed(*name),
            value: Cow::Borrowed(value),
            line: *line,
        });
        Record {
            fields: fields.collect(),
        }
    };
    if !known(&record(header, names.clone())) {
        return None;
    }
    let rows = rest.iter().take_while(|line| line.text.contains('|'));
    let rows = rows.take(MOST_RECORDS);
    let records: Vec<Record<'t>> = rows
        .map(|line| record(line, cells(line).collect()))
        .collect();
    let taken = 2 + records.len();
    Some((records, taken))
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
            let (records, taken) = from_markdown(&text.lines(), |_| true).expect("a table");
            assert_eq!((records.len(), taken), (1, 3));
            assert_eq!(
                records[0].number("StartingOffset").map(|(n, _)| n),
                Some(32_256)
            );
        }
        let text = Text::new(b"a | b\nc | d\n", false);
        assert!(from_markdown(&text.lines(), |_| true).is_none());
    }
}
