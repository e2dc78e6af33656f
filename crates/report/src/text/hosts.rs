//! The hosts of a fleet: those that are alike in one line, and a table of hosts and findings.

use std::fmt::Write;

use straddle_rules::{Code, Severity};

use super::style::{FAINT, GOOD, STRONG, paint, severity_style};
use super::summary::severity_and_price;
use super::table::{Cell, Column, render as table};
use crate::Summary;
use crate::alike::{Alike, AlikeFinding};
use crate::escape::terminal;

/// Most lines of hosts that are printed; the worst come first, and the JSON document has all.
const MAX_LINES: usize = 40;
/// Most rows and columns of the table.
const MAX_ROWS: usize = 12;
const MAX_COLUMNS: usize = 8;
/// Width of a terminal where nobody says another.
const WIDTH: usize = 120;

/// A line for each kind of host.
pub(super) fn lines(summary: &Summary) -> String {
    let mut out = String::new();
    for alike in summary.alike.iter().take(MAX_LINES) {
        let _ = writeln!(out, "{}", line(alike));
    }
    let left = summary.alike.iter().skip(MAX_LINES);
    let left: usize = left.map(|alike| alike.hosts).sum::<usize>() + summary.other_hosts;
    if left > 0 {
        let _ = writeln!(
            out,
            "{}",
            paint(
                FAINT,
                format!(
                    "and {left} more hosts of other kinds, none of them worse; --format csv has a line for each"
                )
            )
        );
    }
    out
}

fn line(alike: &Alike) -> String {
    let names = paint(STRONG, names(alike));
    let worst = alike
        .findings
        .first()
        .filter(|worst| alike.unchecked.is_none() || worst.severity > Severity::Note);
    let Some(worst) = worst else {
        let (word, about) = match alike.unchecked {
            Some(why) => (
                paint(severity_style(Severity::Warning), "unchecked "),
                format!(" {}", paint(FAINT, why)),
            ),
            None => (paint(GOOD, "ok        "), String::new()),
        };
        return format!("{word}{:>9}  {names}{about}", "");
    };
    let all: usize = alike.findings.iter().map(|of| of.findings).sum();
    let rest = match all {
        1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    format!(
        "{}  {names}  {} {}{}",
        severity_and_price(worst.severity, worst.extra),
        worst.code,
        terminal(&alike.line.title),
        paint(FAINT, rest)
    )
}

/// `db3`, or `412 hosts alike: db1, db2, db3 and 409 more`.
fn names(alike: &Alike) -> String {
    let first: Vec<_> = alike.first.iter().map(|name| terminal(name)).collect();
    let first = first.join(", ");
    match alike.hosts.saturating_sub(alike.first.len()) {
        _ if alike.hosts == 1 => first,
        0 => format!("{} hosts alike: {first}", alike.hosts),
        more => format!("{} hosts alike: {first} and {more} more", alike.hosts),
    }
}

/// Which findings which hosts have: a row for each kind, a column for each rule.
pub(super) fn matrix(summary: &Summary) -> String {
    let has_found = |alike: &&Alike| !alike.findings.is_empty();
    let rows: Vec<&Alike> = summary
        .alike
        .iter()
        .filter(has_found)
        .take(MAX_ROWS)
        .collect();
    let mut codes: Vec<Code> = Vec::new();
    for finding in rows.iter().flat_map(|alike| &alike.findings) {
        if !codes.contains(&finding.code) && codes.len() < MAX_COLUMNS {
            codes.push(finding.code);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let words = |of: &dyn Fn(&Alike) -> String| -> Vec<Cell> {
        rows.iter().map(|alike| of(alike).into()).collect()
    };
    let labels = [
        Column::figures("hosts", words(&|alike| alike.hosts.to_string())),
        Column::words(
            "such as",
            words(&|alike| {
                let first = alike.first.first().map(|name| terminal(name).into_owned());
                first.unwrap_or_default()
            }),
        ),
    ];
    let columns: Vec<Column> = codes
        .iter()
        .map(|code| {
            let cells = rows.iter().map(|alike| {
                let found = alike.findings.iter().find(|of| of.code == *code);
                found.map_or_else(|| Cell::from(String::new()), cell)
            });
            Column::figures(code.to_string(), cells.collect())
        })
        .collect();
    let mut out = format!("{}\n", paint(STRONG, "Hosts and findings"));
    table(&labels, &columns, WIDTH, &mut out);
    out.push('\n');
    out
}

/// The price of a finding, or its severity where it has none.
fn cell(finding: &AlikeFinding) -> Cell {
    let text = match finding.extra.is_zero() {
        true => finding.severity.name().to_owned(),
        false => format!("+{}", finding.extra),
    };
    Cell::styled(text, severity_style(finding.severity))
}
