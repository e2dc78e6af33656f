//! An experiment for terminals: what was done and where, the tables, what they prove.

mod closing;
pub(crate) mod figures;
mod gains;
mod header;
mod heading;
mod operations;
mod placing;
mod trust;

use straddle_bench::results::Experiment;

use super::wording::groups;

pub use heading::WIDTH;
pub(crate) use heading::heading;

/// Fewer columns than this are not worth breaking tables for.
const MIN_WIDTH: usize = 60;

/// The whole report, in lines of at most `width` columns where a table's own columns permit that.
///
/// It carries ANSI styles; no meaning is in colour alone.
#[must_use]
pub fn report(experiment: &Experiment, width: usize) -> String {
    let width = width.clamp(MIN_WIDTH, WIDTH);
    let mut out = String::new();
    header::render(experiment, width, &mut out);
    placing::render(experiment, width, &mut out);
    for group in groups(&experiment.plan) {
        figures::rates(experiment, &group, width, &mut out);
        figures::latencies(experiment, &group, width, &mut out);
        operations::render(experiment, &group, width, &mut out);
        gains::render(experiment, &group, width, &mut out);
        gains::knees(experiment, &group, width, &mut out);
        trust::render(experiment, &group, width, &mut out);
    }
    closing::render(experiment, width, &mut out);
    out
}
