//! Parquet, by its row groups. See <https://parquet.apache.org/docs/file-format/>.

use std::io;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::RowGroupMetaData;
use straddle_io::ReadAt;

use super::group::{Group, Groups, Unreadable, damaged, decoded, placed};
use super::layout::{AccessBy, Layout};
use super::rows::{Place, Scratch, count};
use super::served::{self, Served};
use crate::column_map::ColumnMap;
use crate::sink::Sink;

/// As many rows are decoded at once: their columns stay near the processor.
const BATCH: usize = 8 << 10;

/// A Parquet file whose columns are known.
pub(crate) struct ParquetFile {
    metadata: ArrowReaderMetadata,
    mask: ProjectionMask,
    layout: Layout,
    groups: Vec<Group>,
}

impl ParquetFile {
    /// Reads what its end says, and the first rows.
    pub(crate) fn open(
        source: &dyn ReadAt,
        map: Option<&ColumnMap>,
        stem: &str,
    ) -> Result<ParquetFile, Unreadable> {
        served::with(source, |served| opened(&served, map, stem))
    }

    fn reader(&self, served: &Served, group: usize) -> io::Result<ParquetRecordBatchReader> {
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
            served.clone(),
            self.metadata.clone(),
        );
        let builder = builder
            .with_row_groups(vec![group])
            .with_projection(self.mask.clone())
            .with_batch_size(BATCH);
        decoded(|| builder.build())
    }

    /// The row group with this number, from 1, and how many rows it has.
    fn group(&self, number: usize) -> (usize, usize) {
        let row_group = self.metadata.metadata().row_group(number - 1);
        (
            number - 1,
            usize::try_from(row_group.num_rows()).unwrap_or(usize::MAX),
        )
    }
}

fn opened(served: &Served, map: Option<&ColumnMap>, stem: &str) -> Result<ParquetFile, Unreadable> {
    let metadata = decoded(|| ArrowReaderMetadata::load(served, ArrowReaderOptions::new()))?;
    let layout = Layout::of(metadata.schema(), map, stem)?;
    let metadata = with_dictionaries(metadata, &layout);
    let mask = ProjectionMask::roots(metadata.parquet_schema(), layout.columns.iter().copied());
    let begins: Vec<(usize, u64)> = metadata
        .metadata()
        .row_groups()
        .iter()
        .enumerate()
        .filter(|(_, group)| group.num_rows() > 0)
        .map(|(at, group)| (at + 1, begin(group)))
        .collect();
    let groups = placed(&begins, served.size())?;
    let mut file = ParquetFile {
        metadata,
        mask,
        layout,
        groups,
    };
    if let Some(first) = file.groups.first() {
        let (group, _) = file.group(first.number);
        let mut reader = file.reader(served, group)?;
        if let Some(batch) = decoded(|| reader.next().transpose())? {
            file.layout.learn(&batch)?;
        }
    }
    Ok(file)
}

/// Where the first page of a row group is.
fn begin(group: &RowGroupMetaData) -> u64 {
    let pages = group.columns().iter().flat_map(|column| {
        let dictionary = column.dictionary_page_offset();
        [Some(column.data_page_offset()), dictionary]
    });
    let first = pages.flatten().filter(|at| *at > 0).min();
    first.and_then(|at| u64::try_from(at).ok()).unwrap_or(0)
}

/// Words of devices and operations as numbers of a dictionary, as most files keep them: each word is looked at once, not once for each row.
fn with_dictionaries(metadata: ArrowReaderMetadata, layout: &Layout) -> ArrowReaderMetadata {
    let mut words: Vec<usize> = layout.device.clone();
    if let AccessBy::Column(column, ..) = layout.access {
        words.push(column);
    }
    let words: Vec<usize> = words.iter().map(|at| layout.columns[*at]).collect();
    let fields = metadata.schema().fields().iter().enumerate();
    let fields = fields.map(|(at, field)| match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View if words.contains(&at) => {
            let kind = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
            Arc::new(Field::clone(field).with_data_type(kind))
        }
        _ => Arc::clone(field),
    });
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    let with = decoded(|| ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options));
    with.unwrap_or(metadata)
}

impl Groups for ParquetFile {
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
        let (number, rows) = self.group(group.number);
        let within = |error: io::Error| {
            io::Error::new(error.kind(), format!("row group {}: {error}", group.number))
        };
        let mut reader = self.reader(served, number).map_err(within)?;
        let mut place = Place {
            called: "row group",
            group: group.number,
            before: 0,
            at: 0,
        };
        while let Some(batch) = decoded(|| reader.next().transpose()).map_err(within)? {
            count(&batch, &self.layout, place, scratch, sink);
            if sink.is_done() {
                return Ok(());
            }
            place.before += batch.num_rows();
        }
        if place.before != rows {
            let says = format!("it has {} rows, and says {rows}", place.before);
            return Err(within(damaged(says)));
        }
        Ok(())
    }
}
