use std::fmt::Display;

/// Why a target is left alone, and what to do instead. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}; {instead}")]
pub struct Refusal {
    /// What was found, and what was expected.
    pub why: String,
    /// What to do next.
    pub instead: String,
}

impl Refusal {
    pub(crate) fn new(why: impl Display, instead: impl Display) -> Refusal {
        Refusal {
            why: why.to_string(),
            instead: instead.to_string(),
        }
    }
}
