//! What is asked for: workloads, offsets, and how often each is measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use straddle_geometry::Bytes;

use straddle_workload::Workload;
use straddle_workload::offset::Offset;
use straddle_workload::recording::Fit;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The workloads.
    pub cells: Vec<Workload>,
    /// What the workloads are called where they have names, as the sections of a job file have: one for each, or none at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The recording whose requests are made, where that is so; cells then differ in how many are under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replayed>,
    /// Offsets; the first is the baseline.
    pub offsets: Vec<Offset>,
    /// How long one run is measured.
    pub measured: Duration,
    /// How long it runs before that.
    pub warm_up: Duration,
    /// Blocks of each cell that are made in any case; the variance is estimated from these alone.
    pub least_blocks: u32,
    /// Most blocks of each cell.
    pub most_blocks: u32,
    /// Half the width of the 95% interval of a ratio at which it is narrow enough: 0.01 is 1%.
    pub precision: f64,
    /// Time after which no block is begun; `None` is as long as it takes.
    pub budget: Option<Duration>,
    /// Seeds the order of runs and the addresses of requests.
    pub seed: u64,
}

/// Which recording is replayed, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replayed {
    /// The file.
    pub file: PathBuf,
    /// The device whose requests are replayed, where one was named.
    pub device: Option<String>,
    /// Where the data begin in what was recorded: places count from there.
    pub start: Bytes,
    /// Requests.
    pub requests: u64,
    /// Requests that began before the data, and are left out.
    pub left_out: u64,
    /// End of the last byte that any of them touches.
    pub end: Bytes,
    /// How they are brought into a smaller target.
    pub fit: Fit,
    /// How many times as fast as recorded they are due; `None` is as fast as possible.
    pub speed: Option<f64>,
    /// SHA-256 of the requests.
    pub digest: String,
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} requests", Bytes::new(self.requests).grouped())?;
        if let Some(device) = &self.device {
            write!(f, " of {device}")?;
        }
        write!(f, " from {}, ", self.file.display())?;
        match self.speed {
            None => f.write_str("as fast as possible")?,
            Some(speed) => write!(f, "at {speed} times the recorded speed")?,
        }
        let fit = match self.fit {
            Fit::Wrap => "go round",
            Fit::Scale => "are scaled down",
        };
        write!(
            f,
            "; the last byte is {}, and addresses beyond the span {fit} by whole MiB",
            self.end.grouped()
        )
    }
}

/// The place of a run in a plan.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Slot {
    /// Which cell, counted from 0.
    pub cell: u32,
    /// Which block of that cell, counted from 0.
    pub block: u32,
    /// Which run of that block, counted from 0.
    pub position: u32,
    /// Which offset; 0 is the baseline.
    pub offset: u32,
}

impl Plan {
    /// Least blocks that serve well. With fewer, Student's factor for the spread of so few costs more blocks later than
    /// it saves now: at a precision equal to the noise of a run, 3 first blocks lead to 29 on average, 5 to 13, 8 to
    /// 10.
    pub const FIRST_STAGE: u32 = 8;

    /// What a workload is called, where it has a name.
    #[must_use]
    pub fn name(&self, cell: usize) -> Option<&str> {
        self.names.get(cell).map(String::as_str)
    }

    /// Runs of one block: one for each candidate, and the baseline around and between them. Without candidates it is
    /// one run of the baseline.
    #[must_use]
    pub fn runs_per_block(&self) -> usize {
        2 * self.offsets.len().saturating_sub(1) + 1
    }

    /// Log ratio of one such step at the precision asked for: half the width of an interval that is narrow enough.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        libm::log1p(self.precision)
    }

    /// How long a run should take, warm-up included.
    #[must_use]
    pub fn run_time(&self) -> Duration {
        self.warm_up.saturating_add(self.measured)
    }
}
