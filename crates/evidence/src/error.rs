use std::io;

/// Why an input could not be read to its end. What was read before stays.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The system said no.
    #[error("cannot read {name} behind line {line}: {error}")]
    Read {
        /// The file's name.
        name: String,
        /// The last line that was read.
        line: u64,
        /// What the system said.
        error: io::Error,
    },
    /// It is packed, and broken.
    #[error(
        "{name}: the {packing} stream is broken behind line {line} of what is in it: {error}; unpack what can be saved, and read that"
    )]
    Packed {
        /// The file's name.
        name: String,
        /// How it is packed.
        packing: &'static str,
        /// The last line that was read.
        line: u64,
        /// What is wrong.
        error: io::Error,
    },
}
