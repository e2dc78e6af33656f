//! Why nothing came of a file.

use std::io;

use thiserror::Error;

use crate::column_map::ColumnsError;

/// Why nothing came of a file.
#[derive(Debug, Error)]
pub enum TraceError {
    /// It is no trace that is known.
    #[error(
        "{name}: no trace of a known recorder: its first line is {first}; docs/reference/traces.md lists what is read, and --columns says what the columns of a table are"
    )]
    Unknown {
        /// The file.
        name: String,
        /// The beginning of its first line.
        first: String,
    },
    /// It is known, and there is nothing to be had from it.
    #[error("{name}: {why}")]
    Refused {
        /// The file.
        name: String,
        /// Why, and what to do instead.
        why: &'static str,
    },
    /// It is no table of the columns that it is said to have.
    #[error("{name}: {error}")]
    Columns {
        /// The file.
        name: String,
        /// What was looked for and found.
        error: ColumnsError,
    },
    /// A file of that name was read before.
    #[error("{name}: it was given twice, and is counted once")]
    Twice {
        /// The file.
        name: String,
    },
    /// There is nothing in it.
    #[error("{name}: the file is empty")]
    Empty {
        /// The file.
        name: String,
    },
    /// It cannot be read.
    #[error("{name}: {error}")]
    Read {
        /// The file.
        name: String,
        /// As the system says it.
        error: io::Error,
    },
    /// Counts cannot be kept.
    #[error("counts that do not fit in memory could not be kept in a temporary file: {0}")]
    Spill(io::Error),
}
