//! A value and how it is known.

use super::value::Value;

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The value.
    pub value: Value,
    /// How it is known.
    pub origin: Origin,
    /// What else it may plausibly be, where the profile says; assumptions are varied within it.
    pub range: Option<Range>,
}

/// Plausible values.
#[derive(Clone, Debug, PartialEq)]
pub enum Range {
    /// The least and the largest, in base units.
    Numbers(f64, f64),
    /// Words, the value among them.
    Words(Vec<&'static str>),
}

impl Figure {
    /// The least and the largest plausible number; `None` where none is said, and of words.
    #[must_use]
    pub fn ends(&self) -> Option<(f64, f64)> {
        match self.range {
            Some(Range::Numbers(least, most)) => Some((least, most)),
            _ => None,
        }
    }
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
