use std::fmt::Write;
use straddle_geometry::Ratio;
use straddle_rules::{Coverage, Severity, Why, by_code};

use super::hosts;
use super::style::{FAINT, GOOD, STRONG, paint, severity_style};
use crate::escape::terminal;
use crate::fleet::Gap;
use crate::fleet::NAMED;
use crate::{Checked, Counts, Summary};

/// One sentence: what the findings on one target come to.
pub(super) fn verdict(checked: &Checked) -> String {
    let counts = Counts::of(&checked.findings);
    let name = terminal(&checked.name);
    let found = match counts == Counts::default() {
        true => None,
        false => Some(count_list(counts)),
    };
    let rests_on = match &checked.coverage {
        Coverage::Starts { .. } | Coverage::Units => None,
        Coverage::Blank { because } => Some(paint(
            GOOD,
            format!("blank: nothing to align ({})", terminal(because)),
        )),
        Coverage::Nothing { why, next } => Some(paint(
            severity_style(Severity::Warning),
            unchecked(*why, next),
        )),
    };
    let parts: Vec<String> = found.into_iter().chain(rests_on).collect();
    match parts.is_empty() {
        true => format!("{name}: {}", paint(GOOD, "no finding")),
        false => format!("{name}: {}", parts.join("; ")),
    }
}

/// That nothing was checked, why, and what to do next.
#[must_use]
pub fn unchecked(why: Why, next: &[String]) -> String {
    let words = format!("nothing was checked: {}", why.words());
    match next {
        [] => words,
        next => format!("{words}; capture next: {}", next.join(", or ")),
    }
}

pub(crate) fn count_list(counts: Counts) -> String {
    let part = |n: usize, severity: Severity| {
        let s = if n == 1 { "" } else { "s" };
        (n > 0).then(|| {
            paint(
                severity_style(severity),
                format!("{n} {}{s}", severity.name()),
            )
        })
    };
    let parts = [
        part(counts.errors, Severity::Error),
        part(counts.warnings, Severity::Warning),
        part(counts.notes, Severity::Note),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// One line for one of many targets: its worst severity and price, its name, the worst finding.
#[must_use]
pub fn line(checked: &Checked) -> String {
    let name = terminal(&checked.name);
    let why = checked.coverage.why();
    let word = match (checked.findings.first(), &checked.coverage) {
        (_, Coverage::Nothing { .. }) => paint(severity_style(Severity::Warning), "unchecked "),
        (None, Coverage::Blank { .. }) => paint(GOOD, "blank     "),
        _ => paint(GOOD, "ok        "),
    };
    let Some(worst) = checked
        .findings
        .first()
        .filter(|worst| why.is_none() || worst.severity > Severity::Note)
    else {
        let about = why.map_or_else(String::new, |why| format!(" {}", paint(FAINT, why.words())));
        return format!("{word}{:>9}  {name}{about}", "");
    };
    let rest = match checked.findings.len() {
        1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    format!(
        "{}  {}  {} {}{}",
        severity_and_price(worst.severity, worst.worst_price()),
        paint(STRONG, name),
        worst.code,
        terminal(&worst.title),
        paint(FAINT, rest)
    )
}

/// `warning      +12.5%`, always as wide.
pub(super) fn severity_and_price(severity: Severity, price: Ratio) -> String {
    let extra = if price.is_zero() {
        String::new()
    } else {
        format!("+{price}")
    };
    let padding = " ".repeat(10 - severity.name().len());
    let word = paint(severity_style(severity), severity.name());
    format!("{word}{padding}{extra:>9}")
}

/// What comes below a line for each target: the totals, and before them the worst ones where there are too many lines to
/// find them.
#[must_use]
pub fn below_lines(summary: &Summary) -> String {
    let hosts = match summary.alike.is_empty() {
        true => String::new(),
        false => format!("{}\n", hosts::lines(summary)),
    };
    // Hosts are listed worst first, and need no second list.
    if summary.targets > NAMED && summary.hosts < summary.targets {
        hosts + &fleet(summary)
    } else {
        hosts + &gaps(summary) + &totals(summary)
    }
}

/// The worst of many targets, then what was found how often, then how many there are.
#[must_use]
pub fn fleet(summary: &Summary) -> String {
    let mut out = String::new();
    if !summary.worst.is_empty() {
        let _ = writeln!(out, "{}", paint(STRONG, "Worst, by price"));
        for worst in &summary.worst {
            let _ = writeln!(
                out,
                "{}  {}  {} {}",
                severity_and_price(worst.severity, worst.extra),
                paint(STRONG, terminal(&worst.target)),
                worst.code,
                terminal(&worst.title)
            );
        }
        let _ = writeln!(out, "\n{}", paint(STRONG, "Findings, on how many targets"));
        for rule in &summary.rules {
            let about = by_code(rule.code).map_or("", |rule| rule.summary);
            let _ = writeln!(
                out,
                "{}  {:>7}  {} {about}",
                severity_and_price(rule.severity, rule.extra),
                rule.targets,
                rule.code
            );
        }
        out.push('\n');
    }
    out.push_str(&hosts::matrix(summary));
    let _ = write!(out, "{}{}", gaps(summary), totals(summary));
    out
}

/// The targets of which no start was checked, by reason; the first of each are named.
fn gaps(summary: &Summary) -> String {
    let mut out = String::new();
    for gap in &summary.gaps {
        let _ = writeln!(
            out,
            "{} {}: {}",
            paint(
                severity_style(Severity::Warning),
                format!("{:>7}  nothing was checked:", gap.targets)
            ),
            gap.why.words(),
            named(gap)
        );
    }
    out
}

/// The first targets of a gap, by name, and how many more there are.
fn named(gap: &Gap) -> String {
    let names: Vec<_> = gap.first.iter().map(|name| terminal(name)).collect();
    let more = gap.targets.saturating_sub(names.len());
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names.join(", "))
}

/// How many targets there are of each kind, in one line.
fn totals(summary: &Summary) -> String {
    let mut parts = Vec::new();
    let mut add = |n: usize, words: &str, style: anstyle::Style| {
        if n > 0 {
            parts.push(paint(style, format!("{n} {words}")));
        }
    };
    add(
        summary.with_errors,
        "with errors",
        severity_style(Severity::Error),
    );
    add(
        summary.with_warnings,
        "with warnings",
        severity_style(Severity::Warning),
    );
    add(
        summary.with_notes,
        "with notes only",
        severity_style(Severity::Note),
    );
    add(summary.clean, "without a finding", GOOD);
    add(
        summary.unchecked,
        "of which nothing was checked",
        severity_style(Severity::Warning),
    );
    add(
        summary.failed,
        "could not be read",
        severity_style(Severity::Error),
    );
    add(
        summary.unrecognised,
        "in which nothing was recognised",
        FAINT,
    );
    let all = summary.targets + summary.failed + summary.unrecognised;
    if all == 0 {
        return paint(STRONG, "0 targets: there is no file to check");
    }
    let s = if all == 1 { "" } else { "s" };
    // What could not be read may have been anything.
    let others = summary.unrecognised + summary.failed;
    let what = match summary.hosts == summary.targets && others == 0 && summary.hosts > 0 {
        true => "host",
        false => "target",
    };
    format!(
        "{}: {}",
        paint(STRONG, format!("{all} {what}{s}")),
        parts.join(", ")
    )
}
