//! Which runs are made, in which order, and when enough is enough. No I/O: it is told samples, and asked what is next.
//!
//! A *block* belongs to one cell and is `A x A y A z A`: the baseline offset A first, last and between all others, which
//! come in random order. Each candidate is compared with the mean of the two baselines beside it, so that slow drift falls
//! on both alike. Blocks share no run, so their ratios are independent of each other. A *round* has one block of every cell
//! that needs more, in random order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

use crate::place::Offset;
use crate::workload::Workload;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The workloads.
    pub cells: Vec<Workload>,
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

/// The order of runs, decided as their outcomes come in.
///
/// The same plan and the same recorded rates give the same order, so a journal of them is enough to go on where an
/// experiment was interrupted; runs of a block that was not finished are made again.
#[derive(Debug)]
pub struct Schedule {
    plan: Plan,
}

impl Schedule {
    /// Nothing has been run yet.
    ///
    /// # Errors
    /// [`PlanError`] for a plan that cannot be carried out or cannot prove anything.
    pub fn new(plan: Plan) -> Result<Schedule, PlanError> {
        Ok(Schedule { plan })
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The next run, or `None` when it is enough. `elapsed` is the time since the experiment began.
    pub fn next(&mut self, elapsed: Duration) -> Option<Slot> {
        let _ = elapsed;
        None
    }

    /// A run was made; `rate` is its requests each second.
    pub fn record(&mut self, slot: Slot, rate: f64) {
        let _ = (slot, rate);
    }

    /// The shortest and the longest time that the plan can take.
    #[must_use]
    pub fn duration(&self) -> (Duration, Option<Duration>) {
        (Duration::ZERO, None)
    }
}

/// What is wrong with a plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{what}: {found}; expected {expected}")]
pub struct PlanError {
    /// Which part of it.
    pub what: &'static str,
    /// What it says.
    pub found: String,
    /// What it could say.
    pub expected: String,
}
