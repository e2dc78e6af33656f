//! STR3xx: filesystems.

pub(crate) mod block_smaller_than_sector;
pub(crate) mod cluster_heap;
pub(crate) mod database_page;
pub(crate) mod ext_geometry;
pub(crate) mod file_extents;
pub(crate) mod file_lattice;
pub(crate) mod filesystem_size;
pub(crate) mod mft_record;
pub(crate) mod xfs_geometry;
pub(crate) mod xfs_sector;
