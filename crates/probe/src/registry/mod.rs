//! All probers, in the order in which they are tried. The order is a decision; each list says why it is as it is.
//!
//! Lists that other formats ask about have files of their own: a format may look for what is in lists below its own, never
//! for what is beside or above it.

mod filesystems;
mod tables;

use crate::Prober;
use crate::container::Format;
use crate::volume::VolumeFormat;
use crate::{container, database, volume};

pub use filesystems::{FALLBACKS, FILESYSTEMS};
pub use tables::{NESTED_TABLES, TABLES};

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
    &volume::asm::FORMAT,
];

/// Database files: tried only on whole targets and when no filesystem matches, because their signatures are the weakest.
/// PostgreSQL comes last: its pages are merely consistent, where those of the others name themselves or have a checksum.
pub static DATABASE_FILES: &[&Prober] = &[
    &database::sqlserver::PROBER,
    &database::innodb::PROBER,
    &database::oracle::PROBER,
    &database::wiredtiger::PROBER,
    &database::postgres::PROBER,
];

/// What the probers of [`DATABASE_FILES`] were verified against, for the documentation.
pub static DATABASES_VERIFIED: &[(&str, &str)] = &[
    (
        "sqlserver",
        "its documentation only: no file of a real server was tried",
    ),
    (
        "innodb",
        "MariaDB 10.11: tablespaces with each page size, row format, compressed block and checksum; MySQL by its documentation",
    ),
    (
        "oracle",
        "dumps of files of 10.2 and 12.1 that their owners published: no file of a real server was tried",
    ),
    (
        "wiredtiger",
        "wt of WiredTiger 3.2: files with allocation units of 512 bytes to 64 KiB; MongoDB by its documentation",
    ),
    (
        "postgresql",
        "its documentation only: no file of a real server was tried",
    ),
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
