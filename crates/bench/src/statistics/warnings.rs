//! What a reader of the figures has to know, as far as the samples themselves show it.

use super::blocks::CellBlocks;
use super::equivalents::Difference;
use super::steady::{self, Steadiness};
use super::{collect, equivalents, holm, runs, verdict};
use crate::plan::Plan;
use crate::results::{CellResult, Drift, OffsetResult};
use crate::sample::Sample;
use crate::validity::{Warning, WarningKind};
use crate::workload::{Pattern, Percent, Workload};
use straddle_geometry::Bytes;

/// Share of runs that may be unsteady before it is worth a word: one in ten happens anywhere.
const UNSTEADY: f64 = 0.10;
/// How far rate times latency may lie from the requests under way that were asked for.
const LITTLE: f64 = 0.10;
/// Share of the offered rate that has to be reached.
const REACHED: f64 = 0.95;

/// Everything that the samples say against themselves: drift of the baseline, runs and rounds that were not steady,
/// equivalent offsets that differ, outstanding requests and rates that are not what was asked for.
///
/// `cells` are the results of the same samples ([`super::analyse`]), `classes` as there. One warning for each kind of
/// finding, however many workloads have it; it names the worst.
#[must_use]
pub fn warnings(
    plan: &Plan,
    samples: &[Sample],
    cells: &[CellResult],
    classes: &[usize],
) -> Vec<Warning> {
    let collected = collect(plan, samples.iter().map(|sample| (sample.slot, sample)));
    let blocks = collected.cells();
    [
        drift(plan, cells),
        unsteady_runs(plan, blocks),
        unsteady_rounds(plan, blocks),
        equivalents_differ(plan, blocks, classes),
        littles_law(plan, cells),
        rate_not_reached(plan, cells),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn drift(plan: &Plan, cells: &[CellResult]) -> Option<Warning> {
    let drifts = cells.iter().enumerate();
    let drifts: Vec<(usize, Drift)> = drifts
        .filter_map(|(cell, result)| Some((cell, result.drift?)))
        .collect();
    let p: Vec<f64> = drifts.iter().map(|(_, drift)| drift.p).collect();
    let proven: Vec<(usize, Drift)> = drifts
        .iter()
        .zip(holm::adjust(&p))
        .filter(|((_, drift), p)| *p < verdict::LEVEL && drift.change.abs() > plan.precision)
        .map(|(found, _)| *found)
        .collect();
    let (cell, worst) = worst(&proven, |(_, drift)| drift.change.abs())?;
    Some(Warning {
        kind: WarningKind::Drift,
        cause: format!(
            "the baseline {} by {} from its first run to its last in {}{}; noise does not explain that: one run scatters by \
             {}, {}",
            if worst.change < 0.0 { "fell" } else { "rose" },
            percent(worst.change.abs()),
            name(plan, *cell),
            others(proven.len(), "workload"),
            percent(worst.noise),
            chance(worst.p),
        ),
        advice: format!(
            "gains stand: each offset is compared with the baseline runs beside it; rates are means over the change, so \
             compare none with another day's. {}; then measure again",
            if worst.change < 0.0 {
                "A rate that falls often is a flash drive that runs out of erased blocks or gets warm, or a write cache that \
                 fills: write the whole file once first, give it a longer warm-up, and wait until nobody else uses the device"
            } else {
                "A rate that rises often is a cache that fills: take a file larger than all caches, or a longer warm-up"
            },
        ),
    })
}

fn unsteady_runs(plan: &Plan, blocks: &[CellBlocks<&Sample>]) -> Option<Warning> {
    let runs = blocks.iter().flat_map(CellBlocks::runs);
    let judged: Vec<(&Sample, Steadiness)> = runs
        .filter_map(|(_, sample)| Some((*sample, steady::within(sample)?)))
        .collect();
    let unsteady: Vec<(&Sample, Steadiness)> = judged
        .iter()
        .filter(|(_, found)| !found.is_steady())
        .copied()
        .collect();
    if as_float(unsteady.len()) <= UNSTEADY * as_float(judged.len()) {
        return None;
    }
    let (sample, found) = worst(&unsteady, |(_, found)| found.range.max(found.slope.abs()))?;
    let along = |sign: f64| {
        let with = unsteady
            .iter()
            .filter(|(_, f)| f.slope * sign > steady::SLOPE);
        as_float(with.count())
    };
    let most = as_float(unsteady.len()) / 2.0;
    let advice = if along(1.0) > most {
        "most of them rose from start to end: give them a longer warm-up"
    } else if along(-1.0) > most {
        "most of them fell from start to end: the fast part of a flash drive or a write cache fills up while they last; write \
         more before measuring and give each run a longer warm-up, so that only what lasts is measured"
    } else {
        "they went up and down: somebody else uses the device, or it tidies up behind the scenes; longer runs average that out, \
         a quiet machine avoids it"
    };
    let slot = sample.slot;
    Some(Warning {
        kind: WarningKind::NotSteady,
        cause: format!(
            "{} of {} runs were not steady: requests each second, in fifths of the run, spread over more than {} of their mean, or rose or \
             fell by more than {}; the worst was repeat {} of {} at {}: spread {}, {} by {}",
            unsteady.len(),
            judged.len(),
            percent(steady::RANGE),
            percent(steady::SLOPE),
            slot.block + 1,
            name(plan, slot.cell as usize),
            offset(plan, slot.offset as usize),
            percent(found.range),
            if found.slope < 0.0 { "fell" } else { "rose" },
            percent(found.slope.abs()),
        ),
        advice: advice.to_owned(),
    })
}

fn unsteady_rounds(plan: &Plan, blocks: &[CellBlocks<&Sample>]) -> Option<Warning> {
    let judged = blocks.iter().enumerate().filter_map(|(cell, blocks)| {
        let rounds = blocks.complete.iter().map(|block| {
            let runs = block.iter().filter(|(slot, _)| slot.offset == 0);
            let rates: Vec<f64> = runs.map(|(_, sample)| sample.rate()).collect();
            rates.iter().sum::<f64>() / as_float(rates.len())
        });
        Some((cell, steady::over(&rounds.collect::<Vec<f64>>())?))
    });
    let unsteady: Vec<(usize, Steadiness)> =
        judged.filter(|(_, found)| !found.is_steady()).collect();
    let (cell, found) = worst(&unsteady, |(_, found)| found.range.max(found.slope.abs()))?;
    Some(Warning {
        kind: WarningKind::NotSteady,
        cause: format!(
            "the baseline was not steady over the last {} repeats of {}{}: its rates spread over {} of their mean ({} at most are \
             steady state) and {} by {} ({} at most)",
            steady::WINDOW,
            name(plan, *cell),
            others(unsteady.len(), "workload"),
            percent(found.range),
            percent(steady::RANGE),
            if found.slope < 0.0 { "fell" } else { "rose" },
            percent(found.slope.abs()),
            percent(steady::SLOPE),
        ),
        advice: "gains stand, rates do not yet: go on until they settle, with more time or longer runs; flash is steady only after \
                 its whole capacity was written about twice"
            .to_owned(),
    })
}

fn equivalents_differ(
    plan: &Plan,
    blocks: &[CellBlocks<&Sample>],
    classes: &[usize],
) -> Option<Warning> {
    let pairs: Vec<(usize, Difference)> = blocks
        .iter()
        .enumerate()
        .flat_map(|(cell, blocks)| {
            let found = equivalents::differences(plan, &runs(blocks), classes);
            found.into_iter().map(move |difference| (cell, difference))
        })
        .collect();
    let p: Vec<f64> = pairs.iter().map(|(_, pair)| pair.p).collect();
    let proven: Vec<(usize, Difference)> = pairs
        .iter()
        .zip(holm::adjust(&p))
        .filter(|(_, p)| *p < verdict::LEVEL)
        .map(|(pair, _)| *pair)
        .collect();
    let (cell, pair) = worst(&proven, |(_, pair)| libm::log(pair.ratio.mean).abs())?;
    let ratio = pair.ratio;
    // Said of the faster of the two.
    let (fast, slow, mean, low, high) = if ratio.mean < 1.0 {
        let inverse = |value: f64| 1.0 / value - 1.0;
        let ends = (inverse(ratio.mean), inverse(ratio.high), inverse(ratio.low));
        (pair.than, pair.offset, ends.0, ends.1, ends.2)
    } else {
        let (low, high) = (ratio.low - 1.0, ratio.high - 1.0);
        (pair.offset, pair.than, ratio.mean - 1.0, low, high)
    };
    Some(Warning {
        kind: WarningKind::EquivalentsDiffer,
        cause: format!(
            "{} and {} stand alike on every known grid, yet {} is faster by {} ({} to {}) in {}{}",
            offset(plan, pair.than),
            offset(plan, pair.offset),
            offset(plan, fast),
            percent(mean),
            percent(low),
            percent(high),
            name(plan, *cell),
            others(proven.len(), "pair"),
        ),
        advice: format!(
            "something below has boundaries that it does not report, as controllers and disk arrays do with their stripe unit: look it up in \
             their own tools; or {} lies where the storage is slower for another reason, such as inner tracks or data of another \
             age. Until that is known, take no difference as small as this one for one of alignment",
            offset(plan, slow),
        ),
    })
}

fn littles_law(plan: &Plan, cells: &[CellResult]) -> Option<Warning> {
    let off: Vec<(usize, usize, f64, f64)> = measured(plan, cells)
        .filter(|(_, workload, ..)| workload.rate.is_none() && workload.think.is_zero())
        .filter_map(|(cell, workload, offset, result)| {
            let latencies = result.read_latency.is_some() || result.write_latency.is_some();
            #[expect(clippy::cast_precision_loss, reason = "plans bound it to 2²⁷")]
            let asked = workload.concurrency() as f64;
            latencies.then_some((cell, offset, result.mean_outstanding, asked))
        })
        .filter(|(_, _, found, asked)| (found / asked - 1.0).abs() > LITTLE)
        .collect();
    let (cell, at, found, asked) = worst(&off, |(_, _, found, asked)| (found / asked - 1.0).abs())?;
    Some(Warning {
        kind: WarningKind::LittlesLaw,
        cause: format!(
            "rate times mean latency is {found:.1} requests under way in {} at {}, {} than the {asked} that were asked for{}",
            name(plan, *cell),
            offset(plan, *at),
            if found < asked { "fewer" } else { "more" },
            others(off.len(), "case"),
        ),
        advice: if found < asked {
            "the program did not keep up with the storage: requests had ended and the next had not started. Use fewer workers than \
             processors, a machine that does nothing else, or another engine; the null engine shows what the program itself can do"
        } else {
            "requests were counted as longer than they were: one time stamp stands for many that ended together, or the processor \
             was taken away from the workers. Use fewer outstanding requests for each worker or fewer workers than processors"
        }
        .to_owned(),
    })
}

fn rate_not_reached(plan: &Plan, cells: &[CellResult]) -> Option<Warning> {
    let missed: Vec<(usize, usize, f64, f64)> = measured(plan, cells)
        .filter_map(|(cell, workload, offset, result)| {
            let found = result.reads_per_second + result.writes_per_second;
            Some((cell, offset, found, workload.rate?))
        })
        // Short runs at low rates end between two requests that are due: one request more or less says nothing.
        .filter(|(_, _, found, offered)| {
            let seconds = plan.measured.as_secs_f64();
            *found < REACHED * offered && (offered - found) * seconds >= 2.0
        })
        .collect();
    let (cell, at, found, offered) =
        worst(&missed, |(_, _, found, offered)| 1.0 - found / offered)?;
    Some(Warning {
        kind: WarningKind::RateNotReached,
        cause: format!(
            "{} requests each second were offered and {} done in {} at {}{}",
            count(*offered),
            count(*found),
            name(plan, *cell),
            offset(plan, *at),
            others(missed.len(), "case"),
        ),
        advice: format!(
            "requests wait in line before they start, and latency counts from when they were due, so it grows with the length \
             of the run and says nothing of the storage: offer less than {} each second, allow more outstanding requests, or measure without a rate \
             to find the limit",
            count(*found),
        ),
    })
}

/// Every offset of every cell that was measured at all.
fn measured<'a>(
    plan: &'a Plan,
    cells: &'a [CellResult],
) -> impl Iterator<Item = (usize, &'a Workload, usize, &'a OffsetResult)> {
    let cells = plan.cells.iter().zip(cells).enumerate();
    cells.flat_map(|(cell, (workload, result))| {
        let offsets = result.offsets.iter().enumerate();
        let offsets = offsets.filter(|(_, result)| result.runs > 0);
        offsets.map(move |(offset, result)| (cell, workload, offset, result))
    })
}

/// The one with the largest measure.
fn worst<T>(all: &[T], measure: impl Fn(&T) -> f64) -> Option<&T> {
    all.iter().max_by(|a, b| measure(a).total_cmp(&measure(b)))
}

/// ` (and 3 more workloads)`, nothing when it is the only one.
fn others(all: usize, what: &str) -> String {
    match all.saturating_sub(1) {
        0 => String::new(),
        1 => format!(" (and one more {what})"),
        more => format!(" (and {more} more {what}s)"),
    }
}

/// `workload 2 (random reads of 8 KiB, 4 workers × 8 outstanding)`.
fn name(plan: &Plan, cell: usize) -> String {
    let Some(workload) = plan.cells.get(cell) else {
        return format!("workload {}", cell + 1);
    };
    let pattern = match workload.pattern {
        Pattern::Random => "random",
        Pattern::Sequential => "sequential",
    };
    let access = match workload.reads {
        Percent::ALL => "reads".to_owned(),
        Percent::NONE => "writes".to_owned(),
        mixed => format!("requests, {}% reads,", mixed.get()),
    };
    let size = match workload.sizes.as_slice() {
        [(size, _)] => size.to_string(),
        sizes => format!("{} sizes up to {}", sizes.len(), workload.largest()),
    };
    let workers = if workload.workers == 1 {
        "worker"
    } else {
        "workers"
    };
    format!(
        "workload {} ({pattern} {access} of {size}, {} {workers} × {} outstanding)",
        cell + 1,
        workload.workers,
        workload.outstanding,
    )
}

/// The name of an offset.
fn offset(plan: &Plan, offset: usize) -> &str {
    plan.offsets.get(offset).map_or("?", |offset| &offset.name)
}

/// `2.3%`.
fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// `p = 0.0013`.
fn chance(p: f64) -> String {
    if p < 0.0001 {
        "p < 0.0001".to_owned()
    } else {
        format!("p = {p:.4}")
    }
}

/// `12,345`, with a decimal below 100.
fn count(rate: f64) -> String {
    if rate < 100.0 {
        return format!("{rate:.1}");
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and the cast saturates"
    )]
    let whole = rate.round() as u64;
    Bytes::new(whole).grouped().to_string()
}

#[expect(clippy::cast_precision_loss, reason = "far below 2⁵³ runs")]
fn as_float(count: usize) -> f64 {
    count as f64
}
