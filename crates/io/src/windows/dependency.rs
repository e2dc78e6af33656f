use std::fs::File;
use std::io;
use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::Foundation::{ERROR_INSUFFICIENT_BUFFER, ERROR_SUCCESS};
use windows_sys::Win32::Storage::Vhd::{
    GET_STORAGE_DEPENDENCY_FLAG_DISK_HANDLE, GET_STORAGE_DEPENDENCY_FLAG_HOST_VOLUMES,
    GetStorageDependencyInformation, STORAGE_DEPENDENCY_INFO, STORAGE_DEPENDENCY_INFO_VERSION_2,
};

/// Longest answer that is taken.
const MAX_LEN: usize = 1 << 20;
/// How often more room is offered.
const TRIES: usize = 8;
/// Bytes of a pointer.
const POINTER: usize = size_of::<usize>();

/// On which files a disk lies that is a mounted VHD or VHDX: a `STORAGE_DEPENDENCY_INFO` of version 2 with its header of 8 bytes.
///
/// The system writes pointers into the answer, as wide as those of this process. The address that it was written to comes with it, so that
/// whoever keeps it can put offsets in their place.
///
/// # Errors
/// Those of the system.
#[allow(unsafe_code)]
pub fn host_files(disk: &File) -> io::Result<(Vec<u8>, usize)> {
    let mut room = 4096;
    for _ in 0..TRIES {
        // Of integers as wide as pointers, so that entries lie as the system wants them.
        let mut answer = vec![0_usize; room / POINTER];
        let info: *mut STORAGE_DEPENDENCY_INFO = answer.as_mut_ptr().cast();
        // SAFETY: the buffer is longer than the structure, is aligned for it, and only zeroes are in it.
        unsafe { (*info).Version = STORAGE_DEPENDENCY_INFO_VERSION_2 };
        let mut used = 0;
        // SAFETY: the handle is open as long as `disk` is; the buffer lives during the call and has the length that is given.
        let code = unsafe {
            GetStorageDependencyInformation(
                disk.as_raw_handle(),
                GET_STORAGE_DEPENDENCY_FLAG_HOST_VOLUMES | GET_STORAGE_DEPENDENCY_FLAG_DISK_HANDLE,
                u32::try_from(room).map_err(|_| io::ErrorKind::InvalidInput)?,
                info,
                &raw mut used,
            )
        };
        let used = usize::try_from(used).unwrap_or(usize::MAX);
        match code {
            ERROR_SUCCESS => {
                let start = answer.as_ptr().addr();
                let mut bytes: Vec<u8> =
                    answer.iter().flat_map(|word| word.to_le_bytes()).collect();
                bytes.truncate(used);
                return Ok((bytes, start));
            }
            ERROR_INSUFFICIENT_BUFFER if room < MAX_LEN => {
                room = used.max(room * 2).min(MAX_LEN).next_multiple_of(POINTER);
            }
            code => return Err(io::Error::from_raw_os_error(code.cast_signed())),
        }
    }
    Err(io::ErrorKind::Interrupted.into())
}
