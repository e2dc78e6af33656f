use straddle_geometry::Access;

use crate::columns::sound;
use crate::format::{Detected, Format, Head, Line, PerLine};
use crate::lines::Fault;
use crate::number::whole;
use crate::record::{Event, Record};

/// What fio writes with `write_bw_log`, `write_lat_log` and `write_iops_log`, where it was told to write offsets too.
///
/// A line has, in this order: time (ms), value, direction, bytes; the offset, with `log_offset`; a priority, since fio 3.17; and when the request
/// was issued (ns), with `log_issue_time`. So five columns are an offset without a priority or a priority without an offset. A priority is 0, 1 or in
/// hexadecimal digits, which offsets of a whole file never are.
pub(crate) static FIO_LOG: Format = Format {
    name: "fio-log",
    of: "fio --write_lat_log, --write_bw_log and --write_iops_log, with --log_offset=1",
    says: "CSV without a heading: time (ms), value, 0 for a read, 1 for a write or 2 for a trim, size (bytes), offset (bytes), priority. The file is \
           the device",
    detect,
};

fn detect(head: &Head<'_>) -> Option<Detected> {
    let (mut lines, mut others, mut averaged) = (0, 0, 0);
    let mut places = false;
    let mut before = 0;
    for line in head.all_lines() {
        // fio writes in order of time; in other tables of whole numbers the first column may be anything.
        let Some(row) = row(line).filter(|row| row.time >= before) else {
            others += 1;
            continue;
        };
        before = row.time;
        lines += 1;
        averaged += usize::from(row.len == 0);
        places |= row.has_offset();
    }
    if lines <= others {
        return None;
    }
    if !places {
        return Some(Detected::Refused(
            "a log of fio without offsets: record it again with --log_offset=1, and without --log_avg_msec",
        ));
    }
    if averaged == lines {
        return Some(Detected::Refused(
            "a log of fio with means over a while, which have no offsets: record it again with --log_offset=1, and without --log_avg_msec",
        ));
    }
    Some(Detected::per_line(
        head,
        FioLog {
            file: head.stem.as_bytes().to_vec(),
        },
    ))
}

struct FioLog {
    file: Vec<u8>,
}

/// The columns of a line that were understood.
struct Row<'a> {
    time: u64,
    direction: &'a [u8],
    len: u64,
    /// Behind the length.
    rest: [Option<&'a [u8]>; 3],
}

impl Row<'_> {
    fn has_offset(&self) -> bool {
        match self.rest {
            [Some(_), Some(_), _] => true,
            [Some(only), None, _] => !matches!(only, b"0" | b"1" | [b'0', b'x', ..]),
            _ => false,
        }
    }
}

/// fio puts a blank behind each comma, which other tables of numbers do not.
fn row(line: &[u8]) -> Option<Row<'_>> {
    let mut cells = [None; 7];
    let mut count = 0;
    for (at, cell) in line.split(|byte| *byte == b',').enumerate() {
        let cell = match at {
            0 => cell,
            _ => cell.strip_prefix(b" ")?,
        };
        *cells.get_mut(at)? = Some(cell);
        count += 1;
    }
    let [time, value, direction, len, first, second, third] = cells;
    let value = value?;
    whole(value.strip_prefix(b"-").unwrap_or(value))?;
    let direction = direction?;
    if count < 4 || !matches!(direction, b"0" | b"1" | b"2") {
        return None;
    }
    let rest = [first, second, third];
    let is_number = |cell: &[u8]| whole(cell).is_some() || crate::text::hex(cell).is_some();
    rest.iter()
        .flatten()
        .all(|cell| is_number(cell))
        .then_some(Row {
            time: whole(time?)?,
            direction,
            len: whole(len?)?,
            rest,
        })
}

impl PerLine for FioLog {
    fn line<'a>(&'a self, line: &'a [u8]) -> Line<'a> {
        let Some(row) = row(line) else {
            return Line::Bad(Fault::Shape);
        };
        let access = match row.direction {
            b"0" => Access::Read,
            b"1" => Access::Write,
            // A trim.
            _ => return Line::Other,
        };
        let Some(start) = row.rest[0].and_then(whole) else {
            return Line::Bad(Fault::Start);
        };
        let Some(time) = row.time.checked_mul(1_000_000) else {
            return Line::Bad(Fault::Time);
        };
        sound(start, row.len)
            .map(|()| Record {
                device: &self.file,
                event: Event::Recorded,
                access,
                start,
                len: row.len,
                time: Some(time),
            })
            .into()
    }
}
