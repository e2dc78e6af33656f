use memchr::memmem;
use straddle_geometry::Access;

use crate::columns::sound;
use crate::format::{Detected, Format, Head, Line, PerLine};
use crate::lines::Fault;
use crate::number::whole;
use crate::record::{Event, Record};
use crate::text::{first, last, words};

/// What blkalgn prints of each request.
///
/// LBA counts logical blocks of the disk, whose size is nowhere in the output. ALGN does not tell: the tool takes the blocks for 4096 bytes when it
/// computes it, and never says less than 4096. So the size is found from the requests of each disk ([`Evidence`]).
pub(crate) static BLKALGN: Format = Format {
    name: "blkalgn",
    of: "blkalgn --trace of bcc (Linux)",
    says: "DISK, OPS, LEN (bytes), LBA, PID, COMM, ALGN. LBA counts logical blocks of the disk, of 512 or 4096 bytes, which is not printed: it is 512 \
           where a length is no multiple of 4096, else what most requests that follow each other agree with, else 512 where all begin at the same \
           place modulo 8, else 4096, as the tool itself assumes in ALGN. There is no time",
    detect,
};

fn detect(head: &Head<'_>) -> Option<Detected> {
    let reader = Blkalgn::of(head);
    if head.tally(&reader).is_trace() {
        return Some(Detected::per_line(head, reader));
    }
    let has = |text: &[u8]| memmem::find(head.bytes, text).is_some();
    let is_histogram = head
        .has(|line| line.starts_with(b"Algn size") || line.starts_with(b"Alignment size"))
        || (head.bytes.trim_ascii_start().starts_with(b"{")
            && has(b"\"Block size\"")
            && (has(b"\"Algn size\"") || has(b"\"Alignment size\"")));
    is_histogram.then_some(Detected::Refused(
        "blkalgn's histograms have lengths and alignments, but no addresses: record with `blkalgn --trace`",
    ))
}

struct Blkalgn {
    /// Bytes of a logical block, by disk.
    blocks: Vec<(Vec<u8>, u64)>,
}

impl PerLine for Blkalgn {
    fn line<'a>(&'a self, line: &'a [u8]) -> Line<'a> {
        let Some(columns) = columns(line) else {
            return match is_other(line) {
                true => Line::Other,
                false => Line::Bad(Fault::Shape),
            };
        };
        let access = match columns.operation {
            b"Read" => Access::Read,
            b"Write" => Access::Write,
            _ => return Line::Other,
        };
        let known = self.blocks.iter().find(|(disk, _)| disk == columns.disk);
        let block = known.map_or(4096, |(_, block)| *block);
        let Some(start) = columns.lba.checked_mul(block) else {
            return Line::Bad(Fault::Start);
        };
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

struct Columns<'a> {
    disk: &'a [u8],
    operation: &'a [u8],
    len: u64,
    lba: u64,
}

fn columns(line: &[u8]) -> Option<Columns<'_>> {
    let (disk, rest) = first(line);
    let (operation, rest) = first(rest);
    let (len, rest) = first(rest);
    let (lba, rest) = first(rest);
    let (pid, rest) = first(rest);
    let (name, alignment) = last(rest);
    let alignment = whole(alignment)?;
    let is_operation = OPERATIONS.contains(&operation) || whole(operation).is_some();
    let is_alignment = alignment.is_power_of_two() && alignment >= 512;
    if !is_operation || !is_alignment || name.is_empty() {
        return None;
    }
    whole(pid)?;
    Some(Columns {
        disk,
        operation,
        len: whole(len)?,
        lba: whole(lba)?,
    })
}

const OPERATIONS: &[&[u8]] = &[
    b"Read",
    b"Write",
    b"Flush",
    b"Discard",
    b"SecureErase",
    b"WriteZeroes",
    b"ZoneOpen",
    b"ZoneClose",
    b"ZoneFinish",
    b"ZoneAppend",
    b"ZoneReset",
    b"ZoneResetAll",
    b"DrvIn",
    b"DrvOut",
    b"Last",
];

fn is_other(line: &[u8]) -> bool {
    let is_bar = || line.ends_with(b"|") && memmem::find(line, b" -> ").is_some();
    line.starts_with(b"Tracing ")
        || line.starts_with(b"^C")
        || line == b"..."
        || (line.starts_with(b"DISK") && words(line).any(|word| word == b"LBA"))
        || memmem::find(line, b": count ").is_some()
        || is_bar()
}

/// What the requests of a disk say of its blocks.
#[derive(Default)]
struct Evidence<'a> {
    disk: &'a [u8],
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

impl Evidence<'_> {
    fn block(&self) -> u64 {
        let follows = self.follow[0].cmp(&self.follow[1]);
        let is_phased = self.requests >= 4 && !self.is_scattered;
        match follows {
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
        let mut disks: Vec<Evidence<'_>> = Vec::new();
        for columns in head.all_lines().filter_map(columns) {
            let place = match columns.operation {
                b"Read" => 0,
                b"Write" => 1,
                _ => continue,
            };
            let known = disks.iter().position(|known| known.disk == columns.disk);
            let at = known.unwrap_or_else(|| {
                disks.push(Evidence {
                    disk: columns.disk,
                    ..Evidence::default()
                });
                disks.len() - 1
            });
            let Some(disk) = disks.get_mut(at) else {
                continue;
            };
            // What is no multiple of 512 was damaged.
            disk.is_short |= columns.len % 512 == 0 && columns.len % 4096 != 0;
            if let Some((lba, len)) = disk.before[place] {
                for (follow, block) in disk.follow.iter_mut().zip([512, 4096]) {
                    *follow += u64::from(lba.checked_add(len / block) == Some(columns.lba));
                }
            }
            disk.before[place] = Some((columns.lba, columns.len));
            disk.requests += 1;
            let phase = columns.lba % 8;
            disk.is_scattered |= *disk.phase.get_or_insert(phase) != phase;
        }
        Blkalgn {
            blocks: disks
                .iter()
                .map(|disk| (disk.disk.to_vec(), disk.block()))
                .collect(),
        }
    }
}
