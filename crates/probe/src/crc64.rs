//! CRC-64, the checksum of bcache and bcachefs.

/// CRC-64 of ECMA-182, begun and ended with ones.
pub(crate) fn of(bytes: &[u8]) -> u64 {
    const POLYNOMIAL: u64 = 0x42f0_e1eb_a9ea_3693;
    let step = |crc: u64, byte: &u8| {
        (0..8).fold(crc ^ u64::from(*byte) << 56, |crc, _| {
            let carry = if crc >> 63 == 1 { POLYNOMIAL } else { 0 };
            crc << 1 ^ carry
        })
    };
    !bytes.iter().fold(u64::MAX, step)
}
