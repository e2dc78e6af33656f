//! Profiles for people and programs: what there is, and each parameter of one with its unit, origin and range.

use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;

use straddle_predict::model::{DEVICES, Model};
use straddle_predict::profile::value::show;
use straddle_predict::profile::{Figure, Key, Origin, Profile, Range, Value};

use super::words::prose;
use crate::bench::text::heading;
use crate::escape::terminal;
use crate::text::page::folded;
use crate::text::style::{FAINT, STRONG, paint};

/// Name and version of the JSON documents of profiles.
pub const SCHEMA: &str = "straddle.profile/1";

/// `array.members`.
pub(super) fn path(model: &Model, key: &Key) -> String {
    format!("{}.{}", model.section, key.name)
}

/// A value with its unit.
#[must_use]
pub fn figure(key: &Key, figure: &Figure) -> String {
    value(key, &figure.value)
}

fn value(key: &Key, value: &Value) -> String {
    match value {
        Value::Number(number) => show(key.kind, *number),
        Value::Word(word) => (*word).to_owned(),
        Value::Table(rows) => match rows.len() {
            1 => "1 row".to_owned(),
            n => format!("{n} rows"),
        },
    }
}

/// How a figure is known, and from where.
fn origin(origin: &Origin) -> (&'static str, &str) {
    match origin {
        Origin::Source(text) => ("published", text),
        Origin::Computed(text) => ("computed", text),
        Origin::Fitted(text) => ("fitted", text),
        Origin::Assumed(text) => ("assumed", text),
        Origin::Flag => ("flag", ""),
        Origin::Stack(text) => ("stack", text),
    }
}

/// What a profile is of: `disk`, `array of flash`, `array of disk behind a controller`.
#[must_use]
pub fn kind(profile: &Profile) -> String {
    let device = DEVICES.iter().find(|d| profile.section(d).is_some());
    let device = device.copied().unwrap_or("nothing");
    let mut text = match profile.section("array") {
        Some(_) => format!("array of {device}s"),
        None => device.to_owned(),
    };
    if device == "flash" && profile.section("array").is_some() {
        text = "array of flash".to_owned();
    }
    if profile.section("controller").is_some() {
        text.push_str(" behind a controller");
    }
    text
}

/// A line for each profile: its name, its title, and what it is of.
#[must_use]
pub fn list(profiles: &[Profile], width: usize) -> String {
    let mut out = String::new();
    let names = profiles.iter().map(|profile| profile.name.chars().count());
    let pad = names.max().unwrap_or(0) + 2;
    for profile in profiles {
        let text = format!("{} ({})", profile.title, kind(profile));
        let room = width.saturating_sub(pad).max(30);
        for (index, line) in folded(&terminal(&text), room).iter().enumerate() {
            let name = if index == 0 {
                profile.name.as_str()
            } else {
                ""
            };
            let blanks = " ".repeat(pad.saturating_sub(name.chars().count()));
            let _ = writeln!(out, "{}{blanks}{line}", paint(STRONG, terminal(name)));
        }
    }
    out
}

/// Every parameter of a profile, section after section.
#[must_use]
pub fn page(profile: &Profile, width: usize) -> String {
    let mut out = format!(
        "{}: {}\n",
        paint(STRONG, terminal(&profile.name)),
        terminal(&profile.title)
    );
    let summary = profile.summary.trim();
    if !summary.is_empty() {
        for paragraph in summary.split("\n\n") {
            out.push('\n');
            let paragraph = paragraph.replace('\n', " ");
            prose(&mut out, width, &terminal(&paragraph));
        }
    }
    for (model, section) in profile.sections() {
        heading(
            &mut out,
            width,
            &format!("[{}]", model.section),
            &format!(" {}", model.title),
        );
        for (key, found) in section.figures() {
            let mut line = format!("{} = {}", key.name, figure(key, found));
            match &found.range {
                Some(Range::Numbers(least, most)) => {
                    let (least, most) = (show(key.kind, *least), show(key.kind, *most));
                    let _ = write!(line, ", between {least} and {most}");
                }
                Some(Range::Words(words)) => {
                    let _ = write!(line, ", one of {}", words.join(", "));
                }
                None => {}
            }
            let _ = writeln!(out, "  {}", terminal(&line));
            let (how, from) = origin(&found.origin);
            let colon = if from.is_empty() { "" } else { ": " };
            let text = format!("{} ({how}{colon}{from})", key.meaning);
            for line in folded(&terminal(&text), width - 6) {
                let _ = writeln!(out, "      {}", paint(FAINT, line));
            }
        }
    }
    out
}

/// Profiles in JSON.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "straddle profile")]
pub struct Document {
    /// Name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// The profiles, each with every parameter.
    pub profiles: Vec<ProfileOut>,
}

/// A profile.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Profile")]
pub struct ProfileOut {
    /// What it is called in commands.
    name: String,
    /// What it is, for people.
    title: String,
    /// What it is of: `disk`, `array of disks`.
    kind: String,
    /// What should be known about it.
    summary: String,
    /// Every parameter.
    figures: Vec<FigureOut>,
}

/// A parameter, its value and how that is known.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Figure")]
pub struct FigureOut {
    /// `section.key`.
    path: String,
    /// The value in base units (seconds, bytes, bytes each second), a word, or rows of numbers.
    value: ValueOut,
    /// The value with its unit, for people.
    shown: String,
    /// What it is, as a sentence.
    meaning: &'static str,
    /// How it is known: `published`, `computed`, `fitted`, `assumed`, `flag`, `stack`.
    origin: &'static str,
    /// Where it is known from, or why it is assumed.
    from: String,
    /// Least and largest plausible value, where the profile says.
    range: Option<(f64, f64)>,
    /// Of a word, all that it may plausibly be, where the profile says.
    words: Option<Vec<&'static str>>,
}

/// A value.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Value")]
enum ValueOut {
    /// In base units.
    Number(f64),
    /// One of the words of its kind.
    Word(&'static str),
    /// Rows of numbers.
    Table(Vec<Vec<f64>>),
}

impl Document {
    /// Profiles as `straddle profile show --json` prints them.
    #[must_use]
    pub fn new(profiles: &[Profile]) -> Document {
        Document {
            schema: SCHEMA,
            profiles: profiles.iter().map(ProfileOut::new).collect(),
        }
    }
}

impl ProfileOut {
    /// A profile in JSON.
    #[must_use]
    pub fn new(profile: &Profile) -> ProfileOut {
        let figures = profile.figures().map(|(model, key, found)| {
            let (how, from) = origin(&found.origin);
            FigureOut {
                path: path(model, key),
                value: match &found.value {
                    Value::Number(number) => ValueOut::Number(*number),
                    Value::Word(word) => ValueOut::Word(word),
                    Value::Table(rows) => ValueOut::Table(rows.clone()),
                },
                shown: figure(key, found),
                meaning: key.meaning,
                origin: how,
                from: from.to_owned(),
                range: found.ends(),
                words: match &found.range {
                    Some(Range::Words(words)) => Some(words.clone()),
                    _ => None,
                },
            }
        });
        ProfileOut {
            name: profile.name.clone(),
            title: profile.title.clone(),
            kind: kind(profile),
            summary: profile.summary.trim().to_owned(),
            figures: figures.collect(),
        }
    }
}
