//! Numbers as tools print them: grouped, in hexadecimal, rounded to a unit.

use straddle_geometry::Bytes;
use straddle_stack::Interval;

/// What a tool means by KB, MB and GB. KiB, MiB and GiB are always powers of 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// 1,024 to the power of.
    Binary,
    /// 1,000 to the power of.
    Decimal,
}

/// How a tool comes to the figure that it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To the nearest.
    Nearest,
    /// Down: the rest is cut off.
    Down,
    /// Nobody knows whether up or to the nearest: N stands for anything above N − 1 and up to N + ½.
    UpOrNearest,
    /// Nobody knows: N stands for anything between N − 1 and N + 1.
    Any,
}

/// A whole number: `1048576`, `1,048,576`, `1 048 576`, `1.048.576`, `0x100000`.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok();
    }
    if let Ok(number) = text.parse() {
        return text
            .starts_with(|c: char| c.is_ascii_digit())
            .then_some(number);
    }
    let separator = text.chars().find(|c| !c.is_ascii_digit())?;
    if !matches!(separator, ',' | '.' | ' ' | '\'' | '’') {
        return None;
    }
    let mut groups = text.split(separator);
    let first = groups.next()?;
    if first.is_empty() || first.len() > 3 {
        return None;
    }
    let mut digits = first.to_owned();
    for group in groups {
        if group.len() != 3 {
            return None;
        }
        digits.push_str(group);
    }
    digits
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| digits.parse().ok())?
}

/// The number at the beginning of a text: `512` of `512 bytes`.
pub(crate) fn leading(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let hex = text.starts_with("0x") || text.starts_with("0X");
    let end = if hex {
        let digits = text[2..].find(|c: char| !c.is_ascii_hexdigit());
        digits.map_or(text.len(), |at| at + 2)
    } else {
        let stop = text.find(|c: char| !(c.is_ascii_digit() || c == ','));
        stop.unwrap_or(text.len())
    };
    whole(text[..end].trim_end_matches(','))
}

/// The factor of a unit's name, in the languages of Windows: `KB`, `Ko`, `КБ`, `Кбайт`, `Gbytes`, `K octets`, `GiB`.
fn factor(unit: &str, prefix: Prefix) -> Option<u64> {
    const BYTES: [&str; 13] = [
        "b",
        "byte",
        "bytes",
        "octet",
        "octets",
        "o",
        "б",
        "байт",
        "байта",
        "bajt",
        "bajty",
        "bajtů",
        "bajtów",
    ];
    let lower = unit.to_lowercase();
    let lower = lower.trim_end_matches(['.', ',', ')']);
    if BYTES.contains(&lower) {
        return Some(1);
    }
    let mut letters = lower.chars();
    let power = match letters.next()? {
        'k' | 'к' => 1,
        'm' | 'м' => 2,
        'g' | 'г' => 3,
        't' | 'т' => 4,
        'p' | 'п' => 5,
        _ => return None,
    };
    let base = match letters.as_str().trim_start() {
        "ib" | "io" | "i" | "иб" => 1024_u64,
        rest if rest.is_empty() || BYTES.contains(&rest) => match prefix {
            Prefix::Binary => 1024,
            Prefix::Decimal => 1000,
        },
        _ => return None,
    };
    base.checked_pow(power)
}

/// What a size as shown can have been: `32 KB`, `118.74 GB`, `1,5 Go`, `512 bytes`. A number of bytes is exact.
///
/// `None` when the text is no number with a unit.
pub(crate) fn shown(text: &str, prefix: Prefix, rounding: Rounding) -> Option<Interval> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|(_, c)| !(c.is_ascii_digit() || matches!(c, '.' | ',')))
        .map_or(text.len(), |(at, _)| at);
    let (number, unit) = (&text[..end], text[end..].trim());
    let mut words = unit.split_whitespace();
    let first = words.next()?;
    // French versions of DiskPart write `32 G octets`.
    let both = words.next().map(|second| format!("{first} {second}"));
    let two = both.filter(|_| first.chars().count() == 1);
    let factor = two
        .and_then(|both| factor(&both, prefix))
        .or_else(|| factor(first, prefix))?;
    interval(number, factor, rounding)
}

/// What `number`, a figure in units of `factor` bytes, can have been.
pub(crate) fn interval(number: &str, factor: u64, rounding: Rounding) -> Option<Interval> {
    if factor == 1 {
        return whole(number).map(|n| Interval::exact(Bytes::new(n)));
    }
    let (digits, decimals) = match number.rfind(['.', ',']) {
        // A group of three after a comma is thousands where the unit is larger than a byte only if there are more groups.
        Some(at) => {
            let (head, tail) = (&number[..at], &number[at + 1..]);
            let head: String = head.chars().filter(char::is_ascii_digit).collect();
            (format!("{head}{tail}"), u32::try_from(tail.len()).ok()?)
        }
        None => (number.to_owned(), 0),
    };
    if decimals > 9 {
        return None;
    }
    let mantissa: u128 = digits.parse::<u64>().ok()?.into();
    let (factor, scale) = (u128::from(factor), 10_u128.pow(decimals));
    // Twice everything, so that halves are whole.
    let twice = |n: u128| n * factor;
    let (low, high) = match rounding {
        Rounding::Nearest => (
            twice((2 * mantissa).saturating_sub(1)).div_ceil(2 * scale),
            twice(2 * mantissa + 1) / (2 * scale),
        ),
        Rounding::Down => (
            twice(mantissa).div_ceil(scale),
            (twice(mantissa + 1) - 1) / scale,
        ),
        Rounding::Any => (
            match mantissa {
                0 => 0,
                _ => twice(mantissa - 1) / scale + 1,
            },
            (twice(mantissa + 1) - 1) / scale,
        ),
        Rounding::UpOrNearest => (
            match mantissa {
                0 => 0,
                _ => twice(mantissa - 1) / scale + 1,
            },
            twice(2 * mantissa + 1) / (2 * scale),
        ),
    };
    Interval::new(
        Bytes::new(u64::try_from(low).ok()?),
        Bytes::new(u64::try_from(high).ok()?),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(text: &str, prefix: Prefix, rounding: Rounding) -> Option<(u64, u64)> {
        shown(text, prefix, rounding).map(|i| (i.from().get(), i.to().get()))
    }

    #[test]
    fn whole_numbers_in_all_dresses() {
        for text in ["1048576", "1,048,576", "1 048 576", "1.048.576", "0x100000"] {
            assert_eq!(whole(text), Some(1_048_576), "{text}");
        }
        for text in [
            "",
            "-1",
            "+1",
            "1,04",
            "x",
            "1,048,57",
            "99999999999999999999",
            "1..2",
        ] {
            assert_eq!(whole(text), None, "{text}");
        }
        assert_eq!(leading("512 bytes"), Some(512));
        assert_eq!(leading("0x200 (512)"), Some(512));
        assert_eq!(leading("none"), None);
    }

    #[test]
    fn disk_part_shows_more_than_one_place_as_32_kb() {
        let shown = ends("32 KB", Prefix::Binary, Rounding::UpOrNearest);
        assert_eq!(shown, Some((31 * 1024 + 1, 32 * 1024 + 512)));
        let mib = 1 << 20;
        let shown = ends("31 KB", Prefix::Binary, Rounding::Down);
        assert_eq!(shown, Some((31 * 1024, 32 * 1024 - 1)));
        let shown = ends("32 KB", Prefix::Binary, Rounding::Any);
        assert_eq!(shown, Some((31 * 1024 + 1, 33 * 1024 - 1)));
        let shown = ends("101 MB", Prefix::Binary, Rounding::UpOrNearest);
        assert_eq!(shown, Some((100 * mib + 1, 101 * mib + mib / 2)));
    }

    #[test]
    fn the_true_value_lies_in_what_is_shown_of_it() {
        for factor in [1000_u64, 1024, 1_048_576] {
            for value in (1..5_000_000_u64).step_by(49_999) {
                let hundredths = (value * 100 + factor / 2) / factor;
                let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
                let found = interval(&text, factor, Rounding::Nearest).expect("a number");
                assert!(found.contains(Bytes::new(value)), "{value} as {text}");
                let down = (value / factor).to_string();
                let found = interval(&down, factor, Rounding::Down).expect("a number");
                assert!(found.contains(Bytes::new(value)), "{value} as {down}");
                assert!(!found.contains(Bytes::new(value + factor)));
            }
        }
    }

    #[test]
    fn units_have_names_in_other_languages() {
        for text in [
            "64 KB",
            "64 Ko",
            "64 КБ",
            "64K",
            "64 KiB",
            "64 kb",
            "64 K octets",
            "64 Kbytes",
            "64 Кбайт",
            "64 Kбайт",
            "64 K free",
        ] {
            let found = shown(text, Prefix::Binary, Rounding::Nearest).expect(text);
            assert!(found.contains(Bytes::kib(64)), "{text}");
        }
        assert_eq!(
            ends("512 bytes", Prefix::Binary, Rounding::Nearest),
            Some((512, 512))
        );
        assert_eq!(
            ends("2,048 octets", Prefix::Binary, Rounding::Nearest),
            Some((2048, 2048))
        );
        assert_eq!(ends("64", Prefix::Binary, Rounding::Nearest), None);
        assert_eq!(
            ends("99999999999 PB", Prefix::Binary, Rounding::Nearest),
            None
        );
    }
}
