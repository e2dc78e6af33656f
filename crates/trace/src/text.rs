//! What lines of several recorders have in common.

use straddle_geometry::Access;

use crate::columns::{SECTOR, sound};
use crate::format::Line;
use crate::lines::Fault;
use crate::number::{scaled, whole};
use crate::record::{Event, Record};

/// The words of a line.
pub(crate) fn words(line: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

/// The first word of a line, and what is behind it.
pub(crate) fn first(line: &[u8]) -> (&[u8], &[u8]) {
    let line = line.trim_ascii_start();
    let end = line
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(line.len());
    (&line[..end], line[end..].trim_ascii_start())
}

/// What is before the last word of a line, and that word.
pub(crate) fn last(line: &[u8]) -> (&[u8], &[u8]) {
    let line = line.trim_ascii_end();
    let begin = line
        .iter()
        .rposition(u8::is_ascii_whitespace)
        .map_or(0, |blank| blank + 1);
    (line[..begin].trim_ascii_end(), &line[begin..])
}

/// A number in hexadecimal digits behind `0x`.
pub(crate) fn hex(text: &[u8]) -> Option<u64> {
    let digits = text
        .strip_prefix(b"0x")
        .or_else(|| text.strip_prefix(b"0X"))?;
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, byte| {
        let digit = char::from(*byte).to_digit(16)?;
        sum.checked_mul(16)?.checked_add(u64::from(digit))
    })
}

/// Whether this is the kernel's number of a device: major, minor.
pub(crate) fn is_device(text: &[u8]) -> bool {
    let mut parts = text.split(|byte| *byte == b',');
    let (Some(major), Some(minor), None) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    [major, minor]
        .iter()
        .all(|part| (1..=7).contains(&part.len()) && part.iter().all(u8::is_ascii_digit))
}

/// What the block layer's letters say of a request; `Some(None)` for one that moves no data of its own.
///
/// They are, in this order: `F` for a flush before it; `R`, `W`, `D` (discard), `F` (flush), `Z` (of a zone) or `N` (none of these);
/// and `F` (forced unit access), `A` (ahead), `S` (synchronous), `M` (metadata), `B` (barrier), `E` (secure erase), `U` (untorn).
pub(crate) fn letters(text: &[u8]) -> Option<Option<Access>> {
    if text.is_empty() || text.len() > 10 || !text.iter().all(|c| b"RWDNFZASMBEUOCX".contains(c)) {
        return None;
    }
    let rest = match text {
        [b'F', rest @ ..] if !rest.is_empty() => rest,
        _ => text,
    };
    match rest {
        // Zeros that the device writes by itself.
        [b'W', b'Z', ..] => Some(None),
        [b'W', ..] => Some(Some(Access::Write)),
        [b'R', ..] => Some(Some(Access::Read)),
        [b'D' | b'N' | b'F' | b'Z', ..] => Some(None),
        // A flush with nothing behind it: `FS`.
        [b'S' | b'M' | b'A', ..] if text.len() > rest.len() => Some(None),
        _ => None,
    }
}

/// A time in seconds, or one of the day: `17:58:57.814`. In nanoseconds.
pub(crate) fn seconds(text: &[u8]) -> Option<u64> {
    const SCALE: u64 = 1_000_000_000;
    let mut parts = text.splitn(3, |byte| *byte == b':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(seconds), None, None) => scaled(seconds, SCALE),
        (Some(hours), Some(minutes), Some(seconds)) => {
            let minutes = whole(hours)?
                .checked_mul(60)?
                .checked_add(whole(minutes)?)?;
            let seconds = scaled(seconds, SCALE)?;
            minutes.checked_mul(60 * SCALE)?.checked_add(seconds)
        }
        _ => None,
    }
}

/// Everything of a request of the block layer but where it is.
pub(crate) struct Known<'a> {
    pub(crate) device: &'a [u8],
    pub(crate) event: Event,
    pub(crate) access: Access,
    pub(crate) time: Option<u64>,
}

impl<'a> Known<'a> {
    /// With its first sector and how many there are. A request without any may name a sector that does not exist.
    pub(crate) fn at(self, sector: &[u8], count: &[u8], unit: u64) -> Line<'a> {
        let Some(len) = whole(count).and_then(|count| count.checked_mul(unit)) else {
            return Line::Bad(Fault::Length);
        };
        if len == 0 {
            return Line::Bad(Fault::Empty);
        }
        let Some(start) = whole(sector).and_then(|sector| sector.checked_mul(SECTOR)) else {
            return Line::Bad(Fault::Start);
        };
        match sound(start, len) {
            Ok(()) => Line::Request(Record {
                device: self.device,
                event: self.event,
                access: self.access,
                start,
                len,
                time: self.time,
            }),
            Err(fault) => Line::Bad(fault),
        }
    }

    /// From `SECTOR + COUNT` and what is behind it, without which nobody knows whether the count is whole.
    pub(crate) fn on(self, text: &'a [u8]) -> Line<'a> {
        let (sector, rest) = first(text);
        let (plus, rest) = first(rest);
        if plus != b"+" {
            return Line::Bad(Fault::Unfinished);
        }
        let (count, rest) = first(rest);
        // Only a priority, how long it took, and who did it can follow: what else there is may be the rest of the count.
        let (word, behind) = first(rest);
        let is_priority = word.split(|byte| *byte == b',').count() == 3;
        let behind = if is_priority { behind } else { rest };
        if !matches!(behind.first(), Some(b'[' | b'(')) {
            return Line::Bad(Fault::Unfinished);
        }
        self.at(sector, count, SECTOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_the_block_layer() {
        for text in ["R", "RA", "RS", "RSM", "RAM", "RM", "FR"] {
            assert_eq!(letters(text.as_bytes()), Some(Some(Access::Read)), "{text}");
        }
        for text in ["W", "WS", "WSM", "WFS", "FWS", "FWFSM", "WFSU", "WB", "WM"] {
            assert_eq!(
                letters(text.as_bytes()),
                Some(Some(Access::Write)),
                "{text}"
            );
        }
        for text in [
            "F", "FF", "FS", "D", "DS", "DE", "N", "NS", "FN", "ZAS", "WZS",
        ] {
            assert_eq!(letters(text.as_bytes()), Some(None), "{text}");
        }
        for text in ["", "Q", "read", "8,0", "S", "M", "WSMWSMWSMWSM"] {
            assert_eq!(letters(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn times_of_the_day_are_nanoseconds_of_it() {
        assert_eq!(seconds(b"1.5"), Some(1_500_000_000));
        assert_eq!(seconds(b"01:00:00.25"), Some(3_600_250_000_000));
        for text in ["", "1:2", "a:b:c", "1:2:3:4"] {
            assert_eq!(seconds(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_number_in_hexadecimal_has_its_mark() {
        assert_eq!(hex(b"0x018f0b8000"), Some(0x0001_8f0b_8000));
        for text in ["", "0x", "018f", "0xg", "0x10000000000000000"] {
            assert_eq!(hex(text.as_bytes()), None, "{text}");
        }
    }
}
