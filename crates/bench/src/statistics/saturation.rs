//! Where more concurrency stops to help.
//!
//! Cells that differ in nothing but workers and outstanding requests form a group; their products are its degrees of
//! concurrency. With at least three of them, the knee of an offset is the lowest degree from which on, for every higher
//! one,
//!
//! - it is proven that throughput rises by less than 10% for each doubling of concurrency: the upper end of the 95%
//!   interval of the rise lies below that; and
//! - mean latency has risen by more than that at the highest degree. (In a closed loop without think time that
//!   follows by Little's law: concurrency doubles and throughput does not, so latency does.)
//!
//! There is none, and throughput still rises at the end, when it is proven that the last step brings more than that: the
//! lower end of its interval lies above. Where noise hides which of the two it is, nothing is said.
//!
//! The rise from one degree to another is the mean difference of log rates, paired by round, since blocks of one round
//! are made close to each other; its interval is Student's.
//!
//! Kleinrock's knee, the highest ratio of throughput to latency (*Power and deterministic rules of thumb for
//! probabilistic problems in computer communications*, ICC 1979), lies where a doubling brings 41%. That is a fair
//! optimum for a network; who tunes a database still takes 20% more for twice the threads, so the bar is lower here.

use super::blocks::{CellBlocks, Collector};
use super::summary::mean_latency;
use crate::plan::Plan;
use crate::results::{CellResult, Knee};
use crate::sample::Sample;
use straddle_workload::Workload;
use straddle_workload::interval::Estimate;
use straddle_workload::interval::ratio::{LogRatio, log_rate};

/// Degrees of concurrency that a group needs.
const MIN_DEGREES: usize = 3;

/// Rise of throughput for each doubling of concurrency below which it is "hardly anything".
const RISE: f64 = 1.10;

/// Cells of equal concurrency: indices into the plan.
type Degree = Vec<usize>;

/// The knees of all groups, for each offset of which it is known: with fewer than two complete blocks of some degree there
/// is no interval to go by, and with much noise a wide one.
#[must_use]
pub fn knees(plan: &Plan, blocks: &Collector<&Sample>, cells: &[CellResult]) -> Vec<Knee> {
    let mut knees = Vec::new();
    for degrees in groups(plan) {
        for offset in 0..plan.offsets.len() {
            let series: Vec<Vec<f64>> = degrees
                .iter()
                .map(|degree| log_rates(plan, blocks, degree, offset))
                .collect();
            if series.iter().any(|series| series.len() < 2) {
                continue;
            }
            let concurrency: Vec<f64> = degrees.iter().map(|d| doublings(plan, d)).collect();
            let latency: Vec<f64> = degrees.iter().map(|d| latency(cells, d, offset)).collect();
            let Some(at) = knee(&series, &concurrency, &latency) else {
                continue;
            };
            // Indices of the knee count cells, and a degree may have several.
            let before = |degree: usize| degrees[..degree].iter().map(Vec::len).sum();
            knees.push(Knee {
                offset,
                cells: degrees.iter().flatten().copied().collect(),
                at: at.map(before),
            });
        }
    }
    knees
}

/// Groups of cells with at least three degrees of concurrency, by rising degree.
fn groups(plan: &Plan) -> Vec<Vec<Degree>> {
    let mut groups: Vec<(Workload, Vec<usize>)> = Vec::new();
    for (cell, workload) in plan.cells.iter().enumerate() {
        // In an open loop the rate is given, not found.
        if workload.rate.is_some() {
            continue;
        }
        let rest = Workload {
            workers: 1,
            outstanding: 1,
            ..workload.clone()
        };
        match groups.iter_mut().find(|(known, _)| *known == rest) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push((rest, vec![cell])),
        }
    }
    let degrees = groups.into_iter().map(|(_, mut cells)| {
        let concurrency = |cell: &usize| plan.cells[*cell].concurrency();
        cells.sort_by_key(|cell| (concurrency(cell), plan.cells[*cell].workers));
        let degrees = cells.chunk_by(|a, b| concurrency(a) == concurrency(b));
        degrees.map(<[usize]>::to_vec).collect::<Vec<Degree>>()
    });
    degrees.filter(|d| d.len() >= MIN_DEGREES).collect()
}

/// The mean log rate of an offset in each round that all cells of a degree have made.
fn log_rates(plan: &Plan, blocks: &Collector<&Sample>, degree: &Degree, offset: usize) -> Vec<f64> {
    let seconds = plan.measured.as_secs_f64();
    let of_cell = |cell: &CellBlocks<&Sample>| -> Vec<f64> {
        let rounds = cell.complete.iter().map(|block| {
            let runs = block
                .iter()
                .filter(|(slot, _)| slot.offset as usize == offset);
            mean(runs.map(|(_, sample)| log_rate(sample.rate(), seconds)))
        });
        rounds.collect()
    };
    let all: Vec<Vec<f64>> = degree
        .iter()
        .map(|c| of_cell(&blocks.cells()[*c]))
        .collect();
    let rounds = all.iter().map(Vec::len).min().unwrap_or(0);
    (0..rounds)
        .map(|round| mean(all.iter().map(|cell| cell[round])))
        .collect()
}

/// Mean latency in seconds, 0 where there is none.
fn latency(cells: &[CellResult], degree: &Degree, offset: usize) -> f64 {
    mean(degree.iter().map(|cell| {
        let result = cells.get(*cell).and_then(|cell| cell.offsets.get(offset));
        result
            .and_then(mean_latency)
            .map_or(0.0, |l| l.as_secs_f64())
    }))
}

/// Logarithm of a degree's concurrency to base 2.
fn doublings(plan: &Plan, degree: &Degree) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "plans bound it to 2²⁷")]
    mean(
        degree
            .iter()
            .map(|cell| libm::log2(plan.cells[*cell].concurrency() as f64)),
    )
}

/// The index of the lowest degree from which on nothing is gained, `Some(None)` when the last one still gains, `None` when
/// neither is proven; see the module.
fn knee(series: &[Vec<f64>], doublings: &[f64], latency: &[f64]) -> Option<Option<usize>> {
    let allowed = |from: usize, to: usize| libm::log(RISE) * (doublings[to] - doublings[from]);
    let rise = |from: usize, to: usize| rise(&series[from], &series[to]);
    let last = series.len() - 1;
    let flat = (0..last).find(|from| {
        let from = *from;
        (from + 1..=last).all(|to| rise(from, to).is_some_and(|(_, high)| high < allowed(from, to)))
    });
    match flat {
        Some(at) => {
            let waited = libm::log(latency[last] / latency[at]);
            (waited > allowed(at, last)).then_some(Some(at))
        }
        None => {
            let (low, _) = rise(last - 1, last)?;
            (low > allowed(last - 1, last)).then_some(None)
        }
    }
}

/// The 95% interval of the mean of `to − from`, paired by round.
fn rise(from: &[f64], to: &[f64]) -> Option<(f64, f64)> {
    // No first stage: how many rounds there are was not decided by these differences.
    let mut estimate = Estimate::new(u32::MAX);
    for (from, to) in from.iter().zip(to) {
        estimate.push(LogRatio {
            value: to - from,
            counting: 0.0,
        });
    }
    let half = estimate.half_width()?;
    Some((estimate.mean() - half, estimate.mean() + half))
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0);
    for value in values {
        sum += value;
        n += 1.0;
    }
    if n > 0.0 { sum / n } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::analyse;
    use super::super::fixture::{experiment, plan};
    use super::*;
    use std::time::Duration;

    /// Storage that serves up to `parallel` requests at once, each in a millisecond.
    fn rate(concurrency: f64, parallel: f64) -> f64 {
        1e6 * concurrency.min(parallel)
    }

    /// The knees of cells with this many workers × outstanding.
    fn found(cells: &[(u32, u32)], noise: f64, rate: impl Fn(f64, u32) -> f64) -> Vec<Knee> {
        let mut plan = plan(cells.len(), 2);
        for (cell, (workers, outstanding)) in plan.cells.iter_mut().zip(cells) {
            (cell.workers, cell.outstanding) = (*workers, *outstanding);
        }
        let concurrency = |cell: u32| plan.cells[cell as usize].concurrency() as f64;
        let mut samples = experiment(&plan, |slot, random| {
            rate(concurrency(slot.cell), slot.offset) * (1.0 + noise * random)
        });
        // A closed loop: latency follows from Little's law.
        for sample in &mut samples {
            let latency = concurrency(sample.slot.cell) / sample.rate();
            sample.reads.latencies.record((latency * 1e9) as u64);
        }
        analyse(&plan, &samples, &[0, 1]).1
    }

    const DOUBLINGS: [(u32, u32); 6] = [(1, 1), (2, 1), (4, 1), (8, 1), (16, 1), (32, 1)];

    #[test]
    fn the_knee_is_where_the_parallel_parts_are_all_in_use() {
        let knees = found(&DOUBLINGS, 0.01, |c, offset| {
            rate(c, if offset == 0 { 8.0 } else { 4.0 })
        });
        assert_eq!(knees.len(), 2);
        assert_eq!((knees[0].offset, knees[0].at), (0, Some(3)));
        assert_eq!((knees[1].offset, knees[1].at), (1, Some(2)));
        assert_eq!(knees[0].cells, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn rates_that_still_rise_have_no_knee() {
        let linear = found(&DOUBLINGS, 0.01, |c, _| rate(c, 64.0));
        assert_eq!(linear.len(), 2);
        assert!(linear.iter().all(|knee| knee.at.is_none()));
        // Up to the last step there was one, and then it goes on: 8, 8, 8, 16.
        let later = found(&DOUBLINGS, 0.01, |c, _| {
            if c < 32.0 {
                rate(c, 8.0)
            } else {
                rate(16.0, 16.0)
            }
        });
        assert!(later.iter().all(|knee| knee.at.is_none()));
    }

    #[test]
    fn small_rises_are_hardly_anything_and_larger_ones_are_not() {
        // 8% and 15% for each doubling.
        let small = found(&DOUBLINGS, 0.01, |c, _| 1e6 * 1.08_f64.powf(c.log2()));
        assert!(small.iter().all(|knee| knee.at == Some(0)));
        let larger = found(&DOUBLINGS, 0.01, |c, _| 1e6 * 1.15_f64.powf(c.log2()));
        assert_eq!(larger.len(), 2);
        assert!(larger.iter().all(|knee| knee.at.is_none()));
        // At the bar itself it cannot be known.
        let same = found(&DOUBLINGS, 0.01, |c, _| 1e6 * 1.1_f64.powf(c.log2()));
        assert!(same.is_empty(), "{same:?}");
    }

    #[test]
    fn of_what_noise_hides_nothing_is_said() {
        // Flat from 4 on, but a run scatters by up to 90%: at most the true knee is found, and no rise.
        let noisy = found(&DOUBLINGS[..4], 0.9, |c, _| rate(c, 4.0));
        assert!(noisy.iter().all(|knee| knee.at == Some(2)), "{noisy:?}");
        // Means are 0, 1, 1, 1; whether the last steps rise by less than ln 1.1 is a matter of the spread.
        let series = |spread: f64| {
            let around =
                |mean: f64, sign: f64| vec![mean - sign * spread, mean, mean + sign * spread];
            [
                around(0.0, 1.0),
                around(1.0, -1.0),
                around(1.0, 1.0),
                around(1.0, -1.0),
            ]
        };
        let (doublings, latency) = ([0.0, 1.0, 2.0, 3.0], [1.0, 1.0, 2.0, 4.0]);
        assert_eq!(knee(&series(0.001), &doublings, &latency), Some(Some(1)));
        assert_eq!(knee(&series(0.1), &doublings, &latency), None);
        // Without more latency it is no knee.
        assert_eq!(knee(&series(0.001), &doublings, &[1.0; 4]), None);
    }

    #[test]
    fn order_and_ties_of_the_plan_do_not_matter() {
        let cells = [(8, 4), (1, 1), (4, 2), (2, 4), (1, 2), (8, 1), (2, 2)];
        let knees = found(&cells, 0.01, |c, _| rate(c, 8.0));
        // Concurrency 1, 2, 4, then three cells of 8 by workers, then 32.
        assert_eq!(knees[0].cells, [1, 4, 6, 3, 2, 5, 0]);
        assert_eq!(knees[0].at, Some(3));
    }

    #[test]
    fn groups_need_three_degrees_and_a_closed_loop() {
        assert!(found(&[(1, 1), (2, 1), (1, 2)], 0.0, |c, _| rate(c, 1.0)).is_empty());
        let mut plan = plan(6, 1);
        for (number, cell) in (0..).zip(&mut plan.cells) {
            cell.workers = 1 << (number % 3);
            if number < 3 {
                cell.think = Duration::from_millis(1);
            } else {
                cell.rate = Some(1000.0);
            }
        }
        assert_eq!(groups(&plan), [vec![vec![0], vec![1], vec![2]]]);
    }
}
