//! How long processors worked.

use std::io;
use std::time::Duration;

use windows_sys::Wdk::System::SystemInformation::{
    NtQuerySystemInformation, SystemProcessorPerformanceInformation,
};
use windows_sys::Win32::Foundation::{FILETIME, RtlNtStatusToDosError};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessTimes};
use windows_sys::Win32::System::WindowsProgramming::SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION;

/// Most processors of one group, which is what the system tells of.
const MAX_PROCESSORS: usize = 64;

/// What one processor has done since the system began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTimes {
    /// For programs.
    pub user: Duration,
    /// For the system itself.
    pub kernel: Duration,
    /// Nothing.
    pub idle: Duration,
}

/// Processor time of this process so far, in all of its threads. Windows counts it in ticks of its clock, up to 16 ms long.
///
/// # Errors
/// Those of the system.
#[allow(unsafe_code)]
pub fn process_time() -> io::Result<Duration> {
    let [mut created, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    // SAFETY: the pseudo handle of this process is always open, and the four answers are live values of the type that the call fills.
    let done = unsafe {
        GetProcessTimes(
            GetCurrentProcess(),
            &raw mut created,
            &raw mut ended,
            &raw mut kernel,
            &raw mut user,
        )
    };
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    let ticks =
        |time: FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    Ok(of_ticks(ticks(kernel).saturating_add(ticks(user))))
}

/// What each processor of this thread's group has done so far. A machine of up to 64 processors has one group.
///
/// # Errors
/// Those of the system.
#[allow(unsafe_code)]
pub fn processor_times() -> io::Result<Vec<ProcessorTimes>> {
    let mut found = [SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION::default(); MAX_PROCESSORS];
    let size = u32::try_from(size_of_val(&found)).unwrap_or(0);
    let mut written = 0;
    // SAFETY: the buffer is a live list of the type that the class fills, of the size that is given; so is what is written of it.
    let status = unsafe {
        NtQuerySystemInformation(
            SystemProcessorPerformanceInformation,
            (&raw mut found).cast(),
            size,
            &raw mut written,
        )
    };
    if status < 0 {
        // SAFETY: a number goes in, and a number comes out.
        let code = unsafe { RtlNtStatusToDosError(status) };
        return Err(io::Error::from_raw_os_error(code.cast_signed()));
    }
    let one = size_of::<SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION>();
    let count = usize::try_from(written).unwrap_or(0) / one;
    let times = |ticks: i64| of_ticks(ticks.try_into().unwrap_or(0));
    let of_one = |found: &SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION| ProcessorTimes {
        user: times(found.UserTime),
        // The system counts what is idle as its own.
        kernel: times(found.KernelTime.saturating_sub(found.IdleTime)),
        idle: times(found.IdleTime),
    };
    Ok(found.iter().take(count).map(of_one).collect())
}

/// Windows counts in units of 100 ns.
fn of_ticks(ticks: u64) -> Duration {
    Duration::from_nanos(ticks.saturating_mul(100))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_thread_that_works_takes_time_of_the_process_and_of_a_processor() {
        let (process, processors) = (process_time(), processor_times());
        let (process, processors) = (process.expect("told"), processors.expect("told"));
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(200) {
            std::hint::spin_loop();
        }
        let used = process_time().expect("told") - process;
        let after = processor_times().expect("told");
        let (elapsed, count) = (begun.elapsed(), processors.len());
        assert!(used > Duration::ZERO, "{used:?}");
        // Other tests may run meanwhile, on all processors; a tick more on either side.
        let most = (elapsed + Duration::from_millis(32)) * u32::try_from(count).expect("few");
        assert!(used <= most, "{used:?} of {elapsed:?} × {count}");
        let threads = std::thread::available_parallelism().expect("told");
        assert!(count >= threads.get(), "{count} of {threads}");
        let sums = |all: &[ProcessorTimes]| -> Duration {
            all.iter().map(|one| one.user + one.kernel).sum()
        };
        assert!(sums(&after) > sums(&processors), "{after:?}");
        let pairs = processors.iter().zip(&after);
        assert!(
            pairs.into_iter().all(|(a, b)| a.idle <= b.idle),
            "{after:?}"
        );
    }
}
