//! Batches of rows to counts.

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use straddle::trace::{Counter, Event, Fault, Record};

use crate::columns::{Integers, Operations, Times, Words, column};

/// Which column of a table is what.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Columns {
    offset: String,
    length: String,
    operation: String,
    /// Of rows without such a column, the device itself.
    device: String,
    time: Option<String>,
}

/// Counts the rows of a batch.
pub(crate) fn count(batch: &RecordBatch, columns: &Columns, counter: &mut Counter) -> PyResult<()> {
    let of = |name: &str| column(batch, name);
    let starts = Integers::named(of(&columns.offset)?, &columns.offset)?;
    let lengths = Integers::named(of(&columns.length)?, &columns.length)?;
    let operations = Operations::named(of(&columns.operation)?, &columns.operation)?;
    let times = match &columns.time {
        Some(name) => Some(Times::named(of(name)?, name)?),
        None => None,
    };
    let devices = match batch.column_by_name(&columns.device) {
        Some(array) => Some(Words::named(array.as_ref(), &columns.device)?),
        None => None,
    };
    for row in 0..batch.num_rows() {
        let access = match operations.get(row) {
            Some(Some(access)) => access,
            Some(None) => {
                counter.other();
                continue;
            }
            None => {
                counter.bad(Fault::Direction, "");
                continue;
            }
        };
        let number = |integers: &Integers<'_>| {
            let found = integers.get(row);
            let number = found.and_then(|number| u64::try_from(number).ok());
            number.ok_or(found)
        };
        let shown =
            |found: Option<i128>| found.map_or("null".to_owned(), |found| found.to_string());
        let start = match number(&starts) {
            Ok(start) => start,
            Err(found) => {
                counter.bad(Fault::Start, &shown(found));
                continue;
            }
        };
        let len = match number(&lengths) {
            Ok(len) => len,
            Err(found) => {
                counter.bad(Fault::Length, &shown(found));
                continue;
            }
        };
        let time = match times.as_ref().and_then(|times| times.get(row)) {
            None => None,
            Some(found) => match u64::try_from(found) {
                Ok(time) => Some(time),
                Err(_) => {
                    counter.bad(Fault::Time, &found.to_string());
                    continue;
                }
            },
        };
        let mut take = |device: &[u8]| {
            counter.take(&Record {
                device,
                event: Event::Recorded,
                access,
                start,
                len,
                time,
            });
        };
        match &devices {
            Some(devices) => devices.with(row, take),
            None => take(columns.device.as_bytes()),
        }
    }
    Ok(())
}
