//! `Key : value` and `KEY=value` lines: Format-List, `wmic … /format:list`.

use std::borrow::Cow;

use super::{Field, MAX_FIELDS, MAX_RECORDS, Record};
use crate::captured::text::Line;

/// The records in `Key : value` or `KEY=value` lines, one after the other without a blank line between them, from the
/// beginning of `lines`; and how many lines they take. A line that begins with blanks goes on where the one before ended.
pub(crate) fn from_list<'t>(lines: &[Line<'t>]) -> (Record<'t>, usize) {
    // An object of WMI has three dozen fields.
    let mut record = Record {
        fields: Vec::with_capacity(40),
    };
    let mut taken = 0;
    for (index, line) in lines.iter().enumerate() {
        if line.is_blank() {
            break;
        }
        match pair(line) {
            // The same key again: another object begins.
            Some(field) if record.get(&field.key).is_some() => break,
            Some(field) => record.add(field),
            None => match record.fields.last_mut() {
                Some(last) if line.text.starts_with(' ') => {
                    last.value.to_mut().push_str(line.text.trim());
                }
                // A name that lost its value is none of the object, and does not end it.
                Some(_) if is_cut(line) && lines.get(index + 1).and_then(pair).is_some() => {}
                _ => break,
            },
        }
        taken += 1;
    }
    (record, taken)
}

/// The objects in lines like `@{DiskNumber=0; Offset=32256}`, as PowerShell writes one as text; none unless the
/// first is `known`.
pub(crate) fn from_hashtables<'t>(
    lines: &[Line<'t>],
    known: impl Fn(&Record<'t>) -> bool,
) -> Vec<Record<'t>> {
    let object = |line: &Line<'t>| {
        let inner = line.text.trim().strip_prefix("@{")?.strip_suffix('}')?;
        let mut record = Record::default();
        for member in inner.split("; ").take(MAX_FIELDS) {
            let (key, value) = member.split_once('=')?;
            record.add(Field {
                key: Cow::Borrowed(key.trim()),
                value: Cow::Borrowed(value.trim()),
                line: *line,
            });
        }
        Some(record)
    };
    let first = lines.first().and_then(object);
    if !first.is_some_and(|first| known(&first)) {
        return Vec::new();
    }
    lines.iter().take(MAX_RECORDS).map_while(object).collect()
}

/// Half a name, or a name without what follows it.
fn is_cut(line: &Line<'_>) -> bool {
    let text = line.text.trim_end();
    text.len() < 40 && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// `Key : value` or `KEY=value`.
pub(crate) fn pair<'t>(line: &Line<'t>) -> Option<Field<'t>> {
    if line.text.starts_with(' ') {
        return None;
    }
    let at = line.text.find([':', '='])?;
    let key = line.text[..at].trim();
    let named = key
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"_-. ".contains(&b));
    (named && !key.is_empty()).then(|| Field {
        key: Cow::Borrowed(key),
        value: Cow::Borrowed(line.text[at + 1..].trim()),
        line: *line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_as_text_are_one_a_line() {
        let lines = [
            "@{DiskNumber=0; Offset=32256; Name=}",
            " @{DiskNumber=1; Offset=1}",
            "@{x}",
        ];
        let lines: Vec<Line<'_>> = (1..)
            .zip(lines)
            .map(|(number, text)| Line { number, text })
            .collect();
        let records = from_hashtables(&lines, |_| true);
        assert_eq!(records.len(), 2);
        assert_eq!(records[0].number("Offset").map(|(n, _)| n), Some(32_256));
        assert!(records[0].get("Name").is_some() && records[0].filled("Name").is_none());
        assert_eq!(records[1].fields.len(), 2);
        assert!(from_hashtables(&lines, |_| false).is_empty());
    }
}
