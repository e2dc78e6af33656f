use straddle_geometry::Access;

use crate::columns::sheet::named;
use crate::columns::{Clock, sound};
use crate::format::{Detected, Format, Head, Line, PerLine};
use crate::lines::Fault;
use crate::number::{scaled, whole};
use crate::record::{Event, Record};
use crate::text::hex;

/// Requests to disks out of a trace of Windows.
pub(crate) static ETW: Format = Format {
    name: "etw",
    of: "xperf -a dumper, xperf -a diskio -detail, Windows Performance Analyzer (CSV), and the Microsoft traces of SNIA IOTTA in that shape",
    says: "DiskRead and DiskWrite of either form: time (µs), offset and size (bytes, hexadecimal), disk; or a table with columns such as IO Type, Min \
           Offset, Size and Disk. An .etl file is to be printed by xperf first; what `diskspd -e` prints of its own trace are counts without addresses",
    detect,
};

const ETL: &str = "a trace of Windows in its binary form: print it with `xperf -i FILE.etl -o FILE.txt -a dumper -add_fields`, and give that text";

fn detect(head: &Head<'_>) -> Option<Detected> {
    if head.tally(&Dumper).is_trace() || is_dump(head) {
        return Some(Detected::per_line(head, Dumper));
    }
    // Times of xperf count microseconds; those of the analyzer say what they count.
    if let Some(found) = named(head, Some(Clock::Microseconds))
        && found.has_operation
        && found.names.iter().any(|name| {
            matches!(
                name.key.as_str(),
                "minoffset"
                    | "disksrvt"
                    | "diskservicetime"
                    | "disksvctime"
                    | "qdi"
                    | "ioinitstack"
            )
        })
    {
        return Some(Detected::Lines(Box::new(found.sheet)));
    }
    is_etl(head.bytes).then_some(Detected::Refused(ETL))
}

/// A dump in whose beginning no request may be: events of everything else come first, and tables of files before each request.
fn is_dump(head: &Head<'_>) -> bool {
    let is_detail = |line: &[u8]| {
        let mut cells = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        cells.next() == Some(b"IO Type") && cells.any(|cell| cell == b"Byte Offset")
    };
    if head.has(is_detail) {
        return true;
    }
    head.all_lines().next() == Some(b"BeginHeader")
        && head.has(|line| matches!(name(line), b"DiskRead" | b"DiskWrite") && is_heading(line))
}

/// The head of a buffer: its size, and a first event that is the header of a log.
fn is_etl(bytes: &[u8]) -> bool {
    let Some(size) = bytes.first_chunk::<4>() else {
        return false;
    };
    let size = u32::from_le_bytes(*size);
    let is_size = (4096..=1 << 20).contains(&size) && size % 1024 == 0;
    // WMI_BUFFER_HEADER has 72 bytes; the first event's marker and its type, a header of the system.
    is_size && matches!(bytes.get(72..76), Some([_, 0, 1..=2, 0xc0]))
}

struct Dumper;

impl PerLine for Dumper {
    fn line<'a>(&'a self, line: &'a [u8]) -> Line<'a> {
        let access = match name(line) {
            b"DiskRead" => Access::Read,
            b"DiskWrite" => Access::Write,
            name if is_other(name, line) => return Line::Other,
            _ => return Line::Bad(Fault::Shape),
        };
        if is_heading(line) {
            return Line::Other;
        }
        let found = detail(line, access).or_else(|| read(line, access));
        found.unwrap_or(Line::Bad(Fault::Shape))
    }
}

/// The first cell of a line, without what `grep` and `findstr` put in front.
fn name(line: &[u8]) -> &[u8] {
    let cell = line
        .split(|byte| *byte == b',')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    match cell.iter().rposition(|byte| *byte == b':') {
        Some(at) => cell[at + 1..].trim_ascii(),
        None => cell,
    }
}

fn is_heading(line: &[u8]) -> bool {
    line.split(|byte| *byte == b',')
        .nth(1)
        .is_some_and(|cell| cell.trim_ascii() == b"TimeStamp")
}

fn read(line: &[u8], access: Access) -> Option<Line<'_>> {
    let mut cells = [b"".as_slice(); 8];
    let mut rest = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    rest.next()?;
    let Some(time) = rest.next() else {
        return Some(Line::Bad(Fault::Unfinished));
    };
    let Some(time) = scaled(time, 1_000) else {
        return Some(Line::Bad(Fault::Time));
    };
    // A process may have commas in its name, and later versions have a column more, so what can be counted on is that an address of a request,
    // its offset and its size follow each other in hexadecimal digits.
    let mut run = 0;
    for cell in rest {
        match run {
            0..3 if hex(cell).is_some() => {
                cells[run] = cell;
                run += 1;
            }
            0..3 => run = 0,
            // How long it took, and the disk.
            3 | 4 => {
                cells[run] = cell;
                run += 1;
            }
            _ => {
                cells[run] = cell;
                run += 1;
                break;
            }
        }
    }
    // Without anything behind the disk it may have been cut.
    if run < 6 {
        return Some(Line::Bad(Fault::Unfinished));
    }
    let [_, start, len, elapsed, disk, ..] = cells;
    whole(elapsed)?;
    whole(disk)?;
    let (Some(start), Some(len)) = (hex(start), hex(len)) else {
        return Some(Line::Bad(Fault::Start));
    };
    let record = sound(start, len).map(|()| Record {
        device: disk,
        event: Event::Recorded,
        access,
        start,
        len,
        time: Some(time),
    });
    Some(record.into())
}

/// A line of `-a diskio -detail`: type, start, end, two durations, size, offset, and what comes later a process and the disk. A process may have
/// commas in its name, and ends with its number in brackets.
fn detail(line: &[u8], access: Access) -> Option<Line<'_>> {
    let mut cells = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    cells.next()?;
    let start_time = cells.next()?;
    for _ in 0..3 {
        whole(cells.next()?)?;
    }
    let (len, start) = (hex(cells.next()?)?, hex(cells.next()?)?);
    let Some(time) = whole(start_time).and_then(|time| time.checked_mul(1_000)) else {
        return Some(Line::Bad(Fault::Time));
    };
    let is_process = |cell: &[u8]| cell.ends_with(b")") && cell.contains(&b'(');
    let mut cells = cells.peekable();
    let mut disk = None;
    while disk.is_none()
        && let Some(cell) = cells.next()
    {
        if is_process(cell) {
            disk = cells.next_if(|disk| whole(disk).is_some());
        }
    }
    // The file is behind it, without which the disk may have been cut.
    let (Some(device), Some(_)) = (disk, cells.next()) else {
        return Some(Line::Bad(Fault::Unfinished));
    };
    let record = sound(start, len).map(|()| Record {
        device,
        event: Event::Recorded,
        access,
        start,
        len,
        time: Some(time),
    });
    Some(record.into())
}

/// Events of other kinds, and what stands around them.
fn is_other(name: &[u8], line: &[u8]) -> bool {
    let is_word = |name: &[u8]| {
        name.first().is_some_and(u8::is_ascii_alphabetic)
            && name
                .iter()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'/' | b' '))
    };
    let second = line
        .split(|byte| *byte == b',')
        .nth(1)
        .map(<[u8]>::trim_ascii);
    let is_event = second.is_some_and(|cell| cell == b"TimeStamp" || whole(cell).is_some());
    // Of `-a diskio`: what columns mean, and tables of sums by file.
    let is_legend = || {
        [b"QD/I - ", b"QD/C - ", b"IBCB - ", b"IBCA - ", b"IACB - "]
            .iter()
            .any(|begin| line.starts_with(*begin))
    };
    let is_sum = || {
        whole(name).is_some() && second.is_some_and(|cell| whole(cell).is_some())
            || matches!(name, b"Count" | b"IO Type")
    };
    matches!(line, b"BeginHeader" | b"EndHeader")
        || line.starts_with(b"OS Version:")
        || is_legend()
        || is_sum()
        || (is_word(name) && is_event)
}
