//! A value and how it is known.

use super::value::Value;

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The value.
    pub value: Value,
    /// How it is known.
    pub origin: Origin,
    /// Least and largest plausible value in base units, where the profile says; assumptions are varied between them.
    pub range: Option<(f64, f64)>,
}

/// How a figure is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Published: where.
    Source(String),
    /// Worked out from published figures: from which, and how.
    Computed(String),
    /// Fitted to measurements: to which.
    Fitted(String),
    /// Nobody says: why this value.
    Assumed(String),
    /// Given with a flag.
    Flag,
    /// Found in the stack: where.
    Stack(String),
}

impl Origin {
    /// True for what nobody measured or published: what a prediction's sensitivity is tested for.
    #[must_use]
    pub fn is_assumed(&self) -> bool {
        matches!(self, Origin::Assumed(_))
    }
}
