//! Pages of models and profiles: prose is written by hand, tables of parameters between two comments are written from what
//! the models declare.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use straddle::predict::model::{self, Model};
use straddle::predict::profile::{Default, Key, Kind, Origin, Profile, registry, value};

use super::regions::replaced;

const FOLDER: &str = "docs/models";

/// Every page of `docs/models`, its tables as they should be. Says which model has none.
pub(super) fn pages() -> Result<BTreeMap<PathBuf, String>> {
    let mut pages = BTreeMap::new();
    let mut documented = Vec::new();
    for entry in std::fs::read_dir(FOLDER)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(&path)?;
            let text = filled(&text, &mut documented).with_context(|| name)?;
            pages.insert(path, text);
        }
    }
    for model in model::all() {
        if !documented.contains(&model.section) {
            let marker = format!("<!-- parameters: {} -->", model.section);
            println!("docs: no page of {FOLDER} has {marker}");
        }
    }
    let index = PathBuf::from(FOLDER).join("README.md");
    let text = pages
        .get(&index)
        .context("docs/models/README.md is there")?;
    let text = replaced(text, "<!-- models -->", &table_of_models(&pages)?)?;
    pages.insert(index, text);
    Ok(pages)
}

/// A page with its tables as they should be.
fn filled(text: &str, documented: &mut Vec<&'static str>) -> Result<String> {
    let mut text = text.to_owned();
    for model in model::all() {
        let marker = format!("<!-- parameters: {} -->", model.section);
        if text.contains(&marker) {
            documented.push(model.section);
            text = replaced(&text, &marker, &parameters(model))?;
        }
    }
    let leftover = text.lines().find(|line| {
        line.strip_prefix("<!-- parameters: ")
            .and_then(|rest| rest.strip_suffix(" -->"))
            .is_some_and(|section| model::find(section).is_none())
    });
    match leftover {
        Some(line) => bail!("there is no such model: {line}"),
        None => Ok(text),
    }
}

fn parameters(model: &Model) -> String {
    let mut text = String::from(
        "| parameter | what it is | allowed | where a profile does not say |\n|---|---|---|---|\n",
    );
    for key in model.keys {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            key.name,
            cell(key.meaning),
            cell(&allowed(key)),
            cell(&otherwise(key))
        );
    }
    text
}

fn allowed(key: &Key) -> String {
    match key.kind {
        Kind::Word(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            words.join(", ")
        }
        kind => kind.to_string(),
    }
}

fn otherwise(key: &Key) -> String {
    match key.default {
        Default::Required => "every profile says".to_owned(),
        Default::Absent => "absent".to_owned(),
        Default::Number(number, why) => format!("{}: {why}", value::show(key.kind, number)),
        Default::Word(word, why) => format!("`{word}`: {why}"),
    }
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// Every model: its page, and the profiles that it is part of.
fn table_of_models(pages: &BTreeMap<PathBuf, String>) -> Result<String> {
    let profiles = all_profiles()?;
    let mut text = String::from(
        "| section of profiles | what it is | parameters | profiles that have it |\n|---|---|---|---|\n",
    );
    for model in model::all() {
        let marker = format!("<!-- parameters: {} -->", model.section);
        let page = pages.iter().find(|(_, text)| text.contains(&marker));
        let section = match page.and_then(|(path, _)| path.file_name()) {
            Some(file) => format!("[`{}`]({})", model.section, file.to_string_lossy()),
            None => format!("`{}`", model.section),
        };
        let with = profiles
            .iter()
            .filter(|profile| profile.section(model.section).is_some());
        let _ = writeln!(
            text,
            "| {section} | {} | {} | {} of {} |",
            cell(model.title),
            model.keys.len(),
            with.count(),
            profiles.len()
        );
    }
    Ok(text)
}

fn all_profiles() -> Result<Vec<Profile>> {
    let names = registry::PROFILES.iter().map(|(name, _)| *name);
    Ok(names.map(registry::load).collect::<Result<_, _>>()?)
}

/// Every profile: what it is, how its figures are known, and which of them were fitted.
pub(super) fn profiles() -> Result<String> {
    let profiles = all_profiles()?;
    let mut text = String::from(
        "# Profiles\n\nThe devices and arrays that come with the program. `straddle profile show NAME` prints one with the source of every \
         figure; [the pages on models](models/README.md) say what the figures mean.\n\n\
         *Published* figures have a source, *computed* ones follow from published figures, *fitted* ones were fitted to measurements, \
         *assumed* ones nobody says; defaults that take effect are among these. `straddle predict` varies assumptions and says how far \
         its answer rests on them.\n\n\
         | profile | what it is | made of | published | computed | fitted | assumed |\n|---|---|---|---|---|---|---|\n",
    );
    let mut fitted = String::new();
    for profile in &profiles {
        let complete = profile.complete()?;
        let count = |is: &dyn Fn(&Origin) -> bool| {
            complete
                .figures()
                .filter(|(_, _, figure)| is(&figure.origin))
                .count()
        };
        let sections: Vec<&str> = profile.sections().map(|(model, _)| model.section).collect();
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {} | {} |",
            profile.name,
            cell(&profile.title),
            sections.join(", "),
            count(&|origin| matches!(origin, Origin::Source(_))),
            count(&|origin| matches!(origin, Origin::Computed(_))),
            count(&|origin| matches!(origin, Origin::Fitted(_))),
            count(&Origin::is_assumed)
        );
        for (model, key, figure) in profile.figures() {
            if let Origin::Fitted(on) = &figure.origin {
                let value = match &figure.value {
                    value::Value::Number(number) => value::show(key.kind, *number),
                    value::Value::Word(word) => (*word).to_owned(),
                    value::Value::Table(rows) => format!("{rows:?}"),
                };
                let _ = writeln!(
                    fitted,
                    "| `{}` | `{}.{}` | {value} | {} |",
                    profile.name,
                    model.section,
                    key.name,
                    cell(on)
                );
            }
        }
    }
    text.push_str("\n## Fitted parameters\n\n");
    if fitted.is_empty() {
        text.push_str("There are none.\n");
    } else {
        text.push_str(
            "Nothing is fitted on cells that [studies](studies.md) mark validation.\n\n\
             | profile | parameter | value | fitted on |\n|---|---|---|---|\n",
        );
        text.push_str(&fitted);
    }
    Ok(text)
}
