//! How far a simulation may be off what was published.

use std::fmt;

use super::{Metric, Published};

/// How far a simulation may be off what was published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Band {
    /// So many percent of what was published.
    Percent(f64),
    /// So many points of a ratio.
    Points(f64),
    /// So many percent of how far a ratio is from 1.
    Effect(f64),
    /// What was published is a bound, and this share of it will do.
    Share(f64),
    /// What was published is an order, and holds or does not.
    Exact,
}

/// Rates and times: percent.
const RATE: f64 = 10.0;
/// Ratios so near 1 are known to a point.
const NEAR: f64 = 0.05;
/// The point.
const POINT: f64 = 1.0;
/// Other ratios: percent of the effect.
const EFFECT: f64 = 25.0;
/// "More than nine times": nine tenths of it.
const SHARE: f64 = 0.9;

impl Band {
    /// The band of a cell that states none: fixed by what was measured, before anything was simulated.
    #[must_use]
    pub fn fixed(metric: Metric, published: Published) -> Band {
        let is_near = |end: f64| (end - 1.0).abs() <= NEAR + 1e-9;
        match () {
            () if published.is_order => Band::Exact,
            () if published.is_open() => Band::Share(SHARE),
            () if !metric.is_ratio() => Band::Percent(RATE),
            () if is_near(published.least) && is_near(published.most) => Band::Points(POINT),
            () => Band::Effect(EFFECT),
        }
    }

    /// True when a value is within the band around what was published.
    #[must_use]
    pub fn holds(self, published: Published, value: f64) -> bool {
        self.holds_widened(published, value, 1.0)
    }

    /// The same with the band so many times as wide: for tests, in which fewer requests are simulated.
    pub(super) fn holds_widened(self, published: Published, value: f64, by: f64) -> bool {
        let Published { least, most, .. } = published;
        let room = |end: f64| match self {
            Band::Percent(percent) => end * percent / 100.0 * by,
            Band::Points(points) => points / 100.0 * by,
            Band::Effect(percent) => (end - 1.0).abs() * percent / 100.0 * by,
            Band::Exact => 0.0,
            Band::Share(share) => match published.most.is_finite() {
                true => end * (1.0 / share - 1.0) * by,
                false => end * (1.0 - share) * by,
            },
        };
        // Not true of what is no number.
        least - room(least) <= value && (most.is_infinite() || value <= most + room(most))
    }
}

impl fmt::Display for Band {
    /// `10%`, `1 point`, `25% of the effect`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Band::Percent(percent) => write!(f, "{percent}%"),
            Band::Points(points) => write!(f, "{points} point"),
            Band::Effect(percent) => write!(f, "{percent}% of the effect"),
            Band::Share(share) => write!(f, "{share} of it"),
            Band::Exact => f.write_str("exact"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::metric::Ratio;
    use super::*;

    fn published(least: f64, most: f64, is_order: bool) -> Published {
        Published {
            least,
            most,
            is_order,
        }
    }

    #[test]
    fn bands_are_those_that_were_fixed() {
        let ratio = Metric::Ratio(Ratio::Iops);
        let open = f64::INFINITY;
        // Published, a value within, and one that is not.
        for (metric, published, band, within, off) in [
            (
                Metric::Iops,
                published(100.0, 100.0, false),
                "10%",
                109.9,
                110.1,
            ),
            (
                ratio,
                published(0.98, 0.98, false),
                "1 point",
                0.9701,
                0.9699,
            ),
            (
                ratio,
                published(1.05, 1.05, false),
                "1 point",
                1.0599,
                1.0601,
            ),
            (
                ratio,
                published(1.34, 1.34, false),
                "25% of the effect",
                1.256,
                1.25,
            ),
            (
                ratio,
                published(1.5, 1.5, false),
                "25% of the effect",
                1.62,
                1.63,
            ),
            (ratio, published(9.0, open, false), "0.9 of it", 8.2, 8.0),
            (
                Metric::Iops,
                published(0.0, 1.0, false),
                "0.9 of it",
                1.11,
                1.12,
            ),
            (ratio, published(1.0, open, true), "exact", 1.0, 0.999),
            (ratio, published(0.0, 1.0, true), "exact", 1.0, 1.001),
        ] {
            let fixed = Band::fixed(metric, published);
            assert_eq!(fixed.to_string(), band);
            assert!(fixed.holds(published, within), "{band}: {within}");
            assert!(!fixed.holds(published, off), "{band}: {off}");
        }
        assert!(!Band::Percent(10.0).holds(published(1.0, 1.0, false), f64::NAN));
        assert!(Band::Percent(10.0).holds_widened(published(100.0, 100.0, false), 111.0, 1.2));
    }
}
