use std::io;

use straddle_geometry::Bytes;
use straddle_io::ReadAt;

/// Something that can be read and written at any position, and told to keep what was written.
pub trait Store: ReadAt {
    /// Writes all of `bytes` at `offset`. Until the next [`flush`](Store::flush) a loss of power may keep or lose any sector of it.
    ///
    /// # Errors
    /// Those of the operating system.
    fn write_at(&self, offset: Bytes, bytes: &[u8]) -> io::Result<()>;

    /// Makes `len` bytes at `at` zeroes, which a file may do without storing them.
    ///
    /// # Errors
    /// As [`Store::write_at`].
    fn zero(&self, at: Bytes, len: Bytes) -> io::Result<()> {
        const PIECE: u64 = 1 << 20;
        let zeroes = vec![0; usize::try_from(len.get().min(PIECE)).unwrap_or(0)];
        let mut done = 0;
        while done < len.get() {
            let part = usize::try_from((len.get() - done).min(PIECE)).unwrap_or(0);
            let from = at.checked_add(Bytes::new(done));
            let from = from.ok_or(io::ErrorKind::InvalidInput)?;
            self.write_at(from, zeroes.get(..part).unwrap_or(&zeroes))?;
            done += PIECE;
        }
        Ok(())
    }

    /// Comes back when everything that was written is there to stay.
    ///
    /// # Errors
    /// Those of the operating system. What was written since the last one that succeeded may be lost then.
    fn flush(&self) -> io::Result<()>;
}

/// Reads all of `buf`, or fails.
pub(crate) fn read_exact(store: &impl ReadAt, offset: Bytes, buf: &mut [u8]) -> io::Result<()> {
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
