//! Replicates of scenarios: what they came to so far, how certain that is, and how many more are wanted.

use std::sync::{Mutex, PoisonError};
use straddle_workload::histogram::Latencies;
use straddle_workload::interval::{Estimate, Interval, ratio::LogRatio};

use super::steady::{self, Halves, Unsettled};
use super::trial::{Sums, Trial};
use super::{Case, Effort, Trials};
use crate::profile::Refusal;
use crate::scenario::Scenario;
use crate::system::{Length, Resource};

/// Half width of a gain's interval, as a part of the baseline's rate, above which more replicates are made than otherwise.
pub(super) const WIDE: f64 = 0.05;
/// How many times as many they may be.
const MORE: u32 = 8;
/// What an interval has to hold is what a run of four times as many requests comes to, whose own chance is a quarter of the
/// variance: the root of 1 + 1/4.
const REPEATED: f64 = 1.118_033_988_749_895;

/// All replicates so far.
pub(super) struct Runs {
    pub(super) cases: Vec<Running>,
    pub(super) made: u32,
    pub(super) wanted: u32,
}

/// All replicates of one scenario so far.
pub(super) struct Running {
    pub(super) sums: Mutex<Sums>,
    rate: Estimate,
    latency: Estimate,
    /// Logarithms: of the ratios to the baseline; the baseline's own, of its figures.
    gain: Estimate,
    latency_ratio: Estimate,
    /// Logarithms: second halves through first halves, of the rate and of the gain.
    halves: Estimate,
    gain_halves: Estimate,
    /// A request as a part of a count, of this case and of the baseline together.
    ends: f64,
    is_baseline: bool,
    /// Requests come by themselves: the rate is what is offered, whatever the latency.
    is_open: bool,
    totals: Totals,
}

#[derive(Default)]
struct Totals {
    runs: f64,
    reads_per_second: f64,
    writes_per_second: f64,
    bytes_per_second: f64,
    outstanding: f64,
    requests: u64,
    resources: Vec<Resource>,
}

impl Runs {
    pub(super) fn new(scenarios: &[Scenario], effort: Effort) -> Runs {
        let estimate = || Estimate::new(effort.least);
        let case = |(index, scenario): (usize, &Scenario)| Running {
            sums: Mutex::default(),
            rate: estimate(),
            latency: estimate(),
            gain: estimate(),
            latency_ratio: estimate(),
            halves: estimate(),
            gain_halves: estimate(),
            ends: 0.0,
            is_baseline: index == 0,
            is_open: scenario.workload.rate.is_some(),
            totals: Totals::default(),
        };
        Runs {
            cases: scenarios.iter().enumerate().map(case).collect(),
            made: 0,
            wanted: effort.least,
        }
    }

    /// The next replicate of every scenario.
    pub(super) fn add(
        &mut self,
        trials: &mut impl Iterator<Item = Result<Trial, Refusal>>,
    ) -> Result<(), Refusal> {
        let mut baseline = None;
        for (case, trial) in self.cases.iter_mut().zip(trials) {
            let trial = trial?;
            let figures = (libm::log(trial.rate), libm::log(trial.latency));
            // A run's end is known to one request: it counts a whole number of them.
            let requests = as_float(trial.requests);
            let counting = 1.0 / (12.0 * requests * requests);
            let halves = trial.halves.map(Halves::log);
            let end = 1.0 / requests;
            let (of, counting, end_of, of_halves) = match baseline {
                None => ((0.0, 0.0), counting, 0.0, None),
                Some((of, its, end, halves)) => (of, counting + its, end, halves),
            };
            case.ends = case.ends.max(end + end_of);
            if let Some(halves) = halves {
                case.halves.push(steady::plain(halves));
                let of = of_halves.unwrap_or(halves);
                case.gain_halves.push(steady::plain(halves - of));
            }
            let ratio = |value| LogRatio { value, counting };
            case.gain.push(ratio(figures.0 - of.0));
            case.latency_ratio.push(ratio(figures.1 - of.1));
            case.add(trial);
            if baseline.is_none() {
                baseline = Some((figures, counting, end, halves));
            }
        }
        self.made += 1;
        Ok(())
    }

    /// True where some case is in no steady state.
    pub(super) fn is_unsettled(&self, effort: Effort) -> bool {
        let mut cases = self.cases.iter();
        cases.any(|case| case.unsettled(effort).is_some())
    }

    pub(super) fn finish(self, length: Length, effort: Effort) -> Trials {
        let finished = self.cases.into_iter().map(|case| {
            let unsettled = case.unsettled(effort);
            case.finish(unsettled)
        });
        Trials {
            replicates: self.made,
            cases: finished.collect(),
            length,
        }
    }

    /// How many replicates there should be: as many as there are when that is enough.
    pub(super) fn decide(&mut self, effort: Effort) {
        let half = libm::log1p(effort.precision);
        let is_alone = self.cases.len() == 1;
        let mut wanted = self.made;
        let mut for_wide = 0;
        for case in &self.cases {
            if case.is_baseline && !is_alone {
                continue;
            }
            let [gain, latency] = case.uncertain();
            if !is_alone {
                let wide = libm::log1p(WIDE / libm::exp(gain.estimate.mean()));
                for_wide = for_wide.max(gain.needed(wide).unwrap_or(0));
            }
            // A baseline alone has no ratio, but its rate should be as certain as one.
            let latency = (!is_alone).then_some(latency);
            let needed = [Some(gain), latency].into_iter().flatten();
            for needed in needed.filter_map(|uncertain| uncertain.needed(half)) {
                wanted = wanted.max(needed).max(self.made + 1);
            }
        }
        // A fixed number of replicates is what is made where none narrows the interval.
        let is_fixed = effort.least == effort.most;
        let more = if is_fixed { 1 } else { MORE };
        let for_wide = for_wide.min(effort.most.saturating_mul(more));
        self.wanted = wanted.min(effort.most).max(for_wide);
    }
}

/// An estimate, and what no further replicate makes less.
struct Uncertain<'a> {
    estimate: &'a Estimate,
    /// What its halves differ: what a count that goes on may move it by.
    halves: f64,
    /// A request at the ends of the counts, of both scenarios. Where chance has little part, all replicates end alike.
    ends: f64,
}

impl Uncertain<'_> {
    /// Half the width of its interval, in logarithms; `None` below two replicates.
    ///
    /// Noise between replicates, a figure that still moves and where counts end are independent, so their squares add.
    fn half_width(&self) -> Option<f64> {
        Some(libm::hypot(self.of_replicates()?, self.ends))
    }

    /// The same without where counts end.
    fn of_replicates(&self) -> Option<f64> {
        let own = REPEATED * self.estimate.half_width()?;
        Some(libm::hypot(own, self.halves))
    }

    /// Replicates after which what they can make less is expected to be no more than `half`; `None` where it is.
    fn needed(&self, half: f64) -> Option<u32> {
        let own = self.estimate.half_width()?;
        let whole = self.of_replicates().filter(|whole| *whole > half)?;
        // The mean of what halves differ by chance shrinks with more replicates as the rest does.
        self.estimate.needed(half * own / whole)
    }
}

impl Running {
    /// The gain and the ratio of latencies.
    fn uncertain(&self) -> [Uncertain<'_>; 2] {
        let (halves, ends) = (self.gain_halves.mean(), self.ends);
        let gain = Uncertain {
            estimate: &self.gain,
            halves: if self.is_open { 0.0 } else { halves },
            ends,
        };
        let latency_ratio = Uncertain {
            estimate: &self.latency_ratio,
            halves,
            ends,
        };
        [gain, latency_ratio]
    }

    fn add(&mut self, trial: Trial) {
        self.rate.push(steady::plain(trial.rate));
        self.latency.push(steady::plain(trial.latency));
        let totals = &mut self.totals;
        totals.runs += 1.0;
        totals.reads_per_second += as_float(trial.reads) / trial.seconds;
        totals.writes_per_second += as_float(trial.requests - trial.reads) / trial.seconds;
        totals.bytes_per_second += as_float(trial.bytes) / trial.seconds;
        totals.outstanding += trial.mean_outstanding;
        totals.requests += trial.requests;
        for used in trial.resources {
            let mut known = totals.resources.iter_mut();
            match known.find(|known| known.name == used.name) {
                Some(known) => {
                    known.mean += used.mean;
                    known.most += used.most;
                }
                None => totals.resources.push(used),
            }
        }
    }

    fn unsettled(&self, effort: Effort) -> Option<Unsettled> {
        let sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        let halves = [&self.halves, &self.gain_halves];
        steady::unsettled(&sums.stores, halves, effort.precision, self.is_open)
    }

    fn finish(self, unsettled: Option<Unsettled>) -> Case {
        // What still moves may be anywhere between its halves, and go on.
        let halves = &self.gain_halves;
        let by = match unsettled {
            Some(_) => halves.mean().abs() + halves.half_width().unwrap_or(0.0),
            None => 0.0,
        };
        let [gain, latency_ratio] = self.uncertain().map(|uncertain| {
            let (mean, half) = (uncertain.estimate.mean(), uncertain.half_width()? + by);
            let interval = Interval {
                mean: libm::exp(mean),
                low: libm::exp(mean - half),
                high: libm::exp(mean + half),
            };
            Some(interval).filter(|_| !self.is_baseline)
        });
        let sums = self
            .sums
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let summary = |latencies: &Latencies| (latencies.count() > 0).then(|| latencies.summary());
        let totals = self.totals;
        let average = |used: Resource| Resource {
            mean: used.mean / totals.runs,
            most: used.most / totals.runs,
            ..used
        };
        Case {
            rate: plain(&self.rate),
            reads_per_second: totals.reads_per_second / totals.runs,
            writes_per_second: totals.writes_per_second / totals.runs,
            bytes_per_second: totals.bytes_per_second / totals.runs,
            read_latency: summary(&sums.reads),
            write_latency: summary(&sums.writes),
            latency: plain(&self.latency),
            mean_outstanding: totals.outstanding / totals.runs,
            requests: totals.requests,
            counts: sums.counts,
            resources: totals.resources.into_iter().map(average).collect(),
            stores: sums.stores,
            unsettled,
            gain,
            latency_ratio,
        }
    }
}

/// Mean and interval of the values themselves.
fn plain(estimate: &Estimate) -> Interval {
    let (mean, half) = (estimate.mean(), estimate.half_width().unwrap_or(0.0));
    Interval {
        mean,
        low: mean - half,
        high: mean + half,
    }
}

pub(super) fn as_float(count: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no 64 bits")]
    let count = count as f64;
    count
}

#[cfg(test)]
mod tests {
    use super::super::steady::plain;
    use super::*;

    #[test]
    fn what_halves_differ_is_part_of_an_interval() {
        let mut estimate = Estimate::new(2);
        for value in [0.1, 0.1 + 2e-3] {
            estimate.push(plain(value));
        }
        let own = REPEATED * estimate.half_width().expect("two of them");
        let uncertain = |halves| Uncertain {
            estimate: &estimate,
            halves,
            ends: 0.0,
        };
        for halves in [0.0, own, -own] {
            let whole = uncertain(halves).half_width().expect("two of them");
            let root = if halves == 0.0 { 1.0 } else { 2_f64.sqrt() };
            assert!((whole / own - root).abs() < 1e-12, "{whole} of {own}");
        }
        // Narrow enough by itself, and not with what its halves differ: half as wide takes four times as many.
        assert_eq!(uncertain(0.0).needed(own * 1.0001), None);
        let needed = uncertain(own).needed(own / 2_f64.sqrt());
        assert!(matches!(needed, Some(8..=9)), "{needed:?}");
        // Where counts end is part of it, too, and no reason for more of them.
        let ends = |ends| Uncertain {
            ends,
            ..uncertain(0.0)
        };
        let whole = ends(own).half_width().expect("two of them");
        assert!(
            (whole / own - 2_f64.sqrt()).abs() < 1e-12,
            "{whole} of {own}"
        );
        assert_eq!(ends(own).needed(own * 1.0001), None);
    }
}
