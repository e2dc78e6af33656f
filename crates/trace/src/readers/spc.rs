use crate::columns::{Clock, Columns, SECTOR, Words};
use crate::format::{Detected, Format, Head};
use crate::number::{scaled, whole};

/// Traces as the Storage Performance Council describes them, such as those of the UMass repository.
pub(crate) static SPC: Format = Format {
    name: "spc",
    of: "SPC traces (UMass repository: Financial, WebSearch)",
    says: "CSV with or without a heading: application unit, first block (512 bytes), size (bytes), R or W, time (s), and what else there is",
    detect,
};

fn detect(head: &Head<'_>) -> Option<Detected> {
    let is_request = |line: &[u8]| {
        let cells: Vec<&[u8]> = line
            .split(|byte| *byte == b',')
            .map(<[u8]>::trim_ascii)
            .collect();
        let [unit, start, len, b"R" | b"W" | b"r" | b"w", time, ..] = cells.as_slice() else {
            return false;
        };
        [unit, start, len].iter().all(|cell| whole(cell).is_some()) && scaled(time, 1).is_some()
    };
    head.is_mostly(is_request).then(|| {
        Columns {
            separator: b',',
            count: 5,
            open: true,
            device: (0, 0),
            access: (3, Words::Letters),
            start: (1, SECTOR),
            len: (2, 1),
            time: Some((4, Clock::Seconds)),
        }
        .table(head, None)
    })
}
