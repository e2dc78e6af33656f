//! CRC-64, the checksum of bcache and bcachefs.

use crc::{CRC_64_WE, Crc};

static CRC: Crc<u64> = Crc::<u64>::new(&CRC_64_WE);

/// CRC-64 of ECMA-182, begun and ended with ones.
pub(crate) fn of(bytes: &[u8]) -> u64 {
    CRC.checksum(bytes)
}
