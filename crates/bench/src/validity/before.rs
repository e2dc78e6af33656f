//! What can be known before the first run.

use std::path::Path;
use std::time::Duration;
use straddle_geometry::Bytes;

use super::kernel::Kernel;
use super::{Unwritten, Warning, WarningKind, not_written, percent, queue};
use crate::counters;
use crate::place::Devices;
use crate::plan::Plan;
use crate::sample::DeviceCounts;
use crate::target::Medium;
use straddle_rules::figures::counted;

/// How long the devices are listened to.
pub const LISTENING: Duration = Duration::from_millis(200);

/// Requests in that time from which on a device is busy: 25 a second. A machine at rest writes a log now and then.
const BUSY_REQUESTS: u64 = 5;
/// The same as a share of the time.
const BUSY_SHARE: f64 = 0.1;

/// What is about to be measured on.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// `/`, or the root of another machine's files.
    pub root: &'a Path,
    /// The devices below the target.
    pub devices: &'a Devices,
    /// What kind of thing the target is.
    pub medium: Medium,
    /// What is asked for.
    pub plan: &'a Plan,
    /// Bytes of the target that requests may touch.
    pub touched: Bytes,
    /// What of these was never written, for a file that was there before; `None` where that is not known.
    pub unwritten: Option<Unwritten>,
}

/// What can be known before the first run, beside the warnings of [`crate::place::place`]: the page cache is in the way, the
/// file was never written, the queue is shorter than what is asked for, somebody else uses the device.
///
/// `pause` is called with [`LISTENING`] between two looks at the counters, where there are any devices: `std::thread::sleep`.
#[must_use]
pub fn before(scene: &Scene<'_>, pause: impl FnOnce(Duration)) -> Vec<Warning> {
    let kernel = Kernel::at(scene.root);
    let mut warnings = Vec::new();
    warnings.extend(buffered(&kernel, scene.medium, scene.touched));
    warnings.extend(cached_below(scene));
    if let Some(unwritten) = scene.unwritten {
        warnings.extend(not_written(unwritten, scene.touched));
    }
    if scene.medium != Medium::Null && !scene.devices.all.is_empty() {
        warnings.extend(queue::too_short(&kernel, scene.devices, scene.plan));
        // A system without these counters has nothing to compare.
        let look = || counters::read_below(scene.root, &scene.devices.all).unwrap_or_default();
        let earlier = look();
        pause(LISTENING);
        let later = look();
        warnings.extend(busy(&earlier, &later));
    }
    warnings
}

fn buffered(kernel: &Kernel, medium: Medium, touched: Bytes) -> Option<Warning> {
    if !matches!(medium, Medium::FileBuffered | Medium::DeviceBuffered) {
        return None;
    }
    let memory = main_memory(kernel);
    let fits = match memory {
        Some(memory) if touched < memory => format!(
            ", and the {} that requests touch fit into the {} of main memory: what is read comes from there, and what is written goes there",
            touched.rounded(),
            memory.rounded()
        ),
        Some(memory) => format!(
            "; of the {} that requests touch, up to {} can lie in main memory",
            touched.rounded(),
            memory.rounded()
        ),
        None => String::new(),
    };
    Some(Warning {
        kind: WarningKind::Buffered,
        cause: format!("Requests go through the page cache{fits}. The figures are those of memory, not of storage, and offsets hardly matter there."),
        advice: "Leave --buffered away: direct I/O measures the device. Where a filesystem refuses direct I/O, take a file on another one, or a span of \
                 several times the main memory."
            .to_owned(),
    })
}

/// A page cache that direct I/O does not go past, because it lies below a loop device.
fn cached_below(scene: &Scene<'_>) -> Option<Warning> {
    let direct = matches!(scene.medium, Medium::FileDirect | Medium::DeviceDirect);
    let name = scene.devices.cached.first().filter(|_| direct)?;
    Some(Warning {
        kind: WarningKind::Buffered,
        cause: format!(
            "{name} is a loop device that reads and writes its file through the page cache, so direct I/O to it goes past one cache and through another: memory takes \
             part in the figures. What was never written of that file (a sparse one) is answered without any disk."
        ),
        advice: format!(
            "losetup --direct-io=on {name} where the file's filesystem takes it, after the file was written in full; or measure the disk itself."
        ),
    })
}

/// `MemTotal` of `/proc/meminfo`.
pub(crate) fn main_memory(kernel: &Kernel) -> Option<Bytes> {
    let text = kernel.text("/proc/meminfo")?;
    let rest = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib = rest.trim().strip_suffix("kB")?.trim();
    Bytes::new(kib.parse().ok()?).checked_mul(1024)
}

/// The device with the most to do, where that is more than a machine at rest has.
fn busy(earlier: &[DeviceCounts], later: &[DeviceCounts]) -> Option<Warning> {
    let counts = counters::between(earlier, later);
    let requests = |c: &DeviceCounts| c.reads + c.writes;
    // Of those that are as busy, the lowest: it is the device itself, and its partitions are heard there too.
    let most = counts.iter().max_by_key(|c| (requests(c), c.busy))?;
    let share = most.busy.as_secs_f64() / LISTENING.as_secs_f64();
    if requests(most) < BUSY_REQUESTS && share < BUSY_SHARE {
        return None;
    }
    Some(Warning {
        kind: WarningKind::BusyDevice,
        cause: format!(
            "{} was in use before the first run: {} ({}) and {} ({}) in {} ms, busy {} of the time. They take part in every \
             figure.",
            most.name,
            counted(most.reads, "read"),
            most.bytes_read.rounded(),
            counted(most.writes, "write"),
            most.bytes_written.rounded(),
            LISTENING.as_millis(),
            percent(share.min(1.0)),
        ),
        advice: "Wait until it is quiet (`iostat -x 1` shows the device, `pidstat -d 1` or `iotop` who uses it); after a large file was made, `sync` and give the device a \
                 minute. Otherwise expect wide intervals, and let the experiment run longer (--budget)."
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::kernel::testing::put;
    use super::*;
    use crate::validity::observer::testing::plan;

    fn scene<'a>(root: &'a Path, devices: &'a Devices, plan: &'a Plan) -> Scene<'a> {
        Scene {
            root,
            devices,
            medium: Medium::FileDirect,
            plan,
            touched: Bytes::mib(100),
            unwritten: None,
        }
    }

    fn devices() -> Devices {
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect();
        Devices {
            all: names(&["sda1", "sda"]),
            path: names(&["sda1", "sda"]),
            disks: names(&["sda"]),
            cached: Vec::new(),
        }
    }

    fn stats(root: &Path, reads: u64, busy: u64) {
        let line = |name| {
            format!(
                " 8 0 {name} {reads} 0 {} 5 20 2 160 7 3 {busy} 50\n",
                reads * 8
            )
        };
        put(root, "/proc/diskstats", &(line("sda") + &line("sda1")));
    }

    #[test]
    fn a_device_that_others_use_is_a_warning() {
        let root = tempfile::tempdir().expect("temporary directory");
        let (devices, plan) = (devices(), plan(&[1]));
        let after = |reads: u64, busy: u64| {
            stats(root.path(), 100, 1000);
            before(&scene(root.path(), &devices, &plan), |time| {
                assert_eq!(time, LISTENING);
                stats(root.path(), 100 + reads, 1000 + busy);
            })
        };
        let warnings = after(1000, 150);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert_eq!(warnings[0].kind, WarningKind::BusyDevice);
        let cause = &warnings[0].cause;
        assert!(
            cause.starts_with("sda was in use before the first run: 1,000 reads (≈3.91 MiB) and 0 writes (0 B) in 200 ms, busy 75.0% of the time."),
            "{cause}"
        );
        assert_eq!(after(2, 1), []);
        assert_eq!(after(1, 40).len(), 1, "one request that takes long");
    }

    #[test]
    fn a_page_cache_is_a_warning_with_its_size() {
        let root = tempfile::tempdir().expect("temporary directory");
        put(
            root.path(),
            "/proc/meminfo",
            "MemTotal:       16384000 kB\nMemFree: 1 kB\n",
        );
        let (devices, plan) = (devices(), plan(&[1]));
        let mut scene = scene(root.path(), &devices, &plan);
        assert_eq!(before(&scene, |_| {}), []);
        scene.medium = Medium::FileBuffered;
        let warnings = before(&scene, |_| {});
        assert_eq!(warnings[0].kind, WarningKind::Buffered);
        assert!(
            warnings[0]
                .cause
                .contains("the 100 MiB that requests touch fit into the ≈15.63 GiB")
        );
        scene.touched = Bytes::mib(1 << 20);
        assert!(
            before(&scene, |_| {})[0]
                .cause
                .contains("up to ≈15.63 GiB can lie in main memory")
        );
    }

    #[test]
    fn a_page_cache_below_a_loop_device_is_a_warning() {
        let root = tempfile::tempdir().expect("temporary directory");
        let (mut devices, plan) = (devices(), plan(&[1]));
        devices.cached = vec!["loop3".to_owned()];
        let mut scene = scene(root.path(), &devices, &plan);
        for medium in [Medium::FileDirect, Medium::DeviceDirect] {
            scene.medium = medium;
            let warnings = before(&scene, |_| {});
            assert_eq!(warnings[0].kind, WarningKind::Buffered);
            assert!(
                warnings[0].cause.starts_with("loop3 is a loop device"),
                "{}",
                warnings[0].cause
            );
        }
        scene.medium = Medium::Null;
        assert_eq!(before(&scene, |_| {}), []);
    }

    #[test]
    fn what_was_never_written_is_a_warning() {
        let root = tempfile::tempdir().expect("temporary directory");
        let (devices, plan) = (devices(), plan(&[1]));
        let mut scene = scene(root.path(), &devices, &plan);
        scene.unwritten = Some(Unwritten::default());
        assert_eq!(before(&scene, |_| {}), []);
        scene.unwritten = Some(Unwritten {
            holes: Bytes::mib(50),
            ..Unwritten::default()
        });
        assert_eq!(before(&scene, |_| {})[0].kind, WarningKind::NotWritten);
    }
}
