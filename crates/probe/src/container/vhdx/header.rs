//! The header of a VHDX, which names its log, and the unit in which its parts are placed.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Everything behind the headers lies at multiples of it.
pub(super) const MIB: u64 = 1 << 20;

/// The header, as it lies in the file.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct Header {
    pub(super) signature: [u8; 4],
    pub(super) checksum: U32,
    pub(super) sequence: U64,
    pub(super) file_write: [u8; 16],
    pub(super) data_write: [u8; 16],
    pub(super) log: [u8; 16],
    pub(super) log_version: U16,
    pub(super) version: U16,
    pub(super) log_len: U32,
    pub(super) log_offset: U64,
    pub(super) reserved: [u8; 4016],
}
