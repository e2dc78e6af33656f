//! Reading and writing at a place with a call that comes back when it is done, by handles of either kind. Those of the standard library
//! take no overlapped handle that several threads share: each waits for the handle, and so is woken by the requests of others.

use std::fs::File;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use straddle_geometry::Bytes;

use crate::AlignedBytes;
use windows_sys::Win32::Foundation::{ERROR_HANDLE_EOF, ERROR_IO_PENDING};
use windows_sys::Win32::Storage::FileSystem::{ReadFile, WriteFile};
use windows_sys::Win32::System::IO::{
    GetOverlappedResult, OVERLAPPED, OVERLAPPED_0, OVERLAPPED_0_0,
};
use windows_sys::Win32::System::Threading::CreateEventW;

thread_local! {
    /// What the only request of this thread tells its end by.
    static EVENT: io::Result<OwnedHandle> = event();
}

#[allow(unsafe_code)]
fn event() -> io::Result<OwnedHandle> {
    // SAFETY: it has no attributes and no name.
    let handle = unsafe { CreateEventW(std::ptr::null(), 1, 0, std::ptr::null()) };
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle was just made, and nobody else has it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// What the system wants to know of a request besides its buffer.
#[expect(
    clippy::cast_possible_truncation,
    reason = "both halves are handed over"
)]
pub(crate) fn overlapped(offset: u64) -> OVERLAPPED {
    OVERLAPPED {
        Anonymous: OVERLAPPED_0 {
            Anonymous: OVERLAPPED_0_0 {
                Offset: offset as u32,
                OffsetHigh: (offset >> 32) as u32,
            },
        },
        ..OVERLAPPED::default()
    }
}

/// Reads; how many bytes, 0 at the end.
///
/// # Errors
/// Those of the system.
#[allow(unsafe_code)]
pub(crate) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let (start, len) = (bytes.as_mut_ptr(), len(bytes));
    ended(file, offset, |request| {
        // SAFETY: the handle is open as long as `file` is; the buffer is borrowed, and `ended` gives the request, and comes back only when
        // nothing of it is under way.
        unsafe {
            ReadFile(
                file.as_raw_handle(),
                start,
                len,
                std::ptr::null_mut(),
                request,
            )
        }
    })
}

/// Reads all of what is asked for, and whole pages around it: a handle may be one that goes past the cache.
///
/// # Errors
/// Those of the system; [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) when there are fewer bytes.
pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    let page = AlignedBytes::ALIGNMENT.get();
    let start = at - at % page;
    let skipped = usize::try_from(at - start).unwrap_or(0);
    let wanted = Bytes::new((skipped + bytes.len()) as u64);
    let mut pages = AlignedBytes::new(Bytes::new(wanted.get().next_multiple_of(page)))?;
    let mut filled = 0;
    while filled < skipped + bytes.len() {
        // Only the end of the file stops a read inside a page.
        let room = pages.get_mut(filled..).unwrap_or_default();
        match read_at(file, room, start + filled as u64)? {
            moved if moved > 0 && moved.is_multiple_of(512) => filled += moved,
            moved => {
                filled += moved;
                break;
            }
        }
    }
    let found = pages
        .get(skipped..filled.min(skipped + bytes.len()))
        .filter(|found| found.len() == bytes.len())
        .ok_or(io::ErrorKind::UnexpectedEof)?;
    bytes.copy_from_slice(found);
    Ok(())
}

/// Writes; how many bytes.
///
/// # Errors
/// Those of the system.
#[allow(unsafe_code)]
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    let (start, len) = (bytes.as_ptr(), len(bytes));
    ended(file, offset, |request| {
        // SAFETY: as for reading.
        unsafe {
            WriteFile(
                file.as_raw_handle(),
                start,
                len,
                std::ptr::null_mut(),
                request,
            )
        }
    })
}

/// Longer ones are cut, as the system may do itself.
fn len(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(1 << 30)
}

/// Makes a request and waits for its end.
#[allow(unsafe_code)]
fn ended(file: &File, offset: u64, make: impl FnOnce(*mut OVERLAPPED) -> i32) -> io::Result<usize> {
    EVENT.with(|event| {
        let event = event
            .as_ref()
            .map_err(|error| io::Error::from(error.kind()))?;
        let mut request = overlapped(offset);
        request.hEvent = event.as_raw_handle();
        let request = &raw mut request;
        if make(request) == 0 {
            let error = io::Error::last_os_error();
            match error.raw_os_error().map(i32::cast_unsigned) {
                Some(ERROR_IO_PENDING) => {}
                Some(ERROR_HANDLE_EOF) => return Ok(0),
                _ => return Err(error),
            }
        }
        let mut moved = 0;
        // SAFETY: the handle is open as long as `file` is, request and result live during the call, and it waits for the event of this
        // request alone, so that nothing is under way once it is back.
        let done = unsafe { GetOverlappedResult(file.as_raw_handle(), request, &raw mut moved, 1) };
        if done == 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error().map(i32::cast_unsigned) {
                Some(ERROR_HANDLE_EOF) => Ok(0),
                _ => Err(error),
            };
        }
        Ok(moved as usize)
    })
}
