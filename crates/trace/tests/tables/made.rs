//! Rows as CSV, and as files of Parquet and Arrow by their own writers.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Snappy,
    Gzip,
    Zstd,
    Lz4,
    ArrowFile,
    ArrowFileLz4,
    ArrowStream,
    ArrowStreamZstd,
}

impl Kind {
    pub(crate) const ALL: [Kind; 9] = [
        Kind::Plain,
        Kind::Snappy,
        Kind::Gzip,
        Kind::Zstd,
        Kind::Lz4,
        Kind::ArrowFile,
        Kind::ArrowFileLz4,
        Kind::ArrowStream,
        Kind::ArrowStreamZstd,
    ];

    pub(crate) fn format(self) -> &'static str {
        match self {
            Kind::Plain | Kind::Snappy | Kind::Gzip | Kind::Zstd | Kind::Lz4 => "parquet",
            _ => "arrow",
        }
    }
}

/// Requests, column by column.
#[derive(Default)]
pub(crate) struct Rows {
    time: Vec<i64>,
    host: Vec<&'static str>,
    disk: Vec<i32>,
    kind: Vec<&'static str>,
    offset: Vec<i64>,
    size: Vec<i64>,
}

impl Rows {
    /// Of four disks each of three hosts; every third begins where the one before it ended, and times run backwards now and then.
    pub(crate) fn many(count: usize) -> Rows {
        let mut rows = Rows::default();
        let (mut x, mut end, mut time) = (0x9e37_79b9_7f4a_7c15_u64, 0, 1_700_000_000_000_000_000);
        let mut below = |most: u64| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            i64::try_from(x % most).expect("small")
        };
        for row in 0..count {
            time += below(3_000_000) - 1_000_000;
            let (host, disk) = match row % 3 {
                0 if row > 0 => (rows.host[row - 1], rows.disk[row - 1]),
                _ => {
                    let host = ["web", "db", "mail"][usize::try_from(below(3)).expect("small")];
                    (host, i32::try_from(below(4)).expect("small"))
                }
            };
            let offset = match row % 3 {
                0 => end,
                _ => below(1 << 30) * 512,
            };
            let size = 512 << below(9);
            end = offset + size;
            rows.time.push(time);
            rows.host.push(host);
            rows.disk.push(disk);
            rows.kind
                .push(["Read", "Write"][usize::try_from(below(2)).expect("small")]);
            rows.offset.push(offset);
            rows.size.push(size);
        }
        rows
    }

    fn batch(&self) -> RecordBatch {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("timestamp", Arc::new(Int64Array::from(self.time.clone()))),
            ("host", Arc::new(StringArray::from(self.host.clone()))),
            ("disk", Arc::new(Int32Array::from(self.disk.clone()))),
            ("type", Arc::new(StringArray::from(self.kind.clone()))),
            ("offset", Arc::new(Int64Array::from(self.offset.clone()))),
            ("size", Arc::new(Int64Array::from(self.size.clone()))),
        ];
        batch(columns)
    }
}

pub(crate) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("columns of one length")
}

pub(crate) fn csv(rows: &Rows) -> String {
    let mut text = "timestamp,host,disk,type,offset,size\n".to_owned();
    for at in 0..rows.time.len() {
        let _ = writeln!(
            text,
            "{},{},{},{},{},{}",
            rows.time[at],
            rows.host[at],
            rows.disk[at],
            rows.kind[at],
            rows.offset[at],
            rows.size[at]
        );
    }
    text
}

/// The same in a file, with so many rows in each group.
pub(crate) fn file(rows: &Rows, kind: Kind, group: usize) -> Vec<u8> {
    written(&rows.batch(), kind, group)
}

pub(crate) fn written(batch: &RecordBatch, kind: Kind, group: usize) -> Vec<u8> {
    match kind {
        Kind::Plain => parquet(batch, Compression::UNCOMPRESSED, group),
        Kind::Snappy => parquet(batch, Compression::SNAPPY, group),
        Kind::Gzip => parquet(batch, Compression::GZIP(Default::default()), group),
        Kind::Zstd => parquet(batch, Compression::ZSTD(Default::default()), group),
        Kind::Lz4 => parquet(batch, Compression::LZ4_RAW, group),
        Kind::ArrowFile => arrow(batch, false, None, group),
        Kind::ArrowFileLz4 => arrow(batch, false, Some(CompressionType::LZ4_FRAME), group),
        Kind::ArrowStream => arrow(batch, true, None, group),
        Kind::ArrowStreamZstd => arrow(batch, true, Some(CompressionType::ZSTD), group),
    }
}

fn parquet(batch: &RecordBatch, packing: Compression, group: usize) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_compression(packing)
        .set_max_row_group_row_count(Some(group))
        .build();
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).expect("columns");
    writer.write(batch).expect("memory");
    writer.close().expect("memory");
    bytes
}

fn arrow(
    batch: &RecordBatch,
    is_stream: bool,
    packing: Option<CompressionType>,
    group: usize,
) -> Vec<u8> {
    let options = IpcWriteOptions::default()
        .try_with_compression(packing)
        .expect("a packing");
    let mut bytes = Vec::new();
    let pieces = (0..batch.num_rows())
        .step_by(group)
        .map(|from| batch.slice(from, group.min(batch.num_rows() - from)));
    if is_stream {
        let mut writer = StreamWriter::try_new_with_options(&mut bytes, &batch.schema(), options)
            .expect("columns");
        pieces.for_each(|piece| writer.write(&piece).expect("memory"));
        writer.finish().expect("memory");
    } else {
        let mut writer = FileWriter::try_new_with_options(&mut bytes, &batch.schema(), options)
            .expect("columns");
        pieces.for_each(|piece| writer.write(&piece).expect("memory"));
        writer.finish().expect("memory");
    }
    bytes
}

/// A dictionary of words, as pandas' categories are.
pub(crate) fn dictionary(words: &[&str]) -> ArrayRef {
    let array: arrow_array::DictionaryArray<arrow_array::types::Int8Type> =
        words.iter().copied().collect();
    assert!(matches!(array.data_type_of(), DataType::Dictionary(..)));
    Arc::new(array)
}

trait TypeOf {
    fn data_type_of(&self) -> DataType;
}

impl<A: arrow_array::Array> TypeOf for A {
    fn data_type_of(&self) -> DataType {
        self.data_type().clone()
    }
}
