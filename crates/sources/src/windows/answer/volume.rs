//! `FSCTL_GET_NTFS_VOLUME_DATA` and `FSCTL_GET_REFS_VOLUME_DATA`: sectors and clusters of a mounted volume.

use straddle_geometry::{Bytes, SectorSize, Sectors, Unit};

use super::BadAnswer;
use super::fields::{Field, Fields};

const NTFS: &str = "NTFS_VOLUME_DATA_BUFFER";
const NTFS_SIZE: usize = 96;
/// Length of `NTFS_EXTENDED_VOLUME_DATA` up to the version, and up to the physical sector.
const EXTENDED: [u32; 2] = [8, 12];
/// Length of `REFS_VOLUME_DATA_BUFFER` up to `MaximumSizeOfResidentFile`. What follows changed between systems.
const REFS_SIZE: u32 = 72;

/// A mounted NTFS volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NtfsVolume {
    /// Serial number, which formatting gives.
    pub serial: u64,
    /// Its sectors.
    pub sectors: Sectors,
    /// Cluster: the allocation unit.
    pub cluster: Unit,
    /// Number of clusters.
    pub clusters: u64,
    /// Number of clusters that are free.
    pub free_clusters: u64,
    /// Length of a file record.
    pub file_record: Bytes,
    /// Cluster at which the MFT starts.
    pub mft_start: u64,
    /// Version on disk, 3.1 since Windows XP. `None`, as with the physical sector, where the tail of the answer is not there.
    pub version: Option<(u16, u16)>,
    /// Physical sector as NTFS knows it.
    pub physical: Option<SectorSize>,
}

impl NtfsVolume {
    /// Decodes an `NTFS_VOLUME_DATA_BUFFER`, and the `NTFS_EXTENDED_VOLUME_DATA` after it as far as it is there.
    ///
    /// # Errors
    /// When the former is not whole, a number is negative, a sector or cluster is zero, or a cluster is not a whole number of sectors.
    pub fn decode(bytes: &[u8]) -> Result<NtfsVolume, BadAnswer> {
        let all = Fields::new(NTFS, bytes);
        // The last field; without it the answer is not whole.
        all.u64(("MftZoneEnd", NTFS_SIZE - 8))?;
        let sector = all.sector(("BytesPerSector", 40))?;
        let tail = all.part("NTFS_EXTENDED_VOLUME_DATA", NTFS_SIZE);
        let length = tail.u32(("ByteCount", 0)).unwrap_or(0);
        let [to_version, to_physical] = EXTENDED.map(|end| length >= end);
        let major = tail.u16(("MajorVersion", 4)).ok();
        let version = major.zip(tail.u16(("MinorVersion", 6)).ok());
        let physical = tail.u32(("BytesPerPhysicalSector", 8)).ok();
        Ok(NtfsVolume {
            serial: all.u64(("VolumeSerialNumber", 0))?,
            sectors: sector.sectors(all.count(("NumberSectors", 8))?),
            cluster: cluster(all, ("BytesPerCluster", 44), sector)?,
            clusters: all.count(("TotalClusters", 16))?,
            free_clusters: all.count(("FreeClusters", 24))?,
            file_record: Bytes::new(all.u32(("BytesPerFileRecordSegment", 48))?.into()),
            mft_start: all.count(("MftStartLcn", 64))?,
            version: version.filter(|_| to_version),
            physical: physical.filter(|_| to_physical).and_then(SectorSize::new),
        })
    }
}

/// A mounted ReFS volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefsVolume {
    /// Version on disk.
    pub version: (u32, u32),
    /// Physical sector as ReFS knows it; `None` when it says zero.
    pub physical: Option<SectorSize>,
    /// Serial number, which formatting gives.
    pub serial: u64,
    /// Its sectors.
    pub sectors: Sectors,
    /// Cluster: the allocation unit.
    pub cluster: Unit,
    /// Number of clusters.
    pub clusters: u64,
    /// Number of clusters that are free.
    pub free_clusters: u64,
}

impl RefsVolume {
    /// Decodes a `REFS_VOLUME_DATA_BUFFER`.
    ///
    /// # Errors
    /// When it is not whole or shorter than that of the first system with ReFS, a number is negative, a sector or cluster is zero, or a
    /// cluster is not a whole number of sectors.
    pub fn decode(bytes: &[u8]) -> Result<RefsVolume, BadAnswer> {
        let all = Fields::new("REFS_VOLUME_DATA_BUFFER", bytes);
        let length = all.u32(("ByteCount", 0))?;
        if length < REFS_SIZE {
            return Err(all.unexpected(("ByteCount", 0), length.into(), "at least 72"));
        }
        all.u64(("MaximumSizeOfResidentFile", 64))?;
        let sector = all.sector(("BytesPerSector", 56))?;
        Ok(RefsVolume {
            version: (all.u32(("MajorVersion", 4))?, all.u32(("MinorVersion", 8))?),
            physical: SectorSize::new(all.u32(("BytesPerPhysicalSector", 12))?),
            serial: all.u64(("VolumeSerialNumber", 16))?,
            sectors: sector.sectors(all.count(("NumberSectors", 24))?),
            cluster: cluster(all, ("BytesPerCluster", 60), sector)?,
            clusters: all.count(("TotalClusters", 32))?,
            free_clusters: all.count(("FreeClusters", 40))?,
        })
    }
}

fn cluster(all: Fields<'_>, field: Field, sector: SectorSize) -> Result<Unit, BadAnswer> {
    let found = all.u32(field)?;
    let whole = Unit::new(found.into()).filter(|_| found.is_multiple_of(sector.get()));
    whole.ok_or_else(|| all.unexpected(field, found.into(), "a whole number of sectors"))
}
