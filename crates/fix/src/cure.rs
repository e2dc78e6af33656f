use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Ratio, Unit};
use straddle_rules::{Code, Context, Finding, Options, Severity};
use straddle_stack::Stack;

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

impl Cure {
    pub(crate) fn of(stack: &Stack, now: &Finding, then: Option<&Finding>) -> Cure {
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

/// What is found on a stack, with prices there and on the stack that it becomes or became, then what is found only on that one. Findings are
/// the same when their rule is, and what their layer is called.
#[must_use]
pub fn compared(before: &Stack, after: &Stack, options: &Options) -> (Vec<Cure>, Vec<Cure>) {
    let [now, then] =
        [before, after].map(|stack| straddle_rules::check(&Context::new(stack, options)));
    let is_same = |one: &Finding, other: &Finding| {
        one.code == other.code && before.layer(one.layer).name == after.layer(other.layer).name
    };
    let found = now.iter().map(|now| {
        let then = then.iter().find(|then| is_same(now, then));
        Cure::of(before, now, then)
    });
    let new = then
        .iter()
        .filter(|then| !now.iter().any(|now| is_same(now, then)));
    (
        found.collect(),
        new.map(|then| Cure::of(after, then, None)).collect(),
    )
}
