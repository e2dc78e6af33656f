//! What engines and targets need to know of a disk or volume: a number or two, taken out of the system's answer here.

use std::fs::File;
use std::io;
use straddle_geometry::Bytes;

use super::{control, volume_information};

/// `IOCTL_STORAGE_GET_DEVICE_NUMBER`, `IOCTL_DISK_GET_DRIVE_GEOMETRY`.
const DEVICE_NUMBER: u32 = 0x002D_1080;
const GEOMETRY: u32 = 0x0007_0000;
/// `FileFsSectorSizeInformation`, whose answer begins with the logical sector.
const SECTORS: i32 = 11;

/// N of `\\.\PhysicalDriveN`, of a handle of that disk.
///
/// # Errors
/// Those of the system; one of the kind [`InvalidData`](io::ErrorKind::InvalidData) for an answer that is too short.
pub fn disk_number(of: &File) -> io::Result<u64> {
    // Type of device, number, number of the partition.
    number(&control(of, DEVICE_NUMBER, &[], 12)?, 4)
}

/// Bytes of a logical sector, below a file or of a disk: what requests past the cache are multiples of.
///
/// # Errors
/// Those of the system; one of the kind [`InvalidData`](io::ErrorKind::InvalidData) for an answer that is too short.
pub fn logical_sector(of: &File) -> io::Result<Bytes> {
    let said = volume_information(of, SECTORS, 64).and_then(|answer| number(&answer, 0));
    // A disk has no filesystem to ask. Cylinders (8 bytes), type, tracks and sectors come before the length of a sector.
    let said = said.or_else(|_| number(&control(of, GEOMETRY, &[], 24)?, 20))?;
    if said == 0 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(Bytes::new(said))
}

/// The 32 bits at a place in an answer.
fn number(answer: &[u8], at: usize) -> io::Result<u64> {
    let found = answer.get(at..).and_then(|rest| rest.first_chunk());
    let found = found.ok_or(io::ErrorKind::InvalidData)?;
    Ok(u64::from(u32::from_le_bytes(*found)))
}
