//! `straddle history`, `straddle baseline`, `straddle compare`: runs that were kept.

use anyhow::{Context as _, bail};
use serde::de::IgnoredAny;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use straddle::history::{Baseline, Entry, Filter, MAX_LINE, Run, Store};
use straddle::report::compare;
use straddle::report::{json, kept as forms, pages};

use super::kept::{self, Runs, is_missing};
use crate::args::history::{
    Action, Baseline as BaselineArgs, BaselineAction, Compare, History, List, ListFormat,
};
use crate::exit::{CLEAN, FAILED, FOUND};
use crate::output;

pub(crate) fn run(args: &History) -> anyhow::Result<u8> {
    let flag = args.place.history.as_deref();
    let mut runs = Runs::new(flag);
    match &args.action {
        None => print_list(&mut runs, &List::default())?,
        Some(action) => match action {
            Action::List(list) => print_list(&mut runs, list)?,
            Action::Show { run, json } => show(&mut runs, run, *json)?,
            Action::Rm { runs: names } => remove(&mut runs, flag, names)?,
            Action::Export {
                runs: names,
                output,
            } => export(&mut runs, names, output.as_deref())?,
            Action::Import { files } => return import(&kept::path(flag)?, files),
            Action::Path => output::print(&format!("{}\n", kept::path(flag)?.display()))?,
        },
    }
    Ok(CLEAN)
}

fn print_list(runs: &mut Runs<'_>, args: &List) -> anyhow::Result<()> {
    let filter = Filter {
        verb: args.verb.clone(),
        target: args.target.clone(),
        machine: args.machine.clone(),
    };
    let (entries, all) = match runs.store() {
        Ok(store) => (store.list(&filter, args.limit)?, store.count(&filter)?),
        // Nothing was run yet: an empty list, not a failure.
        Err(error) if is_missing(&error) => (Vec::new(), 0),
        Err(error) => return Err(error),
    };
    let rows: Vec<forms::Row<'_>> = entries.iter().map(forms::Row::from).collect();
    match args.format {
        ListFormat::Text => output::print(&forms::list(&rows, all, output::width()))?,
        ListFormat::Json => output::print(&json::pretty(&forms::Document::new(&rows, all))?)?,
        ListFormat::Csv => forms::csv(&rows, output::stdout())?,
    }
    Ok(())
}

fn show(runs: &mut Runs<'_>, name: &str, as_json: bool) -> anyhow::Result<()> {
    let (entry, _) = runs.entry(name)?;
    if as_json {
        let document = runs.store()?.document(entry.id)?;
        return Ok(output::script(&document)?);
    }
    output::print(&forms::show(&forms::Row::from(&entry)))?;
    Ok(())
}

fn remove(runs: &mut Runs<'_>, flag: Option<&str>, names: &[String]) -> anyhow::Result<()> {
    let found: Vec<i64> = names
        .iter()
        .map(|name| runs.entry(name).map(|(entry, _)| entry.id))
        .collect::<Result<_, _>>()?;
    Store::open(&kept::path(flag)?)?.remove(&found)?;
    Ok(())
}

fn export(runs: &mut Runs<'_>, names: &[String], path: Option<&Path>) -> anyhow::Result<()> {
    let entries: Vec<Entry> = if names.is_empty() {
        let mut all = runs.store()?.list(&Filter::default(), u64::MAX)?;
        all.reverse();
        all
    } else {
        let each = names
            .iter()
            .map(|name| runs.entry(name).map(|(entry, _)| entry));
        each.collect::<Result<_, _>>()?
    };
    let mut out: Box<dyn Write> = match path {
        Some(path) => {
            let file = File::create_new(path).with_context(|| path.display().to_string())?;
            Box::new(BufWriter::new(file))
        }
        None => Box::new(BufWriter::new(std::io::stdout())),
    };
    let mut lost = 0_usize;
    let store = runs.store()?;
    for entry in &entries {
        match store.export(entry, &mut out) {
            Ok(written) => written?,
            // A damaged run must not keep the others from being saved.
            Err(error) => {
                output::error(&error.to_string());
                lost += 1;
            }
        }
    }
    out.flush()?;
    if lost > 0 {
        bail!(
            "{lost} of {} runs cannot be read; the others were written",
            entries.len()
        );
    }
    Ok(())
}

fn import(path: &Path, files: &[PathBuf]) -> anyhow::Result<u8> {
    let mut store = Store::open(path)?;
    let mut code = CLEAN;
    for file in files {
        let name = file.display().to_string();
        let from: Box<dyn Read> = if name == "-" {
            Box::new(std::io::stdin())
        } else {
            Box::new(File::open(file).with_context(|| name.clone())?)
        };
        let mut from = BufReader::new(from);
        // Exported runs are a line each; a document may be one line or many.
        let mut first = Vec::new();
        from.by_ref()
            .take(MAX_LINE + 1)
            .read_until(b'\n', &mut first)
            .with_context(|| name.clone())?;
        let is_whole = serde_json::from_slice::<IgnoredAny>(&first).is_ok();
        let mut all = first.as_slice().chain(from);
        let imported = if is_whole {
            store.import(BufReader::new(all), document)??
        } else {
            let mut text = String::new();
            all.by_ref()
                .take(MAX_LINE + 1)
                .read_to_string(&mut text)
                .with_context(|| name.clone())?;
            store.import_one(&text, document)?
        };
        let refused = imported.refused.len();
        output::print(&format!(
            "{name}: {} new, {} known already, {refused} refused\n",
            imported.new, imported.known
        ))?;
        for (line, why) in imported.refused {
            output::error(&format!("{name}, line {line}: {why}"));
            code = FAILED;
        }
    }
    Ok(code)
}

/// A run of a document that a command printed. Its time is the document's own, so that importing it again is the same run.
fn document(text: &str) -> Result<Run, String> {
    let found = pages::summary(text.as_bytes()).map_err(|error| error.to_string())?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "microseconds of this millennium"
    )]
    let began = found.began.map_or(0, |seconds| (seconds * 1e6) as i64);
    Ok(Run {
        verb: found.verb.to_owned(),
        target: found.target,
        headline: found.headline,
        began,
        machine: found.machine.unwrap_or_default(),
        version: String::new(),
        command: String::new(),
        status: CLEAN,
        document: text.to_owned(),
    })
}

/// Which run gets which name, of words in either order.
fn run_and_name<'a>(
    words: &'a [String],
    flag: Option<&'a str>,
) -> anyhow::Result<(&'a str, &'a str)> {
    let (mut run, mut name) = (None, flag);
    for word in words {
        // Where a name was given, the other word is a run, by whichever name.
        let (place, kind) = match is_run(word) || flag.is_some() {
            true => (&mut run, "runs"),
            false => (&mut name, "names"),
        };
        if let Some(first) = place.replace(word.as_str()) {
            bail!(
                "{first} and {word} are both taken for {kind}; expected one run and one name, such as `straddle baseline set last good`"
            );
        }
    }
    let name = name.unwrap_or("baseline");
    let is_taken = is_run(name) || name == "-" || name.is_empty();
    if is_taken || name.contains(['/', '\\']) || name.chars().any(char::is_control) {
        bail!("{name} cannot be the name of a baseline: it would be taken for a run or a file");
    }
    Ok((run.unwrap_or("last"), name))
}

/// Whether a word can be nothing but a run.
fn is_run(word: &str) -> bool {
    word.parse::<i64>().is_ok() || word == "last" || word.starts_with("last:")
}

pub(crate) fn baseline(args: &BaselineArgs) -> anyhow::Result<u8> {
    let flag = args.place.history.as_deref();
    let mut runs = Runs::new(flag);
    match &args.action {
        Some(BaselineAction::Set { words, name, worse }) => {
            let (run, name) = run_and_name(words, name.as_deref())?;
            let (entry, _) = runs.entry(run)?;
            Store::open(&kept::path(flag)?)?.set_baseline(&Baseline {
                name: name.to_owned(),
                run: entry.id,
                worse: *worse,
            })?;
            output::print(&format!(
                "{name} is run {}: {} {}\n",
                entry.id, entry.verb, entry.target
            ))?;
        }
        None | Some(BaselineAction::List) => {
            let baselines = match runs.store() {
                Ok(store) => store.baselines()?,
                Err(error) if is_missing(&error) => Vec::new(),
                Err(error) => return Err(error),
            };
            let mut rows = Vec::new();
            for one in &baselines {
                let entry = runs.store()?.entry(one.run)?;
                rows.push((one.name.clone(), one.worse, entry));
            }
            let rows: Vec<(&str, f64, forms::Row<'_>)> = rows
                .iter()
                .map(|(name, worse, entry)| (name.as_str(), *worse, forms::Row::from(entry)))
                .collect();
            output::print(&forms::baselines(&rows, output::width()))?;
        }
        Some(BaselineAction::Rm { name }) => {
            if !Store::open(&kept::path(flag)?)?.remove_baseline(name)? {
                bail!("there is no baseline {name}; `straddle baseline list` shows them");
            }
        }
    }
    Ok(CLEAN)
}

pub(crate) fn compare(args: &Compare) -> anyhow::Result<u8> {
    let mut runs = Runs::new(args.place.history.as_deref());
    let one = runs.named(&args.one)?;
    let other = match &args.other {
        Some(name) => runs.named(name)?,
        None => {
            let Some(entry) = &one.entry else {
                bail!("{} is a document; name the other run, too", one.name);
            };
            let filter = Filter {
                verb: Some(entry.verb.clone()),
                ..Filter::default()
            };
            let latest = runs.store()?.list(&filter, 1000)?;
            let other = latest
                .iter()
                .find(|run| run.id != entry.id && run.target == entry.target);
            let other = other.with_context(|| {
                format!(
                    "there is no other run of {} on {}",
                    entry.verb, entry.target
                )
            })?;
            runs.named(&other.id.to_string())?
        }
    };
    let allowed = args.worse.or(one.worse).or(other.worse);
    let comparison = compare::compare(one.compared()?, other.compared()?, allowed)?;
    if args.json {
        output::print(&json::pretty(&comparison)?)?;
    } else {
        output::print(&compare::text(&comparison, output::width()))?;
    }
    Ok(if comparison.worse.is_empty() {
        CLEAN
    } else {
        FOUND
    })
}
