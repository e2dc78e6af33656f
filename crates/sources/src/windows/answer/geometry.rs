//! `IOCTL_DISK_GET_LENGTH_INFO` and `IOCTL_DISK_GET_DRIVE_GEOMETRY_EX`: how long a disk is, and its logical sector.

use straddle_geometry::{Bytes, SectorSize};
use uuid::Uuid;

use super::BadAnswer;
use super::fields::Fields;

const DATA: usize = 32;
const PARTITION_INFO_SIZE: usize = 24;
const DETECTION_SIZE: usize = 56;

/// Decodes a `GET_LENGTH_INFORMATION`: the length of a disk, a partition or a volume.
///
/// # Errors
/// When it is not whole or negative.
pub fn length(bytes: &[u8]) -> Result<Bytes, BadAnswer> {
    Fields::new("GET_LENGTH_INFORMATION", bytes).length(("Length", 0))
}

/// The geometry of a disk. Cylinders, tracks and sectors per track are made up; what was partitioned by them is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// What the medium is.
    pub media: Media,
    /// Number of cylinders.
    pub cylinders: u64,
    /// Tracks per cylinder.
    pub tracks: u32,
    /// Sectors per track.
    pub sectors: u32,
    /// Logical sector.
    pub sector: SectorSize,
    /// Length of the disk.
    pub size: Bytes,
    /// How the disk's partition table identifies it. `None` where the tail of the answer is not there or contradicts itself, as with
    /// `bios`.
    pub identity: Option<TableIdentity>,
    /// What the firmware says of it, where the system asked.
    pub bios: Option<Bios>,
}

/// What a medium is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// A disk that stays where it is.
    Fixed,
    /// A medium that can be taken out.
    Removable,
    /// Another `MEDIA_TYPE`: floppies, or unknown (0).
    Other(u32),
}

/// How a partition table identifies its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableIdentity {
    /// The signature in a master boot record, and the checksum of that sector.
    Mbr {
        /// Signature.
        signature: u32,
        /// Checksum.
        checksum: u32,
    },
    /// Identifier in a GUID partition table.
    Gpt(Uuid),
    /// There is no table.
    Raw,
}

/// What the firmware says of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bios {
    /// The classical call.
    Int13 {
        /// Highest cylinder.
        max_cylinder: u32,
        /// Sectors per track.
        sectors: u16,
        /// Highest head.
        max_head: u16,
    },
    /// The extended call.
    ExInt13 {
        /// Cylinders.
        cylinders: u32,
        /// Heads.
        heads: u32,
        /// Sectors per track.
        sectors: u32,
        /// Sectors of the disk.
        all_sectors: u64,
        /// Bytes in a sector; `None` when it says zero.
        sector: Option<SectorSize>,
    },
}

impl Geometry {
    /// Decodes a `DISK_GEOMETRY_EX`.
    ///
    /// # Errors
    /// When what comes before the tail is not whole, a number is negative or the sector is zero.
    pub fn decode(bytes: &[u8]) -> Result<Geometry, BadAnswer> {
        let all = Fields::new("DISK_GEOMETRY_EX", bytes);
        let media = match all.u32(("Geometry.MediaType", 8))? {
            11 => Media::Removable,
            12 => Media::Fixed,
            other => Media::Other(other),
        };
        let tail = all.part("DISK_PARTITION_INFO", DATA);
        let identity = identity(tail);
        Ok(Geometry {
            media,
            cylinders: all.count(("Geometry.Cylinders", 0))?,
            tracks: all.u32(("Geometry.TracksPerCylinder", 12))?,
            sectors: all.u32(("Geometry.SectorsPerTrack", 16))?,
            sector: all.sector(("Geometry.BytesPerSector", 20))?,
            size: all.length(("DiskSize", 24))?,
            identity: identity.map(|(identity, _)| identity),
            bios: identity.and_then(|(_, size)| bios(tail.part("DISK_DETECTION_INFO", size))),
        })
    }
}

/// The identity, and where the detection starts after it.
fn identity(info: Fields<'_>) -> Option<(TableIdentity, usize)> {
    let size = info.u32(("SizeOfPartitionInfo", 0)).ok()?;
    let size = usize::try_from(size).ok()?;
    if size < PARTITION_INFO_SIZE || !info.has(PARTITION_INFO_SIZE) {
        return None;
    }
    let identity = match info.u32(("PartitionStyle", 4)).ok()? {
        0 => TableIdentity::Mbr {
            signature: info.u32(("Mbr.Signature", 8)).ok()?,
            checksum: info.u32(("Mbr.CheckSum", 12)).ok()?,
        },
        1 => TableIdentity::Gpt(info.guid(("Gpt.DiskId", 8)).ok()?),
        2 => TableIdentity::Raw,
        _ => return None,
    };
    Some((identity, size))
}

fn bios(info: Fields<'_>) -> Option<Bios> {
    let size = info.u32(("SizeOfDetectInfo", 0)).ok()?;
    if usize::try_from(size).ok()? < DETECTION_SIZE || !info.has(DETECTION_SIZE) {
        return None;
    }
    let sector = info.u16(("ExInt13.ExSectorSize", 48)).ok()?;
    match info.u32(("DetectionType", 4)).ok()? {
        1 => Some(Bios::Int13 {
            max_cylinder: info.u32(("Int13.MaxCylinders", 12)).ok()?,
            sectors: info.u16(("Int13.SectorsPerTrack", 16)).ok()?,
            max_head: info.u16(("Int13.MaxHeads", 18)).ok()?,
        }),
        2 => Some(Bios::ExInt13 {
            cylinders: info.u32(("ExInt13.ExCylinders", 28)).ok()?,
            heads: info.u32(("ExInt13.ExHeads", 32)).ok()?,
            sectors: info.u32(("ExInt13.ExSectorsPerTrack", 36)).ok()?,
            all_sectors: info.u64(("ExInt13.ExSectorsPerDrive", 40)).ok()?,
            sector: SectorSize::new(sector.into()),
        }),
        _ => None,
    }
}
