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

/// The newest archive as a document, and where it is; `None` where nothing is archived.
pub(super) fn newest_document() -> Result<Option<(PathBuf, Value)>> {
    let Some(folder) = newest()? else {
        return Ok(None);
    };
    let archive = std::fs::read_to_string(folder.join("studies.json"))?;
    Ok(Some((folder, serde_json::from_str(&archive)?)))
}

pub(super) fn page() -> Result<String> {
    let mut text = String::from(
        "# Studies\n\nPublished experiments as data, simulated: does the model reproduce them? `straddle study NAME` prints one, cell by cell (the number of its \
         source may be left out: `eva8100` is `s1-eva8100`); `straddle study --all` the table below.\n\n\
         Parameters may be fitted on cells marked *calibration*; where one was, the cell counts as *fitted on* and its error is no test of \
         the model. Nothing is fitted on cells marked *validation*; their bands were fixed before the first run: rates 10%; ratios within 5% of 1, a \
         point; other ratios, 25% of the published effect; of \"more than x\", nine tenths; orders hold or do not. An error is in percent of what \
         was published, or of the nearest end where a range was published.\n",
    );
    let Some((folder, document)) = newest_document()? else {
        text.push_str("\nNo run is archived yet: `cargo xtask bench studies`.\n");
        return Ok(text);
    };
    let studies = document["studies"].as_array().context("studies")?;
    let _ = write!(
        text,
        "\nFrom [{0}](../{0}/summary.md); `cargo xtask bench studies` makes the next.\n",
        folder.display()
    );
    wrong(&mut text, studies);
    text.push_str("\n## Scoreboard\n\n");
    text.push_str(&kinds(&document["score"]));
    text.push_str(
        "\n| study | validation: within | median error | worst | wrong way | not fitted: within | median error | worst | fitted on: within |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for study in studies {
        row(
            &mut text,
            &link(study["name"].as_str().unwrap_or_default()),
            &study["score"],
        );
    }
    row(&mut text, "all", &document["score"]);
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
    let within = |of: &Value| match of["cells"].as_u64() {
        Some(cells) if cells > 0 => format!("{} of {cells}", of["within"]),
        _ => String::new(),
    };
    let _ = writeln!(
        text,
        "| {name} | {} | {} | {} | {} |",
        tally(&score["validation"]),
        score["validation"]["sign_errors"],
        tally(&score["unfitted"]),
        within(&score["fitted"])
    );
}

/// What the model gets wrong: every cell out of its tolerance, with the reason where it is known.
fn wrong(text: &mut String, studies: &[Value]) {
    text.push_str("\n## What the model gets wrong\n\n");
    let cells = studies.iter().flat_map(|study| {
        let cells = study["cells"].as_array().into_iter().flatten();
        cells.map(move |cell| (study, cell))
    });
    let is_off = |cell: &Value| cell["simulated"]["within"].as_bool() == Some(false);
    let off: Vec<_> = cells.filter(|(_, cell)| is_off(cell)).collect();
    if off.is_empty() {
        text.push_str("Nothing that was published: every cell is within its tolerance.\n");
        return;
    }
    text.push_str("| cell | study | published | simulated | tolerance | | why, where it is known |\n|---|---|---|---|---|---|---|\n");
    for (study, cell) in off {
        let simulated = &cell["simulated"];
        let way = match simulated["sign_error"].as_bool() {
            Some(true) => "wrong way",
            _ => "",
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} {} | {} | {} | {way} | {} |",
            cell["id"].as_str().unwrap_or_default(),
            link(study["name"].as_str().unwrap_or_default()),
            published(&cell["published"]),
            cell["metric"].as_str().unwrap_or_default(),
            figure(&simulated["value"]),
            cell["tolerance"].as_str().unwrap_or_default(),
            cell["misses"].as_str().unwrap_or_default()
        );
    }
}

/// How many cells of each kind are within their tolerance, a line each: what is a test of the model first.
pub(crate) fn kinds(score: &Value) -> String {
    let mut text = String::from(
        "| cells | within their tolerance | share | median error | worst error | ratios the wrong way |\n|---|---|---|---|---|---|\n",
    );
    for (name, kind) in [
        ("validation: nothing is fitted on them", "validation"),
        ("calibration, nothing fitted on them", "unfitted"),
        ("fitted on: no test of the model", "fitted"),
    ] {
        let of = &score[kind];
        let (cells, within) = (
            of["cells"].as_f64().unwrap_or(0.0),
            of["within"].as_f64().unwrap_or(0.0),
        );
        let _ = writeln!(
            text,
            "| {name} | {within} of {cells} | {:.0}% | {} | {} | {} |",
            100.0 * within / cells.max(1.0),
            percent(&of["median_percent"], false),
            percent(&of["worst_percent"], false),
            of["sign_errors"]
        );
    }
    text
}

/// `9`, `9 to 12`, `> 9`, `≤ 1`.
fn published(of: &Value) -> String {
    let (least, most) = (&of["least"], &of["most"]);
    let sign = |strict: &'static str, equal: &'static str| match of["order"].as_bool() {
        Some(true) => equal,
        _ => strict,
    };
    match (least.is_null(), most.is_null()) {
        (_, true) => format!("{} {}", sign(">", "≥"), figure(least)),
        (true, _) => format!("{} {}", sign("<", "≤"), figure(most)),
        _ if least == most => figure(least),
        _ => format!("{} to {}", figure(least), figure(most)),
    }
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
        let published = published(&cell["published"]);
        let against = cell["against"]
            .as_str()
            .map_or_else(String::new, |other| format!(", against {other}"));
        let _ = writeln!(
            text,
            "| {} | `{}` | {}{against} | {published} | {} | {}{off} | {} | {mark} |",
            cell["id"].as_str().unwrap_or_default(),
            cell["profile"].as_str().unwrap_or_default(),
            cell["metric"].as_str().unwrap_or_default(),
            figure(&simulated["value"]),
            percent(&simulated["error_percent"], true),
            cell["tolerance"].as_str().unwrap_or_default()
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
