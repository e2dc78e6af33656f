//! Predictions for terminals: what was simulated and from what, what each offset would deliver, why, and what to do.

use std::time::Duration;

use straddle_predict::decision::Quantity;
use straddle_predict::design::Comparison;
use straddle_predict::experiment::Case;
use straddle_predict::prediction::{Prediction, Question, gain, keeps_up, quantity};
use straddle_workload::histogram::LatencySummary;

use super::words::{asked, names, said};
use super::{comparison as compared, decision as decided, header, sensitivity, why};
use crate::bench::text::figures::Scale;
use crate::bench::text::heading;
use crate::bench::wording::{decimals, rate_text};
use crate::escape::terminal;
use crate::text::style::GOOD;
use crate::text::table::{self, Cell, Column};

pub use crate::bench::text::WIDTH;

const MIN_WIDTH: usize = 60;

/// The whole report on one place, or on a profile by itself, in lines of at most `width` columns where a table permits that.
///
/// It carries ANSI styles; no meaning is in colour alone.
#[must_use]
pub fn report(prediction: &Prediction, width: usize) -> String {
    let width = width.clamp(MIN_WIDTH, WIDTH);
    let mut out = String::new();
    header::render(prediction, width, &mut out);
    delivered(prediction, width, &mut out);
    latencies(prediction, width, &mut out);
    gains(prediction, width, &mut out);
    why::render(prediction, width, &mut out);
    sensitivity::render(prediction, width, &mut out);
    decided::render(prediction, width, &mut out);
    out
}

/// Variants of a system compared with each other.
#[must_use]
pub fn comparison(question: &Question, comparison: &Comparison, width: usize) -> String {
    let width = width.clamp(MIN_WIDTH, WIDTH);
    let mut out = String::new();
    header::compared(question, comparison, width, &mut out);
    compared::render(question, comparison, width, &mut out);
    out
}

fn delivered(prediction: &Prediction, width: usize, out: &mut String) {
    let question = &prediction.question;
    heading(
        out,
        width,
        "What each offset would deliver",
        &format!(", {}", asked(question)),
    );
    let cases = &prediction.trials.cases;
    let figures = |of: &dyn Fn(&Case) -> String| -> Vec<Cell> {
        cases.iter().map(|case| of(case).into()).collect()
    };
    let mut columns = vec![
        Column::figures("IOPS", figures(&|case| rate_text(case.rate.mean))),
        Column::figures(
            "±",
            figures(&|case| rate_text((case.rate.high - case.rate.low) / 2.0)),
        ),
    ];
    let share = question.workload.reads.get();
    if (1..100).contains(&share) {
        columns.push(Column::figures(
            "reads/s",
            figures(&|case| rate_text(case.reads_per_second)),
        ));
        columns.push(Column::figures(
            "writes/s",
            figures(&|case| rate_text(case.writes_per_second)),
        ));
    }
    columns.push(Column::figures(
        "MB/s",
        figures(&|case| decimals(case.bytes_per_second / 1e6, 1)),
    ));
    columns.push(Column::figures(
        "under way",
        figures(&|case| decimals(case.mean_outstanding, 1)),
    ));
    let labels = [Column::words("offset", names(&question.offsets))];
    table::render(&labels, &columns, width, out);
}

fn latencies(prediction: &Prediction, width: usize, out: &mut String) {
    type Of = fn(&Case) -> Option<LatencySummary>;
    let directions: [(&str, Of); 2] = [
        ("Latency of reads", |case| case.read_latency),
        ("Latency of writes", |case| case.write_latency),
    ];
    for (name, of) in directions {
        let cases = prediction.trials.cases.iter();
        let rows = cases.zip(names(&prediction.question.offsets));
        let rows: Vec<(Cell, LatencySummary)> = rows
            .filter_map(|(case, name)| Some((name, of(case)?)))
            .collect();
        if rows.is_empty() {
            continue;
        }
        let scale = Scale::of(rows.iter().map(|(_, latency)| latency.p50));
        heading(
            out,
            width,
            name,
            &format!(" in {}, {}", scale.unit, asked(&prediction.question)),
        );
        let column = |name: &str, of: fn(&LatencySummary) -> Duration| {
            let times: Vec<Duration> = rows.iter().map(|(_, latency)| of(latency)).collect();
            Column::figures(name, scale.figures(&times))
        };
        let columns = [
            column("mean", |l| l.mean),
            column("p50", |l| l.p50),
            column("p90", |l| l.p90),
            column("p99", |l| l.p99),
            column("p99.9", |l| l.p999),
            column("max", |l| l.most),
        ];
        let names = rows.iter().map(|(name, _)| name.clone()).collect();
        table::render(&[Column::words("offset", names)], &columns, width, out);
    }
}

fn gains(prediction: &Prediction, width: usize, out: &mut String) {
    let question = &prediction.question;
    let Some(baseline) = question.offsets.first() else {
        return;
    };
    let quantity = quantity(&question.workload);
    let mut rows: Vec<(Cell, Cell)> = Vec::new();
    let cases = prediction.trials.cases.iter();
    let is_unsettled = |at: usize| {
        let case = prediction.trials.cases.get(at);
        case.is_some_and(|case| case.unsettled.is_some())
    };
    for (at, (case, name)) in cases.zip(names(&question.offsets)).enumerate() {
        if let Some(ratio) = gain(case, quantity) {
            // Ratios to a queue that only grows say how long the run was.
            let verdict = match prediction.overloaded.contains(&0) {
                true if keeps_up(case, &question.workload) => {
                    let text = format!("keeps up, which {} does not", terminal(&baseline.name));
                    Cell::styled(text, GOOD)
                }
                true => "does not keep up either".into(),
                false if is_unsettled(0) || is_unsettled(at) => {
                    "not known: it came to no steady state".into()
                }
                false => said(ratio, question.effort.precision),
            };
            rows.push((name, verdict));
        }
    }
    if rows.is_empty() {
        return;
    }
    let what = match quantity {
        Quantity::Rate => "",
        Quantity::Latency => ", mean latency",
    };
    heading(
        out,
        width,
        &format!("Gain over {}", terminal(&baseline.name)),
        &format!(" with its 95% interval{what}, {}", asked(question)),
    );
    let (names, verdicts) = rows.into_iter().unzip();
    table::render(
        &[Column::words("offset", names)],
        &[Column::words("verdict", verdicts)],
        width,
        out,
    );
}
