//! What all parts of a report on a prediction say in the same way.

use std::fmt::Write;

use straddle_predict::decision;
use straddle_predict::prediction::Question;
use straddle_workload::interval::{Interval, Verdict};
use straddle_workload::offset::Offset;

use crate::bench::wording::{load, title, verdict_of};
use crate::escape::terminal;
use crate::text::page::folded;
use crate::text::style::{ERROR, FAINT, GOOD};
use crate::text::table::Cell;

/// `8 KiB random, reads only, 8 × 32`.
#[must_use]
pub fn asked(question: &Question) -> String {
    let workload = &question.workload;
    if let Some(script) = &question.script {
        let most = workload.outstanding;
        return format!("{}, up to {most} at once", terminal(&script.title));
    }
    match workload.rate {
        // Requests come when they are due, however many are under way.
        Some(_) => title(workload),
        None => format!("{}, {}", title(workload), load(workload)),
    }
}

/// The names of offsets as cells.
pub(super) fn names(offsets: &[Offset]) -> Vec<Cell> {
    let names = offsets.iter().map(|offset| terminal(&offset.name));
    names.map(|name| name.into_owned().into()).collect()
}

/// Lines of prose, two blanks in.
pub(super) fn prose(out: &mut String, width: usize, text: &str) {
    for line in folded(text, width - 2) {
        let _ = writeln!(out, "  {line}");
    }
}

/// What a simulated ratio proves, as `bench` says it.
pub(super) fn said(ratio: Interval, precision: f64) -> Cell {
    let verdict = decision::verdict(ratio, precision);
    let text = verdict_of(verdict, Some(ratio));
    match verdict {
        Verdict::Faster => Cell::styled(text, GOOD),
        Verdict::Slower => Cell::styled(text, ERROR),
        Verdict::NoDifferenceAbove(_) => text.into(),
        Verdict::NotEnoughEvidence => Cell::styled(text, FAINT),
    }
}
