//! `IOCTL_STORAGE_GET_DEVICE_NUMBER` and its successor: what a device is called by its number.

use uuid::Uuid;

use super::BadAnswer;
use super::fields::Fields;

/// What stands for no number.
const NONE: u32 = u32::MAX;
const EX: &str = "STORAGE_DEVICE_NUMBER_EX";
const EX_SIZE: usize = 40;

/// The number of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceNumber {
    /// `FILE_DEVICE_…`: 7 for a disk, 2 for a CD-ROM.
    pub device_type: u32,
    /// Number among the devices of its type, as in `\\.\PhysicalDriveN`; `None` for one path of several to a disk.
    pub number: Option<u32>,
    /// Which part of the device it is.
    pub part: Part,
    /// An identifier of the device; only in the newer answer.
    pub id: Option<Uuid>,
}

/// Which part of a device was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// The partition of that number.
    Partition(u32),
    /// It cannot have partitions.
    Unpartitionable,
}

impl DeviceNumber {
    /// `FILE_DEVICE_DISK`.
    pub const DISK: u32 = 7;

    /// Decodes a `STORAGE_DEVICE_NUMBER`.
    ///
    /// # Errors
    /// When it is not whole.
    pub fn decode(bytes: &[u8]) -> Result<DeviceNumber, BadAnswer> {
        let all = Fields::new("STORAGE_DEVICE_NUMBER", bytes);
        Ok(DeviceNumber {
            device_type: all.u32(("DeviceType", 0))?,
            number: some(all.u32(("DeviceNumber", 4))?),
            part: part(all.u32(("PartitionNumber", 8))?),
            id: None,
        })
    }

    /// Decodes a `STORAGE_DEVICE_NUMBER_EX`, which Windows 10 1709 has first.
    ///
    /// # Errors
    /// When it is not whole.
    pub fn decode_ex(bytes: &[u8]) -> Result<DeviceNumber, BadAnswer> {
        let all = Fields::sized(EX, bytes, EX_SIZE, "at least 40")?;
        let id = all.guid(("DeviceGuid", 20))?;
        Ok(DeviceNumber {
            device_type: all.u32(("DeviceType", 12))?,
            number: some(all.u32(("DeviceNumber", 16))?),
            part: part(all.u32(("PartitionNumber", 36))?),
            id: (!id.is_nil()).then_some(id),
        })
    }
}

const fn some(number: u32) -> Option<u32> {
    match number {
        NONE => None,
        number => Some(number),
    }
}

const fn part(number: u32) -> Part {
    match number {
        0 => Part::Whole,
        NONE => Part::Unpartitionable,
        number => Part::Partition(number),
    }
}
