//! VMFS 3, 5 and 6 of VMware: the volume manager in front of it, and the filesystem's header.
//!
//! Sources: the published descriptions of the reverse-engineered format, vmfs-tools (`libvmfs/vmfs_volume.h`, `vmfs_fs.h`) and
//! dissect.vmfs (`c_lvm.py`, `c_vmfs.py`), read for facts. All numbers low byte first; structures are packed.
//!
//! ```text
//! a device
//!   1 MiB              what the device is: version, size, where its data start, its UUID
//!   + 512 bytes        the volume that it is a part of: UUID, first and last extent, number of devices
//!     (version 6: + the alignment of metadata that the device records, 4 KiB as a rule)
//!   data start         extents of 256 MiB each, as a rule from 17 MiB on
//! the volume, all devices one after the other
//!   2 MiB              the filesystem's header
//! ```
//!
//! Extents of a device are taken to lie in order, one after the other, as every device found so far has them: their table, one
//! entry for each, is not read.

mod assemble;

#[cfg(test)]
pub(super) mod tests;

use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, Key};
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Beside, Recognised, VolumeFormat};
use crate::record::{Recorder, place};
use crate::{Magic, Window};

/// Where a device says what it is.
const DEVICE: u64 = 1 << 20;
/// Where the filesystem's header lies in the volume.
const HEADER: u64 = 2 << 20;
/// Length of an extent.
const EXTENT: u64 = 256 << 20;
/// Where the volume's description lies behind the device's, before version 6.
const VOLUME: u64 = 512;
/// Largest distance of the two in version 6.
const LARGEST_ALIGNMENT: u64 = 1 << 20;

pub(crate) static FORMAT: VolumeFormat = VolumeFormat {
    name: "vmfs",
    title: "VMFS extent",
    reads: "VMFS 3, 5 and 6 and VMFS-L on one device or several: data start, extents, block and sub-block size",
    refuses: "files of the datastore; the table of extents of a device, which are taken to lie in order",
    verified: "a generator written from the published structures, read by vmfs-tools (debugvmfs), vmfs6-tools and blkid",
    min_size: DEVICE + 8192,
    magics: &[Magic {
        offset: DEVICE,
        bytes: &[0x0d, 0xd0, 0x01, 0xc0],
    }],
    beside: Beside::NoTable,
    recognise,
    assemble: assemble::assemble,
};

/// A UUID as VMware prints it: `4f2a1b3c-5d6e7f80-9a0b-001122334455`.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, PartialEq, Eq)]
#[repr(C)]
struct VmfsUuid {
    time_low: U32,
    time_high: U32,
    random: U16,
    hardware: [u8; 6],
}

impl std::fmt::Display for VmfsUuid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (low, high, random) = (self.time_low.get(), self.time_high.get(), self.random.get());
        write!(f, "{low:08x}-{high:08x}-{random:04x}-")?;
        self.hardware
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What a device is.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Device {
    magic: U32,
    version: U32,
    minor: U32,
    disk: [u8; 78],
    block_size: U32,
    size: U64,
    volumes: U32,
    extents: U32,
    last_extent: U32,
    generation: U64,
    data_start: U64,
    uuid: VmfsUuid,
    created: U64,
    changed: U64,
    locked_by: VmfsUuid,
    locked: U64,
    unknown: U32,
    maps: U32,
    more: U64,
    alignment: U32,
}

/// The part of a volume that a device has.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Volume {
    size: U64,
    generation: U64,
    state: U32,
    name: [u8; 64],
    uuid: VmfsUuid,
    snapshot: U32,
    created: U64,
    index: U32,
    extents: U32,
    first: U64,
    last: U64,
    changed: U64,
    devices: U32,
}

/// A device and the volume that it belongs to.
struct Parts {
    device: Device,
    volume: Volume,
    /// Where the volume's description lies.
    volume_at: u64,
}

impl Parts {
    /// Reads both; `None` when they cannot be what they are called.
    fn read(window: &Window<'_>) -> Result<Option<Parts>, ReadError> {
        let device: Device = window.get(DEVICE)?;
        let version = device.version.get();
        if !(3..=6).contains(&version) {
            return Ok(None);
        }
        let behind = match version {
            6 => u64::from(device.alignment.get()),
            _ => VOLUME,
        };
        if !(VOLUME..=LARGEST_ALIGNMENT).contains(&behind) || !behind.is_power_of_two() {
            return Ok(None);
        }
        let volume_at = DEVICE + behind;
        let volume: Volume = window.get(volume_at)?;
        Ok(Some(Parts {
            device,
            volume,
            volume_at,
        }))
    }

    /// The first extent of the volume that lies here, and how many.
    fn extents(&self) -> (u64, u64) {
        (
            self.volume.first.get(),
            u64::from(self.volume.extents.get()),
        )
    }

    /// A volume and its copy by an array have one UUID; VMware tells them apart by this number.
    fn set(&self) -> String {
        match self.volume.snapshot.get() {
            0 | 1 => self.volume.uuid.to_string(),
            copy => format!("{} copy {copy}", self.volume.uuid),
        }
    }
}

fn recognise(window: &Window<'_>) -> Result<Option<Recognised>, ReadError> {
    let Some(parts) = Parts::read(window)? else {
        return Ok(None);
    };
    let (device, volume) = (&parts.device, &parts.volume);
    let mut say = Recorder::new(window, DEVICE);
    let version = u64::from(device.version.get());
    say.count(Key::Version, version, place!(Device.version));
    say.text(Key::Uuid, device.uuid.to_string(), place!(Device.uuid));
    let start = device.data_start.get();
    say.bytes(Key::DataOffset, start, place!(Device.data_start));
    let size = window.size().get();
    if start < HEADER || start >= size {
        let detail =
            format!("data start at byte {start}; expected 2 MiB or more, within {size} bytes");
        say.odd(AnomalyKind::Damaged, detail, place!(Device.data_start));
    }
    let claimed = device.size.get();
    if claimed > size {
        let detail = format!("it is made for {claimed} bytes on a device of {size}");
        say.odd(AnomalyKind::SizeDiffers, detail, place!(Device.size));
    }
    say.at_base(parts.volume_at, |say| {
        say.text(Key::SetUuid, volume.uuid.to_string(), place!(Volume.uuid));
        let devices = u64::from(volume.devices.get());
        say.count(Key::Members, devices, place!(Volume.devices));
        let (first, count) = parts.extents();
        let last = volume.last.get();
        if count == 0 || first.checked_add(count) != last.checked_add(1) {
            let detail = format!("{count} extents from number {first} to {last}");
            say.odd(AnomalyKind::Damaged, detail, place!(Volume.extents));
        }
    });
    Ok(Some(Recognised {
        detected: say.finish(),
        set: parts.set(),
        member: device.uuid.to_string(),
        of: Some(u64::from(volume.devices.get())),
    }))
}
