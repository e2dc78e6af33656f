//! Tools of Linux.

mod device;
pub(super) mod lvm;
mod lvm_table;
mod lvm_volume;
mod md_array;
pub(super) mod mdadm;
pub(super) mod mdstat;
pub(super) mod sfdisk;
