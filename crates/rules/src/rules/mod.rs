//! One rule per file.

pub(crate) mod folklore;
pub(crate) mod partition_start_physical_sector;
mod start;
