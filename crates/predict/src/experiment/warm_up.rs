//! Where a run's beginning ends: the warm-up that is cut off.
//!
//! # The rule
//!
//! 1. Each scenario makes a pilot run, as long as a replicate, with a seed that no replicate has. The latencies of its
//!    requests, in the order of their answers, are the series. Where the number of requests under way is given, rate times
//!    latency is constant (Little), so that one series stands for both.
//! 2. MSER-5 (White 1997; White, Cobb and Spratt 2000) finds the cut: of the means z of batches of five values, it leaves
//!    out the first d for which Σ(zᵢ − z̄)² / (n − d)², over what is left, is least: the squared standard error that the
//!    mean would have if the values were independent. Runs note only so many values, each the mean of as many requests.
//! 3. Where d lies in the second half of the series, the pilot was too short to tell. It is made four times as long, up to
//!    [`MAX_LEN`] replicates, and searched again.
//! 4. The longest cut of all scenarios is doubled, and every run of every scenario leaves out that much; at least, each
//!    request that was under way at the beginning is answered twice.
//!
//! K. P. White, *An effective truncation heuristic for bias reduction in simulation output*, Simulation 69 (1997); K. P.
//! White, M. J. Cobb and S. C. Spratt, *A comparison of five steady-state truncation heuristics for simulation*, Winter
//! Simulation Conference 2000.

use crate::system::{Length, Outcome};

/// Longest pilot, in replicates.
const MAX_LEN: u64 = 16;
/// How much longer it becomes each time.
const GROWTH: u64 = 4;
/// Values in a batch.
const BATCH: usize = 5;

/// The series of latencies that a run noted, in nanoseconds.
fn series(outcome: &Outcome) -> Vec<f64> {
    let sums = outcome.marks.iter().map(|mark| mark.waited);
    #[expect(clippy::cast_precision_loss, reason = "a mean needs no 128 bits")]
    let means = sums.map(|sum| sum as f64 / outcome.mark_every as f64);
    means.collect()
}

/// How many values to leave out, by MSER-5; `None` where that is more than half of them.
fn cut(values: &[f64]) -> Option<usize> {
    let batches: Vec<f64> = values
        .chunks_exact(BATCH)
        .map(|batch| batch.iter().sum::<f64>() / BATCH as f64)
        .collect();
    // From the end: mean and squares of what is left (Welford 1962).
    let (mut mean, mut squares, mut left) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (index, batch) in batches.iter().enumerate().rev() {
        left += 1.0;
        let away = batch - mean;
        mean += away / left;
        squares += away * (batch - mean);
        // The last few are equal by chance too easily.
        let error = squares / (left * left);
        if left >= BATCH as f64 && error <= best.0 {
            best = (error, index);
        }
    }
    (best.1 * 2 <= batches.len()).then_some(best.1 * BATCH)
}

/// What a pilot says.
pub(super) enum Cut {
    /// So many requests at the beginning are unlike the others.
    At(u64),
    /// It has to be repeated, this long.
    Longer(u64),
}

/// Length of a pilot. All of it is looked at; stores of work are in its second half.
pub(super) fn pilot(requests: u64) -> Length {
    let warm_up = requests / 2;
    Length {
        warm_up,
        measured: requests - warm_up,
    }
}

/// Reads a pilot of `made` requests, a replicate having `requests`.
pub(super) fn read(outcome: &Outcome, made: u64, requests: u64) -> Cut {
    let found = cut(&series(outcome));
    let longer = made.saturating_mul(GROWTH);
    match found {
        Some(values) => Cut::At(outcome.mark_every.saturating_mul(values as u64)),
        None if longer <= requests.saturating_mul(MAX_LEN) => Cut::Longer(longer),
        None => Cut::At(made / 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    fn noise(count: usize, seed: u64) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..count)
            .map(|_| crate::model::server::exponential(&mut random))
            .collect()
    }

    #[test]
    fn a_step_is_cut_off_to_the_batch() {
        for step in [0, 50, 200, 400] {
            let mut values = noise(1000, 7);
            for value in &mut values[..step] {
                *value += 5.0;
            }
            let found = cut(&values).expect("in the first half");
            assert!((step..step + 60).contains(&found), "{step} {found}");
        }
        // By hand: batch means 9, 1, 1, 2, 1, 2, 1, 2, 1, 2; without the first, Σ is 20/9 over 9², with it 57.6 over 10².
        let mut values = Vec::new();
        for mean in [9.0, 1.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0] {
            values.extend([mean; BATCH]);
        }
        assert_eq!(cut(&values), Some(5));
    }

    #[test]
    fn what_never_settles_needs_a_longer_pilot() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        assert_eq!(cut(&values), None);
        assert_eq!(cut(&[]), Some(0));
        assert_eq!(cut(&[1.0; 500]), Some(0), "nothing to cut off");
    }
}
