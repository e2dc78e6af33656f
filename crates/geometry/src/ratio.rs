use std::cmp::Ordering;
use std::fmt;

use crate::short_text::ShortText;

/// An exact non-negative fraction, kept as it was computed (not reduced), so that the arithmetic can be shown.
#[derive(Clone, Copy, Debug)]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

impl Ratio {
    /// Zero.
    pub const ZERO: Ratio = Ratio {
        numerator: 0,
        denominator: 1,
    };
    /// One.
    pub const ONE: Ratio = Ratio {
        numerator: 1,
        denominator: 1,
    };

    /// `numerator ÷ denominator`; `None` for a denominator of zero.
    #[must_use]
    pub const fn new(numerator: u64, denominator: u64) -> Option<Ratio> {
        if denominator == 0 {
            None
        } else {
            Some(Ratio {
                numerator,
                denominator,
            })
        }
    }

    /// The fraction of two wide numbers, reduced; `None` for a denominator of zero or when it does not fit in 64 bits
    /// even in lowest terms.
    #[must_use]
    pub fn reduced(numerator: u128, denominator: u128) -> Option<Ratio> {
        let (mut a, mut b) = (numerator, denominator);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        if denominator == 0 {
            return None;
        }
        Ratio::new(
            u64::try_from(numerator / a).ok()?,
            u64::try_from(denominator / a).ok()?,
        )
    }

    /// The number above the line.
    #[must_use]
    pub const fn numerator(self) -> u64 {
        self.numerator
    }

    /// The number below the line; never zero.
    #[must_use]
    pub const fn denominator(self) -> u64 {
        self.denominator
    }

    /// True for 0.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.numerator == 0
    }

    /// The fraction in lowest terms.
    #[must_use]
    pub const fn lowest_terms(self) -> Ratio {
        let g = crate::arithmetic::gcd(self.numerator, self.denominator);
        Ratio {
            numerator: self.numerator / g,
            denominator: self.denominator / g,
        }
    }

    /// The nearest floating-point number, for display and sorting only.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// The sum; `None` when it does not fit in 64 bits even in lowest terms.
    #[must_use]
    pub fn checked_add(self, other: Ratio) -> Option<Ratio> {
        let (a, b) = (u128::from(self.numerator), u128::from(self.denominator));
        let (c, d) = (u128::from(other.numerator), u128::from(other.denominator));
        Ratio::reduced((a * d).checked_add(c * b)?, b * d)
    }

    /// `self − other`, or zero when `other` is larger; `None` when it does not fit in 64 bits.
    #[must_use]
    pub fn saturating_sub(self, other: Ratio) -> Option<Ratio> {
        let (a, b) = (u128::from(self.numerator), u128::from(self.denominator));
        let (c, d) = (u128::from(other.numerator), u128::from(other.denominator));
        Ratio::reduced((a * d).saturating_sub(c * b), b * d)
    }

    /// `self ÷ other`; `None` when `other` is zero or the result does not fit in 64 bits even in lowest terms.
    #[must_use]
    pub fn checked_div(self, other: Ratio) -> Option<Ratio> {
        let (a, b) = (u128::from(self.numerator), u128::from(self.denominator));
        let (c, d) = (u128::from(other.numerator), u128::from(other.denominator));
        Ratio::reduced(a * d, b * c)
    }
}

impl PartialEq for Ratio {
    fn eq(&self, other: &Ratio) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ratio {}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Ratio) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Ratio) -> Ordering {
        let left = u128::from(self.numerator) * u128::from(other.denominator);
        let right = u128::from(other.numerator) * u128::from(self.denominator);
        left.cmp(&right)
    }
}

impl From<u32> for Ratio {
    fn from(n: u32) -> Ratio {
        Ratio {
            numerator: u64::from(n),
            denominator: 1,
        }
    }
}

/// Writes a percentage with as many decimals as are needed to be exact, at most two: `12.5%`, `100%`, `6.25%`.
///
/// What is not exact with two decimals is rounded and marked: `≈33.33%`. What is above zero never prints as zero.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hundredths, exact) = self.hundredths_of_percent();
        if hundredths == 0 && self.numerator > 0 {
            return f.pad("<0.01%");
        }
        let (whole, rest) = (hundredths / 100, hundredths % 100);
        let text = ShortText::new()
            .text(if exact { "" } else { "≈" })
            .number(whole);
        let text = match rest {
            0 => text,
            r if r % 10 == 0 => text.text(".").number(r / 10),
            r if r < 10 => text.text(".0").number(r),
            r => text.text(".").number(r),
        };
        text.text("%").fmt(f)
    }
}

impl Ratio {
    /// The fraction × 10,000, rounded, and whether that is exact.
    fn hundredths_of_percent(self) -> (u128, bool) {
        // 128-bit division is a function call of some dozen nanoseconds; nearly all fractions do without.
        if let Some(scaled) = self.numerator.checked_mul(10_000)
            && let Some(rounded) = scaled.checked_add(self.denominator / 2)
        {
            return (
                u128::from(rounded / self.denominator),
                scaled.is_multiple_of(self.denominator),
            );
        }
        let scaled = u128::from(self.numerator) * 10_000;
        let denominator = u128::from(self.denominator);
        (
            (scaled + denominator / 2) / denominator,
            scaled % denominator == 0,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ratio(n: u64, d: u64) -> Ratio {
        Ratio::new(n, d).expect("denominator is not zero")
    }

    #[test]
    fn percentages_are_exact_or_say_that_they_are_not() {
        let cases = [
            (8, 64, "12.5%"),
            (1, 1, "100%"),
            (1, 16, "6.25%"),
            (1, 3, "≈33.33%"),
            (0, 7, "0%"),
            (1, 1_000_000, "<0.01%"),
            (3, 1, "300%"),
            (1, 32, "≈3.13%"),
        ];
        for (n, d, text) in cases {
            assert_eq!(ratio(n, d).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn order_and_arithmetic_match_cross_multiplication(a in 0_u64..1000, b in 1_u64..1000, c in 0_u64..1000, d in 1_u64..1000) {
            let (x, y) = (ratio(a, b), ratio(c, d));
            prop_assert_eq!(x.cmp(&y), (a * d).cmp(&(c * b)));
            prop_assert_eq!(x.checked_add(y), Some(ratio(a * d + c * b, b * d)));
            prop_assert_eq!(x.saturating_sub(y), Some(ratio((a * d).saturating_sub(c * b), b * d)));
            prop_assert_eq!(x.checked_div(y), (c != 0).then(|| ratio(a * d, b * c.max(1))));
            prop_assert_eq!(x.lowest_terms(), x);
        }
    }
}
