use crate::{Bytes, Extent};

/// Where an address of one layer lies in the layers below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Which of the layers below: an index into their list.
    pub target: usize,
    /// The address there.
    pub offset: Bytes,
    /// How many bytes from here on stay contiguous, at least 1.
    pub run: Bytes,
}

/// A run of addresses that lies in one piece somewhere below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// The addresses in the upper layer.
    pub upper: Extent,
    /// Which of the layers below.
    pub target: usize,
    /// Where the run starts there.
    pub lower: Bytes,
}
