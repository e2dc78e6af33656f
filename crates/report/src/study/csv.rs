//! Studies for spreadsheets: a line for each cell.

use std::io::Write;

use super::Studied;
use crate::bench::wording::{pattern, sizes};
use crate::cells::Cells;

/// The columns. New ones are only ever added at the end.
const COLUMNS: [&str; 24] = [
    "study",
    "cell",
    "mark",
    "fitted",
    "profile",
    "pattern",
    "reads_percent",
    "request_sizes",
    "threads",
    "outstanding",
    "offset",
    "offset_bytes",
    "metric",
    "against",
    "published_least",
    "published_most",
    "simulated",
    "simulated_low",
    "simulated_high",
    "error_percent",
    "tolerance",
    "within",
    "replicates",
    "sign_error",
];

/// Writes a header, then a line for each cell. Those of a study that could not be simulated have empty columns.
///
/// # Errors
/// Those of `out`.
pub fn cells(studies: &[Studied], out: impl Write) -> csv::Result<()> {
    let mut writer = Cells::new(out);
    writer.record(COLUMNS)?;
    for one in studies {
        let study = &one.study;
        for (index, cell) in study.cells.iter().enumerate() {
            let run = one.run.as_ref().ok();
            let simulated = run.and_then(|run| run.cells.get(index));
            let against = cell.against.and_then(|other| study.cells.get(other));
            let number = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
            let interval = simulated.and_then(|s| s.interval);
            writer.record([
                study.name.clone(),
                cell.id.clone(),
                cell.mark.name().to_owned(),
                cell.fitted.to_string(),
                cell.profile.clone(),
                pattern(cell.workload.pattern),
                cell.workload.reads.get().to_string(),
                sizes(&cell.workload),
                cell.workload.workers.to_string(),
                cell.workload.outstanding.to_string(),
                cell.offset_name.clone(),
                cell.offset.get().to_string(),
                cell.metric.name().to_owned(),
                against.map_or_else(String::new, |other| other.id.clone()),
                number((cell.published.least > 0.0).then_some(cell.published.least)),
                number(Some(cell.published.most).filter(|most| most.is_finite())),
                number(simulated.map(|s| s.value)),
                number(interval.map(|i| i.low)),
                number(interval.map(|i| i.high)),
                number(simulated.map(|s| s.error)),
                cell.band.to_string(),
                simulated.map_or_else(String::new, |s| s.is_within.to_string()),
                simulated.map_or_else(String::new, |s| s.replicates.to_string()),
                simulated.map_or_else(String::new, |s| s.is_sign_error.to_string()),
            ])?;
        }
    }
    writer.end()
}
