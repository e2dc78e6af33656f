//! What requests have to be aligned to, and where that is known from.

use straddle_geometry::Unit;

/// What requests have to be aligned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Buffers in memory.
    pub memory: Unit,
    /// Offset and length of requests.
    pub offset: Unit,
}

/// Where the alignment of requests is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitsFrom {
    /// Nothing is in the way: the page cache takes any offset, and so does no storage at all.
    Nothing,
    /// A file in memory (tmpfs), whose direct I/O takes any offset.
    Memory,
    /// The filesystem says so (`statx`).
    Filesystem,
    /// Allocation unit of the filesystem, which does not say.
    AllocationUnit,
    /// Logical sector of the device.
    LogicalSector,
}

impl LimitsFrom {
    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LimitsFrom::Nothing => "no limit",
            LimitsFrom::Memory => "a filesystem in memory",
            LimitsFrom::Filesystem => "statx of the file; the logical sector below as a rule",
            LimitsFrom::AllocationUnit => "the block size of its filesystem",
            LimitsFrom::LogicalSector => "the logical sector of the device",
        }
    }
}
