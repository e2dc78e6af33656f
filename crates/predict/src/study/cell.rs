//! A cell of a published table.

use straddle_geometry::Bytes;
use straddle_workload::Workload;

use super::{Band, Metric};
use crate::requests::Arrivals;
use crate::script::Script;

/// A cell of a published table.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// What it is called; no other cell of the study is.
    pub id: String,
    /// What it may be used for.
    pub mark: Mark,
    /// The profile that it is simulated with.
    pub profile: String,
    /// Parameters of the profile that the experiment sets: `SECTION.KEY` and its value.
    pub set: Vec<(String, toml::Value)>,
    /// Sections of the profile that take no part.
    pub without: Vec<String>,
    /// What was asked of the storage; of phases, their summary.
    pub workload: Workload,
    /// Phases, where it was more than one workload.
    pub script: Option<Script>,
    /// How requests of an open loop arrive.
    pub arrivals: Arrivals,
    /// The offset as it was written.
    pub offset_name: String,
    /// Where requests begin.
    pub offset: Bytes,
    /// Length of the region that they go to.
    pub span: Option<Bytes>,
    /// What was measured.
    pub metric: Metric,
    /// The cell that a ratio is against: its place in the study.
    pub against: Option<usize>,
    /// What was published.
    pub published: Published,
    /// How far a simulation may be off.
    pub band: Band,
    /// Whether a parameter of the profile was fitted on it.
    pub fitted: bool,
    /// What the source does not state, and what is taken in its place.
    pub assumed: Option<String>,
    /// What else should be known.
    pub note: Option<String>,
    /// Why the model is known to be off by more than that.
    pub misses: Option<String>,
}

/// What a cell may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Parameters may be fitted on it.
    Calibration,
    /// Nothing is fitted on it.
    Validation,
}

impl Mark {
    /// `calibration`, `validation`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Mark::Calibration => "calibration",
            Mark::Validation => "validation",
        }
    }
}

/// What was published, in the metric's unit: a value, a range of them, or a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// The value, or the least; zero below an upper bound.
    pub least: f64,
    /// The value, or the largest; infinite above a lower bound.
    pub most: f64,
    /// True for a bound that says which of two is better, and nothing of how much.
    pub is_order: bool,
}

impl Published {
    /// One value.
    #[must_use]
    pub const fn exactly(value: f64) -> Published {
        Published {
            least: value,
            most: value,
            is_order: false,
        }
    }

    /// True for a bound.
    #[must_use]
    pub fn is_open(self) -> bool {
        self.most.is_infinite() || self.least <= 0.0
    }

    /// `9`, `9 to 12`, `> 9`, `≤ 1`, each figure as `number` writes it.
    #[must_use]
    pub fn said(self, number: impl Fn(f64) -> String) -> String {
        let or_equal = |strict: &'static str, equal| if self.is_order { equal } else { strict };
        match () {
            () if self.most.is_infinite() => {
                format!("{} {}", or_equal(">", "≥"), number(self.least))
            }
            () if self.least <= 0.0 => format!("{} {}", or_equal("<", "≤"), number(self.most)),
            () if self.least < self.most => {
                format!("{} to {}", number(self.least), number(self.most))
            }
            () => number(self.most),
        }
    }

    /// True when a ratio goes the other way than what was published, which differs from 1 by more than a point.
    #[must_use]
    pub fn is_contradicted(self, ratio: f64) -> bool {
        const POINT: f64 = 0.01;
        (self.least > 1.0 + POINT && ratio < 1.0) || (self.most < 1.0 - POINT && ratio > 1.0)
    }

    /// How far a value is off, in percent of what was published: of the value, or of the nearest end of the range; inside
    /// a range, nothing.
    #[must_use]
    pub fn error(self, value: f64) -> f64 {
        let nearest = value.clamp(self.least, self.most);
        100.0 * (value - nearest) / nearest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_on_the_other_side_of_one_contradicts() {
        assert!(Published::exactly(1.34).is_contradicted(0.99));
        assert!(!Published::exactly(1.34).is_contradicted(1.0));
        assert!(Published::exactly(0.9).is_contradicted(1.001));
        assert!(!Published::exactly(1.005).is_contradicted(0.9));
        let said = |published: Published| published.said(|number| number.to_string());
        let bound = |least, most, is_order| Published {
            least,
            most,
            is_order,
        };
        assert_eq!(said(bound(9.0, f64::INFINITY, false)), "> 9");
        assert_eq!(said(bound(0.0, 1.0, true)), "≤ 1");
        assert_eq!(said(bound(1.0, 2.0, false)), "1 to 2");
    }

    #[test]
    fn errors_are_against_the_value_or_the_nearest_end() {
        let one = Published::exactly(200.0);
        assert_eq!(one.error(190.0), -5.0);
        let range = Published {
            least: 100.0,
            most: 200.0,
            is_order: false,
        };
        for (value, error) in [(90.0, -10.0), (150.0, 0.0), (220.0, 10.0)] {
            assert_eq!(range.error(value), error);
        }
        assert!(
            one.error(f64::NAN).is_nan(),
            "no figure is no figure within its tolerance"
        );
    }
}
