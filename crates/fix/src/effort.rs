use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;
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
    /// They are copied away byte by byte, and back when the layer was made again.
    Restore {
        /// How many bytes.
        bytes: Bytes,
    },
    /// Files, or what a backup program knows of them, are copied away, and back when the layer was made again.
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

    /// How often they are copied.
    #[must_use]
    pub fn passes(self) -> u64 {
        match self {
            How::InPlace | How::ByHand => 0,
            How::Move { .. } | How::Copy { .. } => 1,
            How::Restore { .. } | How::Refill { .. } => 2,
        }
    }

    /// Space that is needed elsewhere meanwhile.
    #[must_use]
    pub fn space(self) -> Bytes {
        match self {
            How::InPlace | How::ByHand | How::Move { .. } => Bytes::ZERO,
            How::Copy { bytes } | How::Restore { bytes } | How::Refill { bytes } => bytes,
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

/// What a plan takes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Effort {
    /// Bytes that are copied; what is copied away and back counts twice.
    pub copied: Bytes,
    /// Bytes that are in question: a backup of them is needed in any case.
    pub data: Bytes,
    /// Space that is needed elsewhere meanwhile.
    pub space: Bytes,
    /// Bytes that are copied each second; an assumption unless it was given.
    pub rate: Bytes,
    /// How long that takes, in seconds: the downtime, at this rate.
    #[serde(rename = "seconds")]
    #[serde(serialize_with = "seconds")]
    #[schemars(with = "f64")]
    pub downtime: Duration,
    /// What must be done again by hand afterwards: boot loaders, drive letters, identifiers.
    pub again: Vec<String>,
}

fn seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

impl Effort {
    /// What steps take together. `steps` are those that do not rest on another that copies the same bytes.
    #[must_use]
    pub fn of(steps: &[How], rate: Bytes, again: Vec<String>) -> Effort {
        let sum = |each: fn(How) -> Bytes| {
            steps.iter().fold(Bytes::ZERO, |sum, how| {
                sum.checked_add(each(*how)).unwrap_or(Bytes::MAX)
            })
        };
        let copied = sum(|how| how.bytes().checked_mul(how.passes()).unwrap_or(Bytes::MAX));
        #[expect(clippy::cast_precision_loss, reason = "a time needs no 64 bits")]
        let seconds = copied.get() as f64 / rate.get().max(1) as f64;
        Effort {
            copied,
            data: sum(How::bytes),
            space: sum(How::space),
            rate,
            downtime: Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
            again,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Effort, How};
    use std::time::Duration;
    use straddle_geometry::Bytes;

    #[test]
    fn what_is_copied_away_and_back_counts_twice_and_needs_room() {
        let gib = |n: u64| Bytes::new(n << 30);
        let steps = [
            How::InPlace,
            How::ByHand,
            How::Move { bytes: gib(1) },
            How::Copy { bytes: gib(2) },
            How::Restore { bytes: gib(4) },
            How::Refill { bytes: gib(8) },
        ];
        let effort = Effort::of(&steps, gib(1), Vec::new());
        assert_eq!(effort.data, gib(15));
        assert_eq!(effort.copied, gib(1 + 2 + 2 * 4 + 2 * 8));
        assert_eq!(effort.space, gib(2 + 4 + 8));
        assert_eq!(effort.downtime, Duration::from_secs(27));
    }

    #[test]
    fn more_than_can_be_counted_is_the_most() {
        let all = How::Refill { bytes: Bytes::MAX };
        let effort = Effort::of(&[all, all], Bytes::ZERO, Vec::new());
        assert_eq!(effort.copied, Bytes::MAX);
        assert_eq!(effort.data, Bytes::MAX);
    }
}
