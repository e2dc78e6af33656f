//! A cell of a published table.

use straddle_bench::workload::Workload;
use straddle_geometry::Bytes;

use super::Metric;
use crate::requests::Arrivals;

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
    /// What was asked of the storage.
    pub workload: Workload,
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
    /// How far a simulation may be off, in percent.
    pub within: f64,
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

/// What was published, in the metric's unit: a value, or a range of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// The value, or the least.
    pub least: f64,
    /// The value, or the largest.
    pub most: f64,
}

impl Published {
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
    fn errors_are_against_the_value_or_the_nearest_end() {
        let one = Published {
            least: 200.0,
            most: 200.0,
        };
        assert_eq!(one.error(190.0), -5.0);
        let range = Published {
            least: 100.0,
            most: 200.0,
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
