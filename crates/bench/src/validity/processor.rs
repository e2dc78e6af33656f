//! Whether the processors were the limit, or slower for a time.
//!
//! Sources: Linux `Documentation/filesystems/proc.rst` (`/proc/stat`, in ticks: user nice system idle iowait irq softirq
//! steal), `Documentation/ABI/testing/sysfs-devices-system-cpu` (`thermal_throttle`), `Documentation/admin-guide/cgroup-v2.rst`
//! (`cpu.stat`).

use std::time::Duration;
use straddle_io::engine::Kind;

use super::kernel::Kernel;
use super::{Warning, WarningKind, percent};
use crate::plan::Plan;
use crate::sample::Sample;
use straddle_rules::figures::counted;

/// Share of processor time that a hypervisor may give to others before that is told.
const STOLEN: f64 = 0.02;
/// A clock below this share of the highest one is a slow one.
const SLOW: f64 = 0.8;
/// Looks that say something together.
const MIN_LOOKS: usize = 4;
/// Share of the time of the threads that can run at once from which on they are the limit.
const BUSY: f64 = 0.9;

/// Counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// Times that a processor was slowed down because it was hot.
    hot: u64,
    /// Ticks that a hypervisor gave to others.
    stolen: u64,
    /// All ticks.
    ticks: u64,
    /// Time for which this process's group was held back because its quota was used up.
    held_back: Duration,
    processors: usize,
}

impl Snapshot {
    pub(super) fn read(kernel: &Kernel) -> Snapshot {
        let stat = kernel.text("/proc/stat").unwrap_or_default();
        let all = stat.lines().find_map(|line| line.strip_prefix("cpu "));
        let ticks: Vec<u64> = all
            .unwrap_or("")
            .split_ascii_whitespace()
            // What guests got is in user and nice already.
            .take(8)
            .filter_map(|word| word.parse().ok())
            .collect();
        let is_one = |line: &&str| {
            let rest = line.strip_prefix("cpu");
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let held_back = kernel.text("/sys/fs/cgroup/cpu.stat").and_then(|text| {
            let mut lines = text.lines();
            let micros = lines.find_map(|line| line.strip_prefix("throttled_usec "))?;
            Some(Duration::from_micros(micros.trim().parse().ok()?))
        });
        Snapshot {
            hot: cpus(kernel)
                .filter_map(|cpu| {
                    let path = format!("{cpu}/thermal_throttle/core_throttle_count");
                    kernel.number::<u64>(&path)
                })
                .sum(),
            stolen: ticks.get(7).copied().unwrap_or(0),
            ticks: ticks.iter().sum(),
            held_back: held_back.unwrap_or_default(),
            processors: stat.lines().filter(is_one).count(),
        }
    }

    /// How many there are; of a machine that does not say, as many as this process may use.
    pub(super) fn processors(&self) -> usize {
        match self.processors {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        }
    }
}

fn cpus(kernel: &Kernel) -> impl Iterator<Item = String> {
    let directory = "/sys/devices/system/cpu";
    let names = kernel.names(directory).into_iter();
    names
        .filter(|name| {
            let number = name.strip_prefix("cpu").unwrap_or("");
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
        .map(move |name| format!("{directory}/{name}"))
}

/// The clock of the fastest processor now, in kHz: those without work are slow by right.
pub(super) fn highest_clock(kernel: &Kernel) -> Option<u64> {
    cpus(kernel)
        .filter_map(|cpu| kernel.number(&format!("{cpu}/cpufreq/scaling_cur_freq")))
        .max()
}

/// Whether processors were slower for a part of the time.
pub(super) fn throttled(began: &Snapshot, ended: &Snapshot, clocks: &[u64]) -> Option<Warning> {
    let mut facts = Vec::new();
    let hot = ended.hot.saturating_sub(began.hot);
    if hot > 0 {
        facts.push(format!(
            "processors were slowed down because of their temperature {} (thermal_throttle/core_throttle_count)",
            counted(hot, "time")
        ));
    }
    let stolen = share(
        ended.stolen.saturating_sub(began.stolen),
        ended.ticks.saturating_sub(began.ticks),
    );
    if stolen > STOLEN {
        facts.push(format!(
            "the hypervisor gave {} of this machine's processor time to others (steal in /proc/stat)",
            percent(stolen)
        ));
    }
    let held_back = ended.held_back.saturating_sub(began.held_back);
    if held_back > Duration::from_millis(100) {
        facts.push(format!(
            "this process's group had used up its processor quota for {:.1} s (throttled_usec in cpu.stat)",
            held_back.as_secs_f64()
        ));
    }
    facts.extend(slow_clock(clocks));
    if facts.is_empty() {
        return None;
    }
    Some(Warning {
        kind: WarningKind::ThrottledProcessor,
        cause: format!(
            "The processor was not equally fast all the time: {}. Latencies of fast devices depend on it.",
            facts.join("; ")
        ),
        advice: "Set the governor to performance (`cpupower frequency-set -g performance`), let the machine cool, give the guest processors of its own or the container a \
                 larger quota, and measure again; a longer experiment evens it out, because every offset is compared with the baseline beside it."
            .to_owned(),
    })
}

fn slow_clock(clocks: &[u64]) -> Option<String> {
    if clocks.len() < MIN_LOOKS {
        return None;
    }
    let (highest, lowest) = (*clocks.iter().max()?, *clocks.iter().min()?);
    let slow = clocks
        .iter()
        .filter(|clock| share(**clock, highest) < SLOW)
        .count();
    // A single look may have come just before a run got going.
    if slow * 10 < clocks.len() || slow < 2 {
        return None;
    }
    Some(format!(
        "the fastest processor was clocked at {} MHz in one look and {} MHz in another, below {} of the highest in {slow} of {} looks",
        highest / 1000,
        lowest / 1000,
        percent(SLOW),
        clocks.len()
    ))
}

/// Whether the processor was the limit: the process took nearly all the time of the threads that can run at once.
pub(super) fn busy(
    samples: &[Sample],
    plan: &Plan,
    processors: usize,
    engine: Option<Kind>,
) -> Option<Warning> {
    let mut worst: Option<(f64, u64, u32)> = None;
    let mut count = 0_usize;
    for sample in samples {
        let cell = usize::try_from(sample.slot.cell).ok();
        let Some(cell) = cell.and_then(|cell| plan.cells.get(cell)) else {
            continue;
        };
        // An engine that blocks has a thread for each outstanding I/O.
        let slots = engine.map_or(u32::MAX, Kind::most_slots).max(1);
        let threads = u64::from(cell.workers) * u64::from(cell.outstanding.div_ceil(slots).max(1));
        let limit = threads.min(u64::try_from(processors).unwrap_or(u64::MAX));
        let used = sample.processor.as_secs_f64() / sample.took.as_secs_f64().max(1e-9);
        let busy = used / f64::from(u32::try_from(limit).unwrap_or(u32::MAX)).max(1.0);
        if busy < BUSY {
            continue;
        }
        count += 1;
        if worst.is_none_or(|(most, _, _)| busy > most) {
            worst = Some((busy, limit, sample.slot.cell));
        }
    }
    let (share, limit, cell) = worst?;
    Some(Warning {
        kind: WarningKind::BusyProcessor,
        cause: format!(
            "In {count} of {} the processor was the limit, not the storage: at worst (workload {}) the process used {} of the time of {} that its threads \
             can use at once; the machine has {processors}. More cannot be asked of the storage that way, so differences between offsets may stay hidden.",
            counted(samples.len() as u64, "run"),
            u64::from(cell) + 1,
            percent(share),
            counted(limit, "processor"),
        ),
        advice: "Give the work more threads, up to the number of processors; take larger requests; or another engine (--engine io_uring costs the least where the kernel has \
                 it)."
            .to_owned(),
    })
}

#[expect(clippy::cast_precision_loss, reason = "only shares are needed")]
fn share(part: u64, all: u64) -> f64 {
    if all == 0 {
        return 0.0;
    }
    part as f64 / all as f64
}

#[cfg(test)]
mod tests {
    use super::super::kernel::testing::put;
    use super::*;
    use crate::validity::observer::testing::{plan, sample};

    #[test]
    fn heat_quota_and_clock_are_told_by_their_figures() {
        let root = tempfile::tempdir().expect("temporary directory");
        let kernel = Kernel::at(root.path());
        let heat = |cpu: u32, count: &str| {
            let path =
                format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count");
            put(root.path(), &path, count);
        };
        put(root.path(), "/sys/devices/system/cpu/cpufreq/nothing", "9");
        heat(0, "5\n");
        heat(1, "7\n");
        put(
            root.path(),
            "/sys/fs/cgroup/cpu.stat",
            "usage_usec 5\nnr_throttled 1\nthrottled_usec 1000\n",
        );
        let began = Snapshot::read(&kernel);
        assert_eq!(throttled(&began, &Snapshot::read(&kernel), &[]), None);
        heat(1, "10\n");
        put(
            root.path(),
            "/sys/fs/cgroup/cpu.stat",
            "throttled_usec 2501000\n",
        );
        let warning = throttled(&began, &Snapshot::read(&kernel), &[]).expect("a warning");
        assert!(
            warning.cause.contains("temperature 3 times"),
            "{}",
            warning.cause
        );
        assert!(
            warning.cause.contains("quota for 2.5 s"),
            "{}",
            warning.cause
        );
    }

    #[test]
    fn a_clock_that_falls_is_told_and_one_slow_look_is_not() {
        let text =
            slow_clock(&[3_400_000, 3_400_000, 1_700_000, 1_600_000, 3_300_000]).expect("slow");
        assert_eq!(
            text,
            "the fastest processor was clocked at 3400 MHz in one look and 1600 MHz in another, below 80.0% of the highest in 2 of 5 looks"
        );
        assert_eq!(
            slow_clock(&[800_000, 3_400_000, 3_400_000, 3_400_000]),
            None
        );
        assert_eq!(slow_clock(&[3_400_000, 1_000_000]), None);
    }

    #[test]
    fn a_process_that_does_nothing_but_compute_is_told() {
        let plan = plan(&[1, 32]);
        let run = |cell, processor| {
            let mut sample = sample(cell, 10, Duration::from_millis(1));
            sample.processor = Duration::from_millis(processor);
            sample
        };
        let all = [run(0, 9_500), run(0, 4_000), run(1, 9_900)];
        let warning = busy(&all, &plan, 4, Some(Kind::Null)).expect("a warning");
        assert!(
            warning.cause.starts_with("In 2 of 3 runs the processor was the limit, not the storage: at worst (workload 2) the process used 99.0% of the time of 1 processor that"),
            "{}",
            warning.cause
        );
        assert_eq!(busy(&all[1..2], &plan, 4, Some(Kind::Null)), None);
        // With a thread for each outstanding I/O, one processor of four is not the limit.
        assert_eq!(busy(&all[2..], &plan, 4, Some(Kind::Pread)), None);
        assert!(busy(&all[2..], &plan, 1, Some(Kind::Pread)).is_some());
    }
}
