//! The rows of a batch, counted.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use straddle_geometry::Access;

use super::cells::{NONE, nanoseconds, text, whole, word};
use super::layout::{AccessBy, Layout, TimeBy};
use crate::columns::cells::{Operations, When, amount};
use crate::columns::{Clock, sound};
use crate::lines::Fault;
use crate::record::{Event, Record};
use crate::sink::Sink;

/// What one batch after the other is taken apart in.
#[derive(Default)]
pub(crate) struct Scratch {
    starts: Vec<u64>,
    lens: Vec<u64>,
    times: Vec<u64>,
    accesses: Vec<Does>,
    codes: [Vec<u64>; 2],
    names: Names,
    name: Vec<u8>,
}

/// What a row does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Access(Access),
    Neither,
    Unknown,
}

impl From<Option<Option<Access>>> for Does {
    fn from(read: Option<Option<Access>>) -> Does {
        match read {
            Some(Some(access)) => Does::Access(access),
            Some(None) => Does::Neither,
            None => Does::Unknown,
        }
    }
}

/// Where the rows of a batch are.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// What the file calls its groups of rows.
    pub(super) called: &'static str,
    /// From 1.
    pub(super) group: usize,
    /// How many rows of the group are before the batch.
    pub(super) before: usize,
    /// Where it begins, from where the part that is counted does.
    pub(super) at: usize,
}

/// Counts the rows of a batch in their order.
pub(super) fn count(
    batch: &RecordBatch,
    layout: &Layout,
    place: Place,
    scratch: &mut Scratch,
    sink: &mut Sink<'_>,
) {
    let rows = batch.num_rows();
    amounts(
        batch.column(layout.start.0),
        layout.start.1,
        &mut scratch.starts,
    );
    amounts(batch.column(layout.len.0), layout.len.1, &mut scratch.lens);
    match layout.time {
        Some((column, by)) => times(batch.column(column), by, &mut scratch.times),
        None => scratch.times.clear(),
    }
    accesses(batch, &layout.access, &mut scratch.accesses);
    let has_codes = device_codes(batch, &layout.device, &mut scratch.codes);
    scratch.names.forget();
    for row in 0..rows {
        if sink.is_done() {
            return;
        }
        let time = scratch.times.get(row).copied();
        let (start, len) = (scratch.starts[row], scratch.lens[row]);
        let found = match scratch.accesses[row] {
            Does::Neither => Err((Fault::Neither, None)),
            Does::Unknown => Err((Fault::Direction, layout.access.column())),
            Does::Access(_) if start == NONE => Err((Fault::Start, Some(layout.start.0))),
            Does::Access(_) if len == NONE => Err((Fault::Length, Some(layout.len.0))),
            Does::Access(_) if time == Some(NONE) => {
                Err((Fault::Time, layout.time.map(|(column, _)| column)))
            }
            Does::Access(access) => match sound(start, len) {
                Ok(()) => Ok(access),
                Err(Fault::TooLong) => Err((Fault::TooLong, Some(layout.len.0))),
                Err(fault) => Err((fault, Some(layout.start.0))),
            },
        };
        let access = match found {
            Ok(access) => access,
            Err((fault, column)) => {
                bad(batch, place, row, fault, column, sink);
                continue;
            }
        };
        let take = |device: &[u8], sink: &mut Sink<'_>| {
            sink.take(&Record {
                device,
                event: Event::Recorded,
                access,
                start,
                len,
                time,
            });
        };
        match layout.device.as_slice() {
            [] => take(&layout.file, sink),
            [only] if !has_codes => {
                let name = word(batch.column(*only), row).unwrap_or_default();
                take(name.as_bytes(), sink);
            }
            several => {
                let codes = [0, 1].map(|at| scratch.codes[at].get(row).copied().unwrap_or(0));
                if has_codes && let Some(name) = scratch.names.known(codes) {
                    take(name, sink);
                    continue;
                }
                scratch.name.clear();
                for (at, column) in several.iter().enumerate() {
                    if at > 0 {
                        scratch.name.push(b'.');
                    }
                    let part = text(batch.column(*column), row).unwrap_or_default();
                    scratch.name.extend_from_slice(part.as_bytes());
                }
                if has_codes {
                    scratch.names.learn(codes, &scratch.name);
                }
                take(&scratch.name, sink);
            }
        }
    }
}

impl AccessBy {
    const fn column(&self) -> Option<usize> {
        match self {
            AccessBy::Always(_) => None,
            AccessBy::Column(column, ..) => Some(*column),
        }
    }
}

/// A row that is no request: where it is, and what its cell says.
#[cold]
fn bad(
    batch: &RecordBatch,
    place: Place,
    row: usize,
    fault: Fault,
    column: Option<usize>,
    sink: &mut Sink<'_>,
) {
    let Place {
        called,
        group,
        before,
        at,
    } = place;
    let mut says = format!("{called} {group}, row {}", before + row + 1);
    if let Some(column) = column {
        let cell = text(batch.column(column), row);
        let name = batch.schema_ref().field(column).name();
        says.push_str(&format!(": {name} {}", cell.as_deref().unwrap_or("null")));
    }
    sink.fault(at, fault, says.as_bytes());
}

/// Numbers of units as bytes.
fn amounts(array: &ArrayRef, unit: u64, out: &mut Vec<u64>) {
    if whole(array, out) {
        if unit != 1 {
            for number in out {
                *number = number.checked_mul(unit).unwrap_or(NONE);
            }
        }
        return;
    }
    let cell = |row| amount(text(array, row)?.trim().as_bytes(), unit, false);
    out.extend((0..array.len()).map(|row| cell(row).unwrap_or(NONE)));
}

/// Times in nanoseconds.
fn times(array: &ArrayRef, by: TimeBy, out: &mut Vec<u64>) {
    match by {
        TimeBy::Typed => {
            let unit = nanoseconds(array).unwrap_or(1);
            amounts(array, unit, out);
        }
        TimeBy::Looks(When::Counted(clock)) if whole(array, out) => {
            for number in out {
                *number = clock.of_number(*number).unwrap_or(NONE);
            }
        }
        TimeBy::Looks(when) => {
            let cell = |row| when.read(text(array, row)?.trim().as_bytes(), false);
            out.clear();
            out.extend((0..array.len()).map(|row| cell(row).unwrap_or(NONE)));
        }
        // Nobody knows what it counts.
        TimeBy::Clock(_) => out.clear(),
    }
}

fn accesses(batch: &RecordBatch, by: &AccessBy, out: &mut Vec<Does>) {
    out.clear();
    let (array, operations) = match by {
        AccessBy::Always(access) => {
            return out.resize(batch.num_rows(), Does::Access(*access));
        }
        AccessBy::Column(column, _, operations) => (batch.column(*column), *operations),
    };
    let does = |array: &ArrayRef, row: usize| -> Does {
        match text(array, row) {
            Some(text) => operations.read(text.trim().as_bytes()).into(),
            None => Does::Unknown,
        }
    };
    match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let words = dictionary.values();
            let mut keys = Vec::new();
            whole(dictionary.keys(), &mut keys);
            // A dictionary may be longer than the batch: each word is read when it comes.
            let mut known: Vec<Option<Does>> = vec![None; words.len().min(256)];
            out.extend(keys.iter().map(|key| {
                let key = usize::try_from(*key).unwrap_or(usize::MAX);
                match known.get_mut(key) {
                    Some(known) => *known.get_or_insert_with(|| does(words, key)),
                    None if key < words.len() => does(words, key),
                    None => Does::Unknown,
                }
            }));
        }
        DataType::Boolean => {
            let [no, yes] = ["false", "true"].map(|word| operations.read(word.as_bytes()).into());
            let flags = array.as_boolean().iter();
            out.extend(flags.map(|flag| match flag {
                Some(true) => yes,
                Some(false) => no,
                None => Does::Unknown,
            }));
        }
        _ => words(array, operations, out, does),
    }
}

/// Words that are not in a dictionary, or numbers: most are what one of the last was.
fn words(
    array: &ArrayRef,
    operations: Operations,
    out: &mut Vec<Does>,
    does: impl Fn(&ArrayRef, usize) -> Does,
) {
    let mut numbers = Vec::new();
    if whole(array, &mut numbers) {
        let mut known: [Option<Does>; 256] = [None; 256];
        for (row, number) in numbers.iter().enumerate() {
            let at = usize::try_from(*number).unwrap_or(usize::MAX);
            out.push(match known.get_mut(at) {
                Some(known) => *known.get_or_insert_with(|| does(array, row)),
                None => does(array, row),
            });
        }
        return;
    }
    let mut known: [Option<(&str, Does)>; 4] = [None; 4];
    for row in 0..array.len() {
        let Some(word) = word(array, row) else {
            out.push(does(array, row));
            continue;
        };
        let at = word.len() % known.len();
        out.push(match known[at] {
            Some((before, does)) if before == word => does,
            _ => {
                let does = Does::from(operations.read(word.trim().as_bytes()));
                known[at] = Some((word, does));
                does
            }
        });
    }
}

/// Numbers that stand for the parts of devices' names within this batch, where there are such for all of them.
fn device_codes(batch: &RecordBatch, columns: &[usize], codes: &mut [Vec<u64>; 2]) -> bool {
    codes.iter_mut().for_each(Vec::clear);
    if columns.is_empty() || columns.len() > codes.len() {
        return false;
    }
    columns.iter().zip(codes).all(|(column, codes)| {
        let array = batch.column(*column);
        match array.data_type() {
            DataType::Dictionary(..) => whole(array.as_any_dictionary().keys(), codes),
            // Those that are none would all be the same.
            _ => whole(array, codes) && !has_others(array, codes),
        }
    })
}

fn has_others(array: &ArrayRef, numbers: &[u64]) -> bool {
    let is_none = |row: &usize| numbers[*row] == NONE;
    (0..array.len())
        .filter(is_none)
        .any(|row| !array.is_null(row))
}

/// Names by the numbers of their parts, as long as those mean the same.
#[derive(Default)]
struct Names {
    slots: Vec<Option<([u64; 2], Vec<u8>)>>,
}

impl Names {
    const SLOTS: usize = 256;

    fn forget(&mut self) {
        self.slots.clear();
        self.slots.resize(Names::SLOTS, None);
    }

    #[inline]
    fn slot([first, second]: [u64; 2]) -> usize {
        let mixed = first.wrapping_mul(31).wrapping_add(second);
        usize::try_from(mixed % Names::SLOTS as u64).unwrap_or_default()
    }

    #[inline]
    fn known(&self, codes: [u64; 2]) -> Option<&[u8]> {
        let (known, name) = self.slots[Names::slot(codes)].as_ref()?;
        (*known == codes).then_some(name)
    }

    fn learn(&mut self, codes: [u64; 2], name: &[u8]) {
        self.slots[Names::slot(codes)] = Some((codes, name.to_vec()));
    }
}

impl Clock {
    /// A whole number of it, in nanoseconds.
    #[inline]
    fn of_number(self, number: u64) -> Option<u64> {
        self.since_1970(number.checked_mul(self.scale())?)
    }
}
