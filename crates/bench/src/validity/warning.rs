//! What a reader of the figures has to know.

use schemars::JsonSchema;
use serde::Serialize;

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
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}
