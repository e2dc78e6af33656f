//! Moves in JSON. Places are bytes.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_fix::Cure;
use straddle_geometry::Bytes;

use super::Shown;

/// Name and version of the JSON document that `realign` prints. The number changes when a reader would have to.
pub const SCHEMA: &str = "straddle.realign/1";

/// How far a move is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing was changed.
    Proposed,
    /// It was done, and read back.
    Done,
}

/// A move.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "straddle realign")]
pub struct Document<'a> {
    /// Name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// Version of straddle that wrote it.
    straddle: &'static str,
    /// The target, as it was named.
    target: &'a str,
    /// How far it is.
    state: State,
    /// The partitions that move.
    partitions: Vec<Moved>,
    /// Every other byte that is written, in this order, once all partitions have moved.
    edits: Vec<Edit<'a>>,
    /// What should be known before.
    notes: &'a [String],
    /// What is to be done afterwards, by hand.
    follow_ups: &'a [String],
    /// What is found now, and what it costs before and afterwards: computed while proposed, checked again when done.
    found: &'a [Cure],
    /// What is found only afterwards.
    new: &'a [Cure],
}

/// A partition that moves.
#[derive(Debug, Serialize, JsonSchema)]
struct Moved {
    /// Its number.
    number: u64,
    /// Where it starts before.
    from: Bytes,
    /// Where it starts afterwards.
    to: Bytes,
    /// How long it is.
    length: Bytes,
}

/// Bytes of metadata.
#[derive(Debug, Serialize, JsonSchema)]
struct Edit<'a> {
    /// Where they are.
    at: Bytes,
    /// What they are.
    what: &'a str,
    /// In hexadecimal digits, once the partitions have moved.
    before: String,
    /// The same afterwards.
    after: String,
}

impl<'a> Document<'a> {
    /// The document of a move.
    #[must_use]
    pub fn new(shown: Shown<'a>, state: State) -> Document<'a> {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let moved = shown.intent.moved().map(|entry| Moved {
            number: entry.number,
            from: entry.from.start(),
            to: entry.to.start(),
            length: entry.from.len(),
        });
        let edits = shown.intent.job.edits().iter().map(|edit| Edit {
            at: edit.at,
            what: &edit.what,
            before: hex(&edit.before),
            after: hex(&edit.after),
        });
        Document {
            schema: SCHEMA,
            straddle: env!("CARGO_PKG_VERSION"),
            target: shown.target,
            state,
            partitions: moved.collect(),
            edits: edits.collect(),
            notes: &shown.intent.notes,
            follow_ups: &shown.intent.follow_ups,
            found: shown.found,
            new: shown.new,
        }
    }
}
