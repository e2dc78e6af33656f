//! Times as they are typed: the one reader of them, for all verbs.

use std::time::Duration;

use super::number::{Typed, either};

/// What a time is for: it decides what a bare number is, and what is absurd.
pub(super) struct Purpose {
    /// What is asked for, in a message.
    what: &'static str,
    min: Duration,
    max: Duration,
    /// The unit of a number without one, where no other can be meant.
    bare: Option<&'static str>,
    /// Units that it may have otherwise, the likeliest first.
    meant: &'static [&'static str],
}

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);

/// fio, diskspd and SQLIO count seconds, of runs and of warm-ups.
const RUN: Purpose = Purpose {
    what: "the time of a run",
    min: Duration::from_millis(1),
    max: DAY,
    bare: Some("s"),
    meant: &[],
};
const WARM_UP: Purpose = Purpose {
    what: "a warm-up",
    min: Duration::ZERO,
    ..RUN
};
/// fio counts microseconds here, and others milliseconds.
const THINK: Purpose = Purpose {
    what: "a think time",
    min: Duration::ZERO,
    max: HOUR,
    bare: None,
    meant: &["us", "ms", "s"],
};
const BUDGET: Purpose = Purpose {
    what: "a limit of time",
    min: Duration::ZERO,
    max: Duration::from_secs(30 * 86_400),
    bare: None,
    meant: &["s", "m", "h"],
};
/// Shorter ones could not all be told apart.
const WINDOW: Purpose = Purpose {
    what: "a stretch of time",
    min: Duration::from_millis(1),
    max: Duration::from_secs(3650 * 86_400),
    bare: None,
    meant: &["s", "m", "h"],
};
const LATENCY: Purpose = Purpose {
    what: "a latency",
    min: Duration::from_nanos(1),
    max: HOUR,
    bare: None,
    meant: &["ms", "us", "s"],
};
/// A parameter of a profile, whose limits the profile checks.
const PARAMETER: Purpose = Purpose {
    what: "a time",
    min: Duration::ZERO,
    max: DAY,
    bare: None,
    meant: &["us", "ms", "s"],
};

/// Nanoseconds of a unit.
fn unit_of(name: &str) -> Option<u128> {
    Some(match name.to_lowercase().as_str() {
        "ns" | "nsec" => 1,
        // Both signs that look like a micro.
        "us" | "usec" | "µs" | "μs" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000_000,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000_000_000,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000_000_000,
        "d" | "day" | "days" => 86_400_000_000_000,
        _ => return None,
    })
}

impl Purpose {
    /// Reads a time: `500ms`, `1.5m`, `2 min 30 s`.
    fn read(&self, text: &str) -> Result<Duration, String> {
        let text = text.trim();
        let not_a_time = || format!("`{text}` is not a time; write it like 500ms, 2s, 10m or 1h");
        let mut rest = text;
        let mut nanoseconds = 0_u128;
        let mut smallest = u128::MAX;
        while !rest.is_empty() {
            let end = Self::end_of_part(rest);
            let (part, after) = rest.split_at(end);
            let typed = Typed::read(part).ok_or_else(not_a_time)?;
            let is_alone = part.trim() == text;
            let unit = match typed.unit {
                "" if is_alone && typed.times(1) == Some((0, true)) => "s",
                "" if is_alone => self.bare.ok_or_else(|| self.without_unit(text))?,
                unit => unit,
            };
            let unit = unit_of(unit).ok_or_else(not_a_time)?;
            let (value, _) = typed.times(unit).ok_or_else(not_a_time)?;
            // Parts fall: 30 s 2 min is no time that anybody writes.
            if unit >= smallest {
                return Err(not_a_time());
            }
            smallest = unit;
            nanoseconds = nanoseconds.checked_add(value).ok_or_else(not_a_time)?;
            rest = after.trim_start();
        }
        if smallest == u128::MAX {
            return Err(not_a_time());
        }
        let time = u64::try_from(nanoseconds).map(Duration::from_nanos);
        match time {
            Ok(time) if (self.min..=self.max).contains(&time) => Ok(time),
            _ => Err(format!(
                "`{text}` is out of range; expected {} from {} to {}",
                self.what,
                shown(self.min),
                shown(self.max)
            )),
        }
    }

    /// Where the next number begins, behind a unit.
    fn end_of_part(text: &str) -> usize {
        let unit = text.find(|c: char| c.is_alphabetic());
        let number = |from: usize| {
            let found = text.get(from..)?.find(|c: char| c.is_ascii_digit())?;
            Some(from + found)
        };
        unit.and_then(number).unwrap_or(text.len())
    }

    fn without_unit(&self, number: &str) -> String {
        let parts: Vec<String> = self
            .meant
            .iter()
            .map(|unit| format!("{number}{unit}"))
            .filter(|text| self.read(text).is_ok())
            .collect();
        match parts.is_empty() {
            true => format!("`{number}` is not a time; write it like 500ms, 2s, 10m or 1h"),
            false => format!(
                "`{number}` has no unit; as {} it could be {}",
                self.what,
                either(&parts)
            ),
        }
    }
}

/// A limit of a range in its largest unit.
fn shown(time: Duration) -> String {
    let nanoseconds = time.as_nanos();
    let units = [
        ("d", 86_400_000_000_000),
        ("h", 3_600_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
    ];
    let found = units
        .iter()
        .find(|(_, unit)| nanoseconds > 0 && nanoseconds.is_multiple_of(*unit));
    match found {
        Some((name, unit)) => format!("{} {name}", nanoseconds / unit),
        None => format!("{nanoseconds} ns"),
    }
}

/// The measured time of a run: `10` is seconds.
pub(super) fn run(text: &str) -> Result<Duration, String> {
    RUN.read(text)
}

/// Time before it is measured: `5` is seconds.
pub(super) fn warm_up(text: &str) -> Result<Duration, String> {
    WARM_UP.read(text)
}

pub(super) fn think(text: &str) -> Result<Duration, String> {
    THINK.read(text)
}

/// `none` is no limit.
pub(super) fn budget(text: &str) -> Result<Option<Duration>, String> {
    match text {
        "none" => Ok(None),
        _ => BUDGET.read(text).map(Some),
    }
}

/// Of which a trace has many.
pub(super) fn window(text: &str) -> Result<Duration, String> {
    WINDOW.read(text)
}

/// A latency above zero.
pub(super) fn latency(text: &str) -> Result<Duration, String> {
    LATENCY.read(text)
}

/// A time in a parameter of a profile.
pub(super) fn parameter(text: &str) -> Result<Duration, String> {
    PARAMETER.read(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_form_that_is_printed() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("1.5m", 90_000),
            ("2 min 30 s", 150_000),
            ("1h30m", 5_400_000),
            ("1 h 5 min", 3_900_000),
            ("0.5 days", 43_200_000),
            ("10", 10_000),
            ("10 Seconds", 10_000),
        ] {
            let read = run(text);
            assert_eq!(read, Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        assert_eq!(latency("250 µs"), Ok(Duration::from_micros(250)));
        assert_eq!(think("0"), Ok(Duration::ZERO), "zero has any unit");
        assert_eq!(budget("none"), Ok(None));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "s",
            "-1s",
            "1.2.3s",
            "1e9s",
            "1h30",
            "30s2m",
            "2 m 3 m",
            "10 parsecs",
            "9999999999999999999999h",
            "0s",
            "0",
            "25h",
        ] {
            run(text).expect_err(text);
        }
        assert_eq!(
            think("10"),
            Err("`10` has no unit; as a think time it could be 10us, 10ms or 10s".to_owned())
        );
        assert_eq!(
            budget("10"),
            Err("`10` has no unit; as a limit of time it could be 10s, 10m or 10h".to_owned())
        );
        assert_eq!(
            run("0s"),
            Err("`0s` is out of range; expected the time of a run from 1 ms to 1 d".to_owned())
        );
    }
}
