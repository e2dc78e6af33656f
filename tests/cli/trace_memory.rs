//! `straddle trace` with a hundred thousand devices: the memory that it takes, and that nothing is lost to keep within it.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{scratch, shipped};

const DEVICES: u64 = 100_000;
/// Bytes that may be resident, the program's own among them.
const LIMIT: u64 = 64 << 20;

/// A name for each device, ten requests each at places of their own: a million keys.
fn fleet(path: &Path) {
    let mut text = String::new();
    for round in 0..10_u64 {
        for device in 0..DEVICES {
            let offset = 512 * (device * 7 + round * 997);
            writeln!(text, "{round},vm{device},0,Write,{offset},4096,1").expect("a string");
        }
    }
    fs::write(path, &text).expect("room");
}

/// What is printed with this much memory for counts, and how many bytes were resident at most.
fn printed(folder: &Path, memory: &str, args: &[&str]) -> (Vec<u8>, u64) {
    // Asked for below `time`: the kernel counts what a parent has resident as its child's.
    let output = Command::new("time")
        .current_dir(folder)
        .args(["--format", "%M", "--output", "used"])
        .arg(shipped::program())
        .args(["trace", "--threads", "2"])
        .args(["--memory", memory])
        .args(args)
        .arg("fleet.csv")
        .output()
        .expect("time");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let used = fs::read_to_string(folder.join("used")).expect("time wrote it");
    let kib: u64 = used.trim().parse().expect("a number");
    (output.stdout, kib << 10)
}

/// Each device judged, today and where all together are best, on two grids.
#[test]
fn a_hundred_thousand_devices_fit_in_64_mib_and_lose_nothing() {
    let here = scratch();
    fleet(&here.path().join("fleet.csv"));
    let args = ["--format", "csv", "--devices", "0", "--units", "4K,64K"];
    let (all_in_memory, _) = printed(here.path(), "512M", &args);
    let (spilled, peak) = printed(here.path(), "4M", &args);
    assert!(all_in_memory == spilled, "the same figures");
    // Of all together there are the seven usual starts as well.
    let lines = spilled.iter().filter(|byte| **byte == b'\n').count() as u64;
    assert_eq!(lines, 1 + 2 * 2 * 9 + DEVICES * 2 * 2 * 2);
    assert!(peak <= LIMIT, "{peak} bytes resident");
}

/// The usual six, of which only the memory is looked at: they would print two million lines.
#[test]
fn six_grids_fit_too() {
    let here = scratch();
    fleet(&here.path().join("fleet.csv"));
    let (nothing, peak) = printed(here.path(), "4M", &["--quiet"]);
    assert_eq!(nothing, b"");
    assert!(peak <= LIMIT, "{peak} bytes resident");
}

/// A document of hundreds of megabytes is written as it is made.
#[test]
fn a_document_of_a_hundred_thousand_devices_fits_too() {
    let here = scratch();
    fleet(&here.path().join("fleet.csv"));
    let args = ["--json", "--units", "4K"];
    let (document, peak) = printed(here.path(), "4M", &args);
    let document = String::from_utf8(document).expect("JSON");
    assert_eq!(document.matches("\"name\": \"vm").count() as u64, DEVICES);
    assert!(document.ends_with("}\n"));
    assert!(peak <= LIMIT, "{peak} bytes resident");
}
