//! STR6xx: volume managers and encryption.

pub(crate) mod ashift_large;
pub(crate) mod ashift_small;
pub(crate) mod bcache_data_offset;
pub(crate) mod encryption_sector;
pub(crate) mod first_extent_far;
pub(crate) mod first_extent_stripe;
pub(crate) mod integrity_journal;
pub(crate) mod ldm_raid5;
pub(crate) mod ldm_spanned;
pub(crate) mod ldm_striped;
pub(crate) mod loop_device;
pub(crate) mod payload_full_stripe;
pub(crate) mod payload_size;
pub(crate) mod raidz_width;
pub(crate) mod storage_spaces;
pub(crate) mod striped_on_striped;
pub(crate) mod thin_chunk_stripe;
pub(crate) mod unfinished_encryption;
pub(crate) mod vmfs_start;
pub(crate) mod vmfs_upgraded;
pub(crate) mod volume_start;
