//! What an experiment came to, ready to be printed.

use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;
use straddle_geometry::Bytes;
use straddle_stack::Stack;
use straddle_workload::histogram::LatencySummary;
use straddle_workload::interval::{Interval, Verdict};

use crate::place::Placed;
use crate::plan::Plan;
pub use crate::run::EngineChoice;
use crate::run::Options;
use crate::sample::Sample;
pub use crate::target::Medium;
use crate::validity::Warning;

/// An experiment and what it came to.
#[derive(Debug)]
pub struct Experiment {
    /// What was asked for.
    pub plan: Plan,
    /// What it was done on, and how.
    pub setting: Setting,
    /// Every run that was finished, in the order in which they were made.
    pub samples: Vec<Sample>,
    /// Why it ended.
    pub end: End,
    /// What the samples prove, a cell each, in the order of the plan.
    pub cells: Vec<CellResult>,
    /// Where more concurrency stops to help, for each offset and each group of cells that differ in nothing else; only
    /// where the plan has at least three degrees of concurrency, and where noise does not hide it.
    pub knees: Vec<Knee>,
    /// What could make it worthless.
    pub warnings: Vec<Warning>,
}

/// What an experiment is done on, and how.
#[derive(Debug)]
pub struct Setting {
    /// The file or device.
    pub target: String,
    /// What kind of thing it is, and whether its page cache is in the way.
    pub medium: Medium,
    /// Bytes that requests of one offset are spread over.
    pub span: Bytes,
    /// The engine, and why it was taken.
    pub engine: EngineChoice,
    /// How requests were made: what writes promise, and the like.
    pub options: Options,
    /// When the experiment began, since 1970-01-01 00:00 UTC; of a resumed one, when it was first begun. Times of samples
    /// count from here.
    pub began: Duration,
    /// Where each offset of the plan lies, in the plan's order.
    pub places: Vec<Placed>,
    /// The stack below, as `check` sees it; `None` where nothing is known of it.
    pub stack: Option<Stack>,
    /// The machine.
    pub machine: Machine,
}

/// The machine that measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Machine {
    /// Its name.
    pub host: String,
    /// Operating system and its version.
    pub system: String,
    /// Processors: model and number.
    pub processors: String,
    /// Main memory.
    pub memory: Option<Bytes>,
    /// Version of this program: figures of two versions are compared with care.
    pub version: String,
}

/// Why an experiment ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Every interval is narrow enough.
    Precise,
    /// The time was up.
    OutOfTime,
    /// The most blocks that were allowed have been made.
    OutOfBlocks,
    /// The user stopped it.
    Stopped,
    /// A run failed; what was measured before it is kept.
    Failed(String),
}

/// What the samples of one cell prove.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CellResult {
    /// One for each offset of the plan, the baseline first.
    pub offsets: Vec<OffsetResult>,
    /// One for each offset but the baseline.
    pub gains: Vec<Gain>,
    /// What happened to the baseline while all this was measured; `None` below three blocks.
    pub drift: Option<Drift>,
    /// Largest ratio between offsets that stand alike on every known grid, less 1; `None` without two such offsets.
    pub noise_floor: Option<f64>,
    /// Complete blocks.
    pub blocks: u32,
}

/// What one offset delivered in one cell, all its runs together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OffsetResult {
    /// Runs.
    pub runs: u32,
    /// Reads each second: the mean of the runs.
    pub reads_per_second: f64,
    /// Writes each second.
    pub writes_per_second: f64,
    /// Bytes each second, both directions.
    pub bytes_per_second: f64,
    /// Least and most requests each second of any run.
    pub range: (f64, f64),
    /// Latency of reads; `None` when there were none.
    pub read_latency: Option<LatencySummary>,
    /// Latency of writes; `None` when there were none.
    pub write_latency: Option<LatencySummary>,
    /// Requests under way on average, by Little's law: rate times mean latency. Far from what was asked for, the tool or
    /// the device did something else than the plan says.
    pub mean_outstanding: f64,
    /// Device operations for each request, by the kernel's counters, for each device that saw any.
    pub device_operations: Vec<DeviceOperations>,
}

/// What a device did for each request.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DeviceOperations {
    /// Its name.
    pub device: String,
    /// Reads completed on it, for each request.
    pub reads: f64,
    /// Writes completed on it, for each request.
    pub writes: f64,
}

/// What an offset gains over the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Gain {
    /// Index of the offset in the plan; never 0.
    pub offset: usize,
    /// Requests each second as a multiple of the baseline's: the geometric mean over blocks, and its 95% interval. `None`
    /// below two blocks.
    pub ratio: Option<Interval>,
    /// The chance of so large a difference when there is none, for this comparison by itself.
    pub p: Option<f64>,
    /// The same among all comparisons of the experiment (Holm).
    pub p_adjusted: Option<f64>,
    /// What that means.
    pub verdict: Verdict,
}

/// What happened to the baseline in the course of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Drift {
    /// Change from the first run to the last by the fitted line, as a share.
    pub change: f64,
    /// The chance of so steep a line when there is no drift.
    pub p: f64,
    /// Standard deviation of the runs around the line, as a share: the noise of one run.
    pub noise: f64,
    /// Runs of the baseline that it rests on.
    pub runs: u32,
}

/// The concurrency from which on more brings latency and hardly anything else.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Knee {
    /// Index of the offset in the plan.
    pub offset: usize,
    /// Indices of the cells, by rising concurrency.
    pub cells: Vec<usize>,
    /// Index into `cells`; `None` when throughput still rises at the end, as far as the plan goes.
    pub at: Option<usize>,
}
