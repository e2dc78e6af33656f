//! Messages of Arrow IPC: a description, and a body with the columns. See <https://arrow.apache.org/docs/format/Columnar.html>.

use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{Endianness, Message, MetadataVersion, root_as_message};
use arrow_schema::{Schema, SchemaRef};

use super::group::{damaged, decoded};

/// Marks that a message follows.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// A description is a few hundred bytes; that of a table of thousands of columns has its names.
const LONGEST: u32 = 16 << 20;
/// Columns of one message come to no more than that when they are unpacked: what they claim is believed up to there only.
const LARGEST: i64 = 1 << 30;

/// The length of the description that begins here, behind mark and length; `None` at the end of a stream.
pub(super) fn length(mark: [u8; 8]) -> io::Result<Option<u64>> {
    let [a, b, c, d, length @ ..] = mark;
    if [a, b, c, d] != CONTINUATION {
        return Err(damaged("there is no message where one is to begin"));
    }
    match u32::from_le_bytes(length) {
        0 => Ok(None),
        length if length <= LONGEST => Ok(Some(length.into())),
        length => Err(damaged(format_args!("a description of {length} bytes"))),
    }
}

/// The next so many bytes.
pub(super) fn exactly(input: &mut dyn Read, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(len).read_to_end(&mut bytes)?;
    match bytes.len() as u64 == len {
        true => Ok(bytes),
        false => Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "it ends within a message",
        )),
    }
}

pub(super) fn message(bytes: &[u8]) -> io::Result<Message<'_>> {
    decoded(|| root_as_message(bytes))
}

/// The columns of a table.
pub(super) fn schema(schema: arrow_ipc::Schema<'_>) -> io::Result<Schema> {
    if schema.endianness() != Endianness::Little {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "its numbers begin with their highest byte: write it again on another machine",
        ));
    }
    decoded(|| try_fb_to_schema(schema))
}

/// What messages are decoded with.
#[derive(Clone)]
pub(super) struct Decoder {
    schema: SchemaRef,
    version: MetadataVersion,
    dictionaries: HashMap<i64, ArrayRef>,
    columns: Vec<usize>,
}

impl Decoder {
    pub(super) fn new(schema: Schema, version: MetadataVersion, columns: &[usize]) -> Decoder {
        Decoder {
            schema: Arc::new(schema),
            version,
            dictionaries: HashMap::new(),
            columns: columns.to_vec(),
        }
    }

    /// Keeps a dictionary, or adds to one; false for a message that is none.
    pub(super) fn dictionary(&mut self, message: Message<'_>, body: &Buffer) -> io::Result<bool> {
        let Some(batch) = message.header_as_dictionary_batch() else {
            return Ok(false);
        };
        if let Some(data) = batch.data() {
            check(data, body)?;
        }
        decoded(|| {
            read_dictionary(
                body,
                batch,
                &self.schema,
                &mut self.dictionaries,
                &self.version,
            )
        })?;
        Ok(true)
    }

    /// The columns of a record batch that are wanted; `None` for a message that is none.
    pub(super) fn batch(
        &self,
        message: Message<'_>,
        body: &Buffer,
    ) -> io::Result<Option<RecordBatch>> {
        let Some(batch) = message.header_as_record_batch() else {
            return Ok(None);
        };
        check(batch, body)?;
        let read = decoded(|| {
            read_record_batch(
                body,
                batch,
                Arc::clone(&self.schema),
                &self.dictionaries,
                Some(&self.columns),
                &self.version,
            )
        })?;
        Ok(Some(read))
    }
}

/// Whether buffers lie within the body, and packed ones claim no more than can be.
fn check(batch: arrow_ipc::RecordBatch<'_>, body: &Buffer) -> io::Result<()> {
    let is_packed = batch.compression().is_some();
    let mut sum = 0_i64;
    for buffer in batch.buffers().into_iter().flatten() {
        let from = usize::try_from(buffer.offset());
        let len = usize::try_from(buffer.length());
        let bytes = match (from, len) {
            (Ok(from), Ok(len)) => from
                .checked_add(len)
                .and_then(|to| body.as_slice().get(from..to)),
            _ => None,
        };
        let bytes = bytes.ok_or_else(|| damaged("a column beyond the end of its message"))?;
        if !is_packed || bytes.is_empty() {
            continue;
        }
        let claimed = bytes.first_chunk().map(|bytes| i64::from_le_bytes(*bytes));
        sum = match claimed {
            // Kept as it is.
            Some(-1) => sum,
            Some(claimed @ 0..=LARGEST) => sum + claimed,
            _ => return Err(damaged("a packed column of no length that can be")),
        };
        if sum > LARGEST {
            return Err(damaged("columns of more than 1 GiB in one message"));
        }
    }
    Ok(())
}
