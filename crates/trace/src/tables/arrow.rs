//! Arrow IPC, by its record batches: files, of which any batch can be read, and streams.

use std::io::{self, Read};

use arrow_buffer::Buffer;
use arrow_ipc::{Block, MetadataVersion, root_as_footer};
use straddle_io::ReadAt;

use super::group::{Group, Groups, Unreadable, damaged, decoded, placed};
use super::layout::Layout;
use super::messages::{self, Decoder, exactly, length, message};
use super::rows::{Place, Scratch, count};
use super::served::{self, Served};
use crate::column_map::ColumnMap;
use crate::format::Stream;
use crate::sink::Sink;

/// The mark and the length before the description of a message.
const MARK: usize = 8;
/// What a file ends with: the length of what is before it, and the magic.
const END: u64 = 10;

/// Where a message of a file is.
#[derive(Clone, Copy)]
struct At {
    offset: u64,
    description: u64,
    body: u64,
}

impl At {
    fn of(block: &Block) -> io::Result<At> {
        let number = |number: i64| u64::try_from(number).ok();
        let at = number(block.offset())
            .zip(number(block.metaDataLength().into()))
            .zip(number(block.bodyLength()));
        let ((offset, description), body) =
            at.ok_or_else(|| damaged("a message at a negative place"))?;
        Ok(At {
            offset,
            description,
            body,
        })
    }

    /// Its description and its body.
    fn read(self, served: &Served) -> io::Result<(Vec<u8>, Buffer)> {
        let description = served.bytes(self.offset, self.description)?;
        let mark = description.first_chunk().copied();
        let mark = mark.ok_or_else(|| damaged("a message without a description"))?;
        // The length that the message gives itself may leave out what it is padded with.
        length(mark)?.ok_or_else(|| damaged("a message that is none"))?;
        let body = served.bytes(self.offset.saturating_add(self.description), self.body)?;
        Ok((description[MARK..].to_vec(), Buffer::from(body)))
    }
}

/// An Arrow file whose columns are known.
pub(crate) struct ArrowFile {
    decoder: Decoder,
    layout: Layout,
    batches: Vec<At>,
    groups: Vec<Group>,
}

impl ArrowFile {
    /// Reads what its end says, its dictionaries, and its first batch.
    pub(crate) fn open(
        source: &dyn ReadAt,
        map: Option<&ColumnMap>,
        stem: &str,
    ) -> Result<ArrowFile, Unreadable> {
        served::with(source, |served| opened(&served, map, stem))
    }
}

fn opened(served: &Served, map: Option<&ColumnMap>, stem: &str) -> Result<ArrowFile, Unreadable> {
    let size = served.size();
    let end = size
        .checked_sub(END)
        .ok_or_else(|| damaged("its end is missing"))?;
    let last = served.bytes(end, END)?;
    let (length, magic) = last.split_at(4);
    if magic != b"ARROW1" {
        return Err(damaged("its end is missing").into());
    }
    let length = length.first_chunk().copied().map(u32::from_le_bytes);
    let length = u64::from(length.unwrap_or_default());
    let at = end.checked_sub(length);
    let footer = served.bytes(at.ok_or_else(|| damaged("its end is missing"))?, length)?;
    let footer = decoded(|| root_as_footer(&footer))?;
    let schema = footer.schema().map(messages::schema);
    let schema = schema.ok_or_else(|| damaged("it names no columns"))??;
    let mut layout = Layout::of(&schema, map, stem)?;
    let mut decoder = Decoder::new(schema, footer.version(), &layout.columns);
    for block in footer.dictionaries().into_iter().flatten() {
        let (description, body) = At::of(block)?.read(served)?;
        decoder.dictionary(message(&description)?, &body)?;
    }
    let blocks = footer.recordBatches().into_iter().flatten();
    let batches = blocks.map(At::of).collect::<io::Result<Vec<At>>>()?;
    let begins: Vec<(usize, u64)> = batches.iter().map(|at| at.offset).enumerate().collect();
    let begins: Vec<_> = begins.iter().map(|(at, begin)| (at + 1, *begin)).collect();
    let groups = placed(&begins, size)?;
    for at in &batches {
        let (description, body) = at.read(served)?;
        let batch = decoder.batch(message(&description)?, &body)?;
        if let Some(batch) = batch.filter(|batch| batch.num_rows() > 0) {
            layout.learn(&batch)?;
            break;
        }
    }
    Ok(ArrowFile {
        decoder,
        layout,
        batches,
        groups,
    })
}

impl Groups for ArrowFile {
    fn groups(&self) -> &[Group] {
        &self.groups
    }

    fn read(
        &self,
        group: &Group,
        served: &Served,
        scratch: &mut Scratch,
        sink: &mut Sink<'_>,
    ) -> io::Result<()> {
        let read = || -> io::Result<_> {
            let (description, body) = self.batches[group.number - 1].read(served)?;
            let batch = self.decoder.batch(message(&description)?, &body)?;
            batch.ok_or_else(|| damaged("it is none"))
        };
        let batch = read().map_err(|error| within(group.number, &error))?;
        let place = Place {
            called: "record batch",
            group: group.number,
            before: 0,
            at: 0,
        };
        count(&batch, &self.layout, place, scratch, sink);
        Ok(())
    }
}

fn within(number: usize, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("record batch {number}: {error}"))
}

/// A stream of Arrow, or a file that is read on like one.
pub(crate) struct ArrowStream {
    /// Bytes before the first message.
    skipped: u64,
    layout: Layout,
    decoder: Decoder,
}

impl ArrowStream {
    /// How many bytes have to be seen to know the columns of a stream that begins so.
    pub(crate) fn wanted(head: &[u8]) -> usize {
        let begin = skipped(head);
        let mark = head.get(begin..).and_then(<[u8]>::first_chunk);
        let length = mark.and_then(|mark| length(*mark).ok().flatten());
        let length = length.and_then(|length| usize::try_from(length).ok());
        begin + MARK + length.unwrap_or(0)
    }

    /// With the columns that its first message names.
    pub(crate) fn open(
        head: &[u8],
        map: Option<&ColumnMap>,
        stem: &str,
    ) -> Result<ArrowStream, Unreadable> {
        let begin = skipped(head);
        let description = head.get(begin + MARK..ArrowStream::wanted(head));
        let description = description.ok_or_else(|| damaged("it ends before its columns"))?;
        let first = message(description)?;
        let schema = first.header_as_schema().map(messages::schema);
        let schema = schema.ok_or_else(|| damaged("it names no columns"))??;
        let layout = Layout::of(&schema, map, stem)?;
        Ok(ArrowStream {
            skipped: begin as u64,
            decoder: Decoder::new(schema, MetadataVersion::V5, &layout.columns),
            layout,
        })
    }

    fn read_on(&mut self, input: &mut dyn Read, sink: &mut Sink<'_>) -> io::Result<()> {
        let mut scratch = Scratch::default();
        let mut place = Place {
            called: "record batch",
            group: 0,
            before: 0,
            at: usize::try_from(self.skipped).unwrap_or_default(),
        };
        exactly(input, self.skipped)?;
        let mut has_learnt = false;
        while !sink.is_done() {
            let mut mark = [0; 8];
            match input.read(&mut mark[..1])? {
                // A stream may end without saying so.
                0 => break,
                _ => mark[1..].copy_from_slice(&exactly(input, 7)?),
            }
            let Some(length) = length(mark)? else { break };
            let description = exactly(input, length)?;
            let message = message(&description)?;
            let body = u64::try_from(message.bodyLength());
            let body = body.map_err(|_| damaged("a message of a negative length"))?;
            let bytes = Buffer::from_vec(exactly(input, body)?);
            if !self.decoder.dictionary(message, &bytes)?
                && let Some(batch) = self.decoder.batch(message, &bytes)?
            {
                place.group += 1;
                if !has_learnt && batch.num_rows() > 0 {
                    let learnt = self.layout.learn(&batch);
                    learnt.map_err(|error| io::Error::other(error.to_string()))?;
                    has_learnt = true;
                }
                count(&batch, &self.layout, place, &mut scratch, sink);
            }
            place.at += usize::try_from(length + body).unwrap_or_default() + mark.len();
        }
        Ok(())
    }
}

/// Bytes before the first message: a file has its magic there, and zeros up to a round place, which is not the same for all writers.
fn skipped(head: &[u8]) -> usize {
    match head.strip_prefix(b"ARROW1") {
        Some(rest) => head.len() - rest.len() + rest.iter().take_while(|byte| **byte == 0).count(),
        None => 0,
    }
}

impl Stream for ArrowStream {
    fn read(&mut self, input: &mut dyn Read, sink: &mut Sink<'_>) -> io::Result<()> {
        self.read_on(input, sink)
    }
}
