use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use straddle_stack::LayerId;

use crate::change::Change;
use crate::{How, Traffic};

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
    #[serde(rename = "hindrances")]
    pub blockers: Vec<String>,
    /// The change in figures.
    pub change: Change,
}

/// The first step of each kind that is work by hand, by the name of the kind.
pub(crate) fn by_hand(steps: &[Step]) -> BTreeMap<&'static str, usize> {
    let by_hand = steps.iter().rev().filter(|step| step.how == How::ByHand);
    by_hand.map(|step| (step.kind, step.number)).collect()
}
