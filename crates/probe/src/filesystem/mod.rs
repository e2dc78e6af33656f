//! Filesystems and swap.

pub(crate) mod apfs;
pub(crate) mod bcachefs;
pub(crate) mod btrfs;
mod content;
pub(crate) mod exfat;
pub(crate) mod ext;
pub(crate) mod fat;
pub(crate) mod hfs_plus;
pub(crate) mod ntfs;
pub(crate) mod refs;
pub(crate) mod swap;
pub(crate) mod xfs;
