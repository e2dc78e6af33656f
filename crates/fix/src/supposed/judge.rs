//! One verdict for each value that is plausible, and one for all where they agree.

use straddle_geometry::{Bytes, Unit};
use straddle_rules::plausible_stripe_units;
use straddle_stack::Stack;

use super::{Open, question, supposed};
use crate::plan::draft;
use crate::{Alternative, Ask, Plan, Question, Recommendation, Unknown, Worth};

/// The verdict on a plan, whatever is only assumed. One that a simulation gave stands: the profile says what lies below.
pub(crate) fn judge(stack: &Stack, ask: &Ask, plan: &Plan) -> Worth {
    let worth = plan.worth.clone();
    let open = Open::of(stack, plan);
    if ask.gain.is_some() || plan.is_empty() || open.is_empty() {
        return worth;
    }
    let verdicts = verdicts(stack, ask, &open);
    if agree(&verdicts) {
        return agreed(worth, &verdicts, &open);
    }
    let questions = questions(stack, &open, &verdicts);
    let asked: Vec<String> = questions
        .iter()
        .map(|question| format!("{} of {}", question.unknown.name(), question.of.join(", ")))
        .collect();
    let mut because = vec![format!(
        "the verdict depends on what is not known: {}",
        asked.join("; ")
    )];
    // The effort is the same whatever it removes.
    because.extend(worth.because.into_iter().skip(1).take(1));
    Worth {
        call: Recommendation::FindOut,
        because,
        worst: worth.worst,
        alternatives: grouped(&verdicts),
        questions,
    }
}

/// What comes of one supposition.
struct Verdict {
    sector: Option<Unit>,
    stripe: Option<Bytes>,
    worth: Worth,
}

fn verdicts(stack: &Stack, ask: &Ask, open: &Open) -> Vec<Verdict> {
    let sectors: Vec<Option<Unit>> = match open.sectors.is_empty() {
        true => vec![None],
        false => vec![Unit::new(512), Some(Unit::B4096)],
    };
    let mut stripes: Vec<Option<Bytes>> = vec![None];
    if !open.stripes.is_empty() {
        stripes = plausible_stripe_units()
            .map(|unit| Some(unit.bytes()))
            .collect();
        let all_arrays = open
            .stripes
            .iter()
            .all(|id| straddle_rules::is_array(stack.layer(*id)));
        if !all_arrays {
            stripes.insert(0, Some(Bytes::ZERO));
        }
    }
    let mut out = Vec::new();
    for sector in sectors {
        for stripe in &stripes {
            let stack = supposed(stack, open, sector, *stripe);
            out.push(Verdict {
                sector,
                stripe: *stripe,
                worth: draft(&stack, ask).worth,
            });
        }
    }
    out
}

/// What is left alone is left alone, whether there is nothing to do or it is not worth it.
pub(super) fn same(a: Recommendation, b: Recommendation) -> bool {
    let idle = |call| matches!(call, Recommendation::Nothing | Recommendation::NotWorthIt);
    a == b || idle(a) && idle(b)
}

fn agree(verdicts: &[Verdict]) -> bool {
    verdicts
        .windows(2)
        .all(|two| matches!(two, [a, b] if same(a.worth.call, b.worth.call)))
}

/// The verdict that all suppositions come to.
fn agreed(mut worth: Worth, verdicts: &[Verdict], open: &Open) -> Worth {
    let calls = verdicts.iter().map(|verdict| &verdict.worth);
    // The most that any of them costs decides, and its reasons are those that are told.
    let most = calls
        .clone()
        .find(|other| other.call != Recommendation::Nothing);
    if !same(
        worth.call,
        most.map_or(Recommendation::Nothing, |most| most.call),
    ) && let Some(most) = most
    {
        worth = most.clone();
    }
    if worth.call == Recommendation::Nothing {
        worth.call = Recommendation::NotWorthIt;
    }
    let mut unknown = Vec::new();
    if !open.sectors.is_empty() {
        unknown.push("physical sectors of 512 and of 4,096 bytes");
    }
    if !open.stripes.is_empty() {
        unknown.push("every plausible stripe unit");
    }
    worth
        .because
        .push(format!("the same for {}", unknown.join(" and ")));
    worth
}

/// What must be known: a fact of which one value leads elsewhere than another, all else being equal.
fn questions(stack: &Stack, open: &Open, verdicts: &[Verdict]) -> Vec<Question> {
    let differs = |alike: fn(&Verdict, &Verdict) -> bool| {
        verdicts.iter().any(|a| {
            let mut others = verdicts.iter().filter(|b| alike(a, b));
            others.any(|b| !same(a.worth.call, b.worth.call))
        })
    };
    let mut out = Vec::new();
    if differs(|a, b| a.stripe == b.stripe) {
        out.push(question(stack, Unknown::PhysicalSector, &open.sectors));
    }
    if differs(|a, b| a.sector == b.sector) {
        out.push(question(stack, Unknown::StripeUnit, &open.stripes));
    }
    out
}

/// Suppositions that come to the same, in one line.
fn grouped(verdicts: &[Verdict]) -> Vec<Alternative> {
    let mut out: Vec<Alternative> = Vec::new();
    for verdict in verdicts {
        let sector = verdict.sector.map(Unit::bytes);
        let (call, worst) = (verdict.worth.call, verdict.worth.worst);
        let known = out
            .iter_mut()
            .find(|other| other.physical_sector == sector && same(other.call, call));
        match known {
            Some(known) => {
                known.stripe_units.extend(verdict.stripe);
                known.least = known.least.min(worst);
                known.most = known.most.max(worst);
                if known.call == Recommendation::Nothing {
                    known.call = call;
                }
            }
            None => out.push(Alternative {
                physical_sector: sector,
                stripe_units: verdict.stripe.into_iter().collect(),
                ..Alternative::new(call, worst)
            }),
        }
    }
    // Where the stripe unit makes no difference, it is not named.
    let sectors: Vec<Option<Bytes>> = out.iter().map(|one| one.physical_sector).collect();
    for (one, sector) in out.iter_mut().zip(&sectors) {
        if sectors.iter().filter(|other| *other == sector).count() == 1 {
            one.stripe_units.clear();
        }
    }
    out
}
