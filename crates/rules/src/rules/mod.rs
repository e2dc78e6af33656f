//! One rule per file.

pub(crate) mod allocation_unit_stripe_unit;
pub(crate) mod folklore;
pub(crate) mod foreign_sector_size;
pub(crate) mod hidden_sectors;
pub(crate) mod hybrid_mbr;
pub(crate) mod kernel_alignment_offset;
pub(crate) mod member_data_offset;
pub(crate) mod odd_but_right;
mod oddities;
pub(crate) mod partition_size_sector;
pub(crate) mod partition_start_flash_unit;
pub(crate) mod partition_start_full_stripe;
pub(crate) mod partition_start_physical_sector;
pub(crate) mod partition_start_preferred_io;
pub(crate) mod partition_start_stripe_unit;
pub(crate) mod partitions_overlap;
mod start;
pub(crate) mod stripe_unit_physical_sector;
pub(crate) mod stripe_unit_unknown;
