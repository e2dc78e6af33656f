//! What a recorder's output is, and who reads it.

use std::io::{self, BufRead, BufReader, Read};

use memchr::memmem::find;

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
    /// Line by line; where lines were wrapped on their way, each with what belongs to it.
    pub(crate) fn per_line(head: &Head<'_>, reader: impl PerLine + 'static) -> Detected {
        match head.tally(&reader).wrapped {
            0 => Detected::Lines(Box::new(Each(reader))),
            _ => Detected::Stream(Box::new(Joined(reader))),
        }
    }
}

/// Reads blocks of whole lines. It knows nothing of other blocks.
pub(crate) trait Reader: Send + Sync {
    fn read(&self, block: &[u8], sink: &mut Sink<'_>);
}

/// Reads a file in one go.
pub(crate) trait Stream: Send {
    /// # Errors
    /// When the input cannot be read; what is wrong in it goes to the sink.
    fn read(&mut self, input: &mut dyn Read, sink: &mut Sink<'_>) -> io::Result<()>;
}

/// Reads lines one by one. Those that are blank or comments never come to it, and blanks around a line are taken off.
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

/// What a reader makes of a line, without what mail puts in front of it.
fn taken<'a>(reader: &'a impl PerLine, line: &'a [u8]) -> Line<'a> {
    if line.len() > MAX_LINE {
        return Line::Bad(Fault::LineTooLong);
    }
    let line = unquoted(line).trim_ascii();
    if is_around(line) {
        return Line::Other;
    }
    match reader.line(line) {
        Line::Bad(fault) if fault.is_harmless() => Line::Other,
        line => line,
    }
}

struct Each<T>(T);

impl<T: PerLine> Reader for Each<T> {
    fn read(&self, block: &[u8], sink: &mut Sink<'_>) {
        for (at, line) in lines(block) {
            match taken(&self.0, line) {
                Line::Request(record) => sink.take(&record),
                Line::Other => sink.other(),
                Line::Bad(fault) => sink.fault(at, fault, line),
            }
        }
    }
}

/// For text that mail or a terminal wrapped: a line that is none by itself is tried once more with the next one behind it.
///
/// It has to be a stream, as a block may end between the two.
struct Joined<T>(T);

/// What `found` makes of two lines that are one request, wrapped at a blank or within a word. Where both are possible and differ, nobody knows.
fn joined<T>(
    reader: &impl PerLine,
    first: &[u8],
    second: &[u8],
    found: impl FnOnce(&Record<'_>) -> T,
) -> Option<T> {
    let (first, second) = (unquoted(first).trim_ascii(), unquoted(second).trim_ascii());
    if first.len() + second.len() > MAX_LINE {
        return None;
    }
    // In mail that is stored as it was sent, a line that goes on within a word ends with a sign of equality.
    if let Some(first) = first.strip_suffix(b"=") {
        let line = [first, second].concat();
        if let Line::Request(record) = reader.line(&line) {
            return Some(found(&record));
        }
    }
    let at_blank = [first, b" ", second].concat();
    let within = [first, second].concat();
    match (reader.line(&at_blank), reader.line(&within)) {
        (Line::Request(one), Line::Request(other)) => (one == other).then(|| found(&one)),
        (Line::Request(record), _) | (_, Line::Request(record)) => Some(found(&record)),
        _ => None,
    }
}

impl<T: PerLine> Stream for Joined<T> {
    fn read(&mut self, input: &mut dyn Read, sink: &mut Sink<'_>) -> io::Result<()> {
        let mut input = BufReader::with_capacity(128 << 10, input);
        let mut at = 0;
        let mut line = Vec::new();
        // A line that may go on.
        let mut open: Option<(usize, Fault, Vec<u8>)> = None;
        let mut failed = Ok(());
        while !sink.is_done() {
            line.clear();
            let read = match one_line(&mut input, &mut line) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) => {
                    failed = Err(error);
                    break;
                }
            };
            let begin = at;
            at += read;
            let mut text = line.strip_suffix(b"\n").unwrap_or(&line);
            text = text.strip_suffix(b"\r").unwrap_or(text);
            if begin == 0 {
                text = text.strip_prefix(BOM).unwrap_or(text);
            }
            let this = taken(&self.0, text);
            if let Some((at, fault, before)) = open.take() {
                if matches!(this, Line::Bad(_))
                    && joined(&self.0, &before, text, |record| sink.take(record)).is_some()
                {
                    sink.other();
                    continue;
                }
                sink.fault(at, fault, &before);
            }
            match this {
                Line::Request(record) => sink.take(&record),
                Line::Other => sink.other(),
                Line::Bad(fault) => open = Some((begin, fault, text.to_vec())),
            }
        }
        if let Some((at, fault, before)) = open {
            sink.fault(at, fault, &before);
        }
        failed
    }
}

/// Reads a line to its end, and keeps no more of it than shows that it is too long.
fn one_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let mut read = 0;
    loop {
        let found = match input.fill_buf() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = memchr::memchr(b'\n', found);
        let used = end.map_or(found.len(), |end| end + 1);
        let room = (MAX_LINE + 2).saturating_sub(line.len());
        line.extend_from_slice(&found[..used.min(room)]);
        input.consume(used);
        read += used;
        if end.is_some() || used == 0 {
            return Ok(read);
        }
    }
}

/// What UTF-8 may begin with.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// A line without the marks of quoted mail.
pub(crate) fn unquoted(mut line: &[u8]) -> &[u8] {
    while let Some(rest) = line.trim_ascii_start().strip_prefix(b">") {
        line = rest;
    }
    line
}

/// Whether a line without blanks around it is none of the recorder's, but stands around its output where that was pasted: comments, what
/// marks lines that were left out and blocks of code, prompts with what was typed, and the key that ended it.
pub(crate) fn is_around(line: &[u8]) -> bool {
    match line {
        [] | [b'#', ..] => true,
        b"..." | b"[...]" | b"[..]" | b"[snip]" | b"<snip>" | [b'`', b'`', b'`', ..] => true,
        // A shell may have its prompt right behind the key.
        [b'^', b'C', rest @ ..] => rest.is_empty() || is_prompt(rest),
        [b'|' | b'+' | b'-' | b':' | b'=', ..] => is_ruler(line),
        [b'(', digit, ..] if digit.is_ascii_digit() => is_sum(line),
        _ => is_prompt(line),
    }
}

/// `|---|:--:|`, `+------+-----+`, `------ -----`: what stands below the names of columns.
fn is_ruler(line: &[u8]) -> bool {
    let is_of_ruler = |byte: &u8| b"|+-:= \t".contains(byte);
    line.iter().all(is_of_ruler) && find(line, b"---").or(find(line, b"===")).is_some()
}

/// `(12 rows)`, `(12 rows affected)`: what clients of databases put below a table.
fn is_sum(line: &[u8]) -> bool {
    let rest = line[1..].trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    matches!(
        &rest[digits..],
        b" row)" | b" rows)" | b" row affected)" | b" rows affected)" | b" row(s) affected)"
    )
}

/// `$ cat x`, `root@db1:~# cat x`, `[root@db1 ~]$`, `root@nas[~]#`, `C:\>type x`, `PS C:\>`.
fn is_prompt(line: &[u8]) -> bool {
    let path = line.strip_prefix(b"PS ").unwrap_or(line);
    if let [drive, b':', b'\\', rest @ ..] = path {
        return drive.is_ascii_alphabetic() && rest.contains(&b'>');
    }
    let ends = |rest: &[u8]| matches!(rest, [b'$' | b'#' | b'%'] | [b'$' | b'#' | b'%', b' ', ..]);
    if line.starts_with(b"$") {
        return ends(line);
    }
    let inner = line.strip_prefix(b"[").unwrap_or(line);
    let word = |text: &[u8]| {
        let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
        text.iter().take_while(|byte| is_of_name(byte)).count()
    };
    let user = word(inner);
    let Some([b'@', rest @ ..]) = inner.get(user..).filter(|_| user > 0) else {
        return false;
    };
    let host = word(rest);
    let Some([b':' | b' ' | b'[', rest @ ..]) = rest.get(host..).filter(|_| host > 0) else {
        return false;
    };
    // The directory, which shells shorten; zsh puts a blank behind it.
    let end = rest.iter().position(|byte| b" ]$#%".contains(byte));
    let Some(rest) = end.and_then(|end| rest.get(end..)) else {
        return false;
    };
    let rest = rest.strip_prefix(b"]").unwrap_or(rest);
    ends(rest.strip_prefix(b" ").unwrap_or(rest))
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

/// What the first lines of a file are to a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) requests: usize,
    /// Of these, how many are two lines.
    pub(crate) wrapped: usize,
    pub(crate) other: usize,
    pub(crate) bad: usize,
}

impl Tally {
    /// Whether this is the recorder's output: there is a request, and what the reader knows nothing of is the smaller part. An
    /// example in a page of prose is not read for a trace.
    pub(crate) fn is_trace(self) -> bool {
        self.requests > 0 && self.bad <= self.requests + self.other
    }
}

impl<'a> Head<'a> {
    /// Its lines as far as they are whole, without what mail puts in front, those that are blank or stand around it left out.
    pub(crate) fn all_lines(&self) -> impl Iterator<Item = &'a [u8]> {
        let end = match self.whole {
            true => self.bytes.len(),
            false => memchr::memrchr(b'\n', self.bytes).map_or(0, |end| end + 1),
        };
        lines(&self.bytes[..end])
            .map(|(_, line)| unquoted(line).trim_ascii())
            .filter(|line| !is_around(line))
    }

    /// Whether more than half of its first lines are requests: some may be damaged, or of whoever pasted it, but not most.
    pub(crate) fn is_mostly(&self, is_request: impl Fn(&[u8]) -> bool) -> bool {
        let (mut yes, mut all) = (0, 0);
        for (at, line) in self.all_lines().take(200).enumerate() {
            let is = is_request(line);
            // A heading is no request.
            all += usize::from(is || at > 0);
            yes += usize::from(is);
        }
        yes * 2 > all
    }

    /// The first line, where it names the columns of a table: so many words, none of which is a number.
    pub(crate) fn heading(&self, separator: u8, count: usize) -> Option<Vec<u8>> {
        let line = self.all_lines().next()?;
        let is_name = |cell: &[u8]| {
            let mut letters = cell.iter().skip_while(|byte| matches!(byte, b' ' | b'"'));
            letters.next().is_some_and(u8::is_ascii_alphabetic)
        };
        let mut cells = 0;
        for cell in line.split(|byte| *byte == separator) {
            if !is_name(cell) {
                return None;
            }
            cells += 1;
        }
        (cells >= count).then(|| line.to_vec())
    }

    /// Whether one of its lines is such a line.
    pub(crate) fn has(&self, is: impl Fn(&[u8]) -> bool) -> bool {
        self.all_lines().any(is)
    }

    /// What its lines are to this reader.
    pub(crate) fn tally(&self, reader: &impl PerLine) -> Tally {
        let mut tally = Tally::default();
        let mut open: Option<&[u8]> = None;
        for line in self.all_lines() {
            let this = taken(reader, line);
            if let Some(before) = open.take() {
                if matches!(this, Line::Bad(_)) && joined(reader, before, line, |_| ()).is_some() {
                    tally.requests += 1;
                    tally.wrapped += 1;
                    continue;
                }
                tally.bad += 1;
            }
            match this {
                Line::Request(_) => tally.requests += 1,
                Line::Other => tally.other += 1,
                Line::Bad(_) => open = Some(line),
            }
        }
        tally.bad += usize::from(open.is_some());
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_an_output_is_told_from_lines_of_recorders() {
        for line in [
            "# tracer: nop",
            "$ sudo biosnoop-bpfcc",
            "$",
            "^C",
            "^Croot@db1:~#",
            "root@db1:~# cat trace.txt",
            "root@db1:/var/tmp$ head -100 x",
            "[root@db1 ~]# blkparse -i sda",
            "root@nas[~]#",
            "me@mac ~ % cat x",
            "C:\\tmp>type x.csv",
            "PS C:\\> gc x.csv",
            "```text",
            "[snip]",
        ] {
            assert!(is_around(line.as_bytes()), "{line}");
        }
        for line in [
            "$2 of them",
            "8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]",
            "fio@2 21340 [002] 11553.129182: block:block_rq_issue: 8,16 WS 4096 () 63 + 8 [fio]",
            "a@b:c 12 read 0 4096",
            "a@b 4179 [001] # 63",
            "C:data read 0 4096",
            "128166372003061629,hm,1,Read,383496192,32768,413",
            "Hi, here is the trace:",
        ] {
            assert!(!is_around(line.as_bytes()), "{line}");
        }
    }
}
