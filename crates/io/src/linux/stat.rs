use rustix::fs::{AtFlags, CWD, FileType, StatxFlags};
use std::fs::File;
use std::io;
use std::path::Path;
use straddle_geometry::{Bytes, SectorSize, Unit};

/// What `statx` says about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// Device of the filesystem that the file lies on; anonymous (major 0) on btrfs, tmpfs and overlayfs.
    pub device: (u32, u32),
    /// The device itself, for a block device.
    pub block_device: Option<(u32, u32)>,
    /// Length of a regular file.
    pub size: Bytes,
    /// Preferred unit of I/O.
    pub block_size: Bytes,
    /// What direct I/O to this file must be aligned to; `None` before Linux 6.1 or where the filesystem does not say.
    pub direct_io: Option<DirectIo>,
}

/// `STATX_DIOALIGN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectIo {
    /// Alignment of the buffer in memory; 0 when direct I/O is not supported.
    pub memory: Bytes,
    /// Alignment of offset and length.
    pub offset: Bytes,
}

/// What `statfs` says about a mounted filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilesystemStat {
    /// `f_bsize`: preferred unit of I/O.
    pub block_size: Bytes,
    /// `f_frsize`: the unit in which space is allocated and counted.
    pub fragment_size: Bytes,
}

/// Asks `statx` about `path`, following symbolic links.
///
/// # Errors
/// Those of the system call.
pub fn file_stat(path: &Path) -> io::Result<FileStat> {
    let mask = StatxFlags::BASIC_STATS | StatxFlags::DIOALIGN;
    let stat = rustix::fs::statx(CWD, path, AtFlags::empty(), mask)?;
    let is_block = FileType::from_raw_mode(u32::from(stat.stx_mode)) == FileType::BlockDevice;
    let direct_io = StatxFlags::from_bits_retain(stat.stx_mask)
        .contains(StatxFlags::DIOALIGN)
        .then(|| DirectIo {
            memory: Bytes::new(stat.stx_dio_mem_align.into()),
            offset: Bytes::new(stat.stx_dio_offset_align.into()),
        });
    Ok(FileStat {
        device: (stat.stx_dev_major, stat.stx_dev_minor),
        block_device: is_block.then_some((stat.stx_rdev_major, stat.stx_rdev_minor)),
        size: Bytes::new(stat.stx_size),
        block_size: Bytes::new(stat.stx_blksize.into()),
        direct_io,
    })
}

/// Asks `statfs` about the filesystem that `path` lies on.
///
/// # Errors
/// Those of the system call.
pub fn filesystem_stat(path: &Path) -> io::Result<FilesystemStat> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(FilesystemStat {
        block_size: Bytes::new(stat.f_bsize),
        fragment_size: Bytes::new(stat.f_frsize),
    })
}

/// Asks a block device for its logical sector (`BLKSSZGET`).
///
/// # Errors
/// Those of the system call.
pub fn logical_sector(device: &File) -> io::Result<SectorSize> {
    let size = rustix::fs::ioctl_blksszget(device)?;
    SectorSize::new(size).ok_or_else(|| io::Error::other("the device reports a sector of 0 bytes"))
}

/// Asks a block device for its physical sector (`BLKPBSZGET`).
///
/// # Errors
/// Those of the system call.
pub fn physical_sector(device: &File) -> io::Result<Unit> {
    let size = rustix::fs::ioctl_blkpbszget(device)?;
    Unit::new(size.into()).ok_or_else(|| io::Error::other("the device reports a sector of 0 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_size_it_was_given() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("file");
        std::fs::write(&path, [0; 12_345]).expect("write");
        let stat = file_stat(&path).expect("stats");
        assert_eq!(stat.size, Bytes::new(12_345));
        assert_eq!(stat.block_device, None);
        let filesystem = filesystem_stat(&path).expect("stats");
        assert!(filesystem.fragment_size.get().is_power_of_two());
        assert!(file_stat(Path::new("/nonexistent")).is_err());
    }
}
