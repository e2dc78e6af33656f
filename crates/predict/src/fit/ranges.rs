//! Which values of assumptions a measurement rules out.
//!
//! Each assumption that any rate depends on takes values from all of its range, all of them at once, in sets that cover the
//! ranges evenly (a Latin hypercube); further waves of sets cover the part of the ranges in which the nearest of the earlier
//! ones lie. A set is kept when it gives every measured rate and every measured gain within the bands that published ones
//! are compared by. What no kept set has is ruled out; what is left is a narrower range. This is
//! history matching (Craig et al., 1997): nothing is said to be best, only what cannot be.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::{Bench, Measured};
use crate::experiment::trial::in_order;
use crate::profile::{Kind, Profile, Range, Refusal, Value};
use crate::sensitivity::{Assumption, assumptions, shown, with};
use crate::study::{Band, Metric, Published};

/// Most assumptions that are varied: those that move a rate furthest.
const MAX: usize = 8;
/// A rate that moves by less than this share does not depend on an assumption.
const FLAT: f64 = 0.005;
/// Waves of sets.
const WAVES: u32 = 6;
/// The next wave covers what so many of the nearest sets lie in, and this share of each range around it.
const NEAREST: usize = 10;
const MARGIN: f64 = 0.05;
/// Times the difference between two seeds that is put down to chance.
const NOISE: f64 = 2.0;
/// Fewest sets that have to be kept before anything is ruled out.
const MIN: usize = 5;

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranges {
    /// Sets of values.
    pub sets: u32,
    /// Requests for each cell and offset.
    pub requests: u64,
    /// Seed of all of them.
    pub seed: u64,
}

/// What a measurement leaves of the assumptions.
#[derive(Clone, Debug)]
pub struct Narrowed {
    /// The profile with narrower ranges, its values within them.
    pub profile: Profile,
    /// What became of each assumption that a rate depends on, the one that moves rates most first.
    pub assumptions: Vec<Left>,
    /// Assumptions that no rate depends on: the measurement does not tell them.
    pub untold: Vec<String>,
    /// Sets that could be simulated.
    pub sets: usize,
    /// Those of them that agree with the measurement.
    pub kept: usize,
    /// Largest share by which the nearest set's worst rate is off.
    pub nearest: f64,
}

impl Narrowed {
    /// False when too few sets agree to rule anything out: another profile, or a mechanism that is not modelled.
    #[must_use]
    pub fn is_telling(&self) -> bool {
        self.kept >= MIN
    }
}

/// What is left of an assumption.
#[derive(Clone, Debug, PartialEq)]
pub struct Left {
    /// `section.key`.
    pub path: String,
    /// As it was assumed.
    pub value: String,
    /// What it might have been.
    pub before: Vec<String>,
    /// What it may be still: both ends, or words.
    pub after: Vec<String>,
    /// Whether these are words.
    pub is_of_words: bool,
}

impl Left {
    /// True where the measurement says anything.
    #[must_use]
    pub fn is_narrower(&self) -> bool {
        self.before != self.after
    }
}

/// Says what a measurement leaves of the assumptions of a profile.
///
/// # Errors
/// A profile without an assumption that has a range, or a measurement that cannot be simulated.
pub fn narrow(
    profile: &Profile,
    measured: &Measured,
    effort: Ranges,
    mut step: impl FnMut(&str),
) -> Result<Narrowed, Refusal> {
    let profile = profile.complete()?;
    let bench = Bench::of(&profile, measured, effort.requests)?;
    let all = assumptions::of(&profile, &mut Vec::new());
    if all.is_empty() {
        return Err(Refusal::new(
            "the profile",
            "without an assumption that has a range",
            "one that has some",
        ));
    }
    step("what rates depend on");
    let now = bench.rates(&profile, effort.seed)?;
    let again = bench.rates(&profile, effort.seed.wrapping_add(1))?;
    let noise = NOISE * super::difference(&now, &again);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let moved = in_order(threads, all.len(), |at| {
        let assumption = &all[at];
        let ends = assumption.others.iter().filter_map(|other| {
            let profile = with(profile.clone(), &assumption.path, other).ok()?;
            let rates = bench.rates(&profile, effort.seed).ok()?;
            let pairs = rates.iter().zip(&now);
            Some(
                pairs
                    .map(|(rate, now)| libm::log(rate / now).abs())
                    .fold(0.0, f64::max),
            )
        });
        ends.fold(0.0, f64::max)
    });
    let mut ranked: Vec<(f64, Assumption)> = moved.into_iter().zip(all).collect();
    ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let (told, untold): (Vec<_>, Vec<_>) =
        ranked.into_iter().partition(|(moved, _)| *moved >= FLAT);
    let mut told: Vec<Assumption> = told.into_iter().map(|(_, assumption)| assumption).collect();
    told.truncate(MAX);
    let mut out = Narrowed {
        profile: profile.clone(),
        assumptions: Vec::new(),
        untold: untold
            .into_iter()
            .map(|(_, assumption)| assumption.path)
            .collect(),
        sets: 0,
        kept: 0,
        nearest: f64::INFINITY,
    };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(effort.seed);
    let mut tried: Vec<Tried> = Vec::new();
    let mut boxed: Vec<(f64, f64)> = vec![(0.0, 1.0); told.len()];
    for wave in 0..WAVES {
        step(&format!("sets of values, wave {} of {WAVES}", wave + 1));
        let mut sets = cover(&boxed, (effort.sets / WAVES).max(1) as usize, &mut random)
            .into_iter()
            .map(|shares| Tried {
                values: told
                    .iter()
                    .zip(&shares)
                    .map(|(assumption, share)| at(assumption, *share))
                    .collect(),
                shares,
                off: f64::INFINITY,
                agrees: false,
            })
            .collect::<Vec<_>>();
        let rates = in_order(threads, sets.len(), |at| {
            let mut changed = profile.clone();
            for (assumption, value) in told.iter().zip(&sets[at].values) {
                changed = with(changed, &assumption.path, value)?;
            }
            bench.rates(&changed, effort.seed)
        });
        for (set, rates) in sets.iter_mut().zip(rates) {
            // What does not go together is no set.
            if let Ok(rates) = rates {
                set.off = worst(measured, &rates);
                set.agrees = agrees(measured, &rates, noise);
                tried.push(set.clone());
            }
        }
        tried.sort_by(|a, b| a.off.total_cmp(&b.off));
        boxed = around(&tried, boxed);
    }
    out.sets = tried.len();
    out.nearest = tried.first().map_or(f64::INFINITY, |set| set.off);
    let kept: Vec<&Vec<Value>> = tried
        .iter()
        .filter(|set| set.agrees)
        .map(|set| &set.values)
        .collect();
    out.kept = kept.len();
    for (at, assumption) in told.iter().enumerate() {
        let values: Vec<&Value> = kept.iter().filter_map(|set| set.get(at)).collect();
        let range = match out.is_telling() {
            true => left(assumption, &values),
            false => whole(assumption),
        };
        let said = |range: &Range| said(assumption.kind, range);
        out.assumptions.push(Left {
            path: assumption.path.clone(),
            value: shown(assumption.kind, &assumption.value),
            before: said(&whole(assumption)),
            after: said(&range),
            is_of_words: matches!(range, Range::Words(_)),
        });
        if range != whole(assumption) {
            out.profile = within(out.profile, assumption, &range)?;
        }
        out.profile = out.profile.ranged(&assumption.path, range);
    }
    Ok(out)
}

/// A set of values, and what came of it.
#[derive(Clone)]
struct Tried {
    /// Where in its range each value lies.
    shares: Vec<f64>,
    values: Vec<Value>,
    /// The share by which the worst rate is off.
    off: f64,
    agrees: bool,
}

/// The part of the ranges in which the nearest sets lie, and a margin around it.
fn around(tried: &[Tried], before: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let near = tried.get(..NEAREST.min(tried.len())).unwrap_or(&[]);
    if near.is_empty() {
        return before;
    }
    let each = (0..before.len()).map(|at| {
        let shares = near.iter().filter_map(|set| set.shares.get(at));
        let ends = shares.fold((1.0_f64, 0.0_f64), |(least, most), s| {
            (least.min(*s), most.max(*s))
        });
        ((ends.0 - MARGIN).max(0.0), (ends.1 + MARGIN).min(1.0))
    });
    each.collect()
}

/// Points that cover a box evenly: in each direction, one in each of as many slices.
fn cover(boxed: &[(f64, f64)], count: usize, random: &mut Xoshiro256PlusPlus) -> Vec<Vec<f64>> {
    let mut points: Vec<Vec<f64>> = vec![Vec::new(); count];
    for (from, to) in boxed {
        let mut slices: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "below count, which is a usize"
            )]
            let other = (random.next_u64() % (last as u64 + 1)) as usize;
            slices.swap(last, other);
        }
        for (point, slice) in points.iter_mut().zip(slices) {
            #[expect(
                clippy::cast_precision_loss,
                reason = "sets are few, and 53 bits are enough"
            )]
            let share = (slice as f64 + (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64)
                / count as f64;
            point.push(from + (to - from) * share);
        }
    }
    points
}

/// The value at a share of an assumption's range, from 0 to 1.
fn at(assumption: &Assumption, share: f64) -> Value {
    let (least, most) = match whole(assumption) {
        Range::Words(words) => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "words are few"
            )]
            let index = (share * words.len() as f64) as usize;
            return words
                .get(index)
                .map_or(assumption.value.clone(), |word| Value::Word(word));
        }
        Range::Numbers(least, most) => (least, most),
    };
    let number = match least > 0.0 {
        true => least * libm::pow(most / least, share),
        false => least + (most - least) * share,
    };
    // Sizes are powers of two where both ends are.
    let is_power = |n: f64| n >= 1.0 && libm::exp2(libm::round(libm::log2(n))) == n;
    let number = match assumption.kind {
        Kind::Bytes(..) if is_power(least) && is_power(most) => {
            // Every power of the range has an equal share of it.
            let powers = libm::log2(most / least) + 1.0;
            libm::exp2(libm::log2(least) + libm::floor(share * powers)).min(most)
        }
        Kind::Bytes(..) => libm::round(number / 512.0) * 512.0,
        Kind::Count(..) => libm::round(number),
        _ => number,
    };
    Value::Number(number.clamp(least, most))
}

/// All that an assumption may be.
fn whole(assumption: &Assumption) -> Range {
    let values = || std::iter::once(&assumption.value).chain(&assumption.others);
    let words: Vec<&'static str> = values()
        .filter_map(|value| match value {
            Value::Word(word) => Some(*word),
            _ => None,
        })
        .collect();
    if words.is_empty() {
        numbers(values())
    } else {
        Range::Words(words)
    }
}

fn numbers<'a>(values: impl Iterator<Item = &'a Value>) -> Range {
    let numbers = values.filter_map(|value| match value {
        Value::Number(number) => Some(*number),
        _ => None,
    });
    let ends = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), n| {
        (least.min(n), most.max(n))
    });
    Range::Numbers(ends.0, ends.1)
}

/// What kept sets leave of it.
fn left(assumption: &Assumption, kept: &[&Value]) -> Range {
    match whole(assumption) {
        Range::Words(mut words) => {
            words.retain(|word| kept.contains(&&Value::Word(word)));
            Range::Words(words)
        }
        Range::Numbers(..) => numbers(kept.iter().copied()),
    }
}

/// The profile with a value that is within the range: the nearest end, or the first word.
fn within(profile: Profile, assumption: &Assumption, range: &Range) -> Result<Profile, Refusal> {
    let value = match (range, &assumption.value) {
        (Range::Numbers(least, most), Value::Number(number)) => {
            Value::Number(number.clamp(*least, *most))
        }
        (Range::Words(words), Value::Word(word)) if !words.contains(word) => match words.first() {
            Some(first) => Value::Word(first),
            None => return Ok(profile),
        },
        _ => assumption.value.clone(),
    };
    with(profile, &assumption.path, &value)
}

fn said(kind: Kind, range: &Range) -> Vec<String> {
    match range {
        Range::Numbers(least, most) => [least, most]
            .map(|n| shown(kind, &Value::Number(*n)))
            .to_vec(),
        Range::Words(words) => words.iter().map(|word| (*word).to_owned()).collect(),
    }
}

/// True when every rate and every gain over the first offset of its workload is within the bands of published ones.
fn agrees(measured: &Measured, rates: &[f64], noise: f64) -> bool {
    // What random numbers move is no disagreement.
    let holds = |metric, published: f64, value: f64| {
        let near = published.clamp(value * (1.0 - noise), value * (1.0 + noise));
        let published = Published::exactly(published);
        Band::fixed(metric, published).holds(published, near)
    };
    let observations = measured.observations.iter().zip(rates);
    let mut first: Option<(&super::Observation, f64)> = None;
    for (observation, rate) in observations {
        if !holds(Metric::Iops, observation.rate, *rate) {
            return false;
        }
        match first {
            Some((base, its)) if base.workload == observation.workload => {
                let gain = observation.rate / base.rate;
                if !holds(Metric::IOPS_RATIO, gain, rate / its) {
                    return false;
                }
            }
            _ => first = Some((observation, *rate)),
        }
    }
    true
}

/// The share by which the worst rate is off.
fn worst(measured: &Measured, rates: &[f64]) -> f64 {
    let pairs = measured.observations.iter().zip(rates);
    pairs
        .map(|(o, rate)| (rate / o.rate - 1.0).abs())
        .fold(0.0, f64::max)
}
