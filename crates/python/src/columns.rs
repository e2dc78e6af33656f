//! Columns of a batch, read where they are.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use pyo3::PyResult;
use pyo3::exceptions::PyTypeError;
use straddle::geometry::Access;
use straddle::trace::access;

use crate::arguments::wrong;

/// The column of this name.
pub(crate) fn column<'a>(batch: &'a RecordBatch, name: &str) -> PyResult<&'a dyn Array> {
    if let Some(column) = batch.column_by_name(name) {
        return Ok(column.as_ref());
    }
    let schema = batch.schema_ref();
    let names: Vec<&str> = schema
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .collect();
    let names = names.join(", ");
    Err(wrong(format!(
        "no column is called `{name}`; there are {names}"
    )))
}

fn no_such(name: &str, found: &DataType, expected: &str) -> pyo3::PyErr {
    PyTypeError::new_err(format!(
        "column `{name}` is of type {found}; expected {expected}"
    ))
}

/// A column of integers.
pub(crate) enum Integers<'a> {
    I8(&'a PrimitiveArray<Int8Type>),
    I16(&'a PrimitiveArray<Int16Type>),
    I32(&'a PrimitiveArray<Int32Type>),
    I64(&'a PrimitiveArray<Int64Type>),
    U8(&'a PrimitiveArray<UInt8Type>),
    U16(&'a PrimitiveArray<UInt16Type>),
    U32(&'a PrimitiveArray<UInt32Type>),
    U64(&'a PrimitiveArray<UInt64Type>),
}

fn valid<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    array.is_valid(row).then(|| array.value(row))
}

impl<'a> Integers<'a> {
    fn of(array: &'a dyn Array) -> Option<Integers<'a>> {
        Some(match array.data_type() {
            DataType::Int8 => Integers::I8(array.as_primitive()),
            DataType::Int16 => Integers::I16(array.as_primitive()),
            DataType::Int32 => Integers::I32(array.as_primitive()),
            DataType::Int64 => Integers::I64(array.as_primitive()),
            DataType::UInt8 => Integers::U8(array.as_primitive()),
            DataType::UInt16 => Integers::U16(array.as_primitive()),
            DataType::UInt32 => Integers::U32(array.as_primitive()),
            DataType::UInt64 => Integers::U64(array.as_primitive()),
            _ => return None,
        })
    }

    pub(crate) fn named(array: &'a dyn Array, name: &str) -> PyResult<Integers<'a>> {
        let found = array.data_type();
        Integers::of(array).ok_or_else(|| no_such(name, found, "integers"))
    }

    /// The number in a row; `None` for null.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<i128> {
        match self {
            Integers::I8(array) => valid(array, row).map(i128::from),
            Integers::I16(array) => valid(array, row).map(i128::from),
            Integers::I32(array) => valid(array, row).map(i128::from),
            Integers::I64(array) => valid(array, row).map(i128::from),
            Integers::U8(array) => valid(array, row).map(i128::from),
            Integers::U16(array) => valid(array, row).map(i128::from),
            Integers::U32(array) => valid(array, row).map(i128::from),
            Integers::U64(array) => valid(array, row).map(i128::from),
        }
    }
}

/// A column of words, each where it is kept.
enum Plain<'a> {
    Small(&'a arrow_array::StringArray),
    Large(&'a arrow_array::LargeStringArray),
    View(&'a arrow_array::StringViewArray),
    Numbers(Integers<'a>),
}

impl<'a> Plain<'a> {
    fn of(array: &'a dyn Array) -> Option<Plain<'a>> {
        Some(match array.data_type() {
            DataType::Utf8 => Plain::Small(array.as_string()),
            DataType::LargeUtf8 => Plain::Large(array.as_string()),
            DataType::Utf8View => Plain::View(array.as_string_view()),
            _ => Plain::Numbers(Integers::of(array)?),
        })
    }

    fn with<T>(&self, row: usize, then: impl FnOnce(&[u8]) -> T) -> T {
        let word = match self {
            Plain::Small(array) if array.is_valid(row) => array.value(row).as_bytes(),
            Plain::Large(array) if array.is_valid(row) => array.value(row).as_bytes(),
            Plain::View(array) if array.is_valid(row) => array.value(row).as_bytes(),
            Plain::Numbers(array) => {
                let number = array.get(row).map(|number| number.to_string());
                return then(number.unwrap_or_default().as_bytes());
            }
            _ => b"",
        };
        then(word)
    }
}

/// A column of words, or of numbers of words in a dictionary.
pub(crate) struct Words<'a> {
    keys: Option<Integers<'a>>,
    words: Plain<'a>,
    /// How many words there are.
    len: usize,
}

impl<'a> Words<'a> {
    fn of(array: &'a dyn Array) -> Option<Words<'a>> {
        let (keys, words) = match array.data_type() {
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let keys = Integers::of(dictionary.keys())?;
                (Some(keys), dictionary.values().as_ref())
            }
            _ => (None, array),
        };
        Some(Words {
            keys,
            words: Plain::of(words)?,
            len: words.len(),
        })
    }

    pub(crate) fn named(array: &'a dyn Array, name: &str) -> PyResult<Words<'a>> {
        let found = array.data_type();
        Words::of(array).ok_or_else(|| no_such(name, found, "words or numbers"))
    }

    /// The word in a row; empty for null.
    #[inline]
    pub(crate) fn with<T>(&self, row: usize, then: impl FnOnce(&[u8]) -> T) -> T {
        let at = match &self.keys {
            Some(keys) => keys.get(row).and_then(|key| usize::try_from(key).ok()),
            None => Some(row),
        };
        match at.filter(|at| *at < self.len) {
            Some(at) => self.words.with(at, then),
            None => then(b""),
        }
    }
}

/// Which requests write. `Some(None)` is neither, and no fault.
pub(crate) enum Operations<'a> {
    /// True for a write.
    Flags(&'a arrow_array::BooleanArray),
    Words(Words<'a>),
}

impl<'a> Operations<'a> {
    pub(crate) fn named(array: &'a dyn Array, name: &str) -> PyResult<Operations<'a>> {
        if array.data_type() == &DataType::Boolean {
            return Ok(Operations::Flags(array.as_boolean()));
        }
        let found = array.data_type();
        let words = Words::of(array).map(Operations::Words);
        words.ok_or_else(|| no_such(name, found, "booleans (true: a write), words, or 0 and 1"))
    }

    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<Option<Access>> {
        match self {
            Operations::Flags(array) => array.is_valid(row).then(|| match array.value(row) {
                true => Some(Access::Write),
                false => Some(Access::Read),
            }),
            Operations::Words(words) => words.with(row, |word| match word {
                b"0" => Some(Some(Access::Read)),
                b"1" => Some(Some(Access::Write)),
                word => access(word),
            }),
        }
    }
}

/// A column of times, and how many nanoseconds its unit has.
pub(crate) struct Times<'a>(Raw<'a>, i128);

enum Raw<'a> {
    Integers(Integers<'a>),
    Stamps(Box<dyn Fn(usize) -> Option<i64> + 'a>),
}

impl<'a> Times<'a> {
    pub(crate) fn named(array: &'a dyn Array, name: &str) -> PyResult<Times<'a>> {
        fn stamps<'a, T: ArrowPrimitiveType<Native = i64>>(array: &'a dyn Array) -> Raw<'a> {
            let array = array.as_primitive::<T>();
            Raw::Stamps(Box::new(move |row| valid(array, row)))
        }
        let (raw, unit) = match array.data_type() {
            DataType::Timestamp(unit, _) => (
                match unit {
                    TimeUnit::Second => stamps::<TimestampSecondType>(array),
                    TimeUnit::Millisecond => stamps::<TimestampMillisecondType>(array),
                    TimeUnit::Microsecond => stamps::<TimestampMicrosecondType>(array),
                    TimeUnit::Nanosecond => stamps::<TimestampNanosecondType>(array),
                },
                unit,
            ),
            DataType::Duration(unit) => (
                match unit {
                    TimeUnit::Second => stamps::<DurationSecondType>(array),
                    TimeUnit::Millisecond => stamps::<DurationMillisecondType>(array),
                    TimeUnit::Microsecond => stamps::<DurationMicrosecondType>(array),
                    TimeUnit::Nanosecond => stamps::<DurationNanosecondType>(array),
                },
                unit,
            ),
            found => match Integers::of(array) {
                Some(integers) => (Raw::Integers(integers), &TimeUnit::Nanosecond),
                None => {
                    return Err(no_such(
                        name,
                        found,
                        "timestamps, durations, or integers of nanoseconds",
                    ));
                }
            },
        };
        let nanoseconds = match unit {
            TimeUnit::Second => 1_000_000_000,
            TimeUnit::Millisecond => 1_000_000,
            TimeUnit::Microsecond => 1000,
            TimeUnit::Nanosecond => 1,
        };
        Ok(Times(raw, nanoseconds))
    }

    /// In nanoseconds; `None` for null.
    pub(crate) fn get(&self, row: usize) -> Option<i128> {
        let time = match &self.0 {
            Raw::Integers(integers) => integers.get(row),
            Raw::Stamps(stamp) => stamp(row).map(i128::from),
        };
        time.map(|time| time * self.1)
    }
}
