use crate::columns::{Clock, Columns, Words};
use crate::format::{Detected, Format, Head};
use crate::number::whole;

/// Traces of virtual disks in a cluster of Alibaba Cloud, published in 2020.
pub(crate) static ALIBABA: Format = Format {
    name: "alibaba",
    of: "Alibaba block traces (2020)",
    says: "CSV with or without a heading: device, R or W, offset (bytes), length (bytes), time (µs)",
    detect,
};

fn detect(head: &Head<'_>) -> Option<Detected> {
    let is_request = |line: &[u8]| {
        let cells: Vec<&[u8]> = line.split(|byte| *byte == b',').collect();
        let [device, b"R" | b"W", start, len, time] = cells.as_slice() else {
            return false;
        };
        [device, start, len, time]
            .iter()
            .all(|cell| whole(cell).is_some())
    };
    head.is_mostly(is_request).then(|| {
        Columns {
            separator: b',',
            count: 5,
            open: false,
            device: (0, 0),
            access: (1, Words::Letters),
            start: (2, 1),
            len: (3, 1),
            time: Some((4, Clock::Microseconds)),
        }
        .table(head, None)
    })
}
