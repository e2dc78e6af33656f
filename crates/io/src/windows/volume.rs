use std::fs::File;
use std::io;
use std::os::windows::io::AsRawHandle;

use windows_sys::Wdk::Storage::FileSystem::NtQueryVolumeInformationFile;
use windows_sys::Win32::Foundation::RtlNtStatusToDosError;
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;

/// Asks the filesystem of an open file for a class of information about its volume, of at most `room` bytes: 11 is
/// `FileFsSectorSizeInformation`, which no call of Win32 gives.
///
/// # Errors
/// Those of the system, as Win32 numbers them.
#[allow(unsafe_code)]
pub fn volume_information(of: &File, class: i32, room: usize) -> io::Result<Vec<u8>> {
    let mut answer = vec![0_u8; room];
    let len = u32::try_from(room).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut status = IO_STATUS_BLOCK::default();
    // SAFETY: the handle is open as long as `of` is, and was opened for calls that come back when they are done; both buffers live during
    // the call, and the length is that of the answer.
    let code = unsafe {
        NtQueryVolumeInformationFile(
            of.as_raw_handle(),
            &raw mut status,
            answer.as_mut_ptr().cast(),
            len,
            class,
        )
    };
    if code < 0 {
        // SAFETY: the call takes and gives an integer.
        let code = unsafe { RtlNtStatusToDosError(code) };
        return Err(io::Error::from_raw_os_error(code.cast_signed()));
    }
    answer.truncate(status.Information.min(room));
    Ok(answer)
}
