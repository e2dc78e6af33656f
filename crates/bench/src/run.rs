//! One run: workers on engines, warm-up, measurement.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;
use straddle_geometry::{Access, Bytes};
use straddle_io::engine::{Durability, Kind};

use crate::place::{Offset, Region};
use crate::plan::Slot;
use crate::sample::Sample;
use crate::target::Target;
use crate::workload::Workload;

/// Storage as a subject: a region of a target, driven by an engine.
#[derive(Debug)]
pub struct Storage {
    target: Target,
    region: Region,
    options: Options,
}

/// How requests are made.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The engine.
    pub engine: Kind,
    /// What writes promise.
    pub durability: Durability,
    /// Writes are never torn (`RWF_ATOMIC`).
    pub atomic: bool,
    /// Completions are polled for.
    pub polled: bool,
    /// Every block written is stamped, every block read is held against what was last written there.
    pub verify: bool,
}

impl Storage {
    /// Measures on a region of `target`.
    #[must_use]
    pub fn new(target: Target, region: Region, options: Options) -> Storage {
        Storage {
            target,
            region,
            options,
        }
    }

    /// What is measured on.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }
}

/// What can be measured: storage, or in tests a model whose truth is known.
pub trait Subject {
    /// Measures one workload at one offset.
    ///
    /// # Errors
    /// [`RunError`] when a request fails or the engine does; what was measured until then is in it.
    fn run(&mut self, task: &Task<'_>, watch: &Watch) -> Result<Sample, RunError>;
}

/// One run to make.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Its place in the plan; goes into the sample, and with `seed` decides the addresses.
    pub slot: Slot,
    /// What is asked of the storage.
    pub workload: &'a Workload,
    /// Where its lattice starts.
    pub offset: &'a Offset,
    /// How long it runs before it counts.
    pub warm_up: Duration,
    /// How long it counts.
    pub measured: Duration,
    /// Seeds the addresses. Runs of one block have the same seed for the same block, so that every offset gets the same
    /// sequence of places on its lattice.
    pub seed: u64,
}

/// What others may see and do while a run goes on.
#[derive(Debug, Default)]
pub struct Watch {
    /// Set to end the run early; its sample is then incomplete and the run counts as not made.
    pub stop: AtomicBool,
    /// Requests ended so far in this run; workers add to it ten times a second.
    pub requests: AtomicU64,
    /// Sum of their latencies in nanoseconds.
    pub nanoseconds: AtomicU64,
}

/// Why a run was not finished.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A request failed.
    #[error("{verb} {len} bytes at byte {at} of {target}: {source}", verb = verb(*access), len = len.grouped(), at = at.grouped())]
    Request {
        /// The target.
        target: String,
        /// Read or write.
        access: Access,
        /// First byte.
        at: Bytes,
        /// How many.
        len: Bytes,
        /// What the system said.
        source: std::io::Error,
    },
    /// A block did not hold what was written there.
    #[error("verification of {target} failed at byte {at}: found {found}, expected {expected}", at = at.grouped())]
    Verification {
        /// The target.
        target: String,
        /// First byte of the block.
        at: Bytes,
        /// What its stamp says, in words.
        found: String,
        /// What it should say.
        expected: String,
    },
    /// An engine failed as such.
    #[error("the {engine} engine failed: {source}")]
    Engine {
        /// Its name.
        engine: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// [`Watch::stop`] was set.
    #[error("stopped")]
    Stopped,
}

fn verb(access: Access) -> &'static str {
    match access {
        Access::Read => "reading",
        Access::Write => "writing",
    }
}
