use crate::format::{Detected, Format, Head, Line, PerLine};
use crate::lines::Fault;
use crate::number::{scaled, whole};
use crate::record::Event;
use crate::text::{Known, first, is_device, letters};

/// What blkparse prints of the events of blktrace.
pub(crate) static BLKPARSE: Format = Format {
    name: "blkparse",
    of: "blkparse and btrace (Linux)",
    says: "a line for each event, in the default format, with or without -t: device, CPU, number, time (s), process, action, letters, first sector \
           + sectors (512 bytes). Q is queued, D issued, C completed; other actions, requests without sectors, flushes, discards and commands \
           that are passed through are left out. Lines may be quoted or wrapped",
    detect,
};

fn detect(head: &Head<'_>) -> Option<Detected> {
    let reader = Blkparse;
    if head.has(|line| event(line).is_some()) {
        // Its first lines may be messages and merges only.
        let tally = head.tally(&reader);
        return (tally.bad <= tally.requests + tally.other)
            .then(|| Detected::per_line(head, reader));
    }
    let tally = head.tally(&reader);
    if tally.wrapped > 0 && tally.is_trace() {
        return Some(Detected::per_line(head, reader));
    }
    let is_total = head.has(|line| line.starts_with(b"Reads Queued:"))
        && head.has(|line| line.starts_with(b"Throughput (R/W):"));
    is_total.then_some(Detected::Refused(
        "it has the totals of blkparse only, without the events: print them with `blkparse -i NAME`, without -q and -O",
    ))
}

struct Blkparse;

impl PerLine for Blkparse {
    fn line<'a>(&'a self, line: &'a [u8]) -> Line<'a> {
        match event(line) {
            Some(event) => event.read(),
            None if is_summary(line) => Line::Other,
            None => Line::Bad(Fault::Shape),
        }
    }
}

/// The columns that every event has.
struct Columns<'a> {
    device: &'a [u8],
    time: u64,
    action: &'a [u8],
    letters: &'a [u8],
    rest: &'a [u8],
}

fn event(line: &[u8]) -> Option<Columns<'_>> {
    let (mut device, mut rest) = first(line);
    // What `grep` puts in front: a line number, the name of a file.
    if device.last() == Some(&b':') {
        (device, rest) = first(rest);
    }
    if !is_device(device) {
        return None;
    }
    let (cpu, rest) = first(rest);
    let (sequence, rest) = first(rest);
    let (time, rest) = first(rest);
    let (process, rest) = first(rest);
    let (action, rest) = first(rest);
    let (letters, rest) = first(rest);
    for number in [cpu, sequence, process] {
        whole(number)?;
    }
    let is_action = (1..=2).contains(&action.len()) && action.iter().all(u8::is_ascii_alphabetic);
    if !is_action || !time.contains(&b'.') {
        return None;
    }
    Some(Columns {
        device,
        time: scaled(time, 1_000_000_000)?,
        action,
        letters,
        rest,
    })
}

impl<'a> Columns<'a> {
    fn read(self) -> Line<'a> {
        let event = match self.action {
            b"D" => Event::Issued,
            b"Q" => Event::Queued,
            b"C" => Event::Completed,
            _ => return Line::Other,
        };
        let access = match letters(self.letters) {
            Some(Some(access)) => access,
            Some(None) => return Line::Other,
            None if self.letters.is_empty() => return Line::Bad(Fault::Unfinished),
            None => return Line::Bad(Fault::Direction),
        };
        let (word, behind) = first(self.rest);
        match word.first() {
            None => return Line::Bad(Fault::Unfinished),
            // No sectors at all.
            Some(b'[' | b'(') => return Line::Other,
            Some(_) => {}
        }
        // A flush has a sector at most, a command that is passed through has bytes and the command.
        if matches!(behind.first(), Some(b'[' | b'(')) {
            return Line::Other;
        }
        let known = Known {
            device: self.device,
            event,
            access,
            time: Some(self.time),
        };
        known.on(self.rest)
    }
}

/// What stands below the events, and what the tools say beside them.
fn is_summary(line: &[u8]) -> bool {
    const BEGINNINGS: &[&[u8]] = &[
        b"Reads ",
        b"Read Dispatches:",
        b"Read Merges:",
        b"Read depth:",
        b"IO unplugs:",
        b"Writes ",
        b"Total (",
        b"Total:",
        b"Events (",
        b"Throughput (R/W):",
        b"Skips:",
        b"Device:",
        b"Input file ",
        b"PC Read",
        b"Allocation wait:",
        b"Dispatch wait:",
        b"Completion wait:",
        b"===",
        b"^C",
    ];
    let is_cpu = || line.starts_with(b"CPU") && line.contains(&b':');
    // With -s, a table for each program: `fio (1234)`.
    let is_program = || {
        line.last() == Some(&b')')
            && line
                .iter()
                .rposition(|byte| *byte == b'(')
                .is_some_and(|at| at > 0 && whole(&line[at + 1..line.len() - 1]).is_some())
    };
    BEGINNINGS.iter().any(|begin| line.starts_with(begin)) || is_cpu() || is_program()
}
