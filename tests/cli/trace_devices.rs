//! Requests that were recorded here: what the kernel saw of a device comes to what the program that made them says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench_devices::Loop;
use crate::support::{scratch, sh, straddle};

/// Events of the kernel's tracer, in a buffer of their own.
struct Tracer(PathBuf);

impl Tracer {
    fn new(device: &str) -> Tracer {
        let root = Path::new("/sys/kernel/tracing");
        if !root.join("events").exists() {
            let mounted = Command::new("mount")
                .args(["-t", "tracefs", "nodev"])
                .arg(root)
                .status();
            assert!(
                mounted.is_ok_and(|status| status.success()),
                "the test mounts tracefs, and needs root for that"
            );
        }
        let own = root.join(format!("instances/straddle-{}", std::process::id()));
        fs::create_dir(&own).expect("an instance of the tracer");
        let tracer = Tracer(own);
        tracer.write("buffer_size_kb", "16384");
        let number = rustix::fs::stat(device).expect("a device").st_rdev;
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        // Others look at new devices, too: only what fio asks for.
        let filter = format!(
            "dev == {} && comm == \"fio\"",
            u64::from(major) << 20 | u64::from(minor)
        );
        for event in ["block_bio_queue", "block_rq_issue"] {
            tracer.write(&format!("events/block/{event}/filter"), &filter);
            tracer.write(&format!("events/block/{event}/enable"), "1");
        }
        tracer
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("events/enable"), "0");
        let _ = fs::remove_dir(&self.0);
    }
}

/// Requests, and those that straddle 4 KiB and 64 KiB when they begin 63 sectors further on: reads, writes.
type Found = [[u64; 3]; 2];

fn of_straddle(here: &Path, file: &str) -> Found {
    let run = straddle(
        here,
        &[
            "trace",
            "--json",
            "--start",
            "63s",
            "--relative",
            "--units",
            "4K,64K",
            file,
        ],
    );
    let document: serde_json::Value = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", run.transcript()));
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert_eq!(document["files"][0]["bad"], 0, "{}", document["files"]);
    let all = &document["places"][0]["all"];
    ["read", "write"].map(|kind| {
        let load = |grid: usize| &all["grids"][grid]["today"]["loads"][kind];
        let number = |value: &serde_json::Value| value.as_u64().expect("a number");
        [
            number(&load(0)["requests"]),
            number(&load(0)["straddling"]),
            number(&load(1)["straddling"]),
        ]
    })
}

/// From the log of fio itself, line by line.
fn of_log(text: &str) -> Found {
    let mut found = Found::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, _, kind @ ("read" | "write"), offset, length] = words.as_slice() else {
            continue;
        };
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let (begin, length) = (number(offset) + 32_256, number(length));
        let straddles = |unit: u64| u64::from(begin / unit != (begin + length - 1) / unit);
        let of = &mut found[usize::from(*kind == "write")];
        of[0] += 1;
        of[1] += straddles(4096);
        of[2] += straddles(65_536);
    }
    found
}

#[test]
fn what_the_kernel_recorded_has_the_planted_share() {
    let here = scratch();
    let disk = here.path().join("disk.img");
    fs::File::create(&disk)
        .and_then(|file| file.set_len(256 << 20))
        .expect("room");
    // The first byte is that of a partition at sector 63.
    let device = Loop::new(&disk, &["--offset", "32256"]);
    let tracer = Tracer::new(&device.0);
    let fio = format!(
        "fio --name=planted --filename={} --direct=1 --ioengine=psync --rw=randrw --rwmixread=40 --number_ios=4000 --size=200M \
         --bssplit=4k/50:8k/30:64k/20 --randseed=63 --norandommap --write_iolog=fio.log --minimal",
        device.0
    );
    sh(here.path(), &fio);
    fs::copy(tracer.0.join("trace"), here.path().join("trace.txt")).expect("room");
    drop(tracer);
    let log = fs::read_to_string(here.path().join("fio.log")).expect("fio wrote it");
    let expected = of_log(&log);
    let [reads, writes] = expected;
    assert_eq!(reads[0] + writes[0], 4000);
    // Pages at sector 63 straddle sectors of 4 KiB, all of them; one in sixteen of those of 4 KiB straddles 64 KiB, one in eight of 8 KiB, all of 64 KiB.
    assert_eq!((reads[1], writes[1]), (reads[0], writes[0]));
    let share = (reads[2] + writes[2]) as f64 / 4000.0;
    let planted = 0.5 / 16.0 + 0.3 / 8.0 + 0.2;
    assert!((share - planted).abs() < 0.03, "{share} of {planted}");
    assert_eq!(
        of_straddle(here.path(), "fio.log"),
        expected,
        "fio's own log"
    );
    assert_eq!(
        of_straddle(here.path(), "trace.txt"),
        expected,
        "events of the kernel"
    );
}
