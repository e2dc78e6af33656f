//! `cargo xtask bench report`: the report of a fleet of a hundred thousand targets, beside reading its document; and how long a browser
//! takes to open it, beside a page that is nothing but the same rows as a table.

use anyhow::{Context, Result};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use super::archive::Archive;
use super::images::Images;
use super::measure::{Series, peak_kib, printed, wall_us};
use super::{Scratch, as_f64};
use crate::packages;
use crate::run::{cargo, repository, run};

const TARGETS: usize = 100_000;
const ROUNDS: usize = 5;
/// Opens pages in a browser, and says what that took: `tests/e2e`.
const OPENING: &str = "tests/e2e/opening.mjs";
const OPENINGS: usize = 9;

/// Measures, and archives the figures under benches/.
pub(crate) fn report() -> Result<()> {
    packages::for_tests()?;
    run(cargo().args(["build", "--quiet", "--release", "--package", "straddle-cli"]))?;
    let straddle = repository().join("target/release/straddle");
    let scratch = Scratch::new()?;
    let images = Images::make(&scratch.0, TARGETS, &straddle)?;
    let straddle = straddle.to_string_lossy();
    let [document, page, plain] =
        ["fleet.json", "fleet.html", "plain.html"].map(|name| scratch.0.join(name));
    let folder = images.directory.to_string_lossy();
    let check = vec![&*straddle, "check", "--json", "--fail-on", "never", &folder];
    std::fs::write(&document, printed(&check)?)?;
    let (from, to) = (document.to_string_lossy(), page.to_string_lossy());
    let made = vec![&*straddle, "report", &from, "-o", &to, "--force"];
    let parse = format!("import json; json.load(open({from:?}))");
    let tools = [
        ("cat", vec!["cat", &from]),
        ("straddle report", made.clone()),
        ("python3, json.load", vec!["python3", "-c", &parse]),
    ];
    let mut archive = Archive::new();
    let mut series = tools.clone().map(|(name, _)| Series::new(name));
    for _ in 0..ROUNDS {
        for ((_, words), series) in tools.iter().zip(&mut series) {
            series.push(wall_us(words)? / 1e6);
        }
    }
    let mb = |path: &Path| -> Result<f64> {
        let bytes = usize::try_from(std::fs::metadata(path)?.len())?;
        Ok(as_f64(bytes) / 1e6)
    };
    let note = format!(
        "{TARGETS} targets in a document of {:.0} MB; the report is one file of {:.2} MB",
        mb(&document)?,
        mb(&page)?
    );
    archive.section("The report of a fleet", "s", &note, &series);
    let mut memory = Series::new("straddle report");
    for _ in 0..3 {
        memory.push(peak_kib(&made)?);
    }
    archive.section("Peak memory", "KiB", "Resident", &[memory]);
    write_plain(&document, &plain)?;
    let empty = scratch.0.join("empty.html");
    std::fs::write(&empty, "<!doctype html><title>empty</title>")?;
    let note = format!(
        "Chromium, from the address until what is visible is drawn; the plain table has {:.2} MB",
        mb(&plain)?
    );
    let opened = opened(&[
        ("an empty page", &empty),
        ("the report", &page),
        ("a plain table", &plain),
    ])?;
    archive.section("Opening it in a browser", "ms", &note, &opened.drawn);
    archive.section(
        "Searching among all rows",
        "ms",
        "From the last letter of a name until its row alone is shown, in the report",
        &opened.searched,
    );
    archive.write("report", "cargo xtask bench report")
}

struct Opened {
    drawn: Vec<Series>,
    searched: Vec<Series>,
}

/// Opens pages in turn, each in a browser profile of its own.
fn opened(pages: &[(&str, &Path)]) -> Result<Opened> {
    let files = pages.iter().map(|(_, path)| path.as_os_str());
    let output = Command::new("node")
        .args([OPENING, &OPENINGS.to_string()])
        .args(files)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run `node` (Debian package nodejs)")?;
    anyhow::ensure!(output.status.success(), "{OPENING}: {}", output.status);
    let said: Value = serde_json::from_slice(&output.stdout)?;
    let series = |what: &str| -> Result<Vec<Series>> {
        let mut out = Vec::new();
        for (number, (name, _)) in pages.iter().enumerate() {
            let values = said[number][what].as_array().context("no figures")?;
            let mut series = Series::new(name);
            for value in values {
                series.push(value.as_f64().context("no figure")?);
            }
            if !series.values.is_empty() {
                out.push(series);
            }
        }
        Ok(out)
    };
    Ok(Opened {
        drawn: series("drawn")?,
        searched: series("searched")?,
    })
}

/// The same rows as a table and nothing else.
fn write_plain(document: &Path, page: &Path) -> Result<()> {
    let document: Value = serde_json::from_slice(&std::fs::read(document)?)?;
    let mut out = BufWriter::new(File::create(page)?);
    out.write_all(b"<!doctype html><meta charset=utf-8><title>fleet</title><table>")?;
    for target in document["targets"].as_array().context("no targets")? {
        let mut row = String::new();
        let name = target["target"].as_str().unwrap_or_default();
        let _ = write!(row, "<tr><td>{name}");
        for finding in target["findings"].as_array().into_iter().flatten() {
            let code = finding["code"].as_str().unwrap_or_default();
            let _ = write!(row, "<td>{code}");
        }
        out.write_all(row.as_bytes())?;
    }
    out.flush()?;
    Ok(())
}
