//! Disks on which partitions lie wrong.

/// A disk, what lies on it, and the tool that repairs it.
pub(crate) struct Way {
    /// What is special about it.
    pub(crate) name: &'static str,
    pub(crate) table: Table,
    /// Sectors of the whole disk.
    pub(crate) sectors: u64,
    pub(crate) partitions: &'static [Part],
    /// Geometry flags.
    pub(crate) flags: &'static [&'static str],
    pub(crate) tool: &'static str,
    /// Number and start sector of each that moves.
    pub(crate) starts: &'static [(u64, u64)],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Table {
    Mbr,
    Gpt,
}

/// A partition: number, first sector, sectors, type as sfdisk takes it, what is on it.
pub(crate) type Part = (u64, u64, u64, &'static str, On);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum On {
    /// Holds other partitions.
    Logical,
    Noise,
    Ext4,
    Xfs,
    Btrfs,
    Fat16,
    Fat32,
    Exfat,
    Ntfs,
    Swap,
    Luks,
    Lvm,
}

use On::{Btrfs, Exfat, Ext4, Fat16, Fat32, Logical, Luks, Lvm, Noise, Ntfs, Swap, Xfs};
use Table::{Gpt, Mbr};

pub(crate) const MIB: u64 = 2048;

/// Those that are tried for every commit; a soak tries all. Partitions in whatever order, some that others push away, logical ones, odd
/// widths of stripes, disks without room.
pub(crate) const SAMPLE: &[&str] = &[
    "one-ntfs",
    "fat32-parted",
    "xfs",
    "btrfs",
    "swap-luks-lvm",
    "pushed-parted",
    "other-order",
    "logical",
    "logical-tight",
    "five-members-no-room-for-5-mib",
    "gpt-sgdisk",
    "gpt-parted-pushed",
    "gpt-other-order-sgdisk",
    "gpt-repart-fat-exfat",
    "ext4-shrinks-parted",
    "ext4-shrinks-sgdisk",
    "ntfs-shrinks-logical",
];

#[rustfmt::skip]
pub(crate) const WAYS: &[Way] = &[
    Way { name: "one-ntfs", table: Mbr, sectors: 32 * MIB, partitions: &[(1, 63, 40_000, "7,bootable", Ntfs)], flags: &[], tool: "sfdisk", starts: &[(1, 2048)] },
    Way { name: "one-ntfs-parted", table: Mbr, sectors: 32 * MIB, partitions: &[(1, 63, 40_000, "7,bootable", Ntfs)], flags: &[], tool: "parted", starts: &[(1, 2048)] },
    Way { name: "ext4", table: Mbr, sectors: 32 * MIB, partitions: &[(1, 63, 40_000, "83", Ext4)], flags: &[], tool: "sfdisk", starts: &[(1, 2048)] },
    Way { name: "ext4-stripe", table: Mbr, sectors: 32 * MIB, partitions: &[(1, 2080, 40_000, "83", Ext4)], flags: &["--stripe-unit", "64K"], tool: "sfdisk", starts: &[(1, 4096)] },
    Way { name: "fat16", table: Mbr, sectors: 32 * MIB, partitions: &[(1, 63, 40_000, "6", Fat16)], flags: &[], tool: "sfdisk", starts: &[(1, 2048)] },
    Way { name: "fat32-parted", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 80_000, "c,bootable", Fat32)], flags: &[], tool: "parted", starts: &[(1, 2048)] },
    Way { name: "fat32", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 80_000, "c", Fat32)], flags: &[], tool: "sfdisk", starts: &[(1, 2048)] },
    Way { name: "exfat", table: Mbr, sectors: 32 * MIB, partitions: &[(1, 63, 40_000, "7", Exfat)], flags: &[], tool: "sfdisk", starts: &[(1, 2048)] },
    Way { name: "exfat-parted", table: Mbr, sectors: 32 * MIB, partitions: &[(1, 63, 40_000, "7", Exfat)], flags: &[], tool: "parted", starts: &[(1, 2048)] },
    Way { name: "xfs", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 80_000, "83", Xfs)], flags: &[], tool: "sfdisk", starts: &[(1, 2048)] },
    Way { name: "btrfs", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 2049, 80_000, "linux", Btrfs)], flags: &[], tool: "sfdisk", starts: &[(1, 4096)] },
    Way { name: "swap-luks-lvm", table: Mbr, sectors: 96 * MIB, partitions: &[(1, 63, 20_000, "82", Swap), (2, 20_063, 40_001, "83", Luks), (3, 60_065, 40_001, "8e", Lvm)], flags: &[], tool: "sfdisk", starts: &[(1, 2048), (2, 22_528), (3, 63_488)] },
    Way { name: "swap-luks-lvm-parted", table: Mbr, sectors: 96 * MIB, partitions: &[(1, 63, 20_000, "82", Swap), (2, 20_063, 40_001, "83", Luks), (3, 60_065, 40_001, "8e", Lvm)], flags: &[], tool: "parted", starts: &[(1, 2048), (2, 22_528), (3, 63_488)] },
    Way { name: "pushed", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 4033, "7", Noise), (2, 4096, 20_480, "83", Ext4), (3, 40_960, 8192, "83", Ext4)], flags: &[], tool: "sfdisk", starts: &[(1, 2048), (2, 6144)] },
    Way { name: "pushed-parted", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 4033, "7", Noise), (2, 4096, 20_480, "83", Ext4), (3, 40_960, 8192, "83", Ext4)], flags: &[], tool: "parted", starts: &[(1, 2048), (2, 6144)] },
    Way { name: "four-primaries", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 10_000, "83", Ext4), (2, 10_063, 10_000, "7", Ntfs), (3, 20_063, 10_000, "82", Swap), (4, 30_063, 10_000, "83", Noise)], flags: &[], tool: "parted", starts: &[(1, 2048), (2, 12_288), (3, 22_528), (4, 32_768)] },
    Way { name: "other-order", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 30_001, 10_000, "83", Ext4), (2, 20_001, 9999, "7", Noise), (3, 63, 10_000, "83", Noise)], flags: &[], tool: "sfdisk", starts: &[(1, 30_720), (2, 20_480), (3, 2048)] },
    Way { name: "other-order-parted", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 30_001, 10_000, "83", Ext4), (2, 20_001, 9999, "7", Noise), (3, 63, 10_000, "83", Noise)], flags: &[], tool: "parted", starts: &[(1, 30_720), (2, 20_480), (3, 2048)] },
    Way { name: "number-2-only", table: Mbr, sectors: 32 * MIB, partitions: &[(2, 63, 40_000, "7", Ntfs)], flags: &[], tool: "sfdisk", starts: &[(2, 2048)] },
    Way { name: "logical", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 40_000, "7,bootable", Ntfs), (2, 40_063, 80_000, "f", Logical), (5, 40_126, 20_000, "83", Ext4), (6, 60_189, 20_000, "b", Fat16)], flags: &[], tool: "sfdisk", starts: &[(1, 2048), (2, 42_048), (5, 43_008), (6, 63_488)] },
    Way { name: "logical-parted", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 40_000, "7,bootable", Ntfs), (2, 40_063, 80_000, "f", Logical), (5, 40_126, 20_000, "83", Ext4), (6, 60_189, 20_000, "b", Fat16)], flags: &[], tool: "parted", starts: &[(1, 2048), (2, 42_048), (5, 43_008), (6, 63_488)] },
    Way { name: "logical-only", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 2048, 20_480, "83", Ext4), (4, 22_528, 90_000, "5", Logical), (5, 22_591, 20_000, "83", Ext4), (6, 43_008, 20_479, "82", Swap), (7, 63_488, 20_000, "7", Ntfs)], flags: &[], tool: "parted", starts: &[(5, 24_576), (6, 45_056), (7, 65_536)] },
    Way { name: "logical-tight", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 19_937, "83", Noise), (2, 20_000, 22_000, "5", Logical), (5, 20_063, 20_480, "83", Ext4), (3, 42_000, 20_000, "83", Noise)], flags: &[], tool: "parted", starts: &[(1, 2048), (2, 21_985), (3, 43_008), (5, 22_528)] },
    Way { name: "five-members", table: Mbr, sectors: 64 * MIB, partitions: &[(1, 63, 40_000, "7", Ntfs)], flags: &["--stripe-unit", "64K", "--stripe-width", "320K"], tool: "sfdisk", starts: &[(1, 10_240)] },
    Way { name: "seven-members", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 2048, 40_000, "linux", Ext4)], flags: &["--stripe-unit", "64K", "--stripe-width", "448K"], tool: "sgdisk", starts: &[(1, 14_336)] },
    Way { name: "eleven-members", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 2048, 40_000, "linux", Ext4)], flags: &["--stripe-unit", "64K", "--stripe-width", "704K"], tool: "sgdisk", starts: &[(1, 22_528)] },
    Way { name: "no-room-for-1-mib", table: Mbr, sectors: 40_100, partitions: &[(1, 63, 40_000, "7", Ntfs)], flags: &[], tool: "sfdisk", starts: &[(1, 64)] },
    Way { name: "five-members-no-room-for-5-mib", table: Mbr, sectors: 41_000, partitions: &[(1, 63, 40_000, "7", Noise)], flags: &["--stripe-unit", "64K", "--stripe-width", "320K"], tool: "sfdisk", starts: &[(1, 640)] },
    Way { name: "gpt-sgdisk", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 34, 40_000, "linux", Ext4), (2, 40_034, 20_001, "uefi", Fat16), (3, 61_441, 20_480, "swap", Swap)], flags: &[], tool: "sgdisk", starts: &[(1, 2048), (2, 43_008), (3, 63_488)] },
    Way { name: "gpt-sfdisk", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 34, 40_000, "linux", Ext4), (2, 40_034, 20_001, "uefi", Fat16), (3, 61_441, 20_480, "swap", Swap)], flags: &[], tool: "sfdisk", starts: &[(1, 2048), (2, 43_008), (3, 63_488)] },
    Way { name: "gpt-parted", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 34, 40_000, "linux", Ext4), (2, 40_034, 20_001, "uefi", Fat16), (3, 61_441, 20_480, "swap", Swap)], flags: &[], tool: "parted", starts: &[(1, 2048), (2, 43_008), (3, 63_488)] },
    Way { name: "gpt-parted-pushed", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 34, 20_446, "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7", Ntfs), (2, 20_480, 20_480, "linux", Ext4), (3, 61_440, 20_480, "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7", Exfat)], flags: &[], tool: "parted", starts: &[(1, 2048), (2, 22_528)] },
    Way { name: "gpt-ntfs-sgdisk", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 63, 40_000, "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7", Ntfs), (5, 40_063, 40_000, "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7", Exfat)], flags: &[], tool: "sgdisk", starts: &[(1, 2048), (5, 43_008)] },
    Way { name: "gpt-other-order-sgdisk", table: Gpt, sectors: 64 * MIB, partitions: &[(2, 63, 40_000, "linux", Luks), (1, 40_063, 40_000, "lvm", Lvm)], flags: &[], tool: "sgdisk", starts: &[(2, 2048), (1, 43_008)] },
    Way { name: "gpt-repart", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 34, 40_000, "linux", Ext4), (2, 40_034, 20_000, "linux", Luks), (3, 61_441, 20_480, "swap", Swap)], flags: &[], tool: "systemd-repart", starts: &[(1, 2048), (2, 43_008), (3, 63_488)] },
    Way { name: "gpt-repart-ntfs", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 63, 40_000, "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7", Ntfs), (2, 63_488, 40_000, "linux", Ext4)], flags: &[], tool: "systemd-repart", starts: &[(1, 2048)] },
    Way { name: "gpt-repart-fat-exfat", table: Gpt, sectors: 64 * MIB, partitions: &[(1, 63, 40_000, "uefi", Fat16), (2, 40_063, 40_000, "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7", Exfat)], flags: &["--stripe-unit", "64K"], tool: "systemd-repart", starts: &[(1, 2048), (2, 43_008)] },
    Way { name: "ext4-shrinks", table: Mbr, sectors: 65_536, partitions: &[(1, 63, 65_473, "83", Ext4)], flags: &["--stripe-unit", "64K"], tool: "sfdisk", starts: &[(1, 2048)] },
    Way { name: "ext4-shrinks-parted", table: Mbr, sectors: 65_536, partitions: &[(1, 2048, 20_480, "7", Noise), (2, 22_591, 42_945, "83", Ext4)], flags: &["--stripe-unit", "64K"], tool: "parted", starts: &[(2, 24_576)] },
    Way { name: "ext4-shrinks-sgdisk", table: Gpt, sectors: 65_536, partitions: &[(1, 63, 65_440, "linux", Ext4)], flags: &["--stripe-unit", "64K"], tool: "sgdisk", starts: &[(1, 2048)] },
    Way { name: "ntfs-shrinks", table: Mbr, sectors: 65_536, partitions: &[(1, 63, 65_473, "7,bootable", Ntfs)], flags: &["--stripe-unit", "64K"], tool: "sfdisk", starts: &[(1, 2048)] },
    Way { name: "ntfs-shrinks-logical", table: Mbr, sectors: 65_536, partitions: &[(1, 63, 30_000, "83", Ext4), (2, 30_063, 35_473, "f", Logical), (5, 30_126, 35_410, "7", Ntfs)], flags: &["--stripe-unit", "64K"], tool: "sfdisk", starts: &[(1, 2048), (2, 32_048), (5, 32_768)] },
];
