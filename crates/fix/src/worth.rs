//! Whether a plan is worth its effort: a rule on figures, so that it can be read, tested and disputed.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Ratio};
use straddle_predict::decision::{self, Work};
use straddle_rules::Severity;

use crate::change::cures;
use crate::step::by_hand;
use crate::{Alternative, Ask, Cure, Effort, How, Left, Question, Recommendation, Step};

/// A verdict, and the figures that decided it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Worth {
    /// The verdict.
    pub call: Recommendation,
    /// The figures, in words.
    pub because: Vec<String>,
    /// The highest price that is removed: extra operations relative to aligned.
    pub worst: Ratio,
    /// One verdict for each value that a fact can have which is not known; empty where all come to the same.
    pub alternatives: Vec<Alternative>,
    /// What is to be found out.
    pub questions: Vec<Question>,
}

/// Extra operations from which an outage is justified, where no simulation says more: the severity `error`.
const LARGE: (u64, u64) = (1, 2);
/// Extra operations below which a plan is not worth a thought: the severity `note`.
const SMALL: (u64, u64) = (1, 20);
/// A longest outage, in seconds, that a price between the two justifies.
const SHORT: f64 = 600.0;

impl Worth {
    pub(crate) fn of(
        steps: &[Step],
        cured: &[Cure],
        left: &[Left],
        effort: &Effort,
        ask: &Ask,
    ) -> Worth {
        if steps.is_empty() {
            let because = vec!["no finding that a change would cure".to_owned()];
            return Worth::new(Recommendation::Nothing, because, Ratio::ZERO);
        }
        if cured.is_empty() {
            let kinds = by_hand(steps);
            let left = left.iter().map(|left| &left.finding);
            let by_hand = left.filter(|cure| kinds.keys().any(|kind| cures(kind, cure.code)));
            return by_hand_alone(&by_hand.cloned().collect::<Vec<Cure>>());
        }
        let figures = Figures::of(steps, cured, effort);
        let mut because = vec![match figures.worst == Ratio::ZERO {
            true => "what it cures costs no extra operations".to_owned(),
            false => format!(
                "it removes extra operations of up to {}, which are not time: see below",
                figures.worst
            ),
        }];
        let most = if effort.is_at_most { "at most " } else { "" };
        because.push(match (figures.in_place, effort.is_known) {
            (true, _) => "no data are moved".to_owned(),
            (false, false) => {
                "how much data are copied is not known, and so neither is the outage".to_owned()
            }
            (false, true) => format!(
                "{most}{} are read and {} written, in {most}{} at {} of copying{}",
                effort.traffic.read.rounded(),
                effort.traffic.written.rounded(),
                duration(effort.downtime.as_secs_f64()),
                rate(effort.rate),
                if ask.rate.is_none() { " (assumed)" } else { "" }
            ),
        });
        let Some(evidence) = ask.gain else {
            let (call, why) = figures.call();
            because.extend(why);
            return Worth::new(call, because, figures.worst);
        };
        let mixes: Vec<Alternative> = ask
            .mixes
            .iter()
            .map(|(workload, evidence)| Alternative {
                workload: Some(format!("{workload}: {}", gained(*evidence))),
                ..Alternative::new(by_simulation(*evidence, effort), figures.worst)
            })
            .collect();
        if mixes.windows(2).any(|two| two[0].call != two[1].call) {
            because.push("the workload decides, and none was given: --workload says it".to_owned());
            return Worth {
                alternatives: mixes,
                ..Worth::new(Recommendation::FindOut, because, figures.worst)
            };
        }
        let workload = ask.workload.as_deref().unwrap_or("the workload");
        because.push(format!("simulated, {workload}: {}", gained(evidence)));
        if !mixes.is_empty() {
            because.push("the same for reads, for writes and for 70% reads".to_owned());
        }
        let call = by_simulation(evidence, effort);
        if call == Recommendation::FindOut {
            because.push(
                "assumptions of the profile decide: straddle predict with the same options says which, and what tells them".to_owned(),
            );
        }
        Worth::new(call, because, figures.worst)
    }

    fn new(call: Recommendation, because: Vec<String>, worst: Ratio) -> Worth {
        Worth {
            call,
            because,
            worst,
            alternatives: Vec::new(),
            questions: Vec::new(),
        }
    }
}

/// Where nothing but work by hand would cure these.
fn by_hand_alone(cures: &[Cure]) -> Worth {
    let worst = cures.iter().map(Cure::worst).max().unwrap_or(Ratio::ZERO);
    let is_dear = worst >= Ratio::new(SMALL.0, SMALL.1).unwrap_or(Ratio::ONE);
    let is_bad = cures
        .iter()
        .any(|cure| cure.prices.is_empty() && cure.severity >= Severity::Warning);
    let would = match worst == Ratio::ZERO {
        true => "what it would cure costs no extra operations".to_owned(),
        false => format!(
            "it would remove extra operations of up to {worst}, which are not time: see below"
        ),
    };
    let only_notes = cures.iter().all(|cure| cure.severity == Severity::Note);
    let (call, why) = match (is_dear || is_bad) && !only_notes {
        true => (
            Recommendation::NextRebuild,
            "no script can do it: only making it again by hand, or on another device, does",
        ),
        false => (
            Recommendation::NotWorthIt,
            "it is work by hand, for next to nothing",
        ),
    };
    Worth::new(call, vec![would, why.to_owned()], worst)
}

/// `a gain of +5.0% (+4.0% to +6.0%)`.
fn gained(evidence: decision::Evidence) -> String {
    let percent = |gain: f64| (gain - 1.0) * 100.0;
    format!(
        "a gain of {:+.1}% ({:+.1}% to {:+.1}%)",
        percent(evidence.gain.mean),
        percent(evidence.gain.low),
        percent(evidence.gain.high)
    )
}

fn by_simulation(evidence: decision::Evidence, effort: &Effort) -> Recommendation {
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no 64 bits")]
    let work = Work {
        data: effort.is_known.then_some(effort.copied),
        passes: 1,
        rate: effort.rate.get() as f64,
    };
    match decision::decide(evidence, work).call {
        decision::Recommendation::FixNow => Recommendation::Now,
        decision::Recommendation::NextRebuild => Recommendation::NextRebuild,
        decision::Recommendation::NotWorthIt => Recommendation::NotWorthIt,
        decision::Recommendation::Undecided => Recommendation::Undecided,
        decision::Recommendation::OutageUnknown => Recommendation::OutageUnknown,
        decision::Recommendation::ItDepends => Recommendation::FindOut,
    }
}

/// What decides where nothing was simulated.
struct Figures {
    /// Whether no data are moved.
    in_place: bool,
    /// The highest price that is cured.
    worst: Ratio,
    /// Findings cured that have no price, and are warnings or errors.
    unpriced: usize,
    /// Whether all that is cured are notes.
    only_notes: bool,
    /// The downtime; `None` where nobody knows how much is copied.
    seconds: Option<f64>,
}

impl Figures {
    fn of(steps: &[Step], cured: &[Cure], effort: &Effort) -> Figures {
        let unpriced = cured
            .iter()
            .filter(|cure| cure.prices.is_empty() && cure.severity >= Severity::Warning);
        Figures {
            in_place: steps.iter().all(|step| step.how == How::InPlace),
            worst: cured.iter().map(Cure::worst).max().unwrap_or(Ratio::ZERO),
            unpriced: unpriced.count(),
            only_notes: cured.iter().all(|cure| cure.severity == Severity::Note),
            seconds: effort.is_known.then_some(effort.downtime.as_secs_f64()),
        }
    }

    /// The verdict, and what of the rule led to it.
    fn call(&self) -> (Recommendation, Option<String>) {
        let ratio = |(n, d)| Ratio::new(n, d).unwrap_or(Ratio::ONE);
        let because = |call, why: &str| (call, Some(why.to_owned()));
        if self.in_place {
            return (Recommendation::Now, None);
        }
        if self.only_notes {
            return because(
                Recommendation::NotWorthIt,
                "they are notes: no outage is worth that",
            );
        }
        if self.worst < ratio(SMALL) {
            return match self.unpriced {
                0 => because(
                    Recommendation::NotWorthIt,
                    "below 5%, which no outage is worth",
                ),
                unpriced => (
                    Recommendation::NextRebuild,
                    Some(format!(
                        "{unpriced} of the findings cured have no price and are warnings or errors: not worth an outage, but no new system should have them"
                    )),
                ),
            };
        }
        let Some(seconds) = self.seconds else {
            return because(
                Recommendation::OutageUnknown,
                "from 5% on, how long the outage is decides: capture the sizes as well",
            );
        };
        if self.worst >= ratio(LARGE) {
            because(
                Recommendation::Now,
                "50% or more justifies an outage of its own",
            )
        } else if seconds <= SHORT {
            because(
                Recommendation::Now,
                "between 5% and 50% justifies an outage of up to 10 minutes",
            )
        } else {
            because(
                Recommendation::NextRebuild,
                "between 5% and 50% does not justify an outage of more than 10 minutes",
            )
        }
    }
}

/// `200 MB/s`.
#[must_use]
pub fn rate(each_second: Bytes) -> String {
    match each_second.get() {
        0..=999_999 => format!("{} kB/s", each_second.get() / 1000),
        bytes => format!("{} MB/s", bytes / 1_000_000),
    }
}

/// `2 h 5 min`, `12 s`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it saturates"
    )]
    let whole = seconds.ceil() as u64;
    match whole {
        0..=59 => format!("{whole} s"),
        60..=3599 => format!("{} min", whole.div_ceil(60)),
        3600..=86_399 => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::{Figures, Recommendation, duration, rate};
    use straddle_geometry::{Bytes, Ratio};

    fn percent(worst: u64) -> Ratio {
        Ratio::new(worst, 100).expect("a ratio")
    }

    #[test]
    fn the_price_decides_and_between_its_limits_the_downtime() {
        let moved = |worst, seconds| Figures {
            in_place: false,
            worst: percent(worst),
            unpriced: 0,
            only_notes: false,
            seconds: Some(seconds),
        };
        let cases = [
            (0, 1.0, Recommendation::NotWorthIt),
            (4, 1.0, Recommendation::NotWorthIt),
            (5, 1.0, Recommendation::Now),
            (5, 600.0, Recommendation::Now),
            (5, 601.0, Recommendation::NextRebuild),
            (49, 601.0, Recommendation::NextRebuild),
            (50, 601.0, Recommendation::Now),
            (50, 1e9, Recommendation::Now),
        ];
        for (worst, seconds, call) in cases {
            assert_eq!(moved(worst, seconds).call().0, call, "{worst}% {seconds} s");
        }
    }

    #[test]
    fn what_moves_nothing_is_done_now_and_notes_are_worth_no_outage() {
        let figures = |in_place, unpriced, only_notes| Figures {
            in_place,
            worst: Ratio::ZERO,
            unpriced,
            only_notes,
            seconds: Some(1.0),
        };
        assert_eq!(figures(true, 0, true).call(), (Recommendation::Now, None));
        let (call, why) = figures(false, 0, true).call();
        assert_eq!(call, Recommendation::NotWorthIt);
        assert_eq!(
            why.as_deref(),
            Some("they are notes: no outage is worth that")
        );
        let (call, why) = figures(false, 2, false).call();
        assert_eq!(call, Recommendation::NextRebuild);
        assert!(why.is_some_and(|why| why.starts_with("2 of the findings cured have no price")));
    }

    #[test]
    fn where_the_outage_is_not_known_there_is_no_verdict_but_on_what_is_worth_none() {
        for (worst, call) in [
            (0, Recommendation::NotWorthIt),
            (4, Recommendation::NotWorthIt),
            (5, Recommendation::OutageUnknown),
            (50, Recommendation::OutageUnknown),
            (300, Recommendation::OutageUnknown),
        ] {
            let figures = Figures {
                in_place: false,
                worst: percent(worst),
                unpriced: 0,
                only_notes: false,
                seconds: None,
            };
            assert_eq!(figures.call().0, call, "{worst}%");
        }
    }

    #[test]
    fn times_and_rates_are_said_in_units_that_fit() {
        let times = [
            (0.2, "1 s"),
            (59.0, "59 s"),
            (61.0, "2 min"),
            (3600.0, "1 h 0 min"),
            (90_061.0, "1 d 1 h"),
        ];
        for (seconds, words) in times {
            assert_eq!(duration(seconds), words);
        }
        assert_eq!(rate(Bytes::new(200_000_000)), "200 MB/s");
        assert_eq!(rate(Bytes::new(999_999)), "999 kB/s");
    }
}
