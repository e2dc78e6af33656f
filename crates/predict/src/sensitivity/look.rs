//! Gains at other settings, by the difference that they make to replicates of the headline.

use straddle_workload::interval::Estimate;
use straddle_workload::interval::ratio::LogRatio;

use super::{Moved, with};
use crate::experiment::{self, trial::in_order};
use crate::kernel::Time;
use crate::profile::{Refusal, Value};
use crate::quantity::Quantity;
use crate::scenario::Scenario;
use crate::system::{Length, Start};

/// Replicates at each setting. The headline has more; these are its first.
const REPLICATES: u32 = 3;

/// Two scenarios that differ in their offset only, and how they are looked at.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// The baseline, and the offset whose gain is in question.
    pub pair: &'a [Scenario; 2],
    /// What is measured in a gain.
    pub quantity: Quantity,
    /// The headline's gain.
    pub headline: f64,
    /// The headline's length of run.
    pub length: Length,
    /// The headline's first seed.
    pub seed: u64,
    /// Most assumptions that are varied.
    pub most: usize,
}

/// What a replicate came to: its gain, and what shows whether another is the same run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Glance {
    gain: f64,
    took: [Time; 2],
}

/// A pair of scenarios at a setting, and where their runs begin.
struct Prepared([(Scenario, Start); 2]);

type Setting<'a> = Vec<(&'a str, &'a Value)>;

impl Look<'_> {
    /// Replicates with the profile as it is.
    pub(super) fn nominal(&self) -> Result<Vec<Glance>, Refusal> {
        let prepared = self.prepare(&[])?;
        let glances = in_order(threads(), REPLICATES as usize, |at| {
            self.glance(&prepared, at)
        });
        glances.into_iter().collect()
    }

    /// The pair with other values of some parameters, and where its runs begin.
    fn prepare(&self, values: &[(&str, &Value)]) -> Result<Prepared, Refusal> {
        let changed = |scenario: &Scenario| {
            let mut profile = scenario.profile.clone();
            for (path, value) in values {
                profile = with(profile, path, value)?;
            }
            let scenario = Scenario {
                profile,
                ..scenario.clone()
            };
            let fill = experiment::fill(&scenario)?;
            Ok((scenario, fill))
        };
        let [(baseline, first), (other, second)] =
            [changed(&self.pair[0])?, changed(&self.pair[1])?];
        let drawn = f64::max(first, second);
        let start = |fill: f64| Start::at(fill, drawn);
        Ok(Prepared([(baseline, start(first)), (other, start(second))]))
    }

    /// One replicate.
    fn glance(&self, prepared: &Prepared, replicate: usize) -> Result<Glance, Refusal> {
        let run = |(scenario, start): &(Scenario, Start)| {
            let seed = self.seed.wrapping_add(replicate as u64);
            scenario.simulate_from(*start, seed, self.length)
        };
        let [baseline, other] = &prepared.0;
        let (baseline, other) = (run(baseline)?, run(other)?);
        let gain = match self.quantity {
            Quantity::Rate => other.rate() / baseline.rate(),
            Quantity::Latency => baseline.mean_latency() / other.mean_latency(),
        };
        if !(gain.is_finite() && gain > 0.0) {
            return Err(Refusal::new(
                "the run",
                "nothing answered",
                "requests that take time",
            ));
        }
        Ok(Glance {
            gain,
            took: [baseline.elapsed, other.elapsed],
        })
    }

    /// The gain at each setting, moved from the headline's as the replicates are from `nominal`.
    pub(super) fn gains(
        &self,
        settings: &[Setting<'_>],
        nominal: &[Glance],
    ) -> Vec<Result<Moved, Refusal>> {
        let first = in_order(threads(), settings.len(), |at| {
            let prepared = self.prepare(settings.get(at).map_or(&[], Vec::as_slice))?;
            let glance = self.glance(&prepared, 0)?;
            Ok((prepared, glance))
        });
        // Runs that took the same time to the nanosecond are the same run: what was changed has no part in it.
        let is_same = |glance: &Glance| nominal.first().is_some_and(|n| n.took == glance.took);
        let open = first
            .iter()
            .filter_map(|first: &Result<_, Refusal>| first.as_ref().ok());
        let open = open.filter(|(_, first)| !is_same(first));
        let open: Vec<&Prepared> = open.map(|(prepared, _)| prepared).collect();
        let more = REPLICATES as usize - 1;
        let tasks = open.len() * more;
        let others = in_order(threads(), tasks, |task| {
            self.glance(open[task / more], 1 + task % more)
        });
        let mut others = others.into_iter();
        let moved = first.into_iter().map(|first| {
            let (_, first) = first?;
            if is_same(&first) {
                return Ok(self.moved(None));
            }
            let glances: Vec<_> = others.by_ref().take(more).collect();
            let mut estimate = Estimate::new(REPLICATES);
            for (glance, nominal) in std::iter::once(Ok(first)).chain(glances).zip(nominal) {
                estimate.push(LogRatio {
                    value: libm::log(glance?.gain / nominal.gain),
                    counting: 0.0,
                });
            }
            Ok(self.moved(Some(&estimate)))
        });
        moved.collect()
    }

    /// The headline's gain moved by an estimate of logarithms.
    fn moved(&self, estimate: Option<&Estimate>) -> Moved {
        let by = |log: f64| self.headline * libm::expm1(log);
        let (mean, half) = estimate.map_or((0.0, 0.0), |estimate| {
            (estimate.mean(), estimate.half_width().unwrap_or(0.0))
        });
        Moved {
            gain: self.headline + by(mean),
            half_width: by(half),
            by: if mean.abs() > half { by(mean) } else { 0.0 },
        }
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
