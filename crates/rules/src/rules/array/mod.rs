//! STR2xx: stripes and arrays.

pub(crate) mod allocation_unit_stripe_unit;
pub(crate) mod concatenated;
pub(crate) mod degraded_array;
pub(crate) mod firmware_array_state;
pub(crate) mod firmware_volume_start;
pub(crate) mod member_data_offset;
pub(crate) mod member_offsets_differ;
pub(crate) mod members_disagree;
pub(crate) mod odd_full_stripe;
pub(crate) mod partition_start_full_stripe;
pub(crate) mod partition_start_stripe_unit;
pub(crate) mod partly_given;
pub(crate) mod reshaping_array;
pub(crate) mod stripe_unit_physical_sector;
pub(crate) mod stripe_unit_unknown;
pub(crate) mod untold_filesystem;
