//! Profiles from TOML.

use std::collections::BTreeMap;

use super::{Figure, Kind, Origin, Profile, Range, Refusal, Section, Value, registry, value};
use crate::document;
use crate::model::{self, Model};

/// How many profiles may take sections from each other in a row.
const MAX_DEPTH: usize = 4;

impl Profile {
    /// Reads a profile.
    ///
    /// # Errors
    /// Anything that is not TOML, an unknown key, a value that is not allowed, a figure that does not say how it is known.
    pub fn read(name: &str, text: &str) -> Result<Profile, Refusal> {
        read(name, text, 0).map_err(|refusal| {
            if refusal.place.is_empty() {
                refusal.of(name)
            } else {
                refusal
            }
        })
    }
}

fn read(name: &str, text: &str, depth: usize) -> Result<Profile, Refusal> {
    let table = document::table(text)?;
    let mut profile = Profile {
        name: name.to_owned(),
        title: name.to_owned(),
        summary: String::new(),
        sections: BTreeMap::new(),
    };
    if let Some(device) = table.get("device") {
        let refuse = |expected: String| Refusal::new("device", device, expected);
        let device = device.as_str().ok_or_else(|| refuse("a name".to_owned()))?;
        if depth >= MAX_DEPTH {
            return Err(refuse(format!("at most {MAX_DEPTH} profiles in a row")));
        }
        let text = registry::text(device).ok_or_else(|| refuse(registry::names()))?;
        profile.sections = read(device, text, depth + 1)
            .map_err(|refusal| refusal.of(device))?
            .sections;
    }
    for (key, value) in &table {
        let text = || {
            value
                .as_str()
                .map(|text| text.trim().to_owned())
                .ok_or_else(|| Refusal::new(key, value, "text"))
        };
        match (key.as_str(), model::find(key), value) {
            ("title", ..) => profile.title = text()?,
            ("summary", ..) => profile.summary = text()?,
            ("device", ..) => {}
            (_, Some(model), toml::Value::Table(figures)) => {
                let section = profile
                    .sections
                    .entry(model.section)
                    .or_insert_with(|| Section::new(model));
                fill(section, model, figures)?;
            }
            _ => {
                let expected = format!("title, summary, device, or a section: {}", model::names());
                return Err(Refusal::new(key, "an unknown key", expected));
            }
        }
    }
    Ok(profile)
}

fn fill(
    section: &mut Section,
    model: &'static Model,
    figures: &toml::Table,
) -> Result<(), Refusal> {
    for (name, entry) in figures {
        let path = format!("{}.{name}", model.section);
        let Some(key) = model.key(name) else {
            return Err(Refusal::new(path, "an unknown key", model.key_names()));
        };
        section.put(key, figure(&path, key.kind, entry)?);
    }
    Ok(())
}

/// `["4 KiB", "64 KiB"]`, or words, at least two.
fn plausible(kind: Kind, part: &toml::Value) -> Option<Range> {
    let values = part.as_array()?.iter().map(|part| value::parse(kind, part));
    let values: Vec<Value> = values.collect::<Option<_>>()?;
    if let [Value::Number(least), Value::Number(most)] = values.as_slice() {
        return (least <= most).then_some(Range::Numbers(*least, *most));
    }
    let words = values.iter().map(|value| match value {
        Value::Word(word) => Some(*word),
        _ => None,
    });
    let words: Vec<&'static str> = words.collect::<Option<_>>()?;
    let repeats = |word| words.iter().filter(|other| *other == word).count() > 1;
    (words.len() > 1 && !words.iter().any(repeats)).then_some(Range::Words(words))
}

const HOW: &str = "{ value = …, and one of source, computed, fitted, assumed = \"…\" }, perhaps with range = [least, largest], or of words all that it may be";

fn figure(path: &str, kind: Kind, entry: &toml::Value) -> Result<Figure, Refusal> {
    let refuse = |found: &dyn std::fmt::Display| Refusal::new(path, found, HOW);
    let table = entry.as_table().ok_or_else(|| refuse(entry))?;
    let (mut found, mut origin, mut range) = (None, None, None);
    for (name, part) in table {
        let said = || {
            part.as_str()
                .filter(|text| !text.trim().is_empty())
                .map(str::to_owned)
        };
        let how = match name.as_str() {
            "value" => {
                let parsed = value::parse(kind, part);
                found = Some(parsed.ok_or_else(|| Refusal::new(path, part, kind))?);
                continue;
            }
            "range" => {
                let refuse = || Refusal::new(format!("{path}.range"), part, kind);
                range = Some(plausible(kind, part).ok_or_else(refuse)?);
                continue;
            }
            "source" => said().map(Origin::Source),
            "computed" => said().map(Origin::Computed),
            "fitted" => said().map(Origin::Fitted),
            "assumed" => said().map(Origin::Assumed),
            other => return Err(refuse(&format!("with an unknown part, {other}"))),
        };
        let how = how.ok_or_else(|| refuse(&format!("with {name} = {part}")))?;
        if origin.replace(how).is_some() {
            return Err(refuse(&"with more than one origin"));
        }
    }
    let value = found.ok_or_else(|| refuse(&"without a value"))?;
    let origin = origin.ok_or_else(|| refuse(&"without its origin"))?;
    let is_plausible = match (&range, &value) {
        (Some(Range::Numbers(least, most)), Value::Number(number)) => {
            least <= number && number <= most
        }
        (Some(Range::Words(words)), Value::Word(word)) => words.contains(word),
        _ => true,
    };
    if !is_plausible {
        return Err(refuse(&"outside its own range"));
    }
    Ok(Figure {
        value,
        origin,
        range,
    })
}
