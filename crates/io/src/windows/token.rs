use std::io;

use windows_sys::Win32::Foundation::{CloseHandle, HANDLE};
use windows_sys::Win32::Security::{
    GetTokenInformation, TOKEN_ELEVATION, TOKEN_QUERY, TokenElevation,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// Whether this process has the rights of an administrator now, and not only an account that could have them.
///
/// # Errors
/// Those of the system.
#[allow(unsafe_code)]
pub fn is_elevated() -> io::Result<bool> {
    let mut token: HANDLE = std::ptr::null_mut();
    // SAFETY: the pseudo handle of this process is always open; the result is a handle that lives during the call.
    if unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) } == 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = TOKEN_ELEVATION::default();
    let size = u32::try_from(size_of::<TOKEN_ELEVATION>()).unwrap_or(0);
    let mut written = 0;
    // SAFETY: the token was just opened; the buffer is a live value of the type that the class gives, of the size that is given.
    let done = unsafe {
        GetTokenInformation(
            token,
            TokenElevation,
            (&raw mut found).cast(),
            size,
            &raw mut written,
        )
    };
    let error = io::Error::last_os_error();
    // SAFETY: the token was opened above, and is closed once.
    unsafe { CloseHandle(token) };
    match done {
        0 => Err(error),
        _ => Ok(found.TokenIsElevated != 0),
    }
}
