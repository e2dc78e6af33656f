//! Offsets that are tried out, as a user writes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use straddle_geometry::{Bytes, ParseBytesError, both_ways};

/// Where a partition would start that is tried out.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Offset {
    /// As the user called it: `unaligned`, `64K`.
    pub name: String,
    /// In bytes.
    pub bytes: Bytes,
}

impl Offset {
    /// Sector 63, where Windows before Vista and Server 2008 started partitions.
    pub const UNALIGNED: Bytes = Bytes::new(63 * 512);
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

/// Most offsets of one plan: beyond that a typing error is likelier than patience.
const MAX: usize = 256;

/// What is wrong with a list of offsets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OffsetListError {
    /// One of them is neither a size nor a word that is known.
    #[error("offset `{text}`: {source}; `unaligned` stands for sector 63")]
    NotASize {
        /// As it was typed.
        text: String,
        /// What a size looks like.
        source: ParseBytesError,
    },
    /// Nothing stands between two commas, or nothing at all.
    #[error(
        "the list of offsets `{0}` has an empty place; write it like unaligned,64K,128K,1M (no commas inside numbers)"
    )]
    Empty(String),
    /// Two of them are the same.
    #[error("offsets `{first}` and `{second}` are the same place, {at}; leave one of them out", at = both_ways(*bytes))]
    Twice {
        /// The one that comes first.
        first: String,
        /// The one that repeats it.
        second: String,
        /// Where both are.
        bytes: Bytes,
    },
    /// There are too many.
    #[error("{0} offsets; at most {MAX} can be compared in one experiment")]
    TooMany(usize),
}

impl FromStr for Offset {
    type Err = OffsetListError;

    /// Reads `unaligned` (sector 63) or a size such as `64K`, `63s`, `31.5K`, `0`. The name is kept as it was typed.
    fn from_str(text: &str) -> Result<Offset, OffsetListError> {
        let name = text.trim();
        if name.is_empty() {
            return Err(OffsetListError::Empty(text.to_owned()));
        }
        let bytes = if name.eq_ignore_ascii_case("unaligned") {
            Offset::UNALIGNED
        } else {
            let not_a_size = |source| OffsetListError::NotASize {
                text: name.to_owned(),
                source,
            };
            name.parse().map_err(not_a_size)?
        };
        Ok(Offset {
            name: name.to_owned(),
            bytes,
        })
    }
}

/// Reads a list of offsets, `unaligned,64K,128K,1M,2M`, in the order typed; the first will be the baseline.
///
/// # Errors
/// [`OffsetListError`] names the one that is wrong, or the two that are the same place.
pub fn parse_offsets(list: &str) -> Result<Vec<Offset>, OffsetListError> {
    let count = list.split(',').count();
    if count > MAX {
        return Err(OffsetListError::TooMany(count));
    }
    let mut out: Vec<Offset> = Vec::with_capacity(count);
    for text in list.split(',') {
        if text.trim().is_empty() {
            return Err(OffsetListError::Empty(list.to_owned()));
        }
        let offset: Offset = text.parse()?;
        if let Some(first) = out.iter().find(|other| other.bytes == offset.bytes) {
            return Err(OffsetListError::Twice {
                first: first.name.clone(),
                second: offset.name,
                bytes: offset.bytes,
            });
        }
        out.push(offset);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read_as_people_write_them() {
        let offsets = parse_offsets("unaligned, 64K,63.5K,2M,0").expect("a list");
        let read: Vec<_> = offsets
            .iter()
            .map(|o| (o.name.as_str(), o.bytes.get()))
            .collect();
        assert_eq!(
            read,
            [
                ("unaligned", 32_256),
                ("64K", 65_536),
                ("63.5K", 65_024),
                ("2M", 2 << 20),
                ("0", 0)
            ]
        );
    }

    #[test]
    fn a_list_that_cannot_be_meant_is_refused_by_name() {
        let error = |list: &str| parse_offsets(list).expect_err("refused").to_string();
        assert_eq!(
            error("unaligned,64K,63s"),
            "offsets `unaligned` and `63s` are the same place, 31.5 KiB = 63 sectors = 32,256 B; leave one of them out"
        );
        assert!(error("64K,aligned").starts_with("offset `aligned`: `aligned` is not an exact"));
        for list in ["", "64K,,1M", "64K,"] {
            assert!(error(list).contains("has an empty place"), "{list}");
        }
        assert_eq!(
            error(&"1K,".repeat(300)),
            "301 offsets; at most 256 can be compared in one experiment"
        );
    }
}
