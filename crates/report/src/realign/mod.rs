//! Moves of partitions, proposed and done.

mod document;
pub mod text;

pub use document::{Document, SCHEMA, State};

use straddle_fix::Cure;
use straddle_realign::Intent;

/// A move, as all forms show it.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The target, as it was named.
    pub target: &'a str,
    /// What is moved, and what is written.
    pub intent: &'a Intent,
    /// What is found, with its price before and afterwards.
    pub found: &'a [Cure],
    /// What is found only afterwards.
    pub new: &'a [Cure],
}

/// How a move came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// In place.
    Moved,
    /// In a new file.
    Copied {
        /// Its name.
        new: String,
        /// What it is.
        format: &'static str,
    },
}
