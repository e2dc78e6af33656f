//! From a stream of bytes to lines: packed or not, in any encoding, of any length.

use std::io::{self, Read};

use straddle_io::{Packing, ahead, fill};
use straddle_sources::captured::{self, CodePage, Wide};

use crate::binary;
use crate::error::EvidenceError;
use crate::format::Format;
use crate::gathered::Gathered;
use crate::line::Line;
use crate::notes::Found;
use crate::registry::FORMATS;
use crate::session::Session;

/// A text up to here is read as one, without what mail, terminals and web pages did to it.
const WHOLE: usize = 1 << 20;
/// How much is read at once.
const BLOCK: usize = 1 << 18;
/// A longer line is cut: the names of all counters of a large host are a line of some megabytes.
const LONGEST_LINE: usize = 8 << 20;

/// Reads one input to its end.
///
/// # Errors
/// When it cannot be read to its end; what was read before is in `gathered`.
pub fn read(
    name: &str,
    input: &mut (dyn Read + Send),
    gathered: &mut Gathered,
) -> Result<Found, EvidenceError> {
    read_with(FORMATS, name, input, gathered)
}

/// Reads one input to its end, and looks for these `formats` only.
///
/// # Errors
/// As [`read`].
pub fn read_with(
    formats: &'static [&'static Format],
    name: &str,
    input: &mut (dyn Read + Send),
    gathered: &mut Gathered,
) -> Result<Found, EvidenceError> {
    let mut session = Session::new(formats, name, gathered);
    let mut head = [0; Packing::HEAD];
    let (had, begun) = fill(input, &mut head);
    begun.map_err(|error| EvidenceError::Read {
        name: name.to_owned(),
        line: 0,
        error,
    })?;
    let whole = (&head[..had]).chain(input);
    let packing = Packing::of(&head[..had]);
    let done = match packing {
        Some(packing) => decoded(packing.unpack(whole), true, &mut session),
        None => decoded(whole, false, &mut session),
    };
    let (mut found, line) = session.close();
    found.binary = binary::of(name, &head[..had]);
    let name = name.to_owned();
    done.map_err(|error| match packing {
        Some(packing) => EvidenceError::Packed {
            name,
            packing: packing.name(),
            line,
            error,
        },
        None => EvidenceError::Read { name, line, error },
    })?;
    Ok(found)
}

/// What `is_slow`, as it has to be unpacked, is read by a thread of its own once it is longer than most are.
fn decoded(
    mut input: impl Read + Send,
    is_slow: bool,
    session: &mut Session<'_>,
) -> io::Result<()> {
    let mut block = vec![0; WHOLE + 1];
    let (had, done) = fill(&mut input, &mut block);
    block.truncate(had);
    if had <= WHOLE {
        let mut lines = captured::lines(&block);
        // Behind the last line break there is no line.
        lines.pop_if(|(_, text)| text.is_empty());
        for (number, text) in lines {
            session.line(&Line {
                number,
                text: &text,
            });
        }
        return done;
    }
    match is_slow {
        true => ahead(input, |input| in_blocks(&block, input, session)),
        false => in_blocks(&block, &mut input, session),
    }
}

/// What begins with `block`, of any length.
fn in_blocks(block: &[u8], input: &mut dyn Read, session: &mut Session<'_>) -> io::Result<()> {
    let encoding = captured::wide(block).map(|wide| match wide {
        Wide::LowFirst => encoding_rs::UTF_16LE,
        Wide::HighFirst => encoding_rs::UTF_16BE,
    });
    let mut rest = block.chain(input);
    let mut lines = Lines {
        number: 0,
        kept: Vec::new(),
        cut: false,
        page: None,
    };
    // What was read before a fault is kept.
    let fault;
    match encoding {
        None => {
            let mut block = vec![0; BLOCK];
            let mut first = true;
            loop {
                let (had, done) = fill(&mut rest, &mut block);
                if had == 0 {
                    fault = done;
                    break;
                }
                let mark: &[u8] = b"\xef\xbb\xbf";
                let bytes = block[..had].strip_prefix(mark).filter(|_| first);
                lines.take(bytes.unwrap_or(&block[..had]), session);
                first = false;
                if done.is_err() {
                    fault = done;
                    break;
                }
            }
        }
        Some(encoding) => {
            let mut decoder = encoding.new_decoder_with_bom_removal();
            let mut block = vec![0; BLOCK];
            let mut text = vec![0; BLOCK * 2];
            loop {
                let (had, done) = fill(&mut rest, &mut block);
                let mut from = 0;
                loop {
                    let last = had == 0;
                    let (result, read, written, _) =
                        decoder.decode_to_utf8(&block[from..had], &mut text, last);
                    from += read;
                    lines.take(&text[..written], session);
                    if result == encoding_rs::CoderResult::InputEmpty {
                        break;
                    }
                }
                if had == 0 || done.is_err() {
                    fault = done;
                    break;
                }
            }
        }
    }
    lines.end(session);
    fault
}

/// Cuts blocks into lines.
struct Lines {
    /// Of the last line.
    number: u64,
    /// The beginning of a line that goes on in the next block.
    kept: Vec<u8>,
    /// More of that line was left out.
    cut: bool,
    /// Of this block, once a line of it was no UTF-8: words and letters of one line alone tell little.
    page: Option<CodePage>,
}

impl Lines {
    fn take(&mut self, whole: &[u8], session: &mut Session<'_>) {
        self.page = None;
        let mut block = whole;
        if !self.kept.is_empty() || self.cut {
            let Some(end) = memchr::memchr(b'\n', block) else {
                return self.keep(block);
            };
            self.keep(&block[..end]);
            let kept = std::mem::take(&mut self.kept);
            self.give(&kept, whole, session);
            self.kept = kept;
            self.kept.clear();
            block = &block[end + 1..];
        }
        while let Some(end) = memchr::memchr(b'\n', block) {
            self.give(&block[..end], whole, session);
            block = &block[end + 1..];
        }
        self.keep(block);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LONGEST_LINE.saturating_sub(self.kept.len());
        self.cut |= bytes.len() > room;
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Gives a line of a block.
    fn give(&mut self, bytes: &[u8], block: &[u8], session: &mut Session<'_>) {
        self.number += 1;
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let cut = std::mem::take(&mut self.cut);
        match std::str::from_utf8(bytes) {
            Ok(text) => session.whole_line(self.number, text, cut),
            // Cut in the middle of a character at the end.
            Err(error) if error.error_len().is_none() => {
                session.whole_line(self.number, &String::from_utf8_lossy(bytes), cut);
            }
            Err(_) => {
                let page = self.page.get_or_insert_with(|| CodePage::of(block));
                session.whole_line(self.number, &page.decode(bytes), cut);
            }
        }
    }

    fn end(&mut self, session: &mut Session<'_>) {
        if !self.kept.is_empty() {
            let kept = std::mem::take(&mut self.kept);
            self.give(&kept, &kept, session);
        }
    }
}
