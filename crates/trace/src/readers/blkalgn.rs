use memchr::memmem;
use straddle_geometry::Access;

use crate::columns::sound;
use crate::format::{Detected, Format, Head, Line, PerLine};
use crate::lines::Fault;
use crate::number::whole;
use crate::record::{Event, Record};
use crate::text::{first, hex, last, words};

/// What blkalgn prints of each request.
///
/// There are two tools of that name, and what they call LBA differs.
///
/// That of bcc in Python counts logical blocks of the disk, whose size is nowhere in the output. ALGN does not tell it: the tool takes blocks for
/// 4096 bytes when it computes it, and never says less than 4096. So the size is found from the requests of each disk ([`Evidence`]).
///
/// That in C (libbpf) has a column of flags besides, counts bytes, and computes ALGN from sectors of 512, so that ALGN proves the unit. Should a
/// version count otherwise, the unit is the one with which most lines agree.
pub(crate) static BLKALGN: Format = Format {
    name: "blkalgn",
    of: "blkalgn --trace of bcc and of its port to libbpf (Linux)",
    says: "DISK, OPS, LEN (bytes), LBA, PID, COMM, ALGN, and flags in the port, where LBA is a byte and ALGN proves it. In the one of bcc, LBA counts \
           logical blocks of the disk, of 512 or 4096 bytes, which is not printed: it is 512 where a length is not a multiple of 4096, else what most \
           requests that follow each other agree with, else 512 where all begin at the same place modulo 8, else 4096, as the tool itself assumes in \
           ALGN. A line whose ALGN does not follow from its LEN and LBA is bad. There is no time",
    detect,
};

fn detect(head: &Head<'_>) -> Option<Detected> {
    let reader = Blkalgn::of(head);
    if head.tally(&reader).is_trace() {
        return Some(Detected::per_line(head, reader));
    }
    let has = |text: &[u8]| memmem::find(head.bytes, text).is_some();
    let is_histogram = head.has(|line| {
        line.starts_with(b"Algn size") || line.starts_with(b"I/O Alignment Histogram for Device")
    });
    let is_json = head.bytes.trim_ascii_start().starts_with(b"{")
        && has(b"\"disks\"")
        && has(b"\"granularity\"")
        && has(b"\"alignment\"");
    (is_histogram || is_json).then_some(Detected::Refused(
        "blkalgn's histograms have lengths and alignments, but no addresses: record with `blkalgn --trace`",
    ))
}

struct Blkalgn {
    /// Bytes of a logical block, by disk, as the tool in Python counts.
    blocks: Vec<(Vec<u8>, u64)>,
    /// What the port counts in.
    unit: u64,
    /// ALGN of most lines follows from the others, so that of every line has to.
    is_checked: bool,
}

impl PerLine for Blkalgn {
    fn line<'a>(&'a self, line: &'a [u8]) -> Line<'a> {
        let Some(columns) = columns(line) else {
            return match is_other(line) {
                true => Line::Other,
                false => Line::Bad(Fault::Shape),
            };
        };
        let Some(access) = columns.access else {
            return Line::Other;
        };
        let unit = match columns.tool {
            Tool::Port => self.unit,
            Tool::Python => {
                let known = self.blocks.iter().find(|(disk, _)| disk == columns.disk);
                known.map_or(4096, |(_, block)| *block)
            }
        };
        let Some(start) = columns.lba.checked_mul(unit) else {
            return Line::Bad(Fault::Start);
        };
        if self.is_checked && !columns.agrees(self.unit) {
            return Line::Bad(Fault::Contradiction);
        }
        sound(start, columns.len)
            .map(|()| Record {
                device: columns.disk,
                event: Event::Recorded,
                access,
                start,
                len: columns.len,
                time: None,
            })
            .into()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Python,
    Port,
}

#[derive(PartialEq, Eq)]
struct Columns<'a> {
    tool: Tool,
    disk: &'a [u8],
    /// None for what moves no data of its own.
    access: Option<Access>,
    len: u64,
    lba: u64,
    alignment: u64,
}

fn columns(line: &[u8]) -> Option<Columns<'_>> {
    let (mut disk, mut rest) = first(line);
    // What was kept in a database is printed with a number in front, and with numbers for operations.
    let is_numbered = whole(disk).is_some();
    if is_numbered {
        (disk, rest) = first(rest);
    }
    let (flags, behind) = first(rest);
    let tool = match hex(flags) {
        Some(_) => Tool::Port,
        None => Tool::Python,
    };
    if tool == Tool::Port {
        rest = behind;
    }
    let (operation, rest) = first(rest);
    let (len, rest) = first(rest);
    let (lba, rest) = first(rest);
    let (pid, rest) = first(rest);
    let (name, alignment) = last(rest);
    let alignment = whole(alignment)?;
    let is_disk = disk.first().is_some_and(u8::is_ascii_alphabetic);
    if !alignment.is_power_of_two() || alignment < 512 || name.is_empty() || !is_disk {
        return None;
    }
    whole(pid)?;
    Some(Columns {
        tool,
        disk,
        access: match operation {
            b"Read" | b"read" => Some(Access::Read),
            b"Write" | b"write" => Some(Access::Write),
            b"0" if is_numbered => Some(Access::Read),
            b"1" if is_numbered => Some(Access::Write),
            _ if OPERATIONS.contains(&operation) || whole(operation).is_some() => None,
            _ => return None,
        },
        len: whole(len)?,
        lba: whole(lba)?,
        alignment,
    })
}

impl Columns<'_> {
    /// Whether ALGN follows from LEN and LBA as the tool computes it, where the port counts in `unit`.
    fn agrees(&self, unit: u64) -> bool {
        let (len, alignment) = (self.len, self.alignment);
        match self.tool {
            Tool::Python => {
                let fits = |shift: u32| {
                    len.is_multiple_of(4096 << shift) && self.lba.is_multiple_of(1 << shift)
                };
                let most = (0..8).filter(|shift| fits(*shift)).max().unwrap_or(0);
                alignment == 4096 << most
            }
            Tool::Port => {
                let Some(start) = self.lba.checked_mul(unit) else {
                    return false;
                };
                if len.is_power_of_two() && start.is_multiple_of(len) {
                    return alignment == len;
                }
                let mut most = 512;
                while most * 2 < len
                    && len.is_multiple_of(most * 2)
                    && start.is_multiple_of(most * 2)
                {
                    most *= 2;
                }
                alignment == most
            }
        }
    }
}

/// Beside those that read and write.
const OPERATIONS: &[&[u8]] = &[
    b"Flush",
    b"Discard",
    b"SecureErase",
    b"WriteSame",
    b"WriteZeroes",
    b"ZoneOpen",
    b"ZoneClose",
    b"ZoneFinish",
    b"ZoneAppend",
    b"ZoneReset",
    b"ZoneResetAll",
    b"SCSIIn",
    b"SCSIOut",
    b"DrvIn",
    b"DrvOut",
    b"Last",
];

fn is_other(line: &[u8]) -> bool {
    const BEGINNINGS: &[&[u8]] = &[
        b"Tracing ",
        b"Total: ",
        b"Total I/Os:",
        b"I/O Granularity Histogram",
        b"I/O Alignment Histogram",
        b"=== Alignment Distribution",
        b"Alignment Distribution:",
        b"Device: ",
        b"Kernel:",
        b"Userspace:",
        b"No Kernel Stack",
        b"No Userspace Stack",
        b"No stack",
        b"^C",
    ];
    let is_bar = || line.ends_with(b"|") && memmem::find(line, b" : ").is_some();
    let is_heading = || {
        ["DISK", "LEN", "LBA", "ALGN"]
            .iter()
            .all(|name| words(line).any(|word| word == name.as_bytes()))
    };
    let is_caller = || memmem::find(line, b" [<").is_some_and(|at| whole(&line[..at]).is_some());
    line == b"..."
        || BEGINNINGS.iter().any(|begin| line.starts_with(begin))
        || memmem::find(line, b": count ").is_some()
        || is_heading()
        || is_bar()
        || is_caller()
}

/// What the requests of a disk say of its blocks.
#[derive(Default)]
struct Evidence {
    disk: Vec<u8>,
    /// The request before, by operation: where it begins and how long it is.
    before: [Option<(u64, u64)>; 2],
    /// A length that no block of 4096 bytes has.
    is_short: bool,
    /// Requests that begin where the one before ended, if a block has 512 or 4096 bytes.
    follow: [u64; 2],
    /// How many requests there are, and whether all begin at the same place modulo eight blocks: with blocks of 512 bytes a filesystem
    /// of 4096 does so, with larger ones nothing does.
    requests: u64,
    phase: Option<u64>,
    is_scattered: bool,
}

impl Evidence {
    fn add(&mut self, access: Access, columns: &Columns<'_>) {
        let place = usize::from(access == Access::Write);
        // What is not a multiple of 512 was damaged.
        self.is_short |= columns.len.is_multiple_of(512) && !columns.len.is_multiple_of(4096);
        if let Some((lba, len)) = self.before[place] {
            for (follow, block) in self.follow.iter_mut().zip([512, 4096]) {
                *follow += u64::from(lba.checked_add(len / block) == Some(columns.lba));
            }
        }
        self.before[place] = Some((columns.lba, columns.len));
        self.requests += 1;
        let phase = columns.lba % 8;
        self.is_scattered |= *self.phase.get_or_insert(phase) != phase;
    }

    fn block(&self) -> u64 {
        let is_phased = self.requests >= 4 && !self.is_scattered;
        match self.follow[0].cmp(&self.follow[1]) {
            _ if self.is_short => 512,
            std::cmp::Ordering::Greater => 512,
            std::cmp::Ordering::Less => 4096,
            std::cmp::Ordering::Equal if is_phased => 512,
            std::cmp::Ordering::Equal => 4096,
        }
    }
}

impl Blkalgn {
    fn of(head: &Head<'_>) -> Blkalgn {
        /// What the port may count in; the first is what it does.
        const UNITS: [u64; 3] = [1, 512, 4096];
        let mut disks: Vec<Evidence> = Vec::new();
        let mut agreeing = [0; UNITS.len()];
        let mut all = 0;
        let mut see = |columns: Columns<'_>| {
            let Some(access) = columns.access else {
                return;
            };
            all += 1;
            for (agreeing, unit) in agreeing.iter_mut().zip(UNITS) {
                *agreeing += usize::from(columns.agrees(unit));
            }
            if columns.tool == Tool::Port {
                return;
            }
            let known = disks.iter().position(|known| known.disk == columns.disk);
            let at = known.unwrap_or_else(|| {
                disks.push(Evidence {
                    disk: columns.disk.to_vec(),
                    ..Evidence::default()
                });
                disks.len() - 1
            });
            if let Some(disk) = disks.get_mut(at) {
                disk.add(access, &columns);
            }
        };
        // Lines that were wrapped are evidence too.
        let mut open: Option<&[u8]> = None;
        for line in head.all_lines() {
            if let Some(columns) = columns(line) {
                open = None;
                see(columns);
                continue;
            }
            if let Some(before) = open.take() {
                let (at_blank, within) = ([before, b" ", line].concat(), [before, line].concat());
                let found = match (columns(&at_blank), columns(&within)) {
                    (Some(one), Some(other)) => Some(one).filter(|one| *one == other),
                    (one, other) => one.or(other),
                };
                if let Some(columns) = found {
                    see(columns);
                    continue;
                }
            }
            open = Some(line);
        }
        let most = agreeing.iter().copied().max().unwrap_or(0);
        let best = agreeing.iter().position(|agreeing| *agreeing == most);
        Blkalgn {
            blocks: disks
                .into_iter()
                .map(|disk| {
                    let block = disk.block();
                    (disk.disk, block)
                })
                .collect(),
            unit: best.map_or(1, |best| UNITS[best]),
            is_checked: most * 2 > all,
        }
    }
}
