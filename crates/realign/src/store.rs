use std::io;

use straddle_geometry::{Bytes, SectorSize};
use straddle_io::{AlignedBytes, ReadAt};

/// Something that can be read and written at any position, and told to keep what was written.
pub trait Store: ReadAt {
    /// Writes all of `bytes` at `offset`. Until the next [`flush`](Store::flush) a loss of power may keep or lose any sector of it.
    ///
    /// # Errors
    /// Those of the operating system.
    fn write_at(&self, offset: Bytes, bytes: &[u8]) -> io::Result<()>;

    /// Comes back when everything that was written is there to stay.
    ///
    /// # Errors
    /// Those of the operating system. What was written since the last one that succeeded may be lost then.
    fn flush(&self) -> io::Result<()>;

    /// Makes a range read as zeroes: as a hole, where the store has holes. Until the next flush any sector of it may be lost, as of a
    /// write.
    ///
    /// # Errors
    /// Those of the operating system.
    fn zero(&self, at: Bytes, len: Bytes) -> io::Result<()> {
        let zeroes = AlignedBytes::new(len.min(ZEROES))?;
        let mut done = Bytes::ZERO;
        while let Some(rest) = len.checked_sub(done).filter(|rest| *rest > Bytes::ZERO) {
            let here = rest.min(ZEROES);
            let start = at.checked_add(done).ok_or(io::ErrorKind::InvalidInput)?;
            self.write_at(start, &zeroes[..in_memory(here)])?;
            done = done.checked_add(here).ok_or(io::ErrorKind::InvalidInput)?;
        }
        Ok(())
    }

    /// Drops what is cached, so that what is read next comes from the device. What has no cache does nothing.
    ///
    /// # Errors
    /// Those of the operating system.
    fn uncache(&self) -> io::Result<()> {
        Ok(())
    }

    /// What can be written by itself: a write of another length, or elsewhere than at a multiple of it, is a read and a longer write.
    fn sector(&self) -> SectorSize {
        SectorSize::B512
    }
}

/// What is read, and never written: every write fails.
#[derive(Debug)]
pub struct ReadOnly<T>(pub T);

impl<T: ReadAt> ReadAt for ReadOnly<T> {
    fn size(&self) -> Bytes {
        self.0.size()
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, buf)
    }

    fn data_from(&self, offset: Bytes) -> Bytes {
        self.0.data_from(offset)
    }
}

impl<T: ReadAt> Store for ReadOnly<T> {
    fn write_at(&self, _: Bytes, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Most zeroes that are written at once.
const ZEROES: Bytes = Bytes::mib(1);

/// A length as one of something in memory. More than there can be of it becomes what no allocation grants.
pub(crate) fn in_memory(len: Bytes) -> usize {
    usize::try_from(len.get()).unwrap_or(usize::MAX)
}

/// Reads all of `buf`, or fails.
pub(crate) fn read_exact(
    store: &(impl ReadAt + ?Sized),
    offset: Bytes,
    buf: &mut [u8],
) -> io::Result<()> {
    let mut had = 0;
    while had < buf.len() {
        let at = u64::try_from(had)
            .ok()
            .and_then(|had| offset.checked_add(Bytes::new(had)))
            .ok_or(io::ErrorKind::InvalidInput)?;
        match store.read_at(at, &mut buf[had..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => had += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
