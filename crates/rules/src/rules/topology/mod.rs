//! STR5xx: topology that lies.

pub(crate) mod array_optimal_io;
pub(crate) mod coarse_indirection_unit;
pub(crate) mod flash_claims_512;
pub(crate) mod kernel_says_misaligned;
pub(crate) mod optimal_io_implausible;
pub(crate) mod optimal_io_lie;
pub(crate) mod physical_sector_implausible;
