//! What gains are of.

use schemars::JsonSchema;
use serde::Serialize;

/// What is measured in a gain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Requests each second: a closed loop, which does more when it is answered sooner.
    Rate,
    /// Mean latency: an open loop, in which as much is done as is offered.
    Latency,
}
