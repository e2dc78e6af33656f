//! Handles of one file made of each other, never of a path, and what they say about it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle};
use std::path::Path;
use straddle_geometry::Bytes;

use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_DISPOSITION_INFO, FileDispositionInfo, GetDiskFreeSpaceExW,
    GetFileInformationByHandle, ReOpenFile, SetFileInformationByHandle,
};

use super::wide::ended;

/// Access: to read; to write; to delete and rename.
pub(crate) const READ: u32 = 0x8000_0000;
pub(crate) const WRITE: u32 = 0x4000_0000;
pub(crate) const DELETE: u32 = 0x0001_0000;
/// What others may do meanwhile.
pub(crate) const SHARE_READ: u32 = 1;
pub(crate) const SHARE_WRITE: u32 = 2;
pub(crate) const SHARE_DELETE: u32 = 4;
pub(crate) const SHARE_ALL: u32 = SHARE_READ | SHARE_WRITE | SHARE_DELETE;
/// How a handle works.
pub(crate) const WRITE_THROUGH: u32 = 0x8000_0000;
pub(crate) const OVERLAPPED: u32 = 0x4000_0000;
pub(crate) const NO_BUFFERING: u32 = 0x2000_0000;
/// A directory is opened too, and a link itself, not what it leads to.
pub(crate) const BACKUP_SEMANTICS: u32 = 0x0200_0000;
pub(crate) const OPEN_REPARSE_POINT: u32 = 0x0020_0000;

/// A new file object of what `file` is a handle of, whatever has its name by now.
///
/// # Errors
/// Those of the system: sharing violation (32) when another handle forbids this one, or this one another.
#[allow(unsafe_code)]
pub(crate) fn reopen(file: &File, access: u32, share: u32, flags: u32) -> io::Result<File> {
    // SAFETY: the handle is open as long as `file` is; the other arguments are integers.
    let handle = unsafe { ReOpenFile(file.as_raw_handle(), access, share, flags) };
    if handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle was just made, and nobody else has it.
    Ok(unsafe { File::from_raw_handle(handle) })
}

/// The serial number of the volume that a file lies on, and the number of the file there: as long as a handle of it is open, no other
/// file has them.
///
/// # Errors
/// Those of the system; a disk or volume has no such numbers.
#[allow(unsafe_code)]
pub fn file_number(of: &File) -> io::Result<(u64, u64)> {
    let mut found = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open as long as `of` is, and the answer is a live value of the type that the call fills.
    if unsafe { GetFileInformationByHandle(of.as_raw_handle(), &raw mut found) } == 0 {
        return Err(io::Error::last_os_error());
    }
    let number = u64::from(found.nFileIndexHigh) << 32 | u64::from(found.nFileIndexLow);
    Ok((u64::from(found.dwVolumeSerialNumber), number))
}

/// Deletes the file of a handle that was opened for it, as soon as all its handles are closed.
///
/// # Errors
/// Those of the system.
#[allow(unsafe_code)]
pub(crate) fn delete(file: &File) -> io::Result<()> {
    let info = FILE_DISPOSITION_INFO { DeleteFile: true };
    let size = u32::try_from(size_of::<FILE_DISPOSITION_INFO>()).unwrap_or(0);
    // SAFETY: the handle is open as long as `file` is, and `info` is a live value of the type that the class takes, of the size that is
    // given.
    let done = unsafe {
        SetFileInformationByHandle(
            file.as_raw_handle(),
            FileDispositionInfo,
            (&raw const info).cast(),
            size,
        )
    };
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// What this account may still write to the volume that a directory lies on; quotas are taken into account.
///
/// # Errors
/// Those of the system.
#[allow(unsafe_code)]
pub fn available(directory: &Path) -> io::Result<Bytes> {
    let path: Vec<u16> = ended(OsStr::new(directory));
    let mut free = 0;
    // SAFETY: the path ends with a zero and lives during the call, as the answer does; the two other answers are not wanted.
    let done = unsafe {
        GetDiskFreeSpaceExW(
            path.as_ptr(),
            &raw mut free,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    };
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Bytes::new(free))
}
