use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ptr::NonNull;
use straddle_geometry::Unit;

/// Buffers of equal length in one piece of memory, each aligned for direct I/O.
///
/// Only raw pointers are kept, and a reference is made for one buffer at a time: while the kernel writes to one of them, no
/// reference that covers it exists, as long as nobody calls [`Buffers::get`] for it. To see to that is the engine's part.
#[derive(Debug)]
pub(crate) struct Buffers {
    first: NonNull<u8>,
    layout: Layout,
    /// From one buffer to the next.
    each: usize,
    count: usize,
}

// SAFETY: the memory belongs to this value alone, and is written through `&mut self` only.
#[allow(unsafe_code)]
unsafe impl Send for Buffers {}
// SAFETY: through `&self` the memory is only read, and by its users only where no system call writes to it.
#[allow(unsafe_code)]
unsafe impl Sync for Buffers {}

impl Buffers {
    /// `count` buffers of at least `len` bytes, at multiples of `alignment` in memory, all zero.
    ///
    /// # Errors
    /// When they are more than can be had, or the alignment is no power of two.
    pub(crate) fn new(count: u32, len: Unit, alignment: Unit) -> io::Result<Buffers> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let alignment = usize::try_from(alignment.get()).map_err(|_| too_large())?;
        let len = usize::try_from(len.get()).map_err(|_| too_large())?;
        let count = usize::try_from(count).map_err(|_| too_large())?;
        let each = len
            .checked_next_multiple_of(alignment)
            .ok_or_else(too_large)?;
        let all = each.checked_mul(count).ok_or_else(too_large)?.max(1);
        let layout = Layout::from_size_align(all, alignment).map_err(|_| {
            let what = format!(
                "{all} bytes of buffers at multiples of {alignment} cannot be had; expected a power of two and fewer bytes"
            );
            io::Error::new(io::ErrorKind::InvalidInput, what)
        })?;
        // SAFETY: the layout has at least one byte.
        #[allow(unsafe_code)]
        let memory = unsafe { alloc_zeroed(layout) };
        Ok(Buffers {
            first: NonNull::new(memory).ok_or_else(too_large)?,
            layout,
            each,
            count,
        })
    }

    /// All of them.
    #[cfg(target_os = "linux")]
    pub(super) fn bytes(&self) -> u64 {
        self.layout.size() as u64
    }

    /// Where a buffer starts and how long it is; `None` for one that does not exist.
    pub(super) fn place(&self, slot: u32) -> Option<(NonNull<u8>, usize)> {
        let slot = usize::try_from(slot).ok()?;
        if slot >= self.count {
            return None;
        }
        // SAFETY: `slot` is below `count`, so the result lies within the allocation of `each * count` bytes, whose size a
        // `Layout` keeps below `isize::MAX`.
        #[allow(unsafe_code)]
        let start = unsafe { self.first.add(slot * self.each) };
        Some((start, self.each))
    }

    /// A buffer that nobody else uses: the caller has made sure that the kernel does not.
    pub(crate) fn get(&mut self, slot: u32) -> Option<&mut [u8]> {
        let (start, len) = self.place(slot)?;
        // SAFETY: `place` gives memory of this value with `len` bytes, all initialised (zeroed at first, later written by
        // us or the kernel). It is borrowed for as long as `self` is, so no second reference can be made, and the caller
        // has made sure that no system call is under way in it.
        #[allow(unsafe_code)]
        Some(unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), len) })
    }

    /// The same to read it: the caller has made sure that the kernel does not write to it.
    pub(crate) fn shared(&self, slot: u32) -> Option<&[u8]> {
        let (start, len) = self.place(slot)?;
        // SAFETY: as in `get`; `self` is borrowed meanwhile, so that no reference to write through can be made.
        #[allow(unsafe_code)]
        Some(unsafe { std::slice::from_raw_parts(start.as_ptr(), len) })
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with the same layout, and never given away.
        #[allow(unsafe_code)]
        unsafe {
            dealloc(self.first.as_ptr(), self.layout);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(n: u64) -> Unit {
        Unit::new(n).expect("not zero")
    }

    #[test]
    fn buffers_are_aligned_and_apart() {
        let mut buffers = Buffers::new(3, unit(5000), unit(4096)).expect("memory");
        for slot in 0..3_u8 {
            let buffer = buffers.get(u32::from(slot)).expect("it exists");
            assert_eq!(buffer.as_ptr().addr() % 4096, 0);
            assert_eq!(buffer.len(), 8192);
            buffer.fill(slot + 1);
        }
        for slot in 0..3_u8 {
            let buffer = buffers.get(u32::from(slot)).expect("it exists");
            assert!(buffer.iter().all(|byte| *byte == slot + 1));
        }
        assert!(buffers.get(3).is_none());
    }

    #[test]
    fn what_cannot_be_had_is_an_error() {
        let much = Buffers::new(u32::MAX, unit(1 << 40), unit(4096));
        assert!(much.is_err());
        assert!(Buffers::new(1, unit(512), unit(3)).is_err());
    }
}
