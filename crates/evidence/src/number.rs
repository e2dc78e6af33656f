//! Numbers as tools print them.

use crate::fields;
use straddle_io::eight_digits;

/// What tens have that many digits: all that are exact.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The number without a sign and without an exponent at the beginning of `bytes`, `point` before its fraction, and how long it is.
/// `None` where there is none, or one that has more than 19 digits or 22 decimals behind its first one that is no zero: rare ones.
///
/// Up to 15 digits it is the nearest there is, as each operation is exact but the last; of more it may be off by the last bit.
#[inline]
pub(crate) fn decimal(bytes: &[u8], point: u8) -> Option<(f64, usize)> {
    let mut mantissa = 0_u64;
    let mut at = 0;
    let digit = |at: usize| {
        bytes
            .get(at)
            .map(|byte| byte.wrapping_sub(b'0'))
            .filter(|digit| *digit < 10)
    };
    while let Some(next) = digit(at) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(next));
        at += 1;
    }
    let whole = at;
    let mut decimals = 0;
    if bytes.get(at) == Some(&point) {
        at += 1;
        // Eight at once: the counters of Windows have seventeen.
        while let Some(eight) = word(bytes, at).and_then(eight_digits) {
            mantissa = mantissa.wrapping_mul(100_000_000).wrapping_add(eight);
            at += 8;
        }
        while let Some(next) = digit(at) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(next));
            at += 1;
        }
        decimals = at - whole - 1;
    }
    let digits = whole + decimals;
    if digits == 0 {
        return None;
    }
    if digits > 19 {
        let zeros = bytes
            .iter()
            .take(at)
            .take_while(|byte| matches!(byte, b'0' | b'.' | b','))
            .count();
        // The point is no digit, and is among them when they go beyond it.
        let zeros = if zeros > whole { zeros - 1 } else { zeros };
        if digits - zeros > 19 {
            return None;
        }
    }
    let tens = TENS.get(decimals)?;
    Some((figure(mantissa) / tens, at))
}

/// Eight bytes.
#[inline]
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// A number with a decimal point, and a unit's prefix behind it: `1234.5`, `12.3k`. Nothing else around it.
pub(crate) fn plain(text: &str) -> Option<f64> {
    let text = fields::trimmed(text);
    if let Some((value, len)) = decimal(text.as_bytes(), b'.')
        && len == text.len()
    {
        return Some(value);
    }
    let first = *text.as_bytes().first()?;
    // `inf` and `nan` are numbers for the parser.
    if !(first.is_ascii_digit() || matches!(first, b'-' | b'+' | b'.')) {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// A whole number, with any separators of thousands.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let mut digits = 0_u64;
    let mut any = false;
    for c in text.trim().chars() {
        match c {
            '0'..='9' => {
                any = true;
                let digit = u64::from(c) - u64::from('0');
                digits = digits.checked_mul(10)?.checked_add(digit)?;
            }
            ',' | '.' | ' ' | '\'' | '\u{a0}' | '\u{202f}' | '’' if any => {}
            _ => return None,
        }
    }
    any.then_some(digits)
}

/// A whole number as a figure.
#[expect(
    clippy::cast_precision_loss,
    reason = "counters above 2^53 lose their last digits"
)]
pub(crate) fn figure(value: u64) -> f64 {
    value as f64
}

/// A figure that is a count, and not too large to be exact.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is lost makes it another number"
)]
pub(crate) fn exact_count(value: f64) -> Option<u64> {
    let count = value as u64;
    (figure(count).to_bits() == value.to_bits() && count < 1 << 53).then_some(count)
}

/// A number of which it is not known whether the point or the comma stands before its fraction. What has both has the last one;
/// a comma alone stands before the fraction, unless `thousands` says that it separates groups of three.
pub(crate) fn local(text: &str, thousands: bool) -> Option<f64> {
    let text = text.trim();
    let is_other = |byte: u8| !byte.is_ascii() || matches!(byte, b' ' | b'\'' | b',');
    let points = text.bytes().filter(|byte| *byte == b'.').count();
    if points <= 1 && !text.bytes().any(is_other) {
        return plain(text);
    }
    let text: String = text
        .chars()
        .filter(|c| !matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\'' | '’'))
        .collect();
    let (comma, point) = (text.rfind(','), text.rfind('.'));
    // Before the first group are one to three digits, of which the first is no zero.
    let grouped = |at: usize| {
        let first = text[..at].trim_start_matches(['-', '+']);
        (1..=3).contains(&first.len())
            && !first.starts_with('0')
            && text.len() - at == 4
            && text[at + 1..].bytes().all(|b| b.is_ascii_digit())
    };
    let decimal = match (comma, point) {
        (Some(comma), Some(point)) if comma > point => Some(','),
        (Some(_), Some(_)) => Some('.'),
        (Some(at), None) => {
            let several = text.matches(',').count() > 1;
            let separates = several || thousands && grouped(at);
            (!separates).then_some(',')
        }
        (None, Some(_)) => (text.matches('.').count() == 1).then_some('.'),
        (None, None) => None,
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ',' | '.' if Some(c) == decimal => out.push('.'),
            ',' | '.' => {}
            c => out.push(c),
        }
    }
    plain(&out)
}

/// A number where other figures beside it have shown what stands before a fraction: the other sign stands between thousands.
pub(crate) fn with_point(text: &str, point: Option<u8>) -> Option<f64> {
    match (Mark::of(text), point) {
        (Some(mark), Some(point)) if mark.byte != point && mark.may_group => {
            plain(&text.replace(char::from(mark.byte), ""))
        }
        _ => local(text, false),
    }
}

/// What stands before the fraction of a number, if it shows that: the only point or comma, when it cannot stand between thousands, and of
/// both the last one.
pub(crate) fn point_of(text: &str) -> Option<u8> {
    let is_mark = |byte: u8| matches!(byte, b'.' | b',');
    match Mark::of(text) {
        Some(mark) => (!mark.may_group).then_some(mark.byte),
        None if text.contains('.') && text.contains(',') && local(text, false).is_some() => {
            text.bytes().rfind(|byte| is_mark(*byte))
        }
        None => None,
    }
}

/// The only point or comma in a number.
#[derive(Clone, Copy)]
struct Mark {
    byte: u8,
    /// It may stand between thousands: with one to three digits before it, the first of them no zero, and three behind it.
    may_group: bool,
}

impl Mark {
    fn of(text: &str) -> Option<Mark> {
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let at = text.find(['.', ','])?;
        let (before, behind) = (text[..at].trim_start_matches(['-', '+']), &text[at + 1..]);
        let decimals = behind.split(['e', 'E']).next()?;
        if decimals.is_empty() || !are_digits(before) || !are_digits(decimals) {
            return None;
        }
        Some(Mark {
            byte: text.as_bytes()[at],
            may_group: (1..=3).contains(&before.len())
                && !before.starts_with('0')
                && behind.len() == 3
                && are_digits(behind),
        })
    }
}

/// The factor of a prefix: `k`, `M`, `Gi`.
pub(crate) fn prefix(text: &str) -> Option<f64> {
    Some(match text {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" | "ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        "Ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    })
}

/// Where the number at the beginning of a text ends: digits, points and commas.
pub(crate) fn end(text: &str) -> usize {
    let other = |c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',');
    let end = text.find(other).unwrap_or(text.len());
    text[..end].trim_end_matches(['.', ',']).len()
}

/// The number at the beginning of a text, and the rest.
pub(crate) fn leading(text: &str) -> Option<(f64, &str)> {
    let end = end(text);
    Some((plain(&text[..end])?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_is_told_from_thousands() {
        for (text, thousands, value) in [
            ("7,373", false, 7.373),
            ("7,373", true, 7373.0),
            ("7.373", true, 7.373),
            ("1,234,567", false, 1_234_567.0),
            ("1.234.567", false, 1_234_567.0),
            ("1.234,5", false, 1234.5),
            ("1,234.5", false, 1234.5),
            ("1 234,5", false, 1234.5),
            ("1\u{a0}234", false, 1234.0),
            ("0,25", true, 0.25),
            ("0,012", true, 0.012),
            ("2500,125", true, 2500.125),
        ] {
            assert_eq!(local(text, thousands), Some(value), "{text}");
        }
        for text in ["", "abc", "1,2x", "inf", "nan", "-"] {
            assert_eq!(local(text, false), None, "{text}");
        }
    }

    #[test]
    fn a_number_shows_what_stands_before_its_fraction() {
        for (text, point) in [
            ("0,012", Some(b',')),
            ("2500,125", Some(b',')),
            ("3,5", Some(b',')),
            ("1.234,5", Some(b',')),
            ("1,234.5", Some(b'.')),
            ("5.1e-04", Some(b'.')),
            ("1,234", None),
            ("1.234", None),
            ("1,234,567", None),
            ("12", None),
            ("5.mdf", None),
            ("06.05.2024", None),
            ("", None),
        ] {
            assert_eq!(point_of(text), point, "{text}");
        }
        for (text, point, value) in [
            ("1,234", Some(b'.'), 1234.0),
            ("1,234", Some(b','), 1.234),
            ("1.234", Some(b','), 1234.0),
            ("0.5", Some(b','), 0.5),
            ("1,234", None, 1.234),
        ] {
            assert_eq!(with_point(text, point), Some(value), "{text}");
        }
    }

    #[test]
    fn counts_are_exact() {
        for (value, count) in [
            (0.0, Some(0)),
            (-0.0, None),
            (-1.0, None),
            (1.5, None),
            (9_007_199_254_740_991.0, Some(9_007_199_254_740_991)),
            (9_007_199_254_740_992.0, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
        ] {
            assert_eq!(exact_count(value), count, "{value}");
        }
    }

    #[test]
    fn whole_numbers_have_separators() {
        assert_eq!(whole("244,138,625"), Some(244_138_625));
        assert_eq!(whole("244.138.625"), Some(244_138_625));
        assert_eq!(whole("18446744073709551616"), None);
        assert_eq!(whole(",1"), None);
    }

    #[test]
    fn a_number_ends_where_the_sentence_goes_on() {
        assert_eq!(leading("12.5 seconds"), Some((12.5, " seconds")));
        assert_eq!(leading("12."), Some((12.0, ".")));
        assert_eq!(leading("x"), None);
    }

    /// Numbers of all lengths against the parser of the standard library, which is exact.
    #[test]
    fn decimals_are_read_as_the_exact_parser_does() {
        let mut state = 7_u64;
        let mut next = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        let (mut exact, mut near, mut left) = (0, 0, 0);
        for _ in 0..200_000 {
            let (whole, decimals) = (next(12), next(24));
            let zeros = next(12).min(decimals);
            let mut text: String = (0..whole)
                .map(|_| char::from(b'0' + next(10) as u8))
                .collect();
            if decimals > 0 {
                text.push('.');
                text.extend((0..zeros).map(|_| '0'));
                text.extend((zeros..decimals).map(|_| char::from(b'0' + next(10) as u8)));
            }
            let read = decimal(format!("{text}\"").as_bytes(), b'.');
            let Some((value, len)) = read else {
                let digits = text.replace('.', "");
                let digits = digits.trim_start_matches('0').len();
                assert!(text.is_empty() || digits > 19 || decimals > 22, "{text}");
                left += 1;
                continue;
            };
            assert_eq!(len, text.len());
            let right: f64 = text.parse().expect("a number");
            let digits = text.replace('.', "").trim_start_matches('0').len();
            if digits <= 15 {
                assert!(
                    value.to_bits() == right.to_bits(),
                    "{text}: {value:e} {right:e}"
                );
                exact += 1;
            } else {
                let apart = value.to_bits().abs_diff(right.to_bits());
                assert!(apart <= 1, "{text}: {value:e} {right:e}");
                near += 1;
            }
        }
        assert!(
            exact > 50_000 && near > 20_000 && left > 1000,
            "{exact} {near} {left}"
        );
    }

    #[test]
    fn a_decimal_ends_where_other_signs_begin() {
        for (text, point, expected) in [
            ("12.5x", b'.', Some((12.5, 4))),
            ("12,5", b',', Some((12.5, 4))),
            ("12,5", b'.', Some((12.0, 2))),
            (".5", b'.', Some((0.5, 2))),
            ("5.", b'.', Some((5.0, 2))),
            ("1e5", b'.', Some((1.0, 1))),
            (".", b'.', None),
            ("-1", b'.', None),
            ("", b'.', None),
            ("0000000000000000000000012", b'.', Some((12.0, 25))),
            ("0.12345678901234567890", b'.', None),
            ("1.1234567/", b'.', Some((1.123_456_7, 9))),
            ("1.12345678:", b'.', Some((1.123_456_78, 10))),
        ] {
            assert_eq!(decimal(text.as_bytes(), point), expected, "{text}");
        }
        assert_eq!(plain("1e5"), Some(1e5));
        let long = "0.12345678901234567890";
        assert_eq!(plain(long), long.parse().ok());
        assert_eq!(plain("12.5x"), None);
    }
}
