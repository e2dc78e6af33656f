//! How far off studies are, and what was fitted.

use std::fmt::Write;

use straddle_predict::study::{Score, Tally, scoreboard};

use super::super::simulated;
use super::{Studied, error, heading, paragraph};
use crate::bench::wording::{count, percent};
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
    for (name, tally) in [
        ("calibration", score.calibration),
        ("validation", score.validation),
    ] {
        paragraph(out, &format!("{name}: {}.", words(tally)), width);
    }
    paragraph(out, &fitted_cells(score), width);
}

fn fitted_cells(score: Score) -> String {
    match score.fitted {
        0 => "No cell was fitted on.".to_owned(),
        some => format!(
            "Parameters were fitted on {some} of the calibration cells, whose errors are no test of the model. The others: {}.",
            words(score.unfitted)
        ),
    }
}

/// `12 cells, 12 within their tolerance, error 1.1% in the median, 3.2% at worst`.
fn words(tally: Tally) -> String {
    match (tally.median, tally.worst) {
        (Some(median), Some(worst)) => format!(
            "{}, {} within their tolerance; error {} in the median, {} at worst",
            count(tally.cells, "cell"),
            tally.within,
            percent(median / 100.0, 1),
            percent(worst / 100.0, 1)
        ),
        _ => "no cells".to_owned(),
    }
}

/// A line for each study, then all together.
pub(super) fn all(studies: &[Studied], width: usize, out: &mut String) {
    let mut rows: Vec<(String, Score)> = Vec::new();
    for one in studies {
        if let Ok(run) = &one.run {
            let score = scoreboard(std::iter::once((&one.study, run)));
            rows.push((one.study.name.clone(), score));
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
        figures("calibration\nwithin", &|score| within(score.calibration)),
        figures("error\nmedian", &|score| share(score.calibration.median)),
        figures("error\nworst", &|score| share(score.calibration.worst)),
        figures("fitted\non", &|score| match score.fitted {
            0 => String::new(),
            some => some.to_string(),
        }),
        figures("validation\nwithin", &|score| within(score.validation)),
        figures("error\nmedian", &|score| share(score.validation.median)),
        figures("error\nworst", &|score| share(score.validation.worst)),
    ];
    table::render(&labels, &columns, width, out);
    out.push('\n');
    paragraph(out, &fitted_cells(together), width);
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
