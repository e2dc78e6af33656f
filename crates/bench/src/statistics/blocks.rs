//! Runs put together to the blocks they were made in.
//!
//! A journal may hold runs of a block that was interrupted, followed by the same block once more. Schedule and analysis
//! both read it through this module, so that they agree on what counts: a block is what was made from its first run to
//! its last without a gap; whatever was made of it before is void.

use std::time::Duration;

use crate::plan::{Plan, Slot};
use crate::sample::Sample;

/// What comparisons need of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Its place in the plan.
    pub slot: Slot,
    /// When it began, since the experiment began.
    pub began: Duration,
    /// Requests each second.
    pub rate: f64,
}

impl From<&Sample> for Run {
    fn from(sample: &Sample) -> Run {
        Run {
            slot: sample.slot,
            began: sample.began,
            rate: sample.rate(),
        }
    }
}

/// Collects the runs of every cell into blocks.
#[derive(Clone, Debug)]
pub struct Collector<T> {
    runs_per_block: usize,
    cells: Vec<CellBlocks<T>>,
}

/// The runs of one cell.
#[derive(Clone, Debug)]
pub struct CellBlocks<T> {
    /// Complete blocks in their order, each with its runs in theirs.
    pub complete: Vec<Vec<(Slot, T)>>,
    /// The runs of a block that was begun and not finished.
    pub unfinished: Vec<(Slot, T)>,
}

impl<T> Collector<T> {
    /// Nothing yet.
    #[must_use]
    pub fn new(plan: &Plan) -> Collector<T> {
        let empty = || CellBlocks {
            complete: Vec::new(),
            unfinished: Vec::new(),
        };
        Collector {
            runs_per_block: plan.runs_per_block(),
            cells: plan.cells.iter().map(|_| empty()).collect(),
        }
    }

    /// Takes a run. True when it completed a block.
    ///
    /// A run that does not continue the block of its cell is left out: one of another plan, or of a block whose first
    /// run is missing.
    pub fn push(&mut self, slot: Slot, run: T) -> bool {
        let Some(cell) = self.cells.get_mut(slot.cell as usize) else {
            return false;
        };
        if slot.block as usize != cell.complete.len() {
            return false;
        }
        if slot.position == 0 {
            cell.unfinished.clear();
        }
        if slot.position as usize != cell.unfinished.len() {
            return false;
        }
        cell.unfinished.push((slot, run));
        if cell.unfinished.len() < self.runs_per_block {
            return false;
        }
        cell.complete.push(std::mem::take(&mut cell.unfinished));
        true
    }

    /// What was collected, a cell each.
    #[must_use]
    pub fn cells(&self) -> &[CellBlocks<T>] {
        &self.cells
    }
}

impl<T> CellBlocks<T> {
    /// Every run, of complete blocks and of an unfinished one.
    pub fn runs(&self) -> impl Iterator<Item = &(Slot, T)> {
        self.complete.iter().flatten().chain(&self.unfinished)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::plan;
    use super::*;

    fn slot(cell: u32, block: u32, position: u32) -> Slot {
        Slot {
            cell,
            block,
            position,
            offset: position % 2,
        }
    }

    #[test]
    fn only_blocks_without_a_gap_count() {
        let mut collector = Collector::new(&plan(2, 2));
        let pushes = [
            // Interrupted after two runs, repeated.
            (slot(0, 0, 0), 'a', false),
            (slot(0, 0, 1), 'b', false),
            (slot(0, 0, 0), 'c', false),
            (slot(1, 0, 0), 'x', false),
            (slot(0, 0, 1), 'd', false),
            (slot(0, 0, 2), 'e', true),
            // Made once more although it was complete, out of turn, of no cell: all left out.
            (slot(0, 0, 0), '!', false),
            (slot(0, 2, 0), '!', false),
            (slot(7, 0, 0), '!', false),
            (slot(0, 1, 1), '!', false),
            (slot(0, 1, 0), 'f', false),
            (slot(0, 1, 2), '!', false),
        ];
        for (slot, name, completes) in pushes {
            assert_eq!(collector.push(slot, name), completes, "{slot:?}");
        }
        let names = |runs: &[(Slot, char)]| runs.iter().map(|(_, name)| *name).collect::<String>();
        let [first, second] = collector.cells() else {
            panic!("two cells");
        };
        assert_eq!(first.complete.len(), 1);
        assert_eq!(names(&first.complete[0]), "cde");
        assert_eq!(names(&first.unfinished), "f");
        assert_eq!(first.runs().count(), 4);
        assert_eq!(names(&second.unfinished), "x");
    }
}
