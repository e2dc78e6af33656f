/// The value of eight digits, the first of them in the lowest byte: all at once, in pairs, then fours. `None` when one is no digit.
#[inline(always)]
#[must_use]
pub fn eight_digits(word: u64) -> Option<u64> {
    let low = word.wrapping_sub(0x3030_3030_3030_3030);
    let high = word.wrapping_add(0x4646_4646_4646_4646);
    if (low | high) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let pairs = low.wrapping_mul(10).wrapping_add(low >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn eight_bytes_are_what_the_parser_says(text in "[0-9]{8}|[0-9/:a]{8}") {
            let bytes: [u8; 8] = text.as_bytes().try_into().expect("eight of them");
            prop_assert_eq!(eight_digits(u64::from_le_bytes(bytes)), text.parse().ok());
        }
    }
}
