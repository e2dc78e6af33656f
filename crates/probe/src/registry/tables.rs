//! Partition tables: above filesystems, which some ask about, and below volumes, which ask about them.

use crate::{Prober, partition};

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
