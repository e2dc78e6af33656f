//! Fix it now, at the next rebuild, or not at all: a rule on the gain, how sure it is, and what the work costs.
//!
//! Nothing is simulated here: the decision is a function of figures, so that it can be read, tested and disputed.

use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;
use straddle_geometry::Bytes;
use straddle_workload::interval::{Interval, Verdict};

pub use crate::quantity::Quantity;
use crate::sensitivity::Sensitivity;

/// Least gain that justifies an outage of its own.
pub const LARGE: f64 = 0.10;
/// What the interval's lower end has to exceed for that.
pub const SURE: f64 = 0.05;
/// Least gain worth a thought when a rebuild is due anyway.
pub const SMALL: f64 = 0.02;
/// Longest time of full load after which the work that was lost in the outage has to be made up.
pub const PAID_BACK_WITHIN: Duration = Duration::from_secs(14 * 24 * 3600);
/// A difference within this share is none: models are not truer than that.
pub const NO_DIFFERENCE: f64 = 0.01;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Recommendation {
    /// The gain justifies an outage.
    FixNow,
    /// The gain is real, but too small, or the outage too long: when the data is moved anyway.
    NextRebuild,
    /// There is no gain to speak of.
    NotWorthIt,
    /// The interval is too wide to say.
    Undecided,
    /// The gain would justify an outage, and nobody says how long that is.
    OutageUnknown,
    /// Assumptions decide: at other values that they may have, it would be another call.
    ItDepends,
}

/// What moving the data takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Bytes to move; `None` where nobody says.
    pub data: Option<Bytes>,
    /// How often each is copied: [`passes`].
    pub passes: u64,
    /// Bytes moved each second.
    pub rate: f64,
}

/// How often data are copied that are copied away and back.
pub const AWAY_AND_BACK: u64 = 2;

/// The same for data that a script moves where they lie: it reads each byte four times (its sum before and after, itself, and the piece in
/// which it is kept) and writes it twice, which takes as long as three copies.
pub const MOVED: u64 = 3;

/// The same for a partition that has no room behind it, so that it becomes shorter: all of it is kept elsewhere and compared, put back and
/// compared.
pub const SHORTENED: u64 = 4;

/// How often data are copied when a partition is moved: where they lie, by scripts for Linux and for images; away and back where the tools
/// of another system make partitions again.
#[must_use]
pub fn passes(platform: Option<&str>) -> u64 {
    match platform {
        None | Some("linux") => MOVED,
        Some(_) => AWAY_AND_BACK,
    }
}

/// What is known of the gain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// What a gain is.
    pub quantity: Quantity,
    /// As a multiple of what the baseline does, with its interval; of latencies, the baseline's through the other's.
    pub gain: Interval,
    /// The least and the largest of it when assumptions are varied; `None` when none was.
    pub ends: Option<(f64, f64)>,
}

/// What is to be done, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// What is to be done.
    pub call: Recommendation,
    /// What the call would be if every assumption held.
    pub as_assumed: Recommendation,
    /// What it rests on.
    pub evidence: Evidence,
    /// Bytes to move.
    pub data: Option<Bytes>,
    /// How often each is copied.
    pub passes: u64,
    /// Bytes moved each second.
    pub move_rate: f64,
    /// How long that takes: the outage.
    pub outage: Option<Duration>,
    /// Time of full load until the work lost in the outage is made up: the outage through the gain.
    pub paid_back: Option<Duration>,
    /// What the call would be with the assumptions at their worst and at their best, where that is something else.
    pub at_worst: Option<Recommendation>,
    /// The same with the assumptions at their best.
    pub at_best: Option<Recommendation>,
}

/// Decides.
#[must_use]
pub fn decide(evidence: Evidence, work: Work) -> Decision {
    let outage = work.data.and_then(|data| {
        #[expect(clippy::cast_precision_loss, reason = "a time needs no 64 bits")]
        let seconds = data.get() as f64 * work.passes as f64 / work.rate;
        Duration::try_from_secs_f64(seconds).ok()
    });
    let as_assumed = call(evidence.gain, outage);
    let moved =
        |end: f64| Some(call_at(evidence.gain, end, outage)).filter(|other| *other != as_assumed);
    let at_worst = evidence.ends.and_then(|(worst, _)| moved(worst));
    let at_best = evidence.ends.and_then(|(_, best)| moved(best));
    let depends =
        as_assumed != Recommendation::Undecided && (at_worst.is_some() || at_best.is_some());
    Decision {
        call: if depends {
            Recommendation::ItDepends
        } else {
            as_assumed
        },
        as_assumed,
        evidence,
        data: work.data,
        passes: work.passes,
        move_rate: work.rate,
        outage,
        paid_back: outage.and_then(|outage| paid_back(outage, evidence.gain.mean)),
        at_worst,
        at_best,
    }
}

/// Another value of an assumption, or several together, at which the call would be another.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Each parameter, and its value there.
    pub values: Vec<(String, String)>,
    /// The gain there.
    pub gain: f64,
    /// The call there.
    pub call: Recommendation,
}

impl Decision {
    /// What turns the call: each assumption that does so alone, at the value that moves the gain furthest; where none
    /// does, the fewest that do together. Empty where the call stands whatever the assumptions are.
    #[must_use]
    pub fn turns(&self, sensitivity: &Sensitivity) -> Vec<Turn> {
        if self.call != Recommendation::ItDepends {
            return Vec::new();
        }
        let turn = |values: Vec<(String, String)>, by: f64| {
            let gain = sensitivity.nominal + by;
            let call = call_at(self.evidence.gain, gain, self.outage);
            (call != self.as_assumed).then_some(Turn { values, gain, call })
        };
        let far = |turn: &Turn| (turn.gain - sensitivity.nominal).abs();
        let mut turns: Vec<Turn> = Vec::new();
        for varied in &sensitivity.varied {
            let ends = varied.ends.iter().filter_map(|end| {
                let values = vec![(varied.path.clone(), end.value.clone())];
                turn(values, end.gain.as_ref().ok()?.by)
            });
            turns.extend(ends.max_by(|a, b| far(a).total_cmp(&far(b))));
        }
        if turns.is_empty() {
            let corners = sensitivity.corners.iter();
            let corners = corners.filter_map(|corner| turn(corner.values.clone(), corner.gain.by));
            let fewest = corners.min_by(|a, b| {
                let by_count = a.values.len().cmp(&b.values.len());
                by_count.then(far(b).total_cmp(&far(a)))
            });
            turns.extend(fewest);
        }
        turns
    }
}

/// The call if the gain were another, and its interval as wide in proportion.
fn call_at(gain: Interval, other: f64, outage: Option<Duration>) -> Recommendation {
    let by = other / gain.mean;
    let moved = Interval {
        mean: other,
        low: gain.low * by,
        high: gain.high * by,
    };
    call(moved, outage)
}

fn call(gain: Interval, outage: Option<Duration>) -> Recommendation {
    let (mean, low, high) = (gain.mean - 1.0, gain.low - 1.0, gain.high - 1.0);
    let pays = outage
        .map(|outage| paid_back(outage, gain.mean).is_some_and(|time| time <= PAID_BACK_WITHIN));
    match () {
        () if mean >= LARGE && low > SURE && pays.is_none() => Recommendation::OutageUnknown,
        () if mean >= LARGE && low > SURE && pays == Some(true) => Recommendation::FixNow,
        () if mean >= SMALL && low > 0.0 => Recommendation::NextRebuild,
        () if high < SMALL || (mean < SMALL && low > -SMALL) => Recommendation::NotWorthIt,
        () => Recommendation::Undecided,
    }
}

/// `None` without a gain.
fn paid_back(outage: Duration, gain: f64) -> Option<Duration> {
    let seconds = outage.as_secs_f64() / (gain - 1.0);
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|_| gain > 1.0)
}

/// What a simulated ratio proves, in `bench`'s words. Replicates with common random numbers tell apart what no model can
/// know, so a difference within [`NO_DIFFERENCE`] is none, however narrow its interval.
#[must_use]
pub fn verdict(ratio: Interval, precision: f64) -> Verdict {
    let bound = (ratio.high - 1.0).max(1.0 - ratio.low).max(0.0);
    match () {
        () if bound <= NO_DIFFERENCE => Verdict::NoDifferenceAbove(bound),
        () if ratio.low > 1.0 => Verdict::Faster,
        () if ratio.high < 1.0 => Verdict::Slower,
        () if bound <= 2.0 * precision => Verdict::NoDifferenceAbove(bound),
        () => Verdict::NotEnoughEvidence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sensitivity::{Corner, End, Moved, Varied};

    fn interval(low: f64, mean: f64, high: f64) -> Interval {
        Interval { mean, low, high }
    }

    fn decided(gain: Interval, gib: Option<u64>, ends: Option<(f64, f64)>) -> Decision {
        let evidence = Evidence {
            quantity: Quantity::Rate,
            gain,
            ends,
        };
        let work = Work {
            data: gib.map(|n| Bytes::new(n << 30)),
            passes: 1,
            rate: 200e6,
        };
        decide(evidence, work)
    }

    #[test]
    fn a_large_and_sure_gain_is_worth_an_outage() {
        let decision = decided(interval(1.28, 1.30, 1.32), Some(500), None);
        assert_eq!(decision.call, Recommendation::FixNow);
        // 500 GiB at 200 MB/s: 2,684 s, and with 30% more each second made up in 8,948 s.
        assert_eq!(decision.outage.map(|time| time.as_secs()), Some(2_684));
        assert_eq!(decision.paid_back.map(|time| time.as_secs()), Some(8_947));
        let unsure = decided(interval(1.04, 1.30, 1.60), None, None);
        assert_eq!(unsure.call, Recommendation::NextRebuild);
        let edge = decided(interval(1.09, 1.0999, 1.11), None, None);
        assert_eq!(edge.call, Recommendation::NextRebuild);
    }

    #[test]
    fn a_small_gain_waits_for_a_rebuild_and_none_is_left_alone() {
        let small = decided(interval(1.04, 1.05, 1.06), None, None);
        assert_eq!(small.call, Recommendation::NextRebuild);
        let none = decided(interval(0.999, 1.0, 1.001), Some(100), None);
        assert_eq!(
            (none.call, none.paid_back),
            (Recommendation::NotWorthIt, None)
        );
        let loss = decided(interval(0.5, 0.6, 0.7), None, None);
        assert_eq!(loss.call, Recommendation::NotWorthIt);
        let wide = decided(interval(0.8, 1.05, 1.4), None, None);
        assert_eq!(wide.call, Recommendation::Undecided);
    }

    #[test]
    fn the_effort_counts() {
        // 100 TiB at 200 MB/s take 6 days, made up after 51 days of full load with 12.5%, after 6 with 100%.
        let gain = interval(1.12, 1.125, 1.13);
        assert_eq!(
            decided(gain, Some(100 << 10), None).call,
            Recommendation::NextRebuild
        );
        // Without data to move there is no outage to hold against the gain.
        assert_eq!(
            decided(gain, None, None).call,
            Recommendation::OutageUnknown
        );
        assert_eq!(decided(gain, Some(100), None).call, Recommendation::FixNow);
        let double = interval(1.9, 2.0, 2.1);
        assert_eq!(
            decided(double, Some(100 << 10), None).call,
            Recommendation::FixNow
        );
    }

    #[test]
    fn what_is_copied_away_and_back_is_an_outage_of_twice_the_length() {
        let evidence = Evidence {
            quantity: Quantity::Rate,
            gain: interval(1.28, 1.30, 1.32),
            ends: None,
        };
        let work = |platform| Work {
            data: Some(Bytes::new(500 << 30)),
            passes: passes(platform),
            rate: 200e6,
        };
        let outage = |platform| {
            decide(evidence, work(platform))
                .outage
                .map(|time| time.as_secs())
        };
        for once in [None, Some("linux")] {
            assert_eq!(outage(once), Some(8_053), "{once:?}");
        }
        for twice in [Some("windows"), Some("esxi")] {
            assert_eq!(outage(twice), Some(5_368), "{twice:?}");
        }
    }

    #[test]
    fn a_call_that_an_assumption_turns_is_none() {
        let gain = interval(1.12, 1.125, 1.13);
        let stands = decided(gain, Some(100), Some((1.11, 1.3)));
        assert_eq!((stands.at_worst, stands.at_best), (None, None));
        assert_eq!(stands.call, Recommendation::FixNow);
        let depends = decided(gain, Some(100), Some((1.005, 1.3)));
        assert_eq!(depends.at_worst, Some(Recommendation::NotWorthIt));
        assert_eq!(
            (depends.call, depends.as_assumed),
            (Recommendation::ItDepends, Recommendation::FixNow)
        );
        // Too wide to decide on stays so, whatever is assumed.
        let wide = decided(interval(0.8, 1.01, 1.25), Some(100), Some((0.9, 1.3)));
        assert_eq!(wide.call, Recommendation::Undecided);
    }

    fn moved(gain: f64) -> Moved {
        let by = gain - 1.125;
        Moved {
            gain,
            half_width: 0.002,
            by: if by.abs() > 0.002 { by } else { 0.0 },
        }
    }

    fn varied(path: &str, gains: &[f64]) -> Varied {
        let end = |gain: &f64| End {
            value: format!("{gain}"),
            gain: Ok(moved(*gain)),
        };
        Varied {
            path: path.to_owned(),
            meaning: "",
            value: "as it is".to_owned(),
            ends: gains.iter().map(end).collect(),
        }
    }

    #[test]
    fn what_turns_a_call_is_named_alone_or_the_fewest_together() {
        let gain = interval(1.12, 1.125, 1.13);
        let mut sensitivity = Sensitivity {
            nominal: 1.125,
            varied: vec![varied("a.b", &[1.01, 1.0]), varied("c.d", &[1.12, 1.2])],
            ..Sensitivity::default()
        };
        let turns = |sensitivity: &Sensitivity| {
            let decision = decided(gain, Some(100), sensitivity.ends());
            let turns = decision.turns(sensitivity);
            turns
                .into_iter()
                .map(|t| (t.values, t.call))
                .collect::<Vec<_>>()
        };
        let at = |path: &str, value: &str| (path.to_owned(), value.to_owned());
        assert_eq!(
            turns(&sensitivity),
            [(vec![at("a.b", "1")], Recommendation::NotWorthIt)]
        );
        sensitivity.varied = vec![varied("a.b", &[1.11]), varied("c.d", &[1.11])];
        assert_eq!(turns(&sensitivity), []);
        let corner = |paths: &[&str], gain| Corner {
            values: paths.iter().map(|path| at(path, "x")).collect(),
            gain: moved(gain),
        };
        sensitivity.corners = vec![
            corner(&["a.b", "c.d", "e.f"], 1.0),
            corner(&["a.b", "c.d"], 1.05),
        ];
        assert_eq!(
            turns(&sensitivity),
            [(
                vec![at("a.b", "x"), at("c.d", "x")],
                Recommendation::NextRebuild
            )]
        );
        // A movement that may be chance turns nothing.
        sensitivity.corners = vec![corner(&["a.b", "c.d"], 1.126)];
        assert_eq!(turns(&sensitivity), []);
    }

    #[test]
    fn differences_that_no_model_knows_are_none() {
        let tiny = interval(1.001, 1.002, 1.003);
        assert!(matches!(
            verdict(tiny, 0.005),
            Verdict::NoDifferenceAbove(_)
        ));
        assert_eq!(verdict(interval(1.01, 1.02, 1.03), 0.005), Verdict::Faster);
        assert_eq!(verdict(interval(0.9, 0.95, 0.99), 0.005), Verdict::Slower);
        let wide = interval(0.9, 1.02, 1.1);
        assert_eq!(verdict(wide, 0.005), Verdict::NotEnoughEvidence);
    }
}
