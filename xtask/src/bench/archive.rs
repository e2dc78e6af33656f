//! Figures on the screen, and under benches/ with the machine, the commit and the command beside them.

use anyhow::{Context, Result};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

use super::measure::Series;
use crate::run::output;

/// What a run found out.
pub(super) struct Archive {
    summary: String,
    raw: String,
}

impl Archive {
    pub(super) fn new() -> Archive {
        Archive {
            summary: String::new(),
            raw: "section,unit,series,round,value\n".to_owned(),
        }
    }

    /// Adds a paragraph or a list.
    pub(super) fn text(&mut self, text: &str) {
        println!("{text}\n");
        self.summary.push_str(text);
        self.summary.push_str("\n\n");
    }

    /// Adds a table. The first series is the one that all are compared with.
    pub(super) fn section(&mut self, title: &str, unit: &str, note: &str, series: &[Series]) {
        let mut table = format!(
            "## {title}\n\n{note}.\n\n\
             | {unit} | median | quartiles | least to most | × the first row, median (quartiles) |\n|---|---|---|---|---|\n"
        );
        for one in series {
            let ratio = series
                .first()
                .map_or_else(|| one.clone(), |base| one.ratio(base));
            let [least, first, median, third, most] =
                [0, 1, 2, 3, 4].map(|quarter| one.quartile(quarter));
            // Writing to a String cannot fail.
            let _ = writeln!(
                table,
                "| {} | {median:.1} | {first:.1} to {third:.1} | {least:.1} to {most:.1} | {:.2} ({:.2} to {:.2}) |",
                one.name,
                ratio.quartile(2),
                ratio.quartile(1),
                ratio.quartile(3)
            );
            for (round, value) in one.values.iter().enumerate() {
                let _ = writeln!(
                    self.raw,
                    "\"{title}\",{unit},\"{}\",{round},{value:.3}",
                    one.name
                );
            }
        }
        println!("{table}");
        self.summary.push_str(&table);
        self.summary.push('\n');
    }

    /// What was found out so far, in Markdown.
    pub(super) fn summary(&self) -> &str {
        &self.summary
    }

    /// Writes `benches/DATE-NAME/summary.md` and `raw.csv`.
    pub(super) fn write(&self, name: &str, command: &str) -> Result<()> {
        let directory = directory(name)?;
        std::fs::write(
            directory.join("summary.md"),
            heading(name, command)? + self.summary.trim_end() + "\n",
        )?;
        std::fs::write(directory.join("raw.csv"), &self.raw)?;
        println!("archived in {}", directory.display());
        Ok(())
    }
}

fn today() -> Result<String> {
    Ok(output(Command::new("date").arg("+%F"))?.trim().to_owned())
}

/// `benches/DATE-NAME`, which is made.
pub(super) fn directory(name: &str) -> Result<PathBuf> {
    let directory = PathBuf::from(format!("benches/{}-{name}", today()?));
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    Ok(directory)
}

/// What a summary begins with.
pub(super) fn heading(name: &str, command: &str) -> Result<String> {
    Ok(format!(
        "# {name}, {}\n\n{}- command: `{command}`\n\n",
        today()?,
        machine()?
    ))
}

/// What was measured, and on what.
fn machine() -> Result<String> {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo")?;
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(": "))
            .map_or("unknown", |(_, value)| value)
    };
    let said = |words: &[&str]| -> Result<String> {
        let (program, arguments) = words.split_first().context("no program")?;
        Ok(output(Command::new(program).args(arguments))?
            .trim()
            .to_owned())
    };
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let load = load.split(' ').take(3).collect::<Vec<_>>().join(" ");
    // Archived figures are not what is measured.
    let changed = said(&[
        "git",
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        ":!benches",
    ])?;
    let changed = if changed.is_empty() {
        ""
    } else {
        ", with changes"
    };
    Ok(format!(
        "- machine: {} (family {}, model {}), {} cores, Linux {}; other work ran on it: load {load} at the end\n\
         - commit: {}{changed}\n\
         - tools: {}; {}\n",
        field("model name"),
        field("cpu family"),
        field("model\t"),
        std::thread::available_parallelism()?,
        said(&["uname", "-r"])?,
        said(&["git", "rev-parse", "--short=12", "HEAD"])?,
        said(&["sfdisk", "--version"])?,
        said(&["parted", "--version"])?
            .lines()
            .next()
            .unwrap_or_default(),
    ))
}
