use rustix::fs::{Advice, FallocateFlags};
use std::fs::File;
use std::io;
use std::path::Path;
use straddle_geometry::Bytes;

/// Space on the filesystem of `path` that this user can still fill; a quota may leave less.
///
/// # Errors
/// Those of `statvfs`.
pub fn available(path: &Path) -> io::Result<Bytes> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(Bytes::new(stat.f_bavail.saturating_mul(stat.f_frsize)))
}

/// Sets the first `len` bytes of a file aside (`fallocate`), which fails when space or quota does not suffice. They read
/// as zeros, without a disk being asked, until they are written.
///
/// # Errors
/// Those of the call; `Unsupported` where the filesystem does not know it.
pub fn allocate(file: &File, len: Bytes) -> io::Result<()> {
    let flags = FallocateFlags::empty();
    Ok(rustix::fs::fallocate(file, flags, 0, len.get())?)
}

/// Asks the kernel to drop what its page cache holds of a file; what is not yet written stays.
///
/// # Errors
/// Those of `posix_fadvise`.
pub fn evict(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, Advice::DontNeed)?)
}

/// True for a file in memory: tmpfs, ramfs. Its direct I/O takes any offset, and no device is behind it.
///
/// # Errors
/// Those of `statfs`.
pub fn is_in_memory(path: &Path) -> io::Result<bool> {
    const TMPFS: i128 = 0x0102_1994;
    const RAMFS: i128 = 0x8584_58f6;
    // Its type differs from platform to platform, and a large magic may have become negative in it.
    let kind = i128::from(rustix::fs::statfs(path)?.f_type) & 0xffff_ffff;
    Ok(kind == TMPFS || kind == RAMFS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_is_cannot_be_allocated() {
        let file = tempfile::tempfile().expect("temporary file");
        allocate(&file, Bytes::mib(1)).expect("a MiB");
        assert_eq!(file.metadata().expect("metadata").len(), 1 << 20);
        evict(&file).expect("nothing to drop");
        let free = available(Path::new("/tmp")).expect("statvfs");
        assert!(free > Bytes::ZERO);
        allocate(&file, Bytes::new(1 << 60)).expect_err("an EiB");
    }

    #[test]
    fn proc_is_no_tmpfs() {
        assert!(!is_in_memory(Path::new("/proc")).expect("statfs"));
    }
}
