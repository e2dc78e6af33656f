//! What the kernel counts on block devices, `/proc/diskstats`.
//!
//! ```text
//! major minor name | reads merged sectors ms | writes merged sectors ms | under way, ms busy, weighted ms | …
//! ```
//! Sectors are 512 bytes, whatever the device's own are. Source: Linux `Documentation/admin-guide/iostats.rst`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use straddle_geometry::{Bytes, SectorSize};

use super::kernel::Kernel;
use crate::sample::DeviceCounts;

/// The counters of all block devices at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(BTreeMap<String, Line>);

/// What is counted of one device since it appeared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Line {
    counts: DeviceCounts,
    under_way: u64,
}

impl Counters {
    /// Those below `root`, `/` for this machine; empty where the kernel has none.
    #[must_use]
    pub fn read(root: &Path) -> Counters {
        let text = Kernel::at(root).text("/proc/diskstats").unwrap_or_default();
        Counters(text.lines().filter_map(line).collect())
    }

    /// What each of `names` did from `earlier` until now, in their order. A device that was not there at both moments is left
    /// out.
    #[must_use]
    pub fn since(&self, earlier: &Counters, names: &[String]) -> Vec<DeviceCounts> {
        let both = names.iter().filter_map(|name| {
            let (now, then) = (&self.0.get(name)?.counts, &earlier.0.get(name)?.counts);
            // A counter that ran over or was set back has no difference that means anything.
            let bytes = |now: Bytes, then: Bytes| now.checked_sub(then).unwrap_or(Bytes::ZERO);
            Some(DeviceCounts {
                name: name.clone(),
                reads: now.reads.saturating_sub(then.reads),
                reads_merged: now.reads_merged.saturating_sub(then.reads_merged),
                bytes_read: bytes(now.bytes_read, then.bytes_read),
                writes: now.writes.saturating_sub(then.writes),
                writes_merged: now.writes_merged.saturating_sub(then.writes_merged),
                bytes_written: bytes(now.bytes_written, then.bytes_written),
                busy: now.busy.saturating_sub(then.busy),
            })
        });
        both.collect()
    }

    /// Requests under way on a device at that moment.
    #[must_use]
    pub fn under_way(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |line| line.under_way)
    }
}

fn line(text: &str) -> Option<(String, Line)> {
    let mut words = text.split_ascii_whitespace().skip(2);
    let name = words.next()?.to_owned();
    let mut next = || words.next()?.parse::<u64>().ok();
    let sectors = |count| SectorSize::B512.sectors(count).bytes();
    let (reads, reads_merged, sectors_read, _) = (next()?, next()?, next()?, next()?);
    let (writes, writes_merged, sectors_written, _) = (next()?, next()?, next()?, next()?);
    let (under_way, busy) = (next()?, next()?);
    let counts = DeviceCounts {
        name: name.clone(),
        reads,
        reads_merged,
        bytes_read: sectors(sectors_read)?,
        writes,
        writes_merged,
        bytes_written: sectors(sectors_written)?,
        busy: Duration::from_millis(busy),
    };
    Some((name, Line { counts, under_way }))
}

#[cfg(test)]
mod tests {
    use super::super::kernel::testing::put;
    use super::*;

    #[test]
    fn differences_are_in_bytes_and_in_the_order_asked_for() {
        let root = tempfile::tempdir().expect("temporary directory");
        put(
            root.path(),
            "/proc/diskstats",
            "   7       0 loop0 898 0 20160\n 254 0 vda 10 1 80 5 20 2 160 7 3 40 50 0 0 0 0 1 1\n   8 0 sda 1 0 8 1 1 0 8 1 0 2 2\n",
        );
        let earlier = Counters::read(root.path());
        put(
            root.path(),
            "/proc/diskstats",
            " 254 0 vda 15 2 120 5 20 2 160 7 1 90 50\n   8 0 sda 0 0 0 1 3 0 24 1 0 2 2\n",
        );
        let later = Counters::read(root.path());
        let names = ["sda", "loop0", "vda"].map(str::to_owned);
        let counts = later.since(&earlier, &names);
        assert_eq!(counts.len(), 2, "a line that is cut off counts nothing");
        assert_eq!((counts[0].reads, counts[0].writes), (0, 2));
        assert_eq!(counts[0].bytes_written, Bytes::new(16 * 512));
        assert_eq!((counts[1].reads, counts[1].reads_merged), (5, 1));
        assert_eq!(counts[1].bytes_read, Bytes::new(40 * 512));
        assert_eq!(counts[1].busy, Duration::from_millis(50));
        assert_eq!((earlier.under_way("vda"), later.under_way("vda")), (3, 1));
        assert_eq!(
            Counters::read(Path::new("/nonexistent")),
            Counters::default()
        );
    }
}
