//! The tables of `pvs`, `vgs` and `lvs` as rows with the names of their fields.

use std::borrow::Cow;

use crate::captured::records::{Field, Record};
use crate::captured::text::Line;

/// Headings, and the fields below them.
const HEADINGS: [(&str, &str); 24] = [
    ("LV UUID", "lv_uuid"),
    ("PV UUID", "pv_uuid"),
    ("VG UUID", "vg_uuid"),
    ("PE Ranges", "seg_pe_ranges"),
    ("1st PE", "pe_start"),
    ("Data%", ""),
    ("LV", "lv_name"),
    ("PV", "pv_name"),
    ("VG", "vg_name"),
    ("LSize", "lv_size"),
    ("PSize", "pv_size"),
    ("DevSize", "dev_size"),
    ("Ext", "vg_extent_size"),
    ("Pool", "pool_lv"),
    ("Origin", "origin"),
    ("Devices", "devices"),
    ("Type", "segtype"),
    ("#Str", "stripes"),
    ("Stripe", "stripe_size"),
    ("Chunk", "chunk_size"),
    ("SSize", "seg_size"),
    ("Start", "seg_start"),
    ("DMPath", "lv_dm_path"),
    ("Attr", "lv_attr"),
];

/// Most columns of a table.
const MAX_COLUMNS: usize = 64;

/// The columns under a line of headings: where each begins, and its field.
fn columns(heading: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while found.len() < MAX_COLUMNS {
        let Some(rest) = heading.get(at..) else { break };
        let Some(skip) = rest.find(|c: char| c != ' ') else {
            break;
        };
        at += skip;
        let rest = &heading[at..];
        let ends =
            |text: &str| rest[text.len()..].is_empty() || rest[text.len()..].starts_with(' ');
        let known = HEADINGS
            .iter()
            .find(|(text, _)| rest.starts_with(text) && ends(text));
        let len = match known {
            Some((text, _)) => text.len(),
            None => rest.find(' ').unwrap_or(rest.len()),
        };
        found.push((at, known.map_or("", |(_, field)| field)));
        at += len;
    }
    found
}

/// True for the headings of one of these tables.
pub(super) fn is_heading(line: &Line<'_>) -> bool {
    let text = line.text.trim_start();
    if !["LV ", "PV ", "VG "]
        .iter()
        .any(|start| text.starts_with(start))
        || !line.text.is_ascii()
    {
        return false;
    }
    columns(text)
        .iter()
        .filter(|(_, field)| !field.is_empty())
        .count()
        >= 2
}

/// Where consoles of old wrap.
const WIDTH: usize = 80;

/// What the tools say between rows and below them with `-v`, as sos calls them.
const MESSAGES: [&str; 8] = [
    "Finding all ",
    "No matching ",
    "No volume groups ",
    "Reloading config files",
    "There are ",
    "Using ",
    "WARNING: ",
    "Wiping ",
];

fn is_message(line: &Line<'_>) -> bool {
    let text = line.text.trim_start();
    MESSAGES.iter().any(|message| text.starts_with(message))
}

/// The rows under a line of headings, up to a blank line. All rows begin where the headings do; what begins elsewhere was
/// wrapped.
pub(super) fn rows<'t>(lines: &[Line<'t>]) -> Vec<Record<'t>> {
    let Some((heading, rest)) = lines.split_first() else {
        return Vec::new();
    };
    let more = rest.first().filter(|line| is_more_headings(line));
    let (columns, rest) = match more {
        Some(more) => (
            columns(&format!("{:WIDTH$}{}", heading.text, more.text)),
            &rest[1..],
        ),
        None => (columns(heading.text), rest),
    };
    let indent = |text: &str| text.len() - text.trim_start().len();
    let mut out = Vec::new();
    let mut whole: Option<(Cow<'_, str>, Line<'t>)> = None;
    let below = rest.iter().take_while(|line| !line.is_blank());
    for line in below.filter(|line| !is_message(line)) {
        match &mut whole {
            Some((text, _)) if indent(line.text) != indent(heading.text) && text.len() <= WIDTH => {
                *text = Cow::Owned(format!("{text:WIDTH$}{}", line.text));
            }
            _ => {
                out.extend(whole.take().map(|(text, line)| row(&columns, &text, line)));
                whole = Some((Cow::Borrowed(line.text), *line));
            }
        }
    }
    out.extend(whole.take().map(|(text, line)| row(&columns, &text, line)));
    out
}

/// True for the end of a line of headings.
fn is_more_headings(line: &Line<'_>) -> bool {
    let mut words = line.text.split_whitespace();
    words.any(|word| word == "Devices") && !line.text.contains('/')
}

/// Each word belongs to the last column that begins at or before it.
fn row<'t>(columns: &[(usize, &'static str)], text: &str, line: Line<'t>) -> Record<'t> {
    let mut record = Record::default();
    let mut fields: Vec<(usize, String)> = Vec::new();
    let base = text.as_ptr() as usize;
    // Wherever it stands, nothing else looks like `/dev/sda2(0)`.
    let devices = columns.iter().position(|(_, field)| *field == "devices");
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let at = word.as_ptr() as usize - base;
        let below = columns.iter().rposition(|(start, _)| *start <= at);
        let is_device = word.ends_with(')') && word.contains('(');
        let Some(column) = devices.filter(|_| is_device).or(below) else {
            continue;
        };
        match fields.last_mut() {
            Some((last, text)) if *last == column => {
                text.push(' ');
                text.push_str(word);
            }
            _ => fields.push((column, word.to_owned())),
        }
    }
    for (column, value) in fields {
        let key = columns[column].1;
        if !key.is_empty() {
            record.fields.push(Field {
                key: Cow::Borrowed(key),
                value: Cow::Owned(value),
                line,
            });
        }
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_belong_to_the_columns_that_they_stand_in() {
        let text = "  PV         VG   Fmt  Attr PSize  PFree 1st PE \n  /dev/sda2  vg   lvm2 a--  <9.99g    0   1.00m\n  /dev/sdb        lvm2 ---  10.00g 10.00g      0 \n";
        let lines: Vec<Line<'_>> = text
            .lines()
            .zip(1..)
            .map(|(text, number)| Line { number, text })
            .collect();
        assert!(is_heading(&lines[0]));
        let rows = rows(&lines);
        let value = |row: usize, key| rows[row].filled(key).map(|f| f.value.to_string());
        assert_eq!(value(0, "pv_name").as_deref(), Some("/dev/sda2"));
        assert_eq!(value(0, "pe_start").as_deref(), Some("1.00m"));
        assert_eq!(value(0, "pv_size").as_deref(), Some("<9.99g"));
        assert_eq!(value(1, "vg_name"), None);
        let verbose = text.replace("  /dev/sdb", "  WARNING: Device is odd.\n  /dev/sdb")
            + "  Reloading config files\n";
        let lines: Vec<Line<'_>> = verbose
            .lines()
            .zip(1..)
            .map(|(text, number)| Line { number, text })
            .collect();
        assert_eq!(super::rows(&lines).len(), 2);
        assert_eq!(value(1, "pv_size").as_deref(), Some("10.00g"));
    }
}
