//! The interval of a ratio, and when it is narrow enough.
//!
//! # The rule
//!
//! After n blocks, with mean m and standard deviation s of the log ratios, s₀ that of the first n₀
//! (the blocks that are made in any case), and t(f) the 97.5% point of Student's distribution with f
//! degrees of freedom, the interval is m ± w, where
//!
//! - below n₀ blocks (the time was up): w = t(n−1)·s/√n, the ordinary interval (Student 1908);
//! - from n₀ on: w is the larger of t(n₀−1)·s₀/√n, Stein's interval (1945), and the ordinary one.
//!
//! A cell needs blocks until it has n₀ and w is not above h = ln(1 + precision) for any of its candidates. That takes
//! at least Stein's number of blocks, max(n₀, ⌈(t(n₀−1)·s₀/h)²⌉), which is known after n₀ of them.
//!
//! # Why it holds
//!
//! For normal log ratios, the mean of n blocks is independent of all the spreads seen on the way to n. Every rule that
//! decides by spreads and by time alone, as this one does, therefore leaves the mean normal around the truth with
//! variance σ²/n, whatever n came out; and since s₀ has lost nothing to selection either, Stein's interval covers in
//! exactly 95% of experiments. This one is never narrower, so it covers at least as often: 95% to 98%, depending on n₀
//! and on σ/h, and below 97% with n₀ = 8 (`tests/coverage.rs` measures it). Several candidates in a cell change
//! nothing: n depends on all their spreads, and the means are independent of those too.
//!
//! Stein's interval alone would rest on the first n₀ blocks for ever. Storage does not stay as it was: a drive begins
//! to collect garbage after ten minutes, and one run in thirty meets a burst of somebody else's load. The ordinary
//! interval beside it sees such spreads when they come, and the experiment goes on until they are averaged out. Where
//! noise is three times as large after the first twenty runs, which no proof covers, Stein's interval alone holds the
//! truth in 72% to 81% of experiments, this one in 93% to 95%.
//!
//! The ordinary interval alone, stopping as soon as it is narrow (Y. S. Chow and H. Robbins, *On the asymptotic theory
//! of fixed-width sequential confidence intervals*, Annals of Mathematical Statistics 36, 1965), covers 95% only in the
//! limit of many blocks: it stops early just when the spread came out too small by chance, and then believes it. The
//! plain percentile bootstrap is about 1.96·√((n−1)/n) standard errors wide to either side, which by Student's
//! distribution covers 85% at 5 blocks and 93% at 20 even without a stopping rule. Stopping when a difference becomes
//! significant is worse than all of them, and is not done.
//!
//! # Noise that is not normal and independent
//!
//! Autocorrelated noise: the log ratio of a block is a second difference within it and shares no run with other blocks,
//! so what lasts longer than a run falls out; at an autocorrelation of 0.5 from run to run the log ratios of
//! neighbouring blocks have a correlation near 0.01. Drift falls out in the same way. Heavy tails make t intervals of
//! symmetric noise too wide rather than too narrow; rare slow runs make the log ratios skewed, and what is then covered
//! is their mean.
//!
//! What no such interval sees is a disturbance that comes back with exactly the length of a block: it hits the same
//! candidate every time. Several cells in random order, or several candidates, break that up.
//!
//! C. Stein, *A two-sample test for a linear hypothesis whose power is independent of the variance*, Annals of
//! Mathematical Statistics 16 (1945).

use schemars::JsonSchema;
use serde::Serialize;

use super::ratio::LogRatio;
use super::student;

/// 95% intervals: what is left for both sides together.
pub const ERROR: f64 = 0.05;

/// An estimate and where the truth lies with a confidence of 95%.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    /// The estimate.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The log ratios of one candidate, block after block.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// n₀.
    least: u32,
    count: u32,
    mean: f64,
    /// Sum of squared deviations from the mean (B. P. Welford, Technometrics 4, 1962).
    squares: f64,
    /// Sum of the variances from counting whole requests.
    counting: f64,
    /// t(n₀−1)·s₀, once there are n₀ blocks.
    stein: Option<f64>,
    /// s₀, likewise.
    first: Option<f64>,
}

impl Estimate {
    /// None yet; `least` is n₀.
    #[must_use]
    pub fn new(least: u32) -> Estimate {
        Estimate {
            least,
            count: 0,
            mean: 0.0,
            squares: 0.0,
            counting: 0.0,
            stein: None,
            first: None,
        }
    }

    /// The log ratio of one more block.
    pub fn push(&mut self, ratio: LogRatio) {
        self.count = self.count.saturating_add(1);
        let away = ratio.value - self.mean;
        self.mean += away / f64::from(self.count);
        self.squares += away * (ratio.value - self.mean);
        self.counting += ratio.counting;
        if self.count == self.least && self.count > 1 {
            self.first = Some(self.deviation());
            self.stein = Some(student::critical(ERROR, self.freedom()) * self.deviation());
        }
    }

    /// Blocks.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Mean of the log ratios.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Standard deviation of the log ratios, at least what counting whole requests brings with it: on slow storage, a
    /// few runs may well count the same number and yet know it to one request only. Zero below two blocks.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let counting = self.counting / f64::from(self.count);
        (self.squares / self.freedom()).max(counting).sqrt()
    }

    /// n − 1.
    fn freedom(&self) -> f64 {
        f64::from(self.count) - 1.0
    }

    /// w of the module: half the width of the interval of the mean log ratio. `None` below two blocks.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let ordinary = student::critical(ERROR, self.freedom()) * self.deviation();
        let widest = ordinary.max(self.stein.unwrap_or(0.0));
        Some(widest / f64::from(self.count).sqrt())
    }

    /// True when there are n₀ blocks and the interval is not wider than `half` to either side.
    #[must_use]
    pub fn is_within(&self, half: f64) -> bool {
        // Stein's part is compared first: before his number of blocks it decides alone. The ordinary part is turned
        // round, as a tail is found much faster than a critical value.
        let root = f64::from(self.count).sqrt();
        self.stein.is_some_and(|stein| stein <= half * root)
            && student::two_sided(half * root / self.deviation(), self.freedom()) <= ERROR
    }

    /// Blocks after which the interval is expected to be that narrow: Stein's number, or more where the spread has
    /// grown. `None` below n₀ blocks.
    #[must_use]
    pub fn needed(&self, half: f64) -> Option<u32> {
        let stein = self.stein?;
        let ordinary = student::critical(ERROR, self.freedom()) * self.deviation();
        let root = stein.max(ordinary) / half;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and the cast saturates"
        )]
        let blocks = (root * root).ceil() as u32;
        Some(blocks.max(self.least))
    }

    /// The ratio with its 95% interval: `None` below two blocks.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        let half = self.half_width()?;
        Some(Interval {
            mean: libm::exp(self.mean),
            low: libm::exp(self.mean - half),
            high: libm::exp(self.mean + half),
        })
    }

    /// The chance of a mean so far from 0 when the ratio is 1: below 0.05 exactly when the interval leaves 1 out.
    /// `None` below two blocks.
    #[must_use]
    pub fn p(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let root = f64::from(self.count).sqrt();
        let tail = |deviation: f64, freedom: f64| {
            if self.mean == 0.0 {
                1.0
            } else {
                student::two_sided(self.mean * root / deviation, freedom)
            }
        };
        let ordinary = tail(self.deviation(), self.freedom());
        let stein = self
            .first
            .map_or(0.0, |first| tail(first, f64::from(self.least) - 1.0));
        Some(ordinary.max(stein))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn estimate(least: u32, values: &[f64]) -> Estimate {
        let mut estimate = Estimate::new(least);
        for &value in values {
            estimate.push(LogRatio {
                value,
                counting: 0.0,
            });
        }
        estimate
    }

    #[test]
    fn below_the_first_stage_it_is_students_interval() {
        // 1, 2, 3: mean 2, s 1, t(2) = 4.303.
        let three = estimate(5, &[1.0, 2.0, 3.0]);
        let half = three.half_width().expect("three blocks");
        assert!((half - 4.302_652_7 / 3.0_f64.sqrt()).abs() < 1e-6);
        assert!(!three.is_within(1e9), "below the first stage");
        assert_eq!(three.needed(1.0), None);
    }

    #[test]
    fn quiet_blocks_later_do_not_undo_a_wide_first_stage() {
        let mut values = vec![-1.0, 1.0, -1.0, 1.0];
        let first = estimate(4, &values);
        let stein = first.half_width().expect("four") * 2.0;
        values.extend([0.0; 96]);
        let all = estimate(4, &values);
        assert!((all.half_width().expect("a hundred") - stein / 10.0).abs() < 1e-12);
    }

    #[test]
    fn noise_that_begins_later_widens_the_interval() {
        let mut values = vec![-0.01, 0.01, -0.01, 0.01];
        values.extend([-1.0, 1.0].repeat(48));
        let all = estimate(4, &values);
        let half = all.half_width().expect("a hundred");
        assert!((half - 1.984 * 0.985 / 10.0).abs() < 2e-3, "{half}");
    }

    #[test]
    fn whole_requests_are_known_to_one_request() {
        let mut same = Estimate::new(3);
        for _ in 0..3 {
            for ratio in super::super::ratio::log_ratios(&[100.0; 3], 1.0) {
                same.push(ratio);
            }
        }
        let half = same.half_width().expect("three blocks");
        assert!(
            (half - 4.3027 * (1.5 / 120_000.0_f64 / 3.0).sqrt()).abs() < 1e-5,
            "{half}"
        );
        assert_eq!(same.p(), Some(1.0));
    }

    #[test]
    fn without_any_spread_a_difference_is_certain() {
        let equal = estimate(3, &[0.5; 4]);
        assert_eq!(equal.p(), Some(0.0));
        assert_eq!(equal.half_width(), Some(0.0));
        assert_eq!(estimate(3, &[0.0; 4]).p(), Some(1.0));
    }

    proptest! {
        #[test]
        fn it_is_what_two_passes_compute(values in proptest::collection::vec(-2.0..2.0_f64, 2..40), least in 3..10_u32) {
            let found = estimate(least, &values);
            let spread = |values: &[f64]| {
                let n = values.len() as f64;
                let mean = values.iter().sum::<f64>() / n;
                let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
                (mean, (squares / (n - 1.0)).sqrt(), n)
            };
            let (mean, s, n) = spread(&values);
            prop_assert!((found.mean() - mean).abs() < 1e-12);
            let mut half = student::critical(0.05, n - 1.0) * s / n.sqrt();
            let mut number = 0.0;
            if values.len() >= least as usize {
                let (_, first, n0) = spread(&values[..least as usize]);
                let t = student::critical(0.05, n0 - 1.0) * first;
                number = (t / 0.1_f64).powi(2);
                half = half.max(t / n.sqrt());
            }
            let w = found.half_width().expect("two blocks");
            prop_assert!((w - half).abs() <= 1e-9 * half, "{w} {half}");
            // The interval leaves 1 out exactly when p is below 0.05.
            let p = found.p().expect("two blocks");
            prop_assert!((p - 0.05).abs() < 1e-9 || (p < 0.05) == (mean.abs() > half));
            // Never within before Stein's number of blocks.
            if found.is_within(0.1) {
                prop_assert!(n >= number - 1e-6 && n >= f64::from(least) && w <= 0.1);
            } else {
                prop_assert!(values.len() < least as usize || w > 0.1);
            }
        }
    }
}
