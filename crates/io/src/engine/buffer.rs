use std::io;
use straddle_geometry::Unit;

/// Buffers of equal length in one piece of memory, each aligned for direct I/O.
#[derive(Debug)]
pub(super) struct Buffers {
    memory: Vec<u8>,
    /// From the beginning of `memory` to the first buffer.
    skip: usize,
    each: usize,
    count: usize,
}

impl Buffers {
    /// `count` buffers of at least `len` bytes, at multiples of `alignment` in memory.
    ///
    /// # Errors
    /// When they are more than can be had.
    pub(super) fn new(count: u32, len: Unit, alignment: Unit) -> io::Result<Buffers> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let alignment = usize::try_from(alignment.get()).map_err(|_| too_large())?;
        let len = usize::try_from(len.get()).map_err(|_| too_large())?;
        let count = usize::try_from(count).map_err(|_| too_large())?;
        let each = len
            .checked_next_multiple_of(alignment)
            .ok_or_else(too_large)?;
        let all = each
            .checked_mul(count)
            .and_then(|all| all.checked_add(alignment));
        let all = all.ok_or_else(too_large)?;
        let mut memory = Vec::new();
        memory.try_reserve_exact(all).map_err(|_| too_large())?;
        memory.resize(all, 0);
        let address = memory.as_ptr().addr();
        let skip = address.next_multiple_of(alignment) - address;
        Ok(Buffers {
            memory,
            skip,
            each,
            count,
        })
    }

    pub(super) fn get(&mut self, slot: u32) -> Option<&mut [u8]> {
        let slot = usize::try_from(slot)
            .ok()
            .filter(|slot| *slot < self.count)?;
        let start = self.skip + slot * self.each;
        self.memory.get_mut(start..start + self.each)
    }
}
