use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Ratio, Unit};
use straddle_rules::{Code, Context, Finding, Options, Severity};
use straddle_stack::{LayerId, Stack};

use crate::change::{Change, KINDS, Proposal};
use crate::{Effort, How, Situation, Worth};

/// What the user asked for.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// Request sizes to price.
    pub options: Options,
    /// Kinds of change to be planned, by their names; all when there is none.
    pub only: Vec<&'static str>,
    /// Bytes that are copied each second; `None` for the usual assumption.
    pub rate: Option<Bytes>,
    /// What a simulation predicts, as a multiple of today's rate with its interval; `None` without one.
    pub gain: Option<straddle_predict::decision::Evidence>,
    /// Allocation unit that new filesystems are to have, where it is not the old one.
    pub allocation_unit: Option<Unit>,
}

impl Ask {
    /// Bytes each second unless the user knows better: what one disk reads or writes in order.
    pub const RATE: Bytes = Bytes::new(200_000_000);
}

/// What to change about a stack, and what that comes to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Plan {
    /// The steps, in the order in which they must be done.
    pub steps: Vec<Step>,
    /// Findings that are gone afterwards.
    pub cured: Vec<Cure>,
    /// Findings that no step is there for and that the rules do not expect afterwards all the same: to be checked again.
    pub unpromised: Vec<Cure>,
    /// Findings that stay, and why.
    pub left: Vec<Left>,
    /// What it takes.
    pub effort: Effort,
    /// Whether it is worth that.
    pub worth: Worth,
    /// The stack as it will be.
    #[serde(skip)]
    pub after: Stack,
}

/// One change.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Step {
    /// Its number, from 1.
    pub number: usize,
    /// One line: what is done.
    pub title: String,
    /// Name of the kind of change: `partitions`.
    pub kind: &'static str,
    /// The layer that is changed, and what it is called.
    pub layer: LayerId,
    /// What that is called.
    pub name: String,
    /// What becomes of the data.
    #[serde(flatten)]
    pub how: How,
    /// How the figures come about.
    pub arithmetic: Vec<String>,
    /// What else must be known, or done by hand.
    pub notes: Vec<String>,
    /// Why no script may do it as things are; empty where one may.
    pub hindrances: Vec<String>,
    /// The change in figures.
    pub change: Change,
}

/// A finding, and what it costs before and after.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Cure {
    /// The rule.
    pub code: Code,
    /// What the layer is called.
    pub layer: String,
    /// What is the case now.
    pub title: String,
    /// How much it matters now.
    pub severity: Severity,
    /// Extra operations by request size; empty when it is not a matter of price.
    pub prices: Vec<Cost>,
}

/// What requests of one size pay.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Cost {
    /// Request size.
    pub io: Unit,
    /// Extra operations now, relative to aligned.
    pub before: Ratio,
    /// The same afterwards.
    pub after: Ratio,
}

/// A finding that the plan does not cure.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Left {
    /// The finding as it will be.
    #[serde(flatten)]
    pub finding: Cure,
    /// Why it stays.
    pub why: String,
    /// True when it is there only because of the plan.
    pub is_new: bool,
}

/// Makes a plan: for each layer, from the lowest up, the changes that cure what was found there.
#[must_use]
pub fn plan(stack: &Stack, ask: &Ask) -> Plan {
    let findings = straddle_rules::check(&Context::new(stack, &ask.options));
    let mut after = stack.clone();
    // A change below may put what rests on it off a grid that it was on.
    let mut then = findings.clone();
    let mut steps: Vec<Step> = Vec::new();
    let same = |a: &Finding, b: &Finding| a.code == b.code && a.layer == b.layer;
    for (id, layer) in stack.iter() {
        for kind in KINDS {
            if !ask.only.is_empty() && !ask.only.contains(&kind.name) {
                continue;
            }
            if !may_cure(stack, &findings, id, kind.cures)
                && !may_cure(stack, &then, id, kind.cures)
            {
                continue;
            }
            let context = Context::new(&after, &ask.options);
            let new = then
                .iter()
                .filter(|then| !findings.iter().any(|now| same(now, then)));
            let known: Vec<Finding> = findings.iter().chain(new).cloned().collect();
            let situation = Situation {
                stack: &after,
                context: &context,
                findings: &known,
                ask,
            };
            let Some(proposal) = (kind.propose)(&situation, id) else {
                continue;
            };
            drop(context);
            if proposal.how != How::ByHand {
                proposal.change.apply(&mut after);
                then = straddle_rules::check(&Context::new(&after, &ask.options));
            }
            steps.push(step(steps.len() + 1, kind.name, id, &layer.name, proposal));
        }
    }
    let gone = findings
        .iter()
        .filter(|now| !then.iter().any(|then| same(now, then)));
    // Promised is what a step is there for; what else the rules do not find on the copy may be there again on what is made.
    let (promised, other): (Vec<&Finding>, Vec<&Finding>) =
        gone.partition(|now| steps.iter().any(|step| cures(step.kind, now.code)));
    let cured: Vec<Cure> = promised
        .into_iter()
        .map(|now| Cure::of(stack, now, None))
        .collect();
    let other = other.into_iter();
    let unpromised = other.map(|now| Cure::of(stack, now, None)).collect();
    let left: Vec<Left> = then
        .iter()
        .map(|then| {
            let before = findings.iter().find(|now| same(now, then));
            Left {
                finding: Cure::of(&after, before.unwrap_or(then), Some(then)),
                why: why_left(then, &steps),
                is_new: before.is_none(),
            }
        })
        .collect();
    let effort = effort(stack, &steps, ask);
    let worth = Worth::of(&steps, &cured, &left, &effort, ask);
    Plan {
        steps,
        cured,
        unpromised,
        left,
        effort,
        worth,
        after,
    }
}

/// True when something by hand is planned for a finding of this rule.
pub(crate) fn is_by_hand(steps: &[Step], code: Code) -> bool {
    let mut by_hand = steps.iter().filter(|step| step.how == How::ByHand);
    by_hand.any(|step| cures(step.kind, code))
}

/// True when a kind of change, by its name, is there to cure findings of this rule.
fn cures(kind: &str, code: Code) -> bool {
    let kind = KINDS.iter().find(|known| known.name == kind);
    kind.is_some_and(|kind| kind.cures.contains(&code))
}

/// True when a finding that `codes` name is on `id`, or on what rests directly on it.
fn may_cure(stack: &Stack, findings: &[Finding], id: LayerId, codes: &[Code]) -> bool {
    findings.iter().any(|finding| {
        codes.contains(&finding.code)
            && (finding.layer == id || stack.layer(finding.layer).below.contains(&id))
    })
}

fn step(number: usize, kind: &'static str, layer: LayerId, name: &str, proposal: Proposal) -> Step {
    Step {
        number,
        title: proposal.title,
        kind,
        layer,
        name: name.to_owned(),
        how: proposal.how,
        arithmetic: proposal.arithmetic,
        notes: proposal.notes,
        hindrances: proposal.hindrances,
        change: proposal.change,
    }
}

fn why_left(finding: &Finding, steps: &[Step]) -> String {
    let kind = KINDS.iter().find(|kind| kind.cures.contains(&finding.code));
    let by_hand = steps
        .iter()
        .find(|step| step.how == How::ByHand && kind.is_some_and(|kind| kind.name == step.kind));
    match (by_hand, kind) {
        (Some(step), _) => format!("step {} must be done by hand", step.number),
        (None, kind) => match (crate::uncured::reason(finding.code), kind) {
            (Some(why), _) => why.to_owned(),
            (None, Some(kind)) => format!("no change of {} would do it here", kind.title),
            (None, None) => format!(
                "what to do is on its page: straddle explain {}",
                finding.code
            ),
        },
    }
}

/// What steps take: bytes that two steps copy are counted once, for the one that copies them more often.
fn effort(stack: &Stack, steps: &[Step], ask: &Ask) -> Effort {
    let outermost = steps.iter().filter(|step| {
        !steps.iter().any(|other| {
            let (mine, theirs) = (step.how.passes(), other.how.passes());
            let related = if step.layer == other.layer {
                theirs > mine || theirs == mine && other.number < step.number
            } else {
                stack.rests_on(step.layer, other.layer) && theirs >= mine
                    || stack.rests_on(other.layer, step.layer) && theirs > mine
            };
            other.number != step.number && theirs > 0 && related
        })
    });
    let hows: Vec<How> = outermost.map(|step| step.how).collect();
    let mut again: Vec<String> = Vec::new();
    for note in steps.iter().flat_map(|step| &step.notes) {
        if !again.contains(note) {
            again.push(note.clone());
        }
    }
    Effort::of(&hows, ask.rate.unwrap_or(Ask::RATE), again)
}

impl Cure {
    fn of(stack: &Stack, now: &Finding, then: Option<&Finding>) -> Cure {
        let rows = now.prices.iter().flat_map(|prices| &prices.rows);
        let then = then.and_then(|then| then.prices.as_ref());
        let prices = rows.map(|row| {
            let after = then.and_then(|then| then.rows.iter().find(|then| then.io == row.io));
            Cost {
                io: row.io,
                before: row.extra,
                after: after.map_or(Ratio::ZERO, |row| row.extra),
            }
        });
        Cure {
            code: now.code,
            layer: stack.layer(now.layer).name.clone(),
            title: now.title.clone(),
            severity: now.severity,
            prices: prices.collect(),
        }
    }

    /// The worst price now.
    #[must_use]
    pub fn worst(&self) -> Ratio {
        let prices = self.prices.iter().map(|cost| cost.before);
        prices.max().unwrap_or(Ratio::ZERO)
    }
}

impl Plan {
    /// True when there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}
