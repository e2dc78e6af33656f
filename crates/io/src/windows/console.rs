//! Ctrl-C and its like, as consoles tell of them.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler};

static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Sets `stop` on Ctrl-C, on Ctrl-Break, when the console is closed, and when the user logs off or the machine is shut down. A second
/// event ends the process at once. After all but the first two the system ends it anyway, a few seconds later.
///
/// # Errors
/// Those of the system; one of the kind [`AlreadyExists`](io::ErrorKind::AlreadyExists) when another flag is set by them already.
#[allow(unsafe_code)]
pub fn stop_on_console_events(stop: Arc<AtomicBool>) -> io::Result<()> {
    STOP.set(stop)
        .map_err(|_| io::Error::from(io::ErrorKind::AlreadyExists))?;
    // SAFETY: the handler lives as long as the program, and uses nothing but atomics.
    if unsafe { SetConsoleCtrlHandler(Some(handler), 1) } == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Runs in a thread of its own.
#[allow(unsafe_code)]
unsafe extern "system" fn handler(event: u32) -> i32 {
    /// What is not taken here is the system's, which ends the process.
    const NOT_TAKEN: i32 = 0;
    let Some(stop) = STOP.get() else {
        return NOT_TAKEN;
    };
    if stop.swap(true, Ordering::SeqCst) {
        return NOT_TAKEN;
    }
    if event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT {
        // The process is ended as soon as this is back; until then there is time to end in order.
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    1
}
