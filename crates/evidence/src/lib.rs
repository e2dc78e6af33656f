//! What logs, counters and benchmarks already say about storage: stalls in an ERRORLOG, counters of Performance Monitor, reports of
//! `iostat`, checkpoints, backups, runs of fio.
//!
//! [`read`] streams one input of any size: it unpacks and decodes it, finds the outputs in it, and hands every figure to a
//! [`Gathered`], which keeps [summaries](straddle_stack::activity::Summary) for each volume, file or disk that the figures are
//! about. [`Gathered::join`] makes facts of layers of them. A tool or a message is one file and one line in the registry.

mod binary;
mod error;
mod fields;
mod format;
mod gathered;
mod input;
mod join;
mod json;
mod line;
mod marks;
mod notes;
mod number;
mod others;
mod prefix;
mod registry;
mod session;
mod stamp;
mod subject;
mod table;
mod upright;
mod word;

mod benchmark;
mod errorlog;
mod etcd;
mod linux;
mod mysql;
mod pdh;
mod postgres;
mod sqlserver;

pub use error::EvidenceError;
pub use format::Format;
pub use gathered::{Counted, Gathered, Observation};
pub use input::{read, read_with};
pub use notes::Found;
pub use registry::FORMATS;
pub use subject::{Subject, SubjectKind};
