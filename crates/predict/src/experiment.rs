//! Scenarios held against each other: replicates with common random numbers, and what they prove.

use straddle_bench::results::{Interval, LatencySummary};

use crate::profile::Refusal;
use crate::scenario::Scenario;
use crate::system::{Counts, Length, Resource};

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Requests that count in each replicate.
    pub requests: u64,
    /// Fewest replicates.
    pub least: u32,
    /// Most replicates.
    pub most: u32,
    /// Half width of a gain's interval at which it is narrow enough: 0.005 is half a percent.
    pub precision: f64,
    /// Seed of the first replicate.
    pub seed: u64,
}

/// What scenarios came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Trials {
    /// One for each scenario, the baseline first.
    pub cases: Vec<Case>,
    /// How long each replicate was; the warm-up is what the rule said for the slowest scenario.
    pub length: Length,
    /// Replicates of each scenario.
    pub replicates: u32,
}

/// What one scenario came to, all replicates together.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Requests each second: mean over replicates and 95% interval.
    pub rate: Interval,
    /// Reads each second.
    pub reads_per_second: f64,
    /// Writes each second.
    pub writes_per_second: f64,
    /// Bytes each second.
    pub bytes_per_second: f64,
    /// Latency of reads; `None` without any.
    pub read_latency: Option<LatencySummary>,
    /// Latency of writes.
    pub write_latency: Option<LatencySummary>,
    /// Mean latency of all requests in seconds: mean over replicates and 95% interval.
    pub latency: Interval,
    /// Requests under way on average.
    pub mean_outstanding: f64,
    /// Requests that counted.
    pub requests: u64,
    /// What was done for them.
    pub counts: Counts,
    /// How busy each kind of resource was, averaged over replicates.
    pub resources: Vec<Resource>,
    /// Rate as a multiple of the baseline's: geometric mean of the replicates' ratios, and 95% interval. `None` for the baseline.
    pub gain: Option<Interval>,
    /// Mean latency as a multiple of the baseline's, likewise.
    pub latency_ratio: Option<Interval>,
}

/// Simulates scenarios with the same random numbers until every gain's interval is narrow enough.
///
/// # Errors
/// The first scenario that cannot be simulated.
pub fn compare(_scenarios: &[Scenario], _effort: Effort) -> Result<Trials, Refusal> {
    Err(Refusal::new("compare", "not built", "its helper"))
}
