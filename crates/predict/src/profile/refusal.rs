//! Why a profile, a study or a scenario cannot be simulated.

use std::fmt;

/// A parameter that makes no sense: what it is, what was found, what would be allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Whose it is: the profile's or the study's name, `--set`.
    pub place: String,
    /// The parameter: `disk.rpm`, `workload.io`.
    pub key: String,
    /// What was found, as it was written.
    pub found: String,
    /// What is allowed.
    pub expected: String,
}

impl Refusal {
    /// A refusal of `key`; the place is added by who knows it ([`Refusal::of`]).
    #[must_use]
    pub fn new(
        key: impl Into<String>,
        found: impl fmt::Display,
        expected: impl fmt::Display,
    ) -> Refusal {
        Refusal {
            place: String::new(),
            key: key.into(),
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }

    /// The same, of that profile or study.
    #[must_use]
    pub fn of(self, place: impl Into<String>) -> Refusal {
        Refusal {
            place: place.into(),
            ..self
        }
    }
}

impl fmt::Display for Refusal {
    /// `eva8100: disk.rpm is -3; expected 300 1/min to 100000 1/min`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        write!(
            f,
            "{} is {}; expected {}",
            self.key, self.found, self.expected
        )
    }
}

impl std::error::Error for Refusal {}
