//! Offsets that stand alike on every known grid: what they differ by is noise, or a grid that nobody knows of.

use super::blocks::Run;
use crate::plan::{Plan, Slot};
use straddle_workload::interval::{
    Estimate, Interval,
    ratio::{LogRatio, log_rate},
};

/// What two offsets of one class differ by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Index of the one.
    pub offset: usize,
    /// Index of the other, which comes before it in the plan.
    pub than: usize,
    /// The ratio of the first to the second.
    pub ratio: Interval,
    /// The chance of so large a difference when there is none, for this pair by itself.
    pub p: f64,
}

/// Pairs of offsets of one class, the earlier first.
fn pairs(classes: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    (0..classes.len()).flat_map(move |b| {
        (0..b)
            .filter(move |a| classes[*a] == classes[b])
            .map(move |a| (a, b))
    })
}

/// The largest ratio between geometric means of offsets of one class, less 1; `None` without two such offsets, and
/// without a complete block.
#[must_use]
pub fn noise_floor(plan: &Plan, blocks: &[Vec<(Slot, Run)>], classes: &[usize]) -> Option<f64> {
    let seconds = plan.measured.as_secs_f64();
    let means: Vec<Option<f64>> = (0..plan.offsets.len())
        .map(|offset| {
            let runs = blocks.iter().flatten();
            let runs = runs.filter(|(slot, _)| slot.offset as usize == offset);
            let logs: Vec<f64> = runs.map(|(_, run)| log_rate(run.rate, seconds)).collect();
            #[expect(clippy::cast_precision_loss, reason = "far below 2⁵³ runs")]
            let n = logs.len() as f64;
            (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / n)
        })
        .collect();
    let apart = |(a, b): (usize, usize)| {
        let (a, b) = ((*means.get(a)?)?, (*means.get(b)?)?);
        Some((a - b).abs())
    };
    let widest = pairs(classes).filter_map(apart).max_by(f64::total_cmp)?;
    Some(libm::expm1(widest))
}

/// Every pair of one class, compared by the same intervals as gains; none below two blocks.
///
/// A candidate is compared with the baseline by its log ratios, two candidates by the differences of theirs in the same
/// block.
#[must_use]
pub fn differences(plan: &Plan, blocks: &[Vec<(Slot, Run)>], classes: &[usize]) -> Vec<Difference> {
    let known = plan.offsets.len().min(classes.len());
    let pairs: Vec<(usize, usize)> = pairs(&classes[..known]).collect();
    if pairs.is_empty() {
        return Vec::new();
    }
    let mut estimates = vec![Estimate::new(plan.least_blocks); pairs.len()];
    for block in blocks {
        let ratios = of_block(plan, block);
        for ((a, b), estimate) in pairs.iter().zip(&mut estimates) {
            if let (Some(a), Some(b)) = (ratios[*a], ratios[*b]) {
                estimate.push(LogRatio {
                    value: b.value - a.value,
                    counting: b.counting + a.counting,
                });
            }
        }
    }
    let compared = pairs.iter().zip(&estimates);
    compared
        .filter_map(|((than, offset), estimate)| {
            Some(Difference {
                offset: *offset,
                than: *than,
                ratio: estimate.interval()?,
                p: estimate.p()?,
            })
        })
        .collect()
}

/// The log ratio of every offset in a block; that of the baseline to itself is 0.
fn of_block(plan: &Plan, block: &[(Slot, Run)]) -> Vec<Option<LogRatio>> {
    let mut ratios = vec![None; plan.offsets.len()];
    ratios[0] = Some(LogRatio {
        value: 0.0,
        counting: 0.0,
    });
    let rates: Vec<f64> = block.iter().map(|(_, run)| run.rate).collect();
    let found = straddle_workload::interval::ratio::log_ratios(&rates, plan.measured.as_secs_f64());
    for ((slot, _), ratio) in block.iter().skip(1).step_by(2).zip(found) {
        if let Some(entry) = ratios.get_mut(slot.offset as usize) {
            *entry = Some(ratio);
        }
    }
    ratios
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{experiment, plan};
    use super::super::{collect, runs};
    use super::*;
    use crate::sample::Sample;

    fn blocks(plan: &Plan, samples: &[Sample]) -> Vec<Vec<(Slot, Run)>> {
        runs(&collect(plan, samples.iter().map(|s| (s.slot, s))).cells()[0])
    }

    #[test]
    fn the_noise_floor_is_the_widest_ratio_in_a_class() {
        let plan = plan(1, 5);
        // 0 and 3 are one class, 1 and 4 another; 2 stands alone.
        let rates = [100_000.0, 102_000.0, 300_000.0, 103_000.0, 100_000.0];
        let samples = experiment(&plan, |slot, _| rates[slot.offset as usize]);
        let blocks = blocks(&plan, &samples);
        let floor = |classes: &[usize]| noise_floor(&plan, &blocks, classes);
        assert!((floor(&[0, 1, 2, 0, 1]).expect("two pairs") - 0.03).abs() < 1e-9);
        assert!((floor(&[0, 1, 1, 2, 3]).expect("a pair") - (300.0 / 102.0 - 1.0)).abs() < 1e-9);
        assert_eq!(floor(&[0, 1, 2, 3, 4]), None);
        assert_eq!(floor(&[]), None);
        assert_eq!(noise_floor(&plan, &[], &[0; 5]), None);
    }

    #[test]
    fn pairs_are_compared_in_their_blocks() {
        let plan = plan(1, 4);
        // 2 is 4% faster than 1; both are 30% slower than the baseline, of another class.
        let gains = [1.0, 0.7, 0.728, 1.0];
        let samples = experiment(&plan, |slot, noise| {
            1e6 * gains[slot.offset as usize] * (1.0 + 0.01 * noise)
        });
        let found = differences(&plan, &blocks(&plan, &samples), &[0, 1, 1, 0]);
        assert_eq!(found.len(), 2);
        let [one, other] = found[..] else {
            panic!("two pairs")
        };
        assert_eq!((one.than, one.offset), (1, 2));
        assert!(
            one.ratio.low < 1.04 && 1.04 < one.ratio.high && one.p < 1e-4,
            "{one:?}"
        );
        assert_eq!((other.than, other.offset), (0, 3));
        assert!(other.p > 0.01, "{other:?}");
        let short = differences(&plan, &blocks(&plan, &samples), &[0]);
        assert!(short.is_empty(), "classes of other offsets are not known");
    }
}
