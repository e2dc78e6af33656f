use straddle_geometry::Access;

use crate::columns::{Clock, Columns, Words};
use crate::format::{Detected, Format, Head};
use crate::number::whole;

/// Block traces of thirteen servers of Microsoft Research Cambridge, and all that are published in their shape.
pub(crate) static MSR: Format = Format {
    name: "msr",
    of: "MSR Cambridge block traces, and SNIA IOTTA traces in their shape",
    says: "CSV with or without a heading: time (100 ns), host, disk, Read or Write, offset (bytes), size (bytes), response time (100 ns). \
           A device is a host and a disk",
    detect,
};

fn detect(head: &Head<'_>) -> Option<Detected> {
    let is_request = |line: &[u8]| {
        let cells: Vec<&[u8]> = line.split(|byte| *byte == b',').collect();
        let [time, host, disk, access, start, len, response] = cells.as_slice() else {
            return false;
        };
        [time, disk, start, len, response]
            .iter()
            .all(|cell| whole(cell).is_some())
            && whole(host).is_none()
            && matches!(
                Words::Letters.read(access),
                Some(Some(Access::Read | Access::Write))
            )
    };
    head.is_mostly(is_request).then(|| {
        Columns {
            separator: b',',
            count: 7,
            open: false,
            device: (1, 2),
            access: (3, Words::Letters),
            start: (4, 1),
            len: (5, 1),
            time: Some((0, Clock::Ticks)),
        }
        .table(head, None)
    })
}
