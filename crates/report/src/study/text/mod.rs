//! Studies for terminals: one with all its cells, or the scoreboard of many.

mod cells;
mod header;
mod score;

use std::fmt::Write;

use straddle_predict::study::Study;
use straddle_predict::study::registry::known_as;

use super::Studied;
use crate::bench::wording::percent;
use crate::escape::terminal;
use crate::text::page::folded;
use crate::text::style::{STRONG, paint};

/// Columns that a report has where the width of the terminal is not known.
const WIDTH: usize = 100;
/// Fewer columns than this are not worth breaking tables for.
const MIN_WIDTH: usize = 60;

/// A study: where it is from, each cell beside what was simulated, how far off that is.
///
/// It carries ANSI styles; no meaning is in colour alone.
#[must_use]
pub fn study(studied: &Studied, width: usize) -> String {
    let width = width.clamp(MIN_WIDTH, WIDTH);
    let mut out = String::new();
    header::render(studied, width, &mut out);
    cells::render(studied, width, &mut out);
    score::one(studied, width, &mut out);
    score::fitted([studied], width, &mut out);
    out
}

/// The scoreboard: a line for each study, and all of them together.
#[must_use]
pub fn scoreboard(studies: &[Studied], width: usize) -> String {
    let width = width.clamp(MIN_WIDTH, WIDTH);
    let mut out = String::new();
    score::all(studies, width, &mut out);
    score::fitted(studies, width, &mut out);
    out
}

/// The names of studies, a line each.
#[must_use]
pub fn list<'a>(studies: impl Iterator<Item = &'a Study> + Clone) -> String {
    let longest = studies
        .clone()
        .map(|study| known_as(&study.name).chars().count());
    let longest = longest.max().unwrap_or(0);
    let mut out = String::new();
    for study in studies {
        let name = paint(STRONG, format!("{:<longest$}", known_as(&study.name)));
        let _ = writeln!(out, "{name}  {}", terminal(&study.title));
    }
    out
}

/// An error with its sign: `+2.3%`, `−0.4%`.
fn error(percent_off: f64) -> String {
    let text = percent(percent_off / 100.0, 1);
    let is_more = percent_off > 0.0 && text != "0.0%";
    format!("{}{text}", if is_more { "+" } else { "" })
}

/// A heading with an empty line before it.
fn heading(out: &mut String, width: usize, name: &str) {
    out.push('\n');
    for (index, line) in folded(&terminal(name), width - 2).iter().enumerate() {
        let indent = if index == 0 { "" } else { "  " };
        let _ = writeln!(out, "{indent}{}", paint(STRONG, line));
    }
}

/// A paragraph behind two blanks.
fn paragraph(out: &mut String, text: &str, width: usize) {
    for line in folded(&terminal(text), width - 2) {
        let _ = writeln!(out, "  {line}");
    }
}
