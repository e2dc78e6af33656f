use crate::columns::{Clock, Columns, SECTOR, Words};
use crate::format::{Detected, Format, Head};
use crate::number::whole;

/// Traces of cloud volumes of Tencent, published in 2020.
pub(crate) static TENCENT: Format = Format {
    name: "tencent",
    of: "Tencent block storage (CBS) traces",
    says: "CSV with or without a heading: time (s), offset (sectors of 512 bytes), size (sectors), 0 for a read or 1 for a write, volume",
    detect,
};

/// From 2001 to 2065: seconds of the epoch have ten digits there.
const SECONDS: std::ops::Range<u64> = 1_000_000_000..3_000_000_000;

fn detect(head: &Head<'_>) -> Option<Detected> {
    let is_request = |line: &[u8]| {
        let cells: Vec<&[u8]> = line.split(|byte| *byte == b',').collect();
        let [time, start, len, b"0" | b"1", volume] = cells.as_slice() else {
            return false;
        };
        whole(time).is_some_and(|time| SECONDS.contains(&time))
            && [start, len, volume]
                .iter()
                .all(|cell| whole(cell).is_some())
    };
    head.is_mostly(is_request).then(|| {
        Columns {
            separator: b',',
            count: 5,
            open: false,
            device: (4, 4),
            access: (3, Words::Digits),
            start: (1, SECTOR),
            len: (2, SECTOR),
            time: Some((0, Clock::Seconds)),
        }
        .table(head, None)
    })
}
