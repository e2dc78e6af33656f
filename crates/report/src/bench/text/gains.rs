//! What each offset gains over the baseline, and where more concurrency stops to help.

use std::fmt::Write;

use straddle_bench::results::{Experiment, Gain, Knee};
use straddle_geometry::Bytes;
use straddle_workload::interval::Verdict;

use super::super::wording::{
    Group, cell, decimals, delivered, gain, list, load, offset_name, rate_text, verdict,
};
use super::figures::{LOAD, by_offset, loads};
use super::heading;
use crate::escape::terminal;
use crate::text::page::folded;
use crate::text::style::{ERROR, FAINT, GOOD};
use crate::text::table::{self, Cell, Column};

/// Writes the table of gains with their intervals, then every verdict in words.
pub(super) fn render(experiment: &Experiment, group: &Group<'_>, width: usize, out: &mut String) {
    let plan = &experiment.plan;
    let find = |index: usize, offset: usize| {
        let gains = cell(experiment, index).map_or(&[][..], |c| c.gains.as_slice());
        gains.iter().find(|gain| gain.offset == offset)
    };
    // Cells that were not reached have no line.
    let group = &Group {
        title: group.title.clone(),
        cells: group
            .cells
            .iter()
            .copied()
            .filter(|index| cell(experiment, *index).is_some_and(|cell| cell.blocks > 0))
            .collect(),
        workload: group.workload,
    };
    if plan.offsets.len() < 2 || group.cells.is_empty() {
        return;
    }
    heading(
        out,
        width,
        &format!("Gain over {}", terminal(offset_name(plan, 0))),
        &format!(" with its 95% interval, {}", group.title),
    );
    // What is one line or one column needs no table beside the verdicts, which have the same figures.
    if group.cells.len() > 1 && plan.offsets.len() > 2 {
        let figure = |index, offset| {
            let ratio = find(index, offset).and_then(|g| g.ratio);
            ratio.map_or("–".into(), |ratio| gain(ratio).into())
        };
        let columns = by_offset(experiment, group, 1, figure);
        table::render(&[loads(experiment, group)], &columns, width, out);
        out.push('\n');
    }
    let mut rows: Vec<(Cell, Cell, Cell)> = Vec::new();
    for index in &group.cells {
        let mut label = plan.cells.get(*index).map(load);
        for offset in 1..plan.offsets.len() {
            let Some(gain) = find(*index, offset) else {
                continue;
            };
            let name = terminal(offset_name(plan, offset)).into_owned();
            rows.push((
                label.take().unwrap_or_default().into(),
                name.into(),
                said(gain),
            ));
        }
    }
    let loads = rows.iter().map(|row| row.0.clone()).collect();
    let names = rows.iter().map(|row| row.1.clone()).collect();
    let verdicts = rows.into_iter().map(|row| row.2).collect();
    let labels = [Column::figures(LOAD, loads), Column::words("offset", names)];
    table::render(&labels, &[Column::words("verdict", verdicts)], width, out);
}

fn said(gain: &Gain) -> Cell {
    let text = verdict(gain);
    match gain.verdict {
        Verdict::Faster => Cell::styled(text, GOOD),
        Verdict::Slower => Cell::styled(text, ERROR),
        Verdict::NoDifferenceAbove(_) => text.into(),
        Verdict::NotEnoughEvidence => Cell::styled(text, FAINT),
    }
}

/// Writes where throughput stops to rise, a paragraph for each such place.
pub(super) fn knees(experiment: &Experiment, group: &Group<'_>, width: usize, out: &mut String) {
    let of_group = |knee: &&Knee| knee.cells.iter().all(|cell| group.cells.contains(cell));
    let mut places: Vec<(Option<usize>, Vec<&Knee>)> = Vec::new();
    for knee in experiment.knees.iter().filter(of_group) {
        let cell = knee.at.and_then(|at| knee.cells.get(at).copied());
        match places.iter_mut().find(|(at, _)| *at == cell) {
            Some((_, knees)) => knees.push(knee),
            None => places.push((cell, vec![knee])),
        }
    }
    if places.is_empty() {
        return;
    }
    heading(out, width, "Saturation", &format!(", {}", group.title));
    for (at, knees) in places {
        let names: Vec<String> = knees
            .iter()
            .map(|knee| terminal(offset_name(&experiment.plan, knee.offset)).into_owned())
            .collect();
        let text = format!(
            "At {}, {}",
            list(&names),
            knee_words(experiment, at, knees[0])
        );
        for line in folded(&text, width - 2) {
            let _ = writeln!(out, "  {line}");
        }
    }
}

/// `throughput stops rising at 8 threads × 32 outstanding = 256 requests under way: 24,900/s at 10.3 ms`.
fn knee_words(experiment: &Experiment, at: Option<usize>, knee: &Knee) -> String {
    let point = |index: usize| {
        let workload = experiment.plan.cells.get(index)?;
        Some(format!(
            "{} thread{} × {} outstanding = {} requests under way",
            workload.workers,
            if workload.workers == 1 { "" } else { "s" },
            workload.outstanding,
            grouped(workload.concurrency())
        ))
    };
    let last = knee.cells.last().copied();
    let Some(index) = at else {
        let end = last.and_then(point).unwrap_or_default();
        return format!(
            "it is not proven that throughput stops rising up to {end}: try more of them, or run longer."
        );
    };
    let mut out = format!(
        "throughput stops rising at {}",
        point(index).unwrap_or_default()
    );
    let figures = |index: usize| {
        let result = delivered(experiment, index, knee.offset)?;
        let rate = result.reads_per_second + result.writes_per_second;
        // By Little's law, over both directions.
        let latency = result.mean_outstanding / rate * 1000.0;
        (rate > 0.0).then(|| (rate_text(rate), milliseconds(latency)))
    };
    if let Some((rate, latency)) = figures(index) {
        out.push_str(&format!(
            " ({}: {rate}/s, {latency})",
            offset_name(&experiment.plan, knee.offset)
        ));
        if let Some(last) = last.filter(|last| *last != index)
            && let Some((rate, latency)) = figures(last)
            && let Some(workload) = experiment.plan.cells.get(last)
        {
            out.push_str(&format!(
                "; {} under way give {rate}/s at {latency}",
                grouped(workload.concurrency())
            ));
        }
    }
    out + "."
}

fn grouped(n: u64) -> String {
    Bytes::new(n).grouped().to_string()
}

/// Milliseconds with three digits.
fn milliseconds(ms: f64) -> String {
    match ms {
        n if n < 1.0 => format!("{n:.3} ms"),
        n if n < 10.0 => format!("{n:.2} ms"),
        n if n < 100.0 => format!("{n:.1} ms"),
        n => format!("{} ms", decimals(n, 0)),
    }
}
