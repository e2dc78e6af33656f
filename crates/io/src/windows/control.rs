use std::fs::File;
use std::io;
use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::Foundation::{ERROR_INSUFFICIENT_BUFFER, ERROR_MORE_DATA};
use windows_sys::Win32::System::IO::DeviceIoControl;

/// Longest answer that is taken: the extents of a file in a million pieces.
pub const MAX_ANSWER: usize = 16 << 20;

/// Asks a device, a volume or a file by a control code. The answer is as long as the system says that it is.
///
/// `room` is how much is offered at first. Where that is too little, twice as much is, up to [`MAX_ANSWER`]: some drivers say how much they
/// need, some do not, and some ask for more each time.
///
/// # Errors
/// Those of the system; [`FileTooLarge`](io::ErrorKind::FileTooLarge) when no room is enough.
#[allow(unsafe_code)]
pub fn control(of: &File, code: u32, input: &[u8], room: usize) -> io::Result<Vec<u8>> {
    let mut room = room.clamp(16, MAX_ANSWER);
    let input_len = u32::try_from(input.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    loop {
        let mut answer = vec![0_u8; room];
        let answer_len = u32::try_from(room).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut written = 0;
        // SAFETY: the handle is open as long as `of` is; both buffers live during the call and have the lengths that are given, and the
        // call is not overlapped, so that nothing is written once it is back.
        let done = unsafe {
            DeviceIoControl(
                of.as_raw_handle(),
                code,
                input.as_ptr().cast(),
                input_len,
                answer.as_mut_ptr().cast(),
                answer_len,
                &raw mut written,
                std::ptr::null_mut(),
            )
        };
        if done != 0 {
            // A driver that says that it wrote more than there is room for is not believed.
            answer.truncate(usize::try_from(written).unwrap_or(room).min(room));
            return Ok(answer);
        }
        let error = io::Error::last_os_error();
        let is_short = error
            .raw_os_error()
            .and_then(|code| u32::try_from(code).ok())
            .is_some_and(|code| [ERROR_MORE_DATA, ERROR_INSUFFICIENT_BUFFER].contains(&code));
        match is_short {
            true if room < MAX_ANSWER => room = (room * 2).min(MAX_ANSWER),
            true => return Err(io::Error::new(io::ErrorKind::FileTooLarge, error)),
            false => return Err(error),
        }
    }
}
