//! Curves of all units that are asked about, for reads and writes.

use straddle_geometry::{Access, Bytes};

use super::answer::UnitAnswer;
use super::curve::{Curve, STEP};
use super::load::Load;
use super::question::Question;
use crate::statistics::{Key, PERIOD};

/// Units that are counted in one period, with their places among all units.
pub(super) fn units_of(question: &Question, period: u64) -> Vec<(usize, u64)> {
    let units = question.units.iter().map(|unit| unit.get()).enumerate();
    let is_here = |unit: u64| match PERIOD.is_multiple_of(unit) {
        true => period == PERIOD,
        false => period == unit,
    };
    units.filter(|(_, unit)| is_here(*unit)).collect()
}

pub(super) const fn side(access: Access) -> usize {
    match access {
        Access::Read => 0,
        Access::Write => 1,
    }
}

/// What the requests of a key do when they are shifted.
pub(super) const fn load(unit: u64, key: Key, shift: u64, count: u64) -> Load {
    Load::of(unit, key.place() % unit + shift, key.length(), count)
}

pub(super) struct Curves(Vec<[Curve; 2]>);

impl Curves {
    /// Units that are no multiples of a sector have none, and are none of a question.
    pub(super) fn new(question: &Question) -> Curves {
        let curve = |unit: u64| Curve::new(unit);
        let units = question.units.iter().map(|unit| unit.get());
        Curves(
            units
                .filter_map(|unit| Some([curve(unit)?, curve(unit)?]))
                .collect(),
        )
    }

    pub(super) fn add(&mut self, unit: usize, key: Key, count: u64) {
        if let Some(curves) = self.0.get_mut(unit) {
            curves[side(key.access())].add(key.place(), key.length(), count);
        }
    }

    pub(super) fn loads(&self) -> Loads {
        Loads(
            self.0
                .iter()
                .map(|[reads, writes]| [reads.loads(), writes.loads()])
                .collect(),
        )
    }
}

/// What is done at every shift.
pub(super) struct Loads(Vec<[Vec<Load>; 2]>);

impl Loads {
    fn at(&self, unit: usize, shift: u64) -> [Load; 2] {
        let one = |side: usize| {
            let loads = &self.0[unit][side];
            let at = usize::try_from(shift / STEP).unwrap_or(0) % loads.len().max(1);
            loads.get(at).copied().unwrap_or_default()
        };
        [one(0), one(1)]
    }

    /// The start below `common` at which least is to be done on all grids together: granules that are touched, and for writes
    /// those that are covered in part. Today's when none is better, else the first.
    pub(super) fn best(&self, question: &Question, common: u64) -> u64 {
        let cost = |start: u64| {
            let mut sum = 0_u128;
            for (at, unit) in question.units.iter().enumerate() {
                let [reads, writes] = self.at(at, question.shift(Bytes::new(start), unit.get()));
                sum += u128::from(reads.granules)
                    + u128::from(writes.granules)
                    + u128::from(writes.partial);
            }
            sum
        };
        let today = question.today.get() % common;
        let starts = (0..common / STEP).map(|step| step * STEP + today % STEP);
        starts
            .map(|start| (cost(start), start != today, start))
            .min()
            .map_or(today, |(_, _, start)| start)
    }

    /// Figures of each unit at today's start, at those that are asked about and at the best one.
    pub(super) fn units(&self, question: &Question, best: Option<u64>) -> Vec<UnitAnswer> {
        let units = question.units.iter().enumerate();
        units
            .map(|(at, unit)| {
                let of = |start: Bytes| self.at(at, question.shift(start, unit.get()));
                UnitAnswer {
                    unit: unit.get(),
                    today: of(question.today),
                    starts: question.starts.iter().map(|start| of(*start)).collect(),
                    best: best.map(|start| of(Bytes::new(start))),
                }
            })
            .collect()
    }
}
