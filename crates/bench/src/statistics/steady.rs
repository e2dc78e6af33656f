//! Whether figures were taken in steady state.
//!
//! The criterion is that of the SNIA Solid State Storage Performance Test Specification (version 2, "steady state"):
//! over a measurement window of five rounds, the figures lie within 20% of their mean, and the fitted line rises or
//! falls by no more than 10% of it from one end of the window to the other.

use super::line::Line;
use crate::sample::Sample;

/// Figures of a measurement window.
pub const WINDOW: usize = 5;
/// Widest range, as a share of the mean.
pub const RANGE: f64 = 0.20;
/// Largest change along the fitted line, as a share of the mean.
pub const SLOPE: f64 = 0.10;

/// Ticks of [`Sample::ticks`] each second.
const TICKS_PER_SECOND: u32 = 10;

/// Requests that a fifth of a run needs before it is judged. The count of n independent events scatters by √n; of five
/// such counts the range stays below 4.9 √n in 99.5% of cases, which is 20% of n at 600.
const MIN_REQUESTS: f64 = 600.0;

/// How steady a window was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steadiness {
    /// Largest less smallest figure, as a share of the mean.
    pub range: f64,
    /// Change along the fitted line from the first figure to the last, as a share of the mean; negative when they fall.
    pub slope: f64,
}

impl Steadiness {
    /// How steady `figures` are, at equal distances in time; `None` below three, or without anything in them.
    #[must_use]
    pub fn of(figures: &[f64]) -> Option<Steadiness> {
        if figures.len() < 3 {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "a handful of figures")]
        let points: Vec<(f64, f64)> = figures
            .iter()
            .enumerate()
            .map(|(at, figure)| (at as f64, *figure))
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "a handful of figures")]
        let last = (figures.len() - 1) as f64;
        let mean = figures.iter().sum::<f64>() / (last + 1.0);
        if !mean.is_finite() || mean <= 0.0 {
            return None;
        }
        let most = figures.iter().copied().fold(f64::MIN, f64::max);
        let least = figures.iter().copied().fold(f64::MAX, f64::min);
        Some(Steadiness {
            range: (most - least) / mean,
            slope: Line::fit(&points)?.slope * last / mean,
        })
    }

    /// True within both bounds of the specification.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.range <= RANGE && self.slope.abs() <= SLOPE
    }
}

/// How steady one run was: its ticks in five windows. `None` for a run too short or with too few requests to tell.
#[must_use]
pub fn within(sample: &Sample) -> Option<Steadiness> {
    // A last tick that was not over when the run was would look like a fall.
    let whole = usize::try_from(sample.took.as_millis() * u128::from(TICKS_PER_SECOND) / 1000);
    let ticks = sample
        .ticks
        .get(..whole.unwrap_or(usize::MAX))
        .unwrap_or(&sample.ticks);
    let each = ticks.len() / WINDOW;
    if each == 0 {
        return None;
    }
    // Ticks that do not fill a window are left out at the start: what is nearest to the warm-up.
    let windows = ticks[ticks.len() - each * WINDOW..].chunks_exact(each);
    let figures: Vec<f64> = windows
        .map(|window| window.iter().map(|count| f64::from(*count)).sum())
        .collect();
    let all: f64 = figures.iter().sum();
    #[expect(clippy::cast_precision_loss, reason = "five")]
    let few = all < MIN_REQUESTS * WINDOW as f64;
    if few { None } else { Steadiness::of(&figures) }
}

/// How steady the last five of `rounds` were; `None` below five.
#[must_use]
pub fn over(rounds: &[f64]) -> Option<Steadiness> {
    let from = rounds.len().checked_sub(WINDOW)?;
    Steadiness::of(&rounds[from..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Slot;
    use crate::sample::Side;
    use proptest::prelude::*;
    use std::time::Duration;

    fn run(ticks: Vec<u32>, took: Duration) -> Sample {
        Sample {
            slot: Slot {
                cell: 0,
                block: 0,
                position: 0,
                offset: 0,
            },
            began: Duration::ZERO,
            took,
            reads: Side::default(),
            writes: Side::default(),
            ticks,
            stamp_error: Duration::ZERO,
            issued: crate::sample::Issued::default(),
            devices: Vec::new(),
            processor: Duration::ZERO,
        }
    }

    #[test]
    fn bounds_are_those_of_the_specification() {
        // Range 20% of 100, no slope.
        let at = Steadiness::of(&[90.0, 110.0, 100.0, 110.0, 90.0]).expect("five");
        assert!((at.range - 0.2).abs() < 1e-12 && at.slope.abs() < 1e-12 && at.is_steady());
        let above = Steadiness::of(&[89.0, 110.0, 101.0, 110.0, 90.0]).expect("five");
        assert!(!above.is_steady());
        // A line that rises by 11% over the window.
        let line = Steadiness::of(&[94.5, 97.25, 100.0, 102.75, 105.5]).expect("five");
        assert!((line.slope - 0.11).abs() < 1e-12 && line.range < RANGE && !line.is_steady());
    }

    #[test]
    fn a_run_is_judged_in_five_windows() {
        let steady = run(vec![1000; 10], Duration::from_secs(1));
        assert!(within(&steady).expect("many").is_steady());
        let rising: Vec<u32> = (0..10).map(|tick| 1000 + 50 * tick).collect();
        let found = within(&run(rising, Duration::from_secs(1))).expect("many");
        assert!(found.slope > 0.3 && !found.is_steady());
        // The tick that the run did not fill is not a fall.
        let mut part = vec![1000; 10];
        part.push(3);
        let found = within(&run(part, Duration::from_millis(1003))).expect("many");
        assert_eq!(found.range, 0.0);
        assert_eq!(
            within(&run(vec![10; 10], Duration::from_secs(1))),
            None,
            "too few requests"
        );
        assert_eq!(
            within(&run(vec![9000; 4], Duration::from_secs(1))),
            None,
            "too short"
        );
        assert_eq!(within(&run(vec![], Duration::ZERO)), None);
    }

    #[test]
    fn only_the_last_rounds_count() {
        assert_eq!(over(&[1.0; 4]), None);
        assert!(
            over(&[9.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0])
                .expect("seven")
                .is_steady()
        );
    }

    proptest! {
        /// Independent arrivals are steady: counts of events that have nothing to do with each other are not blamed.
        #[test]
        fn counting_noise_is_not_unsteadiness(seed in 0..u64::MAX) {
            let mut state = seed | 1;
            let mut ticks = vec![0_u32; 10];
            for _ in 0..4000 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                ticks[(state % 10) as usize] += 1;
            }
            let found = within(&run(ticks, Duration::from_secs(1))).expect("enough requests");
            prop_assert!(found.range < 0.25, "{found:?}");
        }
    }
}
