//! From bytes of a file to blocks of whole lines, packed or not.

use std::io::{self, Read};

use straddle_geometry::Bytes;
use straddle_io::ReadAt;

use crate::format::MAX_LINE;

/// How much of a file a thread takes at once.
pub(crate) const BLOCK: u64 = 512 << 10;

/// UTF-16, as Windows PowerShell writes it with `>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wide {
    Little,
    Big,
}

impl Wide {
    /// Of a file that begins so. Without a mark of byte order, every other byte is zero, as in no other text.
    pub(crate) fn of(head: &[u8]) -> Option<Wide> {
        match head {
            [0xff, 0xfe, ..] => return Some(Wide::Little),
            [0xfe, 0xff, ..] => return Some(Wide::Big),
            _ => {}
        }
        let pairs = || head.chunks_exact(2).take(PEEK / 2);
        if pairs().len() < 4 {
            return None;
        }
        let is_text = |byte: u8| matches!(byte, b'\t' | b'\r' | b'\n' | b' '..=b'~');
        if pairs().all(|pair| is_text(pair[0]) && pair[1] == 0) {
            return Some(Wide::Little);
        }
        let is_big = pairs().all(|pair| pair[0] == 0 && is_text(pair[1]));
        is_big.then_some(Wide::Big)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Wide::Little => "utf-16le",
            Wide::Big => "utf-16be",
        }
    }

    /// The same text in UTF-8.
    pub(crate) fn decode<'a>(self, input: Box<dyn Read + Send + 'a>) -> Box<dyn Read + Send + 'a> {
        let encoding = match self {
            Wide::Little => encoding_rs::UTF_16LE,
            Wide::Big => encoding_rs::UTF_16BE,
        };
        Box::new(Decoded {
            input,
            decoder: encoding.new_decoder_with_bom_removal(),
            text: Vec::new(),
            at: 0,
            ended: false,
        })
    }
}

/// As much is looked at to tell UTF-16.
pub(crate) const PEEK: usize = 64;

struct Decoded<R> {
    input: R,
    decoder: encoding_rs::Decoder,
    /// What was decoded, handed out up to `at`.
    text: Vec<u8>,
    at: usize,
    ended: bool,
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.text.len() && !self.ended {
            let mut raw = [0; 16 << 10];
            let read = self.input.read(&mut raw)?;
            self.ended = read == 0;
            let room = self.decoder.max_utf8_buffer_length(read).unwrap_or(0);
            self.text.resize(room, 0);
            let (_, _, written, _) =
                self.decoder
                    .decode_to_utf8(&raw[..read], &mut self.text, self.ended);
            self.text.truncate(written);
            self.at = 0;
        }
        let rest = &self.text[self.at..];
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        self.at += len;
        Ok(len)
    }
}

/// A file, or what comes out of a pipe.
pub struct Input<'a> {
    /// As it is named in reports.
    pub name: String,
    /// Its bytes.
    pub source: Source<'a>,
}

/// Where bytes come from.
pub enum Source<'a> {
    /// Something that can be read anywhere; of it the lines that begin in this range (all, where there is none).
    At(&'a dyn ReadAt, Option<(u64, u64)>),
    /// Something that can only be read on.
    Stream(Box<dyn Read + Send + 'a>),
}

/// Something that can be read anywhere, from its beginning on.
pub(crate) struct FromStart<'a> {
    pub(crate) source: &'a dyn ReadAt,
    pub(crate) at: u64,
}

impl Read for FromStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read_at(Bytes::new(self.at), buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// The lines that begin in bytes `from..to` of a file, in `buffer`; and where the first of them begins there and in the file.
///
/// A line that begins before `to` is read to its end, but never more than a line may have: the rest of a longer one is found by
/// those who read the next blocks to be no line's beginning.
pub(crate) fn block(
    source: &dyn ReadAt,
    from: u64,
    to: u64,
    buffer: &mut Vec<u8>,
) -> io::Result<(usize, u64)> {
    buffer.clear();
    // The byte before tells whether a line begins at `from`.
    let before = u64::from(from > 0);
    let wanted = usize::try_from(to - from + before).unwrap_or(usize::MAX);
    let mut had = 0;
    while had < wanted {
        let read =
            source.append_at(Bytes::new(from - before + had as u64), wanted - had, buffer)?;
        if read == 0 {
            break;
        }
        had += read;
    }
    let begin = match before {
        0 => 0,
        _ => match memchr::memchr(b'\n', buffer) {
            Some(end) => end + 1,
            None => buffer.len(),
        },
    };
    // The last line goes on behind `to`, unless it ends right there.
    if begin < buffer.len() && buffer.last() != Some(&b'\n') {
        let mut more = Vec::new();
        while more.len() <= MAX_LINE {
            let at = Bytes::new(from - before + (had + more.len()) as u64);
            let len = more.len();
            if source.append_at(at, 4096, &mut more)? == 0 {
                break;
            }
            if let Some(end) = memchr::memchr(b'\n', &more[len..]) {
                more.truncate(len + end + 1);
                break;
            }
        }
        buffer.extend_from_slice(&more);
    }
    Ok((begin, from - before + begin as u64))
}

/// Cuts what can only be read on into blocks of whole lines.
pub(crate) struct Cutter<R> {
    input: R,
    /// How much is read at once.
    block: u64,
    /// The first byte that was not handed out.
    at: u64,
    /// Begins the next block.
    kept: Vec<u8>,
    /// In the middle of a line that is too long.
    skipping: bool,
    ended: bool,
    /// Comes behind what was read before it.
    failed: Option<io::Error>,
}

/// A block of whole lines.
pub(crate) struct Lines {
    /// The part of the file that it stands for.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Where the first line begins.
    pub(crate) begin: u64,
    pub(crate) bytes: Vec<u8>,
}

impl<R: Read> Cutter<R> {
    pub(crate) fn new(input: R, block: u64) -> Cutter<R> {
        Cutter {
            input,
            block,
            at: 0,
            kept: Vec::new(),
            skipping: false,
            ended: false,
            failed: None,
        }
    }

    /// The next block; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Lines>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.ended {
            return Ok(None);
        }
        let mut bytes = std::mem::take(&mut self.kept);
        let from = self.at;
        self.read(&mut bytes);
        // Behind what was read, before anything is taken off it.
        let end = from + bytes.len() as u64;
        let mut begin = from;
        if self.skipping {
            let over = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |end| end + 1);
            self.skipping = bytes[..over].last() != Some(&b'\n');
            bytes.drain(..over);
            begin += over as u64;
        }
        if !self.ended || self.failed.is_some() {
            let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |end| end + 1);
            self.kept = bytes.split_off(whole);
            if self.kept.len() > MAX_LINE {
                // Enough of it to be seen to be too long.
                self.skipping = true;
                self.kept.truncate(MAX_LINE + 1);
                bytes.append(&mut self.kept);
            }
        }
        self.at = match self.failed {
            // Nobody knows how this line goes on.
            Some(_) => end,
            None => end - self.kept.len() as u64,
        };
        Ok(Some(Lines {
            from,
            to: self.at,
            begin,
            bytes,
        }))
    }

    /// Reads a block behind what `bytes` has.
    fn read(&mut self, bytes: &mut Vec<u8>) {
        let mut read = bytes.len();
        bytes.resize(read + usize::try_from(self.block).unwrap_or(usize::MAX), 0);
        while read < bytes.len() {
            match self.input.read(&mut bytes[read..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(n) => read += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.ended = true;
                    self.failed = Some(error);
                    break;
                }
            }
        }
        bytes.truncate(read);
    }
}

/// Up to `len` bytes from there on, behind what `buffer` has.
pub(crate) fn read_at(
    source: &dyn ReadAt,
    at: u64,
    len: usize,
    buffer: &mut Vec<u8>,
) -> io::Result<()> {
    while buffer.len() < len {
        let next = Bytes::new(at + buffer.len() as u64);
        if source.append_at(next, len - buffer.len(), buffer)? == 0 {
            break;
        }
    }
    Ok(())
}

type Stretch<'a> = Box<dyn Read + Send + 'a>;

/// The beginning of a stream, and the stream with it. What cannot be read behind it is found later.
pub(crate) fn peeked(mut stream: Stretch<'_>, len: usize) -> io::Result<(Vec<u8>, Stretch<'_>)> {
    let mut head = Vec::new();
    let begun = (&mut stream).take(len as u64).read_to_end(&mut head);
    if head.is_empty() {
        begun?;
    }
    let whole = io::Cursor::new(head.clone()).chain(stream);
    Ok((head, Box::new(whole)))
}

/// Counts what was read.
pub(crate) struct Counted<'a> {
    pub(crate) input: &'a mut dyn Read,
    pub(crate) bytes: u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}
