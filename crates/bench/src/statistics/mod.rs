//! What samples prove. Floating point comes from `libm`, so that results are equal everywhere.
//!
//! - [`blocks`] puts runs together to blocks; `straddle-workload` makes paired log ratios of them and says how far those may lie
//!   from the truth, when that is narrow enough, and what it proves ([`straddle_workload::interval`]).
//! - [`holm`] corrects for many comparisons.
//! - [`drift`] and [`steady`] look at whether the storage stayed the same ([`line`](mod@line) fits the lines), [`saturation`] at
//!   where more concurrency stops to help, [`equivalents`] at offsets that should not differ.
//! - [`summary`] has rates, latencies and device operations of an offset; [`warnings`](mod@warnings) says what a reader
//!   has to know.

pub mod blocks;
pub mod drift;
pub mod equivalents;
#[cfg(test)]
mod fixture;
pub mod holm;
pub mod line;
pub mod saturation;
pub mod steady;
pub mod summary;
pub mod warnings;

pub use warnings::warnings;

use std::time::Duration;

use crate::plan::{Plan, Slot};
use crate::results::{CellResult, Gain, Knee};
use crate::sample::Sample;
use blocks::{CellBlocks, Collector, Run};
use straddle_workload::interval::{Estimate, Verdict, ratio, verdict};

/// What the samples of an experiment prove: a result for each cell of the plan, and the knees.
///
/// `classes` has the class of each offset ([`crate::place::Placed::class`]). Samples come in the order in which they
/// were made; those of blocks that were begun again later are left out, those of a last block that was not finished
/// count for rates and latencies, not for ratios.
#[must_use]
pub fn analyse(plan: &Plan, samples: &[Sample], classes: &[usize]) -> (Vec<CellResult>, Vec<Knee>) {
    let collected = collect(plan, samples.iter().map(|sample| (sample.slot, sample)));
    let mut cells: Vec<CellResult> = collected
        .cells()
        .iter()
        .map(|cell| {
            let blocks = runs(cell);
            CellResult {
                offsets: (0..plan.offsets.len())
                    .map(|offset| summary::offset(cell, offset))
                    .collect(),
                gains: gains(plan, &blocks),
                drift: drift::drift(&blocks),
                noise_floor: equivalents::noise_floor(plan, &blocks, classes),
                blocks: u32::try_from(blocks.len()).unwrap_or(u32::MAX),
            }
        })
        .collect();
    judge(plan, &mut cells);
    let knees = saturation::knees(plan, &collected, &cells);
    (cells, knees)
}

/// Puts runs together to blocks.
pub(crate) fn collect<T>(plan: &Plan, runs: impl Iterator<Item = (Slot, T)>) -> Collector<T> {
    let mut collector = Collector::new(plan);
    for (slot, run) in runs {
        collector.push(slot, run);
    }
    collector
}

/// The complete blocks of a cell, with nothing but what comparisons need.
pub(crate) fn runs(cell: &CellBlocks<&Sample>) -> Vec<Vec<(Slot, Run)>> {
    let run = |(slot, sample): &(Slot, &Sample)| (*slot, Run::from(*sample));
    let block = |block: &Vec<(Slot, &Sample)>| block.iter().map(run).collect();
    cell.complete.iter().map(block).collect()
}

/// Adds the log ratios of a block to the estimates of its candidates, which are in the order of the plan's offsets
/// without the baseline.
pub(crate) fn add_block<T>(
    estimates: &mut [Estimate],
    block: &[(Slot, T)],
    rate: impl Fn(&T) -> f64,
    measured: Duration,
) {
    let rates: Vec<f64> = block.iter().map(|(_, run)| rate(run)).collect();
    let ratios = ratio::log_ratios(&rates, measured.as_secs_f64());
    for ((slot, _), ratio) in block.iter().skip(1).step_by(2).zip(ratios) {
        let candidate = (slot.offset as usize).checked_sub(1);
        if let Some(estimate) = candidate.and_then(|at| estimates.get_mut(at)) {
            estimate.push(ratio);
        }
    }
}

/// The gains of a cell, without what depends on those of other cells.
fn gains(plan: &Plan, blocks: &[Vec<(Slot, Run)>]) -> Vec<Gain> {
    let candidates = plan.offsets.len().saturating_sub(1);
    let mut estimates = vec![Estimate::new(plan.least_blocks); candidates];
    for block in blocks {
        add_block(&mut estimates, block, |run| run.rate, plan.measured);
    }
    (1..)
        .zip(estimates)
        .map(|(offset, estimate)| Gain {
            offset,
            ratio: estimate.interval(),
            p: estimate.p(),
            p_adjusted: None,
            verdict: Verdict::NotEnoughEvidence,
        })
        .collect()
}

/// Adjusts the p-values of all gains of all cells for being so many, and says what they prove. A cell with fewer blocks than the
/// plan's least proves nothing: the spread of two is a guess, and the rule that stops is made for no fewer.
fn judge(plan: &Plan, cells: &mut [CellResult]) {
    let mut gains: Vec<&mut Gain> = cells.iter_mut().flat_map(|cell| &mut cell.gains).collect();
    let p: Vec<f64> = gains.iter().filter_map(|gain| gain.p).collect();
    let mut adjusted = holm::adjust(&p).into_iter();
    for gain in &mut gains {
        gain.p_adjusted = gain.p.and_then(|_| adjusted.next());
        gain.verdict = verdict::verdict(gain.ratio, gain.p_adjusted, plan.precision);
    }
    let few = cells
        .iter_mut()
        .filter(|cell| cell.blocks < plan.least_blocks);
    for gain in few.flat_map(|cell| &mut cell.gains) {
        gain.verdict = Verdict::NotEnoughEvidence;
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::{experiment, plan};
    use super::*;

    #[test]
    fn comparisons_of_all_cells_are_adjusted_together() {
        let plan = plan(4, 3);
        let samples = experiment(&plan, |slot, noise| {
            let gain = if (slot.cell, slot.offset) == (2, 1) {
                1.05
            } else {
                1.0
            };
            1e6 * gain * (1.0 + 0.01 * noise)
        });
        let (cells, knees) = analyse(&plan, &samples, &[0, 1, 2]);
        assert!(knees.is_empty(), "equal concurrency");
        let gains: Vec<&Gain> = cells.iter().flat_map(|cell| &cell.gains).collect();
        let p: Vec<f64> = gains.iter().filter_map(|gain| gain.p).collect();
        let adjusted: Vec<f64> = gains.iter().filter_map(|gain| gain.p_adjusted).collect();
        assert_eq!(p.len(), 8);
        assert_eq!(adjusted, holm::adjust(&p));
        assert_eq!(cells[2].gains[0].verdict, Verdict::Faster);
        assert_eq!(cells[2].gains[0].offset, 1);
        let equal = gains
            .iter()
            .filter(|g| matches!(g.verdict, Verdict::NoDifferenceAbove(_)));
        assert_eq!(equal.count(), 7);
    }

    #[test]
    fn below_the_least_number_of_blocks_nothing_is_proven() {
        let plan = plan(1, 2);
        // Every block says the same: no test of a difference could say more.
        let samples = experiment(&plan, |slot, noise| {
            1e6 * (1.0 + 0.2 * f64::from(slot.offset)) * (1.0 + 1e-4 * noise)
        });
        let runs = plan.runs_per_block();
        for blocks in 2..=plan.least_blocks {
            let made = &samples[..runs * blocks as usize];
            let cell = analyse(&plan, made, &[0, 1]).0.remove(0);
            assert_eq!(cell.blocks, blocks);
            assert!(cell.gains[0].ratio.is_some_and(|ratio| ratio.low > 1.1));
            let verdict = match blocks == plan.least_blocks {
                true => Verdict::Faster,
                false => Verdict::NotEnoughEvidence,
            };
            assert_eq!(cell.gains[0].verdict, verdict, "{blocks} blocks");
        }
    }

    #[test]
    fn rates_and_gains_come_from_the_same_runs() {
        let plan = plan(2, 3);
        let samples = experiment(&plan, |slot, noise| {
            1e5 * f64::from(slot.cell + 1) * f64::from(slot.offset + 1) * (1.0 + 0.01 * noise)
        });
        let (cells, _) = analyse(&plan, &samples, &[0, 1, 2]);
        for (number, cell) in (1..).zip(&cells) {
            assert_eq!(cell.offsets.len(), 3);
            let blocks = cell.blocks;
            assert_eq!(
                cell.offsets.iter().map(|o| o.runs).collect::<Vec<_>>(),
                [3 * blocks, blocks, blocks]
            );
            for (times, offset) in (1..).zip(&cell.offsets) {
                let expected = 1e5 * f64::from(number) * f64::from(times);
                assert!((offset.reads_per_second / expected - 1.0).abs() < 0.01);
                assert!(
                    offset.range.0 < offset.reads_per_second
                        && offset.reads_per_second < offset.range.1
                );
            }
            for (times, gain) in (2..).zip(&cell.gains) {
                let ratio = gain.ratio.expect("many blocks");
                assert!(
                    (ratio.mean / f64::from(times) - 1.0).abs() < 0.01 && ratio.low < ratio.high
                );
            }
        }
    }

    #[test]
    fn an_interrupted_experiment_proves_what_it_has() {
        let plan = plan(2, 2);
        let samples = experiment(&plan, |_, noise| 1e6 * (1.0 + 0.01 * noise));
        let nothing = analyse(&plan, &[], &[0, 1]).0;
        assert_eq!(nothing.len(), 2);
        assert_eq!(nothing[0].gains[0].verdict, Verdict::NotEnoughEvidence);
        assert_eq!((nothing[0].gains[0].ratio, nothing[0].blocks), (None, 0));
        assert_eq!(nothing[0].offsets[1].runs, 0);
        // Two runs of the first block: rates, and no ratio.
        let (cells, _) = analyse(&plan, &samples[..2], &[0, 1]);
        let cell = &cells[samples[0].slot.cell as usize];
        assert_eq!(
            (cell.blocks, cell.offsets[0].runs, cell.offsets[1].runs),
            (0, 1, 1)
        );
        assert_eq!(cell.gains[0].ratio, None);
        // A block that was begun twice counts once.
        let mut twice = samples[..2].to_vec();
        twice.extend_from_slice(&samples);
        assert_eq!(
            analyse(&plan, &twice, &[0, 1]),
            analyse(&plan, &samples, &[0, 1])
        );
    }
}
