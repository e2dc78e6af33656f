//! What of a VHDX's structures is written: the layout is at the heads of `probe`'s files on VHDX.

use crate::format::bits::{crc32c, put};

/// Everything behind the headers lies at multiples of it.
pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const HEADERS: [u64; 2] = [0x1_0000, 0x2_0000];
pub(crate) const REGIONS: [u64; 2] = [0x3_0000, 0x4_0000];
pub(crate) const REGIONS_LEN: usize = 64 << 10;
/// State of a block that has a place.
pub(crate) const PRESENT: u64 = 6;
/// Largest disk by the specification.
pub(crate) const MAX_DISK: u64 = 64 << 40;

/// GUIDs as they lie in the file.
pub(crate) const TABLE: [u8; 16] =
    crate::ids::guid(0x2dc2_7766_f623_4200_9d64_115e_9bfd_4a08_u128.to_be_bytes());
pub(crate) const METADATA: [u8; 16] =
    crate::ids::guid(0x8b7c_a206_4790_4b9a_b8fe_575f_050f_886e_u128.to_be_bytes());
pub(crate) const PARAMETERS: [u8; 16] =
    crate::ids::guid(0xcaa1_6737_fa36_4d43_b3b6_33f0_aa44_e76b_u128.to_be_bytes());
pub(crate) const DISK_SIZE: [u8; 16] =
    crate::ids::guid(0x2fa5_4224_cd1b_4876_b211_5dbe_d83b_f4b8_u128.to_be_bytes());
pub(crate) const DISK_ID: [u8; 16] =
    crate::ids::guid(0xbeca_12ab_b2e6_4523_93ef_c309_e000_c746_u128.to_be_bytes());
pub(crate) const LOGICAL: [u8; 16] =
    crate::ids::guid(0x8141_bf1d_a96f_4709_ba47_f233_a8fa_ab5f_u128.to_be_bytes());
pub(crate) const PHYSICAL: [u8; 16] =
    crate::ids::guid(0xcda3_48c7_445d_4471_9cc9_e988_5251_c556_u128.to_be_bytes());

/// Puts the checksum of a header or a region table into it.
pub(crate) fn seal(structure: &mut [u8]) {
    put(structure, 4, &[0; 4]);
    let sum = crc32c(structure);
    put(structure, 4, &sum.to_le_bytes());
}

/// Payload blocks between two entries for bitmaps.
pub(crate) fn ratio(sector: u64, block: u64) -> u64 {
    ((1 << 23) * sector / block.max(1)).max(1)
}

/// Which entry is that of payload block `block`.
pub(crate) fn entry_of(block: u64, ratio: u64) -> u64 {
    block.saturating_add(block / ratio.max(1))
}
