//! CRC-32C (Castagnoli), the checksum of VHDX, ext4, XFS and btrfs; RFC 3720 B.4 has test values. CRC-32 of `crc32fast` is
//! another polynomial.

use crc::{CRC_32_ISCSI, Crc, Table};

static CRC: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// Of `bytes`.
pub(crate) fn of(bytes: &[u8]) -> u32 {
    CRC.checksum(bytes)
}

/// Of `bytes`, those of the checksum itself, four at `at`, taken as zero.
pub(crate) fn sealed(bytes: &[u8], at: usize) -> u32 {
    let (before, rest) = bytes.split_at(at.min(bytes.len()));
    let mut sum = CRC.digest();
    sum.update(before);
    sum.update(&[0; 4]);
    sum.update(rest.get(4..).unwrap_or(&[]));
    sum.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_rfc_3720() {
        assert_eq!(of(&[0; 32]), 0x8a91_36aa);
        assert_eq!(of(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(of(&(0..32).collect::<Vec<u8>>()), 0x46dd_794e);
        assert_eq!(of(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn the_checksum_itself_counts_as_zero() {
        let mut bytes: Vec<u8> = (0..100).collect();
        let before = sealed(&bytes, 4);
        bytes[4..8].copy_from_slice(&before.to_le_bytes());
        assert_eq!(sealed(&bytes, 4), before);
        bytes[8] ^= 1;
        assert_ne!(sealed(&bytes, 4), before);
    }
}
