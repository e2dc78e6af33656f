//! Whole numbers and decimals in bytes, read eight digits at once.

use straddle_io::eight_digits;

/// The number in `block[from..to]`: digits and nothing else. `None` when there are none, others among them, or more than 64 bits.
#[inline(always)]
pub(crate) fn digits(block: &[u8], from: usize, to: usize) -> Option<u64> {
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

/// The whole number that a text is.
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
    digits(text, 0, text.len())
}

/// The number of `scale`ths in a decimal: `1.5` seconds are 1,500,000,000 nanoseconds. What is finer is cut off.
#[inline]
pub(crate) fn scaled(text: &[u8], scale: u64) -> Option<u64> {
    let Some(point) = memchr::memchr(b'.', text) else {
        return whole(text)?.checked_mul(scale);
    };
    let (before, after) = (&text[..point], &text[point + 1..]);
    let before = match before {
        [] => 0,
        _ => whole(before)?,
    };
    if !after.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut rest = scale;
    let mut fraction = 0;
    for digit in after {
        rest /= 10;
        if rest == 0 {
            break;
        }
        fraction += u64::from(digit - b'0') * rest;
    }
    before.checked_mul(scale)?.checked_add(fraction)
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
        fn a_decimal_is_its_thousandths(whole in 0_u64..1 << 40, thousandths in 0_u64..1000) {
            let text = format!("{whole}.{thousandths:03}");
            prop_assert_eq!(scaled(text.as_bytes(), 1000), Some(whole * 1000 + thousandths));
            let nanoseconds = (whole * 1000 + thousandths).checked_mul(1_000_000);
            prop_assert_eq!(scaled(text.as_bytes(), 1_000_000_000), nanoseconds);
        }
    }

    #[test]
    fn a_decimal_may_lack_a_part() {
        assert_eq!(scaled(b"7", 1000), Some(7000));
        assert_eq!(scaled(b".5", 1000), Some(500));
        assert_eq!(scaled(b"7.", 1000), Some(7000));
        assert_eq!(scaled(b"0.0000004567", 1_000_000_000), Some(456));
        for text in ["", "-1", "1.5.2", "1.x", "1e3", "18446744073709551615.0"] {
            assert_eq!(scaled(text.as_bytes(), 1000), None, "{text}");
        }
    }
}
