use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Ratio};
use straddle_rules::Lack;

use crate::Recommendation;

/// A fact that is not known and decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// The physical sector of the disks: assumed.
    PhysicalSector,
    /// The stripe unit of an array that may lie below: not known.
    StripeUnit,
}

impl Unknown {
    /// How it is said.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Unknown::PhysicalSector => "physical sector",
            Unknown::StripeUnit => "stripe unit",
        }
    }

    /// The flag that states it.
    #[must_use]
    pub const fn flag(self) -> &'static str {
        match self {
            Unknown::PhysicalSector => "--physical-sector",
            Unknown::StripeUnit => "--stripe-unit",
        }
    }

    pub(crate) const fn lack(self) -> Lack {
        match self {
            Unknown::PhysicalSector => Lack::PhysicalSector,
            Unknown::StripeUnit => Lack::StripeUnit,
        }
    }
}

/// A fact that must be found out before anything is decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Question {
    /// What is not known.
    pub unknown: Unknown,
    /// What it is a fact about: names of disks.
    pub of: Vec<String>,
    /// What speaks for one value or another, and whose answer counts.
    pub evidence: Vec<String>,
    /// The commands that print it; of a system that is not known, what to look at.
    pub commands: Vec<String>,
    /// The flag that states it where it is known otherwise.
    pub flag: &'static str,
}

/// The verdict for some values of what is not known.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Alternative {
    /// The workload, and what a simulation gains with it; `null` where it was given, or nothing was simulated.
    pub workload: Option<String>,
    /// Physical sector of the disks in question; `null` where that is known.
    pub physical_sector: Option<Bytes>,
    /// Stripe units below, all with this verdict; 0 stands for no array. Empty where that is known, or makes no difference.
    pub stripe_units: Vec<Bytes>,
    /// The verdict.
    pub call: Recommendation,
    /// The least that is removed at these values: extra operations relative to aligned, for the worst request size.
    pub least: Ratio,
    /// The most.
    pub most: Ratio,
}

impl Alternative {
    /// With such a verdict, whatever it depends on.
    pub(crate) fn new(call: Recommendation, worst: Ratio) -> Alternative {
        Alternative {
            workload: None,
            physical_sector: None,
            stripe_units: Vec::new(),
            call,
            least: worst,
            most: worst,
        }
    }
}
