//! What a recorder's output is, and who reads it.

use std::io::{self, Read};

use crate::lines::Fault;
use crate::record::Record;
use crate::sink::Sink;

/// A longer line is none of a trace.
pub(crate) const MAX_LINE: usize = 64 << 10;

/// Something that records requests.
pub struct Format {
    /// Name, as in reports and in `--format`: `msr`, `blkparse`.
    pub name: &'static str,
    /// What writes it.
    pub of: &'static str,
    /// Units, columns and where they are described, for the page of formats.
    pub says: &'static str,
    /// How a file is read whose beginning is this; `None` when it is another's.
    pub(crate) detect: fn(&Head<'_>) -> Option<Detected>,
}

/// How a file is read.
pub(crate) enum Detected {
    /// Line by line, so that threads can share a file.
    Lines(Box<dyn Reader>),
    /// From its beginning to its end.
    Stream(Box<dyn Stream>),
    /// It is known, and there are no requests to be had from it.
    Refused(&'static str),
}

impl Detected {
    pub(crate) fn per_line(reader: impl PerLine + 'static) -> Detected {
        Detected::Lines(Box::new(Each(reader)))
    }
}

/// Reads blocks of whole lines. It knows nothing of other blocks.
pub(crate) trait Reader: Send + Sync {
    fn read(&self, block: &[u8], sink: &mut Sink);
}

/// Reads a file in one go.
pub(crate) trait Stream: Send {
    /// # Errors
    /// When the input cannot be read; what is wrong in it goes to the sink.
    fn read(&mut self, input: &mut dyn Read, sink: &mut Sink) -> io::Result<()>;
}

/// Reads lines one by one.
pub(crate) trait PerLine: Send + Sync {
    fn line<'a>(&'a self, line: &'a [u8]) -> Line<'a>;
}

/// What a line is.
pub(crate) enum Line<'a> {
    Request(Record<'a>),
    /// Something else of the same recorder.
    Other,
    Bad(Fault),
}

impl<'a> From<Result<Record<'a>, Fault>> for Line<'a> {
    fn from(result: Result<Record<'a>, Fault>) -> Line<'a> {
        match result {
            Ok(record) => Line::Request(record),
            Err(fault) => Line::Bad(fault),
        }
    }
}

struct Each<T>(T);

impl<T: PerLine> Reader for Each<T> {
    fn read(&self, block: &[u8], sink: &mut Sink) {
        for (at, line) in lines(block) {
            if line.len() > MAX_LINE {
                sink.fault(at, Fault::LineTooLong, line);
                continue;
            }
            match self.0.line(line) {
                Line::Request(record) => sink.take(&record),
                Line::Other => sink.other(),
                Line::Bad(fault) => sink.fault(at, fault, line),
            }
        }
    }
}

/// The lines of a block, each with its first byte. Behind the last line break there is none.
pub(crate) fn lines(block: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = block.get(at..).filter(|rest| !rest.is_empty())?;
        let begin = at;
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        at += end + 1;
        let line = &rest[..end];
        Some((begin, line.strip_suffix(b"\r").unwrap_or(line)))
    })
}

/// The beginning of a file.
pub(crate) struct Head<'a> {
    pub(crate) bytes: &'a [u8],
    /// Nothing follows.
    pub(crate) whole: bool,
    /// The name of the file without its folder and ending: the device, where no line names one.
    pub(crate) stem: &'a str,
}

impl<'a> Head<'a> {
    /// Its first lines that are neither blank nor comments, as far as they are whole.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &'a [u8]> {
        let end = match self.whole {
            true => self.bytes.len(),
            false => memchr::memrchr(b'\n', self.bytes).map_or(0, |end| end + 1),
        };
        lines(&self.bytes[..end])
            .map(|(_, line)| line.trim_ascii())
            .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
            .take(200)
    }

    /// Whether most of its first lines are requests, and at least one: a line may be damaged, but not all of them.
    pub(crate) fn is_mostly(&self, is_request: impl Fn(&[u8]) -> bool) -> bool {
        let (mut yes, mut all) = (0, 0);
        for line in self.lines() {
            all += 1;
            yes += usize::from(is_request(line));
        }
        yes > 0 && yes * 10 >= all * 9
    }

    /// Whether one of its first lines is such a line.
    pub(crate) fn has(&self, is: impl Fn(&[u8]) -> bool) -> bool {
        self.lines().any(is)
    }
}
