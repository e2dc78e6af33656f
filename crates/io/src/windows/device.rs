use std::fs::File;
use std::io;
use std::os::windows::fs::FileExt;
use std::path::Path;

use straddle_geometry::Bytes;

use super::{Access, control, open};
use crate::AlignedBytes;

/// Reads of devices begin and end at multiples of this, which every sector divides.
const BLOCK: u64 = 4096;
/// Longest read of a device.
const MAX_READ: u64 = 1 << 20;
/// `IOCTL_DISK_GET_LENGTH_INFO`: 8 bytes.
const LENGTH: u32 = 0x0007_405c;
/// `IOCTL_DISK_GET_DRIVE_GEOMETRY_EX`: a `DISK_GEOMETRY` of 24 bytes, and behind it the size of the disk.
const GEOMETRY: u32 = 0x0007_00a0;
const SIZE_IN_GEOMETRY: usize = 24;

/// Opens a disk or a volume for reading, and tells how long it is.
///
/// # Errors
/// Those of the system.
pub(crate) fn open_device(path: &Path) -> io::Result<(File, Bytes)> {
    let device = open(path, Access::Reading)?;
    let number = |code, room, at: usize| {
        let answer = control(&device, code, &[], room)?;
        let bytes = answer
            .get(at..at + 8)
            .and_then(|bytes| bytes.try_into().ok());
        let number = bytes.map(u64::from_le_bytes).filter(|number| *number > 0);
        number.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
    };
    let size = number(LENGTH, 8, 0)
        .or_else(|_| number(GEOMETRY, 256, SIZE_IN_GEOMETRY))
        // What stands for a device may be a file.
        .or_else(|why| device.metadata().map_or(Err(why), |file| Ok(file.len())))?;
    Ok((device, Bytes::new(size)))
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
