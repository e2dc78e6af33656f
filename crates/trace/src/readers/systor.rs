use crate::columns::{Clock, Columns, Words};
use crate::format::{Detected, Format, Head};
use crate::number::{scaled, whole};

/// Traces of a storage system behind virtual desktops, published at SYSTOR '17.
pub(crate) static SYSTOR: Format = Format {
    name: "systor",
    of: "SYSTOR '17 traces of virtual desktops (SNIA IOTTA)",
    says: "CSV with the heading Timestamp,Response,IOType,LUN,Offset,Size, or without it: time (s), response time (s), R or W, \
           logical unit, offset (bytes), size (bytes). A request that is neither has no letter",
    detect,
};

const HEADING: &[u8] = b"Timestamp,Response,IOType,LUN,Offset,Size";

fn detect(head: &Head<'_>) -> Option<Detected> {
    let is_request = |line: &[u8]| {
        let cells: Vec<&[u8]> = line.split(|byte| *byte == b',').collect();
        let [time, response, b"R" | b"W" | b"", unit, start, len] = cells.as_slice() else {
            return line.eq_ignore_ascii_case(HEADING);
        };
        scaled(time, 1).is_some()
            && (response.is_empty() || scaled(response, 1).is_some())
            && [unit, start, len].iter().all(|cell| whole(cell).is_some())
    };
    // The heading alone is a table without requests, which is still this one.
    head.is_mostly(is_request).then(|| {
        Columns {
            separator: b',',
            count: 6,
            open: false,
            device: (3, 3),
            access: (2, Words::LettersOrNothing),
            start: (4, 1),
            len: (5, 1),
            time: Some((0, Clock::Seconds)),
        }
        .table(head, Some(HEADING))
    })
}
