//! Curves of all grids that are asked about, for reads and writes.

use std::cmp::Reverse;

use straddle_geometry::{Access, Bytes, Grid};

use super::answer::GridAnswer;
use super::curve::{Curve, STEP};
use super::load::Load;
use super::question::Question;
use crate::statistics::{Key, PERIOD};

/// Grids that are counted in one period, with their places among all of them.
pub(super) fn grids_of(question: &Question, period: u64) -> Vec<(usize, Grid)> {
    let grids = question.grids.iter().map(|(grid, _)| *grid).enumerate();
    let is_here = |unit: u64| match PERIOD.is_multiple_of(unit) {
        true => period == PERIOD,
        false => period == unit,
    };
    grids
        .filter(|(_, grid)| is_here(grid.unit().get()))
        .collect()
}

pub(super) const fn side(access: Access) -> usize {
    match access {
        Access::Read => 0,
        Access::Write => 1,
    }
}

/// What the requests of a key do when they are shifted.
pub(super) const fn load(grid: Grid, key: Key, shift: u64, count: u64) -> Load {
    let unit = grid.unit().get();
    Load::of(unit, key.place() % unit + shift, key.length(), count)
}

/// A phase inside a sector is added to places, so that shifts are whole sectors.
const fn inside(grid: Grid) -> u64 {
    (STEP - grid.phase().get() % STEP) % STEP
}

pub(super) struct Curves(Vec<(Grid, [Curve; 2])>);

impl Curves {
    /// A unit that is not a multiple of a sector has none, and is none of a question.
    pub(super) fn new(question: &Question) -> Curves {
        let grids = question.grids.iter().map(|(grid, _)| *grid);
        let curves = |grid: Grid| {
            let unit = grid.unit().get();
            Some((grid, [Curve::new(unit)?, Curve::new(unit)?]))
        };
        Curves(grids.filter_map(curves).collect())
    }

    pub(super) fn add(&mut self, at: usize, key: Key, count: u64) {
        if let Some((grid, curves)) = self.0.get_mut(at) {
            curves[side(key.access())].add(key.place() + inside(*grid), key.length(), count);
        }
    }

    pub(super) fn loads(&self) -> Loads {
        let loads = |(_, [reads, writes]): &(Grid, [Curve; 2])| [reads.loads(), writes.loads()];
        Loads(self.0.iter().map(loads).collect())
    }
}

/// Starts at which operations differ by one in so many are alike.
const ALIKE: u64 = 500;

/// What is done at every shift.
pub(super) struct Loads(Vec<[Vec<Load>; 2]>);

impl Loads {
    fn at(&self, grid: usize, shift: u64) -> [Load; 2] {
        let one = |side: usize| {
            let loads = self.0.get(grid).map_or(&[][..], |loads| &loads[side]);
            let at = usize::try_from(shift / STEP).unwrap_or(0) % loads.len().max(1);
            loads.get(at).copied().unwrap_or_default()
        };
        [one(0), one(1)]
    }

    /// The start below `common` at which fewest operations are to be done on all grids together.
    ///
    /// Another month of the same workload would come to slightly other counts, so starts that differ by less than chance or by
    /// less than anybody would move data for are alike: of those today's is taken, else the one with most boundaries in common
    /// with everything, which is the roundest.
    pub(super) fn best(&self, question: &Question, common: u64) -> u64 {
        let cost = |start: u64| {
            let mut sum = 0_u64;
            for (at, (grid, family)) in question.grids.iter().enumerate() {
                let [reads, writes] = self.at(at, question.shift(Bytes::new(start), *grid));
                sum = sum.saturating_add(reads.operations(*family, Access::Read));
                sum = sum.saturating_add(writes.operations(*family, Access::Write));
            }
            sum
        };
        let today = question.today.get() % common;
        let costs: Vec<(u64, u64)> = (0..common / STEP)
            .map(|step| (cost(step * STEP), step * STEP))
            .collect();
        let least = costs.iter().map(|(cost, _)| *cost).min().unwrap_or(0);
        let alike = (least / ALIKE).max(4 * least.isqrt());
        let as_good = costs.iter().filter(|(cost, _)| *cost - least <= alike);
        as_good
            .map(|(_, start)| *start)
            .max_by_key(|start| {
                let roundness = match start {
                    0 => u32::MAX,
                    start => start.trailing_zeros(),
                };
                (*start == today, roundness, Reverse(*start))
            })
            .unwrap_or(today)
    }

    /// Figures of each grid at today's start, at those that are asked about and at the best one.
    pub(super) fn grids(&self, question: &Question, best: Option<u64>) -> Vec<GridAnswer> {
        let grids = question.grids.iter().enumerate();
        grids
            .map(|(at, (grid, family))| {
                let of = |start: Bytes| self.at(at, question.shift(start, *grid));
                GridAnswer {
                    grid: *grid,
                    family: *family,
                    today: of(question.today),
                    starts: question.starts.iter().map(|start| of(*start)).collect(),
                    best: best.map(|start| of(Bytes::new(start))),
                }
            })
            .collect()
    }
}
