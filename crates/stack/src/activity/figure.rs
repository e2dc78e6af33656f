use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A finite number that was measured, in the unit of its quantity.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Figure(f64);

impl Figure {
    /// Zero.
    pub const ZERO: Figure = Figure(0.0);

    /// `None` for what is no number, or infinite.
    #[must_use]
    pub fn new(value: f64) -> Option<Figure> {
        // Minus zero would print a sign.
        value.is_finite().then_some(Figure(value + 0.0))
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// No value is "not a number".
impl Eq for Figure {}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
