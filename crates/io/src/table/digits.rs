//! Whole numbers in bytes, eight digits at once.

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

/// The number in `block[from..to]`: digits and nothing else. `None` when there are none, others among them, or more than 64 bits.
#[inline(always)]
#[must_use]
pub fn digits(block: &[u8], from: usize, to: usize) -> Option<u64> {
    let len = to.checked_sub(from)?;
    match len {
        // The commonest first: what stands before the number is masked out.
        1..=8 if to >= 8 => eight_digits(masked(block, to, len)?),
        9..=16 => {
            let low = eight_digits(masked(block, to, 8)?)?;
            let high = match to >= 16 {
                true => eight_digits(masked(block, to - 8, len - 8)?)?,
                false => slow(block.get(from..to - 8)?)?,
            };
            Some(high * 100_000_000 + low)
        }
        17..=20 => {
            let low = eight_digits(masked(block, to, 8)?)?;
            let middle = eight_digits(masked(block, to - 8, 8)?)?;
            let high = match to >= 24 {
                true => eight_digits(masked(block, to - 16, len - 16)?)?,
                false => slow(block.get(from..to - 16)?)?,
            };
            high.checked_mul(10_000_000_000_000_000)?
                .checked_add(middle * 100_000_000 + low)
        }
        1.. => slow(block.get(from..to)?),
        0 => None,
    }
}

/// The eight bytes before `to`, all but the last `len` of them made zeros.
#[inline(always)]
fn masked(block: &[u8], to: usize, len: usize) -> Option<u64> {
    let bytes = block.get(to.checked_sub(8)?..to)?;
    let word = u64::from_le_bytes(bytes.try_into().ok()?);
    // The first digit lies in the lowest byte, so what comes before the number are the lowest bytes.
    let foreign = (8 - len) * 8;
    let mask = u64::MAX.checked_shl(u32::try_from(foreign).ok()?)?;
    Some((word & mask) | (0x3030_3030_3030_3030 & !mask))
}

fn slow(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |sum, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then_some(())?;
        sum.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_are_what_the_parser_says(text in "[0-9]{0,22}", before in "[0-9,a]{0,20}") {
            let block = format!("{before}{text}");
            let found = digits(block.as_bytes(), before.len(), block.len());
            prop_assert_eq!(found, text.parse::<u64>().ok());
        }

        #[test]
        fn whatever_is_no_digit_is_found(text in "[0-9]{0,10}[ -/:-~][0-9]{0,10}", before in "[0-9]{0,20}") {
            let block = format!("{before}{text}");
            prop_assert_eq!(digits(block.as_bytes(), before.len(), block.len()), None);
        }

        #[test]
        fn eight_bytes_are_what_the_parser_says(text in "[0-9]{8}|[0-9/:a]{8}") {
            let bytes: [u8; 8] = text.as_bytes().try_into().expect("eight of them");
            prop_assert_eq!(eight_digits(u64::from_le_bytes(bytes)), text.parse().ok());
        }
    }
}
