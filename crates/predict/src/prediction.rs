//! What each offset would deliver, why, how sure that is, and what to do about it.

use straddle_geometry::Bytes;
use straddle_workload::interval::Interval;
use straddle_workload::offset::Offset;
use straddle_workload::{Percent, Workload};

use crate::compose;
use crate::decision::{self, Decision, Evidence, Quantity, Recommendation, Work};
pub use crate::experiment::gain;
use crate::experiment::{Case, Effort, Trials, compare};
use crate::mechanism::{Cause, Mechanism, cause};
use crate::outline::{Place, Taken};
use crate::profile::{Profile, Refusal, Value};
use crate::requests::Arrivals;
use crate::scenario::Scenario;
use crate::script::Script;
use crate::sensitivity::{self, Look, Sensitivity};
use crate::study::{self, Missed};
use crate::system::{DESTAGING, Length};

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// The system.
    pub profile: Profile,
    /// What is asked of it; of a script, its summary.
    pub workload: Workload,
    /// What is asked in place of the workload, where it is more than that.
    pub script: Option<Script>,
    /// How requests of an open loop arrive.
    pub arrivals: Arrivals,
    /// Offsets to compare, the baseline first.
    pub offsets: Vec<Offset>,
    /// Working set in bytes; without them, all that is there behind the farthest offset.
    pub span: Option<Bytes>,
    /// How much is simulated.
    pub effort: Effort,
    /// Most assumptions that are varied.
    pub sensitivities: usize,
    /// What moving the data takes.
    pub work: Work,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// What was asked; its profile is complete, and its span is known.
    pub question: Question,
    /// The partition or volume that it is about, and what of the stack took the profile's place.
    pub place: Option<(Place, Vec<Taken>)>,
    /// One case for each offset, the baseline first.
    pub trials: Trials,
    /// What was done for each request, for each offset.
    pub mechanisms: Vec<Mechanism>,
    /// The offset to move to: the first of those that gain most. 0 when there is only the baseline.
    pub best: usize,
    /// Why that one differs from the baseline.
    pub cause: Option<Cause>,
    /// How far the gain of that one rests on assumptions.
    pub sensitivity: Sensitivity,
    /// What to do; `None` when there is only the baseline.
    pub decision: Option<Decision>,
    /// The decision for each mix of reads and writes, where there is more than one.
    pub mixes: Vec<Mix>,
    /// Nobody said which mixes: they are [`MIXES`].
    pub are_usual_mixes: bool,
    /// The first of the mixes in which the baseline would be faster if writes went through the cache.
    pub written_through: Option<WrittenThrough>,
    /// Studies in which the profile is known to be out of tolerance.
    pub missed: Vec<Missed>,
    /// Offsets at which an open loop offers more than is served: their queues grow for as long as the run lasts.
    pub overloaded: Vec<usize>,
}

/// What to do with one mix of reads and writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// Share of reads.
    pub reads: Percent,
    /// What to do; what assumptions change is not looked at.
    pub decision: Decision,
}

/// The mixes that are held side by side where none is given: reads alone, writes alone, and what databases do.
pub const MIXES: [Percent; 3] = match (Percent::new(100), Percent::new(0), Percent::new(70)) {
    (Some(reads), Some(writes), Some(mixed)) => [reads, writes, mixed],
    _ => [Percent::ALL; 3],
};

/// Writing back is slower than writing through: what may be destaged at once holds the members back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WrittenThrough {
    /// Share of reads of the mix.
    pub reads: Percent,
    /// Rate at the baseline if writes went through the cache, as a multiple of what it is.
    pub rate: Interval,
}

impl Prediction {
    /// The call that all mixes come to; `None` where it depends on the mix. Assumptions are varied for the first of them only.
    #[must_use]
    pub fn call(&self) -> Option<Recommendation> {
        let decision = self.decision.as_ref()?;
        let mut mixes = self.mixes.iter();
        let is_same = |mix: &Mix| mix.decision.as_assumed == decision.as_assumed;
        mixes.all(is_same).then_some(decision.call)
    }
}

/// Makes it for each of these mixes of reads and writes, or for [`MIXES`] where there are none, with the offsets that are compared
/// being the baseline and the best of the first.
///
/// # Errors
/// As [`predict`].
pub fn predict_mixes(
    mut question: Question,
    mixes: &[Percent],
    mut step: impl FnMut(&str),
) -> Result<Prediction, Refusal> {
    let are_usual_mixes = mixes.is_empty();
    let mixes = if are_usual_mixes { &MIXES } else { mixes };
    if let [mix, ..] = mixes {
        question.workload.reads = *mix;
    }
    let mut first = predict(question.clone(), &mut step)?;
    first.are_usual_mixes = are_usual_mixes;
    if mixes.len() < 2 {
        return Ok(first);
    }
    let (Some(decision), Some(best)) = (first.decision, question.offsets.get(first.best)) else {
        return Ok(first);
    };
    let reads = first.question.workload.reads;
    let offsets: Vec<Offset> = question
        .offsets
        .first()
        .into_iter()
        .chain([best])
        .cloned()
        .collect();
    for &mix in mixes {
        let decision = match mix == reads {
            true => Some(decision),
            false => {
                step(&format!("{}% reads", mix.get()));
                let mut other = Question {
                    offsets: offsets.clone(),
                    span: first.question.span,
                    sensitivities: 0,
                    ..question.clone()
                };
                other.workload.reads = mix;
                let (found, scenarios) = predicted(other, |_| {})?;
                let through = || written_through(&found.question, &scenarios, &found.trials);
                first.written_through = first.written_through.or_else(through);
                found.decision
            }
        };
        first.mixes.extend(decision.map(|decision| Mix {
            reads: mix,
            decision,
        }));
    }
    Ok(first)
}

/// A system that answers less than this share of what is offered does not keep up.
const KEEPS_UP: f64 = 0.97;

/// Makes it. `step` is told what is going on, for people who wait.
///
/// # Errors
/// What cannot be simulated, with the key, the value and what would be allowed.
pub fn predict(question: Question, step: impl FnMut(&str)) -> Result<Prediction, Refusal> {
    let (mut found, scenarios) = predicted(question, step)?;
    found.written_through = written_through(&found.question, &scenarios, &found.trials);
    Ok(found)
}

/// The same without a look at other write policies, and what was simulated.
fn predicted(
    mut question: Question,
    mut step: impl FnMut(&str),
) -> Result<(Prediction, Vec<Scenario>), Refusal> {
    question.profile = question.profile.complete()?;
    let is_whole = question.span.is_none();
    question.span = Some(span(&question)?);
    let scenarios = scenarios(&question);
    step("offsets");
    let mut effort = question.effort;
    if kept_up(&question, &scenarios).contains(&false) {
        // No number of replicates narrows the interval of a queue that only grows.
        effort.most = effort.least;
    }
    let trials =
        compare(&scenarios, effort).map_err(|refusal| too_much(&question, &scenarios, refusal))?;
    let cases = trials.cases.iter().enumerate();
    let overloaded = cases.filter(|(_, case)| !keeps_up(case, &question.workload));
    let overloaded: Vec<usize> = overloaded.map(|(index, _)| index).collect();
    // Where no offset keeps up, latencies are those of the run's length, and what is served counts.
    let quantity = match overloaded.len() == trials.cases.len() {
        true => Quantity::Rate,
        false => quantity(&question.workload),
    };
    let best = best(&trials, quantity);
    let mut sensitivity = Sensitivity::default();
    let mut found = None;
    if let [baseline, ..] = scenarios.as_slice()
        && let (Some(case), Some(scenario)) = (trials.cases.get(best), scenarios.get(best))
        && let Some(gain) = gain(case, quantity)
    {
        let pair = [baseline.clone(), scenario.clone()];
        let ends = trials.cases.first().into_iter().chain([case]);
        let is_settled = ends.into_iter().all(|case| case.unsettled.is_none());
        let look = Look {
            pair: &pair,
            quantity,
            headline: gain.mean,
            length: trials.length,
            effort: question.effort,
            is_settled,
            is_whole,
            most: question.sensitivities,
        };
        sensitivity = sensitivity::vary(look, &mut step)?;
        let evidence = Evidence {
            quantity,
            gain,
            ends: sensitivity.ends(),
        };
        let cause = trials
            .cases
            .first()
            .map(|first| cause(first, case, &question.workload));
        let mut decision = decision::decide(evidence, question.work);
        if !is_settled {
            // Nothing is known of what it settles to.
            decision.call = Recommendation::Undecided;
        }
        found = Some((decision, cause));
    }
    let (decision, cause) = found.unzip();
    let missed = study::missed(&question.profile.name);
    let prediction = Prediction {
        place: None,
        mechanisms: trials
            .cases
            .iter()
            .map(|case| Mechanism::of(case, &question.workload))
            .collect(),
        question,
        trials,
        best,
        written_through: None,
        cause: cause.flatten(),
        sensitivity,
        decision,
        mixes: Vec::new(),
        are_usual_mixes: false,
        missed,
        overloaded,
    };
    Ok((prediction, scenarios))
}

/// How much faster the baseline would be if writes went through the cache; `None` where it would not be, or where it is not
/// destages that hold it back.
fn written_through(
    question: &Question,
    scenarios: &[Scenario],
    trials: &Trials,
) -> Option<WrittenThrough> {
    let (baseline, case) = (scenarios.first()?, trials.cases.first()?);
    let held = Mechanism::of(case, &question.workload)
        .full
        .contains(&DESTAGING);
    if !held || question.workload.rate.is_some() {
        return None;
    }
    let through = Scenario {
        profile: sensitivity::with(
            baseline.profile.clone(),
            "cache.write",
            &Value::Word("through"),
        )
        .ok()?,
        ..baseline.clone()
    };
    let effort = Effort {
        most: question.effort.least,
        ..question.effort
    };
    let found = compare(&[baseline.clone(), through], effort).ok()?;
    let rate = found.cases.get(1)?.gain?;
    (rate.low > 1.0).then_some(WrittenThrough {
        reads: question.workload.reads,
        rate,
    })
}

/// False in an open loop that offers more than is served.
#[must_use]
pub fn keeps_up(case: &Case, workload: &Workload) -> bool {
    let offered = workload.rate;
    offered.is_none_or(|rate| case.rate.mean >= rate * KEEPS_UP)
}

/// Whether each offset keeps up with an open loop; a closed one is always kept up with.
fn kept_up(question: &Question, scenarios: &[Scenario]) -> Vec<bool> {
    let Some(rate) = question.workload.rate else {
        return vec![true; scenarios.len()];
    };
    let length = Length {
        warm_up: 0,
        measured: question.effort.requests,
    };
    let keeps_up = |scenario: &Scenario| {
        let outcome = scenario.simulate(question.effort.seed, length);
        outcome.is_ok_and(|outcome| outcome.rate() >= rate * KEEPS_UP)
    };
    scenarios.iter().map(keeps_up).collect()
}

/// Where requests pile up without end, says at which offsets they do.
fn too_much(question: &Question, scenarios: &[Scenario], refusal: Refusal) -> Refusal {
    let Some(rate) = question.workload.rate.filter(|_| refusal.key == "the rate") else {
        return refusal;
    };
    let named = |which: bool| -> Vec<&str> {
        let pairs = question.offsets.iter().zip(kept_up(question, scenarios));
        let found = pairs.filter(|(_, keeps_up)| *keeps_up == which);
        found.map(|(offset, _)| offset.name.as_str()).collect()
    };
    let (not, yes) = (named(false), named(true));
    let mut found = format!("{rate}/s, more than is served at {}", not.join(", "));
    if !yes.is_empty() {
        found.push_str(&format!(" (but not at {})", yes.join(", ")));
    }
    let expected = "a lower rate, or none: a closed loop shows what each offset serves at most";
    Refusal::new("--rate", found, expected)
}

/// A scenario for each offset.
pub(crate) fn scenarios(question: &Question) -> Vec<Scenario> {
    let scenario = |offset: &Offset| Scenario {
        profile: question.profile.clone(),
        workload: question.workload.clone(),
        script: question.script.clone(),
        arrivals: question.arrivals,
        offset: offset.bytes,
        span: question.span,
    };
    question.offsets.iter().map(scenario).collect()
}

/// Bytes that a system holds.
///
/// # Errors
/// A parameter that makes no sense.
pub fn capacity(profile: &Profile) -> Result<Bytes, Refusal> {
    crate::system::capacity(&profile.complete()?).map(Bytes::new)
}

/// The first sector of a partition that was made without regard to any grid: sector 63, as tools of the 1980s and 1990s
/// counted a track.
const TRACK: u64 = 63;

/// Where a partition at sector 63 begins: 31.5 KiB, or on disks with logical sectors of 4 KiB, 252 KiB.
///
/// # Errors
/// A parameter that makes no sense.
pub fn unaligned(profile: &Profile) -> Result<Bytes, Refusal> {
    let sector = crate::system::sector(&profile.complete()?)?;
    Ok(Bytes::new(TRACK * sector.max(512)))
}

/// Working set in bytes: the same at every offset, or places could not be.
pub(crate) fn span(question: &Question) -> Result<Bytes, Refusal> {
    compose::possible(&question.profile)?;
    let capacity = capacity(&question.profile)?;
    let farthest = question.offsets.iter().map(|offset| offset.bytes).max();
    let farthest = farthest.unwrap_or(Bytes::ZERO);
    let room = capacity.checked_sub(farthest).unwrap_or(Bytes::ZERO);
    if room == Bytes::ZERO {
        return Err(Refusal::new(
            "--offsets",
            farthest,
            format!("less than the {capacity} that the system holds"),
        ));
    }
    match question.span {
        Some(span) if span > room => Err(Refusal::new(
            "--size",
            span,
            format!("at most {room}, what the system holds behind the farthest offset"),
        )),
        Some(span) => Ok(span),
        None => Ok(room),
    }
}

/// In an open loop as much is done as is offered; what changes is the time it takes.
#[must_use]
pub fn quantity(workload: &Workload) -> Quantity {
    match workload.rate {
        Some(_) => Quantity::Latency,
        None => Quantity::Rate,
    }
}

/// The first case whose gain may be as large as the largest.
fn best(trials: &Trials, quantity: Quantity) -> usize {
    let gains = || {
        let cases = trials.cases.iter().enumerate();
        cases.filter_map(|(index, case)| Some((index, gain(case, quantity)?)))
    };
    let most = gains().map(|(_, gain)| gain.mean).fold(0.0, f64::max);
    let mut as_good = gains().filter(|(_, gain)| gain.high >= most);
    as_good.next().map_or(0, |(index, _)| index)
}
