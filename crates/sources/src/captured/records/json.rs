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

fn record(object: Object<'_>) -> Record<'_> {
    Record {
        fields: object
            .members()
            .map(|(key, value)| Field {
                key: Cow::Owned(key.to_owned()),
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
