//! A straight line through points, by least squares.

use straddle_workload::interval::student;

/// A fitted line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Rise for each unit of x.
    pub slope: f64,
    /// Its height at x = 0.
    pub at_zero: f64,
    /// The chance of so steep a slope when there is none and the points scatter independently; `None` below three
    /// points.
    pub p: Option<f64>,
}

impl Line {
    /// The line through `points`; `None` when they do not have two different x.
    #[must_use]
    pub fn fit(points: &[(f64, f64)]) -> Option<Line> {
        #[expect(clippy::cast_precision_loss, reason = "far below 2⁵³ points")]
        let n = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (x0, y0) = (mean(|p| p.0), mean(|p| p.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|(x, y)| of(x - x0, y - y0)).sum()
        };
        let xx = sum(&|x, _| x * x);
        if points.len() < 2 || xx.is_nan() || xx <= 0.0 {
            return None;
        }
        let slope = sum(&|x, y| x * y) / xx;
        let rest = sum(&|x, y| (y - slope * x) * (y - slope * x));
        let freedom = n - 2.0;
        let error = (rest / freedom / xx).sqrt();
        let p = if points.len() < 3 {
            None
        } else if slope == 0.0 {
            Some(1.0)
        } else {
            Some(student::two_sided(slope / error, freedom))
        };
        Some(Line {
            slope,
            at_zero: y0 - slope * x0,
            p,
        })
    }

    /// Its height at `x`.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.at_zero + self.slope * x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn worked_example() {
        // R: summary(lm(c(1, 3, 2, 5) ~ c(0, 1, 2, 3))) gives 1.1 + 1.1 x, t = 2.137, p = 0.166.
        let line = Line::fit(&[(0.0, 1.0), (1.0, 3.0), (2.0, 2.0), (3.0, 5.0)]).expect("four x");
        assert!((line.slope - 1.1).abs() < 1e-12 && (line.at_zero - 1.1).abs() < 1e-12);
        // Residuals −0.1, 0.8, −1.3, 0.6: sum of squares 2.7; t = 1.1/√(2.7/2/5); with two degrees p = 1 − t/√(2+t²).
        let t = 1.1 / (2.7_f64 / 10.0).sqrt();
        let p = 1.0 - t / (2.0 + t * t).sqrt();
        assert!((line.p.expect("four points") - p).abs() < 1e-12);
    }

    #[test]
    fn degenerate_points_have_no_line() {
        assert_eq!(Line::fit(&[]), None);
        assert_eq!(Line::fit(&[(1.0, 2.0)]), None);
        assert_eq!(Line::fit(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(Line::fit(&[(0.0, 0.0), (1.0, 1.0)]).expect("two x").p, None);
        let flat = Line::fit(&[(0.0, 5.0), (1.0, 5.0), (2.0, 5.0)]).expect("three x");
        assert_eq!((flat.slope, flat.p), (0.0, Some(1.0)));
    }

    proptest! {
        /// No other line has a smaller sum of squares.
        #[test]
        fn it_is_the_least_of_squares(
            ys in proptest::collection::vec(-10.0..10.0_f64, 3..20),
            tilt in -0.1..0.1_f64,
            lift in -0.1..0.1_f64,
        ) {
            let points: Vec<(f64, f64)> = ys.iter().enumerate().map(|(x, y)| (x as f64, *y)).collect();
            let line = Line::fit(&points).expect("different x");
            let squares = |slope: f64, at: f64| -> f64 {
                points.iter().map(|(x, y)| (y - at - slope * x).powi(2)).sum()
            };
            let best = squares(line.slope, line.at_zero);
            prop_assert!(squares(line.slope + tilt, line.at_zero + lift) >= best - 1e-9);
        }
    }
}
