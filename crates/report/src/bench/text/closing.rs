//! Warnings, and the verdict over all cells: worth it or not, and what it does not prove.

use std::fmt::Write;

use straddle_bench::results::{End, Experiment, Gain, Medium};
use straddle_rules::figures::counted;
use straddle_workload::interval::Verdict;

use super::super::wording::{at_most, cell, load, offset_name, percent, range, title_of, verdict};
use super::heading;
use crate::escape::terminal;
use crate::text::page::folded;
use crate::text::style::{STRONG, WARNING, paint};

/// A gain from which on moving what exists is worth a thought: the share at which `check` begins to warn.
const WORTH: f64 = 0.05;

/// Writes the warnings, then the verdict.
pub(super) fn render(experiment: &Experiment, width: usize, out: &mut String) {
    for warning in &experiment.warnings {
        out.push('\n');
        let lines = [
            (WARNING, "warning", &warning.cause),
            (STRONG, "help", &warning.advice),
        ];
        for (style, name, text) in lines {
            let hang = " ".repeat(name.len() + 2);
            for (index, line) in folded(&terminal(text), width - hang.len())
                .iter()
                .enumerate()
            {
                let _ = match index {
                    0 => writeln!(out, "{}: {line}", paint(style, name)),
                    _ => writeln!(out, "{hang}{line}"),
                };
            }
        }
    }
    heading(out, width, "Verdict", "");
    for paragraph in [tally(experiment), worth(experiment), limits(experiment)] {
        for line in folded(&terminal(&paragraph), width - 2) {
            let _ = writeln!(out, "  {line}");
        }
    }
}

/// Every comparison of the experiment: its cell and what came of it.
fn comparisons(experiment: &Experiment) -> Vec<(usize, &Gain)> {
    let cells = 0..experiment.plan.cells.len();
    cells
        .filter_map(|index| Some((index, cell(experiment, index)?)))
        .flat_map(|(index, result)| result.gains.iter().map(move |gain| (index, gain)))
        .collect()
}

/// How many comparisons came out how.
fn tally(experiment: &Experiment) -> String {
    let plan = &experiment.plan;
    let all = comparisons(experiment);
    let base = offset_name(plan, 0);
    if plan.offsets.len() < 2 {
        return format!("There is one offset only, {base}, and nothing to compare it with.");
    }
    if all.iter().all(|(_, gain)| gain.ratio.is_none()) {
        return format!(
            "No comparison with {base} was finished: it takes at least two blocks of a cell."
        );
    }
    if let [(_, only)] = all.as_slice() {
        let name = offset_name(plan, only.offset);
        return format!("{name} beside {base}: {}.", verdict(only));
    }
    let of = |wanted: fn(&Verdict) -> bool| -> Vec<&Gain> {
        let found = all.iter().filter(|(_, gain)| wanted(&gain.verdict));
        found.map(|(_, gain)| *gain).collect()
    };
    let faster = of(|v| *v == Verdict::Faster);
    let slower = of(|v| *v == Verdict::Slower);
    let same = of(|v| matches!(v, Verdict::NoDifferenceAbove(_)));
    let open = of(|v| *v == Verdict::NotEnoughEvidence);
    let mut parts = Vec::new();
    if !faster.is_empty() {
        parts.push(format!(
            "{} faster by {}",
            faster.len(),
            spread(&faster, 1.0)
        ));
    }
    if !slower.is_empty() {
        parts.push(format!(
            "{} slower by {}",
            slower.len(),
            spread(&slower, -1.0)
        ));
    }
    if !same.is_empty() {
        parts.push(format!(
            "{} without a difference larger than {}",
            same.len(),
            at_most(largest_bound(&same))
        ));
    }
    if !open.is_empty() {
        parts.push(format!("{} without enough evidence", open.len()));
    }
    format!(
        "{} with {base}: {}. Chances were corrected for their number (Holm).",
        counted(all.len(), "comparison"),
        parts.join(", ")
    )
}

/// The bound that holds for all of them.
fn largest_bound(gains: &[&Gain]) -> f64 {
    let bounds = gains.iter().filter_map(|gain| match gain.verdict {
        Verdict::NoDifferenceAbove(share) => Some(share),
        _ => None,
    });
    bounds.fold(0.0, f64::max)
}

/// `1.9% to 4.2%`: least and greatest of the estimates.
fn spread(gains: &[&Gain], direction: f64) -> String {
    let ratios = gains.iter().filter_map(|gain| gain.ratio);
    let shares: Vec<f64> = ratios.map(|r| (r.mean - 1.0) * direction).collect();
    let least = percent(shares.iter().copied().fold(f64::INFINITY, f64::min), 1);
    let most = percent(shares.iter().copied().fold(f64::NEG_INFINITY, f64::max), 1);
    if least == most {
        return least;
    }
    format!("{least} to {most}")
}

/// Whether it is worth anything to move.
fn worth(experiment: &Experiment) -> String {
    let plan = &experiment.plan;
    let base = offset_name(plan, 0);
    let all = comparisons(experiment);
    let share = |gain: &Gain| gain.ratio.map_or(0.0, |ratio| ratio.mean - 1.0);
    let amount = |gain: &Gain, direction: f64| {
        gain.ratio
            .map_or_else(String::new, |ratio| range(ratio, direction))
    };
    let place = |index: usize, gain: &Gain| {
        let cell = plan.cells.get(index).map_or_else(String::new, |workload| {
            format!("{}, {}", title_of(plan, index), load(workload))
        });
        format!("{} ({cell})", offset_name(plan, gain.offset))
    };
    let mut faster: Vec<_> = all
        .iter()
        .filter(|(_, g)| g.verdict == Verdict::Faster)
        .collect();
    faster.sort_by(|a, b| share(b.1).total_cmp(&share(a.1)));
    let mut slower: Vec<_> = all
        .iter()
        .filter(|(_, g)| g.verdict == Verdict::Slower)
        .collect();
    slower.sort_by(|a, b| share(a.1).total_cmp(&share(b.1)));
    let open = all
        .iter()
        .any(|(_, g)| g.verdict == Verdict::NotEnoughEvidence);
    match experiment.setting.medium {
        Medium::Null => {
            return "The null engine moves no data: these are the costs of the tool.".to_owned();
        }
        Medium::FileBuffered | Medium::DeviceBuffered => {
            return "Requests went through the page cache: this says nothing about storage."
                .to_owned();
        }
        Medium::FileDirect | Medium::DeviceDirect => {}
    }
    match (faster.first(), slower.first()) {
        (Some((index, best)), None) if share(best) >= WORTH => format!(
            "Leaving {base} is worth it for such requests: {} more each second at {}.",
            amount(best, 1.0),
            place(*index, best)
        ),
        (Some((index, best)), None) => format!(
            "Leaving {base} gains {} at most, at {}: free for a new partition, seldom worth moving one that is in use.",
            amount(best, 1.0),
            place(*index, best)
        ),
        (None, Some((index, worst))) => format!(
            "Nothing is gained by leaving {base}: {} fewer requests each second at {}.",
            amount(worst, -1.0),
            place(*index, worst)
        ),
        (Some((index, best)), Some((at, worst))) => format!(
            "It depends on the requests: {} more each second at {}, {} fewer at {}.",
            amount(best, 1.0),
            place(*index, best),
            amount(worst, -1.0),
            place(*at, worst)
        ),
        (None, None) if all.iter().all(|(_, gain)| gain.ratio.is_none()) => {
            "Nothing is proven.".to_owned()
        }
        (None, None) if open => {
            "Nothing is proven yet where evidence is missing: run longer, or ask for less precision.".to_owned()
        }
        (None, None) => format!(
            "For such requests it is not worth leaving {base} on this target."
        ),
    }
}

/// What it does not prove.
fn limits(experiment: &Experiment) -> String {
    let stayed = match experiment.setting.medium {
        Medium::FileDirect | Medium::FileBuffered => {
            ": metadata of the filesystem stayed where they are"
        }
        Medium::DeviceDirect | Medium::DeviceBuffered | Medium::Null => "",
    };
    let shifted = format!(
        "Requests were shifted, no partition was moved{stayed}. Other request sizes, another load, or a cache in \
         another state may give other figures."
    );
    let warned = match experiment.warnings.len() {
        0 => "",
        1 => "The warning above may make all of this worthless: read it first. ",
        _ => "The warnings above may make all of this worthless: read them first. ",
    };
    let shifted = format!("{warned}{shifted}");
    match experiment.end {
        End::Failed(_) | End::Stopped => {
            format!(
                "The plan was not finished, so later cells have fewer blocks or none. {shifted}"
            )
        }
        _ => shifted,
    }
}
