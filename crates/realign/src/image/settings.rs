use straddle_geometry::SectorSize;

use crate::ids::Ids;

/// What a writer is told besides the disk.
pub(super) struct Settings {
    /// What the guest is to take for a sector.
    pub(super) sector: SectorSize,
    /// Where identities come from.
    pub(super) ids: Ids,
}
