//! Columns of a batch as numbers, and cells as text.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date64Type, Decimal128Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};

/// In place of a number that is none. No offset, length or time has it: a request there would end beyond the last address.
pub(super) const NONE: u64 = u64::MAX;

/// The numbers of a column where they lie, whatever they mean.
enum Whole<'a> {
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
}

impl<'a> Whole<'a> {
    fn of(array: &'a dyn Array) -> Option<Whole<'a>> {
        use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
        Some(match array.data_type() {
            DataType::Int8 => Whole::I8(array.as_primitive::<Int8Type>().values()),
            DataType::Int16 => Whole::I16(array.as_primitive::<Int16Type>().values()),
            DataType::Int32 => Whole::I32(array.as_primitive::<Int32Type>().values()),
            DataType::Int64 => Whole::I64(array.as_primitive::<Int64Type>().values()),
            DataType::UInt8 => Whole::U8(array.as_primitive::<UInt8Type>().values()),
            DataType::UInt16 => Whole::U16(array.as_primitive::<UInt16Type>().values()),
            DataType::UInt32 => Whole::U32(array.as_primitive::<UInt32Type>().values()),
            DataType::UInt64 => Whole::U64(array.as_primitive::<UInt64Type>().values()),
            DataType::Date64 => Whole::I64(array.as_primitive::<Date64Type>().values()),
            DataType::Timestamp(unit, _) => Whole::I64(match unit {
                Second => array.as_primitive::<TimestampSecondType>().values(),
                Millisecond => array.as_primitive::<TimestampMillisecondType>().values(),
                Microsecond => array.as_primitive::<TimestampMicrosecondType>().values(),
                Nanosecond => array.as_primitive::<TimestampNanosecondType>().values(),
            }),
            DataType::Duration(unit) => Whole::I64(match unit {
                Second => array.as_primitive::<DurationSecondType>().values(),
                Millisecond => array.as_primitive::<DurationMillisecondType>().values(),
                Microsecond => array.as_primitive::<DurationMicrosecondType>().values(),
                Nanosecond => array.as_primitive::<DurationNanosecondType>().values(),
            }),
            DataType::Time32(Second) => {
                Whole::I32(array.as_primitive::<Time32SecondType>().values())
            }
            DataType::Time32(_) => {
                Whole::I32(array.as_primitive::<Time32MillisecondType>().values())
            }
            DataType::Time64(Nanosecond) => {
                Whole::I64(array.as_primitive::<Time64NanosecondType>().values())
            }
            DataType::Time64(_) => {
                Whole::I64(array.as_primitive::<Time64MicrosecondType>().values())
            }
            _ => return None,
        })
    }

    fn text(&self, row: usize) -> String {
        match self {
            Whole::I8(values) => values[row].to_string(),
            Whole::I16(values) => values[row].to_string(),
            Whole::I32(values) => values[row].to_string(),
            Whole::I64(values) => values[row].to_string(),
            Whole::U8(values) => values[row].to_string(),
            Whole::U16(values) => values[row].to_string(),
            Whole::U32(values) => values[row].to_string(),
            Whole::U64(values) => values[row].to_string(),
        }
    }
}

fn push<T: Copy>(values: &[T], nulls: Option<&NullBuffer>, out: &mut Vec<u64>)
where
    u64: TryFrom<T>,
{
    let number = |value: &T| u64::try_from(*value).unwrap_or(NONE);
    match nulls {
        None => out.extend(values.iter().map(number)),
        Some(nulls) => {
            out.extend(values.iter().zip(nulls).map(
                |(value, is_there)| {
                    if is_there { number(value) } else { NONE }
                },
            ))
        }
    }
}

/// The whole numbers of a column, [`NONE`] for a null or a negative one; false when it has none.
pub(super) fn whole(array: &dyn Array, out: &mut Vec<u64>) -> bool {
    out.clear();
    let Some(found) = Whole::of(array) else {
        return false;
    };
    let nulls = array.nulls();
    match found {
        Whole::I8(values) => push(values, nulls, out),
        Whole::I16(values) => push(values, nulls, out),
        Whole::I32(values) => push(values, nulls, out),
        Whole::I64(values) => push(values, nulls, out),
        Whole::U8(values) => push(values, nulls, out),
        Whole::U16(values) => push(values, nulls, out),
        Whole::U32(values) => push(values, nulls, out),
        Whole::U64(values) => push(values, nulls, out),
    }
    true
}

/// A cell as a table of text has it; `None` for a null.
pub(super) fn text(array: &ArrayRef, row: usize) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    if let Some(word) = word(array, row) {
        return Some(word.to_owned());
    }
    Some(match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let key = Whole::of(dictionary.keys())?.text(row).parse().ok()?;
            let words = dictionary.values();
            return (key < words.len()).then(|| text(words, key))?;
        }
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Float16 => array.as_primitive::<Float16Type>().value(row).to_string(),
        DataType::Float32 => array.as_primitive::<Float32Type>().value(row).to_string(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value_as_string(row),
        _ => Whole::of(array)?.text(row),
    })
}

/// The word in a row of a column of words.
#[inline]
pub(super) fn word(array: &ArrayRef, row: usize) -> Option<&str> {
    if array.is_null(row) {
        return None;
    }
    Some(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row),
        DataType::Utf8View => array.as_string_view().value(row),
        _ => return None,
    })
}

/// How many nanoseconds the unit of a type has.
pub(super) fn nanoseconds(array: &dyn Array) -> Option<u64> {
    let unit = match array.data_type() {
        DataType::Date64 => TimeUnit::Millisecond,
        DataType::Timestamp(unit, _)
        | DataType::Duration(unit)
        | DataType::Time32(unit)
        | DataType::Time64(unit) => *unit,
        _ => return None,
    };
    Some(match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    })
}
