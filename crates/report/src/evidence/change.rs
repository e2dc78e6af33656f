//! What changed between two captures of the same things.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use straddle_evidence::{Gathered, Subject};
use straddle_stack::activity::{Activity, Bin, Quantity, Series, Span, Statistic, Summary};

use crate::welch::half;

/// A quantity of one thing, before and after.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// What it is about: `volume E:`.
    pub subject: String,
    /// What was measured.
    pub quantity: Quantity,
    /// What of it.
    pub statistic: Statistic,
    /// The mean before, in the unit of the quantity.
    pub before: f64,
    /// The mean after.
    pub after: f64,
    /// Half of the 95% interval of the difference; `null` where a capture has fewer than four stretches of time.
    pub half: Option<f64>,
    /// How many stretches of time each capture was cut into.
    pub stretches: [usize; 2],
}

impl Change {
    /// Whether the difference is larger than what its interval leaves open.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.half
            .is_some_and(|half| (self.after - self.before).abs() > half)
    }
}

/// What only one of two captures has figures of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unmatched {
    /// Only the earlier one.
    pub before: Vec<String>,
    /// Only the later one.
    pub after: Vec<String>,
}

impl Unmatched {
    pub(super) fn of(before: &Gathered, after: &Gathered) -> Unmatched {
        let without = |all: &Gathered, others: &Gathered| {
            let known: HashSet<&Subject> = others.series().map(|(subject, _)| subject).collect();
            let measured = all.series().filter(|(_, series)| !series.is_empty());
            let alone = measured.filter(|(subject, _)| !known.contains(*subject));
            alone.map(|(subject, _)| subject.to_string()).collect()
        };
        Unmatched {
            before: without(before, after),
            after: without(after, before),
        }
    }

    /// True when each has something that the other has not.
    pub(super) const fn is_mutual(&self) -> bool {
        !self.before.is_empty() && !self.after.is_empty()
    }
}

/// Some of these names, and how many more there are.
pub(super) fn some(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let more = match names.len().saturating_sub(SHOWN) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("{}{more}", names[..names.len().min(SHOWN)].join(", "))
}

/// What both captures have means of.
#[must_use]
pub(super) fn changes(before: &Gathered, after: &Gathered) -> Vec<Change> {
    let mut changes = Vec::new();
    let known: HashMap<&Subject, &[Series]> = before.series().collect();
    for (subject, series) in after.series() {
        let Some(old) = known.get(subject) else {
            continue;
        };
        changes.extend(of_counters(subject.to_string(), old, series));
        for new in series {
            let same = |other: &&Series| {
                (other.quantity, other.statistic, other.span)
                    == (new.quantity, new.statistic, new.span)
            };
            let Some(old) = old.iter().find(same).filter(|_| is_compared(new)) else {
                continue;
            };
            let parts = [parts(&old.summary), parts(&new.summary)];
            changes.push(Change {
                subject: subject.to_string(),
                quantity: new.quantity,
                statistic: new.statistic,
                before: old.summary.mean.get(),
                after: new.summary.mean.get(),
                half: half(&parts[0], &parts[1]),
                stretches: [parts[0].len(), parts[1].len()],
            });
        }
    }
    changes
}

/// Latencies between the readings of each capture, where both have two readings of the counters.
fn of_counters(subject: String, before: &[Series], after: &[Series]) -> Vec<Change> {
    let between = |series: &[Series]| {
        let counters = series.iter().filter(|series| series.quantity.is_counter());
        let activity = Activity {
            series: counters.cloned().collect(),
            ..Activity::default()
        };
        LATENCIES.map(|latency| Some(activity.cumulative(latency)?.between()?.0))
    };
    let pairs = between(before).into_iter().zip(between(after));
    let pairs = LATENCIES.into_iter().zip(pairs);
    let changes = pairs.filter_map(|(quantity, (before, after))| {
        Some(Change {
            subject: subject.clone(),
            quantity,
            statistic: Statistic::Mean,
            before: before?,
            after: after?,
            half: None,
            stretches: [1, 1],
        })
    });
    changes.collect()
}

const LATENCIES: [Quantity; 3] = [
    Quantity::ReadLatency,
    Quantity::WriteLatency,
    Quantity::FlushLatency,
];

fn is_compared(series: &Series) -> bool {
    let is_figure = !series.quantity.is_counter()
        && !matches!(
            series.quantity,
            Quantity::FileSize | Quantity::FileGrowth | Quantity::FileGrowthPercent
        );
    is_figure && matches!(series.span, Span::Interval | Span::Run | Span::Event)
}

/// The means of the stretches of time that have figures.
fn parts(summary: &Summary) -> Vec<f64> {
    summary.timeline.bins.iter().filter_map(Bin::mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(values: &[f64]) -> Gathered {
        let mut text =
            "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\S\\LogicalDisk(E:)\\Avg. Disk sec/Read\"\n"
                .to_owned();
        for (second, value) in values.iter().enumerate() {
            text.push_str(&format!(
                "\"03/05/2024 10:00:{second:02}.000\",\"{value}\"\n"
            ));
        }
        let mut gathered = Gathered::new();
        straddle_evidence::read("log", &mut text.as_bytes(), &mut gathered).expect("read");
        gathered
    }

    #[test]
    fn a_change_is_certain_when_it_is_larger_than_its_noise() {
        let slow = gathered(&[0.030, 0.034, 0.031, 0.033, 0.030, 0.034]);
        let fast = gathered(&[0.010, 0.014, 0.011, 0.013, 0.010, 0.014]);
        let found = changes(&slow, &fast);
        assert_eq!(found.len(), 1);
        let change = &found[0];
        assert_eq!(change.subject, "volume E:");
        assert!((change.before - 0.032).abs() < 1e-9 && (change.after - 0.012).abs() < 1e-9);
        assert!(change.is_certain());
        // Welch with 6 and 6 figures of one spread: t(0.05, 10) = 2.228, s² = 3.6e-6, √(2 × 3.6e-6 ÷ 6) = 1.095e-3.
        let half = change.half.expect("six stretches");
        assert!((half - 2.228 * 1.0954e-3).abs() < 2e-6, "{half}");
        let same = changes(
            &slow,
            &gathered(&[0.031, 0.033, 0.030, 0.034, 0.031, 0.033]),
        );
        assert!(!same[0].is_certain());
        let short = changes(&slow, &gathered(&[0.010, 0.011]));
        assert!(short[0].half.is_none() && !short[0].is_certain());
    }

    #[test]
    fn stretches_that_follow_each_other_alike_are_worth_less() {
        let alternating = half(
            &[1.0, 2.0, 1.0, 2.0, 1.0, 2.0],
            &[1.0, 2.0, 1.0, 2.0, 1.0, 2.0],
        );
        let drifting = half(
            &[1.0, 1.0, 1.0, 2.0, 2.0, 2.0],
            &[1.0, 1.0, 1.0, 2.0, 2.0, 2.0],
        );
        assert!(drifting > alternating, "{drifting:?} {alternating:?}");
    }
}
