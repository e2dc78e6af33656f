use straddle_geometry::Access;

use crate::columns::SECTOR;
use crate::format::{Detected, Format, Head, Line, PerLine};
use crate::lines::Fault;
use crate::number::whole;
use crate::record::Event;
use crate::text::{Known, first, last, words};

/// Traces of servers and home directories of Florida International University, and others in their shape.
pub(crate) static FIU: Format = Format {
    name: "fiu",
    of: "FIU block traces (IODedup, SNIA IOTTA)",
    says: "words without a heading: time (ns), process number, process, first block (512 bytes), size (blocks), R or W, major and minor \
           number of the device, MD5 of the content",
    detect,
};

fn detect(head: &Head<'_>) -> Option<Detected> {
    head.tally(&Fiu)
        .is_trace()
        .then(|| Detected::per_line(head, Fiu))
}

struct Fiu;

impl PerLine for Fiu {
    fn line<'a>(&'a self, line: &'a [u8]) -> Line<'a> {
        read(line).unwrap_or(Line::Bad(Fault::Shape))
    }
}

fn read(line: &[u8]) -> Option<Line<'_>> {
    let (time, rest) = first(line);
    let (process, _) = first(rest);
    let time = whole(time)?;
    whole(process)?;
    // The process may have blanks in its name, so the end of the line is what can be counted on.
    let (mut front, mut word) = last(line);
    let mut end = line.trim_ascii_end().len();
    while is_digest(word) {
        end = front.len();
        (front, word) = last(front);
    }
    if end == line.trim_ascii_end().len() {
        return None;
    }
    let minor = word;
    let (front, major) = last(front);
    // Everything so far is a beginning of the line, so its length is a place.
    let begin = front.len();
    let (front, letter) = last(front);
    let (front, count) = last(front);
    let (front, sector) = last(front);
    // Time, process number and at least one word of a name.
    words(front).nth(2)?;
    let is_number = |text: &[u8]| (1..=7).contains(&text.len()) && whole(text).is_some();
    if !is_number(major) || !is_number(minor) {
        return None;
    }
    let access = match letter {
        b"W" | b"w" => Access::Write,
        b"R" | b"r" => Access::Read,
        _ => return Some(Line::Bad(Fault::Direction)),
    };
    let known = Known {
        device: line[begin..end].trim_ascii(),
        event: Event::Recorded,
        access,
        time: Some(time),
    };
    Some(known.at(sector, count, SECTOR))
}

/// An MD5 of the content, in hexadecimal digits.
fn is_digest(word: &[u8]) -> bool {
    word.len() == 32 && word.iter().all(u8::is_ascii_hexdigit)
}
