//! Paired log ratios: each candidate against the two baselines beside it.
//!
//! In a block `A x A y A`, the log ratio of x is `ln x − (ln A₁ + ln A₂)/2`, A₁ and A₂ being the runs before and after
//! it. Whatever changes the storage slowly (a cache that fills, a drive that warms up, somebody else's load) changes
//! all three alike: a straight line in the logarithms cancels exactly, and noise that lasts longer than a run cancels
//! for the most part. Logarithms, because noise and gains are shares: a ratio and its inverse get the same interval.

/// The log ratio of one candidate in one block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogRatio {
    /// Natural logarithm of candidate over baseline.
    pub value: f64,
    /// The variance that it has in any case, because runs count whole requests.
    pub counting: f64,
}

/// Requests that a run without a single one is taken for: its logarithm has to be something, and what is known is that
/// it was less than one.
const LESS_THAN_ONE: f64 = 0.5;

/// The log ratios of a block: `rates` are requests each second by position, `seconds` the length of a run. The first of
/// the result belongs to the run at position 1, the second to that at position 3, and so on.
///
/// Rates that are no numbers count as no requests.
pub fn log_ratios(rates: &[f64], seconds: f64) -> impl Iterator<Item = LogRatio> {
    rates.windows(3).step_by(2).map(move |three| {
        let counts = [0, 1, 2].map(|at| count(three[at], seconds));
        let [before, candidate, after] = counts.map(libm::log);
        // A count of whole requests in a fixed time is off by up to one, evenly: variance 1/12, relative to the count.
        let [a, x, b] = counts.map(|count| 1.0 / (12.0 * count * count));
        LogRatio {
            value: candidate - f64::midpoint(before, after),
            counting: x + (a + b) / 4.0,
        }
    })
}

/// Requests of a run of `seconds` at `rate`, never less than a half.
fn count(rate: f64, seconds: f64) -> f64 {
    let count = rate * seconds;
    if count.is_finite() {
        count.max(LESS_THAN_ONE)
    } else {
        LESS_THAN_ONE
    }
}

/// The logarithm of a rate, as log ratios take it.
#[must_use]
pub fn log_rate(rate: f64, seconds: f64) -> f64 {
    libm::log(count(rate, seconds) / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_candidate_meets_the_baselines_beside_it() {
        let rates = [100.0, 300.0, 400.0, 100.0, 25.0];
        let ratios: Vec<f64> = log_ratios(&rates, 1e9)
            .map(|r| libm::exp(r.value))
            .collect();
        // √(100·400) = 200 and √(400·25) = 100.
        assert!((ratios[0] - 1.5).abs() < 1e-12 && (ratios[1] - 1.0).abs() < 1e-12);
        assert_eq!(ratios.len(), 2);
        assert_eq!(log_ratios(&[100.0], 1.0).count(), 0, "a baseline alone");
    }

    #[test]
    fn a_run_without_requests_counts_as_half_a_request() {
        for nothing in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let found: Vec<LogRatio> = log_ratios(&[10.0, nothing, 10.0], 2.0).collect();
            assert!((found[0].value - libm::log(0.5 / 20.0)).abs() < 1e-12);
            assert!((found[0].counting - (1.0 / 3.0 + 0.5 / (12.0 * 400.0))).abs() < 1e-12);
        }
    }

    proptest! {
        #[test]
        fn a_straight_line_in_the_logarithms_cancels(
            start in 1.0..1e6_f64,
            slope in -0.1..0.1_f64,
            gains in proptest::collection::vec(0.2..5.0_f64, 1..6),
        ) {
            let mut rates = Vec::new();
            for position in 0..=2 * gains.len() {
                let gain = if position % 2 == 1 { gains[position / 2] } else { 1.0 };
                #[expect(clippy::cast_precision_loss, reason = "a handful of positions")]
                rates.push(start * gain * (slope * position as f64).exp());
            }
            for (found, gain) in log_ratios(&rates, 1e6).zip(gains) {
                prop_assert!((found.value - gain.ln()).abs() < 1e-9);
            }
        }
    }
}
