//! What can be varied: assumptions with a range, and what holds only because nobody says otherwise.

use crate::model;
use crate::profile::{Kind, Profile, Range, Value};

/// An assumption and what else it may be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Assumption {
    /// `section.key`.
    pub(crate) path: String,
    pub(crate) kind: Kind,
    pub(crate) meaning: &'static str,
    pub(crate) value: Value,
    /// Both ends of a range, or every other word. Never empty.
    pub(crate) others: Vec<Value>,
}

/// Words that a device's maker or an administrator chose and nobody had to tell: they are varied where they are assumed,
/// with or without a range.
const CHOSEN: &[&str] = &[
    "cache.write",
    "cache.read",
    "cache.partial",
    "flash.layout",
    "flash.partial",
];

/// The same where a profile says nothing at all: what holds then, and of which levels that is a question.
const UNSAID: &[(&str, &str, &str, &[&str])] = &[
    (
        "array",
        "merge",
        "adjacent",
        &["raid0", "raid10", "raid5", "raid6", "raid50", "raid60"],
    ),
    (
        "array",
        "balance",
        "shortest",
        &["raid1", "raid10", "vraid1"],
    ),
    (
        "array",
        "parity",
        "cheapest",
        &["raid5", "raid6", "raid50", "raid60", "vraid5"],
    ),
];

/// The assumptions of a complete profile, in the order of the stack; those without a range are named apart.
pub(crate) fn of(profile: &Profile, without_range: &mut Vec<String>) -> Vec<Assumption> {
    let mut out = Vec::new();
    for (model, key, figure) in profile.figures() {
        if !figure.origin.is_assumed() {
            continue;
        }
        let path = format!("{}.{}", model.section, key.name);
        let all = |words: &[&'static str]| words.iter().map(|word| Value::Word(word)).collect();
        let mut others: Vec<Value> = match (&figure.range, key.kind) {
            (Some(Range::Numbers(least, most)), _) => {
                vec![Value::Number(*least), Value::Number(*most)]
            }
            (Some(Range::Words(words)), _) => all(words),
            (None, Kind::Word(words)) if CHOSEN.contains(&path.as_str()) => all(words),
            (None, _) => Vec::new(),
        };
        others.retain(|other| *other != figure.value);
        others.dedup();
        if others.is_empty() {
            without_range.push(path);
            continue;
        }
        out.push(Assumption {
            path,
            kind: key.kind,
            meaning: key.meaning,
            value: figure.value.clone(),
            others,
        });
    }
    out.extend(unsaid(profile));
    out
}

fn unsaid(profile: &Profile) -> impl Iterator<Item = Assumption> {
    let figures = || {
        profile
            .figures()
            .map(|(model, key, figure)| (model.section, key.name, figure))
    };
    let level = figures().find_map(|(section, key, figure)| match figure.value {
        Value::Word(word) if (section, key) == ("array", "level") => Some(word),
        _ => None,
    });
    let said: Vec<(&str, &str)> = figures().map(|(section, key, _)| (section, key)).collect();
    let is_open = move |entry: &&(&str, &str, &str, &[&str])| {
        let (section, key, _, levels) = **entry;
        !said.contains(&(section, key)) && level.is_some_and(|level| levels.contains(&level))
    };
    let entries = UNSAID.iter().filter(is_open);
    entries.filter_map(|(section, name, word, _)| {
        let key = model::find(section)?.key(name)?;
        let Kind::Word(words) = key.kind else {
            return None;
        };
        let others = words.iter().filter(|other| *other != word);
        Some(Assumption {
            path: format!("{section}.{name}"),
            kind: key.kind,
            meaning: key.meaning,
            value: Value::Word(words.iter().find(|other| *other == word)?),
            others: others.map(|word| Value::Word(word)).collect(),
        })
    })
}
