//! One run of a scenario, reduced to what is kept of it; and many of them at once.
//!
//! Latencies and counts are whole numbers, so they are added up as runs end, in any order, and come out the same. What is
//! a fraction is kept for each run and added up in the order of the runs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use straddle_workload::histogram::Latencies;

use super::steady::Halves;
use crate::profile::Refusal;
use crate::system::{Counts, Outcome, Resource, Store};

/// What is kept of a run.
#[derive(Debug)]
pub(super) struct Trial {
    pub(super) rate: f64,
    pub(super) latency: f64,
    pub(super) seconds: f64,
    pub(super) mean_outstanding: f64,
    pub(super) requests: u64,
    pub(super) reads: u64,
    pub(super) bytes: u64,
    pub(super) resources: Vec<Resource>,
    pub(super) halves: Option<Halves>,
}

/// What runs of one scenario have in common, whatever their order.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) reads: Latencies,
    pub(super) writes: Latencies,
    pub(super) counts: Counts,
    pub(super) stores: Vec<Store>,
}

impl Trial {
    /// Takes a run apart; `sums` are those of its scenario.
    ///
    /// # Errors
    /// A run that answered nothing, or took no time.
    pub(super) fn new(
        outcome: Outcome,
        halves: Option<Halves>,
        sums: &Mutex<Sums>,
    ) -> Result<Trial, Refusal> {
        let (rate, latency) = (outcome.rate(), outcome.mean_latency());
        if !(rate > 0.0 && rate.is_finite() && latency.is_finite()) {
            return Err(Refusal::new(
                "the run",
                format!("{} requests answered", outcome.requests()),
                "requests that take time",
            ));
        }
        let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.reads.merge(&outcome.reads);
        sums.writes.merge(&outcome.writes);
        sums.counts += outcome.counts;
        add(&mut sums.stores, &outcome.stores);
        Ok(Trial {
            rate,
            latency,
            seconds: outcome.elapsed.to_seconds(),
            mean_outstanding: outcome.mean_outstanding,
            requests: outcome.requests(),
            reads: outcome.reads.count(),
            bytes: outcome.bytes,
            resources: outcome.resources,
            halves,
        })
    }
}

/// Adds the stores of a further run of the same scenario.
pub(crate) fn add(sums: &mut Vec<Store>, stores: &[Store]) {
    for store in stores {
        match sums.iter_mut().find(|sum| sum.name == store.name) {
            Some(sum) => {
                sum.before += store.before;
                sum.after += store.after;
                sum.passed += store.passed;
            }
            None => sums.push(*store),
        }
    }
}

/// What tasks 0 to `count` return, in their order, worked through on so many threads.
pub(crate) fn in_order<T: Send>(
    threads: usize,
    count: usize,
    task: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let threads = threads.min(count);
    if threads <= 1 {
        return (0..count).map(task).collect();
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(count));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    let result = task(index);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_their_tasks() {
        for threads in [0, 1, 3, 50] {
            let found = in_order(threads, 20, |index| index * index);
            assert_eq!(found, (0..20).map(|n| n * n).collect::<Vec<_>>());
        }
    }
}
