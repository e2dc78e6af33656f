//! Whether a file holds anything where it is measured.

use straddle_geometry::{Bytes, Ratio};
#[cfg(target_os = "linux")]
use {
    straddle_geometry::Extent,
    straddle_io::linux::{ExtentFlags, FileExtent},
};

use super::{Warning, WarningKind};

/// Bytes of a part of a file that a device never got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unwritten {
    /// They have no place.
    pub holes: Bytes,
    /// They have a place that was never written: reads are answered with zeroes without asking the device.
    pub allocated: Bytes,
    /// They are still in memory.
    pub waiting: Bytes,
}

/// What of `part` was never written, by the file's extents.
#[cfg(target_os = "linux")]
#[must_use]
pub fn unwritten_in(extents: &[FileExtent], part: Extent) -> Unwritten {
    let (mut mapped, mut allocated, mut waiting) = (0_u64, 0_u64, 0_u64);
    for extent in extents {
        let start = extent.logical.get().max(part.start().get());
        let end = extent.logical.get().saturating_add(extent.len.get());
        let len = end.min(part.end().get()).saturating_sub(start);
        mapped = mapped.saturating_add(len);
        if extent.flags.intersects(ExtentFlags::DELALLOC) {
            waiting = waiting.saturating_add(len);
        } else if extent.flags.intersects(ExtentFlags::UNWRITTEN) {
            allocated = allocated.saturating_add(len);
        }
    }
    Unwritten {
        holes: Bytes::new(part.len().get().saturating_sub(mapped)),
        allocated: Bytes::new(allocated),
        waiting: Bytes::new(waiting),
    }
}

/// A warning when anything of the `touched` bytes was never written.
#[must_use]
pub fn not_written(unwritten: Unwritten, touched: Bytes) -> Option<Warning> {
    let share = |part: Bytes, what: &str| {
        let share = Ratio::new(part.get(), touched.get())?;
        (part > Bytes::ZERO).then(|| format!("{} ({share}) {what}", part.rounded()))
    };
    let parts: Vec<String> = [
        share(unwritten.holes, "have no place at all (a sparse file)"),
        share(unwritten.allocated, "have a place but were never written"),
        share(unwritten.waiting, "are still in memory"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() {
        return None;
    }
    Some(Warning {
        kind: WarningKind::NotWritten,
        cause: format!(
            "Of the {} that requests touch, {}. Reads of these are answered by the filesystem without asking the device, and the first write to each has to \
             find or mark its place.",
            touched.rounded(),
            parts.join(", "),
        ),
        advice: "Let straddle make the file (it writes every byte first), or fill this one once: `dd if=/dev/urandom of=FILE bs=1M oflag=direct conv=notrunc,fsync count=N`."
            .to_owned(),
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_written_is_counted_by_kind() {
        let extent = |logical, len, flags| FileExtent {
            logical: Bytes::mib(logical),
            physical: Bytes::mib(1000 + logical),
            len: Bytes::mib(len),
            flags: ExtentFlags(flags),
        };
        let extents = [
            extent(0, 10, 0),
            extent(10, 10, 0x800),
            extent(30, 5, 0x6),
            extent(35, 100, 0x1),
        ];
        let part = Extent::new(Bytes::mib(5), Bytes::mib(35)).expect("small");
        let unwritten = unwritten_in(&extents, part);
        assert_eq!(
            unwritten,
            Unwritten {
                holes: Bytes::mib(10),
                allocated: Bytes::mib(10),
                waiting: Bytes::mib(5)
            }
        );
        let warning = not_written(unwritten, part.len()).expect("a warning");
        assert!(
            warning.cause.starts_with(
                "Of the 35 MiB that requests touch, 10 MiB (≈28.57%) have no place at all (a sparse file), 10 MiB (≈28.57%) have a place but were never written, 5 MiB"
            ),
            "{}",
            warning.cause
        );
        let whole = Extent::new(Bytes::mib(40), Bytes::mib(35)).expect("small");
        assert_eq!(
            not_written(unwritten_in(&extents, whole), whole.len()),
            None
        );
    }
}
