//! What only a Linux system call can say about files and devices. Everything here reads; nothing changes state.

mod device_mapper;
mod fiemap;
mod stat;

pub use device_mapper::device_mapper_table;
pub use fiemap::{ExtentFlags, FileExtent, FileExtents, file_extents};
pub use stat::{
    DirectIo, FileStat, FilesystemStat, file_stat, filesystem_stat, logical_sector, physical_sector,
};
