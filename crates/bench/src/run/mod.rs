//! One run: workers on engines, warm-up, measurement.
//!
//! A worker is a thread with an engine of its own that keeps `outstanding` requests under way. Where the engine blocks
//! ([`Kind::most_slots`] is 1), a worker is as many threads, each with one request, and their counts are added up. Requests
//! that end in the measured part count, wherever they started; what is still under way at its end is waited for and not
//! counted, so that a sample has no tail with fewer requests under way than asked for.
//!
//! # Time stamps
//!
//! The clock is read once after a call to the engine has returned: that is the end of all requests that the call returned,
//! and the start of those that are started next, at most 64. (When more than 64 ended, it is read again before the next are
//! started.) A latency is too long by what the worker itself does between that stamp and handing the request over: counting
//! those that ended and drawing up to 64 new ones, 20 to 40 ns for each of them, so 1 to 3 µs in a full batch and less than
//! 100 ns at one outstanding. Every 256th round this is measured, and the largest of those figures is
//! [`Sample::stamp_error`]; a worker that lost its processor in between shows there too. Nothing makes a latency shorter
//! than it was.
//!
//! # Open loop
//!
//! With [`Workload::rate`], requests are due at fixed distances, each worker's share from a random phase on, and latency
//! counts from when a request was due. Workers sleep until 20 µs before that, then look at the clock.

mod choice;
mod pace;
mod payload;
mod replay;
mod storage;
mod trial;
mod verify;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};
use straddle_geometry::{Access, Bytes};
use straddle_io::engine::faulty::Faults;
use straddle_io::engine::{Durability, Kind};

use crate::place::Region;
use crate::plan::Slot;
use crate::sample::Sample;
use crate::target::Target;
use straddle_workload::Workload;
use straddle_workload::offset::Offset;
use verify::Verifier;

pub use choice::EngineChoice;
pub use replay::{Replay, Replaying, Taken};
pub use trial::{Trial, trial};
pub use verify::Verified;

/// Storage as a subject: a region of a target, driven by an engine.
#[derive(Debug)]
pub struct Storage {
    target: Target,
    region: Region,
    options: Options,
    /// Devices whose counters are read before and after.
    devices: Vec<String>,
    /// When the experiment began.
    began: Instant,
    verifier: Option<Verifier>,
    replay: Option<Replay>,
    faults: Option<Arc<Faults>>,
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
    /// Every sector written is stamped, every sector read is compared with what was last written there. Costs time and
    /// changes the order of places, so that what is measured meanwhile is not comparable.
    pub verify: bool,
}

impl Storage {
    /// Measures on a region of `target`; times are counted from now.
    #[must_use]
    pub fn new(target: Target, region: Region, options: Options) -> Storage {
        let verifier = options.verify.then(|| Verifier::new(target.size()));
        Storage {
            target,
            region,
            options,
            devices: Vec::new(),
            began: Instant::now(),
            verifier,
            replay: None,
            faults: None,
        }
    }

    /// Reads the kernel's counters of these devices (`sda`, `md0`: names below `/sys/class/block`) before and after the
    /// measured part of each run. A name that the kernel does not know is left out of samples.
    #[must_use]
    pub fn with_devices(mut self, devices: Vec<String>) -> Storage {
        self.devices = devices;
        self
    }

    /// Counts [`Sample::began`] from then.
    #[must_use]
    pub fn with_beginning(mut self, began: Instant) -> Storage {
        self.began = began;
        self
    }

    /// Makes recorded requests where a workload asks for them ([`straddle_workload::Pattern::Recorded`]).
    #[must_use]
    pub fn with_replay(mut self, replay: Option<Replay>) -> Storage {
        self.replay = replay;
        self
    }

    /// Lets requests fail as told: for tests and drills.
    #[must_use]
    pub fn with_faults(mut self, faults: Arc<Faults>) -> Storage {
        self.faults = Some(faults);
        self
    }

    /// What is measured on.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The target back, its files to be removed or kept.
    #[must_use]
    pub fn into_target(self) -> Target {
        self.target
    }

    /// What verification has seen in all runs so far; `None` without it.
    #[must_use]
    pub fn verified(&self) -> Option<Verified> {
        self.verifier.as_ref().map(Verifier::verified)
    }
}

/// What can be measured: storage, or in tests a model whose truth is known.
pub trait Subject {
    /// Measures one workload at one offset.
    ///
    /// # Errors
    /// [`RunError`] when a request fails or the engine does, or when the workload does not fit the target. Such a run is no
    /// sample; those before it stand.
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
    /// Set to end the run early; its sample is then incomplete and the run counts as not made. It ends within 50 ms, or as
    /// soon as the requests under way have ended: the storage cannot be made to give them back.
    pub stop: AtomicBool,
    /// Requests ended so far in this run, those of the warm-up and those after the measured part included; workers add to
    /// it ten times a second, and in the end it is exact.
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
    /// The workload cannot be run on this target.
    #[error("{what}: found {found}; expected {expected}")]
    Unfit {
        /// Which part of it.
        what: &'static str,
        /// What was asked for.
        found: String,
        /// What would do.
        expected: String,
    },
    /// [`Watch::stop`] was set. The sample is what was measured until then, and took as long as was measured; `None` when the
    /// measured part had not begun.
    #[error("stopped")]
    Stopped(Option<Box<Sample>>),
}

fn verb(access: Access) -> &'static str {
    match access {
        Access::Read => "reading",
        Access::Write => "writing",
    }
}
