//! `FileFsSectorSizeInformation`: what a filesystem knows of the sectors below it. `FILE_STORAGE_INFO`, for which no elevation is
//! needed, has the same fields.

use straddle_geometry::{Bytes, SectorSize};

use super::BadAnswer;
use super::fields::{Field, Fields};

/// `SSINFO_OFFSET_UNKNOWN`.
const UNKNOWN: u32 = u32::MAX;
const ALIGNED_DEVICE: u32 = 1;
const ALIGNED_PARTITION: u32 = 2;
const NO_SEEK_PENALTY: u32 = 4;
const TRIM: u32 = 8;

/// What a filesystem knows of the sectors below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorInfo {
    /// Logical sector.
    pub logical: SectorSize,
    /// Physical sector below which a write is not atomic; `None` when it says zero, as with the next two.
    pub atomicity: Option<SectorSize>,
    /// Physical sector below which a write is slow.
    pub performance: Option<SectorSize>,
    /// The sector that the filesystem takes for its own structures: at most 4 KiB.
    pub effective: Option<SectorSize>,
    /// The device's first logical sector starts a physical one.
    pub is_device_aligned: bool,
    /// The partition starts at a boundary of a physical sector.
    pub is_partition_aligned: bool,
    /// No head moves.
    pub has_no_seek_penalty: bool,
    /// TRIM or UNMAP is sent.
    pub trims: bool,
    /// Where the first logical sector of the device lies in its physical one; `None` when it is not known.
    pub device_offset: Option<Bytes>,
    /// Where the partition's first byte lies in its physical sector; `None` when it is not known.
    pub partition_offset: Option<Bytes>,
}

impl SectorInfo {
    /// Decodes a `FILE_FS_SECTOR_SIZE_INFORMATION` or a `FILE_STORAGE_INFO`.
    ///
    /// # Errors
    /// When it is not whole, or the logical sector is zero.
    pub fn decode(bytes: &[u8]) -> Result<SectorInfo, BadAnswer> {
        let all = Fields::new("FILE_FS_SECTOR_SIZE_INFORMATION", bytes);
        let flags = all.u32(("Flags", 16))?;
        let sector = |field: Field| all.u32(field).map(SectorSize::new);
        let offset = |field: Field| {
            let known = all
                .u32(field)
                .map(|offset| (offset != UNKNOWN).then_some(offset));
            known.map(|offset| offset.map(|offset| Bytes::new(offset.into())))
        };
        Ok(SectorInfo {
            logical: all.sector(("LogicalBytesPerSector", 0))?,
            atomicity: sector(("PhysicalBytesPerSectorForAtomicity", 4))?,
            performance: sector(("PhysicalBytesPerSectorForPerformance", 8))?,
            effective: sector(("FileSystemEffectivePhysicalBytesPerSectorForAtomicity", 12))?,
            is_device_aligned: flags & ALIGNED_DEVICE != 0,
            is_partition_aligned: flags & ALIGNED_PARTITION != 0,
            has_no_seek_penalty: flags & NO_SEEK_PENALTY != 0,
            trims: flags & TRIM != 0,
            device_offset: offset(("ByteOffsetForSectorAlignment", 20))?,
            partition_offset: offset(("ByteOffsetForPartitionAlignment", 24))?,
        })
    }
}
