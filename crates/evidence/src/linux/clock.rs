//! Dates and times of sysstat, in the form of the locale, and of what stands above outputs: `date`, `watch`, `zzz ***`.

use straddle_stack::activity::Moment;

use crate::stamp;

/// Hour, minute, second.
pub(super) type Time = (u32, u32, u32);

/// A date of which it may not be known which of two numbers is the month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Day {
    year: i64,
    first: u32,
    second: u32,
    /// The first number is the month; `None` when nothing tells.
    month_first: Option<bool>,
    /// The year has four digits.
    long: bool,
}

impl Day {
    /// `06/22/2011`, `14.11.2022`, `2024-05-14`, `2017年02月14日`, `西元2020年05月13日`.
    pub(super) fn of(text: &str) -> Option<Day> {
        let from = text.find(|c: char| c.is_ascii_digit())?;
        let mut numbers = [(0_u32, 0_usize); 3];
        let mut rest = &text[from..];
        let mut between = ' ';
        for (index, number) in numbers.iter_mut().enumerate() {
            let len = rest.bytes().take_while(u8::is_ascii_digit).count();
            if len == 0 || len > 4 {
                return None;
            }
            *number = (rest[..len].parse().ok()?, len);
            rest = &rest[len..];
            if index < 2 {
                between = rest.chars().next()?;
                rest = &rest[between.len_utf8()..];
            }
        }
        let [(a, digits), (b, _), (c, last)] = numbers;
        if digits == 4 {
            return Some(Day {
                year: i64::from(a),
                first: b,
                second: c,
                month_first: Some(true),
                long: true,
            });
        }
        let year = if last <= 2 { 2000 + c } else { c };
        let month_first = match (a > 12, b > 12) {
            (true, _) => Some(false),
            (_, true) => Some(true),
            _ if between == '/' => None,
            // Points and hyphens stand behind a day.
            _ => Some(false),
        };
        Some(Day {
            year: i64::from(year),
            first: a,
            second: b,
            month_first,
            long: last == 4,
        })
    }

    /// The date, on a clock of 12 hours or of 24. Locales that write a year of four digits behind slashes put the day first,
    /// but for the one of the United States, whose clock has 12 hours; without a locale the year has two digits.
    pub(super) fn date(self, half: bool) -> (i64, u32, u32) {
        match self.month_first.unwrap_or(half || !self.long) {
            true => (self.year, self.first, self.second),
            false => (self.year, self.second, self.first),
        }
    }

    /// A time of this day, or of one so many days later.
    pub(super) fn moment(self, time: Time, half: bool, later: u32) -> Option<Moment> {
        const DAY: i64 = 86_400_000_000;
        let moment = Moment::new(self.date(half), time, 0)?;
        Some(Moment::from_micros(
            moment.micros() + i64::from(later) * DAY,
        ))
    }
}

const FORENOON: [&str; 4] = ["AM", "上午", "午前", "오전"];
const AFTERNOON: [&str; 4] = ["PM", "下午", "午後", "오후"];

/// A time of a day at the beginning of a text, whether it is one of a clock of 12 hours, and the rest.
pub(super) fn time(text: &str) -> Option<(Time, bool, &str)> {
    let mut rest = text.trim_start();
    // Most lines of other things begin otherwise.
    let first = rest.chars().next()?;
    if !first.is_ascii_digit() && first.is_ascii() {
        return None;
    }
    let mut noon = half(&mut rest);
    rest = rest.trim_start();
    let hour = two_digits(&mut rest)?;
    after(&mut rest, &[':', '時', '时', '시', '.'])?;
    let minute = two_digits(&mut rest)?;
    after(&mut rest, &[':', '分', '분', '.'])?;
    let second = two_digits(&mut rest)?;
    rest = rest.trim_start_matches(['秒', '초']);
    if noon.is_none() {
        let mut behind = rest.trim_start_matches(' ');
        noon = half(&mut behind);
        if noon.is_some() {
            rest = behind;
        }
    }
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
        return None;
    }
    let hour = match noon {
        Some(noon) if hour <= 12 => hour % 12 + noon,
        _ => hour,
    };
    let is_time = hour < 24 && minute < 60 && second <= 60;
    is_time.then_some(((hour, minute, second), noon.is_some(), rest))
}

/// The hours that a word for a half of the day adds.
fn half(rest: &mut &str) -> Option<u32> {
    for (words, noon) in [(FORENOON, 0), (AFTERNOON, 12)] {
        for word in words {
            let is_word = rest
                .get(..word.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(word));
            if is_word {
                *rest = &rest[word.len()..];
                return Some(noon);
            }
        }
    }
    None
}

fn two_digits(rest: &mut &str) -> Option<u32> {
    let len = rest.bytes().take_while(u8::is_ascii_digit).count();
    if len == 0 || len > 2 {
        return None;
    }
    let number = rest[..len].parse().ok()?;
    *rest = &rest[len..];
    Some(number)
}

fn after(rest: &mut &str, signs: &[char]) -> Option<()> {
    *rest = rest.strip_prefix(signs)?.trim_start_matches(' ');
    Some(())
}

/// The moment that a line says, if it says nothing else: of `iostat -t`, of `date`, of who wrote the script.
pub(super) fn line(text: &str) -> Option<Moment> {
    const LONGEST: usize = 72;
    let text = text.trim().strip_prefix("zzz").unwrap_or(text);
    if text.len() > LONGEST || !text.contains(':') {
        return None;
    }
    let text = text.trim_matches(['-', '=', '*', '#', '[', ']', ' ', '+', '<', '>', '\t']);
    let text = text.strip_prefix("Time:").map_or(text, str::trim_start);
    if let Some((moment, rest)) = stamp::date_and_time(text) {
        let rest = rest.trim();
        let is_zone = rest.len() <= 6 && !rest.contains(' ');
        return is_zone.then_some(moment);
    }
    if text.starts_with(|c: char| !c.is_ascii() || c.is_ascii_digit())
        && let Some((day, rest)) = text.split_once(char::is_whitespace)
        && let Some((time, half, rest)) = time(rest)
        && let Some(day) = Day::of(day)
        && rest.len() <= 6
    {
        return day.moment(time, half, 0);
    }
    english(text)
}

/// `Fri Mar 15 09:12:01 UTC 2024`, `Fri 15 Mar 2024 09:12:01 AM UTC`.
pub(crate) fn english(text: &str) -> Option<Moment> {
    // Without four digits there is no year.
    let mut digits = 0;
    let has_year = text.bytes().any(|byte| {
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        digits == 4
    });
    if !has_year {
        return None;
    }
    let (mut month, mut day, mut year, mut clock) = (None, None, None, None);
    let mut rest = text;
    for (count, word) in text.split_ascii_whitespace().enumerate() {
        if count >= 8 {
            return None;
        }
        let at = rest.find(word)?;
        let here = &rest[at..];
        rest = &here[word.len()..];
        // `+0100` is a zone, and to Rust a number.
        let number = match word.starts_with('+') {
            true => None,
            false => word.trim_end_matches([',', '.']).parse::<u32>().ok(),
        };
        if let (Some(found), None) = (time(here), clock) {
            clock = Some(found.0);
            continue;
        }
        match number {
            Some(n) if day.is_none() && (1..=31).contains(&n) => day = Some(n),
            Some(n) if year.is_none() && (1970..=9999).contains(&n) => year = Some(n),
            Some(_) => return None,
            None => {
                match stamp::month(word) {
                    Some(number) if month.is_none() => month = Some(number),
                    // A day of the week, a zone.
                    _ if word.len() <= 9 => {}
                    _ => return None,
                }
            }
        }
    }
    Moment::new((i64::from(year?), month?, day?), clock?, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(moment: Option<Moment>) -> String {
        moment.map(|moment| moment.to_string()).unwrap_or_default()
    }

    #[test]
    fn dates_have_the_form_of_the_locale() {
        for (text, half, expected) in [
            ("06/22/2011", false, (2011, 6, 22)),
            ("27/09/20", true, (2020, 9, 27)),
            ("05/03/2024", false, (2024, 3, 5)),
            ("05/03/2024", true, (2024, 5, 3)),
            ("05/03/24", false, (2024, 5, 3)),
            ("05.03.2024", true, (2024, 3, 5)),
            ("2024-05-14", false, (2024, 5, 14)),
            ("2017年02月14日", false, (2017, 2, 14)),
            ("西元2020年05月13日", true, (2020, 5, 13)),
        ] {
            let day = Day::of(text).expect("a date");
            assert_eq!(day.date(half), expected, "{text}");
        }
        for text in ["", "2024", "1-2", "123456/1/1", "年"] {
            assert_eq!(Day::of(text), None, "{text}");
        }
    }

    #[test]
    fn times_have_the_form_of_the_locale() {
        for (text, expected) in [
            ("12:10:01 AM  sda", Some(((0, 10, 1), true, "sda"))),
            ("12:10:01 PM sda", Some(((12, 10, 1), true, "sda"))),
            ("00:10:01 sda", Some(((0, 10, 1), false, "sda"))),
            ("00時10分01秒 sda", Some(((0, 10, 1), false, "sda"))),
            ("下午 04時20分01秒 sda", Some(((16, 20, 1), true, "sda"))),
            ("오전 12시 10분 01초 sda", Some(((0, 10, 1), true, "sda"))),
            ("Average: sda", None),
            ("25:00:00 sda", None),
            ("12:10:01x", None),
            ("12:1", None),
            ("上午", None),
        ] {
            let found = time(text).map(|(time, half, rest)| (time, half, rest.trim()));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_line_can_be_a_moment() {
        for (text, expected) in [
            ("Fri Mar 15 09:12:01 UTC 2024", "2024-03-15T09:12:01"),
            ("Fri 15 Mar 2024 09:12:01 PM CET", "2024-03-15T21:12:01"),
            ("zzz ***Fri Mar 15 09:12:01 CET 2024", "2024-03-15T09:12:01"),
            ("--- 2023-10-02 03:00:00", "2023-10-02T03:00:00"),
            ("2024-05-14T10:11:12+0200", "2024-05-14T10:11:12"),
            ("03/14/2016 12:00:10 PM", "2016-03-14T12:00:10"),
            ("23/09/2022 08:02:11", "2022-09-23T08:02:11"),
            ("2024-05-14 10:11:12 the disk failed", ""),
            ("Time: now", ""),
            ("a:b", ""),
            ("", ""),
        ] {
            assert_eq!(shown(line(text)), expected, "{text}");
        }
    }

    #[test]
    fn dates_are_written_in_english() {
        for (text, expected) in [
            ("Tue Mar  3 11:02:30 2015", "2015-03-03T11:02:30"),
            ("Tue, 3 March 2015 11:02:30 +0000", "2015-03-03T11:02:30"),
            ("Tue Mar  3 11:02 2015", ""),
            ("Tue Foo  3 11:02:30 2015", ""),
            ("Tue Mar 33 11:02:30 2015", ""),
            ("Tue Feb 30 11:02:30 2015", ""),
        ] {
            assert_eq!(shown(english(text)), expected, "{text}");
        }
    }
}
