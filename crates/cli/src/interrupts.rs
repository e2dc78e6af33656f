//! Ctrl-C and its like: measuring stops, and what was measured is printed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Set by SIGINT, SIGTERM and the end of the terminal (SIGHUP). A second signal ends the process at once: journals and stamps
/// are kept in such a way that nothing is lost by that either.
#[cfg(unix)]
pub(crate) fn interrupts() -> io::Result<Arc<AtomicBool>> {
    use signal_hook::consts;
    use signal_hook::flag;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [consts::SIGINT, consts::SIGTERM, consts::SIGHUP] {
        flag::register_conditional_shutdown(
            signal,
            i32::from(crate::exit::FAILED),
            Arc::clone(&stop),
        )?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// Set by Ctrl-C, Ctrl-Break and the end of the console or the session, as signals do elsewhere.
#[cfg(windows)]
pub(crate) fn interrupts() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    straddle::io::windows::stop_on_console_events(Arc::clone(&stop))?;
    Ok(stop)
}
