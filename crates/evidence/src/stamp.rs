//! Times as logs write them.

use straddle_stack::activity::Moment;

/// In which order a date with slashes has its day and its month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    MonthFirst,
    DayFirst,
}

/// The first time in a text that begins in its first characters: behind a prefix of a journal or a container, but not in a
/// message.
pub(crate) fn first(text: &str) -> Option<Moment> {
    const WITHIN: usize = 48;
    let bytes = text.as_bytes();
    for start in 0..bytes.len().min(WITHIN) {
        let is_start = bytes[start].is_ascii_digit()
            && (start == 0 || !bytes[start - 1].is_ascii_alphanumeric());
        if !is_start {
            continue;
        }
        let Some(rest) = text.get(start..) else {
            continue;
        };
        if let Some((moment, _)) = date_and_time(rest) {
            return Some(moment);
        }
        if let Some(moment) = local(rest, order_of(rest).unwrap_or(Order::MonthFirst)) {
            return Some(moment);
        }
    }
    None
}

/// The time that stands last in what is before a message: the message's own, not that of whatever collected it. Nor is it the time
/// at which a session began, which PostgreSQL writes between the time and the message.
pub(crate) fn last(text: &str) -> Option<Moment> {
    const WITHIN: usize = 2048;
    let tail = text.len().saturating_sub(WITHIN);
    let tail = (tail..=text.len()).find(|at| text.is_char_boundary(*at))?;
    let (text, bytes) = (&text[tail..], &text.as_bytes()[tail..]);
    let mut found = None;
    let mut start = 0;
    while start < bytes.len() {
        let is_start = bytes[start].is_ascii_digit()
            && (start == 0 || !bytes[start - 1].is_ascii_alphanumeric());
        let here = text.get(start..).filter(|_| is_start);
        let Some((moment, rest)) = here.and_then(date_and_time) else {
            start += 1;
            continue;
        };
        let before = &text[..start];
        let label = before.trim_end_matches(['"', ' ', ':', '\\', '=']);
        let of_session = before.ends_with(',')
            || label.ends_with("session_start")
            || label.ends_with("session_start_time");
        if !of_session {
            found = Some(moment);
        }
        start = text.len() - rest.len();
    }
    found
}

/// A date that begins with the year, and a time; the rest of the text.
pub(crate) fn date_and_time(text: &str) -> Option<(Moment, &str)> {
    let mut at = Cursor(text);
    let year = at.digits(4, 4)?;
    let hyphen = at.one_of("-/.")?;
    let month = at.digits(1, 2)?;
    at.exactly(hyphen)?;
    let day = at.digits(1, 2)?;
    at.one_of(" T")?;
    at.0 = at.0.trim_start_matches(' ');
    let (time, micros) = at.time()?;
    let moment = Moment::new((i64::from(year), month, day), time, micros)?;
    Some((moment, at.0))
}

/// `03/05/2024 10:11:12.345`, `5.3.2024 10:11:12`, `3/5/2024 10:11:12 AM`, and dates that begin with the year.
pub(crate) fn local(text: &str, order: Order) -> Option<Moment> {
    let text = text.trim();
    if let Some((moment, _)) = date_and_time(text) {
        return Some(moment);
    }
    let mut at = Cursor(text);
    let first = at.digits(1, 2)?;
    let hyphen = at.one_of("/.-")?;
    let named = at.month();
    let second = match named {
        Some(month) => month,
        None => at.digits(1, 2)?,
    };
    at.exactly(hyphen)?;
    let year = at.digits(2, 4)?;
    let year = if year < 100 { 2000 + year } else { year };
    at.0 = at.0.trim_start_matches([',', ' ', '.', ':']);
    let (time, micros) = at.time()?;
    // Points stand between day and month where the day comes first.
    let by_order = hyphen == '/' && order == Order::MonthFirst && first <= 12;
    let month_first = named.is_none() && (by_order || second > 12);
    let (month, day) = if month_first {
        (first, second)
    } else {
        (second, first)
    };
    Moment::new((i64::from(year), month, day), time, micros)
}

/// Which comes first in dates with slashes, where this one shows it.
pub(crate) fn order_of(text: &str) -> Option<Order> {
    let mut at = Cursor(text.trim());
    let first = at.digits(1, 2)?;
    at.exactly('/')?;
    let second = at.digits(1, 2)?;
    match (first > 12, second > 12) {
        (true, false) => Some(Order::DayFirst),
        (false, true) => Some(Order::MonthFirst),
        _ => None,
    }
}

/// A date without a time.
pub(crate) fn date(text: &str, order: Order) -> Option<(i64, u32, u32)> {
    let text = text.trim();
    let moment = local(&format!("{text} 00:00:00"), order)?;
    Some(moment.date())
}

/// A time of a day, with what follows it: `10:11:12`, `10:11:12 AM`, `10:11:12.345`.
pub(crate) fn time(text: &str) -> Option<((u32, u32, u32), u32, &str)> {
    let mut at = Cursor(text);
    let (time, micros) = at.time()?;
    Some((time, micros, at.0))
}

/// Date and time of an event, which stand in lines of their own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Event {
    pub(crate) date: Option<(i64, u32, u32)>,
    pub(crate) time: Option<((u32, u32, u32), u32)>,
}

impl Event {
    pub(crate) fn moment(self) -> Option<Moment> {
        let (time, micros) = self.time?;
        Moment::new(self.date?, time, micros)
    }
}

/// The month whose English name, or its first three letters, a text begins with.
pub(crate) fn month(text: &str) -> Option<u32> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let name = text.get(..3)?;
    let mut months = (1..).zip(MONTHS);
    let found = months.find(|(_, known)| known.eq_ignore_ascii_case(name));
    found.map(|(number, _)| number)
}

struct Cursor<'t>(&'t str);

impl Cursor<'_> {
    fn digits(&mut self, least: usize, most: usize) -> Option<u32> {
        let len = self
            .0
            .bytes()
            .take(most)
            .take_while(u8::is_ascii_digit)
            .count();
        if len < least {
            return None;
        }
        let (digits, rest) = self.0.split_at(len);
        if most > 1 && len == most && rest.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.0 = rest;
        let digit = |byte: u8| u32::from(byte - b'0');
        Some(
            digits
                .bytes()
                .fold(0, |number, byte| number * 10 + digit(byte)),
        )
    }

    fn one_of(&mut self, any: &str) -> Option<char> {
        let byte = self.0.bytes().next()?;
        if !any.as_bytes().contains(&byte) {
            return None;
        }
        self.0 = self.0.get(1..)?;
        Some(char::from(byte))
    }

    fn exactly(&mut self, c: char) -> Option<()> {
        self.0 = self.0.strip_prefix(c)?;
        Some(())
    }

    fn month(&mut self) -> Option<u32> {
        let month = month(self.0)?;
        self.0 = self.0.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        Some(month)
    }

    fn time(&mut self) -> Option<((u32, u32, u32), u32)> {
        let mut hour = self.digits(1, 2)?;
        let colon = self.one_of(":.")?;
        let minute = self.digits(2, 2)?;
        let mut second = 0;
        let mut micros = 0;
        if let Some(rest) = self.0.strip_prefix(colon) {
            self.0 = rest;
            second = self.digits(2, 2)?;
            let fraction = self.0.strip_prefix(['.', ',']);
            if let Some(rest) =
                fraction.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            {
                let end = rest.bytes().take_while(u8::is_ascii_digit).count();
                let digits = rest[..end].bytes().chain(std::iter::repeat(b'0')).take(6);
                micros = digits.fold(0, |micros, byte| micros * 10 + u32::from(byte - b'0'));
                self.0 = &rest[end..];
            }
        }
        let half = self.0.trim_start_matches([' ', '\u{202f}', '\u{a0}']);
        if !half.starts_with(['a', 'A', 'p', 'P']) {
            return Some(((hour, minute, second), micros));
        }
        for (mark, noon) in [("am", 0), ("pm", 12), ("a.m.", 0), ("p.m.", 12)] {
            let Some((word, behind)) = half.split_at_checked(mark.len()) else {
                continue;
            };
            let ends = !behind.starts_with(char::is_alphanumeric);
            if word.eq_ignore_ascii_case(mark) && ends && hour <= 12 {
                hour = hour % 12 + noon;
                self.0 = &half[mark.len()..];
                break;
            }
        }
        Some(((hour, minute, second), micros))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(moment: Option<Moment>) -> String {
        moment.map(|moment| moment.to_string()).unwrap_or_default()
    }

    #[test]
    fn times_stand_behind_what_others_put_before_them() {
        for (text, expected) in [
            ("2024-03-05 10:11:12.34 spid51  x", "2024-03-05T10:11:12.34"),
            ("2024-03-05T10:11:12.000000Z x", "2024-03-05T10:11:12"),
            ("[2024-03-05 10:11:12 CET] x", "2024-03-05T10:11:12"),
            ("db-1 | 2024/03/05 10:11:12 x", "2024-03-05T10:11:12"),
            ("Info\t17-Sep-2015 6:42:51 PM\tx", "2015-09-17T18:42:51"),
            ("11/23/2017 02:00:41,spid7s,x", "2017-11-23T02:00:41"),
            ("2024-13-05 10:11:12", ""),
            ("10.0.0.12024-03-05 10:11:12", ""),
            ("x", ""),
        ] {
            assert_eq!(shown(first(text)), expected, "{text}");
        }
    }

    #[test]
    fn the_last_time_is_that_of_the_message() {
        for (text, expected) in [
            (
                "2024-03-05T10:11:12+0100 db1 postgres[9]: 2024-03-05 10:11:13.5 CET [9] LOG:  ",
                "2024-03-05T10:11:13.5",
            ),
            (
                "2024-06-20 12:00:41.7 UTC,,,11,,66,86,,2024-06-20 08:11:13 UTC,,0,LOG,00000,\"",
                "2024-06-20T12:00:41.7",
            ),
            (
                "{\"timestamp\":\"2024-06-21 04:30:10 UTC\",\"session_start\":\"2024-06-20 08:11:13 UTC\",",
                "2024-06-21T04:30:10",
            ),
            ("Mar 05 10:31:12 db1 postgres[9]: ", ""),
            ("", ""),
        ] {
            assert_eq!(shown(last(text)), expected, "{text}");
        }
    }

    #[test]
    fn local_dates_have_the_day_or_the_month_first() {
        for (text, order, expected) in [
            (
                "03/05/2024 10:11:12.345",
                Order::MonthFirst,
                "2024-03-05T10:11:12.345",
            ),
            (
                "03/05/2024 10:11:12.345",
                Order::DayFirst,
                "2024-05-03T10:11:12.345",
            ),
            (
                "3/15/2024 1:02:03 PM",
                Order::DayFirst,
                "2024-03-15T13:02:03",
            ),
            (
                "12.11.2024 00:00:01",
                Order::MonthFirst,
                "2024-11-12T00:00:01",
            ),
            (
                "3/5/24 12:00:01 AM",
                Order::MonthFirst,
                "2024-03-05T00:00:01",
            ),
            ("2024-03-05 10:11", Order::MonthFirst, "2024-03-05T10:11:00"),
        ] {
            assert_eq!(shown(local(text, order)), expected, "{text}");
        }
        assert_eq!(order_of("13/01/2024"), Some(Order::DayFirst));
        assert_eq!(order_of("01/13/2024"), Some(Order::MonthFirst));
        assert_eq!(order_of("01/02/2024"), None);
    }
}
