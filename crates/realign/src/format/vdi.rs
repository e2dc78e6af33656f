//! Fields of a VDI's header that are written: the layout is at the head of `probe`'s file on VDI.

pub(crate) const KIND: usize = 0x4c;
pub(crate) const TABLE_OFFSET: usize = 0x154;
pub(crate) const DATA_OFFSET: usize = 0x158;
pub(crate) const DISK_SIZE: usize = 0x170;
pub(crate) const BLOCK_SIZE: usize = 0x178;
pub(crate) const BLOCK_EXTRA: usize = 0x17c;
pub(crate) const BLOCKS: usize = 0x180;
pub(crate) const ALLOCATED: usize = 0x184;
pub(crate) const LAST_CHANGE: usize = 0x198;

/// An entry of the table without a block.
pub(crate) const FREE: u32 = 0xffff_ffff;
/// An entry that stands for zeroes; those below are numbers of blocks.
pub(crate) const ZERO: u32 = 0xffff_fffe;
