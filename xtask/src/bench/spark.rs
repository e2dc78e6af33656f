//! `cargo xtask bench spark`: a trace read by `straddle.spark`, and the same question asked of Spark in SQL, in one session.

use anyhow::{Context, Result, ensure};
use std::process::Command;

use super::archive::Archive;
use super::measure::Series;
use super::traces::{file, parquet};
use super::{Scratch, as_f64};
use crate::run::{output, repository};
use crate::{packages, python};

const ROUNDS: usize = 5;
/// What is measured, the first beside all others.
const MEANS: [&str; 5] = [
    "scan",
    "SQL, counted first",
    "SQL",
    "mapInArrow",
    "rows to Python",
];

/// Measures with so many million requests, and archives the figures under benches/.
pub(crate) fn spark(millions: usize) -> Result<()> {
    packages::for_python()?;
    python::install("release")?;
    let scratch = Scratch::new()?;
    let path = scratch.0.join("trace.csv");
    file(&path, millions * 1_000_000, false)?;
    // Whatever Spark has for packed pages is a library of its own; unpacked ones are read alike by both.
    let packed = parquet(&path, "none")?;
    let sizes = [path.metadata()?.len(), packed.metadata()?.len()];
    let script = repository().join("tests/python/bench_spark.py");
    let lines = output(
        Command::new(repository().join("target/python/bin/python"))
            .arg(script)
            .args([&path, &packed])
            .arg(ROUNDS.to_string()),
    )?;
    let mut archive = Archive::new();
    for ((view, name), bytes) in [("csv", "CSV"), ("parquet", "Parquet")]
        .into_iter()
        .zip(sizes)
    {
        let mut series = MEANS.map(Series::new);
        for line in lines.lines() {
            let mut words = line.split('\t');
            let (means, of, took) = (words.next(), words.next(), words.next());
            if of == Some(view)
                && let Some(one) = series.iter_mut().find(|one| Some(&*one.name) == means)
            {
                let took = took.with_context(|| format!("it said: {line}"))?;
                one.push(took.parse().with_context(|| format!("it said: {line}"))?);
            }
        }
        ensure!(
            series.iter().all(|one| one.values.len() == ROUNDS),
            "not every round was measured: {lines}"
        );
        let note = format!(
            "{millions} million requests, {:.2} GB in the page cache, one session with two cores, eight offsets on four units, reads and \
             writes; all came to the same figures. *Rows to Python* are those of mapInArrow, thrown away there",
            as_f64(usize::try_from(bytes)?) / 1e9
        );
        archive.section(name, "s", &note, &series);
    }
    archive.write("spark", &format!("cargo xtask bench spark {millions}"))
}
