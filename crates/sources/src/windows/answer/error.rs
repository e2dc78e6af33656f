use std::fmt;

/// Why an answer of the system cannot be used: which structure, which field at which byte of the answer, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{structure}: {field} at byte {at} {problem}")]
pub struct BadAnswer {
    /// Windows' name of the structure.
    pub structure: &'static str,
    /// Windows' name of the field.
    pub field: &'static str,
    /// Where the field starts in the answer.
    pub at: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It is not in the answer, or only a part of it is.
    PastTheEnd {
        /// Where the answer ends, in bytes.
        len: usize,
    },
    /// It is negative, and nothing negative makes sense there.
    Negative(i64),
    /// It has a value that it cannot have.
    Unexpected {
        /// The value.
        found: u64,
        /// What was expected.
        expected: &'static str,
    },
    /// It says that something lies where the answer has no bytes.
    Outside {
        /// Where that is: bytes from the start of the answer, or an address for a pointer.
        target: u64,
        /// Where the answer ends, in bytes.
        len: usize,
    },
    /// It is a text without an end.
    Unterminated,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::PastTheEnd { len } => {
                write!(f, "is missing or cut: the answer ends after {len} bytes")
            }
            Problem::Negative(found) => write!(f, "is {found}; expected no negative number"),
            Problem::Unexpected { found, expected } => {
                write!(f, "is {found}; expected {expected}")
            }
            Problem::Outside { target, len } => {
                write!(
                    f,
                    "leads to {target}, outside of the {len} bytes of the answer"
                )
            }
            Problem::Unterminated => f.write_str("is a text without an end"),
        }
    }
}
