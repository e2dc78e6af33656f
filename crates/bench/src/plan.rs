//! Which runs are made, in which order, and when enough is enough. No I/O: it is told samples, and asked what is next.
//!
//! A *block* belongs to one cell and is `A x A y A z A`: the baseline offset A first, last and between all others,
//! which come in random order. Each candidate is compared with the mean of the two baselines beside it, so that slow
//! drift falls on both alike. Blocks share no run, so their ratios are independent of each other. A *round* has one
//! block of every cell that needs more, in random order.
//!
//! When a cell has enough blocks is decided in [`straddle_workload::interval`]. Blocks and rounds have their order from
//! the seed, the cell and the block alone, never from what came before, so that an experiment goes on after an
//! interruption as if there had been none.

mod asked;
mod check;
mod order;
mod outline;
mod schedule;

pub use asked::{Plan, Replayed, Slot};
pub use check::PlanError;
pub use outline::{Outline, Total};
pub use schedule::{Progress, Schedule};

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use straddle_geometry::{Bytes, Unit};
    use straddle_workload::offset::Offset;
    use straddle_workload::{Pattern, Percent, Workload};

    /// A plan with so many cells and offsets, the baseline among them.
    pub(super) fn plan(cells: usize, offsets: u64) -> Plan {
        let workload = Workload {
            reads: Percent::ALL,
            pattern: Pattern::Random,
            sizes: vec![(Unit::new(8192).expect("not zero"), 1)],
            workers: 1,
            outstanding: 1,
            think: Duration::ZERO,
            rate: None,
        };
        let offset = |number: u64| Offset {
            name: format!("{number}K"),
            bytes: Bytes::kib(number),
        };
        Plan {
            cells: vec![workload; cells],
            names: Vec::new(),
            replay: None,
            offsets: (0..offsets).map(offset).collect(),
            measured: Duration::from_secs(1),
            warm_up: Duration::ZERO,
            least_blocks: 5,
            most_blocks: 1000,
            precision: 0.01,
            budget: None,
            seed: 1,
        }
    }

    #[test]
    fn a_block_has_one_baseline_more_than_candidates() {
        assert_eq!([1, 2, 5].map(|n| plan(1, n).runs_per_block()), [1, 3, 9]);
    }
}
