//! Filesystems: the lowest of the lists, because tables and volumes ask what a part holds.

use crate::{Prober, filesystem};

/// Filesystems and swap. All are tried, and the first that matches is believed when several do, so the order is that of
/// the signatures' strength: long names in the boot sector first (NTFS, exFAT and ReFS leave no room for each other, the
/// commonest comes first); then XFS, whose four letters are backed by redundant fields; then bcachefs, with a magic of 16
/// bytes, and ext, with one of two; then what needs bytes that nobody else looks at, swap (a name of ten bytes, but sometimes behind the first
/// 8 KiB) and btrfs (64 KiB on), so that a search that ends with the first match saves those reads; then what other systems
/// write. FAT is last: it has
/// no signature of its own, and its boot sector survives under ext, btrfs and swap, which leave the first sector alone.
pub static FILESYSTEMS: &[&Prober] = &[
    &filesystem::ntfs::PROBER,
    &filesystem::exfat::PROBER,
    &filesystem::refs::PROBER,
    &filesystem::xfs::PROBER,
    &filesystem::bcachefs::PROBER,
    &filesystem::ext::PROBER,
    &filesystem::swap::PROBER,
    &filesystem::btrfs::PROBER,
    &filesystem::apfs::PROBER,
    &filesystem::hfs_plus::PROBER,
    &filesystem::fat::PROBER,
];

/// Copies of superblocks, tried only where nothing else matched at all, because each costs a read at a place of its own
/// and may be left over from an earlier filesystem. The first that matches is used, so the free ones come first (FAT32's
/// and exFAT's lie in the first blocks), then those that prove by themselves that they belong to this volume (NTFS's by
/// its end, btrfs's and ext's by their address); among these the order is by cost, ext with up to three reads last.
pub static FALLBACKS: &[&Prober] = &[
    &filesystem::fat::BACKUP,
    &filesystem::exfat::BACKUP,
    &filesystem::ntfs::BACKUP,
    &filesystem::btrfs::BACKUP,
    &filesystem::ext::BACKUP,
];
