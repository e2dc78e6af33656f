//! Gains at other settings, by the difference that they make to replicates of the headline.

use straddle_geometry::Bytes;
use straddle_workload::interval::Estimate;

use super::{Moved, NotKnown, with};
use crate::experiment::steady::{self, Halves, plain};
use crate::experiment::trial::{add, in_order};
use crate::experiment::{Effort, compare, gain};
use crate::kernel::Time;
use crate::profile::{Profile, Refusal, Value};
use crate::quantity::Quantity;
use crate::scenario::Scenario;
use crate::system::{self, Length, Start, Store};

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
    /// What the headline was made with.
    pub effort: Effort,
    /// The headline is of a steady state.
    pub is_settled: bool,
    /// The working set is all that there is: where a value leaves less, over that much in every run.
    pub is_whole: bool,
    /// Most assumptions that are varied.
    pub most: usize,
}

/// What a replicate came to: its gain, and what shows whether another is the same run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Glance {
    gain: f64,
    took: [Time; 2],
    /// What shows whether it is a steady state.
    stores: [Vec<Store>; 2],
    halves: [Option<f64>; 2],
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

    /// The pair with requests spread over what the smallest of these settings has room for, and all that make it smaller together.
    pub(super) fn narrowed(&self, settings: &[Setting<'_>]) -> Result<[Scenario; 2], Refusal> {
        let [baseline, _] = self.pair;
        let whole = capacity(&baseline.profile)?;
        let mut least = whole;
        let mut together = (baseline.profile.clone(), whole);
        for values in settings {
            let room = |profile: &Profile| {
                let profile = changed(profile, values).ok()?;
                let room = capacity(&profile).ok()?;
                Some((profile, room))
            };
            least = room(&baseline.profile).map_or(least, |(_, room)| least.min(room));
            if let Some(further) = room(&together.0).filter(|(_, room)| *room < together.1) {
                together = further;
            }
        }
        least = least.min(together.1);
        let lost = whole.checked_sub(least).unwrap_or(Bytes::ZERO);
        Ok(self.pair.clone().map(|scenario| Scenario {
            span: scenario.span.and_then(|span| span.checked_sub(lost)),
            ..scenario
        }))
    }

    /// The pair with other values of some parameters.
    fn changed(&self, values: &[(&str, &Value)]) -> Result<[Scenario; 2], Refusal> {
        let [baseline, other] = self.pair;
        let changed = |scenario: &Scenario| {
            Ok(Scenario {
                profile: changed(&scenario.profile, values)?,
                ..scenario.clone()
            })
        };
        Ok([changed(baseline)?, changed(other)?])
    }

    /// The same, and where its runs begin: where the headline's would.
    fn prepare(&self, values: &[(&str, &Value)]) -> Result<Prepared, Refusal> {
        let seed = self.effort.seed.wrapping_sub(1);
        let filled = |scenario: Scenario| {
            let fill = steady::fill(&scenario, seed, self.effort.requests)?;
            Ok((scenario, fill))
        };
        let [baseline, other] = self.changed(values)?;
        let [(baseline, first), (other, second)] = [filled(baseline)?, filled(other)?];
        let drawn = f64::max(first, second);
        let start = |fill: f64| Start::at(fill, drawn);
        Ok(Prepared([(baseline, start(first)), (other, start(second))]))
    }

    /// One replicate.
    fn glance(&self, prepared: &Prepared, replicate: usize) -> Result<Glance, Refusal> {
        let run = |(scenario, start): &(Scenario, Start)| {
            let seed = self.effort.seed.wrapping_add(replicate as u64);
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
        let halves = [&baseline, &other].map(|outcome| {
            let halves = Halves::of(outcome, self.length.warm_up, self.is_open());
            halves.map(Halves::log)
        });
        Ok(Glance {
            gain,
            took: [baseline.elapsed, other.elapsed],
            stores: [baseline.stores, other.stores],
            halves,
        })
    }

    fn is_open(&self) -> bool {
        self.pair[0].workload.rate.is_some()
    }

    /// True where these runs are in no steady state.
    fn is_unsettled(&self, glances: &[Glance]) -> bool {
        [0, 1].into_iter().any(|at| {
            let mut stores = Vec::new();
            let [mut halves, mut gains] = [(); 2].map(|()| Estimate::new(REPLICATES));
            for glance in glances {
                add(&mut stores, &glance.stores[at]);
                if let (Some(of), Some(own)) = (glance.halves[0], glance.halves[at]) {
                    halves.push(plain(own));
                    gains.push(plain(own - of));
                }
            }
            let precision = self.effort.precision;
            steady::unsettled(&stores, [&halves, &gains], precision, self.is_open()).is_some()
        })
    }

    /// The gain at a setting whose runs need to be longer than the headline's to be steady, by itself.
    fn again(&self, setting: &[(&str, &Value)]) -> Result<Moved, NotKnown> {
        let effort = Effort {
            most: self.effort.least,
            ..self.effort
        };
        let trials = match self.is_settled {
            true => compare(&self.changed(setting)?, effort)?,
            false => return Err(NotKnown::Unsettled),
        };
        let is_unsettled = trials.cases.iter().any(|case| case.unsettled.is_some());
        let case = trials.cases.get(1).filter(|_| !is_unsettled);
        let gain = case.and_then(|case| gain(case, self.quantity));
        let gain = gain.ok_or(NotKnown::Unsettled)?;
        let (by, half) = (gain.mean - self.headline, gain.high - gain.mean);
        Ok(Moved {
            gain: gain.mean,
            half_width: half,
            by: if by.abs() > half { by } else { 0.0 },
        })
    }

    /// The gain at each setting, moved from the headline's as the replicates are from `nominal`.
    pub(super) fn gains(
        &self,
        settings: &[Setting<'_>],
        nominal: &[Glance],
    ) -> Vec<Result<Moved, NotKnown>> {
        let first = in_order(threads(), settings.len(), |at| {
            let prepared = self.prepare(settings.get(at).map_or(&[], Vec::as_slice))?;
            let glance = self.glance(&prepared, 0)?;
            Ok::<_, NotKnown>((prepared, glance))
        });
        // Runs that took the same time to the nanosecond are the same run: what was changed has no part in it.
        let is_same = |glance: &Glance| nominal.first().is_some_and(|n| n.took == glance.took);
        let open = first
            .iter()
            .filter_map(|first: &Result<_, _>| first.as_ref().ok());
        let open = open.filter(|(_, first)| !is_same(first));
        let open: Vec<&Prepared> = open.map(|(prepared, _)| prepared).collect();
        let more = REPLICATES as usize - 1;
        let tasks = open.len() * more;
        let others = in_order(threads(), tasks, |task| {
            self.glance(open[task / more], 1 + task % more)
        });
        let mut others = others.into_iter();
        let moved = first.into_iter().zip(settings).map(|(first, setting)| {
            let (_, first) = first?;
            if is_same(&first) {
                return Ok(self.moved(None));
            }
            let glances: Vec<_> = others.by_ref().take(more).collect();
            let glances = std::iter::once(Ok(first)).chain(glances);
            let glances: Vec<Glance> = glances.collect::<Result<_, _>>()?;
            if self.is_unsettled(&glances) {
                return self.again(setting);
            }
            let mut estimate = Estimate::new(REPLICATES);
            for (glance, nominal) in glances.iter().zip(nominal) {
                estimate.push(plain(libm::log(glance.gain / nominal.gain)));
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

/// A profile with other values of some parameters.
fn changed(profile: &Profile, values: &[(&str, &Value)]) -> Result<Profile, Refusal> {
    let mut changed = profile.clone();
    for (path, value) in values {
        changed = with(changed, path, value)?;
    }
    Ok(changed)
}

fn capacity(profile: &Profile) -> Result<Bytes, Refusal> {
    system::capacity(&profile.complete()?).map(Bytes::new)
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
