//! Measured figures, as they are shown.

use straddle_geometry::Bytes;

/// A time, in the unit in which people speak of it: `12.3 ms`.
#[must_use]
pub fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 100.0 => return format!("{s:.0} s"),
        s if s >= 1.0 => (s, "s"),
        s if s >= 0.001 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    match value {
        v if v >= 100.0 => format!("{v:.0} {unit}"),
        v if v >= 10.0 => format!("{v:.1} {unit}"),
        v => format!("{v:.2} {unit}"),
    }
}

/// A part of a whole, as a percentage.
#[must_use]
pub fn percent(part: f64) -> String {
    match part * 100.0 {
        p if p > 0.0 && p < 0.05 => "less than 0.1%".to_owned(),
        p if p < 10.0 => format!("{p:.1}%"),
        p => format!("{p:.0}%"),
    }
}

/// A number of things.
#[must_use]
pub fn number(value: f64) -> String {
    match value {
        v if v >= 100.0 || v.fract() == 0.0 => Bytes::new(whole(v)).grouped().to_string(),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// `1 run`, `2 runs`, `1,000 runs`.
#[must_use]
pub fn counted(count: impl TryInto<u64>, what: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let s = if count == 1 { "" } else { "s" };
    format!("{} {what}{s}", Bytes::new(count).grouped())
}

/// The nearest whole number, of what is not negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is too large is the largest number"
)]
#[must_use]
pub fn whole(value: f64) -> u64 {
    value.round().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_several() {
        let runs = [0_usize, 1, 2, 1000].map(|n| counted(n, "run"));
        assert_eq!(runs, ["0 runs", "1 run", "2 runs", "1,000 runs"]);
    }

    #[test]
    fn figures_have_three_digits_that_count() {
        let times = [0.000_012_34, 0.001_234, 0.0234, 0.260, 1.5, 15.0, 300.0].map(time);
        assert_eq!(
            times,
            [
                "12.3 µs", "1.23 ms", "23.4 ms", "260 ms", "1.50 s", "15.0 s", "300 s"
            ]
        );
        assert_eq!(
            [0.0, 0.000_1, 0.031, 0.5].map(percent),
            ["0.0%", "less than 0.1%", "3.1%", "50%"]
        );
        assert_eq!(
            [3.0, 12_345.6, 2.345, 23.45].map(number),
            ["3", "12,346", "2.35", "23.4"]
        );
    }
}
