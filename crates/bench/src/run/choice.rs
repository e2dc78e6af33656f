//! Which engine was taken, and why.

use schemars::JsonSchema;
use serde::Serialize;

/// The engine of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EngineChoice {
    /// Its name.
    pub name: String,
    /// How it came to be taken: `--engine`, the trial's figures, or that it is the only one here.
    pub reason: String,
    /// Requests each second of every engine in the trial; empty without one.
    pub trial: Vec<(String, f64)>,
}
