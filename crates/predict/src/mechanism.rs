//! Why an offset delivers what it does: what was done for each request, and which resource is busy with it.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_workload::Workload;

use crate::experiment::Case;

/// A resource is saturated when it is busy for this share of the time.
pub const SATURATED: f64 = 0.85;

/// A resource that is busy for this share of the time is never idle, but for the ends of a run.
const FULL: f64 = 0.999;

/// Commands for each request differ from one by less than this share when that comes from the ends of a run.
const AT_EITHER_END: f64 = 0.02;

/// What was done for each request.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Mechanism {
    /// Share of commands that touched more than one stripe unit.
    pub straddling: f64,
    /// Operations of members for each request.
    pub member_operations: f64,
    /// Operations of members that had to end before others could begin, for each request: reads of parity updates.
    pub reads_before_writes: f64,
    /// Granules of members (physical sectors, indirection units) read because they were written in part, for each request.
    pub granules_read: f64,
    /// The resource that was busiest on average; `None` where nothing was.
    pub busiest: Option<Busiest>,
    /// Every resource that was full, in a request's order: each of them limits.
    pub full: Vec<&'static str>,
}

/// The busiest resource.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Busiest {
    /// What it is, in the plural.
    pub name: &'static str,
    /// How many there are.
    pub count: u64,
    /// Share of the time for which they were busy, on average.
    pub mean: f64,
    /// The same of the busiest of them.
    pub most: f64,
    /// Time that each request took of all of them together, in seconds.
    pub demand_seconds: f64,
}

impl Busiest {
    /// True when nothing more fits in.
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        is_full(self.mean, self.most)
    }
}

fn is_full(mean: f64, most: f64) -> bool {
    mean >= SATURATED || most >= 0.95
}

impl Mechanism {
    /// Of what one scenario with this workload came to.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share needs no 64 bits")]
    pub fn of(case: &Case, workload: &Workload) -> Mechanism {
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let counts = &case.counts;
        // Work is counted when it is begun, requests when they are answered: in an open loop that is not kept up with, the
        // ones that came are more.
        let came = workload
            .rate
            .map_or(1.0, |rate| rate / case.rate.mean)
            .max(1.0);
        let commands = share(counts.commands, case.requests) / came;
        // Software above the array makes more commands of a request; a few more or less were under way at either end. What
        // waits in front of the array is not counted yet: a request is never less than a command.
        let commands = if commands < 1.0 + AT_EITHER_END {
            1.0
        } else {
            commands
        };
        let each = |part: u64| share(part, counts.commands) * commands;
        let mut busiest: Option<Busiest> = None;
        for resource in &case.resources {
            // Resources are in a request's order. Of several that are full the last is the limit: what comes before it
            // is kept busy by what is never served.
            let busier = |b: &Busiest| resource.mean >= b.mean.min(FULL);
            if busiest.as_ref().is_none_or(busier) && resource.mean > 0.0 {
                busiest = Some(Busiest {
                    name: resource.name,
                    count: resource.count,
                    mean: resource.mean,
                    most: resource.most,
                    demand_seconds: demand(resource.mean, resource.count, case.rate.mean),
                });
            }
        }
        Mechanism {
            straddling: share(counts.straddling, counts.commands),
            member_operations: each(counts.member_reads + counts.member_writes),
            reads_before_writes: each(counts.reads_before_writes),
            granules_read: each(counts.granules_read),
            busiest,
            full: case
                .resources
                .iter()
                .filter(|resource| is_full(resource.mean, resource.most))
                .map(|resource| resource.name)
                .collect(),
        }
    }

    /// Members read what the host did not ask for.
    #[must_use]
    pub fn is_read_modify_write(&self) -> bool {
        self.granules_read > 0.000_5 || self.reads_before_writes > 0.000_5
    }
}

/// What explains the difference between two offsets.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The busiest resource of the baseline is full: the rate rises as the time that each request takes of it falls.
    Saturated {
        /// The resource.
        resource: &'static str,
        /// Time that a request takes of it at the baseline, in seconds.
        baseline_seconds: f64,
        /// Time that it takes of it at the other offset.
        seconds: f64,
        /// Share of the time for which the resource is busy at the baseline.
        baseline_busy: f64,
        /// The same at the other offset.
        busy: f64,
    },
    /// Nothing is full at the baseline: requests are only answered sooner, and in a closed loop the next one starts sooner.
    Latency {
        /// The busiest resource and the share of time for which it is busy; `None` where nothing is.
        busiest: Option<(&'static str, f64)>,
        /// The same of the other offset, where that is full: it would gain more if it were not.
        full: Option<(&'static str, f64)>,
    },
}

/// Why the other offset differs from the baseline.
#[must_use]
pub fn cause(baseline: &Case, other: &Case, workload: &Workload) -> Cause {
    let of = Mechanism::of(baseline, workload);
    let busiest = of.busiest.as_ref();
    if let Some(busiest) = busiest.filter(|busiest| busiest.is_saturated()) {
        let same = other.resources.iter().find(|r| r.name == busiest.name);
        let seconds = same.map_or(0.0, |r| demand(r.mean, r.count, other.rate.mean));
        return Cause::Saturated {
            resource: busiest.name,
            baseline_seconds: busiest.demand_seconds,
            seconds,
            baseline_busy: busiest.mean,
            busy: same.map_or(0.0, |r| r.mean),
        };
    }
    let full = Mechanism::of(other, workload).busiest;
    let full = full.filter(Busiest::is_saturated);
    Cause::Latency {
        busiest: busiest.map(|busiest| (busiest.name, busiest.mean)),
        full: full.map(|busiest| (busiest.name, busiest.mean)),
    }
}

/// Time that each request takes of all resources of a kind (the utilisation law), in seconds.
fn demand(mean: f64, count: u64, rate: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "resources are few")]
    let count = count as f64;
    if rate > 0.0 { mean * count / rate } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{Counts, Resource};
    use straddle_workload::interval::Interval;

    fn case(rate: f64, mean: f64, operations: u64) -> Case {
        let exactly = |mean| Interval {
            mean,
            low: mean,
            high: mean,
        };
        Case {
            rate: exactly(rate),
            reads_per_second: rate,
            writes_per_second: 0.0,
            bytes_per_second: rate * 8192.0,
            read_latency: None,
            write_latency: None,
            latency: exactly(0.01),
            mean_outstanding: 1.0,
            requests: 1_000,
            counts: Counts {
                commands: 1_000,
                straddling: operations - 1_000,
                member_reads: operations,
                ..Counts::default()
            },
            resources: vec![
                Resource {
                    name: "ports",
                    count: 1,
                    mean: 0.2,
                    most: 0.2,
                },
                Resource {
                    name: "disks",
                    count: 8,
                    mean,
                    most: mean,
                },
            ],
            stores: Vec::new(),
            unsettled: None,
            gain: None,
            latency_ratio: None,
        }
    }

    fn workload(rate: Option<f64>) -> Workload {
        Workload {
            reads: straddle_workload::Percent::ALL,
            pattern: straddle_workload::Pattern::Random,
            sizes: Vec::new(),
            workers: 1,
            outstanding: 1,
            think: std::time::Duration::ZERO,
            rate,
        }
    }

    #[test]
    fn work_for_requests_that_were_never_answered_is_not_that_of_others() {
        let mut overloaded = case(500.0, 1.0, 1_125);
        overloaded.requests = 500;
        let mechanism = Mechanism::of(&overloaded, &workload(Some(1_000.0)));
        assert!((mechanism.member_operations - 1.125).abs() < 1e-12);
    }

    #[test]
    fn a_full_resource_explains_a_gain_by_what_requests_take_of_it() {
        let (baseline, aligned) = (case(1_280.0, 0.9, 1_125), case(1_440.0, 0.9, 1_000));
        let mechanism = Mechanism::of(&baseline, &workload(None));
        assert!((mechanism.straddling - 0.125).abs() < 1e-12);
        assert!((mechanism.member_operations - 1.125).abs() < 1e-12);
        let Cause::Saturated {
            resource,
            baseline_seconds,
            seconds,
            ..
        } = cause(&baseline, &aligned, &workload(None))
        else {
            panic!("90% is full");
        };
        assert_eq!(resource, "disks");
        assert_eq!(mechanism.full, ["disks"]);
        let both = Case {
            resources: vec![
                Resource {
                    mean: 0.9,
                    ..baseline.resources[0].clone()
                },
                baseline.resources[1].clone(),
            ],
            ..baseline
        };
        assert_eq!(
            Mechanism::of(&both, &workload(None)).full,
            ["ports", "disks"]
        );
        assert!((baseline_seconds / seconds - 1.125).abs() < 1e-9);
    }

    #[test]
    fn what_is_idle_gains_latency() {
        let (before, after) = (case(100.0, 0.3, 1_125), case(110.0, 0.3, 1_000));
        let cause = cause(&before, &after, &workload(None));
        assert_eq!(
            cause,
            Cause::Latency {
                busiest: Some(("disks", 0.3)),
                full: None,
            }
        );
        let after = case(300.0, 0.97, 1_000);
        assert_eq!(
            super::cause(&before, &after, &workload(None)),
            Cause::Latency {
                busiest: Some(("disks", 0.3)),
                full: Some(("disks", 0.97)),
            }
        );
    }
}
