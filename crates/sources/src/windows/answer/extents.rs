//! `IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS`: which parts of which disks a volume lies on.

use straddle_geometry::Extent;

use super::BadAnswer;
use super::fields::Fields;
use super::layout::extent;

const FIRST_EXTENT: usize = 8;
const EXTENT_SIZE: usize = 24;

/// The parts of disks that a volume lies on.
///
/// A simple volume of a basic disk has one. Several are a dynamic volume: spanned, striped, mirrored or with parity; the answer
/// does not say which, nor a stripe unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeExtents {
    /// The parts, in the order of the answer.
    pub extents: Vec<DiskExtent>,
    /// How many parts it counts that are not in the answer.
    pub missing: u32,
}

/// A part of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskExtent {
    /// Number of the disk, as in `\\.\PhysicalDriveN`.
    pub disk: u32,
    /// Where it lies there.
    pub extent: Extent,
}

impl VolumeExtents {
    /// Decodes a `VOLUME_DISK_EXTENTS`.
    ///
    /// # Errors
    /// When there is no count, or a place or length is negative.
    pub fn decode(bytes: &[u8]) -> Result<VolumeExtents, BadAnswer> {
        let head = Fields::new("VOLUME_DISK_EXTENTS", bytes);
        let count = head.u32(("NumberOfDiskExtents", 0))?;
        let (each, missing) = head.list("DISK_EXTENT", FIRST_EXTENT, EXTENT_SIZE, count);
        let extents = each.map(|part| {
            Ok(DiskExtent {
                disk: part.u32(("DiskNumber", 0))?,
                extent: extent(part, ("StartingOffset", 8), ("ExtentLength", 16))?,
            })
        });
        Ok(VolumeExtents {
            extents: extents.collect::<Result<_, _>>()?,
            missing,
        })
    }
}
