//! Why something could not be checked.

use std::io;
use std::path::PathBuf;

use crate::io::OpenError;
use crate::report::text;
use crate::rules::{Coverage, Why};
use crate::sources::SourceError;

/// Why a target could not be checked. The others still are.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A directory that could not be listed.
    #[error(transparent)]
    Unlisted(io::Error),
    /// It could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It, or what it lies on, could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Its real name could not be had, or standard input not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The kernel's tables have names in UTF-8.
    #[error("{} is not valid UTF-8", .0.display())]
    NotUtf8(PathBuf),
    /// A file without bytes was named.
    #[error("{} is empty: 0 bytes found; expected a disk image, or a file with data", .0.display())]
    Empty(PathBuf),
    /// It was said to be captured text, and no output of a known tool is in it.
    #[error("{name}: {}", nothing_known(*.why))]
    NothingKnown {
        /// What was named.
        name: String,
        /// Why nothing is known of it.
        why: Why,
    },
}

/// That nothing is known of a file, and what to capture next.
#[must_use]
pub fn nothing_known(why: Why) -> String {
    match Coverage::of_nothing_known(why) {
        Coverage::Nothing { why, next } => text::unchecked(why, &next),
        Coverage::Starts { .. } | Coverage::Units | Coverage::Blank { .. } => String::new(),
    }
}
