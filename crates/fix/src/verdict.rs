//! A plan with its verdict, which holds whatever is only assumed.

use straddle_geometry::Ratio;
use straddle_rules::{Code, codes};
use straddle_stack::{LayerId, Stack};

use crate::change::cures;
use crate::plan::draft;
use crate::{Ask, Plan, Step, Survival, supposed};

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

/// The steps of a plan without its verdict, which takes far longer: also those that a verdict makes optional.
#[must_use]
pub fn outline(stack: &Stack, ask: &Ask) -> Plan {
    draft(&supposed::by_models(stack), &brief(ask))
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
            price > Ratio::ZERO || matches!(code, codes::STRIPE_UNIT_UNKNOWN | codes::VMFS_START)
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
