//! Rates as they are typed: bytes per second, and requests per second. The one reader of each, for all verbs.

use super::number::{Typed, either};

/// Below and above this nothing copies.
const MIN: f64 = 1e3;
const MAX: f64 = 1e12;
/// More requests per second than any storage serves.
const MAX_IOPS: f64 = 1e9;

/// Bytes per second of a unit; `Gbit` and `GB` differ in more than a letter's case.
fn unit_of(name: &str) -> Option<f64> {
    let lower = name.to_ascii_lowercase();
    let ends = ["/s", "/sec", "ps", "p/s"];
    let amount = ends.iter().find_map(|end| lower.strip_suffix(end));
    let amount = amount.unwrap_or(&lower).trim_end();
    if let Some(prefix) = amount.strip_suffix("bits").or(amount.strip_suffix("bit")) {
        return Some(factor(prefix, 1e3)? / 8.0);
    }
    if let Some(prefix) = amount.strip_suffix("ib").or(amount.strip_suffix('i')) {
        return factor(prefix, 1024.0).filter(|factor| *factor > 1.0);
    }
    if let Some(prefix) = amount.strip_suffix('b') {
        // Gb/s is a rate of links, in bits: refused, as half of its writers mean bytes.
        let is_of_bits = name.get(prefix.len()..).is_some_and(|rest| {
            rest.starts_with('b') && name.starts_with(|c: char| c.is_ascii_uppercase())
        });
        return factor(prefix, 1e3).filter(|_| !is_of_bits);
    }
    factor(amount, 1024.0).filter(|_| !amount.is_empty())
}

fn factor(prefix: &str, base: f64) -> Option<f64> {
    let power = ["", "k", "m", "g", "t"].iter().position(|p| *p == prefix)?;
    Some(base.powi(i32::try_from(power).ok()?))
}

/// `200MB/s`, `1GiB/s`, in bytes per second.
pub(super) fn data(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let fail = || format!("`{text}` is not a rate; write it like 200MB/s, 1GiB/s or 10Gbit/s");
    let typed = Typed::read(text).ok_or_else(fail)?;
    let number = typed.number;
    if typed.unit.is_empty() {
        if typed.float() == 0.0 {
            return Err(out_of_range(text));
        }
        let parts: Vec<String> = ["MB/s", "MiB/s", "GB/s", "Mbit/s"]
            .iter()
            .map(|unit| format!("{number}{unit}"))
            .filter(|text| data(text).is_ok())
            .collect();
        return Err(match parts.is_empty() {
            true => fail(),
            false => format!(
                "`{text}` has no unit; as a rate it could be {}",
                either(&parts)
            ),
        });
    }
    let Some(unit) = unit_of(typed.unit) else {
        let letter = typed.unit.get(..1).unwrap_or_default();
        let (bytes, bits) = (
            format!("{number}{letter}B/s"),
            format!("{number}{letter}bit/s"),
        );
        return Err(match data(&bytes).is_ok() && data(&bits).is_ok() {
            true => format!("`{text}` is not a rate; it could be {bytes} or {bits}"),
            false => fail(),
        });
    };
    let rate = typed.float() * unit;
    match (MIN..=MAX).contains(&rate) {
        true => Ok(rate),
        false => Err(out_of_range(text)),
    }
}

fn out_of_range(text: &str) -> String {
    format!("`{text}` is out of range; expected a rate from 1 kB/s to 1 TB/s")
}

/// `5000`, `5k`, `5,000 IOPS`.
pub(super) fn requests(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let fail = || {
        format!(
            "`{text}` is not a rate in requests per second above zero; write it like 5000 or 5k"
        )
    };
    let typed = Typed::read(text).ok_or_else(fail)?;
    if unit_of(typed.unit).is_some_and(|_| typed.unit.to_ascii_lowercase().contains('b')) {
        return Err(format!(
            "`{text}` is a rate of bytes, and requests per second are counted here; write it like 5000"
        ));
    }
    let unit = typed.unit.to_ascii_lowercase();
    let unit = ["iops", "io/s", "/s"]
        .iter()
        .find_map(|end| unit.strip_suffix(end))
        .unwrap_or(&unit);
    // Requests are counted in tens: 5k is 5000.
    let factor = factor(unit.trim_end(), 1e3).ok_or_else(fail)?;
    let rate = typed.float() * factor;
    match rate > 0.0 && rate <= MAX_IOPS {
        true => Ok(rate),
        false if rate > 0.0 => Err(format!(
            "`{text}` is out of range; expected at most 1,000,000,000 requests per second"
        )),
        false => Err(fail()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_bytes_have_a_unit() {
        for (text, rate) in [
            ("200MB/s", 200e6),
            ("98 MB/s", 98e6),
            ("100MiB/s", 104_857_600.0),
            ("1GiB/s", 1_073_741_824.0),
            ("100M", 104_857_600.0),
            ("100MB", 100e6),
            ("100MBps", 100e6),
            ("200000000B/s", 200e6),
            ("1,200 MB/s", 1.2e9),
            ("10Gbit/s", 1.25e9),
            ("999 kB/s", 999e3),
        ] {
            assert_eq!(data(text), Ok(rate), "{text}");
        }
        assert_eq!(
            data("100"),
            Err(
                "`100` has no unit; as a rate it could be 100MB/s, 100MiB/s, 100GB/s or 100Mbit/s"
                    .to_owned()
            )
        );
        assert_eq!(
            data("10Gb/s"),
            Err("`10Gb/s` is not a rate; it could be 10GB/s or 10Gbit/s".to_owned())
        );
        for text in [
            "0MB/s", "0", "-1MB/s", "fast", "200 MPH", "2B/s", "5TB/s", "",
        ] {
            data(text).expect_err(text);
        }
    }

    #[test]
    fn requests_are_counted_in_tens() {
        for (text, rate) in [
            ("5000", 5e3),
            ("5k", 5e3),
            ("5,000 IOPS", 5e3),
            ("1.5M", 1.5e6),
            ("180/s", 180.0),
            ("0.5", 0.5),
        ] {
            assert_eq!(requests(text), Ok(rate), "{text}");
        }
        for text in ["0", "-1", "inf", "x", "", "2G", "5s"] {
            requests(text).expect_err(text);
        }
        assert!(requests("200MB/s").is_err_and(|error| error.contains("rate of bytes")));
    }
}
