//! `cargo xtask bench history`: the list of a hundred thousand runs, beside the same question asked by Python's sqlite3 of the same
//! database and beside starting a process that does nothing; and what keeping one run costs a verb.

use anyhow::Result;
use std::path::Path;
use straddle::history::{Run, Store};

use super::archive::Archive;
use super::measure::{Series, peak_kib, printed, wall_us};
use super::{Scratch, as_f64};
use crate::run::{cargo, repository, run};

const RUNS: usize = 100_000;
const ROUNDS: usize = 15;
/// What people keep, of a fleet that is measured each week.
const VERBS: [&str; 4] = ["bench", "predict", "study", "fix"];

/// Measures, and archives the figures under benches/.
pub(crate) fn history() -> Result<()> {
    run(cargo().args(["build", "--quiet", "--release", "--package", "straddle-cli"]))?;
    let straddle = repository().join("target/release/straddle");
    let straddle = straddle.to_string_lossy();
    let scratch = Scratch::new()?;
    let (many, empty) = (scratch.0.join("many.sqlite"), scratch.0.join("kept.sqlite"));
    let document = printed(&[&straddle, "predict", "--profile", "fixed-service", "--json"])?;
    fill(&many, &document)?;
    let (path, kept) = (many.to_string_lossy(), empty.to_string_lossy());
    let list = |limit| {
        vec![
            &*straddle,
            "history",
            "list",
            "--history",
            &path,
            "--limit",
            limit,
        ]
    };
    let mut found = list("50");
    found.extend(["--target", "lun07", "--verb", "bench"]);
    let query = |limit: &str| {
        format!(
            "import sqlite3, sys\n\
             for row in sqlite3.connect('file:{path}?mode=ro', uri=True).execute(\
             'SELECT id, verb, target, headline, began, machine FROM runs ORDER BY began DESC, id DESC LIMIT {limit}'):\n\
             \x20   print(*row)"
        )
    };
    let (first, all) = (query("50"), query("1000000"));
    let mut archive = Archive::new();
    archive.text(&format!(
        "{RUNS} runs of {} bytes each as documents, {:.0} MB as a database, in memory.",
        document.len(),
        as_f64(usize::try_from(std::fs::metadata(&many)?.len())?) / 1e6
    ));
    measured(
        &mut archive,
        "The latest 50 runs",
        &[
            ("true", vec!["true"]),
            ("straddle history list", list("50")),
            ("straddle history list --target --verb", found),
            ("python3, sqlite3", vec!["python3", "-c", &first]),
            ("python3, nothing", vec!["python3", "-c", ""]),
        ],
    )?;
    let mut json = list("1000000");
    json.extend(["--format", "json"]);
    measured(
        &mut archive,
        "All runs",
        &[
            ("python3, sqlite3", vec!["python3", "-c", &all]),
            ("straddle history list", list("1000000")),
            ("straddle history list --format json", json),
        ],
    )?;
    let predict = |history| {
        vec![
            &*straddle,
            "predict",
            "--profile",
            "fixed-service",
            "--requests",
            "1000",
            "--history",
            history,
        ]
    };
    measured(
        &mut archive,
        "A prediction that is kept",
        &[
            ("kept nowhere", predict("none")),
            ("kept in a history of its own", predict(&kept)),
            ("kept beside the others", predict(&path)),
        ],
    )?;
    let mut memory = Vec::new();
    for (name, words) in [("the latest 50", list("50")), ("all", list("1000000"))] {
        let mut series = Series::new(name);
        for _ in 0..3 {
            series.push(peak_kib(&words)?);
        }
        memory.push(series);
    }
    archive.section(
        "Peak memory of a list",
        "KiB",
        "Resident, a process each",
        &memory,
    );
    archive.write("history", "cargo xtask bench history")
}

fn measured(archive: &mut Archive, title: &str, tools: &[(&str, Vec<&str>)]) -> Result<()> {
    let mut series: Vec<Series> = tools.iter().map(|(name, _)| Series::new(name)).collect();
    for _ in 0..ROUNDS {
        for ((_, words), series) in tools.iter().zip(&mut series) {
            series.push(wall_us(words)? / 1e3);
        }
    }
    archive.section(title, "ms", "A process each, in the same rounds", &series);
    Ok(())
}

/// Keeps the runs one by one, as their verbs would.
fn fill(path: &Path, document: &str) -> Result<()> {
    let mut store = Store::open(path)?;
    for (number, began) in (0..RUNS).zip((1_700_000_000_000_000_i64..).step_by(300_000_000)) {
        let verb = VERBS[number % VERBS.len()];
        let target = format!("/dev/mapper/lun{:02}", number % 97);
        store.add(&Run {
            verb: verb.to_owned(),
            command: format!("straddle {verb} {target} --json"),
            target,
            headline: "1M is 12.3% (11.8 to 12.9%) faster than 31.5K".to_owned(),
            began,
            machine: format!("db{:03}", number % 211),
            version: "0.1.0".to_owned(),
            status: 0,
            document: document.to_owned(),
        })?;
    }
    Ok(())
}
