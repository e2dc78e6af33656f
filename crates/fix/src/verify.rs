//! Whether a plan that was carried out cured what it promised.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use straddle_geometry::{Ratio, Unit};
use straddle_rules::{Context, Finding, Options};
use straddle_stack::Stack;

/// What a document of a plan said before: the part of it that a verification needs.
#[derive(Clone, Debug, Deserialize)]
pub struct Before {
    /// The findings that were to be cured.
    pub cured: Vec<Promise>,
}

/// A finding that was to be cured.
#[derive(Clone, Debug, Deserialize)]
pub struct Promise {
    /// The rule's code, as printed.
    pub code: String,
    /// What the layer was called.
    pub layer: String,
    /// What was the case.
    pub title: String,
    /// Extra operations by request size.
    pub prices: Vec<Price>,
}

/// What requests of one size paid.
#[derive(Clone, Debug, Deserialize)]
pub struct Price {
    /// Request size.
    pub io: Unit,
    /// Extra operations before the plan was carried out.
    pub before: Fraction,
}

/// An exact fraction in a document.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Fraction {
    numerator: u64,
    denominator: u64,
}

/// What became of a promise.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Outcome {
    /// The rule's code.
    pub code: String,
    /// What the layer was called.
    pub layer: String,
    /// What was the case before.
    pub title: String,
    /// What is the case now; `null` when it is cured.
    pub now: Option<String>,
    /// Extra operations by request size.
    pub prices: Vec<Change>,
}

/// What requests of one size paid, and pay.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// Request size.
    pub io: Unit,
    /// Extra operations before.
    pub before: Ratio,
    /// Extra operations now.
    pub now: Ratio,
}

/// What a stack looks like when a plan was carried out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Verification {
    /// Each promise.
    pub outcomes: Vec<Outcome>,
}

impl Verification {
    /// True when every promise was kept.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.outcomes.iter().all(|outcome| outcome.now.is_none())
    }
}

/// Holds a stack against what was promised. A layer that was made again may have another name: a promise is kept when its
/// finding is not there on the layer of that name, and, where no layer has it, nowhere.
#[must_use]
pub fn verify(before: &Before, stack: &Stack, options: &Options) -> Verification {
    let mut options = options.clone();
    for price in before.cured.iter().flat_map(|promise| &promise.prices) {
        if !options.io.contains(&price.io) {
            options.io.push(price.io);
        }
    }
    let findings = straddle_rules::check(&Context::new(stack, &options));
    let names: BTreeSet<&str> = stack
        .layers()
        .iter()
        .map(|layer| layer.name.as_str())
        .collect();
    // The first finding of each rule, anywhere and on the layers of each name.
    let mut of: BTreeMap<(String, Option<&str>), &Finding> = BTreeMap::new();
    for finding in &findings {
        let name = stack.layer(finding.layer).name.as_str();
        for name in [None, Some(name)] {
            of.entry((finding.code.to_string(), name))
                .or_insert(finding);
        }
    }
    let outcomes = before.cured.iter().map(|promise| {
        let name = names.get(promise.layer.as_str()).copied();
        let still = of.get(&(promise.code.clone(), name));
        let prices = promise.prices.iter().map(|price| {
            let rows = still.and_then(|finding| finding.prices.as_ref());
            let now = rows.and_then(|prices| prices.rows.iter().find(|row| row.io == price.io));
            let Fraction {
                numerator,
                denominator,
            } = price.before;
            Change {
                io: price.io,
                before: Ratio::new(numerator, denominator).unwrap_or(Ratio::ZERO),
                now: now.map_or(Ratio::ZERO, |row| row.extra),
            }
        });
        Outcome {
            code: promise.code.clone(),
            layer: promise.layer.clone(),
            title: promise.title.clone(),
            now: still.map(|finding| finding.title.clone()),
            prices: prices.collect(),
        }
    });
    Verification {
        outcomes: outcomes.collect(),
    }
}
