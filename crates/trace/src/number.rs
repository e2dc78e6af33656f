//! Whole numbers and decimals in bytes.

use straddle_io::digits;

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
