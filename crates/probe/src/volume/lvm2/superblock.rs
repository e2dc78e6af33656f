//! What device-mapper's `raid` target records on the metadata image of each of its members.
//!
//! Source: Linux `drivers/md/dm-raid.c`, `struct dm_raid_superblock`. LVM leaves to it where data start in images that have
//! room for reshaping.

use straddle_geometry::Bytes;
use straddle_io::ReadError;
use zerocopy::byteorder::little_endian::{I32, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::Window;
use crate::record::{Recorder, place};
use straddle_stack::Fact;

const MAGIC: u32 = 0x6452_6d44;
/// The features word says that the fields for reshaping are there.
const CAN_RESHAPE: u32 = 1;
const RESHAPING: u32 = 1;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Superblock {
    magic: U32,
    features: U32,
    members: U32,
    position: U32,
    events: U64,
    failed: U64,
    recovered: U64,
    resynced: U64,
    level: U32,
    layout: U32,
    stripe: U32,
    flags: U32,
    reshaped: U64,
    new_level: U32,
    new_layout: U32,
    new_stripe: U32,
    more_members: I32,
    array_size: U64,
    /// Where data start in the image, in sectors.
    data_offset: U64,
    new_data_offset: U64,
}

/// What one superblock says that the text does not.
pub(super) struct Known {
    /// Where data start in the image.
    pub(super) start: Option<Fact<Bytes>>,
    /// How far reshaping has come, in addresses of the array, when it is under way.
    pub(super) reshaped: Option<Fact<Bytes>>,
}

/// The superblock at byte `at`; `None` when there is none.
pub(super) fn read(window: &Window<'_>, at: u64) -> Result<Option<Known>, ReadError> {
    let read: Superblock = window.get(at)?;
    if read.magic.get() != MAGIC || read.features.get() & CAN_RESHAPE == 0 {
        return Ok(None);
    }
    let say = Recorder::new(window, at);
    let sectors = |count: U64| Bytes::new(512).checked_mul(count.get());
    let start = sectors(read.data_offset);
    let reshaped =
        (read.flags.get() & RESHAPING != 0).then(|| sectors(read.reshaped).unwrap_or(Bytes::MAX));
    Ok(Some(Known {
        start: start.map(|start| say.fact(start, place!(Superblock.data_offset))),
        reshaped: reshaped.map(|at| say.fact(at, place!(Superblock.reshaped))),
    }))
}
