//! Tools of Linux.

mod about;
pub(super) mod ansible;
pub(super) mod blkid;
pub(super) mod blockdev;
pub(super) mod cryptsetup;
mod device;
mod disk;
pub(super) mod dmsetup;
pub(super) mod ext;
pub(super) mod fdisk;
pub(super) mod file_magic;
pub(super) mod hdparm;
pub(super) mod kernel_log;
pub(super) mod kpartx;
pub(super) mod libguestfs;
pub(super) mod lsblk;
pub(super) mod lvm;
mod lvm_table;
mod lvm_text;
mod lvm_volume;
mod md_array;
pub(super) mod mdadm;
pub(super) mod mdstat;
pub(super) mod mmls;
pub(super) mod nvme;
pub(super) mod parted;
pub(super) mod partx;
pub(super) mod sfdisk;
pub(super) mod sg3_utils;
pub(super) mod sgdisk;
pub(super) mod smartctl;
pub(super) mod sysfs;
pub(super) mod xfs_info;
pub(super) mod zfs;
pub(super) mod zfs_get;

pub(super) use about::is_disk;
