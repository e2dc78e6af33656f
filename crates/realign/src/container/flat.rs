//! Disks that lie in their file in one piece from its first byte on: raw images and fixed VHD.

use std::fmt;
use std::io;
use std::sync::Arc;

use straddle_geometry::{Bytes, Extent, SectorSize};
use straddle_io::ReadAt;

use super::error::ContainerError;
use super::guest::Guest;
use crate::Store;

/// Makes such a file longer: the file, and how long the disk is to be.
pub(super) type Grow = fn(&dyn Store, Bytes) -> Result<(), ContainerError>;

/// A disk in one piece.
pub(super) struct Flat {
    pub(super) file: Arc<dyn Store>,
    pub(super) format: &'static str,
    pub(super) size: Bytes,
    pub(super) grow: Grow,
}

impl fmt::Debug for Flat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.format, self.size)
    }
}

/// A raw image: nothing but its length says how long it is. One zero byte at the new end makes it longer.
pub(super) fn grow_raw(file: &dyn Store, size: Bytes) -> Result<(), ContainerError> {
    let last = size.checked_sub(Bytes::new(1)).unwrap_or_default();
    if last >= file.size() {
        file.write_at(last, &[0])
            .map_err(ContainerError::io("making the image longer"))?;
        file.flush()?;
    }
    Ok(())
}

/// How long a disk becomes.
pub(super) fn grown(
    format: &'static str,
    size: Bytes,
    by: Bytes,
    sector: SectorSize,
) -> Result<Bytes, ContainerError> {
    let refused = |why: String| ContainerError::Refused { format, why };
    if !by.is_multiple_of(sector.unit()) {
        let why = format!(
            "the disk is to become longer by {} bytes; expected a multiple of its sectors of {} bytes",
            by.grouped(),
            sector.get()
        );
        return Err(refused(why));
    }
    size.checked_add(by)
        .filter(|size| size.get() <= i64::MAX.unsigned_abs())
        .ok_or_else(|| refused("the disk would be longer than 2⁶³ bytes".to_owned()))
}

/// That a request stays on the disk.
pub(super) fn inside(size: Bytes, at: Bytes, len: Bytes) -> io::Result<()> {
    let end = at.checked_add(len);
    if end.is_some_and(|end| end <= size) {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!(
            "{} bytes at byte {} of a disk of {} bytes: beyond its end",
            len.grouped(),
            at.grouped(),
            size.grouped()
        ),
    ))
}

pub(super) fn len_of(bytes: &[u8]) -> Bytes {
    Bytes::new(u64::try_from(bytes.len()).unwrap_or(u64::MAX))
}

impl ReadAt for Flat {
    fn size(&self) -> Bytes {
        self.size
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let left = self.size.checked_sub(offset).unwrap_or_default().get();
        let len = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        self.file.read_at(offset, &mut buf[..len])
    }

    fn data_from(&self, offset: Bytes) -> Bytes {
        self.file.data_from(offset).min(self.size.max(offset))
    }
}

impl Store for Flat {
    fn write_at(&self, offset: Bytes, bytes: &[u8]) -> io::Result<()> {
        inside(self.size, offset, len_of(bytes))?;
        self.file.write_at(offset, bytes)
    }

    fn zero(&self, at: Bytes, len: Bytes) -> io::Result<()> {
        inside(self.size, at, len)?;
        self.file.zero(at, len)
    }

    fn flush(&self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Guest for Flat {
    fn format(&self) -> &'static str {
        self.format
    }

    fn sector(&self) -> SectorSize {
        SectorSize::B512
    }

    fn prepare(&mut self, _: &[Extent]) -> Result<(), ContainerError> {
        Ok(())
    }

    fn grow(&mut self, by: Bytes) -> Result<(), ContainerError> {
        let size = grown(self.format, self.size, by, self.sector())?;
        if by > Bytes::ZERO {
            (self.grow)(&*self.file, size)?;
            self.size = size;
        }
        Ok(())
    }
}
