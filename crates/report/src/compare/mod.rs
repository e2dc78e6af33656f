//! Two documents of one verb compared: which figures changed, by how much, and whether that is proven.

mod text;

use libm::{exp, log};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use straddle_history::Entry;

pub use text::{section, text};

use crate::pages::{Measure, Scale, Spread, Summary, summary};
use crate::welch;

/// Name and version of the JSON document that `compare` prints.
pub const SCHEMA: &str = "straddle.compare/1";

/// Which of two runs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Side {
    /// What it is called: `run 12`, or a file.
    pub name: String,
    /// What it is about.
    pub target: String,
    /// What it came to.
    pub headline: String,
    /// When it began, in seconds since 1970-01-01 00:00 UTC; `null` where nobody says.
    pub began_unix_seconds: Option<f64>,
    /// The machine that made it.
    pub machine: Option<String>,
}

/// Two runs compared.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(title = "straddle compare")]
pub struct Comparison {
    /// Name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The verb that made both.
    pub verb: String,
    /// The earlier one.
    pub earlier: Side,
    /// The later one.
    pub later: Side,
    /// Figures that both have.
    pub figures: Vec<Change>,
    /// Figures that only the earlier one has: findings that are gone.
    pub gone: Vec<Single>,
    /// Figures that only the later one has: new findings.
    pub new: Vec<Single>,
    /// What they were made on, and how, where that differs.
    pub differs: Vec<Difference>,
    /// By how much a figure may be worse, as a share; `null` where nobody asked.
    pub allowed: Option<f64>,
    /// What is worse by more than that, proven; empty where nobody asked.
    pub worse: Vec<String>,
}

/// A figure of both.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Change {
    /// Of what.
    pub what: String,
    /// What it is, with its unit.
    pub quantity: &'static str,
    /// What the change is counted in.
    pub scale: Scale,
    /// Before.
    pub earlier: f64,
    /// After.
    pub later: f64,
    /// After less before, in what `scale` says; `null` where it would be a share of zero.
    pub change: Option<f64>,
    /// Its 95% interval; `null` where the runs do not tell one.
    pub interval: Option<[f64; 2]>,
    /// What is proven.
    pub verdict: Proven,
}

/// What is proven of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Proven {
    /// It became better.
    Better,
    /// It became worse.
    Worse,
    /// It is the same, or the interval holds no change at all.
    NoChange,
    /// There is no interval, so that nothing is proven.
    Nothing,
}

/// A figure that only one has.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Single {
    /// Of what.
    pub what: String,
    /// What it is, with its unit.
    pub quantity: &'static str,
    /// What it is counted in.
    pub scale: Scale,
    /// The figure.
    pub value: f64,
}

/// What differs besides.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Difference {
    /// What.
    pub name: String,
    /// Before; `null` where it was not there.
    pub earlier: Option<String>,
    /// After; `null` where it is not there any more.
    pub later: Option<String>,
}

/// Why two runs cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum Unlike {
    /// They are of two verbs.
    #[error("{one} is of `{first}` and {other} of `{second}`; runs of one verb can be compared")]
    Verbs {
        /// The earlier.
        one: String,
        /// Its verb.
        first: String,
        /// The later.
        other: String,
        /// Its verb.
        second: String,
    },
    /// They have no figure in common, and both have some.
    #[error("{one} and {other} have no figure in common: one has {first}, the other {second}")]
    Figures {
        /// The earlier.
        one: String,
        /// A figure of it.
        first: String,
        /// The later.
        other: String,
        /// A figure of it.
        second: String,
    },
    /// One is no document.
    #[error("{name} cannot be compared; expected what a command prints with --json")]
    Document {
        /// What it is called.
        name: String,
        /// Why.
        #[source]
        error: serde_json::Error,
    },
}

/// A run that is to be compared.
pub struct Compared<R> {
    /// What it is called.
    pub name: String,
    /// When it began, where that is known beside the document.
    pub began: Option<f64>,
    /// The machine, likewise.
    pub machine: Option<String>,
    /// The document.
    pub document: R,
}

impl<R> Compared<R> {
    /// A run of a history, and its document.
    #[must_use]
    pub fn kept(entry: &Entry, document: R) -> Compared<R> {
        Compared {
            name: format!("run {}", entry.id),
            began: entry.began_seconds(),
            machine: Some(entry.machine.clone()),
            document,
        }
    }
}

/// Compares two runs, the earlier one first, whatever their order here. `allowed` is by how much a figure may be worse.
///
/// # Errors
/// Where they cannot be compared.
pub fn compare<R: Read>(
    one: Compared<R>,
    other: Compared<R>,
    allowed: Option<f64>,
) -> Result<Comparison, Unlike> {
    let (one, other) = (read(one)?, read(other)?);
    let is_later = |a: &Option<f64>, b: &Option<f64>| matches!((a, b), (Some(a), Some(b)) if a > b);
    let swapped = is_later(&one.0.began_unix_seconds, &other.0.began_unix_seconds);
    let ((earlier, before), (later, after)) = if swapped { (other, one) } else { (one, other) };
    if before.verb != after.verb {
        return Err(Unlike::Verbs {
            one: earlier.name,
            first: before.verb.to_owned(),
            other: later.name,
            second: after.verb.to_owned(),
        });
    }
    let (old, new) = (by_name(&before), by_name(&after));
    let figures: Vec<Change> = before
        .measures
        .iter()
        .filter_map(|one| Some(change(one, new.get(&name(one))?)))
        .collect();
    // Findings come and go; a measurement without one in common is of something else.
    let is_measured = !matches!(before.verb, "check" | "fix");
    if let (true, true, Some(first), Some(second)) = (
        is_measured,
        figures.is_empty(),
        before.measures.first(),
        after.measures.first(),
    ) {
        return Err(Unlike::Figures {
            one: earlier.name,
            first: first.what.clone(),
            other: later.name,
            second: second.what.clone(),
        });
    }
    let only = |of: &Summary, other: &ByName<'_>| -> Vec<Single> {
        let singles = of.measures.iter();
        let singles = singles.filter(|one| !other.contains_key(&name(one)));
        singles
            .map(|one| Single {
                what: one.what.clone(),
                quantity: one.quantity,
                scale: one.scale,
                value: one.value,
            })
            .collect()
    };
    let (gone, new) = (only(&before, &new), only(&after, &old));
    let worse = allowed.map_or_else(Vec::new, |allowed| {
        let mut out = worse(&figures, &new, is_measured, allowed);
        // Silence is no pass: what nobody looked at has no finding either.
        if after.unchecked > before.unchecked {
            out.push(format!(
                "nothing was checked of {}, earlier of {}",
                after.unchecked, before.unchecked
            ));
        }
        out
    });
    Ok(Comparison {
        schema: SCHEMA,
        verb: before.verb.to_owned(),
        gone,
        differs: differences(&before, &after),
        earlier,
        later,
        figures,
        new,
        allowed,
        worse,
    })
}

fn read<R: Read>(run: Compared<R>) -> Result<(Side, Summary), Unlike> {
    let found = summary(run.document).map_err(|error| Unlike::Document {
        name: run.name.clone(),
        error,
    })?;
    let side = Side {
        name: run.name,
        target: found.target.clone(),
        headline: found.headline.clone(),
        began_unix_seconds: run.began.or(found.began),
        machine: run.machine.or_else(|| found.machine.clone()),
    };
    Ok((side, found))
}

type ByName<'a> = HashMap<(&'a str, &'static str), &'a Measure>;

fn name(of: &Measure) -> (&str, &'static str) {
    (&of.what, of.quantity)
}

/// Of several of one name the first.
fn by_name(of: &Summary) -> ByName<'_> {
    let mut out = ByName::new();
    for one in &of.measures {
        out.entry(name(one)).or_insert(one);
    }
    out
}

fn change(old: &Measure, new: &Measure) -> Change {
    let share = old.scale == Scale::Points;
    let change = match old.value {
        _ if share => Some(new.value - old.value),
        before if before > 0.0 => Some(new.value / before - 1.0),
        _ => None,
    };
    let interval = if share {
        change.map(|c| [c, c])
    } else {
        change.and_then(|_| interval(old, new))
    };
    let verdict = match interval {
        None => Proven::Nothing,
        Some([low, high]) if low > 0.0 && high > 0.0 => better(new.more_is_better),
        Some([low, high]) if low < 0.0 && high < 0.0 => better(!new.more_is_better),
        Some(_) => Proven::NoChange,
    };
    Change {
        what: old.what.clone(),
        quantity: old.quantity,
        scale: old.scale,
        earlier: old.value,
        later: new.value,
        change,
        interval,
        verdict,
    }
}

const fn better(is_better: bool) -> Proven {
    if is_better {
        Proven::Better
    } else {
        Proven::Worse
    }
}

/// The 95% interval of a relative change, on logarithms.
fn interval(old: &Measure, new: &Measure) -> Option<[f64; 2]> {
    let (middle, half) = match (&old.spread, &new.spread) {
        (Spread::Exact, Spread::Exact) => (log(new.value / old.value), 0.0),
        (Spread::Runs(before), Spread::Runs(after)) => {
            let logs = |rates: &[f64]| {
                rates
                    .iter()
                    .map(|rate| log(rate.max(f64::MIN_POSITIVE)))
                    .collect::<Vec<f64>>()
            };
            let (before, after) = (logs(before), logs(after));
            (mean(&after) - mean(&before), welch::half(&before, &after)?)
        }
        (Spread::Between(a, b), Spread::Between(c, d)) if *a > 0.0 && *c > 0.0 => {
            let (one, two) = (log(b / a) / 2.0, log(d / c) / 2.0);
            (
                log(new.value / old.value),
                libm::sqrt(one * one + two * two),
            )
        }
        _ => return None,
    };
    let ends = [exp(middle - half) - 1.0, exp(middle + half) - 1.0];
    ends.iter().all(|end| end.is_finite()).then_some(ends)
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand figures")]
fn mean(figures: &[f64]) -> f64 {
    figures.iter().sum::<f64>() / figures.len().max(1) as f64
}

/// What is worse by more than is allowed: the whole interval is beyond it.
fn worse(figures: &[Change], new: &[Single], is_measured: bool, allowed: f64) -> Vec<String> {
    let changed = figures.iter().filter(|one| one.verdict == Proven::Worse);
    let changed = changed.filter(|one| {
        let nearest = one
            .interval
            .map_or(0.0, |[low, high]| low.abs().min(high.abs()));
        nearest > allowed
    });
    let mut out: Vec<String> = changed
        .map(|one| format!("{}: {}", one.what, one.quantity))
        .collect();
    if !is_measured {
        let dear = new.iter().filter(|one| one.value > allowed);
        out.extend(dear.map(|one| format!("{}: new", one.what)));
    }
    out
}

fn differences(before: &Summary, after: &Summary) -> Vec<Difference> {
    let (old, new) = (facts(before), facts(after));
    let names = before.facts.iter().chain(&after.facts);
    let mut seen = HashSet::new();
    let names = names
        .map(|(name, _)| name.as_str())
        .filter(|name| seen.insert(*name));
    let value =
        |of: &HashMap<&str, &str>, name: &str| of.get(name).map(|value| (*value).to_owned());
    let each = names.map(|name| Difference {
        name: name.to_owned(),
        earlier: value(&old, name),
        later: value(&new, name),
    });
    each.filter(|one| one.earlier != one.later).collect()
}

fn facts(of: &Summary) -> HashMap<&str, &str> {
    let facts = of.facts.iter();
    facts
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}
