//! Whether a plan is worth its effort: a rule on figures, so that it can be read, tested and disputed.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Ratio};
use straddle_predict::decision::{self, Work};
use straddle_rules::Severity;

use crate::{Ask, Cure, Effort, How, Step};

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    /// It justifies an outage.
    Now,
    /// When the data are moved anyway.
    NextRebuild,
    /// It gains nothing to speak of.
    NotWorthIt,
    /// There is nothing to do.
    Nothing,
    /// The prediction is too uncertain to say.
    Undecided,
}

impl Call {
    /// As it is said.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Call::Now => "now",
            Call::NextRebuild => "at the next rebuild",
            Call::NotWorthIt => "not worth it",
            Call::Nothing => "nothing to do",
            Call::Undecided => "undecided",
        }
    }
}

/// A verdict, and the figures that decided it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Worth {
    /// The verdict.
    pub call: Call,
    /// The figures, in words.
    pub because: Vec<String>,
}

/// Extra operations from which an outage is justified, where no simulation says more: the severity `error`.
const LARGE: (u64, u64) = (1, 2);
/// Extra operations below which a plan is not worth a thought: the severity `note`.
const SMALL: (u64, u64) = (1, 20);
/// A longest outage, in seconds, that a price between the two justifies.
const SHORT: f64 = 600.0;

impl Worth {
    pub(crate) fn of(steps: &[Step], cured: &[Cure], effort: &Effort, ask: &Ask) -> Worth {
        if steps.is_empty() {
            return Worth {
                call: Call::Nothing,
                because: vec!["no finding that a change would cure".to_owned()],
            };
        }
        if cured.is_empty() {
            return Worth {
                call: Call::NotWorthIt,
                because: vec!["the steps cure no finding by themselves".to_owned()],
            };
        }
        let in_place = steps.iter().all(|step| step.how == How::InPlace);
        let worst = cured.iter().map(Cure::worst).max().unwrap_or(Ratio::ZERO);
        let unpriced = cured
            .iter()
            .filter(|cure| cure.prices.is_empty() && cure.severity >= Severity::Warning);
        let unpriced = unpriced.count();
        let seconds = effort.downtime.as_secs_f64();
        let mut because = vec![format!("it cures extra operations of up to {worst}")];
        because.push(match in_place {
            true => "no data are moved".to_owned(),
            false => format!(
                "{} are copied, in {} at {}{}",
                effort.copied.rounded(),
                duration(seconds),
                rate(effort.rate),
                if ask.rate.is_none() { " (assumed)" } else { "" }
            ),
        });
        let ratio = |(n, d)| Ratio::new(n, d).unwrap_or(Ratio::ONE);
        let call = if let Some(evidence) = ask.gain {
            #[expect(clippy::cast_precision_loss, reason = "a rate needs no 64 bits")]
            let work = Work {
                data: Some(effort.copied),
                rate: effort.rate.get() as f64,
            };
            let decided = decision::decide(evidence, work);
            because.push(format!(
                "the simulation gains {:+.1}% ({:+.1}% to {:+.1}%)",
                (evidence.gain.mean - 1.0) * 100.0,
                (evidence.gain.low - 1.0) * 100.0,
                (evidence.gain.high - 1.0) * 100.0
            ));
            match decided.call {
                decision::Call::FixNow => Call::Now,
                decision::Call::NextRebuild => Call::NextRebuild,
                decision::Call::NotWorthIt => Call::NotWorthIt,
                decision::Call::Undecided => Call::Undecided,
            }
        } else if in_place {
            Call::Now
        } else if cured.iter().all(|cure| cure.severity == Severity::Note) {
            because.push("they are notes: no outage is worth that".to_owned());
            Call::NotWorthIt
        } else if worst < ratio(SMALL) && unpriced > 0 {
            because.push(format!(
                "{unpriced} of the findings cured have no price and are warnings or errors: not worth an outage, but no new system should have them"
            ));
            Call::NextRebuild
        } else if worst < ratio(SMALL) {
            because.push("below 5%, which no outage is worth".to_owned());
            Call::NotWorthIt
        } else if worst >= ratio(LARGE) {
            because.push("50% or more justifies an outage of its own".to_owned());
            Call::Now
        } else if seconds <= SHORT {
            because.push("between 5% and 50% justifies an outage of up to 10 minutes".to_owned());
            Call::Now
        } else {
            because.push(
                "between 5% and 50% does not justify an outage of more than 10 minutes".to_owned(),
            );
            Call::NextRebuild
        };
        Worth { call, because }
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
