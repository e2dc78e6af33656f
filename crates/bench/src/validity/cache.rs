//! Whether a spinning disk answered faster than it can turn.
//!
//! The arithmetic: the fastest disks turn 15,000 times a minute, once in 4 ms. The sector of a random read comes by half a turn
//! later on average, 2 ms, and the arm has to get there before. With a full queue a disk takes what comes by next, which is
//! several times as many, but not one in less than 1 ms: a quarter of a turn. What is answered faster has not been read from
//! the disk.

use std::time::Duration;

use super::kernel::Kernel;
use super::{Warning, WarningKind};
use crate::place::Devices;
use crate::plan::Plan;
use crate::sample::Sample;
use straddle_rules::figures::counted;

/// Shortest mean time of a random read on a disk.
const MIN_LEN: Duration = Duration::from_millis(1);
/// Reads each second that this makes on each disk.
const MAX_READS: f64 = 1000.0;
/// Reads in a run from which on a mean is one.
const MIN_READS: u64 = 50;

/// A warning when random reads from spinning disks were answered faster than they turn.
pub(super) fn larger(
    kernel: &Kernel,
    devices: &Devices,
    samples: &[Sample],
    plan: &Plan,
) -> Option<Warning> {
    if devices.disks.is_empty() || !devices.disks.iter().all(|disk| is_spinning(kernel, disk)) {
        return None;
    }
    let spindles = u32::try_from(devices.disks.len()).unwrap_or(u32::MAX);
    let mut runs = 0_usize;
    let mut worst: Option<(f64, String)> = None;
    for sample in samples {
        let cell = usize::try_from(sample.slot.cell).ok();
        let Some(cell) = cell.and_then(|cell| plan.cells.get(cell)) else {
            continue;
        };
        let is_judged = cell.pattern.is_random()
            && sample.reads.requests >= MIN_READS
            && reached_a_device(sample, devices);
        if !is_judged {
            continue;
        }
        let mean = sample.reads.latencies.mean();
        let each = sample.reads.rate(sample.took) / f64::from(spindles);
        // A share of writes makes reads fewer, never faster. A latency by itself says something only when nothing waits.
        let by_rate = each > MAX_READS;
        let by_latency = cell.concurrency() == 1 && mean < MIN_LEN;
        if !by_rate && !by_latency {
            continue;
        }
        runs += 1;
        let excess = (each / MAX_READS).max(MIN_LEN.as_secs_f64() / mean.as_secs_f64().max(1e-9));
        if worst.as_ref().is_some_and(|(most, _)| *most >= excess) {
            continue;
        }
        let text = if by_rate {
            format!(
                "{:.0} random reads each second ÷ {} = {each:.0} of each, {:.2} ms apart",
                each * f64::from(spindles),
                counted(spindles, "disk"),
                1000.0 / each
            )
        } else {
            format!(
                "random reads, one at a time, took {:.2} ms on average",
                mean.as_secs_f64() * 1000.0
            )
        };
        worst = Some((excess, text));
    }
    let (_, text) = worst?;
    Some(Warning {
        kind: WarningKind::CacheLargerThanFile,
        cause: format!(
            "In {runs} of {} reads were answered faster than a disk turns: {text}. The fastest disks turn once in 4 ms (15,000 turns a minute), wait half a turn for a random \
             sector, and do not read one in less than {} ms even from a full queue. A cache of the disk, the controller or the host answered.",
            counted(samples.len() as u64, "run"),
            MIN_LEN.as_millis(),
        ),
        advice: format!(
            "Make the span several times as large as that cache (a controller's has gigabytes), or measure writes through to the medium. If {} is no disk in truth (a LUN may \
             call itself rotational; see queue/rotational), the figures are those of whatever is behind it, and are as good as they get.",
            devices.disks.join(", "),
        ),
    })
}

/// Whether a disk turns, as far as that can be known. Hypervisors call their disks rotational whatever is behind them, so what
/// they say is no evidence.
fn is_spinning(kernel: &Kernel, disk: &str) -> bool {
    const VIRTUAL: [&str; 6] = ["QEMU", "VMware", "Msft", "VBOX", "Xen", "Virtual"];
    let path = Kernel::block(disk);
    let rotational = kernel.number::<u8>(&format!("{path}/queue/rotational")) == Some(1);
    let by_name = disk.starts_with("vd") || disk.starts_with("xvd");
    let by_maker = ["vendor", "model"].iter().any(|file| {
        let text = kernel.text(&format!("{path}/device/{file}"));
        text.is_some_and(|text| VIRTUAL.iter().any(|word| text.contains(word)))
    });
    rotational && !by_name && !by_maker
}

/// False where the page cache answered, for which there is another warning: the devices saw less than half of the bytes. True
/// where nothing was counted.
fn reached_a_device(sample: &Sample, devices: &Devices) -> bool {
    let mut counts = sample.devices.iter();
    let counted = counts.find(|counts| devices.path.contains(&counts.name));
    counted.is_none_or(|counts| counts.bytes_read.get() >= sample.reads.bytes.get() / 2)
}

#[cfg(test)]
mod tests {
    use super::super::kernel::testing::put;
    use super::*;
    use crate::validity::observer::testing::{plan, sample};

    fn judge(sample: Sample, rotational: &str, disks: &[&str]) -> Option<Warning> {
        let root = tempfile::tempdir().expect("temporary directory");
        put(root.path(), "/sys/block/sda/queue/rotational", rotational);
        put(root.path(), "/sys/block/sdb/queue/rotational", rotational);
        let devices = Devices {
            path: vec!["sda".into()],
            disks: disks.iter().map(|disk| (*disk).to_owned()).collect(),
            ..Devices::default()
        };
        larger(
            &Kernel::at(root.path()),
            &devices,
            &[sample],
            &plan(&[1, 32]),
        )
    }

    #[test]
    fn reads_faster_than_a_turn_are_a_warning_on_disks_only() {
        let fast = || sample(0, 5_000, Duration::from_micros(400));
        let warning = judge(fast(), "1\n", &["sda"]).expect("a warning");
        assert_eq!(warning.kind, WarningKind::CacheLargerThanFile);
        assert!(
            warning
                .cause
                .contains("one at a time, took 0.40 ms on average"),
            "{}",
            warning.cause
        );
        assert_eq!(judge(fast(), "0\n", &["sda"]), None);
        assert_eq!(judge(fast(), "1\n", &[]), None);
        assert_eq!(
            judge(sample(0, 1_200, Duration::from_millis(8)), "1\n", &["sda"]),
            None
        );
        // A hypervisor's disk says what it likes.
        let root = tempfile::tempdir().expect("temporary directory");
        put(root.path(), "/sys/block/sda/queue/rotational", "1");
        let kernel = Kernel::at(root.path());
        assert!(is_spinning(&kernel, "sda"));
        put(root.path(), "/sys/block/sda/device/vendor", "VMware  \n");
        assert!(!is_spinning(&kernel, "sda"));
        put(root.path(), "/sys/block/vda/queue/rotational", "1");
        assert!(!is_spinning(&kernel, "vda"));
        // The page cache, not the disk's.
        let mut cached = fast();
        cached.devices[0].bytes_read = straddle_geometry::Bytes::ZERO;
        assert_eq!(judge(cached, "1\n", &["sda"]), None);
    }

    #[test]
    fn more_reads_than_the_spindles_have_turns_are_a_warning() {
        let many = || sample(1, 15_000, Duration::from_millis(20));
        let warning = judge(many(), "1\n", &["sda"]).expect("a warning");
        assert!(
            warning
                .cause
                .contains("1500 random reads each second ÷ 1 disk = 1500 of each, 0.67 ms apart"),
            "{}",
            warning.cause
        );
        assert_eq!(judge(many(), "1\n", &["sda", "sdb"]), None, "750 of each");
    }
}
