//! ConvertTo-Json, and JSON of other tools that print a list of objects.

use std::borrow::Cow;

use super::{Field, Record};
use crate::captured::json::{Json, Object};

/// The records in a JSON list of objects, or in one object. Windows PowerShell sometimes wraps a list:
/// `{"value": […], "Count": 2}`.
pub(crate) fn from_json<'t>(json: &Json<'t>) -> Vec<Record<'t>> {
    let objects = match json.object() {
        Some(object) if object.has("value") && object.has("Count") => {
            object.get("value").map_or_else(Vec::new, |v| v.objects())
        }
        Some(object) => vec![object],
        None => json.objects(),
    };
    objects.into_iter().map(record).collect()
}

/// Keys of ESXi's support archives, which have the blanks that `esxcli --formatter=json` leaves out.
const SPACED: [&str; 5] = [
    "Device Type",
    "Logical Blocksize",
    "Mount Point",
    "Start Sector",
    "VMFS UUID",
];

fn record(object: Object<'_>) -> Record<'_> {
    let is_spaced = SPACED.iter().any(|key| object.has(key));
    let key = |key: &str| match is_spaced {
        true => key.replace(' ', ""),
        false => key.to_owned(),
    };
    Record {
        fields: object
            .members()
            .map(|(name, value)| Field {
                key: Cow::Owned(key(name)),
                value: text(&value),
                line: value.line(),
            })
            .collect(),
    }
}

/// A scalar as it is; a list of them as Format-List prints it; nothing for what is nested deeper.
fn text<'t>(value: &Json<'t>) -> Cow<'t, str> {
    if let Some(text) = value.text() {
        return text;
    }
    let items = value.items();
    let items: Vec<Cow<'_, str>> = items.iter().filter_map(Json::text).collect();
    if items.is_empty() {
        Cow::Borrowed("")
    } else {
        Cow::Owned(format!("{{{}}}", items.join(", ")))
    }
}
