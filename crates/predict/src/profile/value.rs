//! Values of parameters: from TOML or a flag's text to base units (seconds, bytes, bytes each second) and back.

use super::key::Kind;

/// A value in base units.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Seconds, bytes, bytes each second, or a plain number, as its [`Kind`] says.
    Number(f64),
    /// One of the words of its kind.
    Word(&'static str),
    /// Rows of numbers, all of the same length.
    Table(Vec<Vec<f64>>),
}

/// What a text or a TOML value is as a value of this kind; `None` when it is none, or outside the range.
#[must_use]
pub fn parse(kind: Kind, value: &toml::Value) -> Option<Value> {
    match kind {
        Kind::Word(words) => {
            let word = match value {
                toml::Value::String(text) => text.as_str(),
                toml::Value::Boolean(true) => "on",
                toml::Value::Boolean(false) => "off",
                _ => return None,
            };
            words.iter().find(|w| **w == word).copied().map(Value::Word)
        }
        Kind::Table(columns) => {
            let rows: Vec<Vec<f64>> = value
                .as_array()?
                .iter()
                .map(|row| row.as_array()?.iter().map(plain).collect())
                .collect::<Option<_>>()?;
            let fits = |row: &Vec<f64>| {
                let mut pairs = row.iter().zip(columns);
                row.len() == columns.len()
                    && pairs.all(|(value, (_, least, most))| least <= value && value <= most)
            };
            (!rows.is_empty() && rows.iter().all(fits)).then_some(Value::Table(rows))
        }
        _ => {
            let number = match value {
                toml::Value::String(text) => quantity(kind, text)?,
                other => plain(other)?,
            };
            is_allowed(kind, number).then_some(Value::Number(number))
        }
    }
}

/// True when a number in base units lies in the kind's range, and is whole where it has to be.
#[must_use]
pub fn is_allowed(kind: Kind, number: f64) -> bool {
    match kind {
        Kind::Time(least, most) | Kind::Number(least, most, _) | Kind::Rate(least, most) => {
            least <= number && number <= most
        }
        Kind::Bytes(least, most) | Kind::Count(least, most) => {
            least <= number && number <= most && libm::trunc(number) == number
        }
        Kind::Word(_) | Kind::Table(_) => false,
    }
}

fn plain(value: &toml::Value) -> Option<f64> {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "ranges end far below 2⁵³")]
        toml::Value::Integer(whole) => Some(*whole as f64),
        toml::Value::Float(number) => Some(*number),
        _ => None,
    }
}

const TIMES: &[(&str, f64)] = &[
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("min", 60.0),
    ("h", 3600.0),
];
const SIZES: &[(&str, f64)] = &[
    ("", 1.0),
    ("B", 1.0),
    ("KiB", 1024.0),
    ("K", 1024.0),
    ("MiB", 1_048_576.0),
    ("M", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("G", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("T", 1_099_511_627_776.0),
    ("s", 512.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
];
const RATES: &[(&str, f64)] = &[
    ("", 1.0),
    ("B/s", 1.0),
    ("kB/s", 1e3),
    ("KiB/s", 1024.0),
    ("MB/s", 1e6),
    ("MiB/s", 1_048_576.0),
    ("GB/s", 1e9),
    ("GiB/s", 1_073_741_824.0),
];

/// A number with a unit: `0.4 ms`, `64 KiB`, `98 MB/s`, `12`.
fn quantity(kind: Kind, text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_')))
        .unwrap_or(text.len());
    // An exponent is part of the number: 1e6.
    let end = match text.get(end..) {
        Some(rest)
            if rest.starts_with(['e', 'E'])
                && rest[1..].starts_with(|c: char| c.is_ascii_digit()) =>
        {
            let digits = rest[1..].find(|c: char| !c.is_ascii_digit());
            digits.map_or(text.len(), |digits| end + 1 + digits)
        }
        _ => end,
    };
    let (number, unit) = text.split_at_checked(end)?;
    let number: f64 = number.replace('_', "").parse().ok()?;
    let units = match kind {
        Kind::Time(..) => TIMES,
        Kind::Bytes(..) => SIZES,
        Kind::Rate(..) => RATES,
        _ => &[("", 1.0)],
    };
    let unit = unit.trim();
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    let value = number * factor;
    // Sizes are whole, also where a fraction of a unit is written: 31.5K.
    Some(value)
}

/// A number in base units as people write it: `0.4 ms`, `64 KiB`, `98 MB/s`. What [`parse`] reads back.
#[must_use]
pub fn show(kind: Kind, value: f64) -> String {
    let plain = |value: f64| {
        let text = format!("{value:.4}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        text.to_owned()
    };
    match kind {
        Kind::Time(..) => {
            let unit = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6)];
            let unit = unit.iter().find(|(_, factor)| value >= *factor);
            let (name, factor) = unit.copied().unwrap_or(("ns", 1e-9));
            format!("{} {name}", plain(value / factor))
        }
        Kind::Bytes(..) => {
            // Binary units where they give a short number, decimal ones for capacities as makers print them.
            let binary = [
                ("TiB", 1024_f64, 4),
                ("GiB", 1024.0, 3),
                ("MiB", 1024.0, 2),
                ("KiB", 1024.0, 1),
            ];
            let decimal = [("TB", 1e3, 4), ("GB", 1e3, 3), ("MB", 1e3, 2)];
            for (name, base, power) in binary.into_iter().chain(decimal) {
                let count = value / libm::pow(base, f64::from(power));
                let is_short = libm::trunc(count * 8.0) / 8.0 == count
                    || base < 1024.0 && libm::round(count * 100.0) / 100.0 == count;
                if is_short && (1.0..10_000.0).contains(&count) {
                    return format!("{} {name}", plain(count));
                }
            }
            format!("{value:.0} B")
        }
        Kind::Rate(..) => format!("{} MB/s", plain(value / 1e6)),
        Kind::Number(_, _, unit) if !unit.is_empty() => format!("{} {unit}", plain(value)),
        _ => plain(value),
    }
}

/// What was found in place of a value of this kind: a bare number in the units that the limits are said in, all else as it is written.
pub(super) fn found(kind: Kind, value: &toml::Value) -> String {
    let number = match *value {
        #[expect(
            clippy::cast_precision_loss,
            reason = "it is beyond a limit, so its last digits do not matter"
        )]
        toml::Value::Integer(number) => number as f64,
        toml::Value::Float(number) => number,
        _ => return value.to_string(),
    };
    match kind {
        Kind::Bytes(..) | Kind::Number(..) if number >= 1.0 => show(kind, number),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Kind = Kind::Time(0.0, 10.0);
    const BYTES: Kind = Kind::Bytes(0.0, 1e15);

    fn text(kind: Kind, text: &str) -> Option<Value> {
        parse(kind, &toml::Value::String(text.to_owned()))
    }

    #[test]
    fn quantities_are_read_with_their_units() {
        assert_eq!(text(TIME, "0.4 ms"), Some(Value::Number(0.4 * 1e-3)));
        assert_eq!(text(TIME, "-1 ms"), None);
        assert_eq!(text(TIME, "1"), None, "a time needs its unit");
        assert_eq!(text(TIME, "1e400 s"), None);
        assert_eq!(text(BYTES, "31.5K"), Some(Value::Number(32_256.0)));
        assert_eq!(text(BYTES, "63s"), Some(Value::Number(32_256.0)));
        assert_eq!(text(BYTES, "0.3 B"), None);
        assert_eq!(
            text(Kind::Rate(0.0, 1e12), "98 MB/s"),
            Some(Value::Number(98e6))
        );
        assert_eq!(parse(TIME, &toml::Value::Float(f64::NAN)), None);
    }

    #[test]
    fn what_is_refused_is_said_as_its_limits_are() {
        let integer = toml::Value::Integer;
        assert_eq!(found(BYTES, &integer(4 << 40)), "4 TiB");
        assert_eq!(found(BYTES, &integer(-4)), "-4");
        assert_eq!(
            found(Kind::Number(1.0, 2.0, "1/min"), &toml::Value::Float(7.5)),
            "7.5 1/min"
        );
        assert_eq!(found(Kind::Count(1.0, 2.0), &integer(7)), "7");
        assert_eq!(found(BYTES, &toml::Value::String("4 T".into())), "\"4 T\"");
    }

    #[test]
    fn what_is_shown_reads_back() {
        for (kind, value, shown) in [
            (TIME, 0.0004, "400 us"),
            (TIME, 0.0034, "3.4 ms"),
            (TIME, 2e-9, "2 ns"),
            (BYTES, 65_536.0, "64 KiB"),
            (BYTES, 32_256.0, "31.5 KiB"),
            (BYTES, 450e9, "450 GB"),
            (BYTES, 15.36e12, "15.36 TB"),
            (BYTES, 300_000_000_512.0, "300000000512 B"),
            (Kind::Rate(0.0, 1e12), 98e6, "98 MB/s"),
            (Kind::Count(0.0, 9.0), 6.0, "6"),
        ] {
            assert_eq!(show(kind, value), shown);
            let Some(Value::Number(back)) = text(kind, shown) else {
                panic!("{shown} does not read back");
            };
            assert!((back / value - 1.0).abs() < 1e-12, "{shown}: {back}");
        }
    }
}
