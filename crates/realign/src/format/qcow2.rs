//! Fields of a qcow2 header, and bits of its entries: the layout is at the heads of `probe`'s files on qcow2.

pub(crate) const MAGIC: &[u8; 4] = b"QFI\xfb";
pub(crate) const VERSION: usize = 0x04;
pub(crate) const CLUSTER_BITS: usize = 0x14;
pub(crate) const SIZE: usize = 0x18;
pub(crate) const L1_ENTRIES: usize = 0x24;
pub(crate) const L1_OFFSET: usize = 0x28;
pub(crate) const REFCOUNTS_OFFSET: usize = 0x30;
pub(crate) const REFCOUNTS_CLUSTERS: usize = 0x38;
pub(crate) const INCOMPATIBLE: usize = 0x48;
pub(crate) const AUTOCLEAR: usize = 0x58;
pub(crate) const REFCOUNT_ORDER: usize = 0x60;
pub(crate) const HEADER_LEN: usize = 0x64;

/// Bits of an entry that say where something lies.
pub(crate) const OFFSET: u64 = 0x00ff_ffff_ffff_fe00;
/// It has one owner.
pub(crate) const COPIED: u64 = 1 << 63;
pub(crate) const PACKED: u64 = 1 << 62;
pub(crate) const ZERO: u64 = 1;
