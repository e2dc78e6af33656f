//! Recorded requests: what each offset would cost them, on every grid.
//!
//! [`scan`] reads traces of any size, by several threads, and counts how many requests of each length begin at each place modulo
//! 1 MiB. From that joint distribution ([`Statistics`]) follows, exactly and without reading anything again, how many requests
//! straddle each grid of a power of two up to 1 MiB wherever the recorded addresses are shifted to, and how many writes cover a
//! granule only in part ([`Curve`]). Other units have distributions of their own.
//!
//! A recorder is one file in `readers` and one line in [`FORMATS`].

mod column_map;
mod columns;
mod counter;
mod error;
mod format;
mod input;
mod judge;
mod lines;
mod names;
mod number;
mod readers;
mod received;
mod record;
mod registry;
mod scan;
mod sink;
mod slots;
mod statistics;
mod tables;
mod text;
mod translate;

pub use column_map::{ColumnMap, ColumnsError};
pub use counter::{Counter, access};
pub use error::TraceError;
pub use format::Format;
pub use input::{Input, Source};
pub use judge::{
    Answer, Cost, Curve, DeviceAnswer, DeviceAnswers, GridAnswer, Load, Question, STEP, Shape,
    Shapes, WindowAnswer, answer,
};
pub use lines::{BadLine, Counts, Fault};
pub use names::Device;
pub use record::{Event, MAX_LEN, ROWS, Record};
pub use registry::{FORMATS, TABLES};
pub use scan::{Options, Scanner, recognise, records, scan};
pub use statistics::{
    FileRead, FileSummary, JoinError, Key, PERIOD, Statistics, Times, WireError, sealed,
};
pub use translate::Translate;
