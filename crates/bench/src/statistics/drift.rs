//! Whether the baseline moved while all else was measured.
//!
//! A line through the logarithms of the baseline's rates over time. Ratios are safe from drift (see [`straddle_workload::interval::ratio`]);
//! rates in a table are not, and a reader has to know.

use super::blocks::Run;
use super::line::Line;
use crate::plan::Slot;
use crate::results::Drift;

/// The drift over the complete blocks of a cell; `None` below three of them.
///
/// The line goes through the mean of each block, not through each run: runs of a block lie close together in time and
/// share what noise is slow, so that as many points as runs would make a chance rise look like a proven one. The noise
/// is that of single runs around the line.
#[must_use]
pub fn drift(blocks: &[Vec<(Slot, Run)>]) -> Option<Drift> {
    if blocks.len() < 3 {
        return None;
    }
    let baselines: Vec<Vec<(f64, f64)>> = blocks.iter().map(|block| baseline(block)).collect();
    let means: Option<Vec<(f64, f64)>> = baselines.iter().map(|block| mean(block)).collect();
    let line = Line::fit(&means?)?;
    let runs: Vec<(f64, f64)> = baselines.into_iter().flatten().collect();
    let (first, last) = (runs.first()?, runs.last()?);
    let squares: f64 = runs
        .iter()
        .map(|(x, y)| (y - line.at(*x)) * (y - line.at(*x)))
        .sum();
    #[expect(clippy::cast_precision_loss, reason = "far below 2⁵³ runs")]
    let freedom = runs.len() as f64 - 2.0;
    Some(Drift {
        change: libm::expm1(line.slope * (last.0 - first.0)),
        p: line.p?,
        noise: libm::expm1((squares / freedom).sqrt()),
        runs: u32::try_from(runs.len()).unwrap_or(u32::MAX),
    })
}

/// Seconds and log rate of the baseline's runs in a block; runs without a request have no logarithm and are left out.
fn baseline(block: &[(Slot, Run)]) -> Vec<(f64, f64)> {
    let runs = block.iter().filter(|(slot, _)| slot.offset == 0);
    runs.filter(|(_, run)| run.rate > 0.0 && run.rate.is_finite())
        .map(|(_, run)| (run.began.as_secs_f64(), libm::log(run.rate)))
        .collect()
}

/// The point in the middle of `points`; `None` without any.
fn mean(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    #[expect(clippy::cast_precision_loss, reason = "a handful of points")]
    let n = points.len() as f64;
    let sum = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
    (!points.is_empty()).then(|| (sum(|p| p.0) / n, sum(|p| p.1) / n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn blocks(of: u32, rate: impl Fn(f64) -> f64) -> Vec<Vec<(Slot, Run)>> {
        (0..of)
            .map(|block| {
                (0..3)
                    .map(|position| {
                        let slot = Slot {
                            cell: 0,
                            block,
                            position,
                            offset: position % 2,
                        };
                        let at = f64::from(block * 3 + position);
                        let began = Duration::from_secs_f64(at);
                        let rate = rate(at);
                        (slot, Run { slot, began, rate })
                    })
                    .collect()
            })
            .collect()
    }

    proptest! {
        #[test]
        fn a_planted_line_is_found(slope in -0.01..0.01_f64, of in 3..20_u32) {
            let found = drift(&blocks(of, |at| 5000.0 * (slope * at).exp())).expect("three blocks");
            let time = f64::from(of * 3 - 1);
            prop_assert!((found.change - ((slope * time).exp() - 1.0)).abs() < 1e-9);
            prop_assert!(found.noise < 1e-9 && found.runs == of * 2);
        }
    }

    #[test]
    fn noise_is_that_of_one_run() {
        // Baselines of a block are 1% above and 1% below: no drift, and a deviation of 1% times √(n/(n−2)).
        let found = drift(&blocks(100, |at| {
            if (at as u32).is_multiple_of(3) {
                101.0
            } else {
                100.0 / 1.01
            }
        }))
        .expect("a hundred blocks");
        assert!((found.noise - 0.01).abs() < 2e-4, "{found:?}");
        assert!(found.change.abs() < 1e-9 || found.p > 0.5, "{found:?}");
    }

    #[test]
    fn too_little_is_no_drift() {
        assert_eq!(drift(&blocks(2, |_| 1.0)), None);
        assert_eq!(drift(&blocks(5, |_| 0.0)), None, "no request in any run");
    }
}
