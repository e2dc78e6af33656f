use std::io;
use std::path::{Path, PathBuf};
use straddle_io::owned::{NoToken, NotOwned, Removal};

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
    /// Somebody else has written to it.
    #[error("somebody else has written to {} since its last line was added; nothing more is added to it, and it is left alone", path.display())]
    Changed {
        /// The journal.
        path: PathBuf,
    },
    /// It is not what was to be removed, or cannot be removed safely.
    #[error("the journal {} is not removed: {removal}", path.display())]
    NotRemoved {
        /// The journal.
        path: PathBuf,
        /// What became of it.
        removal: Removal,
    },
    /// Its header has no token.
    #[error("the token `{}` of a journal: {source}", found.escape_debug())]
    Token {
        /// What is in its place.
        found: String,
        /// What is wrong with it.
        source: NoToken,
    },
    /// There is no whole line in it.
    #[error(
        "{} has no whole line: it is no journal, and nothing was changed",
        path.display()
    )]
    Empty {
        /// The journal.
        path: PathBuf,
    },
    /// It is not what was written.
    #[error("{}, line {line}: found {found}, expected {expected}; {}", path.display(), advice(*line))]
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

/// What to do about damage in a line.
fn advice(line: usize) -> &'static str {
    if line == 1 {
        "it is no journal of this version of straddle, and nothing was changed"
    } else {
        "the journal was damaged or edited, and the run cannot be resumed: look at it, then remove it and its test file, and start over"
    }
}

impl JournalError {
    pub(super) fn os(doing: &'static str, path: &Path, source: io::Error) -> JournalError {
        JournalError::Os {
            doing,
            path: path.to_owned(),
            source,
        }
    }

    pub(super) fn not_owned(path: &Path, error: NotOwned) -> JournalError {
        let foreign = |reason: String| JournalError::Foreign {
            path: path.to_owned(),
            reason,
        };
        match error {
            NotOwned::Os(error) if error.kind() == io::ErrorKind::WouldBlock => {
                JournalError::InUse {
                    path: path.to_owned(),
                }
            }
            NotOwned::Os(source) => JournalError::os("open", path, source),
            NotOwned::WrongType(found) => foreign(format!("it is {found}, no regular file")),
            NotOwned::Foreign => foreign("its header is not what it was".to_owned()),
        }
    }
}
