use std::fmt::Display;

/// Why a target is left alone, and what to do instead. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}; {instead}")]
pub struct Refusal {
    /// What was found, and what was expected.
    pub why: String,
    /// What to do next.
    pub instead: String,
    /// True when it is as it should be already.
    pub is_nothing_to_do: bool,
}

impl Refusal {
    pub(crate) fn new(why: impl Display, instead: impl Display) -> Refusal {
        Refusal {
            why: why.to_string(),
            instead: instead.to_string(),
            is_nothing_to_do: false,
        }
    }

    pub(crate) fn nothing_to_do(why: impl Display, instead: impl Display) -> Refusal {
        Refusal {
            is_nothing_to_do: true,
            ..Refusal::new(why, instead)
        }
    }
}
