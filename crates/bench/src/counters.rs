//! What the kernel counts on block devices, from `/proc/diskstats`.
//!
//! A line is `major minor name`, then reads completed, reads merged, sectors read, milliseconds reading, the same four of
//! writes, requests under way, milliseconds busy, and more in later kernels (Documentation/admin-guide/iostats.rst). A
//! sector is 512 bytes there, whatever the device has. A device that completes without a queue of its own (a loop device
//! has one, a device of md has none) counts requests as they come from above.

use std::io;
use std::path::Path;
use std::time::Duration;
use straddle_geometry::Bytes;

use crate::sample::DeviceCounts;

const SECTOR: u64 = 512;

/// Counts since the system started of the devices that are named, in that order; a name that the kernel does not know is
/// left out.
///
/// # Errors
/// When `/proc/diskstats` cannot be read, as on other systems than Linux.
pub fn read(names: &[String]) -> io::Result<Vec<DeviceCounts>> {
    read_below(Path::new("/"), names)
}

/// The same of the machine whose files lie below `root`.
///
/// # Errors
/// As [`read`].
pub fn read_below(root: &Path, names: &[String]) -> io::Result<Vec<DeviceCounts>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(root.join("proc/diskstats"))?;
    let all: Vec<DeviceCounts> = text.lines().filter_map(parse).collect();
    let found = names
        .iter()
        .filter_map(|name| all.iter().find(|counts| counts.name == *name));
    Ok(found.cloned().collect())
}

/// What was counted between two readings, for devices that are in both.
#[must_use]
pub fn between(before: &[DeviceCounts], after: &[DeviceCounts]) -> Vec<DeviceCounts> {
    let pairs = after.iter().filter_map(|after| {
        let before = before.iter().find(|before| before.name == after.name)?;
        Some((before, after))
    });
    let bytes = |after: Bytes, before: Bytes| Bytes::new(after.get().wrapping_sub(before.get()));
    // Kernels whose counters have 32 bits let them wrap; those of this one have 64.
    let counts = pairs.map(|(before, after)| DeviceCounts {
        name: after.name.clone(),
        reads: after.reads.wrapping_sub(before.reads),
        reads_merged: after.reads_merged.wrapping_sub(before.reads_merged),
        bytes_read: bytes(after.bytes_read, before.bytes_read),
        writes: after.writes.wrapping_sub(before.writes),
        writes_merged: after.writes_merged.wrapping_sub(before.writes_merged),
        bytes_written: bytes(after.bytes_written, before.bytes_written),
        busy: after.busy.saturating_sub(before.busy),
    });
    counts.collect()
}

fn parse(line: &str) -> Option<DeviceCounts> {
    let mut fields = line.split_ascii_whitespace().skip(2);
    let name = fields.next()?.to_owned();
    let mut number = || fields.next()?.parse::<u64>().ok();
    let (reads, reads_merged, sectors_read, _) = (number()?, number()?, number()?, number()?);
    let (writes, writes_merged, sectors_written, _) = (number()?, number()?, number()?, number()?);
    let (_, busy) = (number()?, number()?);
    Some(DeviceCounts {
        name,
        reads,
        reads_merged,
        bytes_read: Bytes::new(sectors_read.wrapping_mul(SECTOR)),
        writes,
        writes_merged,
        bytes_written: Bytes::new(sectors_written.wrapping_mul(SECTOR)),
        busy: Duration::from_millis(busy),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str =
        "   8       0 sda 1000 20 80000 500 300 40 6400 200 1 650 700 0 0 0 0 12 3";
    const AFTER: &str = " 8 0 sda 1010 21 80160 510 305 42 6480 210 0 660 720";

    #[test]
    fn lines_of_old_and_new_kernels_are_read() {
        let before = parse(BEFORE).expect("a line");
        assert_eq!(before.name, "sda");
        assert_eq!((before.reads, before.reads_merged), (1000, 20));
        assert_eq!(before.bytes_read, Bytes::new(80_000 * 512));
        assert_eq!((before.writes, before.writes_merged), (300, 40));
        assert_eq!(before.busy, Duration::from_millis(650));
        assert_eq!(parse("   8       0 sda 1000 20"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn differences_are_of_the_same_device() {
        let (before, after) = (parse(BEFORE), parse(AFTER));
        let before: Vec<_> = before.into_iter().collect();
        let mut after: Vec<_> = after.into_iter().collect();
        after.push(DeviceCounts {
            name: "sdb".to_owned(),
            ..DeviceCounts::default()
        });
        let [sda] = &between(&before, &after)[..] else {
            panic!("one device is in both");
        };
        assert_eq!((sda.reads, sda.writes, sda.writes_merged), (10, 5, 2));
        assert_eq!(sda.bytes_written, Bytes::new(80 * 512));
        assert_eq!(sda.busy, Duration::from_millis(10));
    }
}
