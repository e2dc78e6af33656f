//! What only Linux can say about files and devices, and what only it can be asked for. All but [`allocate`], [`evict`] and [`punch_hole`]
//! reads and changes nothing.

mod access;
mod claim;
mod device_mapper;
mod fiemap;
mod pseudo;
mod space;
mod stat;
mod uses;

pub use access::Who;
pub use claim::{ClaimError, claim_device, claim_file, reread_partitions};
pub use device_mapper::device_mapper_table;
pub use fiemap::{ExtentFlags, FileExtent, FileExtents, file_extents};
pub use pseudo::is_pseudo;
pub use space::{allocate, available, data_from, evict, is_direct, is_in_memory, punch_hole};
pub use stat::{
    DirectIo, FileStat, FilesystemStat, file_stat, filesystem_stat, logical_sector, physical_sector,
};
pub use uses::{DeviceUse, device_uses, file_uses};
