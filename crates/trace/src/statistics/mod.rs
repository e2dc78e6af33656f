//! What is counted, and how counts of blocks, files and machines become one.

mod bins;
mod course;
mod dense;
mod key;
mod runs;
mod whole;
mod wire;

pub(crate) use bins::Bins;
pub(crate) use course::Pending;
pub use course::Times;
pub(crate) use course::{Course, Part};
pub use key::Key;
pub(crate) use key::{MAX_DEVICES, MAX_WINDOW};
pub(crate) use runs::{Merged, Runs};
pub(crate) use whole::MEMORY;
pub use whole::{FileRead, FileSummary, JoinError, PERIOD, Statistics};
pub use wire::{WireError, sealed};
