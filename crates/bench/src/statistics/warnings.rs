//! What a reader of the figures has to know, as far as the samples themselves show it.

use super::blocks::CellBlocks;
use super::equivalents::Difference;
use super::steady::{self, Steadiness};
use super::{collect, equivalents, holm, runs, verdict};
use crate::plan::Plan;
use crate::results::{CellResult, Drift, OffsetResult};
use crate::sample::Sample;
use crate::validity::{Warning, WarningKind, percent};
use straddle_geometry::Bytes;
use straddle_workload::{Pattern, Percent, Workload};

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
            "The baseline {} by {} from its first run to its last in {}{}. Noise does not explain that: one run \
             scatters by {} ({}).",
            if worst.change < 0.0 { "fell" } else { "rose" },
            percent(worst.change.abs()),
            name(plan, *cell),
            others(proven.len(), "workload"),
            percent(worst.noise),
            chance(worst.p),
        ),
        advice: format!(
            "Gains stand: each offset is compared with the baseline runs beside it. Rates are means over the change, so \
             compare none with another day's. {}; then measure again.",
            if worst.change < 0.0 {
                "A rate that falls often is a flash drive that runs out of erased blocks or gets warm, or a write \
                 cache that fills: write the whole file once first, give it a longer warm-up, and wait until nobody \
                 else uses the device"
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
        "Most of them rose from start to end: give them a longer warm-up."
    } else if along(-1.0) > most {
        "Most of them fell from start to end: the fast part of a flash drive or a write cache fills up while they \
         last; write more before measuring and give each run a longer warm-up, so that only what lasts is measured."
    } else {
        "They went up and down: somebody else uses the device, or it tidies up behind the scenes; longer runs average \
         that out, a quiet machine avoids it."
    };
    let slot = sample.slot;
    Some(Warning {
        kind: WarningKind::NotSteady,
        cause: format!(
            "{} of {} runs were not steady, that is, the five parts of a run differed by more than {} of their mean or \
             rose or fell by more than {}; the worst was repeat {} of {} at {}: they differed by {} and {} by {}.",
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
            "The baseline was not steady over the last {} blocks of {}{}: its rates differed by {} of their mean ({} \
             at most in steady state) and {} by {} ({} at most).",
            steady::WINDOW,
            name(plan, *cell),
            others(unsteady.len(), "workload"),
            percent(found.range),
            percent(steady::RANGE),
            if found.slope < 0.0 { "fell" } else { "rose" },
            percent(found.slope.abs()),
            percent(steady::SLOPE),
        ),
        advice: "Gains stand, rates do not yet: go on until they settle, with more time or longer runs; flash is \
         steady only after its whole capacity was written about twice."
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
            "{} and {} stand alike on every known grid, yet {} is faster by {} ({} to {}) in {}{}.",
            offset(plan, pair.than),
            offset(plan, pair.offset),
            offset(plan, fast),
            percent(mean),
            percent(low),
            percent(high),
            name(plan, *cell),
            others(proven.len(), "comparison"),
        ),
        advice: format!(
            "Something below has boundaries that it does not report, as controllers and disk arrays do with their \
             stripe unit: look it up in their own tools; or {} lies where the storage is slower for another reason, \
             such as inner tracks or data of another age. Until that is known, take no difference as small as this one \
             for one of alignment.",
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
            "Rate times mean latency is {found:.1} requests under way in {} at {}, {} than the {asked} that were asked \
             for{}.",
            name(plan, *cell),
            offset(plan, *at),
            if found < asked { "fewer" } else { "more" },
            others(off.len(), "case"),
        ),
        advice: if found < asked {
            "The program did not keep up with the storage: requests had ended and the next had not started. Use fewer \
             threads than processors, a machine that does nothing else, or another engine; the null engine shows what \
             the program itself can do."
        } else {
            "Requests were counted as longer than they were: one time stamp stands for many that ended together, or \
             the processor was taken away from the threads. Use fewer outstanding requests for each thread or fewer \
             threads than processors."
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
            "{} requests each second were offered and {} done in {} at {}{}.",
            count(*offered),
            count(*found),
            name(plan, *cell),
            offset(plan, *at),
            others(missed.len(), "case"),
        ),
        advice: format!(
            "Requests wait in line before they start, and latency counts from when they were due, so it grows with the \
             length of the run and says nothing of the storage: offer less than {} each second, allow more outstanding \
             requests, or measure without a rate to find the limit.",
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

/// `, and in 3 more workloads`, nothing when it is the only one.
fn others(all: usize, what: &str) -> String {
    match all.saturating_sub(1) {
        0 => String::new(),
        1 => format!(", and in one more {what}"),
        more => format!(", and in {more} more {what}s"),
    }
}

/// `workload 2 (random reads of 8 KiB, 4 threads × 8 outstanding)`.
fn name(plan: &Plan, cell: usize) -> String {
    let Some(workload) = plan.cells.get(cell) else {
        return format!("workload {}", cell + 1);
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
    let (before, behind) = match workload.pattern {
        Pattern::Random | Pattern::Sequential => (format!("{} ", workload.pattern), String::new()),
        Pattern::RandomEvery(_)
        | Pattern::Strided(_)
        | Pattern::Columns(_)
        | Pattern::Recorded(_) => (String::new(), format!(", {}", workload.pattern)),
    };
    let threads = if workload.workers == 1 {
        "thread"
    } else {
        "threads"
    };
    format!(
        "workload {} ({before}{access} of {size}{behind}, {} {threads} × {} outstanding)",
        cell + 1,
        workload.workers,
        workload.outstanding,
    )
}

/// The name of an offset.
fn offset(plan: &Plan, offset: usize) -> &str {
    plan.offsets.get(offset).map_or("?", |offset| &offset.name)
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

#[cfg(test)]
mod tests {
    use super::super::analyse;
    use super::super::fixture::{experiment, plan};
    use super::*;
    use std::time::Duration;

    fn found(plan: &Plan, samples: &[Sample], classes: &[usize]) -> Vec<Warning> {
        let (cells, _) = analyse(plan, samples, classes);
        warnings(plan, samples, &cells, classes)
    }

    fn kinds(warnings: &[Warning]) -> Vec<WarningKind> {
        warnings.iter().map(|warning| warning.kind).collect()
    }

    /// Latencies that fit rate and concurrency, as in a closed loop.
    fn closed_loop(plan: &Plan, samples: &mut [Sample], outstanding: f64) {
        for sample in samples {
            let latency = outstanding / sample.rate() * 1e9;
            sample.reads.latencies.record(latency as u64);
            // Mean latency counts, not how many were recorded; the rate comes from the requests.
            for _ in 1..100 {
                sample.reads.latencies.record(latency as u64);
            }
            sample.took = plan.measured.mul_f64(100.0 / sample.reads.requests as f64);
            sample.reads.requests = 100;
        }
    }

    #[test]
    fn quiet_storage_gets_no_warnings() {
        let plan = plan(3, 3);
        let samples = experiment(&plan, |_, noise| 1e6 * (1.0 + 0.01 * noise));
        assert_eq!(found(&plan, &samples, &[0, 1, 1]), []);
        assert_eq!(found(&plan, &[], &[]), [], "nothing was measured");
    }

    #[test]
    fn drift_names_the_worst_workload() {
        let mut plan = plan(2, 2);
        plan.cells[1].workers = 4;
        let samples = experiment(&plan, |slot, noise| {
            let fall = if slot.cell == 1 { 0.01 } else { 0.005 };
            1e6 * (1.0 - fall * f64::from(slot.block)) * (1.0 + 0.002 * noise)
        });
        let found = found(&plan, &samples, &[0, 1]);
        assert_eq!(kinds(&found), [WarningKind::Drift]);
        let cause = &found[0].cause;
        assert!(cause.starts_with("The baseline fell by 7."), "{cause}");
        let place = "in workload 2 (random reads of 8 KiB, 4 threads × 1 outstanding), and in one more workload. Noise \
                     does not explain that";
        assert!(cause.contains(place), "{cause}");
        assert!(cause.contains("p < 0.0001"), "{cause}");
        assert!(
            found[0].advice.contains("Gains stand"),
            "{}",
            found[0].advice
        );
    }

    #[test]
    fn runs_that_rise_are_told_from_runs_that_fall() {
        let plan = plan(1, 2);
        let mut samples = experiment(&plan, |_, noise| 1e6 * (1.0 + 0.002 * noise));
        let ticks = |samples: &mut [Sample], tick: fn(u32) -> u32| {
            for sample in samples {
                sample.ticks = (0..10).map(tick).collect();
            }
        };
        ticks(&mut samples, |at| 1000 + 100 * at);
        let rising = found(&plan, &samples, &[0, 1]);
        assert_eq!(kinds(&rising), [WarningKind::NotSteady]);
        assert!(
            rising[0].cause.starts_with("24 of 24 runs were not steady"),
            "{}",
            rising[0].cause
        );
        assert!(rising[0].advice.contains("longer warm-up"));
        ticks(&mut samples, |at| 2000 - 100 * at);
        let falling = found(&plan, &samples, &[0, 1]);
        assert!(
            falling[0].advice.contains("fills up"),
            "{}",
            falling[0].advice
        );
        ticks(&mut samples, |at| if at == 4 { 100 } else { 1000 });
        let hiccup = found(&plan, &samples, &[0, 1]);
        assert!(
            hiccup[0].advice.contains("up and down"),
            "{}",
            hiccup[0].advice
        );
        // Two of 24 may be unsteady.
        ticks(&mut samples[2..], |_| 1000);
        assert_eq!(found(&plan, &samples, &[0, 1]), []);
    }

    #[test]
    fn rounds_that_do_not_settle_are_not_steady() {
        let plan = plan(1, 2);
        let samples = experiment(&plan, |slot, _| {
            1e6 * (1.0 + 0.3 * f64::from(slot.block % 2))
        });
        let found = found(&plan, &samples, &[0, 1]);
        assert_eq!(kinds(&found), [WarningKind::NotSteady]);
        assert!(
            found[0]
                .cause
                .contains("over the last 5 blocks of workload 1"),
            "{}",
            found[0].cause
        );
    }

    #[test]
    fn equivalents_that_differ_name_the_faster_one() {
        let plan = plan(1, 3);
        for (gain, text) in [
            (1.05, "yet 2M is faster by 5."),
            (1.0 / 1.05, "yet 1M is faster by "),
        ] {
            let samples = experiment(&plan, |slot, noise| {
                1e6 * if slot.offset == 2 { gain } else { 1.0 } * (1.0 + 0.005 * noise)
            });
            let found = found(&plan, &samples, &[0, 1, 1]);
            assert_eq!(kinds(&found), [WarningKind::EquivalentsDiffer]);
            let cause = &found[0].cause;
            assert!(
                cause.starts_with("1M and 2M stand alike on every known grid"),
                "{cause}"
            );
            assert!(cause.contains(text), "{cause}");
        }
        let same = experiment(&plan, |_, noise| 1e6 * (1.0 + 0.005 * noise));
        assert_eq!(found(&plan, &same, &[0, 1, 1]), []);
    }

    #[test]
    fn littles_law_holds_in_a_closed_loop_only() {
        let mut plan = plan(1, 1);
        (plan.cells[0].workers, plan.cells[0].outstanding) = (2, 8);
        let made = experiment(&plan, |_, noise| 1e6 * (1.0 + 0.005 * noise));
        for (outstanding, text) in [
            (12.0, Some("fewer")),
            (14.8, None),
            (17.2, None),
            (20.0, Some("more")),
        ] {
            let mut samples = made.clone();
            closed_loop(&plan, &mut samples, outstanding);
            let found = found(&plan, &samples, &[0]);
            let Some(text) = text else {
                assert_eq!(found, [], "{outstanding}");
                continue;
            };
            assert_eq!(kinds(&found), [WarningKind::LittlesLaw]);
            let start = format!(
                "Rate times mean latency is {outstanding:.1} requests under way in workload 1"
            );
            assert!(found[0].cause.starts_with(&start), "{}", found[0].cause);
            assert!(
                found[0].cause.contains(&format!("{text} than the 16")),
                "{}",
                found[0].cause
            );
            plan.cells[0].think = Duration::from_millis(1);
            assert_eq!(super::tests::found(&plan, &samples, &[0]), []);
            plan.cells[0].think = Duration::ZERO;
        }
    }

    #[test]
    fn rates_that_were_offered_and_not_reached_are_told() {
        let mut plan = plan(1, 2);
        plan.cells[0].rate = Some(12_000.0);
        let reached = experiment(&plan, |_, _| 11_900.0);
        assert_eq!(found(&plan, &reached, &[0, 1]), []);
        let missed = experiment(
            &plan,
            |slot, _| if slot.offset == 1 { 8000.0 } else { 11_990.0 },
        );
        let found = found(&plan, &missed, &[0, 1]);
        assert_eq!(kinds(&found), [WarningKind::RateNotReached]);
        let cause = &found[0].cause;
        assert!(
            cause.starts_with(
                "12,000 requests each second were offered and 8,000 done in workload 1"
            ),
            "{cause}"
        );
        assert!(cause.ends_with("at 1M."), "{cause}");
        // Four requests each second, of which three end within the second that is measured.
        plan.cells[0].rate = Some(4.0);
        let slow = experiment(&plan, |_, _| 3.0);
        assert_eq!(super::tests::found(&plan, &slow, &[0, 1]), []);
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(
            [0.0, 99.94, 100.0, 1_234_567.8].map(count),
            ["0.0", "99.9", "100", "1,234,568"]
        );
        assert_eq!(chance(0.01234), "p = 0.0123");
        assert_eq!(
            others(1, "case") + &others(2, "case") + &others(4, "case"),
            ", and in one more case, and in 3 more cases"
        );
    }
}
