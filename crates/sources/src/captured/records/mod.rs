//! Objects with named fields, however they were printed: as a list, a table, JSON, CSV or CLIXML.

mod clixml;
mod csv;
mod json;
mod list;
mod markdown;
mod record;
mod shape;
mod table;
mod units;

pub(crate) use clixml::{from_clixml, is_clixml};
pub(crate) use csv::{from_csv, is_csv_header};
pub(crate) use json::from_json;
pub(crate) use list::{from_hashtables, from_list, pair};
pub(crate) use markdown::from_markdown;
use record::MAX_FIELDS;
pub(crate) use record::{Field, MAX_RECORDS, Record};
pub(crate) use shape::{by_shape, from_shapes, is_shifted};
pub(crate) use table::{from_table, lacks_names};

use std::collections::BTreeSet;
use straddle_stack::AnomalyKind;

use super::tool::Notes;

/// The field that says where something starts, in the words of Windows.
pub(crate) fn start_of<'r, 't>(record: &'r Record<'t>) -> Option<&'r Field<'t>> {
    ["Offset", "StartingOffset"]
        .iter()
        .find_map(|key| record.filled(key))
}

/// What a line says of a stripe unit, whatever it is the line of.
pub(crate) fn stripe_in(text: &str) -> Option<&str> {
    const KEYS: [&str; 5] = [
        "strip size",
        "stripe size",
        "stripe-unit size",
        "stripe element size",
        "stripesize",
    ];
    let (key, value) = text.split_once([':', '='])?;
    let (key, value) = (key.trim(), value.trim());
    let known = key.len() < 24 && KEYS.iter().any(|known| key.eq_ignore_ascii_case(known));
    (known && value.starts_with(|c: char| c.is_ascii_digit()) && value.len() < 16).then_some(value)
}

/// The machine that an object is of, where it says so.
pub(crate) fn machine_of<'r>(record: &'r Record<'_>) -> Option<&'r str> {
    let keys = ["PSComputerName", "SystemName", "ComputerName", "Server"];
    let field = keys.iter().find_map(|key| record.uncut(key))?;
    let value = field.value.trim();
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    (value.bytes().all(plain) && value.len() <= 63).then_some(value)
}

/// Says which rows do not tell where something starts, as others with the same columns do.
pub(crate) fn tell_cut(records: &[Record<'_>], notes: &mut Notes<'_>) {
    let starts = |record: &Record<'_>| start_of(record).is_some();
    let Some(whole) = records.iter().find(|record| starts(record)) else {
        return;
    };
    let names: BTreeSet<&str> = whole.fields.iter().map(|field| &*field.key).collect();
    let is_alike = |record: &Record<'_>| record.fields.iter().all(|f| names.contains(&*f.key));
    // What a group has in common is said once, and a word that a narrow console wrapped is no row.
    let is_figure = |field: &&Field<'_>| {
        let is_common = whole
            .fields
            .iter()
            .any(|f| f.line.number == field.line.number);
        !is_common && field.value.bytes().any(|byte| byte.is_ascii_digit())
    };
    let cut = records.iter().filter(|r| !starts(r) && is_alike(r));
    for field in cut.filter_map(|record| record.fields.iter().find(is_figure)) {
        let detail = "the row does not say where it starts, as others do: it may be cut off";
        notes.remark(AnomalyKind::Truncated, detail, &field.line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::json::Json;
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
        let (mut from_csv, taken) = from_csv(&lines, |_| true);
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
