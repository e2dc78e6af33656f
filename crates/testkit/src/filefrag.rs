//! Where a file is on its disk, by `filefrag`, which knows nothing of ours.

use std::path::Path;
use std::process::Command;

/// The pieces of a file: where each begins in the file and on the device of its filesystem, and its length. Neighbours in both are one piece.
///
/// # Panics
/// When `filefrag` is not there, or says nothing.
#[must_use]
pub fn pieces(file: &Path) -> Vec<(u64, u64, u64)> {
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("filefrag")
        .args(["-v", "-b1"])
        .arg(file)
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .env("LC_ALL", "C")
        .output()
        .expect("filefrag; install the Debian package e2fsprogs");
    let text = String::from_utf8_lossy(&output.stdout);
    // `   0:        0..    65535:  8372224..  8437759:  65536:             last,eof`
    let first = |range: &str| -> Option<u64> { range.split("..").next()?.trim().parse().ok() };
    let mut pieces: Vec<(u64, u64, u64)> = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(':').map(str::trim).collect();
        let [index, logical, physical, length, ..] = fields.as_slice() else {
            continue;
        };
        let (Ok(_), Ok(length)) = (index.parse::<u32>(), length.parse::<u64>()) else {
            continue;
        };
        let (Some(logical), Some(physical)) = (first(logical), first(physical)) else {
            continue;
        };
        match pieces.last_mut() {
            Some((l, p, n)) if *l + *n == logical && *p + *n == physical => *n += length,
            _ => pieces.push((logical, physical, length)),
        }
    }
    assert!(
        !pieces.is_empty(),
        "filefrag {}: {output:?}",
        file.display()
    );
    pieces
}
