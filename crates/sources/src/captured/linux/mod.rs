//! Tools of Linux.

mod about;
pub(super) mod cryptsetup;
mod disk;
pub(super) mod hdparm;
pub(super) mod lvm;
mod lvm_table;
mod lvm_volume;
mod md_array;
pub(super) mod mdadm;
pub(super) mod mdstat;
pub(super) mod nvme;
pub(super) mod sfdisk;
pub(super) mod sg3_utils;
pub(super) mod smartctl;
pub(super) mod zfs;
