use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use straddle_geometry::{Bytes, Ratio, Unit};
use straddle_rules::{Code, Context, Finding, Options, Severity};
use straddle_stack::{Key, LayerId, OddityKind, Stack};

use crate::change::{Change, KINDS, Proposal};
use crate::script::{self, Traffic};
use crate::situation::Known;
use crate::{Effort, How, Situation, Survival, Worth, supposed};

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
    /// The workload of that simulation, in words.
    pub workload: Option<String>,
    /// The same for each mix of reads and writes, where none was given.
    pub mixes: Vec<(String, straddle_predict::decision::Evidence)>,
    /// Allocation unit that new filesystems are to have, where it is not the old one.
    pub allocation_unit: Option<Unit>,
    /// Kinds of change, by their names, that are left out for a layer.
    pub without: Vec<(LayerId, &'static str)>,
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
    /// Steps that move data for findings without a price, beside others that have one: not part of this plan, its effort and its
    /// scripts. A plan of their kind alone (`--only`) has them.
    pub optional: Vec<Step>,
    /// Findings that are gone afterwards.
    pub cured: Vec<Cure>,
    /// Findings that no step is there for and that the rules do not expect afterwards all the same: to be checked again.
    pub unpromised: Vec<Cure>,
    /// Findings that stay, and why.
    pub left: Vec<Left>,
    /// Disks of which nothing could be looked at, and why.
    pub unread: Vec<String>,
    /// What it takes.
    pub effort: Effort,
    /// Whether it is worth that.
    pub worth: Worth,
    /// What identifies the target, and all that must be there afterwards.
    pub survival: Survival,
    /// The stack as it will be.
    #[serde(skip)]
    pub after: Stack,
    /// What the rules find now: the code, the layer, and the highest price.
    #[serde(skip)]
    pub(crate) found: Vec<(Code, LayerId, Ratio)>,
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
    /// What its script reads and writes, with what a backup program does for it.
    pub traffic: Traffic,
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

/// Makes a plan: for each layer, from the lowest up, the changes that cure what was found there. Its verdict holds whatever
/// is only assumed, or says what to find out.
#[must_use]
pub fn plan(stack: &Stack, ask: &Ask) -> Plan {
    let stack = supposed::by_models(stack);
    let mut ask = brief(ask);
    let mut plan = draft(&stack, &ask);
    let optional = optional(&stack, &ask, &plan);
    if !optional.is_empty() {
        let is_optional = |step: &Step| optional.contains(&(step.layer, step.kind));
        let steps = plan.steps.into_iter().filter(is_optional).collect();
        ask.without.clone_from(&optional);
        plan = draft(&stack, &ask);
        plan.optional = steps;
    }
    plan.worth = supposed::judge(&stack, &ask, &plan);
    plan.survival = Survival::of(&stack, &plan.after, &plan.steps);
    plan
}

/// Whether a plan for this has any step, which is known long before its verdict.
#[must_use]
pub fn has_steps(stack: &Stack, ask: &Ask) -> bool {
    !draft(&supposed::by_models(stack), &brief(ask)).is_empty()
}

/// The same without what findings say at length: a plan shows none of it.
fn brief(ask: &Ask) -> Ask {
    let mut ask = ask.clone();
    ask.options.in_full = false;
    ask
}

/// The steps that move data for nothing that has a price, where others do it for what has one. What STR203 and STR616 say has a
/// price that nobody knows yet.
fn optional(stack: &Stack, ask: &Ask, plan: &Plan) -> Vec<(LayerId, &'static str)> {
    let is_any = |step: &Step, counts: fn(Code, Ratio) -> bool| {
        plan.found.iter().any(|(code, layer, price)| {
            let is_about = *layer == step.layer || stack.layer(*layer).below.contains(&step.layer);
            is_about && counts(*code, *price) && cures(step.kind, *code)
        })
    };
    let is_priced = |step: &Step| {
        is_any(step, |code, price| {
            price > Ratio::ZERO || matches!(code.0, 203 | 616)
        })
    };
    // What nothing is found about now is there because a change below would put it off its boundaries.
    let is_found = |step: &Step| is_any(step, |_, _| true);
    let (free, priced): (Vec<&Step>, Vec<&Step>) = plan
        .steps
        .iter()
        .partition(|step| step.how.passes() > 0 && is_found(step) && !is_priced(step));
    match priced.iter().any(|step| is_priced(step)) && ask.only.is_empty() {
        true => free.iter().map(|step| (step.layer, step.kind)).collect(),
        false => Vec::new(),
    }
}

/// A plan for a stack as if all of it were known, without what must survive.
pub(crate) fn draft(stack: &Stack, ask: &Ask) -> Plan {
    let mut found = Found::new(stack, ask);
    let mut after = stack.clone();
    let mut proposals: Vec<(LayerId, usize, Proposal)> = Vec::new();
    // Layers of one level do not rest on each other: the rules look once at the changes of a kind to all of them.
    for level in levels(stack) {
        for (order, kind) in KINDS.iter().enumerate() {
            if !ask.only.is_empty() && !ask.only.contains(&kind.name) {
                continue;
            }
            let about = found.about(stack, kind.cures);
            let layers: Vec<LayerId> = level
                .iter()
                .copied()
                .filter(|id| about.contains(id) && !ask.without.contains(&(*id, kind.name)))
                .collect();
            if layers.is_empty() {
                continue;
            }
            let context = Context::new(&after, &ask.options);
            let situation = Situation {
                stack: &after,
                context: &context,
                known: &found.known,
                ask,
            };
            let new = layers
                .into_iter()
                .filter_map(|id| Some((id, order, (kind.propose)(&situation, id)?)));
            let new: Vec<_> = new.collect();
            drop(context);
            let mut changes = new
                .iter()
                .map(|(_, _, proposal)| proposal)
                .filter(|p| p.how != How::ByHand)
                .peekable();
            if changes.peek().is_some() {
                changes.for_each(|proposal| proposal.change.apply(&mut after));
                found.again(&after, ask);
            }
            proposals.extend(new);
        }
    }
    proposals.sort_by_key(|(layer, order, _)| (*layer, *order));
    let steps: Vec<Step> = proposals
        .into_iter()
        .zip(1..)
        .map(|((layer, order, proposal), number)| {
            step(
                stack,
                number,
                KINDS[order].name,
                (layer, &stack.layer(layer).name),
                proposal,
            )
        })
        .collect();
    outcome(stack, after, &found, steps, ask)
}

/// What the rules say of the stack as it is, and of the copy.
struct Found {
    now: Vec<Finding>,
    /// Once a change was made to the copy: one below may put what rests on it off a grid that it was on.
    then: Option<Vec<Finding>>,
    /// Those of now, and what is new then.
    known: Known,
}

impl Found {
    fn new(stack: &Stack, ask: &Ask) -> Found {
        let now = straddle_rules::check(&Context::new(stack, &ask.options));
        Found {
            known: Known::of(&now),
            then: None,
            now,
        }
    }

    fn again(&mut self, after: &Stack, ask: &Ask) {
        let then = straddle_rules::check(&Context::new(after, &ask.options));
        self.known = Known::of(&self.now);
        self.known.add_new(&then);
        self.then = Some(then);
    }

    fn then(&self) -> &[Finding] {
        self.then.as_deref().unwrap_or(&self.now)
    }

    /// The layers on which, or on what rests directly on them, there are findings that `codes` name.
    fn about(&self, stack: &Stack, codes: &[Code]) -> BTreeSet<LayerId> {
        let known = self.known.iter().filter(|(_, code)| codes.contains(code));
        known
            .flat_map(|(layer, _)| {
                std::iter::once(layer).chain(stack.layer(layer).below.iter().copied())
            })
            .collect()
    }
}

/// What makes two findings, before and after, the same.
fn place(finding: &Finding) -> (Code, LayerId) {
    (finding.code, finding.layer)
}

/// The first finding of each rule about each layer.
fn places(findings: &[Finding]) -> BTreeMap<(Code, LayerId), &Finding> {
    findings
        .iter()
        .rev()
        .map(|finding| (place(finding), finding))
        .collect()
}

/// Layers by how many lie below them on the longest way down, from those that rest on nothing up.
fn levels(stack: &Stack) -> Vec<Vec<LayerId>> {
    let mut levels: Vec<Vec<LayerId>> = Vec::new();
    let mut level_of: BTreeMap<LayerId, usize> = BTreeMap::new();
    for (id, layer) in stack.iter() {
        let below = layer.below.iter().filter_map(|below| level_of.get(below));
        let level = below.max().map_or(0, |below| below + 1);
        level_of.insert(id, level);
        if levels.len() == level {
            levels.push(Vec::new());
        }
        levels[level].push(id);
    }
    levels
}

/// What the steps come to.
fn outcome(stack: &Stack, after: Stack, found: &Found, steps: Vec<Step>, ask: &Ask) -> Plan {
    let (before, then) = (places(&found.now), places(found.then()));
    let gone = found
        .now
        .iter()
        .filter(|now| !then.contains_key(&place(now)));
    // Promised is what a step is there for; what else the rules do not find on the copy may be there again on what is made.
    let kinds: BTreeSet<&str> = steps.iter().map(|step| step.kind).collect();
    let (promised, other): (Vec<&Finding>, Vec<&Finding>) =
        gone.partition(|now| kinds.iter().any(|kind| cures(kind, now.code)));
    let cure = |now: &Finding| Cure::of(stack, now, None);
    let cured: Vec<Cure> = promised.into_iter().map(cure).collect();
    let unpromised = other.into_iter().map(cure).collect();
    let by_hand = by_hand(&steps);
    let left = found.then().iter().map(|then| {
        let before = before.get(&place(then)).copied();
        Left {
            finding: Cure::of(&after, before.unwrap_or(then), Some(then)),
            why: match is_left_out(&after, then, ask) {
                true => "an optional step would do it, which is no part of this plan".to_owned(),
                false => why_left(then, &by_hand),
            },
            is_new: before.is_none(),
        }
    });
    let left: Vec<Left> = left.collect();
    let effort = effort(stack, &steps, ask);
    let worth = Worth::of(&steps, &cured, &left, &effort, ask);
    Plan {
        cured,
        unpromised,
        left,
        effort,
        worth,
        survival: Survival::default(),
        steps,
        after,
        found: found
            .now
            .iter()
            .map(|found| (found.code, found.layer, found.worst_price()))
            .collect(),
        optional: Vec::new(),
        unread: unread(stack),
    }
}

/// Disks on which nothing is known to begin, because they could not be read, or because what was captured does not say.
fn unread(stack: &Stack) -> Vec<String> {
    let bare = stack.roots().filter(|id| stack.above(*id).next().is_none());
    let why = bare.filter_map(|id| {
        let layer = stack.layer(id);
        let mut oddities = layer.oddities.iter();
        let unread = oddities
            .find(|oddity| matches!(oddity.kind, OddityKind::Unreadable | OddityKind::Missing));
        match (unread, layer.attribute(Key::Platform)) {
            (Some(unread), _) => Some(format!("{}: {}", layer.name, unread.detail)),
            (None, Some(_)) => Some(format!(
                "{}: where its partitions begin was not captured",
                layer.name
            )),
            (None, None) => None,
        }
    });
    why.collect()
}

/// The first step of each kind that is work by hand, by the name of the kind.
pub(crate) fn by_hand(steps: &[Step]) -> BTreeMap<&'static str, usize> {
    let by_hand = steps.iter().rev().filter(|step| step.how == How::ByHand);
    by_hand.map(|step| (step.kind, step.number)).collect()
}

/// True when a kind of change, by its name, is there to cure findings of this rule.
pub(crate) fn cures(kind: &str, code: Code) -> bool {
    let kind = KINDS.iter().find(|known| known.name == kind);
    kind.is_some_and(|kind| kind.cures.contains(&code))
}

fn step(
    stack: &Stack,
    number: usize,
    kind: &'static str,
    (layer, name): (LayerId, &str),
    proposal: Proposal,
) -> Step {
    Step {
        traffic: script::price(stack, &proposal.change, proposal.how),
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

/// Whether a change that cures this was left out for its layer, or for what that rests on.
fn is_left_out(stack: &Stack, finding: &Finding, ask: &Ask) -> bool {
    let below = &stack.layer(finding.layer).below;
    let mut without = ask.without.iter();
    without.any(|(layer, kind)| {
        (*layer == finding.layer || below.contains(layer)) && cures(kind, finding.code)
    })
}

fn why_left(finding: &Finding, by_hand: &BTreeMap<&'static str, usize>) -> String {
    let kind = KINDS.iter().find(|kind| kind.cures.contains(&finding.code));
    let number = kind.and_then(|kind| by_hand.get(kind.name));
    match (number, crate::uncured::reason(finding.code), kind) {
        (Some(number), ..) => format!("step {number} must be done by hand"),
        (None, Some(why), _) => why.to_owned(),
        (None, None, Some(kind)) => format!("no change of {} would do it here", kind.title),
        (None, None, None) => format!(
            "what to do is on its page: straddle explain {}",
            finding.code
        ),
    }
}

/// What steps take: bytes that two steps copy are counted once, for the one that copies them more often.
fn effort(stack: &Stack, steps: &[Step], ask: &Ask) -> Effort {
    let mut on: BTreeMap<LayerId, Vec<usize>> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        on.entry(step.layer).or_default().push(at);
    }
    let passes: Vec<u64> = steps.iter().map(|step| step.how.passes()).collect();
    let mut is_counted = vec![true; steps.len()];
    for (at, step) in steps.iter().enumerate() {
        let mine = passes[at];
        let beside = on[&step.layer].iter().copied().filter(|other| *other != at);
        for other in beside {
            let theirs = passes[other];
            if theirs > 0 && (theirs > mine || theirs == mine && other < at) {
                is_counted[at] = false;
            }
        }
        let below = stack.foundations(step.layer);
        for lower in below.iter().filter_map(|base| on.get(base)).flatten() {
            let theirs = passes[*lower];
            if theirs > 0 && theirs >= mine {
                is_counted[at] = false;
            } else if mine > theirs {
                is_counted[*lower] = false;
            }
        }
    }
    let data = steps
        .iter()
        .zip(&is_counted)
        .filter(|(_, is)| **is)
        .map(|(step, _)| step.how.bytes())
        .fold(Bytes::ZERO, |sum, bytes| {
            sum.checked_add(bytes).unwrap_or(Bytes::MAX)
        });
    // Each script moves what it moves; only what a backup program takes away for one step is away for the next as well.
    let prices: Vec<(How, Traffic)> = steps
        .iter()
        .zip(is_counted)
        .filter(|(step, is_counted)| *is_counted || !matches!(step.how, How::Refill { .. }))
        .map(|(step, _)| (step.how, step.traffic))
        .collect();
    let mut said: BTreeSet<&str> = BTreeSet::new();
    let notes = steps.iter().flat_map(|step| &step.notes);
    let again = notes.filter(|note| said.insert(note)).cloned().collect();
    let is_at_most = steps.iter().any(Step::is_at_most);
    let rate = ask.rate.unwrap_or(Ask::RATE);
    Effort::of(&prices, (data, is_at_most), rate, again)
}

impl Step {
    /// Whether its figures are upper bounds: of files, and of a pool in a stream, only what is stored is copied, and how much that is
    /// is not looked at. Counted is all that there is room for.
    #[must_use]
    pub fn is_at_most(&self) -> bool {
        match self.how {
            How::Refill { .. } => true,
            How::Restore { .. } => matches!(self.change, Change::Pool(_)),
            How::InPlace | How::Move { .. } | How::Copy { .. } | How::ByHand => false,
        }
    }
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
