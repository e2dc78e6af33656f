//! `cargo xtask bench tables`: how long the analysis of a long block table takes beside a plain sum over the same bytes,
//! and how much memory it needs for two sizes.

use anyhow::{Context, Result};
use std::process::Command;

use super::archive::Archive;
use super::measure::Series;
use super::{Scratch, quietly};
use crate::run::{cargo, output, repository, run};

/// Format, what it is, entries, rounds, entries of a small one whose memory is compared.
const TABLES: [(&str, &str, u32, usize, u32); 2] = [
    ("vhd", "dynamic VHD of 2,040 GiB", 1_044_480, 100, 16_384),
    ("vhdx", "VHDX of 64 TiB", 1 << 26, 15, 1 << 20),
];
const ORDERS: [(&str, &str); 2] = [
    ("sequential", "blocks in the order of the disk"),
    ("permuted", "blocks in random order"),
];
/// Processes that are asked for their memory.
const PROCESSES: usize = 5;

/// Measures, and archives the figures under benches/.
pub(crate) fn tables() -> Result<()> {
    run(cargo().args([
        "build",
        "--quiet",
        "--release",
        "--package",
        "straddle-sources",
        "--example",
        "tables",
    ]))?;
    let tables = repository().join("target/release/examples/tables");
    let tables = tables.to_string_lossy();
    let scratch = Scratch::new()?;
    let make = |format: &str, entries: u32, order: &str| -> Result<String> {
        let path = scratch.0.join(format!("{format}-{entries}-{order}"));
        let path = path.to_string_lossy().into_owned();
        quietly(&[&tables, "make", format, &entries.to_string(), order, &path])?;
        Ok(path)
    };
    let mut archive = Archive::new();
    for (format, what, entries, rounds, small) in TABLES {
        for (order, said) in ORDERS {
            let path = make(format, entries, order)?;
            let words = ["time", &path, &rounds.to_string()];
            let lines = output(Command::new(&*tables).args(words))?;
            let mut series = ["analysis", "plain sum", "analysis", "plain sum"].map(Series::new);
            for line in lines.lines() {
                let mut figures = line.split(' ');
                for one in &mut series {
                    let figure = figures.next().context("four figures a line")?;
                    one.push(figure.parse()?);
                }
            }
            let [analysis, sum, worked, worked_sum] = series;
            let note = format!(
                "{entries} entries, all blocks allocated, the file in the page cache; sum and analysis in turn in one process"
            );
            let title = format!("{what}, {said}");
            archive.section(&title, "µs", &note, &[sum, analysis]);
            archive.section(
                &format!("{title}: time on a processor"),
                "µs",
                "the same rounds by the clock of the thread, which stands still while other programs run; there is one thread",
                &[worked_sum, worked],
            );
            let few = make(format, small, order)?;
            let mut memory = [
                (Series::new(&format!("{small} entries")), &few),
                (Series::new(&format!("{entries} entries")), &path),
            ];
            for _ in 0..PROCESSES {
                for (series, path) in &mut memory {
                    series.push(peak(&tables, path)?);
                }
            }
            archive.section(
                &format!("Peak memory: {what}, {said}"),
                "KiB",
                "resident (VmHWM), a process each",
                &memory.map(|(series, _)| series),
            );
            for path in [path, few] {
                std::fs::remove_file(path)?;
            }
        }
    }
    archive.write("tables", "cargo xtask bench tables")
}

/// What the program says of itself: unlike the figure of `time`, it starts at nothing with every program.
fn peak(tables: &str, path: &str) -> Result<f64> {
    let said = output(Command::new(tables).args(["peak", path]))?;
    Ok(said.trim().parse()?)
}
