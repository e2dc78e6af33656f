//! The page of studies, from the newest archive: writing documentation simulates nothing.

use anyhow::{Context, Result};
use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;

/// `benches/DATE-studies`, the newest.
fn newest() -> Result<Option<PathBuf>> {
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir("benches")? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with("-studies") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found.pop())
}

pub(super) fn page() -> Result<String> {
    let mut text = String::from(
        "# Studies\n\nPublished experiments as data, simulated: does the model reproduce them? `straddle study NAME` prints one, cell by cell; \
         `straddle study --all` the table below.\n\n\
         Parameters may be fitted on cells marked *calibration*; where one was, the cell counts as *fitted on* and its error is no test of \
         the model. Nothing is fitted on cells marked *validation*. An error is in percent of what was published, or of the nearest end \
         where a range was published.\n",
    );
    let Some(folder) = newest()? else {
        text.push_str("\nNo run is archived yet: `cargo xtask bench studies`.\n");
        return Ok(text);
    };
    let archive = std::fs::read_to_string(folder.join("studies.json"))?;
    let document: Value = serde_json::from_str(&archive)?;
    let studies = document["studies"].as_array().context("studies")?;
    let _ = write!(
        text,
        "\nFrom [{0}](../{0}/summary.md); `cargo xtask bench studies` makes the next.\n\n\
         | study | calibration: within | median error | worst | fitted on | validation: within | median error | worst |\n\
         |---|---|---|---|---|---|---|---|\n",
        folder.display()
    );
    for study in studies {
        row(
            &mut text,
            &link(study["name"].as_str().unwrap_or_default()),
            &study["score"],
        );
    }
    row(&mut text, "all", &document["score"]);
    let unfitted = &document["score"]["unfitted"];
    let _ = writeln!(
        text,
        "\nCalibration cells on which nothing was fitted: {}, of which {} are within their tolerance; error {} in the median, {} at worst.",
        unfitted["cells"],
        unfitted["within"],
        percent(&unfitted["median_percent"], false),
        percent(&unfitted["worst_percent"], false)
    );
    fitted(&mut text, studies);
    for study in studies {
        section(&mut text, study);
    }
    Ok(text)
}

/// `[eva](#eva)`: the heading of a study is its name.
fn link(name: &str) -> String {
    format!("[{name}](#{name})")
}

fn row(text: &mut String, name: &str, score: &Value) {
    let tally = |of: &Value| match of["cells"].as_u64() {
        Some(cells) if cells > 0 => format!(
            "{} of {cells} | {} | {}",
            of["within"],
            percent(&of["median_percent"], false),
            percent(&of["worst_percent"], false)
        ),
        _ => " | | ".to_owned(),
    };
    let _ = writeln!(
        text,
        "| {name} | {} | {} | {} |",
        tally(&score["calibration"]),
        match score["fitted"].as_u64() {
            Some(0) | None => String::new(),
            Some(cells) => cells.to_string(),
        },
        tally(&score["validation"])
    );
}

fn percent(value: &Value, signed: bool) -> String {
    let Some(value) = value.as_f64() else {
        return String::new();
    };
    let text = format!("{:.1}%", value.abs());
    match text.as_str() {
        "0.0%" => text,
        _ if value < 0.0 => format!("−{text}"),
        _ if signed => format!("+{text}"),
        _ => text,
    }
}

fn fitted(text: &mut String, studies: &[Value]) {
    let mut rows: Vec<String> = Vec::new();
    for figure in studies
        .iter()
        .flat_map(|study| study["fitted"].as_array())
        .flatten()
    {
        let said = |key: &str| figure[key].as_str().unwrap_or_default().replace('|', "\\|");
        let row = format!(
            "| `{}` | `{}` | {} | {} |",
            said("profile"),
            said("parameter"),
            said("value"),
            said("on")
        );
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    text.push_str(
        "\nEvery fitted parameter of the profiles in use, and what it was fitted on:\n\n",
    );
    if rows.is_empty() {
        text.push_str("There is none.\n");
        return;
    }
    text.push_str("| profile | parameter | value | fitted on |\n|---|---|---|---|\n");
    for row in rows {
        text.push_str(&row);
        text.push('\n');
    }
}

fn section(text: &mut String, study: &Value) {
    let said = |key: &str| study[key].as_str().unwrap_or_default();
    let _ = write!(
        text,
        "\n## {}\n\n{}. {}\n\nSource: {}\n",
        said("name"),
        said("title"),
        said("configuration"),
        said("source")
    );
    if let Some(identifies) = study["identifies"].as_str() {
        let _ = writeln!(text, "\nWhat it identifies: {identifies}");
    }
    if let Some(refused) = study["refused"].as_str() {
        let _ = writeln!(text, "\nNot simulated: {refused}");
        return;
    }
    text.push_str("\n| cell | profile | metric | published | simulated | error | tolerance | mark |\n|---|---|---|---|---|---|---|---|\n");
    for cell in study["cells"].as_array().into_iter().flatten() {
        let simulated = &cell["simulated"];
        let off = match simulated["within"].as_bool() {
            Some(false) => ", off",
            _ => "",
        };
        let mark = match cell["fitted"].as_bool() {
            Some(true) => "fitted on",
            _ => cell["mark"].as_str().unwrap_or_default(),
        };
        let (least, most) = (&cell["published"]["least"], &cell["published"]["most"]);
        let published = match least == most {
            true => figure(least),
            false => format!("{} to {}", figure(least), figure(most)),
        };
        let against = cell["against"]
            .as_str()
            .map_or_else(String::new, |other| format!(", against {other}"));
        let _ = writeln!(
            text,
            "| {} | `{}` | {}{against} | {published} | {} | {}{off} | {}% | {mark} |",
            cell["id"].as_str().unwrap_or_default(),
            cell["profile"].as_str().unwrap_or_default(),
            cell["metric"].as_str().unwrap_or_default(),
            figure(&simulated["value"]),
            percent(&simulated["error_percent"], true),
            cell["tolerance_percent"]
        );
    }
    remarks(text, study);
}

/// What is assumed and known to be missed, each text once.
fn remarks(text: &mut String, study: &Value) {
    for (kind, heading) in [
        ("assumed", "Assumed, because the source does not say"),
        ("misses", "Known to be missed"),
    ] {
        let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
        for cell in study["cells"].as_array().into_iter().flatten() {
            let Some(remark) = cell[kind].as_str() else {
                continue;
            };
            let id = cell["id"].as_str().unwrap_or_default();
            match said.iter_mut().find(|(known, _)| *known == remark) {
                Some((_, ids)) => ids.push(id),
                None => said.push((remark, vec![id])),
            }
        }
        if !said.is_empty() {
            let _ = write!(text, "\n{heading}:\n\n");
        }
        for (remark, ids) in said {
            let _ = writeln!(text, "- {}: {remark}", ids.join(", "));
        }
    }
}

/// Four significant digits, and whole numbers as they are.
fn figure(value: &Value) -> String {
    let Some(number) = value.as_f64() else {
        return String::new();
    };
    let digits = match number.abs() {
        n if n >= 1000.0 => 0,
        n if n >= 100.0 => 1,
        n if n >= 10.0 => 2,
        _ => 3,
    };
    let text = format!("{number:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
