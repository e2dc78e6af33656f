//! Runs on a loop device, compared with what the kernel counts there. Needs root, and fails without it: nothing else shows
//! that requests are counted exactly.
#![cfg(target_os = "linux")]

use crate::run_common::{engines, options, region, run_at, workload};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;
use straddle_bench::counters;
use straddle_bench::run::{Storage, Watch};
use straddle_bench::sample::DeviceCounts;
use straddle_bench::target::{Consent, Owner, Purpose, Target};
use straddle_geometry::Bytes;
use straddle_io::engine::Kind;
use straddle_io::owned::Token;

const LEN: u64 = 32 << 20;

/// A loop device over a temporary file.
struct Loop {
    path: String,
    _file: tempfile::NamedTempFile,
}

impl Loop {
    fn new() -> Loop {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.as_file().set_len(LEN).expect("a sparse file");
        let output = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(file.path())
            .output()
            .expect("losetup");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "this test needs root and loop devices: {said}"
        );
        let path = String::from_utf8(output.stdout).expect("a path");
        Loop {
            path: path.trim().to_owned(),
            _file: file,
        }
    }

    fn name(&self) -> String {
        self.path.trim_start_matches("/dev/").to_owned()
    }

    /// Counts, when nobody else looks at the new device any more.
    fn counts(&self) -> Vec<DeviceCounts> {
        let read = || counters::read(&[self.name()]).expect("/proc/diskstats");
        let mut last = read();
        for _ in 0..50 {
            std::thread::sleep(Duration::from_millis(100));
            let now = read();
            if now == last {
                return now;
            }
            last = now;
        }
        panic!("somebody uses {}", self.path);
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup")
            .args(["--detach", &self.path])
            .status();
    }
}

#[test]
fn every_request_is_one_that_the_kernel_counted() {
    for kind in engines() {
        for (workers, outstanding) in [(1, 1), (2, 16)] {
            // Whoever looks at every device of the machine reads from this one too, in one of ten runs at most; nobody else writes.
            let undisturbed = (0..10).find(|_| {
                let (made, counted) = made_and_counted(kind, workers, outstanding, 100);
                assert_eq!(counted.writes, 0);
                let reads = counted.reads + counted.reads_merged;
                assert!(reads >= made, "{kind}, {workers} × {outstanding}");
                (reads, counted.bytes_read) == (made, Bytes::new(made * 4096))
            });
            assert!(undisturbed.is_some(), "{kind}, {workers} × {outstanding}");
            let (made, counted) = made_and_counted(kind, workers, outstanding, 0);
            let writes = counted.writes + counted.writes_merged;
            assert_eq!(writes, made, "{kind}, {workers} × {outstanding}");
            assert_eq!(counted.bytes_written, Bytes::new(made * 4096), "{kind}");
        }
    }
}

/// The requests of a run on a device of its own, and what the kernel counted there from before it until after.
fn made_and_counted(kind: Kind, workers: u32, outstanding: u32, reads: u8) -> (u64, DeviceCounts) {
    let device = Loop::new();
    let consent = Consent {
        name: device.name(),
        overwrite_signatures: false,
    };
    let owner = Owner {
        token: Token::random().expect("random bits"),
        sum: String::new(),
    };
    let begin = Purpose::Begin(&owner);
    let target = Target::device(device.path.as_ref(), &consent, true, begin);
    let target = target.expect("a device that nobody uses");
    let storage = Storage::new(target, region(0, LEN - (1 << 20)), options(kind));
    let mut storage = storage.with_devices(vec![device.name()]);
    let before = device.counts();
    let watch = Watch::default();
    let workload = workload(4096, workers, outstanding, reads);
    let sample = run_at(&mut storage, &workload, 63 * 512, 300, &watch).expect("a run");
    let after = device.counts();
    let made = watch.requests.load(Ordering::Relaxed);
    if reads == 100 {
        assert_eq!(sample.writes.requests, 0);
    }
    assert_eq!(sample.issued.reads + sample.issued.writes, made, "{kind}");
    // What the sample tells of the device is what was counted of that kind there.
    let [inside] = sample.devices.as_slice() else {
        panic!("one device in the sample");
    };
    let counted = counters::between(&before, &after);
    let [counted] = counted.as_slice() else {
        panic!("one device");
    };
    // Neighbours that are handed over at once may become one request.
    if reads == 0 {
        assert_eq!(inside.writes + inside.writes_merged, made, "{kind}");
    } else {
        let inside = inside.reads + inside.reads_merged;
        assert!(
            made <= inside && inside <= counted.reads + counted.reads_merged,
            "{kind}"
        );
    }
    (made, counted.clone())
}
