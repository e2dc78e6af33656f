//! The checksum of LVM2: CRC-32 that begins with a number of its own and is not inverted at the end.

/// What it begins with.
const INITIAL: u32 = 0xf597_a6cf;

/// The checksum of `bytes`.
pub(super) fn of(bytes: &[u8]) -> u32 {
    of_both(bytes, &[])
}

/// The checksum of `first` followed by `second`.
pub(super) fn of_both(first: &[u8], second: &[u8]) -> u32 {
    // The usual one inverts its register before and after.
    let mut hasher = crc32fast::Hasher::new_with_initial(!INITIAL);
    hasher.update(first);
    hasher.update(second);
    !hasher.finalize()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checksum_is_a_register_without_inversions() {
        let mut register = super::INITIAL;
        for byte in b"LVM2 x[5A%r0N*>" {
            register ^= u32::from(*byte);
            for _ in 0..8 {
                register = (register >> 1) ^ ((register & 1) * 0xedb8_8320);
            }
        }
        assert_eq!(super::of(b"LVM2 x[5A%r0N*>"), register);
        assert_eq!(super::of_both(b"LVM2 x[5", b"A%r0N*>"), register);
        assert_eq!(super::of(b""), super::INITIAL);
    }
}
