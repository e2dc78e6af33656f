//! Runs that were made, kept in one SQLite database.
//!
//! A run is what a verb printed as JSON, and what is needed to find it again. Nothing here knows verbs or what is in a document.
//!
//! **Layout.** `PRAGMA application_id` says that a file is a history, `PRAGMA user_version` which layout it has; `schema.rs` has the steps from each
//! to the next. Documents are packed with deflate in a table of their own, so that listing does not read them.
//!
//! **Order of writes.** Every change is one transaction with a rollback journal and `synchronous=FULL`: a run is kept when
//! [`Store::add`] returns, and never in part. A rollback journal rather than a write-ahead log, because that can be read where nothing can be
//! written, and needs no shared memory.
//!
//! **Identity.** A run is known everywhere by a digest of what it says ([`Key`]), so that histories of several machines can be merged in any
//! order and as often as one likes.

mod baselines;
mod error;
mod exchange;
mod key;
mod progress;
mod run;
mod schema;
mod store;

pub use baselines::Baseline;
pub use error::{Error, Trouble};
pub use exchange::{Imported, Line, MAX_LINE};
pub use key::Key;
pub use progress::{Process, Progress};
pub use run::{Entry, Filter, Run};
pub use schema::VERSION;
pub use store::Store;
