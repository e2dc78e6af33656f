//! How far the difference of two means may lie from the truth.

use libm::sqrt;
use straddle_workload::interval::student;

/// Fewest figures of which a spread can be told.
pub(crate) const FEWEST: usize = 4;

/// Half of the 95% interval of a difference of means (Welch). Figures that follow each other in time are alike, which the correlation of
/// each with the next takes into account. `None` where either has fewer than [`FEWEST`].
pub(crate) fn half(before: &[f64], after: &[f64]) -> Option<f64> {
    let ((one, few), (two, many)) = (of_mean(before)?, of_mean(after)?);
    let sum = one + two;
    if sum <= 0.0 {
        return Some(0.0);
    }
    let freedom = sum * sum / (one * one / few + two * two / many);
    Some(student::critical(0.05, freedom) * sqrt(sum))
}

/// Half of the 95% interval of one mean.
pub(crate) fn half_of_mean(figures: &[f64]) -> Option<f64> {
    let (variance, freedom) = of_mean(figures)?;
    Some(student::critical(0.05, freedom) * sqrt(variance))
}

/// The variance of a mean, and its degrees of freedom.
#[expect(clippy::cast_precision_loss, reason = "a few thousand figures")]
fn of_mean(parts: &[f64]) -> Option<(f64, f64)> {
    if parts.len() < FEWEST {
        return None;
    }
    let count = parts.len() as f64;
    let mean = parts.iter().sum::<f64>() / count;
    let square: f64 = parts
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum();
    let pairs = parts.windows(2);
    let lagged: f64 = pairs.map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let alike = match square > 0.0 {
        true => (lagged / square).clamp(0.0, 0.9),
        false => 0.0,
    };
    let variance = square / (count - 1.0) / count * (1.0 + alike) / (1.0 - alike);
    Some((variance, count - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 3, 1, 3: mean 2, standard deviation 2/√3, and t of three degrees of freedom is 3.182446.
    #[test]
    fn the_interval_of_a_mean_is_students() {
        let half = half_of_mean(&[1.0, 3.0, 1.0, 3.0]).expect("enough");
        let expected = 3.182_446_305 * (2.0 / 3.0_f64.sqrt()) / 2.0;
        assert!((half - expected).abs() < 1e-6, "{half} {expected}");
        assert_eq!(half_of_mean(&[1.0, 2.0, 3.0]), None);
        assert_eq!(half_of_mean(&[5.0; 4]), Some(0.0));
    }
}
