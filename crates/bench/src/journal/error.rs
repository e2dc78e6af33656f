use std::io;
use std::path::{Path, PathBuf};

/// Why a journal cannot be written or gone on with.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// None can be made there.
    #[error(
        "cannot create the journal {}: {source}; it lies beside the test file, so choose a target that can be written to, or another place for the journal alone with --journal",
        path.display()
    )]
    NotCreated {
        /// The journal.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused.
    #[error("cannot {doing} the journal {}: {source}", path.display())]
    Os {
        /// What was tried.
        doing: &'static str,
        /// The journal.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// One is there already.
    #[error(
        "{} is the journal of an earlier run, {state}; go on with that run by `straddle bench --resume {}`, or remove the journal and its test file",
        path.display(), path.display()
    )]
    Exists {
        /// The journal.
        path: PathBuf,
        /// How far that run came.
        state: String,
    },
    /// Something else is there.
    #[error(
        "{} exists and is no journal that can be read ({reason}); name another place with --journal, or look at it and remove it",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Why it cannot be read.
        reason: String,
    },
    /// Another process has it.
    #[error("{} is in use: another `straddle bench` is at work on it", path.display())]
    InUse {
        /// The journal.
        path: PathBuf,
    },
    /// There is no whole line in it.
    #[error(
        "{} has no whole line: it is no journal, or that of a run which ended before it began, and that can be removed",
        path.display()
    )]
    Empty {
        /// The journal.
        path: PathBuf,
    },
    /// It is not what was written.
    #[error(
        "{}, line {line}: found {found}, expected {expected}; the journal is damaged or none, and the run cannot be resumed: remove it and its test file, and start over",
        path.display()
    )]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// Which line, counted from 1.
        line: usize,
        /// What it holds.
        found: String,
        /// What it should hold.
        expected: String,
    },
}

impl JournalError {
    pub(super) fn os(doing: &'static str, path: &Path, source: io::Error) -> JournalError {
        JournalError::Os {
            doing,
            path: path.to_owned(),
            source,
        }
    }
}
