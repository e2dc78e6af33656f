//! What the kernel counts on block devices, from `/proc/diskstats`.
//!
//! A line is `major minor name`, then reads completed, reads merged, sectors read, milliseconds reading, the same four of
//! writes, requests under way, milliseconds busy, and more in later kernels (Documentation/admin-guide/iostats.rst). A
//! sector is 512 bytes there, whatever the device has. A device that completes without a queue of its own (a loop device
//! has one, a device of md has none) counts requests as they come from above.
//!
//! On Windows the system counts on disks (`IOCTL_DISK_PERFORMANCE`), from the first time on that anybody asks. It says nothing of merged
//! requests, and how long a disk was idle in place of busy. Numbers of requests have 32 bits.

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
/// When `/proc/diskstats` cannot be read, as on systems other than Linux and Windows.
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
    #[cfg(windows)]
    if root == Path::new("/") {
        return Ok(names.iter().filter_map(|name| of_disk(name)).collect());
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
    // Kernels whose counters have 32 bits let them wrap; those of this one have 64, but for numbers of requests on Windows.
    let count = |after: u64, before: u64| {
        let count = after.wrapping_sub(before);
        if cfg!(windows) {
            count & 0xffff_ffff
        } else {
            count
        }
    };
    let counts = pairs.map(|(before, after)| DeviceCounts {
        name: after.name.clone(),
        reads: count(after.reads, before.reads),
        reads_merged: after.reads_merged.wrapping_sub(before.reads_merged),
        bytes_read: bytes(after.bytes_read, before.bytes_read),
        writes: count(after.writes, before.writes),
        writes_merged: after.writes_merged.wrapping_sub(before.writes_merged),
        bytes_written: bytes(after.bytes_written, before.bytes_written),
        busy: after.busy.saturating_sub(before.busy),
    });
    counts.collect()
}

/// Those of a disk whose name is that of its device; of nothing else are there any.
#[cfg(windows)]
fn of_disk(name: &str) -> Option<DeviceCounts> {
    use straddle_io::windows::{Access, control, open};
    const PERFORMANCE: u32 = 0x0007_0020;
    let path = format!(r"\\.\{name}");
    let disk = open(Path::new(&path), Access::Questions).ok()?;
    performance(name, &control(&disk, PERFORMANCE, &[], 88).ok()?)
}

/// What `DISK_PERFORMANCE` says: bytes read and written, time reading, writing and idle in units of 100 ns (8 bytes each), reads, writes,
/// requests under way and requests that were cut (4 bytes each), and when that was.
#[cfg(any(windows, test))]
fn performance(name: &str, answer: &[u8]) -> Option<DeviceCounts> {
    let long = |at: usize| Some(u64::from_le_bytes(*answer.get(at..)?.first_chunk()?));
    let short = |at: usize| {
        let found = answer.get(at..)?.first_chunk()?;
        Some(u64::from(u32::from_le_bytes(*found)))
    };
    let busy = long(56)?.saturating_sub(long(32)?);
    Some(DeviceCounts {
        name: name.to_owned(),
        reads: short(40)?,
        reads_merged: 0,
        bytes_read: Bytes::new(long(0)?),
        writes: short(44)?,
        writes_merged: 0,
        bytes_written: Bytes::new(long(8)?),
        busy: Duration::from_nanos(busy.saturating_mul(100)),
    })
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
    fn what_windows_counts_on_a_disk_is_read() {
        let mut answer = [0; 88];
        for (at, value) in [(0, 8192_u64), (8, 4096), (32, 70), (56, 100)] {
            answer[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        (answer[40], answer[44]) = (2, 1);
        let found = performance("PhysicalDrive0", &answer).expect("whole");
        assert_eq!((found.reads, found.writes), (2, 1));
        assert_eq!(found.bytes_read, Bytes::new(8192));
        assert_eq!(found.bytes_written, Bytes::new(4096));
        assert_eq!(found.busy, Duration::from_micros(3));
        assert_eq!(performance("PhysicalDrive0", &answer[..60]), None);
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
