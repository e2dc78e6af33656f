//! Student's t distribution: how far a mean of few values may lie from the truth when the spread is itself estimated.
//!
//! W. S. Gosset ("Student"), *The probable error of a mean*, Biometrika 6 (1908). Tail probabilities come from the
//! regularised incomplete beta function by its continued fraction (NIST DLMF 8.17.22, evaluated by Lentz's method),
//! which keeps its relative precision far out in the tail, where `1 − CDF` would be rounding noise.

/// The chance that |t| is at least as large as this one, with `freedom` degrees of freedom: the p-value of a two-sided
/// test.
///
/// 1 at `t` = 0, 0 at infinity; NaN for NaN, and for `freedom` that is not positive.
#[must_use]
pub fn two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_nan() || freedom.is_nan() || freedom <= 0.0 {
        return f64::NAN;
    }
    if t.is_infinite() {
        return 0.0;
    }
    let square = t * t;
    if square.is_infinite() {
        return 0.0;
    }
    // I_x(ν/2, 1/2) at x = ν/(ν+t²). Its complement is handed over beside it: 1 − x would lose what a small t says.
    beta(
        freedom / 2.0,
        0.5,
        freedom / (freedom + square),
        square / (freedom + square),
    )
}

/// The chance that t is not above this one, with `freedom` degrees of freedom.
#[must_use]
pub fn cdf(t: f64, freedom: f64) -> f64 {
    let tail = two_sided(t, freedom) / 2.0;
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// The t that |t| exceeds with this chance: `critical(0.05, 4.0)` = 2.776 is half the width of a 95% interval from five
/// values, in standard errors.
///
/// Infinite at `chance` 0, 0 at 1; NaN for a chance outside 0 to 1 and for `freedom` that is not positive.
#[must_use]
pub fn critical(chance: f64, freedom: f64) -> f64 {
    if freedom.is_nan() || freedom <= 0.0 || !(0.0..=1.0).contains(&chance) {
        return f64::NAN;
    }
    if chance == 0.0 {
        return f64::INFINITY;
    }
    if chance >= 1.0 {
        return 0.0;
    }
    // A bracket [low, high] that holds the root; Newton's step while it stays inside, its middle otherwise.
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided(high, freedom) > chance {
        low = high;
        high *= 2.0;
        if f64::is_infinite(high) {
            return high;
        }
    }
    let scale = density_at_zero(freedom);
    let mut t = f64::midpoint(low, high);
    for _ in 0..200 {
        let excess = two_sided(t, freedom) - chance;
        if excess > 0.0 {
            low = t;
        } else {
            high = t;
        }
        // ln(1 + t²/ν) by log1p: with many degrees of freedom the quotient is tiny and its power large.
        let density = scale * libm::exp(-(freedom + 1.0) / 2.0 * libm::log1p(t * t / freedom));
        let newton = t + excess / (2.0 * density);
        let next = if newton > low && newton < high {
            newton
        } else {
            f64::midpoint(low, high)
        };
        if (next - t).abs() <= 1e-14 * next {
            return next;
        }
        t = next;
    }
    t
}

/// Γ((ν+1)/2) / (√(νπ) Γ(ν/2)).
fn density_at_zero(freedom: f64) -> f64 {
    let log = libm::lgamma(f64::midpoint(freedom, 1.0)) - libm::lgamma(freedom / 2.0);
    libm::exp(log) / (freedom * core::f64::consts::PI).sqrt()
}

/// The regularised incomplete beta function I_x(a, b); `rest` is 1 − x, which the caller knows more exactly than x
/// tells.
fn beta(a: f64, b: f64, x: f64, rest: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if rest <= 0.0 {
        return 1.0;
    }
    let log = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)
        + a * libm::log(x)
        + b * libm::log(rest);
    let front = libm::exp(log);
    // The fraction converges fast below the mean of the distribution; above it, I_x(a, b) = 1 − I_{1−x}(b, a).
    let value = if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, rest) / b
    };
    value.clamp(0.0, 1.0)
}

/// The continued fraction of DLMF 8.17.22, by Lentz's method as W. J. Thompson and A. R. Barnett (1986) modified it.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    /// Stands in for a denominator of zero.
    const TINY: f64 = 1e-300;
    let keep = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / keep(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    // Needs about √max(a, b) steps; the bound lets 10⁸ degrees of freedom pass.
    for step in 1..20_000_u32 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for term in [even, odd] {
            d = 1.0 / keep(1.0 + term * d);
            c = keep(1.0 + term / c);
            h *= d * c;
        }
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    h
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use statrs::distribution::{ContinuousCDF, StudentsT};

    /// 97.5% points as printed tables have them (Fisher and Yates, *Statistical Tables*, table III).
    const TABLE: [(f64, f64); 10] = [
        (1.0, 12.706),
        (2.0, 4.303),
        (3.0, 3.182),
        (4.0, 2.776),
        (5.0, 2.571),
        (9.0, 2.262),
        (10.0, 2.228),
        (30.0, 2.042),
        (120.0, 1.980),
        (1e8, 1.960),
    ];

    #[test]
    fn critical_values_are_those_of_the_printed_table() {
        for (freedom, expected) in TABLE {
            let found = critical(0.05, freedom);
            assert!((found - expected).abs() < 6e-4, "{freedom}: {found}");
        }
        assert!((critical(0.01, 4.0) - 4.604).abs() < 6e-4);
        assert!((critical(0.10, 4.0) - 2.132).abs() < 6e-4);
    }

    #[test]
    fn one_and_two_degrees_have_closed_forms() {
        for t in [-30.0, -1.0, -0.01, 0.0, 0.3, 2.0, 1e5_f64] {
            let cauchy = 0.5 + libm::atan(t) / core::f64::consts::PI;
            assert!((cdf(t, 1.0) - cauchy).abs() < 1e-14, "{t}");
            let two = 0.5 + t / (2.0 * (2.0 + t * t).sqrt());
            assert!((cdf(t, 2.0) - two).abs() < 1e-14, "{t}");
        }
    }

    #[test]
    fn the_tail_keeps_its_relative_precision() {
        // Two degrees of freedom: 1 − |t|/√(2+t²) = 2/(√(2+t²)(√(2+t²)+|t|)), free of cancellation in this form.
        for t in [10.0, 1e3, 1e6, 1e9_f64] {
            let root = (2.0 + t * t).sqrt();
            let exact = 2.0 / (root * (root + t));
            assert!((two_sided(t, 2.0) / exact - 1.0).abs() < 1e-11, "{t}");
        }
    }

    #[test]
    fn ends_and_nonsense() {
        assert_eq!(two_sided(0.0, 3.0), 1.0);
        assert_eq!(two_sided(f64::INFINITY, 3.0), 0.0);
        assert_eq!(two_sided(f64::MAX, 3.0), 0.0);
        assert!(two_sided(f64::NAN, 3.0).is_nan());
        assert!(two_sided(1.0, 0.0).is_nan());
        assert_eq!(critical(1.0, 3.0), 0.0);
        assert_eq!(critical(0.0, 3.0), f64::INFINITY);
        assert!(critical(1.5, 3.0).is_nan());
        assert!(critical(0.05, -1.0).is_nan());
        assert!(critical(0.05, f64::NAN).is_nan());
    }

    proptest! {
        #[test]
        fn the_distribution_is_that_of_statrs(t in -60.0..60.0_f64, freedom in 0.5..5000.0_f64) {
            let theirs = StudentsT::new(0.0, 1.0, freedom).expect("positive").cdf(t);
            prop_assert!((cdf(t, freedom) - theirs).abs() < 1e-9, "{} {theirs}", cdf(t, freedom));
        }

        #[test]
        fn critical_values_undo_the_tail(chance in 1e-9..0.999_f64, freedom in 1.0..100_000.0_f64) {
            let t = critical(chance, freedom);
            prop_assert!((two_sided(t, freedom) / chance - 1.0).abs() < 1e-9, "{t}");
        }

        #[test]
        fn both_tails_are_alike(t in 0.0..50.0_f64, freedom in 1.0..1000.0_f64) {
            prop_assert!((cdf(t, freedom) + cdf(-t, freedom) - 1.0).abs() < 1e-14);
            prop_assert_eq!(two_sided(t, freedom), two_sided(-t, freedom));
        }
    }
}
