//! Evidence as text: findings, figures by layer, how they went over time, answers.

use std::fmt::Write;

use straddle_rules::Severity;
use straddle_rules::figures::{counted, number, percent, time};
use straddle_stack::activity::{Activity, Quantity, Series, Span, Statistic, Timeline, Unit};
use straddle_stack::{Layer, Source};

use super::answers::{Answer, answers};
use super::change::{Change, Unmatched, some};
use super::document::Failure;
use super::joined::Evidence;
use crate::Counts;
use crate::escape::terminal;
use crate::fold::fold;
use crate::text::finding;
use crate::text::page::folded;
use crate::text::snippet::WIDTH;
use crate::text::style::{FAINT, STRONG, paint, severity_style};
use crate::text::summary::count_list;
use crate::text::table::{Cell, Column, render};

/// The whole report.
#[must_use]
pub fn report(evidence: &Evidence, failures: &[Failure]) -> String {
    let mut out = String::new();
    let (findings, more) = fold(&evidence.checked.findings);
    for found in findings {
        finding::render(&evidence.checked, found, &mut out);
        out.push('\n');
    }
    for rest in more {
        finding::render_folded(&rest, &mut out);
    }
    for id in &evidence.measured {
        let layer = evidence.checked.stack.layer(*id);
        if let Some(activity) = &layer.activity {
            figures(evidence, layer, activity, &mut out);
        }
    }
    changes(&evidence.changes, &evidence.unmatched, &mut out);
    let said = answers(evidence);
    if !said.is_empty() {
        let _ = writeln!(out, "{}", paint(STRONG, "What people ask of such files"));
        for answer in &said {
            question(answer, &mut out);
        }
        out.push('\n');
    }
    oddities(evidence, &mut out);
    let _ = writeln!(out, "{}", verdict(evidence, failures));
    out
}

/// One line: what was read, and what it comes to.
fn verdict(evidence: &Evidence, failures: &[Failure]) -> String {
    let counts = Counts::of(&evidence.checked.findings);
    let gathered = &evidence.gathered;
    let found = match counts == Counts::default() {
        // Where nothing was measured, no finding says nothing.
        true if gathered.figures == 0 => "nothing was measured".to_owned(),
        true => "no finding".to_owned(),
        false => count_list(counts),
    };
    let formats = match gathered.formats.as_slice() {
        [] => String::new(),
        formats => format!(" ({})", formats.join(", ")),
    };
    let read = format!(
        "{} from {}{formats}",
        counted(gathered.figures, "figure"),
        counted(gathered.lines, "line")
    );
    let passed_over = match evidence.passed_over {
        0 => String::new(),
        n => format!("; {} of no known tool", counted(n, "file")),
    };
    let failed = match failures.len() {
        0 => String::new(),
        n => format!("; {} failed", counted(n, "input")),
    };
    format!(
        "{}: {found}; {read}{passed_over}{failed}",
        terminal(&evidence.name)
    )
}

/// What is the matter with lines, each with the first place.
fn oddities(evidence: &Evidence, out: &mut String) {
    for oddity in &evidence.gathered.counted {
        let place = match &oddity.first {
            Source::Captured { file, line, text } => {
                let text: String = text.chars().take(60).collect();
                format!("{}:{line}: {}", terminal(file), terminal(&text))
            }
            _ => String::new(),
        };
        let head = format!("{} {}", counted(oddity.count, "line"), oddity.what);
        let _ = writeln!(
            out,
            "{}, the first {}",
            paint(severity_style(Severity::Warning), head),
            paint(FAINT, place)
        );
    }
}

fn figures(evidence: &Evidence, layer: &Layer, activity: &Activity, out: &mut String) {
    let roles: Vec<&str> = activity.roles.iter().map(|role| role.name()).collect();
    let roles = match roles.is_empty() {
        true => String::new(),
        false => format!(" ({})", roles.join(", ")),
    };
    let head = format!("{} {}{roles}", layer.kind.name(), terminal(&layer.name));
    let _ = writeln!(out, "{}", paint(STRONG, head));
    let mut rows: Vec<[String; 6]> = Vec::new();
    let mut lines = Vec::new();
    let mut mean = "mean";
    for series in shown(activity) {
        let summary = &series.summary;
        let unit = series.quantity.unit();
        let many = summary.count > 1 && series.span != Span::SinceStart;
        let value = match series.span {
            // A mean of what only grows says nothing.
            Span::SinceStart | Span::State => {
                mean = "mean or last";
                summary.last.value.get()
            }
            _ => summary.mean.get(),
        };
        let above = evidence
            .options
            .targets
            .of(activity, series.quantity)
            .filter(|_| series.span == Span::Interval);
        let above = above.map_or_else(String::new, |(target, _)| {
            let share = summary.distribution.above(target);
            format!("{} > {}", percent(share), time(target))
        });
        let if_many = |text: String| if many { text } else { String::new() };
        let p95 = summary.quantile(0.95).filter(|_| many);
        rows.push([
            label(series),
            summary.count.to_string(),
            said(value, unit),
            p95.map_or_else(String::new, |p95| said(p95, unit)),
            if_many(said(summary.max.value.get(), unit)),
            above,
        ]);
        if is_worth_a_line(series) {
            lines.push((label(series), &summary.timeline, unit));
        }
    }
    let cells =
        |at: usize| -> Vec<Cell> { rows.iter().map(|row| row[at].clone().into()).collect() };
    let labels = [Column::words(
        "  ",
        rows.iter()
            .map(|row| format!("  {}", row[0]).into())
            .collect(),
    )];
    let columns = [
        ("figures", 1),
        (mean, 2),
        ("95% at most", 3),
        ("largest", 4),
        ("above target", 5),
    ];
    let is_empty = |at: usize| rows.iter().all(|row| row[at].is_empty());
    let columns = columns.into_iter().filter(|(_, at)| !is_empty(*at));
    let columns: Vec<Column> = columns
        .map(|(name, at)| Column::figures(name, cells(at)))
        .collect();
    render(&labels, &columns, WIDTH + 20, out);
    for (label, timeline, unit) in lines {
        let _ = writeln!(out, "  {label}: {}", spark(timeline, unit));
    }
    for latency in [
        Quantity::ReadLatency,
        Quantity::WriteLatency,
        Quantity::FlushLatency,
    ] {
        let Some(counters) = activity.cumulative(latency) else {
            continue;
        };
        let between = counters
            .between()
            .map_or_else(String::new, |(mean, count)| {
                format!(
                    ", {} on average of the {} between two readings",
                    time(mean),
                    number(count)
                )
            });
        let _ = writeln!(
            out,
            "  {latency}: {} on average since the counters began{between}",
            time(counters.mean())
        );
    }
    out.push('\n');
}

/// Before and after, with how far each difference is known.
fn changes(changes: &[Change], unmatched: &Unmatched, out: &mut String) {
    if changes.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}", paint(STRONG, "Before and after"));
    let cells = |of: &dyn Fn(&Change) -> String| -> Vec<Cell> {
        changes.iter().map(|change| of(change).into()).collect()
    };
    let name = |change: &Change| {
        let statistic = match change.statistic {
            Statistic::Mean => String::new(),
            other => format!(" {other}"),
        };
        let quantity = change.quantity.name().replace('-', " ");
        format!("  {} {quantity}{statistic}", terminal(&change.subject))
    };
    let labels = [Column::words("  ", cells(&name))];
    let columns = [
        Column::figures(
            "before",
            cells(&|change| said(change.before, change.quantity.unit())),
        ),
        Column::figures(
            "after",
            cells(&|change| said(change.after, change.quantity.unit())),
        ),
        Column::figures(
            "change",
            cells(&|change| relative(change.after - change.before, change.before)),
        ),
        Column::words("95% interval", cells(&interval)),
    ];
    render(&labels, &columns, WIDTH + 20, out);
    let _ = writeln!(
        out,
        "  the interval is that of the difference of means over stretches of time, whose likeness with the next one is counted in"
    );
    for (when, names) in [("before", &unmatched.before), ("after", &unmatched.after)] {
        if !names.is_empty() {
            let _ = writeln!(out, "  measured only {when}: {}", terminal(&some(names)));
        }
    }
    out.push('\n');
}

fn interval(change: &Change) -> String {
    let difference = change.after - change.before;
    match change.half {
        None => "unknown: fewer than four stretches of time".to_owned(),
        Some(half) => {
            let ends =
                [difference - half, difference + half].map(|end| relative(end, change.before));
            let noise = if change.is_certain() {
                ""
            } else {
                ", which is within the noise"
            };
            format!("{} to {}{noise}", ends[0], ends[1])
        }
    }
}

/// A difference as a part of what was before.
fn relative(difference: f64, before: f64) -> String {
    if before <= 0.0 {
        return "from nothing".to_owned();
    }
    let sign = if difference < 0.0 { "−" } else { "+" };
    format!("{sign}{}", percent(difference.abs() / before))
}

/// Sums of times are no latencies, and are shown as the latency that they make.
fn shown(activity: &Activity) -> impl Iterator<Item = &Series> {
    activity.series.iter().filter(|series| {
        !matches!(
            series.quantity,
            Quantity::ReadTime | Quantity::WriteTime | Quantity::FlushTime | Quantity::QueueTime
        )
    })
}

fn label(series: &Series) -> String {
    let statistic = match series.statistic {
        Statistic::Mean => String::new(),
        other => format!(" {other}"),
    };
    let span = match series.span {
        Span::SinceStart => " since start",
        _ => "",
    };
    format!(
        "{}{statistic}{span}",
        series.quantity.name().replace('-', " ")
    )
}

fn is_worth_a_line(series: &Series) -> bool {
    let told = matches!(
        series.quantity,
        Quantity::ReadLatency
            | Quantity::WriteLatency
            | Quantity::TransferLatency
            | Quantity::FlushLatency
            | Quantity::GuestLatency
            | Quantity::QueueLength
            | Quantity::SampledQueueLength
            | Quantity::Stalled
            | Quantity::CheckpointSync
    );
    told && series.summary.timeline.bins.len() > 1
}

/// A figure with its unit.
fn said(value: f64, unit: Unit) -> String {
    const STEPS: [(f64, &str); 4] = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
    let scaled = |unit: &str| {
        let (factor, prefix) = STEPS
            .into_iter()
            .find(|(factor, _)| value >= *factor)
            .unwrap_or((1.0, ""));
        format!("{} {prefix}{unit}", number(round(value / factor)))
    };
    match unit {
        Unit::Seconds => time(value),
        Unit::PerSecond => format!("{}/s", number(value)),
        Unit::BytesPerSecond => scaled("B/s"),
        Unit::Bytes => {
            let kib = value / 1024.0;
            match kib {
                k if k >= 1024.0 * 1024.0 => format!("{} GiB", number(round(k / 1024.0 / 1024.0))),
                k if k >= 1024.0 => format!("{} MiB", number(round(k / 1024.0))),
                k if k >= 1.0 => format!("{} KiB", number(round(k))),
                _ => format!("{} B", number(value)),
            }
        }
        Unit::Count => number(value),
        Unit::Fraction => percent(value),
        Unit::Printed => format!("{} MB/s", (value * 1000.0).round() / 1000.0),
    }
}

fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// How a series went, a sign for each stretch; the scale goes from nothing to the largest mean.
fn spark(timeline: &Timeline, unit: Unit) -> String {
    const SIGNS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let means: Vec<Option<f64>> = timeline
        .bins
        .iter()
        .map(straddle_stack::activity::Bin::mean)
        .collect();
    let top = means.iter().flatten().copied().fold(0.0, f64::max);
    let sign = |mean: &Option<f64>| match mean {
        None => ' ',
        Some(_) if top <= 0.0 => SIGNS[0],
        Some(mean) => {
            let at = straddle_rules::figures::whole(mean / top * 7.0);
            usize::try_from(at)
                .ok()
                .and_then(|at| SIGNS.get(at))
                .copied()
                .unwrap_or('█')
        }
    };
    let line: String = means.iter().map(sign).collect();
    let end = timeline.start(timeline.bins.len());
    format!(
        "{} {line} {}  █ = {}, a sign is {}",
        timeline.start(0),
        end,
        said(top, unit),
        stretch(timeline.width)
    )
}

fn stretch(micros: i64) -> String {
    match micros / 1_000_000 {
        s if s % 86_400 == 0 => format!("{} d", s / 86_400),
        s if s % 3600 == 0 => format!("{} h", s / 3600),
        s if s >= 600 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{s} s"),
    }
}

fn question(answer: &Answer, out: &mut String) {
    let _ = writeln!(out, "  {}", paint(STRONG, terminal(&answer.question)));
    for line in folded(&terminal(&answer.answer), WIDTH - 4) {
        let _ = writeln!(out, "    {line}");
    }
    if let Some(needs) = &answer.needs {
        for line in folded(&format!("would answer it: {}", terminal(needs)), WIDTH - 4) {
            let _ = writeln!(out, "    {}", paint(FAINT, line));
        }
    }
}
