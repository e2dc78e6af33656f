//! Points in time, in UTC: results are compared between machines.

use std::time::Duration;
use straddle_stack::activity::Moment;

/// A point in time by the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Utc {
    year: u64,
    /// 1 to 12.
    month: u64,
    /// 1 to 31.
    day: u64,
    /// 0 on Sundays.
    weekday: u64,
    hour: u64,
    minute: u64,
    second: u64,
}

impl Utc {
    /// `since` the first moment of 1970.
    pub(crate) fn new(since: Duration) -> Utc {
        let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
        let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
        let (year, month, day) = Moment::from_micros(micros).date();
        Utc {
            year: year.unsigned_abs(),
            month: month.into(),
            day: day.into(),
            weekday: (days + 4) % 7,
            hour: seconds / 3_600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
        }
    }

    /// `2026-11-22 07:12:07 UTC`.
    pub(crate) fn plain(self) -> String {
        format!("{} UTC", self.stamp('-', ' '))
    }

    /// `2026-11-22T07:12:07Z` (RFC 3339).
    pub(crate) fn rfc3339(self) -> String {
        format!("{}Z", self.stamp('-', 'T'))
    }

    /// `2026/11/22 07:12:07`, as diskspd writes it.
    pub(crate) fn slashed(self) -> String {
        self.stamp('/', ' ')
    }

    fn stamp(self, hyphen: char, between: char) -> String {
        let Utc {
            year, month, day, ..
        } = self;
        format!(
            "{year:04}{hyphen}{month:02}{hyphen}{day:02}{between}{:02}:{:02}:{:02}",
            self.hour, self.minute, self.second
        )
    }

    /// `Sun Nov 22 07:12:07 2026`, as C's `ctime` writes it.
    pub(crate) fn ctime(self) -> String {
        const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
        const MONTHS: [&str; 12] = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ];
        let name = |names: &[&'static str], at: u64| {
            let at = usize::try_from(at).ok();
            at.and_then(|at| names.get(at).copied()).unwrap_or("")
        };
        format!(
            "{} {} {:2} {:02}:{:02}:{:02} {}",
            name(&DAYS, self.weekday),
            name(&MONTHS, self.month - 1),
            self.day,
            self.hour,
            self.minute,
            self.second,
            self.year
        )
    }
}

/// A point in time as lists have it: `2026-11-27 14:55:15 UTC`, or that it is not known. `seconds` are since 1970-01-01 00:00 UTC.
#[must_use]
pub fn when(seconds: Option<f64>) -> String {
    let since = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    since.filter(|since| !since.is_zero()).map_or_else(
        || "time not known".to_owned(),
        |since| Utc::new(since).plain(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let at = |seconds| Utc::new(Duration::from_secs(seconds));
        assert_eq!(at(0).ctime(), "Thu Jan  1 00:00:00 1970");
        assert_eq!(at(951_782_400).plain(), "2000-02-29 00:00:00 UTC");
        assert_eq!(at(951_868_800).rfc3339(), "2000-03-01T00:00:00Z");
        // What `date -u` says of fio's own time stamp.
        assert_eq!(at(1_795_331_527).ctime(), "Sun Nov 22 07:12:07 2026");
        assert_eq!(at(1_735_689_599).slashed(), "2024/12/31 23:59:59");
        assert_eq!(at(4_107_542_399).plain(), "2100-02-28 23:59:59 UTC");
        assert_eq!(at(4_107_542_400).plain(), "2100-03-01 00:00:00 UTC");
    }
}
