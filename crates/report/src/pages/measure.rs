//! What a document says, so that two of them can be compared.

use schemars::JsonSchema;
use serde::Serialize;

/// A document in short.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The verb that made it.
    pub verb: &'static str,
    /// What it is about.
    pub target: String,
    /// What it comes to, in one sentence.
    pub headline: String,
    /// When it was made, in seconds since 1970-01-01 00:00 UTC, where it says so.
    pub began: Option<f64>,
    /// The machine that made it, where it says so.
    pub machine: Option<String>,
    /// Its figures.
    pub measures: Vec<Measure>,
    /// Of a check: targets of which nothing was checked, or that could not be read. A later run with more of them is worse, whatever it
    /// found.
    pub unchecked: usize,
    /// What they were made on, and how: names and values.
    pub facts: Vec<(String, String)>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// Of what.
    pub what: String,
    /// What it is, with its unit.
    pub quantity: &'static str,
    /// What a difference is counted in.
    pub scale: Scale,
    /// Whether a larger one is better.
    pub more_is_better: bool,
    /// The figure.
    pub value: f64,
    /// How far it is to be trusted.
    pub spread: Spread,
}

/// What a difference of two figures is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// A share of the earlier one.
    Relative,
    /// They are shares themselves: their difference.
    Points,
}

/// How far a figure is to be trusted.
#[derive(Clone, Debug, PartialEq)]
pub enum Spread {
    /// Computed: the same again.
    Exact,
    /// A mean of these.
    Runs(Vec<f64>),
    /// An estimate with its 95% interval.
    Between(f64, f64),
    /// Nobody says.
    Unknown,
}

impl Measure {
    pub(crate) fn new(
        what: String,
        quantity: &'static str,
        more_is_better: bool,
        value: f64,
        spread: Spread,
    ) -> Measure {
        Measure {
            what,
            quantity,
            scale: Scale::Relative,
            more_is_better,
            value,
            spread,
        }
    }

    /// A computed share of which less is better.
    pub(crate) fn share(what: String, quantity: &'static str, value: f64) -> Measure {
        Measure {
            scale: Scale::Points,
            ..Measure::new(what, quantity, false, value, Spread::Exact)
        }
    }
}
