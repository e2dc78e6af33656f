use straddle_geometry::Access;

use crate::columns::sound;
use crate::format::{Detected, Format, Head, Line, PerLine};
use crate::lines::Fault;
use crate::number::whole;
use crate::record::{Event, Record};
use crate::text::{first, last};

/// What fio writes with `write_iolog`, and replays.
pub(crate) static IOLOG: Format = Format {
    name: "iolog",
    of: "fio --write_iolog",
    says: "versions 2 and 3, with or without the first line: time (µs, version 3 only), file, read, write, sync, datasync, trim or wait, offset \
           (bytes), length (bytes). A file is a device",
    detect,
};

const BEGINNING: &[u8] = b"fio version ";

fn detect(head: &Head<'_>) -> Option<Detected> {
    let version = head.all_lines().next().and_then(|line| {
        let version = line.strip_prefix(BEGINNING)?.strip_suffix(b" iolog")?;
        Some(version.trim_ascii())
    });
    match version {
        Some(b"2") => Some(Detected::per_line(head, Iolog { is_timed: false })),
        Some(b"3") => Some(Detected::per_line(head, Iolog { is_timed: true })),
        Some(_) => Some(Detected::Refused(
            "an iolog of fio of another version than 2 and 3, which no fio writes: record it again with `fio --write_iolog=NAME`",
        )),
        // The end of one. A line of version 3 is one of version 2 too, of a file whose name begins with a number and a blank.
        None => [true, false].into_iter().find_map(|is_timed| {
            let reader = Iolog { is_timed };
            let tally = head.tally(&reader);
            let all = tally.requests + tally.other + tally.bad;
            (tally.requests > 0 && tally.bad * 10 <= all).then(|| Detected::per_line(head, reader))
        }),
    }
}

struct Iolog {
    is_timed: bool,
}

impl PerLine for Iolog {
    fn line<'a>(&'a self, line: &'a [u8]) -> Line<'a> {
        // Files are appended to, so the first line may be there again.
        if line.starts_with(BEGINNING) && line.ends_with(b" iolog") {
            return Line::Other;
        }
        let (time, line) = match self.is_timed {
            false => (None, line),
            true => {
                let (time, rest) = first(line);
                let Some(time) = whole(time).and_then(|time| time.checked_mul(1_000)) else {
                    return Line::Bad(Fault::Time);
                };
                (Some(time), rest)
            }
        };
        read(line, time).unwrap_or(Line::Bad(Fault::Shape))
    }
}

fn read(line: &[u8], time: Option<u64>) -> Option<Line<'_>> {
    // The name of a file may have blanks, so a line is read from its end.
    let (rest, word) = last(line);
    if matches!(word, b"add" | b"open" | b"close") && !rest.is_empty() {
        return Some(Line::Other);
    }
    let len = word;
    let (rest, start) = last(rest);
    let (file, action) = last(rest);
    if file.is_empty() {
        return None;
    }
    let access = match action {
        b"read" => Access::Read,
        b"write" => Access::Write,
        b"trim" | b"sync" | b"datasync" | b"sync_file_range" | b"wait" => {
            whole(start)?;
            whole(len)?;
            return Some(Line::Other);
        }
        _ => return None,
    };
    let Some(start) = whole(start) else {
        return Some(Line::Bad(Fault::Start));
    };
    let Some(len) = whole(len) else {
        return Some(Line::Bad(Fault::Length));
    };
    let record = sound(start, len).map(|()| Record {
        device: file,
        event: Event::Recorded,
        access,
        start,
        len,
        time,
    });
    Some(record.into())
}
