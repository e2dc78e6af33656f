use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use straddle_geometry::Ratio;

/// The permanent name of a rule: `STR101`. Never reused.
///
/// Only the registry has numbers; everything else takes a code from [`codes`](crate::codes), a rule or a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub(crate) u16);

/// What rules are about: the hundreds of their codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// 1: partitions.
    Partition,
    /// 2: stripes and arrays.
    Array,
    /// 3: filesystems.
    Filesystem,
    /// 4: virtual disks and nested guests.
    Container,
    /// 5: topology that lies.
    Topology,
    /// 6: volume managers and encryption.
    Volume,
    /// 7: atomic and torn writes.
    Atomic,
    /// 8: performance evidence.
    Evidence,
    /// 9: quality of the facts.
    Facts,
}

impl Family {
    /// What its rules are about, in words.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Family::Partition => "partitions",
            Family::Array => "stripes and arrays",
            Family::Filesystem => "filesystems",
            Family::Container => "virtual disks and nested guests",
            Family::Topology => "topology that lies",
            Family::Volume => "volume managers and encryption",
            Family::Atomic => "atomic and torn writes",
            Family::Evidence => "performance evidence",
            Family::Facts => "quality of the facts",
        }
    }
}

impl Code {
    /// What its rule is about; `None` for a number that no rule can have.
    #[must_use]
    pub const fn family(self) -> Option<Family> {
        Some(match self.0 / 100 {
            1 => Family::Partition,
            2 => Family::Array,
            3 => Family::Filesystem,
            4 => Family::Container,
            5 => Family::Topology,
            6 => Family::Volume,
            7 => Family::Atomic,
            8 => Family::Evidence,
            9 => Family::Facts,
            _ => return None,
        })
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("STR{:03}", self.0))
    }
}

/// A text that is not a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotACode;

impl FromStr for Code {
    type Err = NotACode;

    /// Accepts `STR101`, `str101` and `101`.
    fn from_str(text: &str) -> Result<Code, NotACode> {
        let upper = text.trim().to_ascii_uppercase();
        let digits = upper.strip_prefix("STR").unwrap_or(&upper);
        if digits.len() != 3 {
            return Err(NotACode);
        }
        digits.parse().map(Code).map_err(|_| NotACode)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Code {
    fn schema_name() -> Cow<'static, str> {
        "Code".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^STR[0-9]{3}$" })
    }
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing; costs less than 5%, or nothing.
    Note,
    /// Costs 5% or more, or makes a later step go wrong.
    Warning,
    /// Costs 50% or more, or the facts contradict each other so badly that data may be at risk.
    Error,
}

impl Severity {
    /// The severity of a price: below 5% a note, from 5% a warning, from 50% an error.
    #[must_use]
    pub fn of_price(extra: Ratio) -> Severity {
        let percent = |n| Ratio::new(n, 100).unwrap_or(Ratio::ONE);
        if extra >= percent(50) {
            Severity::Error
        } else if extra >= percent(5) {
            Severity::Warning
        } else {
            Severity::Note
        }
    }

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// How settled a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// In use.
    Stable,
    /// In use; what it says may still change.
    Preview,
    /// Kept for its code; never fires.
    Removed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severity_follows_the_price() {
        let of = |n, d| Severity::of_price(Ratio::new(n, d).expect("not zero"));
        assert_eq!(of(0, 1), Severity::Note);
        assert_eq!(of(4_999, 100_000), Severity::Note);
        assert_eq!(of(1, 20), Severity::Warning);
        assert_eq!(of(1, 8), Severity::Warning);
        assert_eq!(of(1, 2), Severity::Error);
        assert_eq!(of(3, 1), Severity::Error);
    }

    #[test]
    fn codes_are_read_as_people_type_them() {
        for text in ["STR101", "str101", "101", " STR101 "] {
            assert_eq!(text.parse(), Ok(Code(101)));
        }
        for text in ["", "STR", "STR1", "STR1010", "ABC101"] {
            assert_eq!(text.parse::<Code>(), Err(NotACode));
        }
    }
}
