use schemars::JsonSchema;
use serde::Serialize;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recommendation {
    /// It justifies an outage.
    Now,
    /// When the data are moved anyway.
    NextRebuild,
    /// It gains nothing to speak of.
    NotWorthIt,
    /// There is nothing to do.
    Nothing,
    /// The prediction is too uncertain to say.
    Undecided,
    /// It depends on a fact that is not known: [`crate::Worth::questions`] says how it is found out.
    FindOut,
    /// The gain may justify an outage, and how long that is, is not known.
    OutageUnknown,
}

impl Recommendation {
    /// As it is said.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Recommendation::Now => "now",
            Recommendation::NextRebuild => "at the next rebuild",
            Recommendation::NotWorthIt => "not worth it",
            Recommendation::Nothing => "nothing to do",
            Recommendation::Undecided => "undecided",
            Recommendation::FindOut => "find out first",
            Recommendation::OutageUnknown => "no verdict: the outage is not known",
        }
    }
}
