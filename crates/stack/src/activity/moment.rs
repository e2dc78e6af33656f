use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A point in time as a clock on some wall showed it; which zone it was in is not known.
///
/// The calendar is the Gregorian one. Days are counted from a first of March, so that the day that some years lack is a year's
/// last (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// Since the beginning of 1970 on that clock.
    micros: i64,
}

const DAY: i64 = 86_400_000_000;

impl Moment {
    /// `second` may be 60. `None` for what is no date or no time of a day.
    #[must_use]
    pub fn new(
        (year, month, day): (i64, u32, u32),
        (hour, minute, second): (u32, u32, u32),
        micros: u32,
    ) -> Option<Moment> {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            2 => 28 + u32::from(leap),
            4 | 6 | 9 | 11 => 30,
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            _ => return None,
        };
        let is_date = (1..=9999).contains(&year) && (1..=days).contains(&day);
        if !is_date || hour > 23 || minute > 59 || second > 60 || micros > 999_999 {
            return None;
        }
        let from_march = if month > 2 { month - 3 } else { month + 9 };
        let year = year - i64::from(month <= 2);
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_year = i64::from((153 * from_march + 2) / 5 + day - 1);
        let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468;
        let seconds = i64::from(hour * 3600 + minute * 60 + second);
        Some(Moment {
            micros: days * DAY + seconds * 1_000_000 + i64::from(micros),
        })
    }

    /// So many microseconds after the beginning of 1970; of what lies outside the years 1 to 9999 the nearest.
    #[must_use]
    pub fn from_micros(micros: i64) -> Moment {
        const FIRST: i64 = -719_162 * DAY;
        const LAST: i64 = 2_932_897 * DAY - 1;
        Moment {
            micros: micros.clamp(FIRST, LAST),
        }
    }

    /// Microseconds after the beginning of 1970.
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.micros
    }

    /// Seconds from `earlier` to this; negative when it is the later one.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "a difference of centuries loses microseconds"
    )]
    pub fn since(self, earlier: Moment) -> f64 {
        (self.micros - earlier.micros) as f64 / 1e6
    }

    /// Year, month from 1, day from 1.
    #[must_use]
    pub fn date(self) -> (i64, u32, u32) {
        let from_march = self.micros.div_euclid(DAY) + 719_468;
        let (era, day) = (
            from_march.div_euclid(146_097),
            from_march.rem_euclid(146_097),
        );
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day_of_year = day - (365 * year + year / 4 - year / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let month = if shifted < 10 {
            shifted + 3
        } else {
            shifted - 9
        };
        let small = |n: i64| u32::try_from(n).unwrap_or_default();
        (
            era * 400 + year + i64::from(month <= 2),
            small(month),
            small(day_of_year - (153 * shifted + 2) / 5 + 1),
        )
    }
}

/// `2024-03-05T10:11:12`, with as much of a fraction as there is.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date();
        let rest = self.micros.rem_euclid(DAY);
        let (seconds, micros) = (rest / 1_000_000, rest % 1_000_000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let fraction = format!(".{micros:06}");
        let fraction = fraction.trim_end_matches(['0', '.']);
        f.pad(&format!(
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}"
        ))
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "A point in time on the clock of whoever wrote the file." })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_go_there_and_back() {
        for (date, days) in [
            ((1970, 1, 1), 0),
            ((2000, 2, 29), 11_016),
            ((2000, 3, 1), 11_017),
            ((1969, 12, 31), -1),
            ((2100, 2, 28), 47_540),
            ((2100, 3, 1), 47_541),
        ] {
            let moment = Moment::new(date, (0, 0, 0), 0).expect("a date");
            assert_eq!(moment.micros(), days * DAY, "{date:?}");
            assert_eq!(moment.date(), date);
        }
        for (date, time) in [
            ((2001, 2, 29), (0, 0, 0)),
            ((1900, 2, 29), (0, 0, 0)),
            ((2001, 13, 1), (0, 0, 0)),
            ((2001, 4, 31), (0, 0, 0)),
            ((2001, 1, 1), (24, 0, 0)),
        ] {
            assert_eq!(Moment::new(date, time, 0), None, "{date:?} {time:?}");
        }
    }

    #[test]
    fn a_fraction_is_shown_as_far_as_it_goes() {
        let at = |micros| Moment::new((2024, 3, 5), (10, 11, 12), micros).expect("a time");
        assert_eq!(at(0).to_string(), "2024-03-05T10:11:12");
        assert_eq!(at(340_000).to_string(), "2024-03-05T10:11:12.34");
        assert_eq!(
            Moment::from_micros(i64::MAX).to_string(),
            "9999-12-31T23:59:59.999999"
        );
        assert_eq!(
            Moment::from_micros(i64::MIN).to_string(),
            "0001-01-01T00:00:00"
        );
    }
}
