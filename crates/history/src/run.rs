use serde::{Deserialize, Serialize};

use crate::Key;

/// A run, to be kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The verb that made it.
    pub verb: String,
    /// What it is about, as the user named it.
    pub target: String,
    /// What it comes to, in one line.
    pub headline: String,
    /// When it began: microseconds since 1970-01-01 00:00 UTC.
    pub began: i64,
    /// The machine that made it.
    pub machine: String,
    /// The version of straddle.
    pub version: String,
    /// The command as it was typed.
    pub command: String,
    /// The exit status.
    pub status: u8,
    /// The document, as the verb prints it.
    pub document: String,
}

/// A run that is kept, without its document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its number in this history.
    pub id: i64,
    /// What it is known by everywhere.
    pub key: Key,
    /// The verb that made it.
    pub verb: String,
    /// What it is about.
    pub target: String,
    /// What it comes to.
    pub headline: String,
    /// When it began: microseconds since 1970-01-01 00:00 UTC.
    pub began: i64,
    /// The machine that made it.
    pub machine: String,
    /// The version of straddle.
    pub version: String,
    /// The command as it was typed.
    pub command: String,
    /// The exit status.
    pub status: u8,
    /// Length of the document in bytes.
    pub document_bytes: u64,
}

impl Entry {
    /// When it began, in seconds since 1970-01-01 00:00 UTC; `None` for a run that says nothing of its time.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "microseconds of this millennium"
    )]
    pub fn began_seconds(&self) -> Option<f64> {
        (self.began > 0).then_some(self.began as f64 / 1e6)
    }
}

/// Which runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this verb.
    pub verb: Option<String>,
    /// About what has this in its name.
    pub target: Option<String>,
    /// Made on this machine.
    pub machine: Option<String>,
}
