//! What could make a measurement worthless, and what to do about it.
//!
//! [`before`] looks at the target and the devices below it before the first run; an [`Observer`] looks at the machine while
//! runs are made, and at their samples afterwards. Files of the kernel are read below a root that is a parameter, so that
//! tests can put a machine together from a few of them. What a kernel does not tell is not judged.

mod before;
mod cache;
mod kernel;
mod observer;
mod other_io;
mod processor;
mod queue;
mod written;

use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use before::main_memory;
pub use before::{LISTENING, Scene, before};
pub(crate) use kernel::Kernel;
#[cfg(test)]
pub(crate) use kernel::testing::put;
pub use observer::Observer;
#[cfg(target_os = "linux")]
pub use written::unwritten_in;
pub use written::{Unwritten, not_written};

/// Something that a reader of the figures has to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Warning {
    /// What kind it is, for programs: `cache_larger_than_file`.
    pub kind: WarningKind,
    /// What was seen, with its figures.
    pub cause: String,
    /// What to try.
    pub advice: String,
}

/// Kinds of [`Warning`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// Nothing is known of the layers below.
    StackUnknown,
    /// The file lies in pieces that stand differently on a grid below.
    Fragmented,
    /// No place in the file lies on all grids below.
    Misplaced,
    /// Requests went through the page cache.
    Buffered,
    /// Requests were answered faster than the device could: a cache is larger than the file.
    CacheLargerThanFile,
    /// The processor ran slower for part of the time.
    ThrottledProcessor,
    /// The processor was the limit, not the storage.
    BusyProcessor,
    /// Somebody else used the device.
    OtherIo,
    /// The device was busy before the first run.
    BusyDevice,
    /// The device takes fewer requests at once than were asked for.
    QueueLimit,
    /// The baseline moved.
    Drift,
    /// Runs were not steady.
    NotSteady,
    /// Offsets that stand alike on every known grid deliver different figures.
    EquivalentsDiffer,
    /// Rate, latency and outstanding requests do not fit each other.
    LittlesLaw,
    /// The offered rate was not reached.
    RateNotReached,
    /// Requests went to a file that is sparse or was never written.
    NotWritten,
}

/// A share in percent with one decimal.
fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// `1 run`, `3 runs`.
fn counted(count: impl Into<u64>, what: &str) -> String {
    let count = count.into();
    let s = if count == 1 { "" } else { "s" };
    format!(
        "{} {what}{s}",
        straddle_geometry::Bytes::new(count).grouped()
    )
}
