//! Scenarios compared with each other: replicates with common random numbers, and what they prove.
//!
//! Replicate n of every scenario draws the same random numbers, so what they have in common falls out of their ratio. The
//! ratio's interval is Student's on the logarithms of the replicates' ratios, never below Stein's
//! ([`interval`](straddle_workload::interval)), widened by the chance of another run, four times as long, which it has to
//! hold, by what the halves of the counts differ and by a request at their ends; more replicates are made until it
//! is narrow enough, which the spread and the halves alone decide: the mean is independent of both. The warm-up is cut off by [MSER-5](self#warm-up) on pilot runs. Nothing depends on how many
//! processors there are.
//!
//! # Warm-up
//!
//! A pilot of each scenario, as long as a replicate and up to 16 times as long where it does not settle, shows by MSER-5
//! (K. P. White, Simulation 69, 1997) how many requests at the beginning are unlike the rest. The longest such cut of all
//! scenarios, doubled, is left out of every run; at least two requests for each that is under way at once.
//!
//! # Steady state
//!
//! Write-back caches begin as full as they stay. Replicates are repeated, longer and later, until every store of work holds
//! as much at the end of the count as at its beginning, within 1% of what passed through it, and the second half of the count
//! has the figures of the first. A case for which neither helps says so ([`Case::unsettled`]).

mod runs;
pub(crate) mod steady;
pub(crate) mod trial;
mod warm_up;

use straddle_workload::histogram::LatencySummary;
use straddle_workload::interval::Interval;

use crate::model::cache::destages;
use crate::profile::Refusal;
use crate::quantity::Quantity;
use crate::scenario::Scenario;
use crate::system::{Counts, Length, Resource, Start, Store};
use runs::Runs;
use steady::{Beginning, Halves};
use trial::{Trial, in_order};

pub use steady::Unsettled;

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Requests that count in each replicate.
    pub requests: u64,
    /// Fewest replicates.
    pub least: u32,
    /// Most replicates; eight times as many where a gain is known to no better than five points even then.
    pub most: u32,
    /// Half width of a gain's interval at which it is narrow enough: 0.005 is half a percent.
    pub precision: f64,
    /// Seed of the first replicate.
    pub seed: u64,
}

impl Default for Effort {
    /// Half a percent within seconds.
    fn default() -> Effort {
        Effort {
            requests: 20_000,
            least: 5,
            most: 40,
            precision: 0.005,
            seed: 1,
        }
    }
}

/// What scenarios came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Trials {
    /// One for each scenario, the baseline first.
    pub cases: Vec<Case>,
    /// How long each replicate was: the warm-up is what the rule said for the slowest scenario, and more is counted than was
    /// asked for where that was no steady state.
    pub length: Length,
    /// Replicates of each scenario.
    pub replicates: u32,
}

/// What one scenario came to, all replicates together.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Requests each second: mean over replicates and 95% interval.
    pub rate: Interval,
    /// Reads each second.
    pub reads_per_second: f64,
    /// Writes each second.
    pub writes_per_second: f64,
    /// Bytes each second.
    pub bytes_per_second: f64,
    /// Latency of reads; `None` without any.
    pub read_latency: Option<LatencySummary>,
    /// Latency of writes.
    pub write_latency: Option<LatencySummary>,
    /// Mean latency of all requests in seconds: mean over replicates and 95% interval.
    pub latency: Interval,
    /// Requests under way on average.
    pub mean_outstanding: f64,
    /// Requests that counted.
    pub requests: u64,
    /// What was done for them.
    pub counts: Counts,
    /// How busy each kind of resource was, averaged over replicates.
    pub resources: Vec<Resource>,
    /// What was in each store of work at the beginnings of the counts and at their ends, all replicates together.
    pub stores: Vec<Store>,
    /// Why what was counted is no steady state; `None` where it is one.
    pub unsettled: Option<Unsettled>,
    /// Rate as a multiple of the baseline's: geometric mean of the replicates' ratios, and 95% interval. `None` for the baseline.
    pub gain: Option<Interval>,
    /// Mean latency as a multiple of the baseline's, likewise.
    pub latency_ratio: Option<Interval>,
}

/// How much better a case is than the baseline; `None` for the baseline itself.
#[must_use]
pub fn gain(case: &Case, quantity: Quantity) -> Option<Interval> {
    match quantity {
        Quantity::Rate => case.gain,
        Quantity::Latency => case.latency_ratio.map(|ratio| Interval {
            mean: 1.0 / ratio.mean,
            low: 1.0 / ratio.high,
            high: 1.0 / ratio.low,
        }),
    }
}

/// Simulates scenarios with the same random numbers until every gain's interval is narrow enough; of a single scenario,
/// until its rate's is.
///
/// # Errors
/// The first scenario that cannot be simulated; an effort of nothing.
pub fn compare(scenarios: &[Scenario], effort: Effort) -> Result<Trials, Refusal> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    compare_on(threads, scenarios, effort)
}

fn compare_on(threads: usize, scenarios: &[Scenario], effort: Effort) -> Result<Trials, Refusal> {
    let is_sound = effort.precision > 0.0 && effort.precision.is_finite();
    if effort.requests == 0 || effort.least < 2 || effort.most < effort.least || !is_sound {
        return Err(Refusal::new(
            "the effort",
            format!("{effort:?}"),
            "requests, at least two replicates, and a precision above 0",
        ));
    }
    if scenarios.is_empty() {
        return Err(Refusal::new("scenarios", "none", "at least one"));
    }
    let begun = begin(threads, scenarios, effort)?;
    let fullest = begun.iter().map(|begun| begun.fill).fold(0.0, f64::max);
    let plan = Plan {
        threads,
        scenarios,
        starts: begun
            .iter()
            .map(|begun| Start::at(begun.fill, fullest))
            .collect(),
        effort,
    };
    let mut length = Length {
        warm_up: left_out(scenarios, &begun),
        measured: effort.requests,
    };
    let longest = effort.requests.saturating_mul(steady::MAX_LEN);
    loop {
        let longer = Length {
            warm_up: length.warm_up.saturating_add(length.measured),
            measured: length.measured.saturating_mul(2),
        };
        let is_last = longer.measured > longest;
        let runs = plan.replicates(length, is_last)?;
        if is_last || !runs.is_unsettled(effort) {
            return Ok(runs.finish(length, effort));
        }
        length = longer;
    }
}

/// What does not change while a comparison is made.
struct Plan<'a> {
    threads: usize,
    scenarios: &'a [Scenario],
    starts: Vec<Start>,
    effort: Effort,
}

impl Plan<'_> {
    /// Replicates of a length, as many as are wanted; those of the first round only where they are no steady state, unless
    /// they are the last.
    fn replicates(&self, length: Length, is_last: bool) -> Result<Runs, Refusal> {
        let (scenarios, effort) = (self.scenarios, self.effort);
        let mut runs = Runs::new(scenarios, effort);
        while runs.made < runs.wanted {
            let (made, new) = (runs.made, runs.wanted - runs.made);
            let trials = in_order(self.threads, new as usize * scenarios.len(), |task| {
                let (replicate, index) = (task / scenarios.len(), task % scenarios.len());
                let seed = effort.seed.wrapping_add(u64::from(made));
                let seed = seed.wrapping_add(replicate as u64);
                let scenario = &scenarios[index];
                let outcome = scenario.simulate_from(self.starts[index], seed, length)?;
                let is_open = scenario.workload.rate.is_some();
                let halves = Halves::of(&outcome, length.warm_up, is_open);
                Trial::new(outcome, halves, &runs.cases[index].sums)
            });
            let mut trials = trials.into_iter();
            for _ in 0..new {
                runs.add(&mut trials)?;
            }
            if !is_last && runs.is_unsettled(effort) {
                break;
            }
            runs.decide(effort);
        }
        Ok(runs)
    }
}

/// Where runs of each scenario begin.
fn begin(
    threads: usize,
    scenarios: &[Scenario],
    effort: Effort,
) -> Result<Vec<Beginning>, Refusal> {
    // None of the replicates' seeds.
    let seed = effort.seed.wrapping_sub(1);
    let begun = in_order(threads, scenarios.len(), |index| {
        steady::beginning(&scenarios[index], seed, effort.requests)
    });
    begun.into_iter().collect()
}

/// Requests that every run leaves out: all that is under way at the beginning, destages included, has ended twice.
fn left_out(scenarios: &[Scenario], begun: &[Beginning]) -> u64 {
    let under_way = scenarios
        .iter()
        .map(|scenario| scenario.workload.concurrency() + destages(&scenario.profile));
    let cuts = begun.iter().map(|begun| begun.cut);
    cuts.chain(under_way).max().unwrap_or(0).saturating_mul(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::registry;
    use crate::requests::Arrivals;
    use runs::{WIDE, as_float};
    use std::time::Duration;
    use straddle_geometry::{Bytes, Unit};
    use straddle_workload::{Pattern, Percent, Workload};

    fn scenario(offset: u64, distribution: &str) -> Scenario {
        let profile = registry::load("fixed-service").expect("it is one of ours");
        Scenario {
            profile: profile
                .with(
                    "server.distribution",
                    &distribution.into(),
                    crate::profile::Origin::Flag,
                )
                .expect("a word that it knows"),
            workload: Workload {
                reads: Percent::new(70).expect("a share"),
                pattern: Pattern::Random,
                sizes: vec![(Unit::new(65_536).expect("not zero"), 1)],
                workers: 4,
                outstanding: 16,
                think: Duration::ZERO,
                rate: None,
            },
            script: None,
            arrivals: Arrivals::Even,
            offset: Bytes::new(offset),
            span: None,
        }
    }

    const EFFORT: Effort = Effort {
        requests: 10_000,
        least: 5,
        most: 30,
        precision: 0.02,
        seed: 3,
    };

    #[test]
    fn splitting_every_request_halves_the_rate_and_doubles_the_latency() {
        let scenarios = [
            scenario(32_256, "exponential"),
            scenario(65_536, "exponential"),
            scenario(32_256, "exponential"),
        ];
        let found = compare_on(1, &scenarios, EFFORT).expect("they run");
        assert_eq!(found, compare_on(7, &scenarios, EFFORT).expect("they run"));
        assert_eq!(found.length.warm_up % 2, 0);
        assert!(found.length.warm_up >= 128, "{:?}", found.length);
        assert!((5..=30).contains(&found.replicates), "{}", found.replicates);
        let [baseline, aligned, same] = &found.cases[..] else {
            panic!("three of them")
        };
        assert_eq!((baseline.gain, baseline.latency_ratio), (None, None));
        let gain = aligned.gain.expect("not the baseline");
        // Twice the work for each request, with twice as many pieces to keep the disks busy with.
        assert!((1.88..2.0).contains(&gain.mean), "{gain:?}");
        assert!((gain.high / gain.mean - 1.0) <= 0.02 + 1e-9, "{gain:?}");
        let latency = aligned.latency_ratio.expect("not the baseline");
        assert!(
            (latency.mean * gain.mean - 1.0).abs() < 0.02,
            "Little's law"
        );
        let none = same.gain.expect("not the baseline");
        assert_eq!(none.mean, 1.0);
        assert!(none.high - none.low < 1e-3, "{none:?}");
        for case in &found.cases {
            let requests = 10_000 * u64::from(found.replicates);
            assert_eq!(case.requests, requests);
            let reads = case.read_latency.expect("70%").requests;
            let writes = case.write_latency.expect("30%").requests;
            assert_eq!(reads + writes, requests);
            let share = as_float(reads) / as_float(requests);
            assert!((share - 0.7).abs() < 0.01, "{share}");
            assert!((case.mean_outstanding - 64.0).abs() < 1e-6);
            let rate = case.reads_per_second + case.writes_per_second;
            assert!((rate / case.rate.mean - 1.0).abs() < 1e-9);
            assert!((case.bytes_per_second / rate / 65_536.0 - 1.0).abs() < 1e-9);
            assert!(case.rate.low < case.rate.mean && case.rate.mean < case.rate.high);
            let [disks] = &case.resources[..] else {
                panic!("only disks")
            };
            assert_eq!((disks.name, disks.count), ("disks", 8));
            assert!(disks.mean > 0.9 && disks.mean <= disks.most && disks.most <= 1.0);
        }
        assert_eq!(aligned.counts.units, aligned.counts.commands);
        assert_eq!(baseline.counts.straddling, baseline.counts.commands);
    }

    #[test]
    fn one_scenario_is_made_as_certain_as_asked() {
        let effort = Effort {
            precision: 0.002,
            requests: 2_000,
            ..EFFORT
        };
        let found = compare(&[scenario(0, "exponential")], effort).expect("it runs");
        let rate = found.cases[0].rate;
        let is_precise = (rate.high - rate.mean) / rate.mean < 0.0021;
        assert!(is_precise || found.replicates == effort.most, "{rate:?}");
        assert_eq!(found.cases[0].gain, None);
    }

    #[test]
    fn wide_intervals_get_more_replicates_than_narrow_ones() {
        let pair = [scenario(32_256, "exponential"), scenario(0, "exponential")];
        let effort = |requests, least| Effort {
            requests,
            least,
            most: 6,
            precision: 0.0005,
            ..EFFORT
        };
        let half = |found: &Trials| {
            let gain = found.cases[1].gain.expect("not the baseline");
            gain.high - gain.mean
        };
        let short = compare(&pair, effort(100, 5)).expect("they run");
        assert!((7..=48).contains(&short.replicates), "{}", short.replicates);
        assert!(short.replicates == 48 || half(&short) <= WIDE);
        // Narrow enough to be left at the most that was asked for.
        let long = compare(&pair, effort(60_000, 5)).expect("they run");
        assert!(long.replicates == 6 && half(&long) <= WIDE, "{long:?}");
        // As for a queue that only grows.
        let few = compare(&pair, effort(100, 6)).expect("they run");
        assert!(few.replicates == 6 && half(&few) > WIDE, "{}", half(&few));
    }

    /// Without chance, all replicates end alike: the interval is that of one count.
    #[test]
    fn a_gain_is_known_to_a_request_of_each_count_at_best() {
        let pair = [scenario(0, "fixed"), scenario(0, "fixed")];
        let found = compare(&pair, EFFORT).expect("they run");
        let gain = found.cases[1].gain.expect("there is one");
        let end = 2.0 / as_float(EFFORT.requests);
        assert!(libm::log(gain.high) >= end, "{gain:?}");
        assert!(libm::log(gain.high) < 1.1 * end, "{gain:?}");
    }

    #[test]
    fn nonsense_is_refused() {
        let one = [scenario(0, "fixed")];
        for effort in [
            Effort {
                requests: 0,
                ..EFFORT
            },
            Effort { least: 1, ..EFFORT },
            Effort { most: 4, ..EFFORT },
            Effort {
                precision: 0.0,
                ..EFFORT
            },
            Effort {
                precision: f64::NAN,
                ..EFFORT
            },
        ] {
            compare(&one, effort).expect_err("nothing could come of it");
        }
        compare(&[], EFFORT).expect_err("no scenario");
        let beyond = scenario(1 << 60, "fixed");
        compare(&[one[0].clone(), beyond], EFFORT).expect_err("it lies beyond the end");
    }
}
