//! Studies simulated: cells that are compared share random numbers.

use straddle_workload::interval::Interval;

use super::{Cell, Study};
use crate::experiment::{Case, Effort, compare};
use crate::profile::Refusal;
use crate::scenario::Scenario;

/// A study and what was simulated of it.
#[derive(Clone, Debug)]
pub struct Run {
    /// One for each cell, in their order.
    pub cells: Vec<Simulated>,
}

/// What a cell came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Simulated {
    /// In the cell's metric.
    pub value: f64,
    /// 95% interval of it over replicates, where it has one: how well the model's own answer is known.
    pub interval: Option<Interval>,
    /// How far it is off, in percent of what was published.
    pub error: f64,
    /// Whether that is within the cell's tolerance.
    pub is_within: bool,
    /// Whether it is a ratio that goes the other way.
    pub is_sign_error: bool,
    /// Requests that counted, all replicates together.
    pub requests: u64,
    /// Replicates.
    pub replicates: u32,
}

/// How much of a study is simulated.
pub mod effort {
    use super::{Effort, Study};

    /// For what is printed and archived.
    #[must_use]
    pub fn full(study: &Study) -> Effort {
        Effort {
            requests: study.requests.unwrap_or(40_000),
            least: 5,
            most: 12,
            precision: 0.002,
            seed: 1,
        }
    }

    /// For tests, and for a first look.
    #[must_use]
    pub fn quick(study: &Study) -> Effort {
        Effort {
            requests: study.requests.unwrap_or(8_000).min(8_000),
            least: 3,
            most: 4,
            precision: 0.005,
            seed: 1,
        }
    }
}

impl Study {
    /// Simulates every cell.
    ///
    /// # Errors
    /// The first cell that cannot be simulated.
    pub fn run(&self, effort: Effort) -> Result<Run, Refusal> {
        let (scenarios, of) = self.scenarios()?;
        let mut cases: Vec<Option<(Case, u32)>> = vec![None; scenarios.len()];
        for group in groups(&self.cells, &scenarios, &of) {
            let chosen: Vec<Scenario> = group
                .iter()
                .filter_map(|index| scenarios.get(*index).cloned())
                .collect();
            let trials = compare(&chosen, effort).map_err(|refusal| {
                if refusal.place.is_empty() {
                    refusal.of(&self.name)
                } else {
                    refusal
                }
            })?;
            for (index, case) in group.iter().zip(trials.cases) {
                if let Some(slot) = cases.get_mut(*index) {
                    *slot = Some((case, trials.replicates));
                }
            }
        }
        let case = |cell: usize| cases.get(*of.get(cell)?)?.as_ref();
        let simulated = self.cells.iter().enumerate().map(|(index, cell)| {
            let (found, replicates) =
                case(index).ok_or_else(|| Refusal::new(&cell.id, "not simulated", "a case"))?;
            let other = cell.against.and_then(case).map(|(other, _)| other);
            let (value, interval) = cell.metric.of(found, other);
            let error = cell.published.error(value);
            Ok(Simulated {
                value,
                interval,
                error,
                is_within: cell.band.holds(cell.published, value),
                is_sign_error: cell.metric.is_ratio() && cell.published.is_contradicted(value),
                requests: found.requests,
                replicates: *replicates,
            })
        });
        Ok(Run {
            cells: simulated.collect::<Result<_, _>>()?,
        })
    }

    /// Every scenario once, and for each cell which of them is its.
    fn scenarios(&self) -> Result<(Vec<Scenario>, Vec<usize>), Refusal> {
        let mut scenarios: Vec<Scenario> = Vec::new();
        let mut of = Vec::with_capacity(self.cells.len());
        for cell in &self.cells {
            let wanted = self.scenario(cell)?;
            let is_alike =
                |known: &Scenario| known.offset == wanted.offset && is_kin(known, &wanted);
            let at = scenarios.iter().position(is_alike);
            of.push(at.unwrap_or(scenarios.len()));
            if at.is_none() {
                scenarios.push(wanted);
            }
        }
        Ok((scenarios, of))
    }
}

/// True when they differ in nothing but the offset.
fn is_kin(one: &Scenario, other: &Scenario) -> bool {
    one.workload == other.workload
        && one.script == other.script
        && one.arrivals == other.arrivals
        && one.span == other.span
        && one.profile == other.profile
}

/// Scenarios that are simulated together: those that differ in the offset only, and those that a ratio is of. The first of
/// each group is the baseline: the one that most ratios are against.
fn groups(cells: &[Cell], scenarios: &[Scenario], of: &[usize]) -> Vec<Vec<usize>> {
    let mut group: Vec<usize> = (0..scenarios.len()).collect();
    let mut join = |one: usize, other: usize| {
        let pair = (group.get(one).copied(), group.get(other).copied());
        if let (Some(into), Some(from)) = pair {
            let members = group.iter_mut().filter(|member| **member == from);
            members.for_each(|member| *member = into);
        }
    };
    for (at, one) in scenarios.iter().enumerate() {
        let kin = scenarios
            .iter()
            .take(at)
            .position(|other| is_kin(one, other));
        if let Some(other) = kin {
            join(other, at);
        }
    }
    let mut wanted = vec![0_u32; scenarios.len()];
    for (cell, its) in cells.iter().zip(of) {
        if let Some(other) = cell.against.and_then(|other| of.get(other)) {
            join(*other, *its);
            if let Some(count) = wanted.get_mut(*other) {
                *count += 1;
            }
        }
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for name in 0..scenarios.len() {
        let members = (0..scenarios.len()).filter(|index| group.get(*index) == Some(&name));
        let mut members: Vec<usize> = members.collect();
        // Stable, so that the earlier cell is the baseline where two are equally wanted.
        members.sort_by_key(|index| std::cmp::Reverse(wanted.get(*index).copied()));
        if !members.is_empty() {
            groups.push(members);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = r#"
title = "Groups"
source = "nobody"
configuration = "none"
profile = "fixed-service"
within = 4
[workload]
io = "64K"
rw = "read"
outstanding = 16
[[cell]]
id = "unaligned"
mark = "calibration"
offset = "unaligned"
metric = "iops"
published = 700
[[cell]]
id = "aligned"
mark = "calibration"
offset = "64K"
metric = "iops"
published = 1400
[[cell]]
id = "ratio"
mark = "calibration"
offset = "unaligned"
metric = "iops_ratio"
against = "aligned"
published = 0.5
[[cell]]
id = "alone"
mark = "calibration"
offset = "64K"
threads = 2
metric = "pieces_per_io"
published = 1
[[cell]]
id = "wider"
mark = "calibration"
offset = "64K"
io = "128K"
metric = "throughput_ratio"
against = "alone"
published = 1
"#;

    #[test]
    fn cells_that_are_compared_are_simulated_together() {
        let study = Study::read("test", STUDY).expect("it is one");
        let (scenarios, of) = study.scenarios().expect("they are there");
        assert_eq!(of, [0, 1, 0, 2, 3]);
        assert_eq!(
            groups(&study.cells, &scenarios, &of),
            [vec![1, 0], vec![2, 3]]
        );
    }

    #[test]
    fn ratios_and_errors_come_out() {
        let study = Study::read("test", STUDY).expect("it is one");
        let run = study.run(effort::quick(&study)).expect("it runs");
        let [unaligned, aligned, ratio, alone, wider] = run.cells.as_slice() else {
            panic!("five cells");
        };
        let quotient = unaligned.value / aligned.value;
        assert!((ratio.value / quotient - 1.0).abs() < 0.01, "{ratio:?}");
        assert!((0.5..0.65).contains(&ratio.value));
        assert!(
            ratio.interval.is_some(),
            "its baseline is that of the group"
        );
        assert_eq!(
            (alone.value, alone.error, alone.is_within),
            (1.0, 0.0, true)
        );
        assert!((0.9..1.3).contains(&wider.value), "{wider:?}");
    }
}
