//! `FS_IOC_FIEMAP`: where the bytes of a file lie on the device of its filesystem.
//!
//! ```text
//! struct fiemap                         struct fiemap_extent
//!  0  u64 start of the range asked for   0  u64 logical: offset in the file
//!  8  u64 its length                     8  u64 physical: offset on the device
//! 16  u32 flags of the request          16  u64 length
//! 20  u32 extents returned              24  u64 reserved[2]
//! 24  u32 room for extents              40  u32 flags
//! 28  u32 reserved                      44  u32 reserved[3]
//! 32  extents, 56 bytes each
//! ```
//! Source: Linux `include/uapi/linux/fiemap.h` and `Documentation/filesystems/fiemap.rst`.

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, opcode};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use straddle_geometry::Bytes;

/// Extents asked for in one call: 56 KiB of memory.
const BATCH: usize = 1024;

/// One extent of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileExtent {
    /// Where it starts in the file.
    pub logical: Bytes,
    /// Where it starts on the filesystem's device; meaningless with some [`ExtentFlags`].
    pub physical: Bytes,
    /// How long it is.
    pub len: Bytes,
    /// What is special about it.
    pub flags: ExtentFlags,
}

/// `FIEMAP_EXTENT_*`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtentFlags(pub u32);

impl ExtentFlags {
    /// The last extent of the file.
    pub const LAST: ExtentFlags = ExtentFlags(0x1);
    /// The place is not known yet.
    pub const UNKNOWN: ExtentFlags = ExtentFlags(0x2);
    /// Not allocated yet: still in memory.
    pub const DELALLOC: ExtentFlags = ExtentFlags(0x4);
    /// Compressed or encrypted: the bytes on the device are not those of the file.
    pub const ENCODED: ExtentFlags = ExtentFlags(0x8);
    /// Mixed with metadata, so not at a block boundary.
    pub const DATA_INLINE: ExtentFlags = ExtentFlags(0x200);
    /// Packed with other files' tails.
    pub const DATA_TAIL: ExtentFlags = ExtentFlags(0x400);
    /// Allocated, but reads as zeroes until written.
    pub const UNWRITTEN: ExtentFlags = ExtentFlags(0x800);
    /// Shared with another file.
    pub const SHARED: ExtentFlags = ExtentFlags(0x2000);

    /// True when any flag of `other` is set.
    #[must_use]
    pub const fn intersects(self, other: ExtentFlags) -> bool {
        self.0 & other.0 != 0
    }
}

/// The extents of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileExtents {
    /// In the order of their offsets in the file; holes are left out.
    pub extents: Vec<FileExtent>,
    /// False when the limit was reached before the end.
    pub complete: bool,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Header {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct Request {
    header: Header,
    extents: [RawExtent; BATCH],
}

struct Fiemap<'a>(&'a mut Request);

// SAFETY: the opcode is that of FS_IOC_FIEMAP, whose argument is a `struct fiemap` followed by room for `extent_count`
// extents; `Request` has that layout (repr(C), no padding) and `file_extents` sets `extent_count` to its room. The
// kernel writes into it, so the call is mutating. The kernel's result is not used: all answers are in the struct.
#[allow(unsafe_code)]
unsafe impl Ioctl for Fiemap<'_> {
    type Output = ();
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        opcode::read_write::<Header>(b'f', 11)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self.0).cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> rustix::io::Result<()> {
        Ok(())
    }
}

/// The extents of `file`, at most `limit`, as they are now: nothing is flushed, so recent writes may have none.
///
/// # Errors
/// Those of the system call; `EOPNOTSUPP` on filesystems that cannot say, such as tmpfs.
pub fn file_extents(file: &File, limit: usize) -> io::Result<FileExtents> {
    let mut out = FileExtents::default();
    let mut request = Box::new(Request {
        header: Header::default(),
        extents: [RawExtent::default(); BATCH],
    });
    let mut start = 0;
    loop {
        request.header = Header {
            start,
            length: u64::MAX - start,
            extent_count: u32::try_from(BATCH).unwrap_or(0),
            ..Header::default()
        };
        // SAFETY: see the implementation of `Ioctl` above: the layout and the room are what the kernel expects, and
        // the file descriptor is borrowed from an open file for the length of the call.
        #[allow(unsafe_code)]
        unsafe {
            rustix::ioctl::ioctl(file, Fiemap(&mut request))?;
        }
        let mapped = usize::try_from(request.header.mapped_extents).unwrap_or(BATCH);
        let batch = request.extents.get(..mapped).unwrap_or(&request.extents);
        let Some(last) = batch.last() else {
            out.complete = true;
            return Ok(out);
        };
        for extent in batch {
            if out.extents.len() >= limit {
                return Ok(out);
            }
            out.extents.push(FileExtent {
                logical: Bytes::new(extent.logical),
                physical: Bytes::new(extent.physical),
                len: Bytes::new(extent.length),
                flags: ExtentFlags(extent.flags),
            });
        }
        let next = last.logical.saturating_add(last.length);
        // A filesystem that reports the same range again would never end.
        if ExtentFlags(last.flags).intersects(ExtentFlags::LAST) || next <= start {
            out.complete = true;
            return Ok(out);
        }
        start = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_have_the_kernels_sizes() {
        assert_eq!(size_of::<Header>(), 32);
        assert_eq!(size_of::<RawExtent>(), 56);
        assert_eq!(size_of::<Request>(), 32 + 56 * BATCH);
        // FS_IOC_FIEMAP on every architecture but MIPS, PowerPC and SPARC.
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert_eq!(opcode::read_write::<Header>(b'f', 11), 0xc020_660b);
    }
}
