//! What engines and targets need to know of a disk or volume: a number or two, taken out of the system's answer here.

use std::fs::File;
use std::io;
use straddle_geometry::Bytes;

use super::{control, volume_information};

/// `IOCTL_STORAGE_GET_DEVICE_NUMBER`, `IOCTL_DISK_GET_DRIVE_GEOMETRY`, `IOCTL_DISK_GET_LENGTH_INFO`.
const DEVICE_NUMBER: u32 = 0x002D_1080;
const GEOMETRY: u32 = 0x0007_0000;
const LENGTH: u32 = 0x0007_405C;
/// `FileFsSectorSizeInformation`, whose answer begins with the logical sector.
const SECTORS: i32 = 11;

/// N of `\\.\PhysicalDriveN`, of a handle of that disk.
///
/// # Errors
/// Those of the system; one of the kind [`InvalidData`](io::ErrorKind::InvalidData) for an answer that is too short.
pub fn disk_number(of: &File) -> io::Result<u64> {
    number(&numbers(of)?, 4)
}

/// Type of device, number, number of the partition.
fn numbers(of: &File) -> io::Result<Vec<u8>> {
    control(of, DEVICE_NUMBER, &[], 12)
}

/// The number of a whole disk, of a handle of that.
///
/// # Errors
/// Those of [`disk_number`]; one of the kind [`InvalidInput`](io::ErrorKind::InvalidInput) for a partition, and what is no disk.
pub(crate) fn number_at(of: &File) -> io::Result<u64> {
    const DISK: u64 = 7;
    let numbers = numbers(of)?;
    let (kind, partition) = (number(&numbers, 0)?, number(&numbers, 8)?);
    // Of a whole disk that has partitions it is 0, of one that can have none -1.
    if kind != DISK || (partition != 0 && partition != u64::from(u32::MAX)) {
        let what = r"it is no whole disk; expected \\.\PhysicalDrive and a number";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    number(&numbers, 4)
}

/// Length of a disk.
///
/// # Errors
/// Those of the system; one of the kind [`InvalidData`](io::ErrorKind::InvalidData) for an answer that is too short.
pub fn length(of: &File) -> io::Result<Bytes> {
    let answer = control(of, LENGTH, &[], 8)?;
    let found = answer.first_chunk().ok_or(io::ErrorKind::InvalidData)?;
    Ok(Bytes::new(u64::from_le_bytes(*found)))
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
pub(crate) fn number(answer: &[u8], at: usize) -> io::Result<u64> {
    let found = answer.get(at..).and_then(|rest| rest.first_chunk());
    let found = found.ok_or(io::ErrorKind::InvalidData)?;
    Ok(u64::from(u32::from_le_bytes(*found)))
}
