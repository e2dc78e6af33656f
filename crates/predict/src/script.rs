//! Workloads of several streams and phases, and recorded ones.
//!
//! A script is TOML: `[[phase]]` after `[[phase]]`, each for so many requests and then the next, the first after the last.
//! In a phase, every `[[phase.stream]]` is at work at once, with requests of its own in its own part of the region: data and
//! log of a database, files and journal of a file system, a backup beside what goes on. A phase of one stream says what it
//! does itself. All streams are closed loops.
//!
//! A recording replays its requests in their order, as many at once as the workload keeps outstanding, from a place that
//! depends on the seed, and from its beginning after its end.

mod read;
mod recorded;
pub mod registry;
mod source;

use std::sync::Arc;

use straddle_geometry::{Access, Unit};
use straddle_workload::{Pattern, Percent, Workload};

pub(crate) use read::phases;
pub use recorded::MAX_RECORDS;
pub(crate) use source::{Grounds, Source};

/// What is asked of the storage, beyond one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// What it is, for people.
    pub title: String,
    /// What it does.
    pub kind: Kind,
}

/// What a script does.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Phase after phase, the first after the last. Never empty.
    Phases(Vec<Phase>),
    /// Requests as they were recorded. Never empty.
    Recorded(Arc<Vec<Record>>),
}

/// Streams that are at work at once, for so many requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Requests of all its streams after which the next phase begins.
    pub requests: u64,
    /// What is at work. Never empty.
    pub streams: Vec<Stream>,
}

/// A closed loop in a part of the region.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// What it is called: `log`.
    pub name: String,
    /// What it asks for; without a rate.
    pub workload: Workload,
    /// Where its part of the region begins and ends, as shares of it.
    pub part: (f64, f64),
}

/// A recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Which way.
    pub access: Access,
    /// Where it began, from the beginning of what was recorded.
    pub start: u64,
    /// How long it was; not zero.
    pub len: u64,
}

impl Stream {
    /// Requests that it keeps under way.
    fn slots(&self) -> u64 {
        u64::from(self.workload.workers) * u64::from(self.workload.outstanding)
    }
}

impl Script {
    /// One workload that stands for all of it where one must: the share of reads and the sizes of all streams, and what the
    /// busiest phase keeps under way. `outstanding` is what a recording is replayed with.
    #[must_use]
    pub fn summary(&self, outstanding: u32) -> Workload {
        let (mut sizes, mut reads, mut all): (Vec<(Unit, u32)>, f64, f64) = (Vec::new(), 0.0, 0.0);
        let mut add = |size: Option<Unit>, weight: f64, share: f64| {
            reads += share * weight;
            all += weight;
            if let Some(size) = size.filter(|size| !sizes.iter().any(|(known, _)| known == size)) {
                sizes.push((size, 1));
            }
        };
        let mut slots = u64::from(outstanding);
        match &self.kind {
            Kind::Phases(phases) => {
                let busiest = phases
                    .iter()
                    .map(|phase| phase.streams.iter().map(Stream::slots).sum());
                slots = busiest.max().unwrap_or(1);
                for stream in phases.iter().flat_map(|phase| &phase.streams) {
                    let share = f64::from(stream.workload.reads.get()) / 100.0;
                    for (size, _) in &stream.workload.sizes {
                        #[expect(clippy::cast_precision_loss, reason = "slots are few")]
                        add(Some(*size), stream.slots() as f64, share);
                    }
                }
            }
            Kind::Recorded(records) => {
                for record in records.iter().take(4096) {
                    let share = if record.access == Access::Read {
                        1.0
                    } else {
                        0.0
                    };
                    add(Unit::new(record.len), 1.0, share);
                }
                sizes.truncate(8);
            }
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of 0 to 100"
        )]
        let reads = (100.0 * reads / all.max(1.0)).round() as u8;
        Workload {
            reads: Percent::new(reads).unwrap_or(Percent::ALL),
            pattern: Pattern::Random,
            sizes,
            workers: 1,
            outstanding: u32::try_from(slots).unwrap_or(u32::MAX).max(1),
            think: std::time::Duration::ZERO,
            rate: None,
        }
    }
}

#[cfg(test)]
mod tests;
