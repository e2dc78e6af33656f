use memchr::memmem;

use crate::format::{Detected, Format, Head, Line, PerLine};
use crate::lines::Fault;
use crate::number::{scaled, whole};
use crate::record::Event;
use crate::text::{Known, first, is_device, letters, words};

/// Events of the block layer as the kernel's tracing prints them.
pub(crate) static FTRACE: Format = Format {
    name: "ftrace",
    of: "trace and trace_pipe of the kernel, trace-cmd report, perf script (Linux)",
    says: "block_rq_issue, block_rq_complete and block_bio_queue, of kernels with and without the priority of a request, and the same events \
           of the tracer blk: time (s), device, letters, first sector + sectors (512 bytes). Other events, and requests without sectors, are left \
           out. Lines may be quoted or wrapped",
    detect,
};

fn detect(head: &Head<'_>) -> Option<Detected> {
    let tally = head.tally(&Ftrace);
    // The kernel says what it is, also where events of other parts come first.
    let says = memmem::find(head.bytes, b"# tracer: ").is_some() && tally.bad <= tally.other;
    let is_trace = tally.is_trace()
        && head.has(|line| memmem::find(line, b"block_").is_some() || blk(line).is_some());
    (is_trace || says).then(|| Detected::per_line(head, Ftrace))
}

struct Ftrace;

impl PerLine for Ftrace {
    fn line<'a>(&'a self, line: &'a [u8]) -> Line<'a> {
        let mut from = 0;
        while let Some(found) = memmem::find(&line[from..], b"block_") {
            let at = from + found;
            let name = &line[at..];
            let end = name
                .iter()
                .position(|c| !c.is_ascii_alphanumeric() && *c != b'_')
                .unwrap_or(name.len());
            if name.get(end) == Some(&b':') {
                return event(&line[..at], &name[..end], &name[end + 1..]);
            }
            from = at + end;
        }
        if let Some(line) = blk(line) {
            return line;
        }
        match is_other(line) {
            true => Line::Other,
            false => Line::Bad(Fault::Shape),
        }
    }
}

fn event<'a>(before: &'a [u8], name: &[u8], fields: &'a [u8]) -> Line<'a> {
    let event = match name {
        b"block_rq_issue" => Event::Issued,
        b"block_rq_complete" => Event::Completed,
        b"block_bio_queue" => Event::Queued,
        _ => return Line::Other,
    };
    let (device, rest) = first(fields);
    let (rwbs, rest) = first(rest);
    if rwbs.is_empty() || !is_device(device) {
        return Line::Bad(match rest.is_empty() {
            true => Fault::Unfinished,
            false => Fault::Shape,
        });
    }
    let access = match letters(rwbs) {
        Some(Some(access)) => access,
        Some(None) => return Line::Other,
        None => return Line::Bad(Fault::Direction),
    };
    let Ok(time) = time(before) else {
        return Line::Bad(Fault::Time);
    };
    let known = Known {
        device,
        event,
        access,
        time,
    };
    // How many bytes a command has that is passed through, and the command: of no use here.
    let (word, behind) = first(rest);
    let rest = match (whole(word), behind.first()) {
        (Some(_), Some(b'(')) => behind,
        _ => rest,
    };
    let rest = match rest {
        [b'(', command @ ..] => match memchr::memchr(b')', command) {
            Some(end) => &command[end + 1..],
            None => return Line::Bad(Fault::Unfinished),
        },
        _ => rest,
    };
    known.on(rest)
}

/// The time in front of an event: the last word that ends with a colon. None where it was cut off.
fn time(before: &[u8]) -> Result<Option<u64>, ()> {
    // perf prints the system of an event before its name.
    let before = before.strip_suffix(b"block:").unwrap_or(before);
    let mut back = words(before).rev();
    let word = match back.next() {
        None => return Ok(None),
        // The short form puts a blank before it.
        Some(b":") => back.next().unwrap_or_default(),
        // perf prints how many events this one stands for, if it is asked, between the two.
        Some(word) if whole(word).is_some() => match back.next() {
            None => return Ok(None),
            Some(word) => word.strip_suffix(b":").ok_or(())?,
        },
        Some(word) => word.strip_suffix(b":").ok_or(())?,
    };
    let (word, scale) = match word.strip_suffix(b"us") {
        Some(word) => (word, 1_000),
        None if word.contains(&b'.') => (word, 1_000_000_000),
        // Part of a time, in a line that was wrapped.
        None => return Err(()),
    };
    let time = scaled(word, scale).ok_or(())?;
    // With nothing in front of it, the beginning of the time itself may be missing.
    Ok(back.next().map(|_| time))
}

/// What the tracer `blk` prints: `fio-1234 [000] ..... 12.345678: 8,0 Q WS 4096 + 8 [fio]`.
fn blk(line: &[u8]) -> Option<Line<'_>> {
    let at = memmem::find(line, b": ")?;
    let (device, rest) = first(&line[at + 2..]);
    let (action, rest) = first(rest);
    let (rwbs, rest) = first(rest);
    let is_action = (1..=2).contains(&action.len()) && action.iter().all(u8::is_ascii_alphabetic);
    if !is_device(device) || !is_action {
        return None;
    }
    // Nothing else has a processor in brackets in front.
    words(&line[..at]).find(|word| is_processor(word))?;
    let time = time(&line[..=at]).ok()??;
    let event = match action {
        b"D" => Event::Issued,
        b"Q" => Event::Queued,
        b"C" => Event::Completed,
        _ => return Some(Line::Other),
    };
    let access = match letters(rwbs) {
        Some(Some(access)) => access,
        Some(None) => return Some(Line::Other),
        None => return Some(Line::Bad(Fault::Direction)),
    };
    if rest.first() == Some(&b'[') {
        return Some(Line::Other);
    }
    let known = Known {
        device,
        event,
        access,
        time: Some(time),
    };
    Some(known.on(rest))
}

/// `[003]`.
fn is_processor(word: &[u8]) -> bool {
    word.strip_prefix(b"[")
        .and_then(|word| word.strip_suffix(b"]"))
        .is_some_and(|number| number.len() >= 3 && whole(number).is_some())
}

/// Events of other parts of the kernel, callers of an event, and what tools say beside them.
fn is_other(line: &[u8]) -> bool {
    let (word, rest) = first(line);
    let is_event = || words(line).any(is_processor) && words(line).any(|word| word.ends_with(b":"));
    let is_caller = || (word.len() >= 8 && word.iter().all(u8::is_ascii_hexdigit)) || word == b"=>";
    let says = || {
        word.starts_with(b"cpus=")
            || word.starts_with(b"version")
            || word.starts_with(b"CPU:")
            || (word == b"CPU" && rest.ends_with(b"empty"))
            || memmem::find(line, b"LOST ").is_some()
            || line.starts_with(b"<stack trace>")
            || line.starts_with(b"^C")
    };
    is_event() || is_caller() || says()
}
