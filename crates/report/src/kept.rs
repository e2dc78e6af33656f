//! Runs that were kept, in lists.

use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;
use std::io;
use straddle_history::Entry;

use crate::bench::wording::percent;
use crate::cells::Cells;
use crate::escape::terminal;
use crate::text::style::{FAINT, STRONG, paint};
use crate::text::table::{Column, render};
use crate::utc::when;

/// Name and version of the JSON form of a list.
pub const SCHEMA: &str = "straddle.history/1";

/// A run in a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Run")]
pub struct Row<'a> {
    /// Its number.
    pub run: i64,
    /// The verb that made it.
    pub verb: &'a str,
    /// What it is about.
    pub target: &'a str,
    /// What it came to.
    pub headline: &'a str,
    /// When it began, in words.
    pub began: String,
    /// The machine that made it.
    pub machine: &'a str,
    /// The version that made it.
    pub version: &'a str,
    /// The command.
    pub command: &'a str,
    /// The exit status.
    pub status: u8,
    /// What it is known by on every machine.
    pub key: String,
}

impl<'a> From<&'a Entry> for Row<'a> {
    fn from(entry: &'a Entry) -> Row<'a> {
        Row {
            run: entry.id,
            verb: &entry.verb,
            target: &entry.target,
            headline: &entry.headline,
            began: when(entry.began_seconds()),
            machine: &entry.machine,
            version: &entry.version,
            command: &entry.command,
            status: entry.status,
            key: entry.key.to_string(),
        }
    }
}

/// A list in JSON.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "straddle history list")]
pub struct Document<'a> {
    /// Name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// How many there are.
    all: u64,
    /// The latest of them.
    runs: &'a [Row<'a>],
}

impl<'a> Document<'a> {
    /// The document of a list.
    #[must_use]
    pub fn new(runs: &'a [Row<'a>], all: u64) -> Document<'a> {
        Document {
            schema: SCHEMA,
            all,
            runs,
        }
    }
}

/// Narrowest column for what a run came to.
const LEAST: usize = 24;

/// A table for people: a line for each run, and how many more there are.
#[must_use]
pub fn list(rows: &[Row<'_>], all: u64, width: usize) -> String {
    if rows.is_empty() {
        return "no run is kept that this asks for\n".to_owned();
    }
    let mut out = String::new();
    table(rows, width, &mut out);
    let more = all.saturating_sub(u64::try_from(rows.len()).unwrap_or(u64::MAX));
    if more > 0 {
        let _ = writeln!(
            out,
            "{}",
            paint(FAINT, format!("  and {more} earlier ones (--limit)"))
        );
    }
    out
}

fn table(rows: &[Row<'_>], width: usize, out: &mut String) {
    let words = |cell: &dyn Fn(&Row<'_>) -> String| {
        rows.iter()
            .map(|row| terminal(&cell(row)).into_owned())
            .collect::<Vec<_>>()
    };
    let numbers = words(&|row| row.run.to_string());
    let times = words(&|row| row.began.trim_end_matches(" UTC").to_owned());
    let verbs = words(&|row| row.verb.to_owned());
    let machines = words(&|row| short(row.machine, 16));
    let targets = words(&|row| short(row.target, 28));
    let taken: usize = [&numbers, &times, &verbs, &machines, &targets]
        .iter()
        .map(|cells| {
            cells
                .iter()
                .map(|c| c.chars().count())
                .max()
                .unwrap_or(0)
                .max(7)
                + 2
        })
        .sum();
    let room = width.saturating_sub(taken + 2).max(LEAST);
    let headlines = words(&|row| short(row.headline, room));
    let column = |name: &str, cells: Vec<String>| {
        Column::words(name, cells.into_iter().map(Into::into).collect())
    };
    let labels = [Column::figures(
        "run",
        numbers.into_iter().map(Into::into).collect(),
    )];
    let columns = [
        column("began (UTC)", times),
        column("verb", verbs),
        column("machine", machines),
        column("target", targets),
        column("what it came to", headlines),
    ];
    render(&labels, &columns, width.max(taken + LEAST), out);
}

fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars()
        .take(most.saturating_sub(1))
        .chain(['…'])
        .collect()
}

/// One run for people.
#[must_use]
pub fn show(row: &Row<'_>) -> String {
    let mut out = String::new();
    let line = format!("run {}: {} {}", row.run, row.verb, row.target);
    let _ = writeln!(out, "{}", paint(STRONG, terminal(&line)));
    let _ = writeln!(out, "  {}", terminal(row.headline));
    let status = row.status.to_string();
    for (name, value) in [
        ("began", row.began.as_str()),
        ("machine", row.machine),
        ("command", row.command),
        ("version", row.version),
        ("status", &status),
        ("key", &row.key),
    ] {
        if !value.is_empty() {
            let _ = writeln!(out, "  {name:<8} {}", terminal(value));
        }
    }
    let _ = writeln!(
        out,
        "document: straddle history show {0} --json; as a page: straddle report {0} -o report.html",
        row.run
    );
    out
}

/// Baselines for people: name, what is allowed, and the run.
#[must_use]
pub fn baselines(rows: &[(&str, f64, Row<'_>)], width: usize) -> String {
    if rows.is_empty() {
        return "there is no baseline; `straddle baseline set` makes the last run one\n".to_owned();
    }
    let mut out = String::new();
    let cells = |cell: &dyn Fn(&(&str, f64, Row<'_>)) -> String| {
        rows.iter()
            .map(|row| terminal(&cell(row)).into_owned().into())
            .collect()
    };
    let labels = [Column::words(
        "baseline",
        cells(&|(name, _, _)| (*name).to_owned()),
    )];
    let columns = [
        Column::figures(
            "may be worse by",
            cells(&|(_, worse, _)| percent(*worse, 1)),
        ),
        Column::figures("run", cells(&|(_, _, row)| row.run.to_string())),
        Column::words("began", cells(&|(_, _, row)| row.began.clone())),
        Column::words("verb", cells(&|(_, _, row)| row.verb.to_owned())),
        Column::words("target", cells(&|(_, _, row)| short(row.target, 40))),
    ];
    render(&labels, &columns, width, &mut out);
    out
}

/// A line for each run, for spreadsheets.
///
/// # Errors
/// Those of `out`.
pub fn csv(rows: &[Row<'_>], out: impl io::Write) -> csv::Result<()> {
    let mut writer = Cells::new(out);
    writer.record([
        "run", "verb", "target", "headline", "began", "machine", "version", "command", "status",
        "key",
    ])?;
    for row in rows {
        let (run, status) = (row.run.to_string(), row.status.to_string());
        writer.record([
            run.as_str(),
            row.verb,
            row.target,
            row.headline,
            &row.began,
            row.machine,
            row.version,
            row.command,
            &status,
            &row.key,
        ])?;
    }
    writer.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::style::without_styles;

    fn row(run: i64) -> Row<'static> {
        Row {
            run,
            verb: "bench",
            target: "/srv/databases/production/data/straddle-bench.dat",
            headline: "1M delivers +31% (29 to 33) beside unaligned (measured): 64 KiB random, reads only, 1 × 8.",
            began: "2026-11-27 14:55:15 UTC".to_owned(),
            machine: "db1.example.net",
            version: "0.1.0",
            command: "straddle bench /srv",
            status: 0,
            key: "00".repeat(16),
        }
    }

    #[test]
    fn a_list_fits_the_terminal_and_says_what_is_left_out() {
        for width in [80, 120, 200] {
            let text = without_styles(&list(&[row(12), row(7)], 40, width));
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines.len(), 4, "{text}");
            assert_eq!(lines[3], "  and 38 earlier ones (--limit)");
            let longest = lines
                .iter()
                .map(|line| line.trim_end().chars().count())
                .max();
            // Below some width the headline keeps a few words.
            assert!(longest <= Some(width.max(124)), "{width}: {text}");
            assert!(
                lines[1]
                    .trim_start()
                    .starts_with("12  2026-11-27 14:55:15  bench"),
                "{text}"
            );
        }
    }

    #[test]
    fn what_a_spreadsheet_would_compute_is_text() {
        let mut out = Vec::new();
        let hostile = Row {
            target: "=cmd|calc",
            ..row(1)
        };
        csv(&[hostile], &mut out).expect("written");
        let text = String::from_utf8(out).expect("UTF-8");
        assert!(text.contains(",'=cmd|calc,"), "{text}");
    }
}
