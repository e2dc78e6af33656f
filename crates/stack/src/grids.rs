use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Family, Grid};

use crate::Fact;

/// A grid that a layer contributes, in the layer's own addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GridFact {
    /// What the boundaries are.
    pub role: GridRole,
    /// Where they lie, and how that is known.
    pub grid: Fact<Grid>,
}

/// What the boundaries of a grid are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GridRole {
    /// The smallest addressable unit. Nothing can be off this grid.
    LogicalSector,
    /// What the medium rewrites as a whole.
    PhysicalSector,
    /// Preferred minimum request (`minimum_io_size`): a stripe unit, or an SSD's preferred write granularity.
    MinimumIo,
    /// Preferred request for throughput (`optimal_io_size`): often a full stripe, often a lie.
    OptimalIo,
    /// Mapping granule of a flash device: smaller writes are read-modify-write inside it.
    IndirectionUnit,
    /// Flash erase block.
    EraseBlock,
    /// Smallest range that a discard frees.
    DiscardGranularity,
    /// Largest write that the device completes whole or not at all.
    AtomicWrite,
    /// A boundary that no request may cross inside the device (`chunk_sectors`).
    ChunkSectors,
    /// Zone of a zoned device.
    Zone,
    /// Bytes on one spindle before the next takes over.
    StripeUnit,
    /// Data of one whole stripe; smaller writes to parity RAID are read-modify-write.
    FullStripe,
    /// Allocation granule of a thin pool or cache.
    ThinChunk,
    /// Sector that is encrypted or checksummed as a whole.
    EncryptionSector,
    /// Allocation unit of a filesystem: cluster or block.
    AllocationUnit,
    /// Page of a database file.
    DatabasePage,
    /// What a virtual disk container places as a whole: neighbouring blocks may lie anywhere.
    ContainerBlock,
}

impl GridRole {
    /// The field's usual word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            GridRole::LogicalSector => "logical sector",
            GridRole::PhysicalSector => "physical sector",
            GridRole::MinimumIo => "minimum I/O size",
            GridRole::OptimalIo => "optimal I/O size",
            GridRole::IndirectionUnit => "indirection unit",
            GridRole::EraseBlock => "erase block",
            GridRole::DiscardGranularity => "discard granularity",
            GridRole::AtomicWrite => "atomic-write unit",
            GridRole::ChunkSectors => "chunk boundary",
            GridRole::Zone => "zone",
            GridRole::StripeUnit => "stripe unit",
            GridRole::FullStripe => "full stripe",
            GridRole::ThinChunk => "thin chunk",
            GridRole::EncryptionSector => "encryption sector",
            GridRole::AllocationUnit => "allocation unit",
            GridRole::DatabasePage => "database page",
            GridRole::ContainerBlock => "container block",
        }
    }

    /// What crossing one of its boundaries costs.
    #[must_use]
    pub const fn family(self) -> Family {
        match self {
            GridRole::LogicalSector
            | GridRole::PhysicalSector
            | GridRole::IndirectionUnit
            | GridRole::FullStripe
            | GridRole::ThinChunk
            | GridRole::EncryptionSector
            | GridRole::AllocationUnit
            | GridRole::EraseBlock
            | GridRole::DiscardGranularity => Family::ReadModifyWrite,
            GridRole::MinimumIo
            | GridRole::OptimalIo
            | GridRole::AtomicWrite
            | GridRole::ChunkSectors
            | GridRole::Zone
            | GridRole::StripeUnit
            | GridRole::DatabasePage
            | GridRole::ContainerBlock => Family::Splitting,
        }
    }
}
