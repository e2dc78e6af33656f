//! Partition tables.

pub(crate) mod mbr;
