use std::fs::File;
use std::io;
use std::os::windows::fs::FileExt;
use std::path::Path;

use straddle_geometry::Bytes;

use super::disk::length;
use super::{Access, control, open};
use crate::AlignedBytes;

/// Reads of devices begin and end at multiples of this, which every sector divides.
const BLOCK: u64 = 4096;
/// Longest read of a device.
const MAX_READ: u64 = 1 << 20;
/// `IOCTL_DISK_GET_DRIVE_GEOMETRY_EX`: a `DISK_GEOMETRY` of 24 bytes, and behind it the size of the disk.
const GEOMETRY: u32 = 0x0007_00a0;
const SIZE_IN_GEOMETRY: usize = 24;

/// Opens a disk or a volume for reading, and tells how long it is.
///
/// # Errors
/// Those of the system.
pub(crate) fn open_device(path: &Path) -> io::Result<(File, Bytes)> {
    let device = open(path, Access::Reading)?;
    let by_geometry = || {
        let answer = control(&device, GEOMETRY, &[], 256)?;
        let bytes = answer
            .get(SIZE_IN_GEOMETRY..)
            .and_then(|rest| rest.first_chunk());
        let bytes = bytes.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Bytes::new(u64::from_le_bytes(*bytes)))
    };
    let size = length(&device)
        .or_else(|_| by_geometry())
        // What stands for a device may be a file.
        .or_else(|why: io::Error| {
            let file = device.metadata();
            file.map_or(Err(why), |file| Ok(Bytes::new(file.len())))
        })?;
    Ok((device, size))
}

/// Reads up to `buf.len()` bytes of a device at `offset`; 0 at its end. Devices give whole sectors only, into memory that is aligned.
///
/// # Errors
/// Those of the system.
pub(crate) fn read_device(
    device: &File,
    size: Bytes,
    offset: Bytes,
    buf: &mut [u8],
) -> io::Result<usize> {
    let wanted = u64::try_from(buf.len()).unwrap_or(u64::MAX);
    let end = offset.get().saturating_add(wanted).min(size.get());
    if offset.get() >= end {
        return Ok(0);
    }
    let from = offset.get() / BLOCK * BLOCK;
    let to = end.next_multiple_of(BLOCK).min(size.get());
    let to = to.min(from + MAX_READ);
    let mut blocks = AlignedBytes::new(Bytes::new(to - from))?;
    let read = device.seek_read(&mut blocks, from)?;
    let skipped = usize::try_from(offset.get() - from).unwrap_or(usize::MAX);
    let found = blocks.get(skipped..read).unwrap_or_default();
    let len = found.len().min(buf.len());
    if let (Some(to), Some(from)) = (buf.get_mut(..len), found.get(..len)) {
        to.copy_from_slice(from);
    }
    Ok(len)
}
