//! What a comparison proves, in one word.

use schemars::JsonSchema;
use serde::Serialize;

use super::estimate::Interval;

/// What a comparison proves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// More requests each second than the baseline.
    Faster,
    /// Fewer.
    Slower,
    /// Neither, and the interval is narrow enough to say so: no difference larger than this share.
    NoDifferenceAbove(f64),
    /// The interval is still too wide.
    NotEnoughEvidence,
}

/// Level of all comparisons of an experiment together.
pub const LEVEL: f64 = 0.05;

/// An interval that ends within this many times the precision still proves that there is no difference to speak of.
const SLACK: f64 = 2.0;

/// The verdict on a ratio.
///
/// - A difference, when its p-value, adjusted for all comparisons of all cells, is below [`LEVEL`].
/// - Otherwise no difference above b, when the interval lies within 1 ± 2·`precision`; b is its end that is farther
///   from 1. (Half the width is at most the precision when enough blocks were made, and the mean of what is no
///   difference lies near 1: a band as wide as the precision itself would be missed half the time.)
/// - Otherwise nothing: an interval that is wide, or whose difference does not stand up among so many comparisons.
#[must_use]
pub fn verdict(ratio: Option<Interval>, adjusted: Option<f64>, precision: f64) -> Verdict {
    let (Some(ratio), Some(adjusted)) = (ratio, adjusted) else {
        return Verdict::NotEnoughEvidence;
    };
    if adjusted < LEVEL {
        return if ratio.mean > 1.0 {
            Verdict::Faster
        } else {
            Verdict::Slower
        };
    }
    let bound = (ratio.high - 1.0).max(1.0 - ratio.low);
    if bound <= SLACK * precision {
        Verdict::NoDifferenceAbove(bound.max(0.0))
    } else {
        Verdict::NotEnoughEvidence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, mean: f64, high: f64) -> Option<Interval> {
        Some(Interval { mean, low, high })
    }

    #[test]
    fn differences_need_a_small_adjusted_p() {
        let above = interval(1.01, 1.02, 1.03);
        assert_eq!(verdict(above, Some(0.049), 0.01), Verdict::Faster);
        assert_eq!(verdict(above, Some(0.05), 0.01), Verdict::NotEnoughEvidence);
        let below = interval(0.4, 0.5, 0.6);
        assert_eq!(verdict(below, Some(0.0), 0.01), Verdict::Slower);
    }

    #[test]
    fn equality_names_the_farther_end() {
        let Verdict::NoDifferenceAbove(bound) =
            verdict(interval(0.985, 0.99, 1.01), Some(0.3), 0.01)
        else {
            panic!("within twice the precision");
        };
        assert!((bound - 0.015).abs() < 1e-12);
        let wide = interval(0.979, 0.99, 1.01);
        assert_eq!(verdict(wide, Some(0.3), 0.01), Verdict::NotEnoughEvidence);
        assert_eq!(verdict(None, None, 0.01), Verdict::NotEnoughEvidence);
    }
}
