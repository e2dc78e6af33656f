//! Which column of a table is what, as a user says it: `offset=5,size=6:sectors,op=4,time=1:us,device=2+3`.

use std::fmt;
use std::str::FromStr;

use straddle_geometry::Access;
use thiserror::Error;

use crate::columns::Clock;

/// Which column of a table is what.
///
/// Parts are separated by commas, each a name and a column: its number, from 1, or its name in the heading. `offset` and `size` must be there, with
/// their unit behind a colon where it is not the byte: `sectors` (512 bytes), `kib`, `mib`, or any number of bytes. `op` is a column, or `read` or
/// `write` for all. `time` may have the unit `s`, `ms`, `us`, `ns` or `filetime` (100 ns). `device` may be several columns, with a plus between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMap {
    pub(crate) offset: (Which, Option<u64>),
    pub(crate) size: (Which, Option<u64>),
    pub(crate) op: Op,
    pub(crate) time: Option<(Which, Option<Clock>)>,
    pub(crate) device: Vec<Which>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// From 0.
    Number(usize),
    Name(String),
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Which::Number(number) => write!(f, "{}", number + 1),
            Which::Name(name) => f.write_str(name),
        }
    }
}

/// What says whether a request reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Column(Which),
    Always(Access),
}

/// Why columns cannot be what they are said to be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ColumnsError(pub(crate) String);

fn error<T>(text: impl Into<String>) -> Result<T, ColumnsError> {
    Err(ColumnsError(text.into()))
}

impl FromStr for ColumnMap {
    type Err = ColumnsError;

    fn from_str(text: &str) -> Result<ColumnMap, ColumnsError> {
        let (mut offset, mut size, mut op, mut time, mut device) = (None, None, None, None, None);
        for part in text.split(',') {
            let Some((key, value)) = part.split_once('=') else {
                return error(format!(
                    "`{part}` says nothing of a column: it is to be NAME=COLUMN, such as offset=5"
                ));
            };
            let key = key.trim().to_ascii_lowercase();
            let is_again = match key.as_str() {
                "offset" | "start" => offset.replace(place(value)?).is_some(),
                "size" | "length" => size.replace(place(value)?).is_some(),
                "op" | "type" => op.replace(operation(value)?).is_some(),
                "time" => time.replace(moment(value)?).is_some(),
                "device" => {
                    let all: Result<Vec<Which>, ColumnsError> =
                        value.split('+').map(which).collect();
                    device.replace(all?).is_some()
                }
                _ => {
                    return error(format!(
                        "`{key}` is none of offset, size, op, time and device"
                    ));
                }
            };
            if is_again {
                return error(format!("`{key}` is there twice"));
            }
        }
        let Some(offset) = offset else {
            return error("no column is said to be the offset: offset=COLUMN");
        };
        let Some(size) = size else {
            return error("no column is said to be the size: size=COLUMN");
        };
        let Some(op) = op else {
            return error(
                "nothing says whether a request reads or writes: op=COLUMN, or op=read or op=write if all do",
            );
        };
        Ok(ColumnMap {
            offset,
            size,
            op,
            time,
            device: device.unwrap_or_default(),
        })
    }
}

fn which(text: &str) -> Result<Which, ColumnsError> {
    let text = text.trim();
    if text.is_empty() {
        return error("a column has neither a number nor a name");
    }
    match text.parse::<usize>() {
        Ok(0) => error("columns are counted from 1"),
        Ok(number) if number > MAX_COLUMNS => error(format!(
            "column {number} is asked for, and no more than {MAX_COLUMNS} are looked at"
        )),
        Ok(number) => Ok(Which::Number(number - 1)),
        Err(_) => Ok(Which::Name(text.to_owned())),
    }
}

/// A line has no more columns than that.
pub(crate) const MAX_COLUMNS: usize = 256;

fn with_unit(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((column, unit)) => (column, Some(unit.trim())),
        None => (text, None),
    }
}

fn place(text: &str) -> Result<(Which, Option<u64>), ColumnsError> {
    let (column, unit) = with_unit(text);
    let unit = match unit {
        None => None,
        Some(unit) => match bytes_of(&unit.to_ascii_lowercase()) {
            Some(bytes) => Some(bytes),
            None => match unit.parse::<u64>() {
                Ok(bytes) if (1..=1 << 30).contains(&bytes) => Some(bytes),
                _ => {
                    return error(format!(
                        "`{unit}` is no unit of a place: bytes, sectors (512 bytes), kib, mib, or a number of bytes, such as 4096"
                    ));
                }
            },
        },
    };
    Ok((which(column)?, unit))
}

/// How many bytes a unit has, in lower case.
pub(crate) fn bytes_of(unit: &str) -> Option<u64> {
    Some(match unit {
        "b" | "byte" | "bytes" => 1,
        "sector" | "sectors" | "block" | "blocks" | "lba" | "lbas" | "512b" => 512,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "4k" => 4 << 10,
        _ => return None,
    })
}

/// What a unit of time counts, in lower case.
pub(crate) fn clock_of(unit: &str) -> Option<Clock> {
    Some(match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => Clock::Seconds,
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" | "millis" => Clock::Milliseconds,
        "us" | "µs" | "μs" | "usec" | "usecs" | "microsecond" | "microseconds" | "micros" => {
            Clock::Microseconds
        }
        "ns" | "nsec" | "nsecs" | "nanosecond" | "nanoseconds" | "nanos" => Clock::Nanoseconds,
        "filetime" | "100ns" | "ticks" => Clock::Ticks,
        _ => return None,
    })
}

fn moment(text: &str) -> Result<(Which, Option<Clock>), ColumnsError> {
    let (column, unit) = with_unit(text);
    let clock = match unit {
        None => None,
        Some(unit) => match clock_of(&unit.to_lowercase()) {
            Some(clock) => Some(clock),
            None => {
                return error(format!(
                    "`{unit}` is no unit of a time: s, ms, us, ns or filetime (100 ns)"
                ));
            }
        },
    };
    Ok((which(column)?, clock))
}

fn operation(text: &str) -> Result<Op, ColumnsError> {
    Ok(match text.trim().to_ascii_lowercase().as_str() {
        "read" => Op::Always(Access::Read),
        "write" => Op::Always(Access::Write),
        _ => Op::Column(which(text)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_what_it_says() {
        let map: ColumnMap = "offset=5,size=6:sectors,op=4,time=1:us,device=2+3"
            .parse()
            .expect("a map");
        assert_eq!(
            map,
            ColumnMap {
                offset: (Which::Number(4), None),
                size: (Which::Number(5), Some(512)),
                op: Op::Column(Which::Number(3)),
                time: Some((Which::Number(0), Some(Clock::Microseconds))),
                device: vec![Which::Number(1), Which::Number(2)],
            }
        );
        let map: ColumnMap = "offset = Byte Offset:4096, size=Len:kib, op=write"
            .parse()
            .expect("a map");
        assert_eq!(
            map,
            ColumnMap {
                offset: (Which::Name("Byte Offset".to_owned()), Some(4096)),
                size: (Which::Name("Len".to_owned()), Some(1024)),
                op: Op::Always(Access::Write),
                time: None,
                device: Vec::new(),
            }
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_what_is_possible() {
        let wrong = [
            (
                "",
                "`` says nothing of a column: it is to be NAME=COLUMN, such as offset=5",
            ),
            (
                "offset=1,op=2",
                "no column is said to be the size: size=COLUMN",
            ),
            (
                "size=1,op=2",
                "no column is said to be the offset: offset=COLUMN",
            ),
            (
                "offset=1,size=2",
                "nothing says whether a request reads or writes: op=COLUMN, or op=read or op=write if all do",
            ),
            ("offset=0,size=1,op=2", "columns are counted from 1"),
            (
                "offset=999,size=1,op=2",
                "column 999 is asked for, and no more than 256 are looked at",
            ),
            ("offset=,size=1", "a column has neither a number nor a name"),
            (
                "offset=1:furlongs,size=2",
                "`furlongs` is no unit of a place: bytes, sectors (512 bytes), kib, mib, or a number of bytes, such as 4096",
            ),
            (
                "offset=1,size=2,time=3:days",
                "`days` is no unit of a time: s, ms, us, ns or filetime (100 ns)",
            ),
            ("offset=1,offset=2", "`offset` is there twice"),
            (
                "latency=1",
                "`latency` is none of offset, size, op, time and device",
            ),
        ];
        for (text, says) in wrong {
            let error = text.parse::<ColumnMap>().expect_err(text);
            assert_eq!(error.to_string(), says);
        }
    }
}
