//! Where requests lie: a lattice that is shifted by an offset, in place of a partition that is moved.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use straddle_geometry::{Bytes, Extent, Price, Unit};
use straddle_stack::{GridRole, LayerId};

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

/// Which part of a file or device requests may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Region {
    /// The byte of the file or device that offset 0 stands for: a place that lies on all known grids at once, or as near
    /// to that as the file permits.
    pub base: Bytes,
    /// Bytes that requests of one offset are spread over. The lattice of an offset starts at `base + offset` and ends
    /// within this many bytes of there.
    pub len: Bytes,
}

impl Region {
    /// What requests at `offset` may touch; `None` past the largest address.
    #[must_use]
    pub fn at(self, offset: Bytes) -> Option<Extent> {
        Extent::new(self.base.checked_add(offset)?, self.len)
    }
}

/// How an offset stands on one grid of the stack.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Standing {
    /// What the boundaries are.
    pub role: GridRole,
    /// The layer that contributes them: its index in the stack, and its name.
    pub layer: LayerId,
    /// Its name.
    pub layer_name: String,
    /// Their distance.
    pub unit: Unit,
    /// Bytes from a boundary to the first request; `None` when that differs from piece to piece of a fragmented file.
    pub phase: Option<Bytes>,
    /// What requests of a size cost there, for each request size of the plan: reads and writes.
    pub prices: Vec<SizePrice>,
}

/// What requests of one size cost on a grid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SizePrice {
    /// The request size.
    pub size: Unit,
    /// Of a read; `None` when it is not known.
    pub read: Option<Price>,
    /// Of a write.
    pub write: Option<Price>,
}

/// Where the requests of one offset lie.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Placed {
    /// The offset.
    pub offset: Offset,
    /// Address of its first request on the lowest layer to which one path leads, and that layer's name.
    pub device: Option<(String, Bytes)>,
    /// On every known grid, highest layer first.
    pub standings: Vec<Standing>,
    /// Offsets with the same number stand alike on every known grid: a difference between them is noise, or a grid that
    /// nobody knows of.
    pub class: usize,
}
