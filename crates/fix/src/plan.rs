use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use straddle_geometry::{Bytes, Ratio};
use straddle_rules::{Code, Context, Finding, by_code};
use straddle_stack::{AnomalyKind, Key, LayerId, Stack};

use crate::change::{Change, KINDS, Kind, Proposal, cures};
use crate::script::price;
use crate::situation::Known;
use crate::step::by_hand;
use crate::{Ask, Cure, Effort, How, Left, Situation, Step, Survival, Traffic, Worth};

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

/// A plan for a stack as if all of it were known, without what must survive.
pub(crate) fn draft(stack: &Stack, ask: &Ask) -> Plan {
    let mut found = Found::new(stack, ask);
    let mut after = stack.clone();
    let mut proposals: Vec<(LayerId, usize, Proposal<Change>)> = Vec::new();
    // Layers of one level do not rest on each other: the rules look once at the changes of a kind to all of them.
    for level in levels(stack) {
        for (order, kind) in KINDS.iter().enumerate() {
            if !ask.only.is_empty() && !ask.only.contains(&kind.name) {
                continue;
            }
            let about = found.about(stack, kind);
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

    /// The layers on which, or on what rests directly on them, there are findings that a change of this kind is for.
    fn about(&self, stack: &Stack, kind: &Kind<Change>) -> BTreeSet<LayerId> {
        let known = self.known.iter().filter(|(_, code)| kind.is_for(*code));
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
        let mut anomalies = layer.anomalies.iter();
        let unread = anomalies
            .find(|anomaly| matches!(anomaly.kind, AnomalyKind::Unreadable | AnomalyKind::Missing));
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

fn step(
    stack: &Stack,
    number: usize,
    kind: &'static str,
    (layer, name): (LayerId, &str),
    proposal: Proposal<Change>,
) -> Step {
    Step {
        traffic: price(stack, &proposal.change, proposal.how),
        number,
        title: proposal.title,
        kind,
        layer,
        name: name.to_owned(),
        how: proposal.how,
        arithmetic: proposal.arithmetic,
        notes: proposal.notes,
        blockers: proposal.blockers,
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
    let kind = KINDS.iter().find(|kind| kind.is_for(finding.code));
    let number = kind.and_then(|kind| by_hand.get(kind.name));
    let why = by_code(finding.code).and_then(|rule| rule.repair.why_left());
    match (number, why, kind) {
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

impl Plan {
    /// True when there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}
