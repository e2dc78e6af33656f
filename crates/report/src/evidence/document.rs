//! Evidence in JSON. Figures are in the unit of their quantity: seconds, bytes, per second.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_rules::Finding;
use straddle_stack::{LayerId, Source, Stack};

use super::answers::{Answer, answers};
use super::change::{Change, Unmatched};
use super::joined::Evidence;
use crate::{Counts, Folded, fold::fold};

/// Name and version of the JSON document that `evidence` prints. The number changes when a reader would have to.
pub const SCHEMA: &str = "straddle.evidence/1";

/// What was read, and what it comes to.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "straddle evidence")]
pub struct Document<'a> {
    /// Name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// Version of straddle that wrote it.
    straddle: &'static str,
    /// The outputs that were recognised.
    formats: &'a [&'static str],
    /// Lines that were read.
    lines: u64,
    /// Figures that were taken.
    figures: u64,
    /// What was not understood, and other oddities, counted.
    counted: Vec<Oddity<'a>>,
    /// Files in folders that were of no known tool.
    passed_over: u64,
    /// Inputs that could not be read to their end, or in which nothing was found.
    failures: &'a [Failure],
    /// Number of findings by severity.
    counts: Counts,
    /// What the rules say, worst first; of one rule at most 200. `layer` is an index into `stack`.
    findings: Vec<&'a Finding>,
    /// How many more findings there are of each rule that has more.
    folded: Vec<Folded>,
    /// What people ask of such files, and what these say.
    answers: Vec<Answer>,
    /// What changed since an earlier capture, where one was given.
    changes: &'a [Change],
    /// What was not compared with it, because one of the two has no figures of it.
    unmatched: &'a Unmatched,
    /// The layers of which something was measured: indices into `stack`, whose `activity` has the figures.
    measured: &'a [LayerId],
    /// The layers, lowest first.
    stack: &'a Stack,
}

/// Lines of one input with which something is the matter.
#[derive(Debug, Serialize, JsonSchema)]
struct Oddity<'a> {
    /// What is the matter.
    what: &'static str,
    /// How many.
    count: u64,
    /// Where the first is.
    first: &'a Source,
}

/// An input that could not be read to its end, or in which nothing was found. What was read of it before is in the figures.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Failure {
    /// Its name.
    pub input: String,
    /// Why.
    pub error: String,
}

impl<'a> Document<'a> {
    /// The document.
    #[must_use]
    pub fn new(evidence: &'a Evidence, failures: &'a [Failure]) -> Document<'a> {
        let (findings, folded) = fold(&evidence.checked.findings);
        let oddities = evidence.gathered.counted.iter();
        Document {
            schema: SCHEMA,
            straddle: env!("CARGO_PKG_VERSION"),
            formats: &evidence.gathered.formats,
            lines: evidence.gathered.lines,
            figures: evidence.gathered.figures,
            counted: oddities
                .map(|counted| Oddity {
                    what: counted.what,
                    count: counted.count,
                    first: &counted.first,
                })
                .collect(),
            passed_over: evidence.passed_over,
            failures,
            counts: Counts::of(&evidence.checked.findings),
            findings,
            folded,
            answers: answers(evidence),
            changes: &evidence.changes,
            unmatched: &evidence.unmatched,
            measured: &evidence.measured,
            stack: &evidence.checked.stack,
        }
    }
}
