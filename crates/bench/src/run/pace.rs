//! When requests of an open loop are due.
//!
//! Each worker has its share of the offered rate, at fixed distances. Fixed ones and not random (Poisson) ones, because the
//! question is what an offset delivers: random arrivals would add queueing of their own, and noise between runs. Each
//! worker's first request comes at a random part of a distance, so that workers do not march in step.
//!
//! Latency counts from the time at which a request was due, also when it could not be started then because all slots were
//! taken: otherwise a stall of the storage would be counted once and not for every request that it held up (coordinated
//! omission).

use std::sync::atomic::{AtomicU64, Ordering};

/// Due times of one worker, shared by its threads if it has several: whoever is free takes the next.
#[derive(Debug)]
pub(super) struct Pace {
    /// Nanoseconds from one request to the next.
    interval: f64,
    /// Nanoseconds from the beginning to the first.
    phase: f64,
    taken: AtomicU64,
}

impl Pace {
    /// `rate` requests each second of this worker; `phase` is a random number. `None` when the rate is no positive number.
    pub(super) fn new(rate: f64, phase: u64) -> Option<Pace> {
        let interval = 1e9 / rate;
        if !(rate > 0.0 && interval.is_finite() && interval > 0.0) {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "a share needs no 64 bits")]
        let share = (phase >> 11) as f64 / (1_u64 << 53) as f64;
        Some(Pace {
            interval,
            phase: interval * share,
            taken: AtomicU64::new(0),
        })
    }

    /// When the next request is due that nobody has taken, in nanoseconds from the beginning.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts stay far below 2⁵³; the product is positive and saturates"
    )]
    pub(super) fn take(&self) -> u64 {
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        (self.phase + number as f64 * self.interval) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_as_many_requests_as_the_rate_says() {
        for (rate, phase) in [(1000.0, 0), (333.3, u64::MAX), (12_345.0, 1 << 60)] {
            let pace = Pace::new(rate, phase).expect("a rate");
            let mut last = None;
            let mut count = 0.0;
            loop {
                let due = pace.take();
                if due >= 10_000_000_000 {
                    break;
                }
                assert!(Some(due) > last);
                last = Some(due);
                count += 1.0;
            }
            assert!((count - rate * 10.0_f64).abs() <= 1.0, "{count}");
        }
    }

    #[test]
    fn no_rate_is_no_pace() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Pace::new(rate, 0).is_none());
        }
    }
}
