//! Repair plans in JSON. Sizes and places are bytes, times seconds.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_fix::{Plan, Verification};

/// Name and version of the JSON document that `fix` prints. The number changes when a reader would have to.
pub const SCHEMA: &str = "straddle.fix/1";

/// A plan.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "straddle fix")]
pub struct Document<'a> {
    /// Name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// Version of straddle that wrote it.
    straddle: &'static str,
    /// The target, as it was named.
    target: &'a str,
    /// What to change, and what that comes to.
    #[serde(flatten)]
    plan: &'a Plan,
}

impl<'a> Document<'a> {
    /// The document of a plan.
    #[must_use]
    pub fn new(target: &'a str, plan: &'a Plan) -> Document<'a> {
        Document {
            schema: SCHEMA,
            straddle: env!("CARGO_PKG_VERSION"),
            target,
            plan,
        }
    }
}

/// What became of a plan.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "straddle fix --verify")]
pub struct VerifiedDocument<'a> {
    /// Name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// Version of straddle that wrote it.
    straddle: &'static str,
    /// The target, as it was named.
    target: &'a str,
    /// True when every promise was kept.
    kept: bool,
    /// Each promise.
    #[serde(flatten)]
    verification: &'a Verification,
}

impl<'a> VerifiedDocument<'a> {
    /// The document of a verification.
    #[must_use]
    pub fn new(target: &'a str, verification: &'a Verification) -> VerifiedDocument<'a> {
        VerifiedDocument {
            schema: SCHEMA,
            straddle: env!("CARGO_PKG_VERSION"),
            target,
            kept: verification.is_kept(),
            verification,
        }
    }
}
