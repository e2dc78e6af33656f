//! Tables that people and spreadsheets made: columns by name, cells in quotes, numbers in groups.

use straddle_geometry::Access;

use super::cells::{Operations, Separator, When, amount};
use super::{Clock, sound};
use crate::column_map::{bytes_of, clock_of};
use crate::format::{Head, MAX_LINE, Reader, Tally, is_around, lines, unquoted};
use crate::lines::Fault;
use crate::record::{Event, Record};
use crate::sink::Sink;

/// Which column of such a table is what.
pub(crate) struct Sheet {
    pub(crate) separator: Separator,
    /// How many columns a line has.
    pub(crate) count: usize,
    /// The column of the first byte, and how many bytes it counts in.
    pub(crate) start: (usize, u64),
    pub(crate) len: (usize, u64),
    pub(crate) access: Accesses,
    pub(crate) time: Option<(usize, When)>,
    /// What a device is called by; the file, where there is none.
    pub(crate) device: Vec<usize>,
    pub(crate) file: Vec<u8>,
    /// The line that names the columns, wherever it stands.
    pub(crate) heading: Option<Vec<u8>>,
}

/// Where it stands whether a request reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accesses {
    Column(usize, Operations),
    Always(Access),
}

/// What one line after the other is taken apart in.
#[derive(Default)]
pub(crate) struct Scratch {
    cells: Vec<(usize, usize)>,
    device: Vec<u8>,
}

impl Reader for Sheet {
    fn read(&self, block: &[u8], sink: &mut Sink<'_>) {
        let mut scratch = Scratch::default();
        for (at, line) in lines(block) {
            match self.record(line, &mut scratch) {
                Ok(Some(record)) => sink.take(&record),
                Ok(None) => sink.other(),
                Err(fault) => sink.fault(at, fault, line),
            }
        }
    }
}

impl Sheet {
    /// A line; `None` for one that need not be a request.
    pub(crate) fn record<'a>(
        &'a self,
        line: &'a [u8],
        scratch: &'a mut Scratch,
    ) -> Result<Option<Record<'a>>, Fault> {
        if line.len() > MAX_LINE {
            return Err(Fault::LineTooLong);
        }
        let line = unquoted(line);
        let text = line.trim_ascii();
        if is_around(text) || self.heading.as_deref() == Some(text) {
            return Ok(None);
        }
        let found = self.separator.cells(line, &mut scratch.cells);
        if found.is_none() || scratch.cells.len() != self.count {
            return Err(Fault::Columns {
                expected: self.count,
                found: scratch.cells.len(),
            });
        }
        let cells = &scratch.cells;
        let cell = |column: usize| {
            let (from, to) = cells.get(column).copied().unwrap_or_default();
            &line[from..to]
        };
        let comma = self.separator.is_comma_decimal();
        let access = match self.access {
            Accesses::Always(access) => access,
            Accesses::Column(column, operations) => match operations.read(cell(column)) {
                Some(Some(access)) => access,
                Some(None) => return Err(Fault::Neither),
                None => return Err(Fault::Direction),
            },
        };
        let start = amount(cell(self.start.0), self.start.1, comma).ok_or(Fault::Start)?;
        let len = amount(cell(self.len.0), self.len.1, comma).ok_or(Fault::Length)?;
        let time = match self.time {
            None => None,
            Some((column, when)) => Some(when.read(cell(column), comma).ok_or(Fault::Time)?),
        };
        sound(start, len)?;
        let device = match self.device.as_slice() {
            [] => self.file.as_slice(),
            [only] => cell(*only),
            several => {
                scratch.device.clear();
                for (at, column) in several.iter().enumerate() {
                    if at > 0 {
                        scratch.device.push(b'.');
                    }
                    scratch.device.extend_from_slice(cell(*column));
                }
                &scratch.device
            }
        };
        Ok(Some(Record {
            device,
            event: Event::Recorded,
            access,
            start,
            len,
            time,
        }))
    }

    /// What the first lines of a file are to it.
    pub(crate) fn tally(&self, head: &Head<'_>) -> Tally {
        let mut tally = Tally::default();
        let mut scratch = Scratch::default();
        for line in head.all_lines() {
            match self.record(line, &mut scratch) {
                Ok(Some(_)) => tally.requests += 1,
                Ok(None) => tally.other += 1,
                Err(fault) if fault.is_harmless() => tally.other += 1,
                Err(_) => tally.bad += 1,
            }
        }
        tally
    }

    /// Finds out how the cells of a column say when, as `unit` says or by the look of the first cells.
    pub(crate) fn find_time(&mut self, head: &Head<'_>, column: usize, unit: Option<Clock>) {
        let comma = self.separator.is_comma_decimal();
        let mut cells = Vec::new();
        let found = head.all_lines().find_map(|line| {
            self.separator.cells(line, &mut cells)?;
            let (from, to) = *cells.get(column)?;
            When::of(&line[from..to], comma)
        });
        let when = match (found, unit) {
            (Some(When::Dated), _) => Some(When::Dated),
            (_, Some(unit)) => Some(When::Counted(unit)),
            (found, None) => found,
        };
        self.time = when.map(|when| (column, when));
    }

    /// Finds out how the cells of a column say what is done.
    pub(crate) fn find_operations(&mut self, head: &Head<'_>, column: usize, name: &str) {
        let mut cells = Vec::new();
        let texts = head.all_lines().filter_map(|line| {
            self.separator.cells(line, &mut cells)?;
            let (from, to) = *cells.get(column)?;
            Some(&line[from..to])
        });
        self.access = Accesses::Column(column, Operations::of(name, texts));
    }
}

/// The name of a column: its letters and digits in lower case, without the unit, and the unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) key: String,
    pub(crate) unit: Option<String>,
}

impl Name {
    pub(crate) fn of(cell: &[u8]) -> Name {
        let text = String::from_utf8_lossy(cell).to_lowercase();
        let text = text.replace(['µ', 'μ'], "u");
        let (outside, inside) = match text.find(['(', '[']) {
            Some(at) => text.split_at(at),
            None => (text.as_str(), ""),
        };
        let is_unit = |word: &str| bytes_of(word).is_some() || clock_of(word).is_some();
        let inside = inside.trim_matches(|c: char| !c.is_alphanumeric());
        let mut words: Vec<&str> = outside
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let mut unit = is_unit(inside).then(|| inside.to_owned());
        if unit.is_none()
            && words.len() > 1
            && let Some(last) = words.pop_if(|last| is_unit(last))
        {
            unit = Some(last.to_owned());
        }
        Name {
            key: words.concat(),
            unit,
        }
    }

    pub(crate) fn bytes(&self) -> Option<u64> {
        bytes_of(self.unit.as_deref()?)
    }

    pub(crate) fn clock(&self) -> Option<Clock> {
        clock_of(self.unit.as_deref()?)
    }
}

/// Names of the first byte, the best first, and what they count in.
pub(crate) const STARTS: &[(&str, u64)] = &[
    ("byteoffset", 1),
    ("offset", 1),
    ("minoffset", 1),
    ("startoffset", 1),
    ("startingoffset", 1),
    ("offsetbytes", 1),
    ("offsetinbytes", 1),
    ("fileoffset", 1),
    ("diskoffset", 1),
    ("startbyte", 1),
    ("startingbyte", 1),
    ("lba", 512),
    ("startlba", 512),
    ("startinglba", 512),
    ("slba", 512),
    ("lbn", 512),
    ("sector", 512),
    ("startsector", 512),
    ("sectornumber", 512),
    ("sectorno", 512),
    ("sectornum", 512),
    ("block", 512),
    ("startblock", 512),
    ("blocknumber", 512),
    ("blockno", 512),
    ("blocknum", 512),
    ("blockaddress", 512),
    ("logicalblockaddress", 512),
    ("blk", 512),
    ("blkno", 512),
    ("start", 1),
    ("startaddress", 1),
    ("address", 1),
    ("addr", 1),
    ("position", 1),
    ("pos", 1),
];

/// Names of the length.
pub(crate) const LENGTHS: &[(&str, u64)] = &[
    ("iosize", 1),
    ("size", 1),
    ("length", 1),
    ("len", 1),
    ("bytes", 1),
    ("nbytes", 1),
    ("numbytes", 1),
    ("bytecount", 1),
    ("sizebytes", 1),
    ("sizeinbytes", 1),
    ("lengthbytes", 1),
    ("transfersize", 1),
    ("transferlength", 1),
    ("xfersize", 1),
    ("xferlen", 1),
    ("requestsize", 1),
    ("reqsize", 1),
    ("datasize", 1),
    ("datalength", 1),
    ("datalen", 1),
    ("iolength", 1),
    ("iolen", 1),
    ("blocksize", 1),
    ("bs", 1),
    ("sectors", 512),
    ("nsectors", 512),
    ("numsectors", 512),
    ("numberofsectors", 512),
    ("nrsectors", 512),
    ("nrsector", 512),
    ("sectorcount", 512),
    ("blocks", 512),
    ("nblocks", 512),
    ("numblocks", 512),
    ("numberofblocks", 512),
    ("blockcount", 512),
    ("nlb", 512),
    // With a unit only: `num_sectors`, `count (blocks)`.
    ("num", 0),
    ("nr", 0),
    ("n", 0),
    ("numberof", 0),
    ("count", 0),
];

/// Names of what a request does.
const OPERATIONS: &[&str] = &[
    "op",
    "optype",
    "opcode",
    "opname",
    "operation",
    "iotype",
    "iooperation",
    "rw",
    "readwrite",
    "rwflag",
    "rwbs",
    "iswrite",
    "isread",
    "direction",
    "dir",
    "ddir",
    "access",
    "accesstype",
    "requesttype",
    "reqtype",
    "cmd",
    "command",
    "cmdtype",
    "type",
    "t",
    // Of iosnoop of Solaris and macOS.
    "d",
    "action",
];

const TIMES: &[&str] = &[
    "timestamp",
    "time",
    "ts",
    "issuetime",
    "arrivaltime",
    "arrival",
    "starttime",
    "inittime",
    "requesttime",
    "datetime",
    "date",
    "tstart",
];

const DEVICES: &[&str] = &[
    "device",
    "dev",
    "devname",
    "deviceid",
    "devid",
    "devicename",
    "disk",
    "disknumber",
    "disknum",
    "diskno",
    "diskid",
    "drive",
    "volume",
    "volumeid",
    "vol",
    "volid",
    "vd",
    "vdisk",
    "vmdk",
    "lun",
    "lunid",
    "asu",
    "target",
];

const HOSTS: &[&str] = &["host", "hostname", "server", "servername", "vm", "vmid"];

/// A heading, and the table below it.
pub(crate) struct Found {
    pub(crate) sheet: Sheet,
    pub(crate) names: Vec<Name>,
    /// A column says what requests do.
    pub(crate) has_operation: bool,
    /// A column says when.
    pub(crate) has_time: bool,
}

/// The table in a file whose columns have names, if one of its first lines is a heading, and at least one line a request.
///
/// `clock` is what a time counts that has no unit.
pub(crate) fn named(head: &Head<'_>, clock: Option<Clock>) -> Option<Found> {
    headings(head, clock).find(|found| found.sheet.tally(head).is_trace())
}

/// Whether there is such a table but for its offsets and lengths, which are no numbers: lines say what is done and when, and not where.
/// Lists of partitions have offsets, sizes and types, too.
pub(crate) fn has_no_numbers(head: &Head<'_>) -> bool {
    let mut scratch = Scratch::default();
    headings(head, None).any(|found| {
        let mut faults = head
            .all_lines()
            .filter_map(|line| found.sheet.record(line, &mut scratch).err());
        let is_of_requests = found.has_operation && found.has_time;
        is_of_requests && faults.any(|fault| matches!(fault, Fault::Start | Fault::Length))
    })
}

/// Whatever may be a heading in the first lines, with the table that would be below it.
fn headings<'h>(head: &'h Head<'_>, clock: Option<Clock>) -> impl Iterator<Item = Found> + use<'h> {
    let candidates = lines(head.bytes)
        .map(|(_, line)| unquoted(line).trim_ascii())
        .filter(|line| !line.is_empty())
        .take(20);
    let separated =
        candidates.flat_map(|heading| Separator::ALL.map(|separator| (heading, separator)));
    separated.filter_map(move |(heading, separator)| {
        let text = heading.strip_prefix(b"#").unwrap_or(heading).trim_ascii();
        let mut cells = Vec::new();
        if separator.cells(text, &mut cells).is_none() || cells.len() < 3 {
            return None;
        }
        let names: Vec<Name> = cells
            .iter()
            .map(|(from, to)| Name::of(&text[*from..*to]))
            .collect();
        let mut found = columns(separator, names, head, clock)?;
        if !heading.starts_with(b"#") {
            found.sheet.heading = Some(heading.to_vec());
        }
        Some(found)
    })
}

/// Which column is what by its name.
pub(crate) struct Roles {
    /// The column of the first byte, and how many bytes it counts in.
    pub(crate) start: (usize, u64),
    pub(crate) len: (usize, u64),
    pub(crate) operation: Option<usize>,
    pub(crate) time: Option<usize>,
    pub(crate) device: Vec<usize>,
}

impl Roles {
    /// Of columns with these names; `None` when they are no table of requests.
    pub(crate) fn of(names: &[Name]) -> Option<Roles> {
        let place = |known: &[(&str, u64)]| {
            known.iter().find_map(|(key, unit)| {
                names.iter().enumerate().find_map(|(at, name)| {
                    let unit = name.bytes().unwrap_or(*unit);
                    (name.key == *key && unit > 0).then_some((at, unit))
                })
            })
        };
        let one_of = |known: &[&str]| {
            let mut known = known.iter();
            known.find_map(|key| names.iter().position(|name| name.key == *key))
        };
        let (start, len) = (place(STARTS)?, place(LENGTHS)?);
        (start.0 != len.0).then(|| Roles {
            start,
            len,
            operation: one_of(OPERATIONS),
            time: one_of(TIMES),
            device: one_of(HOSTS)
                .filter(|_| one_of(DEVICES).is_some())
                .into_iter()
                .chain(one_of(DEVICES))
                .collect(),
        })
    }
}

fn columns(
    separator: Separator,
    names: Vec<Name>,
    head: &Head<'_>,
    clock: Option<Clock>,
) -> Option<Found> {
    let roles = Roles::of(&names)?;
    let mut sheet = Sheet {
        separator,
        count: names.len(),
        start: roles.start,
        len: roles.len,
        access: Accesses::Always(Access::Read),
        time: None,
        device: roles.device,
        file: head.stem.as_bytes().to_vec(),
        heading: None,
    };
    if let Some(column) = roles.operation {
        let name = names[column].key.clone();
        sheet.find_operations(head, column, &name);
    }
    if let Some(column) = roles.time {
        sheet.find_time(head, column, names[column].clock().or(clock));
    }
    Some(Found {
        sheet,
        names,
        has_operation: roles.operation.is_some(),
        has_time: roles.time.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_apart_into_what_and_in_which_unit() {
        for (text, key, unit) in [
            ("Byte Offset", "byteoffset", None),
            ("Size (B)", "size", Some("b")),
            ("IO Time (µs)", "iotime", Some("us")),
            ("Timestamp[ns]", "timestamp", Some("ns")),
            ("start_sector", "start", Some("sector")),
            ("num_sectors", "num", Some("sectors")),
            ("io_size_kb", "iosize", Some("kb")),
            ("SECTOR", "sector", None),
            ("Process Name ( PID)", "processname", None),
        ] {
            let name = Name::of(text.as_bytes());
            assert_eq!(
                (name.key.as_str(), name.unit.as_deref()),
                (key, unit),
                "{text}"
            );
        }
    }
}
