use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a history cannot be used.
#[derive(Debug, Error)]
#[error("the history {path}: {trouble}", path = path.display())]
pub struct Error {
    /// The file.
    pub path: PathBuf,
    /// What is the matter.
    #[source]
    pub trouble: Trouble,
}

/// What is the matter with a history.
#[derive(Debug, Error)]
pub enum Trouble {
    /// There is none.
    #[error("there is none yet; it is made by the first run that is stored")]
    Missing,
    /// Another program's file, or no database at all. It is left as it is.
    #[error(
        "is no history of straddle: {found}; it is left as it is, name another file with --history"
    )]
    Foreign {
        /// What it is.
        found: String,
    },
    /// It was written by a newer version.
    #[error(
        "has layout {found}, and this version of straddle knows layouts up to {known}; use the version that wrote it, or name another file \
         with --history"
    )]
    Newer {
        /// Its layout.
        found: i64,
        /// The newest that is known.
        known: i64,
    },
    /// It is older, and cannot be brought up to date where it is.
    #[error(
        "has layout {found}, older than {known}, and cannot be written; copy it to where it can"
    )]
    Outdated {
        /// Its layout.
        found: i64,
        /// The layout that is needed.
        known: i64,
    },
    /// It is damaged.
    #[error(
        "is damaged ({detail}); what can be read is saved by `straddle history export`, then move the file away, and `straddle history import` \
         what was saved"
    )]
    Damaged {
        /// What SQLite says.
        detail: String,
    },
    /// Nothing can be written to it.
    #[error("cannot be written ({detail}); nothing was changed")]
    ReadOnly {
        /// What SQLite says.
        detail: String,
    },
    /// Another program was writing to it for too long.
    #[error(
        "is being written by another program for more than {seconds} s; nothing was changed, try again"
    )]
    Busy {
        /// How long it was waited for.
        seconds: u64,
    },
    /// The disk is full.
    #[error("the disk is full; nothing was changed")]
    Full,
    /// There is no such run.
    #[error("{0}")]
    NoRun(String),
    /// A document that cannot be unpacked.
    #[error("the document of run {id} cannot be read: {detail}")]
    Document {
        /// Its number.
        id: i64,
        /// Why.
        detail: String,
    },
    /// Something else went wrong with the file.
    #[error("{0}")]
    Io(#[source] std::io::Error),
    /// Something else went wrong in SQLite.
    #[error("{0}")]
    Sqlite(String),
}

/// How long another writer is waited for.
pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

impl Trouble {
    pub(crate) fn at(self, path: &Path) -> Error {
        Error {
            path: path.to_owned(),
            trouble: self,
        }
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Trouble {
        use rusqlite::ErrorCode;
        let detail = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Trouble::Foreign {
                found: "it is not an SQLite database".to_owned(),
            },
            Some(ErrorCode::DatabaseCorrupt) => Trouble::Damaged { detail },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                Trouble::ReadOnly { detail }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Trouble::Busy {
                seconds: PATIENCE.as_secs(),
            },
            Some(ErrorCode::DiskFull) => Trouble::Full,
            _ => Trouble::Sqlite(detail),
        }
    }
}
