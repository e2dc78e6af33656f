//! How far off studies are, and what was fitted.

use std::fmt::Write;

use straddle_predict::study::registry::known_as;
use straddle_predict::study::{Score, Tally, scoreboard};
use straddle_rules::figures::counted;

use super::super::simulated;
use super::{Studied, error, heading, paragraph};
use crate::bench::wording::percent;
use crate::escape::terminal;
use crate::text::page::folded;
use crate::text::style::{ERROR, paint};
use crate::text::table::{self, Cell, Column};

/// The score of one study, in words.
pub(super) fn one(studied: &Studied, width: usize, out: &mut String) {
    let Ok(run) = &studied.run else {
        return;
    };
    let score = scoreboard(std::iter::once((&studied.study, run)));
    heading(out, width, "Score");
    for line in kinds(score) {
        paragraph(out, &line, width);
    }
}

/// What is a test of the model, and what is none.
fn kinds(score: Score) -> [String; 3] {
    [
        format!("validation: {}.", words(score.validation)),
        format!(
            "calibration, nothing fitted on it: {}.",
            words(score.unfitted)
        ),
        format!("fitted on, which is no test: {}.", words(score.fitted)),
    ]
}

/// `12 cells, 12 (100%) within their tolerance; error 1.1% in the median, 3.2% at worst; 0 the wrong way`.
fn words(tally: Tally) -> String {
    match (tally.median, tally.worst) {
        (Some(median), Some(worst)) => {
            #[expect(clippy::cast_precision_loss, reason = "cells are few")]
            let share = tally.within as f64 / tally.cells as f64;
            format!(
                "{}, {} ({}) within their tolerance; error {} in the median, {} at worst; {} the wrong way",
                counted(tally.cells, "cell"),
                tally.within,
                percent(share, 0),
                percent(median / 100.0, 1),
                percent(worst / 100.0, 1),
                tally.sign_errors
            )
        }
        _ => "no cells".to_owned(),
    }
}

/// A line for each study, then all together.
pub(super) fn all(studies: &[Studied], width: usize, out: &mut String) {
    let mut rows: Vec<(String, Score)> = Vec::new();
    for one in studies {
        if let Ok(run) = &one.run {
            let score = scoreboard(std::iter::once((&one.study, run)));
            rows.push((known_as(&one.study.name).to_owned(), score));
        }
    }
    let together = scoreboard(simulated(studies));
    rows.push(("all".to_owned(), together));
    let names = rows.iter().map(|(name, _)| Cell::from(name.clone()));
    let labels = [Column::words("study", names.collect())];
    let figures = |head: &str, of: &dyn Fn(&Score) -> String| {
        let texts = rows.iter().map(|(_, score)| Cell::from(of(score)));
        Column::figures(head, texts.collect())
    };
    let share = |error: Option<f64>| error.map_or_else(String::new, |e| percent(e / 100.0, 1));
    let within = |tally: Tally| match tally.cells {
        0 => String::new(),
        cells => format!("{} of {cells}", tally.within),
    };
    let columns = [
        figures("validation\nwithin", &|score| within(score.validation)),
        figures("error\nmedian", &|score| share(score.validation.median)),
        figures("error\nworst", &|score| share(score.validation.worst)),
        figures("not fitted\nwithin", &|score| within(score.unfitted)),
        figures("error\nmedian", &|score| share(score.unfitted.median)),
        figures("error\nworst", &|score| share(score.unfitted.worst)),
        figures("fitted\nwithin", &|score| within(score.fitted)),
        figures("wrong\nway", &|score| match score.validation.sign_errors
            + score.calibration.sign_errors
        {
            0 => String::new(),
            some => some.to_string(),
        }),
    ];
    table::render(&labels, &columns, width, out);
    out.push('\n');
    for line in kinds(together) {
        paragraph(out, &line, width);
    }
    for one in studies {
        if let Err(refusal) = &one.run {
            let _ = writeln!(out, "\n{}: {refusal}", paint(ERROR, "not simulated"));
        }
    }
    let off: Vec<String> = simulated(studies)
        .flat_map(|(study, run)| study.cells.iter().zip(&run.cells))
        .filter(|(_, simulated)| !simulated.is_within)
        .map(|(cell, simulated)| {
            format!(
                "{} ({}, {})",
                cell.id,
                cell.mark.name(),
                error(simulated.error)
            )
        })
        .collect();
    if !off.is_empty() {
        heading(out, width, "Further off than their tolerance");
        paragraph(out, &off.join(", "), width);
    }
}

/// Every fitted parameter of the profiles, each once.
pub(super) fn fitted<'a>(
    studies: impl IntoIterator<Item = &'a Studied>,
    width: usize,
    out: &mut String,
) {
    let mut seen = Vec::new();
    for figure in studies.into_iter().flat_map(|one| &one.fitted) {
        if !seen.contains(&figure) {
            seen.push(figure);
        }
    }
    heading(out, width, "Fitted parameters");
    if seen.is_empty() {
        paragraph(
            out,
            "None: every figure of the profiles is published, computed or assumed.",
            width,
        );
    }
    for figure in seen {
        let line = format!(
            "{}: {} = {}, fitted on {}",
            figure.profile, figure.parameter, figure.value, figure.on
        );
        for (index, part) in folded(&terminal(&line), width - 4).iter().enumerate() {
            let indent = if index == 0 { "  " } else { "    " };
            let _ = writeln!(out, "{indent}{part}");
        }
    }
}
