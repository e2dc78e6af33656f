//! STR1xx: partitions.

pub(crate) mod foreign_sector_size;
pub(crate) mod hidden_sectors;
pub(crate) mod hybrid_mbr;
pub(crate) mod kernel_alignment_offset;
pub(crate) mod odd_but_right;
pub(crate) mod partition_size_sector;
pub(crate) mod partition_start_flash_unit;
pub(crate) mod partition_start_physical_sector;
pub(crate) mod partition_start_preferred_io;
pub(crate) mod partitions_overlap;
