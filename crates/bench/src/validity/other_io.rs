//! Whether somebody else used the devices during a run.

use straddle_geometry::{Bytes, Unit};

use super::kernel::Kernel;
use super::{Warning, WarningKind, percent};
use crate::place::Devices;
use crate::plan::Plan;
use crate::sample::{DeviceCounts, Sample};
use straddle_rules::figures::counted;
use straddle_workload::Workload;

/// Share of all that was issued by which a device may have done more.
const TOLERATED: f64 = 0.05;
/// Requests beyond what was issued that any run may have: a log entry, the odd one of somebody else.
const ALWAYS_TOLERATED: u64 = 16;

/// More than was issued.
struct More {
    device: String,
    what: &'static str,
    share: f64,
    counted: String,
    issued: String,
}

/// A warning when a device that every request passes once did clearly more than was asked of it.
///
/// Bytes are compared with bytes. Requests are compared with those that the kernel makes of one: as many as its longest request
/// (`queue/max_sectors_kb`) or the boundaries that none may cross (`queue/chunk_sectors`, the stripe unit of md) ask for, and
/// one more where there are boundaries. Merged requests make it fewer, which is no sign of anything. Below an array nothing is
/// judged: what it does there is its own business.
pub(super) fn seen(
    kernel: &Kernel,
    devices: &Devices,
    samples: &[Sample],
    plan: &Plan,
) -> Option<Warning> {
    let limits: Vec<(&String, Limits)> = devices
        .path
        .iter()
        .map(|name| (name, Limits::of(kernel, name)))
        .collect();
    let mut runs = 0_usize;
    let mut worst: Option<More> = None;
    for sample in samples {
        let cell = usize::try_from(sample.slot.cell).ok();
        let Some(cell) = cell.and_then(|cell| plan.cells.get(cell)) else {
            continue;
        };
        let more = limits
            .iter()
            .filter_map(|(name, limits)| {
                let counts = sample.devices.iter().find(|counts| counts.name == **name)?;
                more_than_issued(counts, sample, cell, limits)
            })
            .max_by(|a, b| a.share.total_cmp(&b.share));
        let Some(more) = more else { continue };
        runs += 1;
        if worst.as_ref().is_none_or(|worst| more.share > worst.share) {
            worst = Some(more);
        }
    }
    let worst = worst?;
    Some(Warning {
        kind: WarningKind::OtherIo,
        cause: format!(
            "In {runs} of {} a device did more than was asked of it: at worst {} counted {} where {} were issued, and what came on top is {} of all that was issued. Somebody else used it, or the filesystem wrote \
             its journal.",
            counted(samples.len() as u64, "run"),
            worst.device,
            worst.counted,
            format_args!("{} {}", worst.issued, worst.what),
            percent(worst.share),
        ),
        advice: "Find out who it is (`pidstat -d 1`, `iotop`, cron jobs, backups, a RAID check in /proc/mdstat) and measure again without; a single run that was disturbed is \
                 made up for by more blocks."
            .to_owned(),
    })
}

/// What the kernel makes of one request.
struct Limits {
    /// Its longest request.
    longest: Option<Unit>,
    /// Requests are cut at multiples of this.
    boundary: Option<Unit>,
}

impl Limits {
    fn of(kernel: &Kernel, device: &str) -> Limits {
        let whole = Kernel::block(device);
        let partition = Kernel::parent_of_partition(device);
        let number = |file: &str| -> Option<u64> {
            let number = kernel.number(&format!("{whole}/{file}"));
            number.or_else(|| kernel.number(&format!("{partition}/{file}")))
        };
        let unit = |number: Option<u64>, scale| Unit::new(number?.checked_mul(scale)?);
        // md cuts requests at its stripe unit, and counts what it has cut.
        let boundaries = [
            unit(number("queue/chunk_sectors"), 512),
            unit(number("md/chunk_size"), 1),
        ];
        Limits {
            longest: unit(number("queue/max_sectors_kb"), 1024),
            boundary: boundaries.into_iter().flatten().min(),
        }
    }

    /// Most device requests that requests of a workload become, on average.
    fn pieces(&self, cell: &Workload) -> f64 {
        let shortest = [self.longest, self.boundary].into_iter().flatten().min();
        let (mut pieces, mut weights) = (0.0, 0.0);
        for (size, weight) in &cell.sizes {
            let cut = shortest.map_or(1, |shortest| size.get().div_ceil(shortest.get()));
            pieces += f64::from(*weight) * float(cut);
            weights += f64::from(*weight);
        }
        let past_boundary = if self.boundary.is_some() { 1.0 } else { 0.0 };
        if weights > 0.0 {
            pieces / weights + past_boundary
        } else {
            1.0
        }
    }
}

fn more_than_issued(
    counts: &DeviceCounts,
    sample: &Sample,
    cell: &Workload,
    limits: &Limits,
) -> Option<More> {
    let pieces = limits.pieces(cell);
    let spare_bytes = float(ALWAYS_TOLERATED) * float(cell.largest().get());
    let issued = &sample.issued;
    let sides = [
        (
            issued.reads,
            issued.bytes_read,
            counts.reads,
            counts.bytes_read,
            ["reads", "of reads"],
        ),
        (
            issued.writes,
            issued.bytes_written,
            counts.writes,
            counts.bytes_written,
            ["writes", "of writes"],
        ),
    ];
    let mut found: Vec<More> = Vec::new();
    // What matters is how much others take of the device, so both directions share one measure: a few log entries do not
    // spoil thousands of reads.
    let expected_in_all = float(issued.reads + issued.writes) * pieces;
    let issued_in_all = float(issued.bytes_read.get()) + float(issued.bytes_written.get());
    for (asked, asked_bytes, requests, bytes, [of_requests, of_bytes]) in sides {
        let expected = float(asked) * pieces;
        let more = float(requests) - expected;
        if more > expected_in_all * TOLERATED + float(ALWAYS_TOLERATED) * pieces {
            found.push(More {
                device: counts.name.clone(),
                what: of_requests,
                share: more / expected_in_all.max(1.0),
                counted: Bytes::new(requests).grouped().to_string(),
                issued: format!("{expected:.0}"),
            });
        }
        let more = float(bytes.get()) - float(asked_bytes.get());
        if more > issued_in_all * TOLERATED + spare_bytes {
            found.push(More {
                device: counts.name.clone(),
                what: of_bytes,
                share: more / issued_in_all.max(1.0),
                counted: bytes.rounded(),
                issued: asked_bytes.rounded(),
            });
        }
    }
    found.into_iter().max_by(|a, b| a.share.total_cmp(&b.share))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and bytes of a run stay below 2⁵³"
)]
fn float(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::super::kernel::testing::put;
    use super::*;
    use crate::validity::observer::testing::{plan, sample};
    use std::time::Duration;

    fn judge(change: impl Fn(&mut Sample), max_sectors_kb: &str) -> Option<Warning> {
        let root = tempfile::tempdir().expect("temporary directory");
        put(
            root.path(),
            "/sys/block/sda/queue/max_sectors_kb",
            max_sectors_kb,
        );
        let devices = Devices {
            path: vec!["sda".into()],
            ..Devices::default()
        };
        let mut samples = [
            sample(0, 1000, Duration::from_millis(10)),
            sample(0, 1000, Duration::from_millis(10)),
        ];
        change(&mut samples[1]);
        seen(&Kernel::at(root.path()), &devices, &samples, &plan(&[1]))
    }

    #[test]
    fn more_requests_or_bytes_than_were_issued_are_a_warning() {
        assert_eq!(judge(|_| {}, "1280"), None);
        assert_eq!(judge(|sample| sample.devices[0].reads += 60, "1280"), None);
        assert_eq!(judge(|sample| sample.devices[0].reads = 500, "1280"), None);
        assert_eq!(judge(|sample| sample.devices[0].writes = 60, "1280"), None);
        let warning = judge(|sample| sample.devices[0].reads = 1100, "1280").expect("a warning");
        assert_eq!(warning.kind, WarningKind::OtherIo);
        assert!(
            warning.cause.starts_with("In 1 of 2 runs a device did more than was asked of it: at worst sda counted 1,100 where 1000 reads were issued, and what came on top is 10.0% of all that was issued."),
            "{}",
            warning.cause
        );
        let warning = judge(|sample| sample.devices[0].writes = 80, "1280").expect("a warning");
        assert!(
            warning.cause.contains("counted 80 where 0 writes"),
            "{}",
            warning.cause
        );
        let more = |sample: &mut Sample| sample.devices[0].bytes_read = Bytes::mib(70);
        let warning = judge(more, "1280").expect("a warning");
        assert!(
            warning
                .cause
                .contains("counted 70 MiB where 62.5 MiB of reads were issued"),
            "{}",
            warning.cause
        );
    }

    #[cfg(unix)]
    #[test]
    fn what_an_array_or_the_disk_below_a_partition_cuts_is_no_sign_of_others() {
        let root = tempfile::tempdir().expect("temporary directory");
        let put = |path: &str, text: &str| put(root.path(), path, text);
        put("/sys/block/md0/queue/max_sectors_kb", "1280");
        put("/sys/block/md0/queue/chunk_sectors", "0");
        put("/sys/block/md0/md/chunk_size", "65536");
        put("/sys/block/md0/md0p1/partition", "1");
        put("/sys/block/sda/queue/max_sectors_kb", "32");
        put("/sys/block/sda/sda1/partition", "1");
        // A mirror has no stripe unit.
        put("/sys/block/md1/queue/max_sectors_kb", "127");
        put("/sys/block/md1/md/chunk_size", "0");
        std::fs::create_dir_all(root.path().join("sys/class/block")).expect("directory");
        for (name, place) in [("md0p1", "md0/md0p1"), ("sda1", "sda/sda1")] {
            let link = root.path().join("sys/class/block").join(name);
            std::os::unix::fs::symlink(format!("../../block/{place}"), link).expect("link");
        }
        let judge = |name: &str, reads: u64| {
            let devices = Devices {
                path: vec![name.into()],
                ..Devices::default()
            };
            let mut sample = sample(0, 1000, Duration::from_millis(10));
            sample.devices[0].name = name.into();
            sample.devices[0].reads = reads;
            seen(&Kernel::at(root.path()), &devices, &[sample], &plan(&[1])).is_some()
        };
        for name in ["md0", "md0p1", "sda1"] {
            assert!(!judge(name, 2000), "{name}: 64 KiB become two");
            assert!(judge(name, 3000), "{name}");
        }
        assert!(!judge("md1", 1000));
        assert!(judge("md1", 2000));
    }

    #[test]
    fn what_the_kernel_cuts_is_no_sign_of_others() {
        // 64 KiB in requests of 16 KiB.
        assert_eq!(judge(|sample| sample.devices[0].reads = 4000, "16"), None);
        assert!(judge(|sample| sample.devices[0].reads = 4500, "16").is_some());
        // Devices that are not on everybody's way are not judged.
        let elsewhere = |sample: &mut Sample| {
            sample.devices[0].name = "sdb".into();
            sample.devices[0].reads = 9000;
        };
        assert_eq!(judge(elsewhere, "1280"), None);
    }
}
