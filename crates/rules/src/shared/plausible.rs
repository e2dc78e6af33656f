//! What is taken for possible where an array may lie below and nothing tells its stripe unit.

use straddle_geometry::{Bytes, Unit};
use straddle_stack::{GridRole, Key, Layer, Trust, Value};

/// Stripe units in use, in KiB.
const PLAUSIBLE: [u64; 7] = [16, 32, 64, 128, 256, 512, 1024];

/// Transports of single drives, and of things that are no disk at all.
const NO_ARRAY: [&str; 10] = [
    "nvme", "ata", "sata", "pata", "usb", "mmc", "loop", "zram", "ram", "pmem",
];

/// The stripe units in use.
pub fn plausible() -> impl Iterator<Item = Unit> {
    PLAUSIBLE
        .into_iter()
        .filter_map(|kib| Unit::try_from(Bytes::kib(kib)).ok())
}

/// True for a device whose transport carries no array, for a volume of a RAID controller that is a mirror or one disk, and for a drive
/// that reports sectors shifted by its jumper, which no array passes on.
pub(crate) fn is_single_drive(device: &Layer) -> bool {
    let transport = device.text(Key::Transport);
    let sector = device.grid(GridRole::PhysicalSector);
    let shifted =
        sector.is_some_and(|grid| grid.trust < Trust::Assumed && grid.value.phase() != Bytes::ZERO);
    let one = device
        .attribute(Key::Members)
        .is_some_and(|members| members.value == Value::Count(1));
    transport.is_some_and(|transport| NO_ARRAY.contains(&transport))
        || one
        || shifted
        || matches!(device.text(Key::Level), Some("raid1" | "jbod"))
}
