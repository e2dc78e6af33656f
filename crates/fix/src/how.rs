use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::Bytes;

/// What becomes of the data in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum How {
    /// They stay where they are: a field is rewritten.
    InPlace,
    /// They are moved to another place of the same device.
    Move {
        /// How many bytes.
        bytes: Bytes,
    },
    /// They are copied to a new device or file, byte by byte; the old one stays until the copy was checked.
    Copy {
        /// How many bytes.
        bytes: Bytes,
    },
    /// They are copied away byte by byte, and back when the layer was re-created.
    Restore {
        /// How many bytes.
        bytes: Bytes,
    },
    /// Files, or what a backup program knows of them, are copied away, and back when the layer was re-created.
    Refill {
        /// How many bytes at most.
        bytes: Bytes,
    },
    /// Nothing that runs on this machine can do it.
    ByHand,
}

impl How {
    /// Bytes that are in question.
    #[must_use]
    pub fn bytes(self) -> Bytes {
        match self {
            How::InPlace | How::ByHand => Bytes::ZERO,
            How::Move { bytes }
            | How::Copy { bytes }
            | How::Restore { bytes }
            | How::Refill { bytes } => bytes,
        }
    }

    /// Whether it is known how many bytes are in question.
    #[must_use]
    pub fn is_known(self) -> bool {
        self.passes() == 0 || self.bytes() > Bytes::ZERO
    }

    /// How often they are copied.
    #[must_use]
    pub fn passes(self) -> u64 {
        match self {
            How::InPlace | How::ByHand => 0,
            How::Move { .. } | How::Copy { .. } => 1,
            How::Restore { .. } | How::Refill { .. } => 2,
        }
    }

    /// What is lost without a backup.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            How::InPlace => "in place",
            How::Move { .. } => "moved",
            How::Copy { .. } => "copied to a new one",
            How::Restore { .. } => "copied away and back",
            How::Refill { .. } => "files copied away and back",
            How::ByHand => "by hand",
        }
    }
}
