//! What is asked of the storage: everything of a run but the offset.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use straddle_geometry::Unit;

/// What is asked of the storage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Share of requests that read; the others write.
    pub reads: Percent,
    /// Access pattern.
    pub pattern: Pattern,
    /// Request sizes, and how often each comes relative to the others. Never empty.
    pub sizes: Vec<(Unit, u32)>,
    /// Threads that issue requests, each with its own outstanding ones.
    pub workers: u32,
    /// Requests that each worker keeps under way.
    pub outstanding: u32,
    /// Pause of a worker between the end of a request and the start of the one that takes its slot.
    pub think: Duration,
    /// Requests each second, all workers together: an open loop, in which requests have times at which they are due, and
    /// latency counts from there. `None` is a closed loop: the next request starts when one has ended.
    pub rate: Option<f64>,
}

/// A share in whole percent, 0 to 100.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "u8", into = "u8")]
pub struct Percent(u8);

impl Percent {
    /// Nothing.
    pub const NONE: Percent = Percent(0);
    /// All.
    pub const ALL: Percent = Percent(100);

    /// `None` above 100.
    #[must_use]
    pub const fn new(percent: u8) -> Option<Percent> {
        if percent <= 100 {
            Some(Percent(percent))
        } else {
            None
        }
    }

    /// 0 to 100.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<u8> for Percent {
    type Error = String;

    fn try_from(percent: u8) -> Result<Percent, String> {
        Percent::new(percent).ok_or_else(|| format!("{percent}% is more than all"))
    }
}

impl From<Percent> for u8 {
    fn from(percent: Percent) -> u8 {
        percent.0
    }
}

/// Access pattern. In JSON `"random"`, `{"random_every": 4096}`, `"sequential"`, `{"strided": 65536}`,
/// `{"columns": 65536}` or `{"recorded": 512}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Each request at a random place of the lattice, all equally likely.
    Random,
    /// Each request at a random place of a lattice of its own, one every so many bytes, however long the requests are:
    /// they may overlap. fio calls the distance `blockalign`.
    RandomEvery(Unit),
    /// One after the other; all outstanding requests of a worker share one cursor, and each worker has a part of the
    /// region of its own.
    Sequential,
    /// One every so many bytes, in order, with a gap behind each; otherwise as sequential. After the end of a worker's part
    /// come the same places again. No request is longer than the distance.
    Strided(Unit),
    /// The region as a table with rows of so many bytes, whose cells are requests: the first cell of each row, then the
    /// second of each, and so on. Each worker has columns of its own. All requests have the same length, which divides that
    /// of a row. This is SQLIO's order where neither `-frandom` nor `-fsequential` is given.
    Columns(Unit),
    /// Where recorded requests lay ([`crate::recording`]); all of their places and lengths are multiples of so many bytes.
    Recorded(Unit),
}

impl fmt::Display for Pattern {
    /// `random`, `random on every 4 KiB`, `strided by 64 KiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Random => f.pad("random"),
            Pattern::RandomEvery(step) => f.pad(&format!("random on every {step}")),
            Pattern::Sequential => f.pad("sequential"),
            Pattern::Strided(stride) => f.pad(&format!("strided by {stride}")),
            Pattern::Columns(row) => f.pad(&format!("in columns, rows of {row}")),
            Pattern::Recorded(_) => f.pad("recorded"),
        }
    }
}

impl Pattern {
    /// True when each request may come at any place.
    #[must_use]
    pub const fn is_random(self) -> bool {
        matches!(
            self,
            Pattern::Random | Pattern::RandomEvery(_) | Pattern::Recorded(_)
        )
    }
}

/// What a workload without sizes would ask for.
const SECTOR: Unit = Unit::new(512).expect("not zero");

impl Workload {
    /// Longest request.
    #[must_use]
    pub fn largest(&self) -> Unit {
        let sizes = self.sizes.iter().map(|(size, _)| *size);
        sizes.max().unwrap_or(SECTOR)
    }

    /// Distance of the places of requests where that is not their length.
    #[must_use]
    pub fn stride(&self) -> Option<Unit> {
        match self.pattern {
            Pattern::Strided(step) | Pattern::RandomEvery(step) | Pattern::Recorded(step) => {
                Some(step)
            }
            Pattern::Random | Pattern::Sequential | Pattern::Columns(_) => None,
        }
    }

    /// True when it only reads.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.reads == Percent::ALL
    }

    /// Requests under way, all workers together.
    #[must_use]
    pub fn concurrency(&self) -> u64 {
        u64::from(self.workers) * u64::from(self.outstanding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_have_a_stable_form() {
        let unit = Unit::new(65_536).expect("not zero");
        for (pattern, json, text) in [
            (Pattern::Random, "\"random\"", "random"),
            (
                Pattern::RandomEvery(unit),
                "{\"random_every\":65536}",
                "random on every 64 KiB",
            ),
            (Pattern::Sequential, "\"sequential\"", "sequential"),
            (
                Pattern::Strided(unit),
                "{\"strided\":65536}",
                "strided by 64 KiB",
            ),
            (
                Pattern::Columns(unit),
                "{\"columns\":65536}",
                "in columns, rows of 64 KiB",
            ),
            (Pattern::Recorded(unit), "{\"recorded\":65536}", "recorded"),
        ] {
            assert_eq!(serde_json::to_string(&pattern).expect("plain"), json);
            assert_eq!(
                serde_json::from_str::<Pattern>(json).expect("its own"),
                pattern
            );
            assert_eq!(pattern.to_string(), text);
        }
    }
}
