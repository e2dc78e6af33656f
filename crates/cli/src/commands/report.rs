//! `straddle report`: documents as a page.

use anyhow::{Context as _, bail};
use serde::Serialize;
use serde_json::value::RawValue;
use std::io::{IsTerminal, Write};
use std::path::Path;
use straddle::report::pages::{Page, html, markdown};

use super::kept::{Named, Runs};
use crate::args::report::{Report, ReportFormat};
use crate::exit::CLEAN;
use crate::output;

/// Name and version of the JSON form.
const SCHEMA: &str = "straddle.report/1";

pub(crate) fn run(args: &Report) -> anyhow::Result<u8> {
    let path = args
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"));
    let format = args
        .format
        .or_else(|| ReportFormat::of(path?))
        .unwrap_or(ReportFormat::Html);
    if args.output.is_none() && std::io::stdout().is_terminal() && format == ReportFormat::Html {
        bail!("a page is not for a terminal; write it into a file with -o report.html");
    }
    if let Some(path) = path.filter(|path| !args.force && path.exists()) {
        bail!(
            "{} exists; name another file, or replace it with --force",
            path.display()
        );
    }
    let mut runs = Runs::new(args.place.history.as_deref());
    let named: Vec<Named> = args
        .runs
        .iter()
        .map(|name| runs.named(name))
        .collect::<Result<_, _>>()?;
    let text = match format {
        ReportFormat::Json => joined(&named)?,
        _ => {
            let page = page(args, &named)?;
            match format {
                ReportFormat::Markdown => markdown(&page),
                ReportFormat::Svg => picture(args, &page)?,
                _ => html(&page)?,
            }
        }
    };
    match path {
        Some(path) => write(path, &text, args.force)?,
        None => output::script(&text)?,
    }
    Ok(CLEAN)
}

fn page(args: &Report, runs: &[Named]) -> anyhow::Result<Page> {
    let mut page = Page {
        title: args.title.clone().unwrap_or_default(),
        ..Page::default()
    };
    for run in runs {
        let (name, document) = (&run.name, run.open()?);
        page.add(run.about(), document).with_context(|| {
            format!("{name} cannot be shown; expected what a command prints with --json")
        })?;
    }
    Ok(page)
}

fn picture(args: &Report, page: &Page) -> anyhow::Result<String> {
    let pictures = page.pictures();
    let number = args.figure.unwrap_or(1);
    let Some((_, svg)) = number.checked_sub(1).and_then(|index| pictures.get(index)) else {
        bail!(
            "there is no picture {number}; the page has {}",
            pictures.len()
        );
    };
    if args.figure.is_none() && pictures.len() > 1 {
        for (index, (title, _)) in pictures.iter().enumerate() {
            output::remark(&format!("--figure {}: {title}", index + 1));
        }
    }
    Ok(svg.clone())
}

#[derive(Serialize)]
struct Joined<'a> {
    schema: &'static str,
    documents: Vec<&'a RawValue>,
}

fn joined(runs: &[Named]) -> anyhow::Result<String> {
    let mut texts = Vec::new();
    for run in runs {
        texts.push((&run.name, std::io::read_to_string(run.open()?)?));
    }
    let each = texts.iter().map(|(name, text)| {
        serde_json::from_str::<&RawValue>(text).with_context(|| (*name).clone())
    });
    let joined = Joined {
        schema: SCHEMA,
        documents: each.collect::<Result<_, _>>()?,
    };
    Ok(serde_json::to_string(&joined)? + "\n")
}

/// Writes a file of which either all is there or nothing.
fn write(path: &Path, text: &str, replace: bool) -> anyhow::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let written = || {
        let folder = folder.unwrap_or(Path::new("."));
        // As any new file, not for its owner alone.
        #[cfg(unix)]
        let mut file = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666))
            .tempfile_in(folder)?;
        #[cfg(not(unix))]
        let mut file = tempfile::Builder::new().tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        if replace {
            file.persist(path)?;
        } else {
            file.persist_noclobber(path)?;
        }
        std::io::Result::Ok(())
    };
    written().with_context(|| format!("cannot write {}", path.display()))
}
