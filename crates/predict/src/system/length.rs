//! How much of a run counts, and how it begins.

use crate::model::cache::Spread;

/// How much of a run counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// Requests answered before anything is counted.
    pub warm_up: u64,
    /// Requests answered that count.
    pub measured: u64,
}

/// How full stores are when time begins: as after a long time of the same work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Start {
    /// Of a write-back cache: from its low-water mark, 0, to its high-water mark, 1.
    pub(crate) fill: f64,
    /// The largest fill of all scenarios that are compared: requests are drawn for that one, so that as many are drawn for each.
    pub(crate) drawn: f64,
    /// The working set. Of a cache that holds a small part of it, few pages are made.
    pub(crate) spread: Spread,
}

impl Start {
    pub(crate) fn at(fill: f64, drawn: f64) -> Start {
        Start {
            fill,
            drawn,
            spread: Spread::Unknown,
        }
    }
}
