//! What each offset gains, as a picture: a dot for the estimate, a line for its 95% interval.

use straddle_bench::results::{Experiment, Gain};
use straddle_workload::interval::{Interval, Verdict};

use super::wording::{cell, gain, groups, load, offset_name, percent};
use crate::pages::Picture;
use crate::pages::chart::{Look, Panel, Row, Whiskers, alone, short};

/// Longest name of an offset in a heading.
const NAME: usize = 24;

/// The gains of every cell over the baseline; `None` when no comparison has an interval.
#[must_use]
pub fn gains(experiment: &Experiment) -> Option<String> {
    let base = offset_name(&experiment.plan, 0);
    let panels: Vec<Panel> = groups(&experiment.plan)
        .into_iter()
        .map(|group| {
            let cells = group.cells.iter();
            panel(
                &group.title,
                base,
                cells.flat_map(|c| rows(experiment, *c)).collect(),
            )
        })
        .filter(|panel| !panel.rows.is_empty())
        .collect();
    picture(base, &panels).map(|picture| alone(&picture.wide))
}

/// Gains over a baseline on one axis.
pub(crate) fn picture(base: &str, panels: &[Panel]) -> Option<Picture> {
    Whiskers {
        title: &format!("Gain over {base}"),
        said: &format!("Requests each second beside {base}, with 95% intervals"),
        panels,
        write: share,
    }
    .draw()
}

/// Cells that differ in nothing but their load.
pub(crate) fn panel(title: &str, base: &str, rows: Vec<Row>) -> Panel {
    Panel {
        title: format!("{title}: requests each second beside {}", short(base, NAME)),
        names: "threads × outstanding, offset".to_owned(),
        rows,
    }
}

/// A gain in a row.
pub(crate) fn row(
    load: Option<String>,
    offset: &str,
    ratio: Interval,
    verdict: Verdict,
    noise: Option<f64>,
) -> Row {
    Row {
        group: load,
        name: offset.to_owned(),
        low: ratio.low - 1.0,
        mean: ratio.mean - 1.0,
        high: ratio.high - 1.0,
        look: match verdict {
            Verdict::Faster => Look::Better,
            Verdict::Slower => Look::Worse,
            Verdict::NoDifferenceAbove(_) => Look::Same,
            Verdict::NotEnoughEvidence => Look::Open,
        },
        band: noise.map(|noise| (-noise, noise)),
        figures: gain(ratio),
    }
}

fn rows(experiment: &Experiment, index: usize) -> Vec<Row> {
    let Some(result) = cell(experiment, index) else {
        return Vec::new();
    };
    let mut name = experiment.plan.cells.get(index).map(load);
    let row = |gain: &Gain| {
        let ratio = gain.ratio?;
        let offset = offset_name(&experiment.plan, gain.offset);
        Some(row(
            name.take(),
            offset,
            ratio,
            gain.verdict,
            result.noise_floor,
        ))
    };
    result.gains.iter().filter_map(row).collect()
}

/// A share in as many digits as the lines are apart.
pub(crate) fn share(share: f64, step: f64) -> String {
    let digits = match step {
        step if step >= 0.009_9 => 0,
        step if step >= 0.000_99 => 1,
        _ => 2,
    };
    let text = percent(share, digits);
    if share > step / 2.0 {
        format!("+{text}")
    } else {
        text
    }
}
