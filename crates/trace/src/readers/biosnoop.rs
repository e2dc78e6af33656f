use crate::format::{Detected, Format, Head, Line, PerLine};
use crate::lines::Fault;
use crate::number::{scaled, whole};
use crate::record::Event;
use crate::text::{Known, is_device, letters, seconds, words};

/// What biosnoop and its like print, a line for each request that ended.
pub(crate) static BIOSNOOP: Format = Format {
    name: "biosnoop",
    of: "biosnoop of bcc and of libbpf-tools, iosnoop of perf-tools (Linux)",
    says: "TIME(s), COMM, PID, DISK, T, SECTOR (512 bytes), BYTES and latencies (-Q, -P and -t as well), or COMM, PID, TYPE, DEV, BLOCK, BYTES and \
           LATms, with or without the heading. Requests that the tool saw end but not begin have no sector and are named",
    detect,
};

fn detect(head: &Head<'_>) -> Option<Detected> {
    let has = |line: &[u8], word: &[u8]| words(line).any(|found| found.starts_with(word));
    // Where nothing happened there is a heading only.
    let is_heading = |line: &[u8]| {
        has(line, b"COMM")
            && has(line, b"BYTES")
            && has(line, b"LAT")
            && (has(line, b"SECTOR") || has(line, b"BLOCK"))
    };
    let tally = head.tally(&Biosnoop);
    if tally.is_trace() || (tally.bad == 0 && head.has(is_heading)) {
        return Some(Detected::per_line(head, Biosnoop));
    }
    let is_bare = |line: &[u8]| {
        line.starts_with(b"TIME(")
            && has(line, b"COMM")
            && has(line, b"LAT(")
            && !has(line, b"SECTOR")
    };
    head.has(is_bare).then_some(Detected::Refused(
        "biosnoop.bt of bpftrace prints no addresses: record with biosnoop of bcc (`biosnoop-bpfcc` on Debian) or of libbpf-tools",
    ))
}

struct Biosnoop;

impl PerLine for Biosnoop {
    fn line<'a>(&'a self, line: &'a [u8]) -> Line<'a> {
        let is_heading = || {
            line.starts_with(b"TIME") || line.starts_with(b"COMM ") || line.starts_with(b"STARTs")
        };
        let is_said = || {
            line.starts_with(b"Tracing ") || line.starts_with(b"Ending ") || line.starts_with(b"^C")
        };
        match read(line) {
            Some(line) => line,
            None if is_heading() || is_said() => Line::Other,
            None => Line::Bad(Fault::Shape),
        }
    }
}

fn read(line: &[u8]) -> Option<Line<'_>> {
    // A name of a process may have any words in it, so the last place where the columns fit is theirs.
    let mut all = [b"".as_slice(); 24];
    let mut count = 0;
    for word in words(line) {
        *all.get_mut(count)? = word;
        count += 1;
    }
    let all = &all[..count];
    (1..count).rev().find_map(|at| columns(all, at))
}

/// A line whose letters are the word at `at`.
fn columns<'a>(all: &[&'a [u8]], at: usize) -> Option<Line<'a>> {
    let access = letters(all[at])?;
    let is_pid = |at: usize| all.get(at).is_some_and(|word| whole(word).is_some());
    // With perf-tools the device is behind the letters.
    let is_before = at >= 3 && is_pid(at - 2) && at + 1 < all.len() && is_pid(at + 1);
    let is_behind = at >= 2
        && is_pid(at - 1)
        && all.get(at + 1).is_some_and(|word| is_device(word))
        && is_pid(at + 2);
    let (device, place, time) = match (is_before, is_behind) {
        (_, true) => (
            all[at + 1],
            at + 2,
            // STARTs or ENDs, if they were asked for.
            all[0].contains(&b'.').then(|| seconds(all[0])).flatten(),
        ),
        (true, false) => (all[at - 1], at + 1, Some(seconds(all[0])?)),
        // What was under way before the tool began has no disk, and no sector of its own. Neither has a flush, which has no bytes.
        (false, false) => {
            let bytes = all.get(at + 2).copied().and_then(whole)?;
            let is_bare = at >= 3 && is_pid(at - 1) && is_pid(at + 1);
            return is_bare.then_some(Line::Bad(match bytes {
                0 => Fault::Empty,
                _ => Fault::Unseen,
            }));
        }
    };
    let Some(word) = all.get(place + 1) else {
        return Some(Line::Bad(Fault::Unfinished));
    };
    // A pattern and up to two latencies; anything else is another line behind one that was cut.
    let behind = all.get(place + 2..).unwrap_or_default();
    let is_latency = |word: &[u8]| word.contains(&b'.') && scaled(word, 1).is_some();
    if behind.len() > 3
        || !behind
            .iter()
            .all(|word| is_latency(word) || matches!(*word, b"R" | b"S"))
    {
        return Some(Line::Bad(Fault::Shape));
    }
    let bytes = match whole(word) {
        // Without a latency behind it, it may have been cut.
        Some(_) if all.len() == place + 2 => return Some(Line::Bad(Fault::Unfinished)),
        Some(_) => word,
        None => match parted(word) {
            Some(bytes) => bytes,
            None => return Some(Line::Bad(Fault::Length)),
        },
    };
    let Some(access) = access else {
        return Some(Line::Bad(Fault::Neither));
    };
    let known = Known {
        device,
        event: Event::Recorded,
        access,
        time,
    };
    Some(known.at(all[place], bytes, 1))
}

/// The bytes of a request when a latency follows without a blank: `20971521234.56`. The column of the bytes has seven places, and that
/// of the latency is full then too; requests are whole sectors.
fn parted(word: &[u8]) -> Option<&[u8]> {
    let point = memchr::memchr(b'.', word)?;
    scaled(word, 1)?;
    (7..point.saturating_sub(3)).find_map(|digits| {
        let (bytes, latency) = word.split_at(digits);
        let is_whole = whole(bytes).is_some_and(|bytes| bytes > 0 && bytes % 512 == 0);
        (is_whole && latency.len() >= 7 && latency[0] != b'0').then_some(bytes)
    })
}
