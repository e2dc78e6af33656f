//! `StorageAccessAlignmentProperty`: logical and physical sector, and where the first boundary lies.

use straddle_geometry::{Bytes, Grid, SectorSize, Unit};

use crate::windows::answer::BadAnswer;
use crate::windows::answer::fields::{Field, Fields};

const SIZE: usize = 28;
const PHYSICAL: Field = ("BytesPerPhysicalSector", 20);
const OFFSET: Field = ("BytesOffsetForSectorAlignment", 24);

/// The sectors of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessAlignment {
    /// Line of the device's cache; zero when it does not say.
    pub cache_line: Bytes,
    /// Where the first line starts.
    pub cache_line_offset: Bytes,
    /// Logical sector.
    pub logical: SectorSize,
    /// Physical sector: a whole number of logical ones.
    pub physical: Unit,
    /// Where the first logical sector lies in its physical sector.
    pub offset: Bytes,
}

impl AccessAlignment {
    /// Decodes a `STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR`.
    ///
    /// # Errors
    /// When it is not whole, a sector is zero, the physical sector is not a whole number of logical ones, or the offset is not one of
    /// a logical sector in a physical one.
    pub fn decode(bytes: &[u8]) -> Result<AccessAlignment, BadAnswer> {
        let name = "STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR";
        let all = Fields::sized(name, bytes, SIZE, "at least 28")?;
        let logical = all.sector(("BytesPerLogicalSector", 16))?;
        let (physical, offset) = (all.u32(PHYSICAL)?, all.u32(OFFSET)?);
        let whole = Unit::new(physical.into()).filter(|_| physical.is_multiple_of(logical.get()));
        let is_inside = offset < physical && offset.is_multiple_of(logical.get());
        Ok(AccessAlignment {
            cache_line: Bytes::new(all.u32(("BytesPerCacheLine", 8))?.into()),
            cache_line_offset: Bytes::new(all.u32(("BytesOffsetForCacheAlignment", 12))?.into()),
            logical,
            physical: whole.ok_or_else(|| {
                all.unexpected(
                    PHYSICAL,
                    physical.into(),
                    "a whole number of logical sectors",
                )
            })?,
            offset: if is_inside {
                Bytes::new(offset.into())
            } else {
                let expected = "a whole number of logical sectors, less than a physical one";
                return Err(all.unexpected(OFFSET, offset.into(), expected));
            },
        })
    }

    /// Boundaries of physical sectors, in the addresses of the device.
    ///
    /// With an offset of three sectors, address 0 is the fourth sector of its physical one: the next boundary is as many sectors
    /// away as are left of it. (READ CAPACITY has the lowest aligned sector instead; Windows converts it.)
    #[must_use]
    pub fn physical_grid(&self) -> Grid {
        let phase = self.physical.bytes().checked_sub(self.offset);
        Grid::with_phase(self.physical, phase.unwrap_or_default())
    }
}
