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

/// Makes a hole of a range of a file or device that is open for writing: it reads as zeroes, and takes no space where that
/// can be had.
///
/// # Errors
/// Those of the call; `Unsupported` where the filesystem or device does not know it.
pub fn punch_hole(file: &File, at: Bytes, len: Bytes) -> io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(rustix::fs::fallocate(file, flags, at.get(), len.get())?)
}

/// The first byte from `offset` on that need not be 0x00; where the file cannot tell, `offset` itself.
#[must_use]
pub fn data_from(file: &File, offset: Bytes, size: Bytes) -> Bytes {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(offset.get())) {
        Ok(at) => Bytes::new(at),
        // Nothing but a hole up to the end.
        Err(rustix::io::Errno::NXIO) => size.max(offset),
        Err(_) => offset,
    }
}

/// Whether an open file goes past the page cache (`O_DIRECT`).
///
/// # Errors
/// Those of `fcntl`.
pub fn is_direct(file: &File) -> io::Result<bool> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    Ok(flags.contains(rustix::fs::OFlags::DIRECT))
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
    fn a_hole_reads_as_zeroes_and_keeps_the_length() {
        use std::os::unix::fs::FileExt;
        let file = tempfile::tempfile().expect("temporary file");
        file.write_all_at(&[7; 16384], 0).expect("written");
        punch_hole(&file, Bytes::new(4096), Bytes::new(8192)).expect("a hole");
        let mut bytes = [1; 16384];
        file.read_exact_at(&mut bytes, 0)
            .expect("as long as before");
        let sevens = bytes.iter().enumerate().filter(|(_, byte)| **byte == 7);
        assert!(sevens.map(|(at, _)| at).eq((0..4096).chain(12288..16384)));
    }

    #[test]
    fn proc_is_no_tmpfs() {
        assert!(!is_in_memory(Path::new("/proc")).expect("statfs"));
    }
}
