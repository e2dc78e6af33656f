//! Whether a count is of a steady state, and where a run has to begin so that it is.
//!
//! # The rule
//!
//! 1. A write-back cache that begins at its low-water mark takes writes as fast as they come until it is full, however long
//!    that takes. So a pilot looks at what is dirty over its second half. Where that grows by more than [`LEVEL`]`/2` of what
//!    passes, the next pilot begins at the high-water mark. Where it falls from there, the level lies between, and is found by
//!    halving. Caches begin there in every run, filled by requests of the same workload.
//! 2. Over the counted part of all replicates together, the content of every store of work stays the same, within [`LEVEL`] of
//!    what passed through it: as many member operations are counted as the counted requests bring in.
//! 3. The second half of the counted parts has the same figures as the first: the mean over replicates of the logarithm of
//!    their ratio, for each case's rate and for each gain, is within its own interval of nothing, or below what was asked for.
//! 4. Where 2 or 3 fails, everything so far was warm-up: it is left out, and twice as many requests are counted, up to
//!    [`MAX_LEN`] times as many as asked for. Where they fail even then, the interval of each gain is widened by all that its
//!    halves may differ, and [`Case::unsettled`](super::Case::unsettled) says why.
//!
//! What 3 lets pass is not nothing: a gain that moves slowly is hardly told from chance. So the mean of what its halves differ is
//! part of the interval of every gain, its square added to that of the rest.

use straddle_workload::interval::Estimate;
use straddle_workload::interval::ratio::LogRatio;

use super::warm_up::{self, Cut};
use crate::model::cache::destages;
use crate::profile::Refusal;
use crate::scenario::Scenario;
use crate::system::{DIRTY, LEVEL, Length, Outcome, REQUESTS, Start, Store};

/// Longest count, in counts that were asked for.
pub(super) const MAX_LEN: u64 = 8;
/// Requests of a first look at a cache.
const GLANCE: u64 = 4_000;
/// Share of what passes that stays: such a cache fills for sure.
const FILLS: f64 = 0.25;
/// Halvings until the level of a cache is known.
const HALVINGS: u32 = 6;
/// Half widths of its interval from which on a difference of halves is hardly chance: every case is looked at.
const BEYOND: f64 = 1.5;
/// Fewest marks in a half that says something.
const MIN: usize = 8;
/// Share of requests that an open loop does not answer from which on its queue is not that of a steady state, whatever is
/// waited for: it is overloaded, which is said elsewhere.
const OVERLOADED: f64 = 0.03;

/// Where a scenario's runs begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Beginning {
    /// Share of the way from the cache's low-water mark to its high-water mark.
    pub(super) fill: f64,
    /// Requests that are unlike the rest.
    pub(super) cut: u64,
}

/// What keeps a case from being steady.
#[derive(Clone, Debug, PartialEq)]
pub enum Unsettled {
    /// A store of work fills or empties: what, and by which share of what passes through it.
    Store(&'static str, f64),
    /// Its rate, or in an open loop its latency, in the second half of the count through that in the first.
    Halves(f64),
}

/// How full the cache of a scenario stays, by a short look: where a run begins that stands for itself.
fn glance(scenario: &Scenario) -> Result<f64, Refusal> {
    let is_full = destages(&scenario.profile) > 0 && fills(&run(scenario, 0.0, 0, GLANCE)?, FILLS);
    Ok(if is_full { 1.0 } else { 0.0 })
}

impl Scenario {
    /// One run, which begins with a write-back cache as full as it stays. The same seed gives the same run, to the bit, on every platform; and at every offset, the same places of
    /// the workload's lattice in the same order on platters that stand the same.
    ///
    /// # Errors
    /// A parameter that makes no sense, a workload that does not fit, more requests than the system can serve.
    pub fn simulate(&self, seed: u64, length: Length) -> Result<Outcome, Refusal> {
        let fill = glance(self)?;
        self.simulate_from(Start::at(fill, fill), seed, length)
    }
}

/// Finds where runs of a scenario begin; `requests` is how many each counts.
pub(super) fn beginning(
    scenario: &Scenario,
    seed: u64,
    requests: u64,
) -> Result<Beginning, Refusal> {
    let mut made = requests;
    let (fill, mut outcome) = filled(scenario, seed, made)?;
    loop {
        match warm_up::read(&outcome, made, requests) {
            Cut::At(cut) => return Ok(Beginning { fill, cut }),
            Cut::Longer(longer) => made = longer,
        }
        outcome = run(scenario, fill, seed, made)?;
    }
}

/// How full the cache of a scenario stays, by pilots: as [`beginning`] has it.
pub(crate) fn fill(scenario: &Scenario, seed: u64, requests: u64) -> Result<f64, Refusal> {
    match destages(&scenario.profile) {
        0 => Ok(0.0),
        _ => filled(scenario, seed, requests).map(|(fill, _)| fill),
    }
}

/// How full the cache of a scenario stays, and the pilot that shows it.
fn filled(scenario: &Scenario, seed: u64, made: u64) -> Result<(f64, Outcome), Refusal> {
    let run = |fill: f64, made: u64| run(scenario, fill, seed, made);
    // A cache that fills with most of what comes needs no longer look.
    let is_cached = destages(&scenario.profile) > 0;
    let is_full = is_cached && made > GLANCE && fills(&run(0.0, GLANCE)?, FILLS);
    if !is_full {
        let outcome = run(0.0, made)?;
        if !fills(&outcome, LEVEL / 2.0) {
            return Ok((0.0, outcome));
        }
    }
    level(|fill| run(fill, made))
}

/// A pilot.
fn run(scenario: &Scenario, fill: f64, seed: u64, made: u64) -> Result<Outcome, Refusal> {
    scenario.simulate_from(Start::at(fill, fill), seed, warm_up::pilot(made))
}

/// True where more than such a share of what comes to the cache stays there.
fn fills(outcome: &Outcome, share: f64) -> bool {
    drift(outcome).is_some_and(|drift| drift > share)
}

/// By how much the cache fills; `None` without one.
fn drift(outcome: &Outcome) -> Option<f64> {
    let mut stores = outcome.stores.iter();
    let store = stores.find(|store| store.name == DIRTY);
    store.map(Store::drift)
}

/// Where a cache that fills from its low-water mark stays, and the pilot that began there.
fn level(mut run: impl FnMut(f64) -> Result<Outcome, Refusal>) -> Result<(f64, Outcome), Refusal> {
    let (mut low, mut high) = (0.0, 1.0);
    let mut fill = 1.0;
    let mut outcome = run(fill)?;
    for _ in 0..HALVINGS {
        match drift(&outcome).unwrap_or(0.0) {
            drift if drift < -LEVEL / 2.0 => high = fill,
            drift if drift > LEVEL / 2.0 && fill < 1.0 => low = fill,
            _ => break,
        }
        fill = f64::midpoint(low, high);
        outcome = run(fill)?;
    }
    Ok((fill, outcome))
}

/// The figure of the first half of a count, and of the second: requests each second; `None` where there are too few marks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Halves {
    pub(super) early: f64,
    pub(super) late: f64,
}

impl Halves {
    /// Of a run that left out so many requests. In an open loop, which answers what is offered, latencies count.
    pub(crate) fn of(outcome: &Outcome, warm_up: u64, is_open: bool) -> Option<Halves> {
        let marks = &outcome.marks;
        let first = usize::try_from(warm_up.div_ceil(outcome.mark_every.max(1))).ok()?;
        let each = marks.len().checked_sub(first)? / 2;
        let middle = first + each;
        if each < MIN {
            return None;
        }
        let at = |mark: usize| match mark.checked_sub(1) {
            Some(mark) => marks.get(mark).map(|mark| mark.at),
            None => Some(crate::kernel::Time::ZERO),
        };
        let half = |from: usize, to: usize| {
            let seconds = (at(to)? - at(from)?).to_seconds();
            let waited: u128 = marks.get(from..to)?.iter().map(|mark| mark.waited).sum();
            #[expect(clippy::cast_precision_loss, reason = "a mean needs no 128 bits")]
            let requests = (to - from) as f64 * outcome.mark_every as f64;
            #[expect(clippy::cast_precision_loss, reason = "a mean needs no 128 bits")]
            let figure = if is_open {
                requests / (waited as f64 / 1e9)
            } else {
                requests / seconds
            };
            (figure > 0.0 && figure.is_finite()).then_some(figure)
        };
        Some(Halves {
            early: half(first, middle)?,
            late: half(middle, middle + each)?,
        })
    }

    /// The logarithm of the second through the first.
    pub(crate) fn log(self) -> f64 {
        libm::log(self.late / self.early)
    }
}

/// What keeps a case from being steady, of its stores in all replicates, and of the halves of its rates and of its gains.
pub(crate) fn unsettled(
    stores: &[Store],
    halves: [&Estimate; 2],
    precision: f64,
    is_open: bool,
) -> Option<Unsettled> {
    let waits = |store: &&Store| store.name == REQUESTS && is_open;
    let is_overloaded = stores
        .iter()
        .find(waits)
        .is_some_and(|store| store.drift() > OVERLOADED);
    let mut others = stores
        .iter()
        .filter(|store| !(waits(store) && is_overloaded));
    if let Some(store) = others.find(|store| !store.is_level()) {
        return Some(Unsettled::Store(store.name, store.drift()));
    }
    let moved = halves.iter().find_map(|halves| moved(halves, precision));
    moved
        .filter(|_| !is_overloaded)
        .map(|moved| Unsettled::Halves(libm::exp(moved)))
}

/// By how much the second halves differ, where that is hardly chance and matters.
fn moved(halves: &Estimate, precision: f64) -> Option<f64> {
    let (mean, half) = (halves.mean(), halves.half_width()?);
    (mean.abs() > (half * BEYOND).max(libm::log1p(precision))).then_some(mean)
}

/// A value without an error of its own.
pub(crate) fn plain(value: f64) -> LogRatio {
    LogRatio {
        value,
        counting: 0.0,
    }
}
