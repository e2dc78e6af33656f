//! Fields of a hosted sparse extent's header: the layout is at the head of `probe`'s file on them. Places and lengths are in sectors.

pub(crate) const SECTOR: u64 = 512;
pub(crate) const VERSION: usize = 0x04;
pub(crate) const FLAGS: usize = 0x08;
pub(crate) const CAPACITY: usize = 0x0c;
pub(crate) const GRAIN: usize = 0x14;
pub(crate) const DESCRIPTOR: usize = 0x1c;
pub(crate) const DESCRIPTOR_LEN: usize = 0x24;
pub(crate) const PER_TABLE: usize = 0x2c;
pub(crate) const SECOND_DIRECTORY: usize = 0x30;
pub(crate) const DIRECTORY: usize = 0x38;
pub(crate) const OVERHEAD: usize = 0x40;
pub(crate) const LINE_ENDS: usize = 0x49;

/// Flags.
pub(crate) const LINE_ENDS_TEST: u32 = 1;
pub(crate) const HAS_SECOND_DIRECTORY: u32 = 2;
pub(crate) const COMPRESSED: u32 = 0x1_0000;
pub(crate) const MARKERS: u32 = 0x2_0000;
