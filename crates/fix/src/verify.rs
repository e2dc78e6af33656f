//! Whether a plan that was carried out cured what it promised, and left all else as it was.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use straddle_geometry::{Ratio, Unit};
use straddle_rules::{Context, Finding, Options, RULES};
use straddle_stack::Stack;
use thiserror::Error;

use crate::Survival;
use crate::survival::{Reader, compare, sha256};

/// What a document of a plan said before: the part of it that a verification needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Before {
    /// Name and version of its schema.
    pub schema: String,
    /// The findings that were to be cured.
    pub cured: Vec<Promise>,
    /// What must be there.
    pub survival: Survival,
    /// The digest of all of this, as it was when the plan was printed.
    #[serde(default)]
    pub sum: String,
}

/// Why a plan cannot be verified.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unverifiable {
    /// It has another schema.
    #[error(
        "it has the schema {found:?}, and this version verifies {wanted}: make the plan again, before anything is changed"
    )]
    Schema {
        /// Its schema.
        found: String,
        /// The schema of this version.
        wanted: &'static str,
    },
    /// It promises nothing.
    #[error("it promises nothing, so there is nothing to verify")]
    NoPromise,
    /// A code that no rule has.
    #[error("it promises to cure {0:?}, which is no finding of this version")]
    Code(String),
    /// What it says of what must survive is of no use.
    #[error("{0}")]
    Survival(&'static str),
    /// Somebody changed it.
    #[error("it was changed since it was printed: its digest is another")]
    Edited,
}

impl Before {
    /// The digest of what a verification needs.
    #[must_use]
    pub fn digest(&self) -> String {
        let bare = Before {
            sum: String::new(),
            ..self.clone()
        };
        sha256(serde_json::to_string(&bare).unwrap_or_default().as_bytes())
    }

    /// Refuses what cannot be verified.
    ///
    /// # Errors
    /// [`Unverifiable`].
    pub fn check(&self, schema: &'static str) -> Result<(), Unverifiable> {
        if self.schema != schema {
            return Err(Unverifiable::Schema {
                found: self.schema.clone(),
                wanted: schema,
            });
        }
        if self.cured.is_empty() {
            return Err(Unverifiable::NoPromise);
        }
        let known = |code: &str| RULES.iter().any(|rule| rule.code.to_string() == code);
        if let Some(promise) = self.cured.iter().find(|promise| !known(&promise.code)) {
            return Err(Unverifiable::Code(promise.code.clone()));
        }
        if let Some(fault) = self.survival.fault() {
            return Err(Unverifiable::Survival(fault));
        }
        match self.sum == self.digest() {
            true => Ok(()),
            false => Err(Unverifiable::Edited),
        }
    }
}

/// A finding that was to be cured.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Price {
    /// Request size.
    pub io: Unit,
    /// Extra operations before the plan was carried out.
    pub before: Fraction,
}

/// An exact fraction in a document.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
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
    /// What is the case now; `null` when it is not found any more, which counts only when nothing is missing.
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
    /// What should be there and is not, or is not as it was.
    pub lost: Vec<String>,
    /// What should be there, and cannot be looked at in this target.
    pub unseen: Vec<String>,
    /// What was not looked at when the plan was made, so that nobody can tell.
    pub unknown: Vec<String>,
}

impl Verification {
    /// True when all that must be there is there.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.unseen.is_empty()
    }

    /// How many promises were kept: none while something is missing.
    #[must_use]
    pub fn kept(&self) -> usize {
        match self.is_whole() {
            true => self.outcomes.iter().filter(|o| o.now.is_none()).count(),
            false => 0,
        }
    }

    /// True when every promise was kept.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.is_whole() && self.kept() == self.outcomes.len()
    }
}

/// Holds a stack against what was promised, and against what must be there. A layer that was re-created may have another name: a promise is kept when its
/// finding is not there on the layer of that name, and, where no layer has it, nowhere.
#[must_use]
pub fn verify(
    before: &Before,
    stack: &Stack,
    options: &Options,
    read: &mut Reader<'_>,
) -> Verification {
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
    let missing = compare(&before.survival, stack, read);
    Verification {
        outcomes: outcomes.collect(),
        lost: missing.lost,
        unseen: missing.unseen,
        unknown: before.survival.unseen.clone(),
    }
}
