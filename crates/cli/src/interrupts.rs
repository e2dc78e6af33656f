//! Ctrl-C and its like: measuring stops, and what was measured is printed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Set by SIGINT, SIGTERM and the end of the terminal (SIGHUP). A second signal ends the process at once: journals and stamps
/// are kept in such a way that nothing is lost by that either.
pub(crate) fn interrupts() -> io::Result<Arc<AtomicBool>> {
    use signal_hook::consts;
    use signal_hook::flag;
    #[cfg(unix)]
    let signals = [consts::SIGINT, consts::SIGTERM, consts::SIGHUP];
    #[cfg(not(unix))]
    let signals = [consts::SIGINT, consts::SIGTERM];
    let stop = Arc::new(AtomicBool::new(false));
    for signal in signals {
        flag::register_conditional_shutdown(
            signal,
            i32::from(crate::exit::FAILED),
            Arc::clone(&stop),
        )?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
