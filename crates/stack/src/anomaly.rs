use schemars::JsonSchema;
use serde::Serialize;

use crate::Source;

/// Something found while reading that is not a fact about alignment but bears on how far the facts can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Anomaly {
    /// What kind of thing it is; a rule answers for each kind.
    pub kind: AnomalyKind,
    /// What was found and what was expected, as a sentence without its period.
    pub detail: String,
    /// Where, when there is a place to show.
    pub source: Option<Source>,
    /// The other side, when two things that were read do not agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<Box<Source>>,
    /// It is about the text that was read, not about the layer that it is kept with: of several disks in a text that is the first.
    #[serde(skip)]
    pub of_text: bool,
}

impl Anomaly {
    /// An anomaly with nothing to show.
    #[must_use]
    pub fn new(kind: AnomalyKind, detail: impl Into<String>) -> Anomaly {
        Anomaly {
            kind,
            detail: detail.into(),
            source: None,
            against: None,
            of_text: false,
        }
    }

    /// An anomaly that can be pointed at.
    #[must_use]
    pub fn at(kind: AnomalyKind, detail: impl Into<String>, source: Source) -> Anomaly {
        Anomaly {
            kind,
            detail: detail.into(),
            source: Some(source),
            against: None,
            of_text: false,
        }
    }

    /// The same about the text in which it stands.
    #[must_use]
    pub fn of_text(self) -> Anomaly {
        Anomaly {
            of_text: true,
            ..self
        }
    }

    /// An anomaly that takes two places to show.
    #[must_use]
    pub fn between(
        kind: AnomalyKind,
        detail: impl Into<String>,
        source: Source,
        against: Source,
    ) -> Anomaly {
        Anomaly {
            against: Some(Box::new(against)),
            ..Anomaly::at(kind, detail, source)
        }
    }
}

/// What kind of thing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AnomalyKind {
    /// A structure contradicts its own checksum, magic or limits; what could be read is used.
    Damaged,
    /// Two copies of a structure differ, or one is missing.
    CopiesDiffer,
    /// Partitions overlap, or one reaches beyond the end of the device.
    Overlap,
    /// A table was written for another sector size than the device's.
    ForeignSectorSize,
    /// Two formats both match.
    Ambiguous,
    /// A chain loops, runs backwards or is longer than the limit.
    Chain,
    /// More entries than are read.
    LimitReached,
    /// A part could not be read.
    Unreadable,
    /// Two tables of different kinds describe the same device differently (hybrid MBR).
    HybridTable,
    /// A superblock was found, but not at its usual place.
    UnusualPlace,
    /// A filesystem was made for a volume of another size than the one it lies in. STR308 says it, from the sizes.
    SizeDiffers,
    /// A fact is not available here; the detail says what would supply it.
    Missing,
    /// A file's data lies in the filesystem's own records, not in blocks of its own.
    Inline,
    /// A file has holes: parts that lie nowhere and read as zeroes.
    Sparse,
    /// A file, or parts of it, are stored compressed: their bytes lie nowhere one by one.
    Compressed,
    /// A file is stored encrypted: what lies at its places is not what a program reads.
    Encrypted,
    /// A part of a file has a place but has not been written: it reads as zeroes whatever lies there.
    Unwritten,
    /// Changes wait in a journal or log that has not been replayed: what was read may be out of date.
    Pending,
    /// A file's data is kept by something other than the filesystem, such as a deduplication store.
    Elsewhere,
    /// Something is named as what something else lies on, and nothing describes it.
    OnlyNamed,
    /// Two captures say different things about the same thing.
    Contradiction,
    /// A number in captured text cannot be right, or is a known slip of the pen.
    Misprint,
    /// Two captures describe different disks in the same place: one was taken before a disk was replaced.
    Stale,
    /// A number in captured text without its unit, or in a unit that nothing tells.
    UnitUnclear,
    /// Captured text that ends in the middle.
    Truncated,
    /// Two disks with one identity.
    SameIdentity,
    /// An array runs, or would run, with fewer members than it is meant to have.
    Degraded,
    /// An array is being rebuilt with another geometry: until that is done, parts of it have one or the other.
    Reshaping,
    /// Members of one set say different things about it.
    MembersDiffer,
    /// Members of a set were not among what was looked at.
    PartlyGiven,
    /// Metadata at the end of a device may belong to the device or to its last partition.
    UnclearOwner,
}

/// Said of the layer that stands for a member which was not given, by [`AnomalyKind::Missing`].
pub const NOT_GIVEN: &str =
    "this member was not given: what lies on it, and its sectors, are not known";

impl AnomalyKind {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            AnomalyKind::Damaged => "damaged",
            AnomalyKind::CopiesDiffer => "copies differ",
            AnomalyKind::Overlap => "overlap",
            AnomalyKind::ForeignSectorSize => "foreign sector size",
            AnomalyKind::Ambiguous => "ambiguous",
            AnomalyKind::Chain => "chain",
            AnomalyKind::LimitReached => "limit reached",
            AnomalyKind::Unreadable => "unreadable",
            AnomalyKind::HybridTable => "hybrid table",
            AnomalyKind::UnusualPlace => "unusual place",
            AnomalyKind::SizeDiffers => "size differs",
            AnomalyKind::Missing => "missing",
            AnomalyKind::Inline => "inline",
            AnomalyKind::Sparse => "sparse",
            AnomalyKind::Compressed => "compressed",
            AnomalyKind::Encrypted => "encrypted",
            AnomalyKind::Unwritten => "unwritten",
            AnomalyKind::Pending => "pending",
            AnomalyKind::Elsewhere => "elsewhere",
            AnomalyKind::OnlyNamed => "only named",
            AnomalyKind::Contradiction => "contradiction",
            AnomalyKind::Misprint => "misprint",
            AnomalyKind::Stale => "stale",
            AnomalyKind::UnitUnclear => "unit unclear",
            AnomalyKind::Truncated => "truncated",
            AnomalyKind::SameIdentity => "same identity",
            AnomalyKind::Degraded => "degraded",
            AnomalyKind::Reshaping => "reshaping",
            AnomalyKind::MembersDiffer => "members differ",
            AnomalyKind::PartlyGiven => "partly given",
            AnomalyKind::UnclearOwner => "unclear owner",
        }
    }
}
