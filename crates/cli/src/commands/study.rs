//! `straddle study`: simulates published experiments.

use std::io::IsTerminal;
use std::path::Path;

use anyhow::{Context, bail};
use straddle::predict::experiment::Effort;
use straddle::predict::study::{Study, effort, fitted_figures, registry};
use straddle::report::json::pretty;
use straddle::report::study::{self as forms, Studied};

use super::kept::Keeper;
use crate::args::study::{Study as Args, StudyFormat};
use crate::exit::{CLEAN, FAILED, FOUND};
use crate::output;

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let keeper = Keeper::new(&args.keeping, "study")?;
    // Other commands have it as a word.
    let is_asked = args.list || args.name.as_deref() == Some("list");
    let is_list = is_asked || (args.name.is_none() && !args.all);
    if is_list && !is_asked && (args.json || args.format != StudyFormat::Text) {
        bail!("which study? Name one, or give --all; `straddle study` lists them");
    }
    let studies = chosen(args)?;
    if is_list {
        if !args.quiet {
            output::print(&forms::text::list(studies.iter()))?;
        }
        return Ok(CLEAN);
    }
    let shows_progress = !args.quiet && std::io::stderr().is_terminal();
    let mut studied = Vec::with_capacity(studies.len());
    for study in studies {
        if shows_progress {
            output::remark(&format!("simulating {}", study.name));
        }
        studied.push(Studied {
            fitted: fitted_figures(&study)?,
            run: study.run(effort_of(args, &study)),
            study,
        });
    }
    if !args.quiet {
        print(args, &studied)?;
    }
    let mut refused = false;
    for refusal in studied.iter().filter_map(|one| one.run.as_ref().err()) {
        output::error(&refusal.to_string());
        refused = true;
    }
    let code = match studied.iter().all(Studied::is_within) {
        _ if refused => FAILED,
        true => CLEAN,
        false => FOUND,
    };
    if keeper.wants() {
        return keeper.keep(&pretty(&forms::Document::new(&studied))?, code);
    }
    Ok(code)
}

/// The studies that were asked for; without a name all of them.
fn chosen(args: &Args) -> anyhow::Result<Vec<Study>> {
    match args.name.as_deref() {
        None | Some("list") => {
            let names = registry::STUDIES.iter().map(|(name, _)| *name);
            Ok(names.map(registry::load).collect::<Result<_, _>>()?)
        }
        Some(path) if path.ends_with(".toml") => {
            let text = std::fs::read_to_string(path).with_context(|| path.to_owned())?;
            let name = Path::new(path).file_stem().unwrap_or_default();
            Ok(vec![Study::read(&name.to_string_lossy(), &text)?])
        }
        Some(name) => Ok(vec![registry::load(name)?]),
    }
}

fn effort_of(args: &Args, study: &Study) -> Effort {
    let effort = if args.quick {
        effort::quick(study)
    } else {
        effort::full(study)
    };
    Effort {
        seed: args.seed,
        ..effort
    }
}

fn print(args: &Args, studied: &[Studied]) -> anyhow::Result<()> {
    let format = if args.json {
        StudyFormat::Json
    } else {
        args.format
    };
    match (format, studied) {
        (StudyFormat::Json, _) => {
            output::print(&pretty(&forms::Document::new(studied))?)?;
        }
        (StudyFormat::Csv, _) => forms::csv::cells(studied, output::stdout())?,
        (StudyFormat::Text, [one]) if !args.all => {
            output::print(&forms::text::study(one, output::width()))?;
        }
        (StudyFormat::Text, _) => {
            output::print(&forms::text::scoreboard(studied, output::width()))?;
        }
    }
    Ok(())
}
