//! How the platter turns: angles and spans in fractions of a revolution.

use crate::kernel::Time;

/// Steps of a revolution: a quarter of a nanosecond at 15,000 revolutions per minute.
pub(super) const TURN: u32 = 1 << 24;
/// An angle is what is left of steps after whole revolutions.
pub(super) const MASK: u32 = TURN - 1;

/// The angle of the platter as a function of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// 2⁶⁴ ÷ nanoseconds of a revolution, so that the product with a time wraps once in each revolution.
    rate: u64,
    /// Angle at time zero, in 2⁻⁶⁴ of a revolution.
    phase: u64,
    nanoseconds_per_step: f64,
}

impl Clock {
    /// A platter that takes so many seconds for a revolution (above a microsecond).
    pub(super) fn new(revolution: f64, phase: u64) -> Clock {
        let nanoseconds = revolution * 1e9;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "below 2⁶⁴ for a revolution of more than a nanosecond"
        )]
        let rate = (18_446_744_073_709_551_616.0 / nanoseconds) as u64;
        Clock {
            rate,
            phase,
            nanoseconds_per_step: nanoseconds / f64::from(TURN),
        }
    }

    /// Where the platter stands at a time, in steps.
    #[inline]
    pub(super) fn angle(&self, now: Time) -> u32 {
        let angle = now.get().wrapping_mul(self.rate).wrapping_add(self.phase);
        (angle >> 40) as u32
    }

    /// How long so many steps take, to the nearest nanosecond.
    #[inline]
    pub(super) fn span(&self, steps: u64) -> Time {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "services last seconds at most"
        )]
        let nanoseconds = (steps as f64 * self.nanoseconds_per_step + 0.5) as u64;
        Time::nanoseconds(nanoseconds)
    }

    /// How many steps a span of seconds is, rounded up.
    #[inline]
    pub(super) fn steps(&self, seconds: f64) -> u64 {
        let steps = seconds * 1e9 / self.nanoseconds_per_step;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "such casts stop at either end of the range, and what has a fraction is below 2⁵³"
        )]
        let (whole, is_less) = {
            let whole = steps as u64;
            (whole, (whole as f64) < steps)
        };
        whole.saturating_add(u64::from(is_less))
    }
}
