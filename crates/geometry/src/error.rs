use std::fmt;

/// Why an exact answer cannot be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The answer does not fit in 64 bits.
    Overflow,
    /// Two grids share no boundary: their phases differ modulo the greatest common divisor of their units.
    Disjoint {
        /// Greatest common divisor of the two units, in bytes.
        gcd: u64,
        /// Phase of the first grid modulo `gcd`.
        left: u64,
        /// Phase of the second grid modulo `gcd`.
        right: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Overflow => f.write_str("the exact result does not fit in 64 bits"),
            Error::Disjoint { gcd, left, right } => {
                write!(
                    f,
                    "no address satisfies both grids: modulo {gcd} one needs {left}, the other {right}"
                )
            }
        }
    }
}

impl std::error::Error for Error {}
