//! Objects with named fields, however they were printed: as a list, a table, JSON, CSV or CLIXML.

use std::borrow::Cow;

use super::json::Json;
use super::text::Line;

/// One object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record<'t> {
    /// Its fields, in their order.
    pub(crate) fields: Vec<Field<'t>>,
}

/// A field of a [`Record`].
#[derive(Clone, Debug)]
pub(crate) struct Field<'t> {
    /// Its name.
    pub(crate) key: Cow<'t, str>,
    /// Its value as text; empty when there is none.
    pub(crate) value: Cow<'t, str>,
    /// The line that it stands in.
    pub(crate) line: Line<'t>,
}

impl<'t> Record<'t> {
    /// A field by its name, whatever the case of its letters.
    pub(crate) fn get(&self, key: &str) -> Option<&Field<'t>> {
        self.fields
            .iter()
            .find(|field| field.key.eq_ignore_ascii_case(key))
    }

    /// A field that is not empty.
    pub(crate) fn filled(&self, key: &str) -> Option<&Field<'t>> {
        self.get(key).filter(|field| !field.value.is_empty())
    }

    /// A field that is a whole number.
    pub(crate) fn number(&self, key: &str) -> Option<(u64, Line<'t>)> {
        let field = self.get(key)?;
        Some((super::number::whole(&field.value)?, field.line))
    }

    /// True when it has all these fields.
    pub(crate) fn has(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.get(key).is_some())
    }
}

/// The records in a JSON list of objects, or in one object.
pub(crate) fn from_json<'t>(json: &Json<'t>) -> Vec<Record<'t>> {
    let objects = json.objects();
    let record = |object: super::json::Object<'t>| Record {
        fields: object
            .members()
            .map(|(key, value)| Field {
                key: Cow::Owned(key.to_owned()),
                value: value.text().unwrap_or_default(),
                line: value.line(),
            })
            .collect(),
    };
    objects.into_iter().map(record).collect()
}

/// The records in `Key : value` or `KEY=value` lines, one after the other without a blank line between them, from the
/// beginning of `lines`; and how many lines they take. A line that begins with blanks goes on where the one before ended.
pub(crate) fn from_list<'t>(lines: &[Line<'t>]) -> (Record<'t>, usize) {
    let mut record = Record::default();
    let mut taken = 0;
    for line in lines {
        if line.is_blank() {
            break;
        }
        match pair(line) {
            // The same key again: another object begins.
            Some(field) if record.get(&field.key).is_some() => break,
            Some(field) => record.fields.push(field),
            None => match record.fields.last_mut() {
                Some(last) if line.text.starts_with(' ') => {
                    last.value.to_mut().push_str(line.text.trim());
                }
                _ => break,
            },
        }
        taken += 1;
    }
    (record, taken)
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

/// The records in comma- or semicolon-separated lines under a line of names, up to a blank line; and how many lines they
/// take.
pub(crate) fn from_csv<'t>(lines: &[Line<'t>]) -> (Vec<Record<'t>>, usize) {
    // Windows PowerShell says of what type the objects are.
    let skip = usize::from(
        lines
            .first()
            .is_some_and(|line| line.text.starts_with("#TYPE")),
    );
    let Some(header) = lines.get(skip) else {
        return (Vec::new(), skip);
    };
    let separator = if header.text.contains(',') {
        b','
    } else {
        b';'
    };
    let body: Vec<Line<'t>> = lines[skip..]
        .iter()
        .take_while(|line| !line.is_blank())
        .copied()
        .collect();
    let mut records = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for line in &body {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(separator)
            .from_reader(line.text.as_bytes());
        let Some(Ok(row)) = reader.records().next() else {
            continue;
        };
        if names.is_empty() {
            names = row.iter().map(|name| name.trim().to_owned()).collect();
            continue;
        }
        let fields = names.iter().zip(row.iter()).map(|(name, value)| Field {
            key: Cow::Owned(name.clone()),
            value: Cow::Owned(value.trim().to_owned()),
            line: *line,
        });
        records.push(Record {
            fields: fields.collect(),
        });
    }
    (records, skip + body.len())
}

/// True for a line that names the fields of comma-separated lines: three names or more.
pub(crate) fn is_csv_header(line: &Line<'_>) -> bool {
    let text = line.text;
    if text.starts_with("#TYPE") {
        return true;
    }
    let separator = if text.contains(',') { ',' } else { ';' };
    let mut names = 0;
    for name in text.split(separator) {
        let name = name.trim().trim_matches('"');
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return false;
        }
        names += 1;
    }
    names >= 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::text::Text;

    #[test]
    fn one_object_has_one_shape_of_record_however_it_is_printed() {
        let list = Text::new(
            b"DiskNumber : 0\nOffset     : 1048576\nGuid       : {a-\n             b}\n",
            false,
        );
        let csv = Text::new(
            b"\"DiskNumber\",\"Offset\",\"Guid\"\n\"0\",\"1048576\",\"{a-b}\"\n",
            false,
        );
        let lines = list.lines();
        let (from_list, taken) = from_list(&lines);
        assert_eq!(taken, 4);
        let lines = csv.lines();
        assert!(is_csv_header(&lines[0]));
        let (mut from_csv, taken) = from_csv(&lines);
        assert_eq!(taken, 2);
        let whole = r#"{"DiskNumber":0,"Offset":1048576,"Guid":"{a-b}"}"#;
        let json = Json::new(whole, &[], &[]).expect("sound");
        let mut from_json = from_json(&json);
        for record in [from_list, from_csv.remove(0), from_json.remove(0)] {
            assert_eq!(record.number("offset").map(|(n, _)| n), Some(1_048_576));
            assert_eq!(
                record.filled("Guid").map(|f| f.value.as_ref()),
                Some("{a-b}")
            );
        }
    }

    #[test]
    fn wmic_puts_one_object_after_the_other() {
        let text = Text::new(b"Index=0\nName=\n\nIndex=1\nIndex=2\n", false);
        let lines = text.lines();
        let (record, taken) = from_list(&lines);
        assert_eq!((record.fields.len(), taken), (2, 2));
        let (record, taken) = from_list(&lines[3..]);
        assert_eq!((record.fields.len(), taken), (1, 1));
    }
}
