//! Files of tables: Parquet and Arrow IPC. What they are is always told; they are read with the Cargo feature `parquet`, whose packages nothing
//! else needs.
//!
//! The rows of a row group or record batch are requests in their order, and those of the next one follow them. Its place among the bytes of
//! the file is where its first byte is, so that parts of one file join as those of text do, and a range counts the groups that begin in it.

#[cfg(feature = "parquet")]
mod arrow;
#[cfg(feature = "parquet")]
mod cells;
#[cfg(feature = "parquet")]
mod group;
#[cfg(feature = "parquet")]
mod layout;
#[cfg(feature = "parquet")]
mod messages;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod rows;
#[cfg(feature = "parquet")]
mod served;

use crate::format::{Detected, Format, Head};

#[cfg(feature = "parquet")]
pub(crate) use self::arrow::{ArrowFile, ArrowStream};
#[cfg(feature = "parquet")]
pub(crate) use self::group::{Groups, Unreadable, counted};
#[cfg(feature = "parquet")]
pub(crate) use self::parquet::ParquetFile;

/// Tables in columns, as data lakes keep them.
pub(crate) static PARQUET: Format = Format {
    name: "parquet",
    of: "any table of requests in Parquet",
    says: "columns by their names or by --columns, as in csv; integers, decimals, words and floats that are whole numbers. Times with a unit of their own are taken \
           in it, others as in csv. An operation that is true writes. A null is a bad row, unless it is a device's. Packed in itself with snappy, gzip, zstd or lz4. Needs \
           a build with the feature `parquet`",
    detect,
};

/// The same in Arrow's own files and streams.
pub(crate) static ARROW: Format = Format {
    name: "arrow",
    of: "any table of requests in Arrow IPC, as a file (Feather) or a stream",
    says: "as parquet; packed in itself with lz4 or zstd. Needs a build with the feature `parquet`",
    detect,
};

/// Nobody asks: the first bytes tell before any recorder does.
fn detect(_: &Head<'_>) -> Option<Detected> {
    None
}

/// What a file of tables is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Parquet,
    ArrowFile,
    ArrowStream,
    /// Known, and never read.
    Refused(&'static str),
}

impl Kind {
    /// Of a file that begins so.
    pub(crate) fn of(head: &[u8]) -> Option<Kind> {
        match head {
            [b'P', b'A', b'R', b'1', ..] => Some(Kind::Parquet),
            [b'P', b'A', b'R', b'E', ..] => Some(Kind::Refused(
                "an encrypted Parquet file: write it again without encryption",
            )),
            [b'A', b'R', b'R', b'O', b'W', b'1', 0, 0, ..] => Some(Kind::ArrowFile),
            [b'F', b'E', b'A', b'1', ..] => Some(Kind::Refused(
                "a Feather file in version 1, which Arrow gave up: write it again, with pyarrow.feather.write_feather(table, path)",
            )),
            // The mark that a message follows, and the length of its description, which is padded.
            [0xff, 0xff, 0xff, 0xff, length @ ..] => {
                let length = u32::from_le_bytes(*length.first_chunk()?);
                let is_schema = (16..1 << 24).contains(&length) && length.is_multiple_of(8);
                is_schema.then_some(Kind::ArrowStream)
            }
            _ => None,
        }
    }

    /// Why there is nothing to be had from it, if so.
    pub(crate) const fn refused(self) -> Option<&'static str> {
        match self {
            Kind::Refused(why) => Some(why),
            #[cfg(feature = "parquet")]
            _ => None,
            #[cfg(not(feature = "parquet"))]
            Kind::Parquet => Some(
                "a Parquet file, which this build does not read: build straddle with `--features parquet`, or count it from Python (docs/python.md)",
            ),
            #[cfg(not(feature = "parquet"))]
            Kind::ArrowFile | Kind::ArrowStream => Some(
                "a table of Arrow, which this build does not read: build straddle with `--features parquet`, or count it from Python (docs/python.md)",
            ),
        }
    }

    /// How it is called in reports.
    #[cfg(feature = "parquet")]
    pub(crate) const fn format(self) -> &'static Format {
        match self {
            Kind::Parquet => &PARQUET,
            _ => &ARROW,
        }
    }
}

/// What only the end of a file tells cannot be had from a pipe.
#[cfg(feature = "parquet")]
pub(crate) const FROM_ITS_END: &str =
    "a Parquet file, which is read from its end: write it to a file, unpacked, and name that";
