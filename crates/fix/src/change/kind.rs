//! What a kind of change is, and what it proposes; it knows none of them.

use straddle_rules::{Code, RepairKind, by_code};
use straddle_stack::LayerId;

use crate::{How, Situation};

/// Something that can be changed; `C` is what a change of it is.
pub struct Kind<C> {
    /// Its name in documents: `partitions`.
    pub name: &'static str,
    /// What is changed, for the documentation.
    pub title: &'static str,
    /// What rules call it, where they say what repairs their findings.
    pub repair: RepairKind,
    /// What to change about a layer; `None` when there is nothing that this cures.
    pub propose: fn(&Situation<'_>, LayerId) -> Option<Proposal<C>>,
}

impl<C> Kind<C> {
    /// The rules whose findings it is for, on the layer itself or on those that rest on it.
    pub fn codes(&self) -> impl Iterator<Item = Code> {
        self.repair.codes()
    }

    /// True when it is for findings of this rule.
    #[must_use]
    pub fn is_for(&self, code: Code) -> bool {
        by_code(code).is_some_and(|rule| rule.repair.kinds().contains(&self.repair))
    }
}

/// A change, and how it comes about.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal<C> {
    /// The change.
    pub change: C,
    /// One line: what is done.
    pub title: String,
    /// What becomes of the data.
    pub how: How,
    /// How the figures come about.
    pub arithmetic: Vec<String>,
    /// What else must be known, or done by hand.
    pub notes: Vec<String>,
    /// Why no script may do it as things are; empty where one may.
    pub blockers: Vec<String>,
}

impl<C> Proposal<C> {
    /// The same as one change of all that there are.
    pub(super) fn map<D>(self, one_of: fn(C) -> D) -> Proposal<D> {
        Proposal {
            change: one_of(self.change),
            title: self.title,
            how: self.how,
            arithmetic: self.arithmetic,
            notes: self.notes,
            blockers: self.blockers,
        }
    }
}
