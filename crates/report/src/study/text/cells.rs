//! Cells: published beside simulated.

use std::fmt::Write;

use straddle_predict::study::{Cell, Published, Run, Simulated};

use super::super::digits;
use super::{Studied, error, heading};
use crate::bench::wording::{decimals, load, title};
use crate::escape::terminal;
use crate::text::page::folded;
use crate::text::style::{ERROR, GOOD, WARNING, paint};
use crate::text::table::{self, Cell as Text, Column};

pub(super) fn render(studied: &Studied, width: usize, out: &mut String) {
    match &studied.run {
        Ok(run) => tables(studied, run, width, out),
        Err(refusal) => {
            let _ = writeln!(out, "\n{}: {refusal}", paint(ERROR, "not simulated"));
        }
    }
    remarks(studied, width, out);
}

/// A table for each metric and kind of request, in the order in which they come.
fn tables(studied: &Studied, run: &Run, width: usize, out: &mut String) {
    let cells: Vec<(&Cell, &Simulated)> = studied.study.cells.iter().zip(&run.cells).collect();
    let name = |cell: &Cell| {
        let asked = title(&cell.workload);
        format!("{}, {asked}{}", cell.metric.label(), own(studied, cell))
    };
    for group in cells.chunk_by(|one, next| name(one.0) == name(next.0)) {
        let Some((first, _)) = group.first() else {
            continue;
        };
        let mut name = name(first);
        if is_of_one_load(group) {
            let _ = write!(name, ", {}", load(&first.workload));
        }
        if let Some(other) = common_other(studied, group) {
            let _ = write!(name, ", against {}", other.id);
        }
        heading(out, width, &name);
        table(studied, group, width, out);
    }
}

/// What sets a cell apart from others of the study: its profile and parameters, where not all have the same.
fn own(studied: &Studied, cell: &Cell) -> String {
    let cells = &studied.study.cells;
    let mut out = String::new();
    if cells.iter().any(|other| other.profile != cell.profile) {
        let _ = write!(out, ", {}", cell.profile);
    }
    for setting in &cell.set {
        if !cells.iter().all(|other| other.set.contains(setting)) {
            let (path, value) = setting;
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let _ = write!(out, ", {path} = {value}");
        }
    }
    for section in &cell.without {
        if !cells.iter().all(|other| other.without.contains(section)) {
            let _ = write!(out, ", without {section}");
        }
    }
    out
}

/// True when as many threads have as many outstanding requests in all of them.
fn is_of_one_load(group: &[(&Cell, &Simulated)]) -> bool {
    let mut pairs = group.iter().zip(group.iter().skip(1));
    pairs.all(|((one, _), (next, _))| load(&one.workload) == load(&next.workload))
}

/// The cell that all of them are against.
fn common_other<'a>(studied: &'a Studied, group: &[(&Cell, &Simulated)]) -> Option<&'a Cell> {
    let (first, _) = group.first()?;
    let is_common = group.iter().all(|(cell, _)| cell.against == first.against);
    studied
        .study
        .cells
        .get(first.against.filter(|_| is_common)?)
}

fn table(studied: &Studied, group: &[(&Cell, &Simulated)], width: usize, out: &mut String) {
    let words = |head: &str, of: &dyn Fn(&Cell) -> String| {
        let texts = group.iter().map(|(cell, _)| Text::from(of(cell)));
        Column::words(head, texts.collect())
    };
    let largest = group.iter().map(|(cell, _)| match cell.published {
        // A bound has one figure.
        Published { least, most, .. } if most.is_infinite() => least,
        Published { most, .. } => most,
    });
    let digits = digits(largest.fold(0.0, f64::max));
    let figures = |head: &str, of: &dyn Fn(&Cell, &Simulated) -> Text| {
        let texts = group.iter().map(|(cell, simulated)| of(cell, simulated));
        Column::figures(head, texts.collect())
    };
    let number = |value: f64| decimals(value, digits);
    let mut labels = vec![words("cell", &|cell| cell.id.clone())];
    let is_against = group.iter().any(|(cell, _)| cell.against.is_some());
    if is_against && common_other(studied, group).is_none() {
        labels.push(words("against", &|cell| {
            let other = cell
                .against
                .and_then(|other| studied.study.cells.get(other));
            other.map_or_else(String::new, |other| other.id.clone())
        }));
    }
    let mut columns = Vec::new();
    if !is_of_one_load(group) {
        columns.push(words("threads ×\noutstanding", &|cell| {
            load(&cell.workload)
        }));
    }
    columns.extend([
        words("offset", &|cell| cell.offset_name.clone()),
        figures("published", &|cell, _| cell.published.said(number).into()),
        figures("simulated", &|_, simulated| number(simulated.value).into()),
        figures("±", &|_, simulated| {
            let half = simulated.interval.map(|i| (i.high - i.low) / 2.0);
            half.map_or_else(String::new, number).into()
        }),
        figures("error", &|_, simulated| {
            let style = if simulated.is_within { GOOD } else { ERROR };
            Text::styled(error(simulated.error), style)
        }),
        figures("tolerance", &|cell, _| cell.band.to_string().into()),
        figures("", &|_, simulated| match simulated {
            Simulated {
                is_sign_error: true,
                ..
            } => Text::styled("wrong way".to_owned(), ERROR),
            Simulated {
                is_within: false, ..
            } => Text::styled("off".to_owned(), WARNING),
            _ => "".into(),
        }),
        words("mark", &|cell| match cell.fitted {
            true => "fitted".to_owned(),
            false => cell.mark.name().to_owned(),
        }),
    ]);
    table::render(&labels, &columns, width, out);
}

/// What is assumed, noted and known to be missed, a line for each text and the cells that it is about.
fn remarks(studied: &Studied, width: usize, out: &mut String) {
    let mut remarks: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for cell in &studied.study.cells {
        for (kind, text) in [
            ("assumed", &cell.assumed),
            ("note", &cell.note),
            ("misses", &cell.misses),
        ] {
            let Some(text) = text.as_deref() else {
                continue;
            };
            let known = remarks
                .iter_mut()
                .find(|(k, t, _)| *k == kind && *t == text);
            match known {
                Some((_, _, ids)) => ids.push(&cell.id),
                None => remarks.push((kind, text, vec![&cell.id])),
            }
        }
    }
    if remarks.is_empty() {
        return;
    }
    heading(out, width, "Remarks");
    let all = studied.study.cells.len();
    for (kind, text, ids) in remarks {
        let about = match ids.as_slice() {
            many if many.len() == all && all > 1 => "all cells".to_owned(),
            [first, .., last] if ids.len() > 4 => {
                format!("{} cells from {first} to {last}", ids.len())
            }
            few => few.join(", "),
        };
        let line = format!("{kind}, {about}: {text}");
        for (index, part) in folded(&terminal(&line), width - 4).iter().enumerate() {
            let indent = if index == 0 { "  " } else { "    " };
            let _ = writeln!(out, "{indent}{part}");
        }
    }
}
