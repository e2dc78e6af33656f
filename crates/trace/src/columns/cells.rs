//! What a cell of a table can be, as programs and spreadsheets of any country write it.

use straddle_geometry::Access;

use crate::columns::{Clock, Words};
use crate::number::whole;
use crate::text::{hex, letters, seconds};

/// What separates cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    Byte(u8),
    /// Any number of them.
    Blanks,
}

impl Separator {
    /// In the order in which they are tried: a tab is hardly ever part of a cell, a blank often.
    pub(crate) const ALL: [Separator; 5] = [
        Separator::Byte(b'\t'),
        Separator::Byte(b';'),
        Separator::Byte(b','),
        Separator::Byte(b'|'),
        Separator::Blanks,
    ];

    /// The places of the cells of a line, without quotes and blanks around them. `None` when there are more than can be wanted.
    pub(crate) fn cells(self, line: &[u8], cells: &mut Vec<(usize, usize)>) -> Option<()> {
        cells.clear();
        let mut at = 0;
        loop {
            if self == Separator::Blanks {
                while line.get(at).is_some_and(u8::is_ascii_whitespace) {
                    at += 1;
                }
                if at == line.len() {
                    return Some(());
                }
            }
            let end = self.end(line, at);
            if cells.len() == crate::column_map::MAX_COLUMNS {
                return None;
            }
            cells.push(bare(line, at, end));
            if end >= line.len() {
                return Some(());
            }
            at = end + 1;
        }
    }

    /// Where the cell that begins at `from` ends. A separator within quotes is part of it.
    fn end(self, line: &[u8], from: usize) -> usize {
        let mut quoted = false;
        let mut begun = false;
        for (at, byte) in line.iter().enumerate().skip(from) {
            match byte {
                // Quotes within a cell are text.
                b'"' if quoted || !begun => {
                    quoted = !quoted;
                    begun = true;
                }
                _ if quoted => {}
                byte if self.is(*byte) => return at,
                b' ' => {}
                _ => begun = true,
            }
        }
        line.len()
    }

    fn is(self, byte: u8) -> bool {
        match self {
            Separator::Byte(separator) => byte == separator,
            Separator::Blanks => byte.is_ascii_whitespace(),
        }
    }

    /// Numbers have a comma where others have a point: in tables of those countries a semicolon separates cells.
    pub(crate) fn is_comma_decimal(self) -> bool {
        self == Separator::Byte(b';')
    }
}

/// A cell without quotes and blanks.
fn bare(line: &[u8], from: usize, to: usize) -> (usize, usize) {
    let trimmed = |from: usize, to: usize| {
        let text = &line[from..to];
        let front = text.len() - text.trim_ascii_start().len();
        (
            from + front,
            from + front + text[front..].trim_ascii_end().len(),
        )
    };
    let (from, to) = trimmed(from, to);
    match &line[from..to] {
        [b'"', .., b'"'] => trimmed(from + 1, to - 1),
        _ => (from, to),
    }
}

/// A number of units as bytes: digits, also in groups of three or in hexadecimal, or a decimal that is whole bytes.
pub(crate) fn amount(text: &[u8], unit: u64, is_comma_decimal: bool) -> Option<u64> {
    if let Some(number) = whole(text).or_else(|| hex(text)) {
        return number.checked_mul(unit);
    }
    let point = if is_comma_decimal { b',' } else { b'.' };
    let (before, after) = match memchr::memrchr(point, text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &b""[..]),
    };
    let before = grouped(before, point)?;
    let after = match after {
        [] => after,
        _ => after.trim_ascii_end(),
    };
    if after.len() > 18 || !after.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut scale = 1_u128;
    let mut number = u128::from(before);
    for digit in after {
        scale *= 10;
        number = number * 10 + u128::from(digit - b'0');
    }
    let bytes = number.checked_mul(u128::from(unit))?;
    if bytes % scale != 0 {
        return None;
    }
    u64::try_from(bytes / scale).ok()
}

/// A number whose digits may stand in groups of three.
fn grouped(text: &[u8], point: u8) -> Option<u64> {
    if let Some(number) = whole(text) {
        return Some(number);
    }
    // A comma, a point, an apostrophe, a blank, and the two narrow blanks of Unicode.
    const BETWEEN: [&[u8]; 6] = [b",", b".", b"'", b" ", b"\xc2\xa0", b"\xe2\x80\xaf"];
    BETWEEN
        .iter()
        .filter(|between| **between != [point])
        .find_map(|between| {
            let (first, mut rest) = text.split_at(memchr::memmem::find(text, between)?);
            if !(1..=3).contains(&first.len()) {
                return None;
            }
            let mut sum = whole(first)?;
            while !rest.is_empty() {
                let group = rest.strip_prefix(*between)?.get(..3)?;
                rest = &rest[between.len() + 3..];
                sum = sum.checked_mul(1_000)?.checked_add(whole(group)?)?;
            }
            Some(sum)
        })
}

/// How the cells of a column say when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// So many of these.
    Counted(Clock),
    /// A time of the day, with or without a date.
    Dated,
}

impl When {
    /// What a time without a unit is by the look of it: a date, a decimal of seconds, or a whole number as large as one since 1970 or 1601
    /// is. `None` where it may be anything.
    pub(crate) fn of(text: &[u8], is_comma_decimal: bool) -> Option<When> {
        if date(text).is_some() {
            return Some(When::Dated);
        }
        let point = if is_comma_decimal { b',' } else { b'.' };
        if text.contains(&point) {
            return Some(When::Counted(Clock::Seconds));
        }
        // Years 2001 to 2096 of each, which do not overlap.
        Some(When::Counted(match whole(text)? {
            1_000_000_000..4_000_000_000 => Clock::Seconds,
            1_000_000_000_000..4_000_000_000_000 => Clock::Milliseconds,
            1_000_000_000_000_000..4_000_000_000_000_000 => Clock::Microseconds,
            126_000_000_000_000_000..157_000_000_000_000_000 => Clock::Ticks,
            1_000_000_000_000_000_000..4_000_000_000_000_000_000 => Clock::Nanoseconds,
            _ => return None,
        }))
    }

    /// In nanoseconds.
    pub(crate) fn read(self, text: &[u8], is_comma_decimal: bool) -> Option<u64> {
        match self {
            When::Dated => date(text),
            When::Counted(clock) => clock.read(text).or_else(|| {
                let point = if is_comma_decimal { b',' } else { b'.' };
                let at = memchr::memrchr(point, text).unwrap_or(text.len());
                let before = grouped(&text[..at], point)?;
                let mut plain = before.to_string().into_bytes();
                if at < text.len() {
                    plain.push(b'.');
                    plain.extend_from_slice(&text[at + 1..]);
                }
                clock.read(&plain)
            }),
        }
    }
}

/// A time of the day, or a date and a time, in nanoseconds: `12:30:01.5`, `2026-11-27 12:30:01`, `2026-11-27T12:30:01Z`.
fn date(text: &[u8]) -> Option<u64> {
    const DAY: u64 = 86_400_000_000_000;
    if text.get(4) != Some(&b'-') {
        return text.contains(&b':').then(|| seconds(text)).flatten();
    }
    let (year, month, day) = (
        whole(text.get(..4)?)?,
        whole(text.get(5..7)?)?,
        whole(text.get(8..10)?)?,
    );
    if text[7] != b'-' || !matches!(text.get(10), Some(b' ' | b'T')) {
        return None;
    }
    if !(1970..2500).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let time = text[11..].strip_suffix(b"Z").unwrap_or(&text[11..]);
    // Hinnant's days from civil: years begin in March, so that the leap day is the last of one.
    let (y, m) = match month {
        1..=2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let days = y * 365 + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468;
    days.checked_mul(DAY)?.checked_add(seconds(time)?)
}

/// What the cells of a column of operations are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operations {
    /// `1`, `true` and `yes` say that it reads, as the column's name says: `is_read`.
    pub(crate) yes_reads: bool,
    /// Codes of SCSI commands, in hexadecimal digits.
    pub(crate) is_scsi: bool,
}

impl Operations {
    /// Of a column whose first cells are these.
    pub(crate) fn of<'a>(name: &str, mut cells: impl Iterator<Item = &'a [u8]>) -> Operations {
        Operations {
            yes_reads: matches!(name, "isread" | "read"),
            is_scsi: cells.any(|cell| scsi(cell).is_some()),
        }
    }

    pub(crate) fn read(self, text: &[u8]) -> Option<Option<Access>> {
        if self.is_scsi
            && let Some(access) = scsi(text)
        {
            return Some(Some(access));
        }
        let is = |words: &[&str]| {
            words
                .iter()
                .any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
        };
        let (yes, no) = match self.yes_reads {
            true => (Access::Read, Access::Write),
            false => (Access::Write, Access::Read),
        };
        if is(&["1", "true", "yes"]) {
            return Some(Some(yes));
        }
        if is(&["0", "false", "no"]) {
            return Some(Some(no));
        }
        if let Some(access) = Words::Letters.read(text).or_else(|| letters(text)) {
            return Some(access);
        }
        let begins = |word: &str| {
            text.get(..word.len())
                .is_some_and(|front| front.eq_ignore_ascii_case(word.as_bytes()))
                && !text[word.len()..]
                    .first()
                    .is_some_and(u8::is_ascii_alphabetic)
        };
        // `READ_10`, `Write(16)`, `write-same`: the last writes one block many times, which is none.
        if begins("write") && text.to_ascii_lowercase().ends_with(b"same") {
            return Some(None);
        }
        if begins("read") {
            return Some(Some(Access::Read));
        }
        begins("write").then_some(Some(Access::Write))
    }
}

/// The codes of commands that read and write 6, 10, 12 and 16 bytes long; none of them is a number that says something else.
fn scsi(text: &[u8]) -> Option<Access> {
    let code = text.strip_prefix(b"0x").unwrap_or(text);
    Some(match code.to_ascii_lowercase().as_slice() {
        b"28" | b"88" | b"a8" => Access::Read,
        b"2a" | b"8a" | b"aa" => Access::Write,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(separator: Separator, line: &str) -> Option<Vec<String>> {
        let mut places = Vec::new();
        separator.cells(line.as_bytes(), &mut places)?;
        Some(
            places
                .iter()
                .map(|(from, to)| line[*from..*to].to_owned())
                .collect(),
        )
    }

    #[test]
    fn a_separator_within_quotes_is_part_of_the_cell() {
        let comma = Separator::Byte(b',');
        assert_eq!(
            cells(comma, r#"1, "a,b" ,,x"y,"#),
            Some(vec![
                "1".into(),
                "a,b".into(),
                "".into(),
                "x\"y".into(),
                "".into()
            ])
        );
        assert_eq!(
            cells(Separator::Blanks, "  1  \"a b\"\tc "),
            Some(vec!["1".into(), "a b".into(), "c".into()])
        );
        assert_eq!(
            cells(comma, "\"open, and no end"),
            Some(vec!["\"open, and no end".into()])
        );
        assert_eq!(cells(comma, &",".repeat(300)), None);
    }

    #[test]
    fn numbers_are_read_as_they_are_written_everywhere() {
        for (text, comma, expected) in [
            ("4096", false, Some(4096)),
            ("0x1000", false, Some(4096)),
            ("4,096", false, Some(4096)),
            ("1,048,576", false, Some(1 << 20)),
            ("1.048.576", true, Some(1 << 20)),
            ("1'048'576", false, Some(1 << 20)),
            ("1\u{a0}048\u{a0}576", true, Some(1 << 20)),
            ("4096.000", false, Some(4096)),
            ("4096,00", true, Some(4096)),
            ("4,09", false, None),
            ("1,0485,76", false, None),
            ("4096.5", false, None),
            ("-1", false, None),
            ("", false, None),
        ] {
            assert_eq!(amount(text.as_bytes(), 1, comma), expected, "{text}");
        }
        assert_eq!(amount(b"4.5", 1024, false), Some(4608));
        assert_eq!(amount(b"0,5", 1024, true), Some(512));
    }

    #[test]
    fn a_time_without_a_unit_is_what_it_looks_like() {
        let of = |text: &str| When::of(text.as_bytes(), false);
        assert_eq!(of("0.5"), Some(When::Counted(Clock::Seconds)));
        assert_eq!(of("1538323200"), Some(When::Counted(Clock::Seconds)));
        assert_eq!(
            of("1577808001000000"),
            Some(When::Counted(Clock::Microseconds))
        );
        assert_eq!(of("128166372003061629"), Some(When::Counted(Clock::Ticks)));
        assert_eq!(of("2026-11-27 12:30:01"), Some(When::Dated));
        assert_eq!(of("17"), None);
        assert_eq!(date(b"1970-01-02T00:00:00.5Z"), Some(86_400_500_000_000));
        assert_eq!(
            date(b"2024-03-01 00:00:00"),
            Some(1_709_251_200_000_000_000)
        );
        assert_eq!(
            When::Counted(Clock::Seconds).read(b"1,25", true),
            Some(1_250_000_000)
        );
    }
}
