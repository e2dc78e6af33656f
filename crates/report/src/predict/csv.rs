//! Predictions for spreadsheets: a line for each offset, or for each variant and offset.

use std::io::Write;

use straddle_predict::decision;
use straddle_predict::design::Comparison;
use straddle_predict::experiment::Case;
use straddle_predict::mechanism::Mechanism;
use straddle_predict::prediction::{Prediction, Question, gain, quantity};
use straddle_workload::interval::Verdict;

use super::decision::{DEPENDS, word};
use crate::bench::csv::{decimals, latency};
use crate::bench::wording::pattern;
use crate::cells::Cells;

/// The columns. New ones are only ever added at the end.
const COLUMNS: [&str; 43] = [
    "profile",
    "partition",
    "variant",
    "pattern",
    "reads_percent",
    "request_bytes",
    "threads",
    "outstanding",
    "think_us",
    "offered_per_second",
    "offset",
    "offset_bytes",
    "requests_per_second",
    "reads_per_second",
    "writes_per_second",
    "bytes_per_second",
    "mean_outstanding",
    "read_mean_ms",
    "read_p50_ms",
    "read_p90_ms",
    "read_p95_ms",
    "read_p99_ms",
    "read_p99.9_ms",
    "read_max_ms",
    "write_mean_ms",
    "write_p50_ms",
    "write_p90_ms",
    "write_p95_ms",
    "write_p99_ms",
    "write_p99.9_ms",
    "write_max_ms",
    "straddling_percent",
    "member_operations",
    "reads_before_writes",
    "granules_read",
    "busiest",
    "busiest_percent",
    "gain_percent",
    "gain_low_percent",
    "gain_high_percent",
    "verdict",
    "no_difference_above_percent",
    "decision",
];

/// Writes a header, then a line for each offset.
///
/// # Errors
/// Those of `out`.
pub fn predictions(predictions: &[Prediction], out: impl Write) -> csv::Result<()> {
    let mut writer = Cells::new(out);
    writer.record(COLUMNS)?;
    for prediction in predictions {
        let question = &prediction.question;
        let place = prediction.place.as_ref().map(|(place, _)| place.path());
        for (index, case) in prediction.trials.cases.iter().enumerate() {
            let mut record = line(question, place.as_deref().unwrap_or(""), "", index, case);
            let decided = prediction.decision.filter(|_| index == prediction.best);
            let word = decided.map_or("", |_| prediction.call().map_or(DEPENDS, word));
            record.push(word.to_owned());
            writer.record(&record)?;
        }
    }
    writer.end()
}

/// Writes a header, then a line for each variant and offset. Gains are over the first variant at the first offset.
///
/// # Errors
/// Those of `out`.
pub fn comparison(
    question: &Question,
    comparison: &Comparison,
    out: impl Write,
) -> csv::Result<()> {
    let mut writer = Cells::new(out);
    writer.record(COLUMNS)?;
    for (number, variant) in comparison.variants.iter().enumerate() {
        let name = variant.name(&comparison.axes);
        let question = Question {
            workload: variant.workload.clone(),
            ..question.clone()
        };
        for index in 0..comparison.offsets.len() {
            if let Some(case) = comparison.case((number, index)) {
                let mut record = line(&question, "", &name, index, case);
                record.push(String::new());
                writer.record(&record)?;
            }
        }
    }
    writer.end()
}

fn line(question: &Question, place: &str, variant: &str, index: usize, case: &Case) -> Vec<String> {
    let workload = &question.workload;
    // Several sizes with their weights as fio writes them: `8192/3:65536/1`.
    let sizes = match workload.sizes.as_slice() {
        [(size, _)] => size.get().to_string(),
        many => {
            let each = many.iter().map(|(s, n)| format!("{}/{n}", s.get()));
            each.collect::<Vec<_>>().join(":")
        }
    };
    let offset = question.offsets.get(index);
    let mechanism = Mechanism::of(case, workload);
    let rate = |number: f64| decimals(number, 3);
    let mut record = vec![
        question.profile.name.clone(),
        place.to_owned(),
        variant.to_owned(),
        pattern(workload.pattern),
        workload.reads.get().to_string(),
        sizes,
        workload.workers.to_string(),
        workload.outstanding.to_string(),
        decimals(workload.think.as_secs_f64() * 1e6, 3),
        workload.rate.map_or_else(String::new, rate),
        offset.map_or_else(String::new, |o| o.name.clone()),
        offset.map_or_else(String::new, |o| o.bytes.get().to_string()),
        rate(case.rate.mean),
        rate(case.reads_per_second),
        rate(case.writes_per_second),
        rate(case.bytes_per_second),
        rate(case.mean_outstanding),
    ];
    latency(case.read_latency, &mut record);
    latency(case.write_latency, &mut record);
    let busiest = mechanism.busiest.as_ref();
    let percent = |share: f64| decimals(share * 100.0, 4);
    record.extend([
        percent(mechanism.straddling),
        decimals(mechanism.member_operations, 6),
        decimals(mechanism.reads_before_writes, 6),
        decimals(mechanism.granules_read, 6),
        busiest.map_or("", |b| b.name).to_owned(),
        busiest.map_or_else(String::new, |b| percent(b.mean)),
    ]);
    let ratio = gain(case, quantity(workload));
    let verdict = ratio.map(|ratio| decision::verdict(ratio, question.effort.precision));
    let change = |of: Option<f64>| of.map_or_else(String::new, |of| percent(of - 1.0));
    record.extend([
        change(ratio.map(|r| r.mean)),
        change(ratio.map(|r| r.low)),
        change(ratio.map(|r| r.high)),
        verdict.map_or("", said).to_owned(),
        match verdict {
            Some(Verdict::NoDifferenceAbove(share)) => percent(share),
            _ => String::new(),
        },
    ]);
    record
}

fn said(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NoDifferenceAbove(_) => "no difference",
        Verdict::NotEnoughEvidence => "not enough evidence",
    }
}
