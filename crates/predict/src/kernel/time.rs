//! Simulated time: whole nanoseconds, for instants and for spans.

use std::ops::{Add, AddAssign, Sub};

/// Nanoseconds: since the beginning of a run, or between two instants. Sums stop at the largest number there is, which
/// stands for "never".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The beginning, or no time at all.
    pub const ZERO: Time = Time(0);
    /// Later than everything that happens.
    pub const NEVER: Time = Time(u64::MAX);

    /// So many nanoseconds.
    #[must_use]
    pub const fn nanoseconds(count: u64) -> Time {
        Time(count)
    }

    /// Seconds, rounded to the nearest nanosecond; what is negative or not a number is no time at all.
    #[must_use]
    #[inline]
    pub fn seconds(seconds: f64) -> Time {
        let nanoseconds = seconds * 1e9;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "such casts stop at either end of the range, and what has a fraction is below 2⁵³"
        )]
        let (whole, rest) = {
            let whole = nanoseconds as u64;
            (whole, nanoseconds - whole as f64)
        };
        Time(whole.saturating_add(u64::from(rest >= 0.5)))
    }

    /// In nanoseconds.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// In seconds.
    #[must_use]
    pub fn to_seconds(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "for people and for statistics")]
        let nanoseconds = self.0 as f64;
        nanoseconds / 1e9
    }
}

impl Add for Time {
    type Output = Time;

    #[inline]
    fn add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, other: Time) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Time;

    /// No time at all where `other` is later.
    #[inline]
    fn sub(self, other: Time) -> Time {
        Time(self.0.saturating_sub(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn seconds_are_rounded_as_libm_rounds(bits in any::<u64>(), small in -1.0_f64..1e-5) {
            for seconds in [f64::from_bits(bits), small, libm::round(small * 2e9) / 2e9] {
                prop_assert_eq!(Time::seconds(seconds).get(), libm::round(seconds * 1e9) as u64);
            }
        }
    }

    #[test]
    fn seconds_are_rounded_and_never_wrap() {
        assert_eq!(Time::seconds(0.004), Time::nanoseconds(4_000_000));
        assert_eq!(Time::seconds(1.5e-9), Time::nanoseconds(2));
        assert_eq!(Time::seconds(-1.0), Time::ZERO);
        assert_eq!(Time::seconds(f64::NAN), Time::ZERO);
        assert_eq!(Time::seconds(f64::INFINITY), Time::NEVER);
        assert_eq!(Time::NEVER + Time::nanoseconds(1), Time::NEVER);
        assert_eq!(Time::ZERO - Time::nanoseconds(1), Time::ZERO);
    }
}
