//! Values of `optimal_io_size` that are known not to describe the device, as data.

use straddle_geometry::{Bytes, Unit};
use straddle_stack::GridRole;

/// A reported value that does not mean what it says.
pub(crate) struct Lie {
    /// The value, in bytes.
    pub(crate) value: Bytes,
    /// How it comes about.
    pub(crate) origin: &'static str,
    /// Who is fooled by it: what the tools above do with the value.
    pub(crate) believed_by: &'static str,
}

/// Exact values. Sources: see the page of STR501.
pub(crate) const LIES: &[Lie] = &[
    Lie {
        value: Bytes::new(33_553_920),
        origin: "65,535 × 512: a USB bridge that puts 0xFFFF into VPD page B0",
        believed_by: "parted; libfdisk ≥ 2.37, cryptsetup ≥ 2.3.4 and LVM ≥ 2.03.31 ignore it",
    },
    Lie {
        value: Bytes::new(16_776_704),
        origin: "2^24 − 512: SATA disks behind an mpt3sas controller",
        believed_by: "every tool that only rejects what is not a multiple of 4,096 sees through it; parted does not",
    },
    Lie {
        value: Bytes::new(16_773_120),
        origin: "0xFFF000: the mpt3sas value after the kernel rounds it down to the physical sector",
        believed_by: "parted, libfdisk, cryptsetup, LVM and mdadm: being a multiple of 4,096, it passes all their tests",
    },
    Lie {
        value: Bytes::new(268_431_360),
        origin: "65,535 × 4,096: the 0xFFFF bridge with 4,096-byte logical sectors",
        believed_by: "parted, libfdisk, cryptsetup and LVM: it differs from the constant that libfdisk knows",
    },
    Lie {
        value: Bytes::new(4_293_918_720),
        origin: "0xFFF00000: md's least common multiple of its stripe width and a member's false value",
        believed_by: "LVM puts its first extent near 4 GiB, where GRUB cannot read it (Debian bug 1121006)",
    },
    Lie {
        value: Bytes::new(3_221_127_168),
        origin: "md's least common multiple of its stripe width and a member's false value",
        believed_by: "LVM and parted place data gigabytes into the device",
    },
    Lie {
        value: Bytes::new(33_554_432),
        origin: "NOWS = 65,535 (zero-based) × 512: an NVMe namespace that means `no preference`",
        believed_by: "everything: it is a power of two, and the kernel sets read-ahead to twice as much",
    },
];

/// The entry for `value`, if it is a known lie.
pub(crate) fn known(value: Bytes) -> Option<&'static Lie> {
    LIES.iter().find(|lie| lie.value == value)
}

/// Physical sectors above this size are something else that was put into the wrong field.
pub(crate) const LARGEST_PHYSICAL_SECTOR: Bytes = Bytes::kib(64);

/// Preferred request sizes above this are limits or placeholders, not the width of any array.
pub(crate) const LARGEST_OPTIMAL_IO: Bytes = Bytes::mib(16);

/// False when a value cannot be what its role says it is: a known lie of `optimal_io_size`, or a unit far too large.
#[must_use]
pub fn is_plausible(role: GridRole, unit: Unit) -> bool {
    match role {
        GridRole::PhysicalSector => unit.bytes() <= LARGEST_PHYSICAL_SECTOR,
        GridRole::OptimalIo => unit.bytes() <= LARGEST_OPTIMAL_IO && known(unit.bytes()).is_none(),
        _ => true,
    }
}
