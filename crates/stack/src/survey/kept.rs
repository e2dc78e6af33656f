//! What is kept of a table.

use straddle_geometry::{Bytes, Extent, Unit};

use crate::LayerId;

/// What is known of the blocks of a virtual disk after one pass over its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Bytes that lie somewhere below, in the container's own files or in a parent.
    pub mapped: Bytes,
    /// Bytes that lie nowhere.
    pub absent: Bytes,
    /// Bytes recorded as zeroes.
    pub zero: Bytes,
    /// Bytes that are compressed.
    pub packed: Bytes,
    /// Bytes that lie in a parent.
    pub in_parent: Bytes,
    /// Runs: neighbours that continue each other below count as one.
    pub runs: u64,
    /// Positions in the disk are kept modulo this.
    pub period: Unit,
    /// For each layer that runs end in, what the places there are kept modulo of.
    pub bases: Vec<Base>,
    /// What lies in each part of the disk that some layer above consists of; the whole disk first.
    pub windows: Vec<Window>,
}

/// A layer in which runs end: its grids are the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    /// The layer.
    pub layer: LayerId,
    /// A multiple of the unit of every grid that is looked at there.
    pub modulus: Unit,
}

/// The runs in one part of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The part, in addresses of the disk.
    pub extent: Extent,
    /// Runs that are alike, counted.
    pub classes: Vec<Class>,
    /// Runs near either end of the part, one by one: a stream of requests may begin or end in them.
    pub edges: Vec<Run>,
    /// True when there are more kinds of runs than are kept; then nothing can be said about the part.
    pub incomplete: bool,
}

/// Runs that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    /// Index into [`Survey::bases`].
    pub base: usize,
    /// Where they start, from the start of the window, modulo [`Survey::period`].
    pub offset: Bytes,
    /// Their length.
    pub len: Bytes,
    /// Where they start below, modulo [`Base::modulus`].
    pub lower: Bytes,
    /// How many there are.
    pub count: u64,
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Index into [`Survey::bases`].
    pub base: usize,
    /// Its addresses in the disk.
    pub upper: Extent,
    /// Where it starts below.
    pub lower: Bytes,
}

impl Survey {
    /// What lies in exactly this part of the disk.
    #[must_use]
    pub fn window(&self, extent: Extent) -> Option<&Window> {
        let found = self.windows.iter().find(|window| window.extent == extent);
        found.filter(|window| !window.incomplete)
    }
}
