use std::io;
use std::ops::{Deref, DerefMut};
use straddle_geometry::{Bytes, Unit};

use crate::engine::Buffers;

/// Bytes in memory at a multiple of 4 KiB, zero at first: what direct I/O takes on every device.
#[derive(Debug)]
pub struct AlignedBytes {
    /// One buffer, of which no system call keeps the address.
    memory: Buffers,
    len: usize,
}

impl AlignedBytes {
    /// What they are aligned to.
    pub const ALIGNMENT: Bytes = Bytes::kib(4);

    /// So many bytes.
    ///
    /// # Errors
    /// When they cannot be had.
    pub fn new(len: Bytes) -> io::Result<AlignedBytes> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let all = Unit::new(len.get().max(1)).ok_or_else(too_large)?;
        let alignment = Unit::new(AlignedBytes::ALIGNMENT.get()).ok_or_else(too_large)?;
        Ok(AlignedBytes {
            memory: Buffers::new(1, all, alignment)?,
            len: usize::try_from(len.get()).map_err(|_| too_large())?,
        })
    }
}

impl Deref for AlignedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let bytes = self.memory.shared(0).unwrap_or_default();
        bytes.get(..self.len).unwrap_or_default()
    }
}

impl DerefMut for AlignedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        let bytes = self.memory.get(0).unwrap_or_default();
        bytes.get_mut(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_aligned_and_keep_what_is_written() {
        let mut bytes = AlignedBytes::new(Bytes::new(5000)).expect("memory");
        assert_eq!((bytes.len(), bytes.as_ptr().addr() % 4096), (5000, 0));
        assert!(bytes.iter().all(|byte| *byte == 0));
        bytes[4999] = 7;
        assert_eq!(bytes[4998..], [0, 7]);
        assert!(AlignedBytes::new(Bytes::ZERO).expect("none").is_empty());
        assert!(AlignedBytes::new(Bytes::new(u64::MAX)).is_err());
    }
}
