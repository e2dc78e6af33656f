//! All probers, in the order in which they are tried. The order is a decision; each list says why it is as it is.

use crate::Prober;
use crate::container::Format;
use crate::volume::VolumeFormat;
use crate::{container, database, filesystem, partition, volume};

/// Virtual disk containers, tried on whole files before anything else: a fixed VHD begins with its guest's partition
/// table. Formats with a magic at the start come first, so that a footer at the end of the file decides only where
/// nothing else does.
pub static CONTAINERS: &[&Format] = &[
    &container::qcow2::FORMAT,
    &container::vhdx::FORMAT,
    &container::vdi::FORMAT,
    &container::vmdk::FORMAT,
    &container::refused::QED,
    &container::refused::PARALLELS,
    &container::refused::DMG,
    &container::vhd::FORMAT,
];

/// Volume managers, arrays and encryption, tried on every device and partition before tables and filesystems: what else
/// matches there (the head of a mirror whose metadata stand at the end, a boot sector that was never wiped) is on the whole,
/// or is a left-over. Arrays whose metadata stand at the end come first: the head of a mirror's member is the head of what is on
/// the mirror, a LUKS header or a physical volume as likely as a filesystem.
pub static VOLUMES: &[&VolumeFormat] = &[
    &volume::md::FORMAT,
    &volume::imsm::FORMAT,
    &volume::ddf::FORMAT,
    &volume::ldm::FORMAT,
    &volume::spaces::FORMAT,
    &volume::zfs::FORMAT,
    &volume::lvm2::FORMAT,
    &volume::luks::FORMAT,
    &volume::bitlocker::FORMAT,
    &volume::bcache::FORMAT,
    &volume::integrity::FORMAT,
    &volume::verity::FORMAT,
    &volume::vmfs::FORMAT,
];

/// Partition tables of whole devices. GPT comes before MBR because every GPT disk also carries a (protective or hybrid)
/// MBR, which the GPT prober reads and compares itself.
/// The others have magics where an MBR has none; that of Sun is backed by a checksum. That of Atari has none and comes last.
pub static TABLES: &[&Prober] = &[
    &partition::gpt::PROBER,
    &partition::mbr::PROBER,
    &partition::sun::PROBER,
    &partition::sgi::PROBER,
    &partition::apple::PROBER,
    &partition::dasd::PROBER,
    &partition::atari::PROBER,
];

/// Tables inside a partition of another table, or on a whole device that has no other table. The VTOC comes first: its
/// magic stands at an offset that no disklabel uses for anything but a number.
pub static NESTED_TABLES: &[&Prober] = &[&partition::vtoc::PROBER, &partition::bsd::PROBER];

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

/// Database files: tried only on whole targets and when no filesystem matches, because their signatures are the weakest.
/// SQL Server comes first: two pages name themselves, where those of PostgreSQL are merely consistent.
pub static DATABASE_FILES: &[&Prober] =
    &[&database::sqlserver::PROBER, &database::postgres::PROBER];

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

/// Every prober, for tests and documentation.
pub fn all() -> impl Iterator<Item = &'static Prober> {
    [
        TABLES,
        NESTED_TABLES,
        FILESYSTEMS,
        DATABASE_FILES,
        FALLBACKS,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// The probers of one format: the usual one, and the one that looks for copies of its superblock.
pub fn by_name(name: &str) -> impl Iterator<Item = &'static Prober> {
    all().filter(move |prober| prober.name == name)
}
