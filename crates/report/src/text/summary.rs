use std::fmt::Write;
use straddle_geometry::Ratio;
use straddle_rules::{Severity, by_code};

use super::snippet::sanitise;
use super::style::{FAINT, GOOD, STRONG, paint, severity_style};
use crate::fleet::NAMED;
use crate::{Checked, Counts, Summary};

/// One sentence: what the findings on one target come to.
pub(super) fn verdict(checked: &Checked) -> String {
    let counts = Counts::of(&checked.findings);
    let name = sanitise(&checked.name);
    if counts == Counts::default() {
        return format!("{name}: {}", paint(GOOD, "no finding"));
    }
    format!("{name}: {}", count_list(counts))
}

fn count_list(counts: Counts) -> String {
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
    let name = sanitise(&checked.name);
    let Some(worst) = checked.findings.first() else {
        return format!("{}        {:>9}  {name}", paint(GOOD, "ok"), "");
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
        sanitise(&worst.title),
        paint(FAINT, rest)
    )
}

/// `warning      +12.5%`, always as wide.
fn severity_and_price(severity: Severity, price: Ratio) -> String {
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
    if summary.targets > NAMED {
        fleet(summary)
    } else {
        totals(summary)
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
                paint(STRONG, sanitise(&worst.target)),
                worst.code,
                sanitise(&worst.title)
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
    let _ = write!(out, "{}", totals(summary));
    out
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
    format!(
        "{}: {}",
        paint(STRONG, format!("{all} target{s}")),
        parts.join(", ")
    )
}
