//! A profile as TOML, which reads back as the same profile.

use std::fmt::Write;

use crate::profile::{Figure, Kind, Origin, Profile, Range, Value, value};

/// The text of a profile, with every figure and how it is known.
#[must_use]
pub fn toml_of(profile: &Profile) -> String {
    let mut out = format!("title = {}\n", quoted(&profile.title));
    let summary = profile.summary.trim();
    if !summary.is_empty() {
        let _ = writeln!(out, "summary = {}", quoted(summary));
    }
    for (model, section) in profile.sections() {
        let _ = writeln!(out, "\n[{}]", model.section);
        for (key, figure) in section.figures() {
            let _ = writeln!(out, "{} = {}", key.name, entry(key.kind, figure));
        }
    }
    out
}

fn entry(kind: Kind, figure: &Figure) -> String {
    let value = match &figure.value {
        Value::Number(number) => self::number(kind, *number),
        Value::Word(word) => quoted(word),
        Value::Table(rows) => format!("{rows:?}"),
    };
    let (how, text) = match &figure.origin {
        Origin::Source(text) => ("source", text.as_str()),
        Origin::Computed(text) => ("computed", text.as_str()),
        Origin::Fitted(text) => ("fitted", text.as_str()),
        Origin::Assumed(text) => ("assumed", text.as_str()),
        Origin::Stack(text) => ("source", text.as_str()),
        Origin::Flag => ("assumed", "given with a flag"),
    };
    let mut out = format!("{{ value = {value}, {how} = {}", quoted(text));
    let range = figure.range.as_ref().map(|range| match range {
        Range::Numbers(least, most) => vec![number(kind, *least), number(kind, *most)],
        Range::Words(words) => words.iter().map(|word| quoted(word)).collect(),
    });
    if let Some(range) = range {
        let _ = write!(out, ", range = [{}]", range.join(", "));
    }
    out + " }"
}

/// As people write it where that reads back to nearly the same, and in base units where it does not.
fn number(kind: Kind, number: f64) -> String {
    let shown = value::show(kind, number);
    let back = value::parse(kind, &toml::Value::String(shown.clone()));
    let is_exact =
        matches!(back, Some(Value::Number(back)) if (back - number).abs() <= number.abs() * 1e-5);
    match kind {
        Kind::Count(..) => format!("{number:.0}"),
        Kind::Number(..) => toml::Value::Float(number).to_string(),
        _ if is_exact => quoted(&shown),
        _ => toml::Value::Float(number).to_string(),
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
