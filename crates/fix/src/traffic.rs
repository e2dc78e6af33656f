use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::Bytes;

/// What is read and written to carry something out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Traffic {
    /// Bytes that are read.
    pub read: Bytes,
    /// Bytes that are written.
    pub written: Bytes,
    /// Room that must be free elsewhere meanwhile.
    pub room: Bytes,
}

impl Traffic {
    /// So many times each of `bytes`.
    pub(crate) fn times(bytes: Bytes, reads: u64, writes: u64) -> Traffic {
        let times = |n| bytes.checked_mul(n).unwrap_or(Bytes::MAX);
        Traffic {
            read: times(reads),
            written: times(writes),
            room: Bytes::ZERO,
        }
    }

    /// The same, with room that must be free meanwhile.
    pub(crate) fn in_room(self, room: Bytes) -> Traffic {
        Traffic { room, ..self }
    }

    /// Both, one after the other.
    #[must_use]
    pub fn and(self, other: Traffic) -> Traffic {
        let sum = |a: Bytes, b: Bytes| a.checked_add(b).unwrap_or(Bytes::MAX);
        Traffic {
            read: sum(self.read, other.read),
            written: sum(self.written, other.written),
            room: sum(self.room, other.room),
        }
    }

    /// Bytes that would be read once and written once in the same time.
    #[must_use]
    pub fn copied(self) -> Bytes {
        let both = self.read.checked_add(self.written).unwrap_or(Bytes::MAX);
        Bytes::new(both.get().div_ceil(2))
    }
}
