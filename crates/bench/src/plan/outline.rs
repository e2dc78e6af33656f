//! What a plan comes to before it starts: how many runs, how long, in which order.

use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

use super::{Plan, Schedule, Slot, order};

/// A plan in figures, for reading before it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Outline {
    /// Workloads.
    pub cells: u32,
    /// Runs of one block: every candidate once, the baseline around and between them.
    pub runs_per_block: u32,
    /// How long a run takes, warm-up included.
    pub run: Duration,
    /// How long a block takes.
    pub block: Duration,
    /// What is made in any case, or as much of it as the time for all runs allows.
    pub least: Total,
    /// What is made when no interval becomes narrow enough, as far as the time for all runs allows; `None` when that is
    /// more than can be said.
    pub most: Option<Total>,
    /// The first round: one block of each cell, in the order in which they are made.
    pub first_round: Vec<Slot>,
}

/// An amount of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Total {
    /// Blocks, all cells together.
    pub blocks: u64,
    /// Runs, all cells together.
    pub runs: u64,
    /// How long they take.
    pub time: Duration,
}

impl Plan {
    /// `blocks` of every cell, or as many as fit into the time for all runs, but one of each.
    fn total(&self, blocks: u32) -> Option<Total> {
        let cells = self.cells.len() as u64;
        let each = self.runs_per_block() as u64;
        let block = self.run_time().checked_mul(u32::try_from(each).ok()?)?;
        let mut blocks = cells.checked_mul(u64::from(blocks))?;
        if let Some(budget) = self.budget {
            // A time so long that it is no u64 of blocks is no limit.
            let fit = budget.as_nanos() / block.as_nanos().max(1);
            blocks = blocks.min(u64::try_from(fit).unwrap_or(u64::MAX).max(cells));
        }
        let nanoseconds = u128::from(blocks).checked_mul(block.as_nanos())?;
        let seconds = u64::try_from(nanoseconds / 1_000_000_000).ok()?;
        let rest = (nanoseconds % 1_000_000_000) as u32;
        Some(Total {
            blocks,
            runs: blocks.checked_mul(each)?,
            time: Duration::new(seconds, rest),
        })
    }
}

impl Schedule {
    /// The shortest and the longest time that the plan can take, when runs take no longer than they should; `None` when
    /// the longest is more than can be said.
    #[must_use]
    pub fn duration(&self) -> (Duration, Option<Duration>) {
        let outline = self.outline();
        (outline.least.time, outline.most.map(|most| most.time))
    }

    /// The plan in figures.
    #[must_use]
    pub fn outline(&self) -> Outline {
        let plan = self.plan();
        let runs = u32::try_from(plan.runs_per_block()).unwrap_or(u32::MAX);
        let cells = u32::try_from(plan.cells.len()).unwrap_or(u32::MAX);
        let mut round: Vec<u32> = (0..cells).collect();
        round.sort_by_key(|cell| (order::place_in_round(plan.seed, *cell, 0), *cell));
        let endless = Total {
            blocks: u64::MAX,
            runs: u64::MAX,
            time: Duration::MAX,
        };
        Outline {
            cells,
            runs_per_block: runs,
            run: plan.run_time(),
            block: plan.run_time().saturating_mul(runs),
            least: plan.total(plan.least_blocks).unwrap_or(endless),
            // Without candidates there is no interval that could ask for more.
            most: if plan.offsets.len() > 1 {
                plan.total(plan.most_blocks)
            } else {
                plan.total(plan.least_blocks)
            },
            first_round: round
                .into_iter()
                .flat_map(|cell| order::block(plan, cell, 0))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan;
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn times_are_products() {
        let mut plan = plan(2, 3);
        plan.warm_up = seconds(1);
        plan.measured = seconds(3);
        (plan.least_blocks, plan.most_blocks) = (5, 50);
        let outline = Schedule::new(plan.clone()).expect("good").outline();
        assert_eq!((outline.cells, outline.runs_per_block), (2, 5));
        assert_eq!((outline.run, outline.block), (seconds(4), seconds(20)));
        let total = |blocks: u64| Total {
            blocks,
            runs: blocks * 5,
            time: seconds(blocks * 20),
        };
        assert_eq!((outline.least, outline.most), (total(10), Some(total(100))));
        // 130 s hold six blocks of 20 s.
        plan.budget = Some(seconds(130));
        let outline = Schedule::new(plan.clone()).expect("good").outline();
        assert_eq!((outline.least, outline.most), (total(6), Some(total(6))));
        // One block of every cell is made in any case.
        plan.budget = Some(seconds(1));
        let duration = Schedule::new(plan.clone()).expect("good").duration();
        assert_eq!(duration, (seconds(40), Some(seconds(40))));
        // The bounds of a plan keep its time within what can be said.
        plan.budget = None;
        plan.most_blocks = u32::MAX;
        (plan.warm_up, plan.measured) = (Duration::ZERO, seconds(366 * 86_400));
        let block = seconds(5 * 366 * 86_400);
        let duration = Schedule::new(plan).expect("good").duration();
        let most = Duration::from_secs(block.as_secs() * 2 * u64::from(u32::MAX));
        assert_eq!(duration, (block * 10, Some(most)));
    }

    #[test]
    fn the_first_round_is_the_one_that_is_made() {
        let mut schedule = Schedule::new(plan(5, 3)).expect("good");
        let announced = schedule.outline().first_round;
        assert_eq!(announced.len(), 25);
        for expected in announced {
            assert_eq!(schedule.next(Duration::ZERO), Some(expected));
            schedule.record(expected, 100.0);
        }
    }
}
