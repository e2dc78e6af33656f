//! Repair plans in JSON. Sizes and places are bytes, times seconds.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_fix::{Before, Plan, Verification};
use straddle_stack::Stack;

use crate::views::{View, views};

/// Name and version of the JSON document that `fix` prints. The number changes when a reader would have to.
pub const SCHEMA: &str = "straddle.fix/3";

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
    /// How the grids below look from where requests begin, as it is.
    views: Vec<View>,
    /// The same when the plan is carried out.
    views_after: Vec<View>,
    /// SHA-256 of what a verification needs of this document, which then tells that it was not edited.
    sum: String,
}

impl<'a> Document<'a> {
    /// The document of a plan.
    #[must_use]
    pub fn new(target: &'a str, stack: &Stack, plan: &'a Plan) -> Document<'a> {
        let mut document = Document {
            schema: SCHEMA,
            straddle: env!("CARGO_PKG_VERSION"),
            target,
            plan,
            views: views(stack),
            views_after: views(&plan.after),
            sum: String::new(),
        };
        // As it will be read.
        let read = serde_json::to_value(&document).and_then(serde_json::from_value::<Before>);
        document.sum = read.map_or_else(|_| String::new(), |before| before.digest());
        document
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
    /// True when every promise was kept and nothing is missing.
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
