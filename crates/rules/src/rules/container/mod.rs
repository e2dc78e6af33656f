//! STR4xx: virtual disks and nested guests.

pub(crate) mod backing_chain;
pub(crate) mod compressed_clusters;
pub(crate) mod container_block_small;
pub(crate) mod container_block_stripe;
pub(crate) mod container_data_offset;
pub(crate) mod discard_granularity;
pub(crate) mod gpt_foreign_sector_in_guest;
pub(crate) mod guest_4k_on_512;
pub(crate) mod guest_512_on_4k;
pub(crate) mod guest_aligned_host_off;
pub(crate) mod guest_and_below_off;
pub(crate) mod guest_and_host_cancel;
pub(crate) mod host_file_fragmented;
pub(crate) mod parent_block_size;
pub(crate) mod stream_optimized;
pub(crate) mod vhd_drift;
pub(crate) mod vhd_size;
