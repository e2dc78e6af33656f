//! One line for each series: what a spreadsheet wants.

use std::io::Write;

use straddle_stack::Source;

use super::joined::Evidence;
use crate::cells::Cells;

/// The columns, in order. New ones are only ever added at the end.
pub const COLUMNS: [&str; 16] = [
    "layer",
    "kind",
    "roles",
    "quantity",
    "statistic",
    "span",
    "figures",
    "mean",
    "weighted",
    "p95",
    "min",
    "max",
    "max_at",
    "max_file",
    "max_line",
    "last",
];

/// Writes all series; figures are in the unit of their quantity.
///
/// # Errors
/// Those of `out`.
pub fn write(evidence: &Evidence, out: impl Write) -> csv::Result<()> {
    let mut writer = Cells::new(out);
    writer.record(COLUMNS)?;
    for id in &evidence.measured {
        let layer = evidence.checked.stack.layer(*id);
        let Some(activity) = &layer.activity else {
            continue;
        };
        let roles: Vec<&str> = activity.roles.iter().map(|role| role.name()).collect();
        for series in &activity.series {
            let summary = &series.summary;
            let (file, line) = match &summary.max.source {
                Source::Captured { file, line, .. } => (file.to_string(), line.to_string()),
                _ => (String::new(), String::new()),
            };
            let p95 = summary.quantile(0.95);
            writer.record([
                layer.name.clone(),
                layer.kind.name().to_owned(),
                roles.join(" "),
                series.quantity.name().to_owned(),
                series.statistic.to_string(),
                series.span.name().to_owned(),
                summary.count.to_string(),
                summary.mean.to_string(),
                summary.weighted.to_string(),
                p95.map_or_else(String::new, |value| value.to_string()),
                summary.min.value.to_string(),
                summary.max.value.to_string(),
                summary.max.at.map_or_else(String::new, |at| at.to_string()),
                file,
                line,
                summary.last.value.to_string(),
            ])?;
        }
    }
    writer.end()
}
