//! Parameters of profiles as they are typed for `--set` and `--compare`: with the units that all flags have.
//!
//! The parser of profiles reads a file of ours, where a bare number has the base unit. On a command line it is refused like
//! everywhere else, unless it can be nothing but bytes.

use straddle::geometry::Bytes;
use straddle::predict::design::{Axis, plain};
use straddle::predict::model;
use straddle::predict::profile::{Kind, Value, value};

use super::number::Typed;
use super::{rates, sizes, times};

/// Parameters that are amounts, as makers print them: 450 GB.
const AMOUNTS: &[&str] = &["capacity", "size", "write_cache", "journal", "read_ahead"];

/// `array.members=6`.
pub(super) fn setting(text: &str) -> Result<(String, String), String> {
    let fail = || format!("`{text}` is not a setting; write it like array.members=6");
    let (path, value) = text.split_once('=').ok_or_else(fail)?;
    let (path, value) = (path.trim(), value.trim());
    if path.is_empty() || value.is_empty() {
        return Err(fail());
    }
    Ok((path.to_owned(), known(path, value)?))
}

/// `members=6,8`, `stripe-unit=64K,256K`, `bs=8K,64K`.
pub(super) fn axis(text: &str) -> Result<Axis, String> {
    let mut axis = Axis::read(text)?;
    // As the flags of a workload are called elsewhere.
    let known_as = match axis.key.as_str() {
        "bs" => Some("io"),
        "iodepth" | "qd" => Some("outstanding"),
        "numjobs" | "workers" => Some("threads"),
        _ => None,
    };
    if let Some(name) = known_as {
        axis.key = name.to_owned();
    }
    for one in &mut axis.values {
        *one = match axis.key.as_str() {
            "io" => request(one)?,
            key => known(key, one)?,
        };
    }
    Ok(axis)
}

/// A request size in a form that means the same to the reader of axes.
fn request(text: &str) -> Result<String, String> {
    let size = sizes::request(text)?.bytes();
    Ok(match text.parse::<Bytes>() {
        Ok(same) if same == size => text.to_owned(),
        _ => format!("{}B", size.get()),
    })
}

/// A value in a form that means the same to the parser of profiles, which refuses what is out of the range of its parameter. What
/// does not begin with a number, and what no model has, is left to it as well.
fn known(path: &str, text: &str) -> Result<String, String> {
    let key = path
        .split_once('.')
        .and_then(|(section, key)| model::find(section)?.key(key));
    let (Some(key), Some(typed)) = (key, Typed::read(text)) else {
        return Ok(text.to_owned());
    };
    let is_bare = typed.unit.is_empty();
    let is_zero = is_bare && typed.times(1) == Some((0, true));
    let same = |kind: Kind, number: f64| {
        let read = value::parse(kind, &plain(text));
        matches!(read, Some(Value::Number(read)) if (read - number).abs() <= number.abs() * 1e-12)
    };
    let of_path = |error: String| format!("{path}: {error}");
    match key.kind {
        _ if is_zero => Ok(text.to_owned()),
        Kind::Bytes(_, max) => {
            let purpose = match max {
                // A tag of a few bytes.
                max if max <= 4096.0 && is_bare => return Ok(text.to_owned()),
                _ if AMOUNTS.contains(&key.name) => &sizes::CAPACITY,
                _ => &sizes::PARAMETER,
            };
            let bytes = purpose.read(text).map_err(of_path)?.get();
            #[expect(
                clippy::cast_precision_loss,
                reason = "it is compared with a rounded one"
            )]
            let is_same = same(Kind::Bytes(0.0, f64::MAX), bytes as f64);
            Ok(match is_same {
                true => text.to_owned(),
                false => format!("{bytes} B"),
            })
        }
        Kind::Time(..) => match times::parameter(text) {
            Ok(time) if !same(Kind::Time(0.0, f64::MAX), time.as_secs_f64()) => {
                Ok(format!("{} ns", time.as_nanos()))
            }
            Err(error) if is_bare => Err(of_path(error)),
            _ => Ok(text.to_owned()),
        },
        Kind::Rate(..) => match rates::data(text) {
            Ok(rate) if !same(Kind::Rate(0.0, f64::MAX), rate) => Ok(format!("{rate} B/s")),
            Err(error) if is_bare => Err(of_path(error)),
            _ => Ok(text.to_owned()),
        },
        Kind::Count(..) | Kind::Number(..) | Kind::Word(_) | Kind::Table(_) => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> Result<String, String> {
        setting(text).map(|(_, value)| value)
    }

    #[test]
    fn settings_have_a_key_and_a_value() {
        assert_eq!(
            setting("array.members=6"),
            Ok(("array.members".to_owned(), "6".to_owned()))
        );
        for text in ["array.members", "=6", "array.members="] {
            setting(text).expect_err(text);
        }
        // The profile's own refusals say what is allowed.
        assert_eq!(set("array.members=NaN"), Ok("NaN".to_owned()));
        assert_eq!(set("raid.members=2"), Ok("2".to_owned()));
    }

    #[test]
    fn units_are_those_of_all_flags() {
        for (text, value) in [
            ("array.stripe_unit=64K", "64K"),
            ("array.stripe_unit=65536", "65536"),
            ("disk.capacity=2.4TB", "2.4TB"),
            ("cache.size=0.5gb", "500000000 B"),
            ("cache.size=512 MiB", "512 MiB"),
            ("server.service=5 ms", "5 ms"),
            ("server.service=5 msec", "5000000 ns"),
            ("server.bandwidth=100MB/s", "100MB/s"),
            ("server.bandwidth=1Gbit/s", "125000000 B/s"),
            ("integrity.tag=4", "4"),
        ] {
            assert_eq!(set(text), Ok(value.to_owned()), "{text}");
        }
        for (text, meant) in [
            ("array.stripe_unit=64", "64K (65,536 B), 64s (32 KiB)"),
            ("array.stripe_unit=64KB", "did you mean 64K or 64KiB"),
            ("server.service=5", "5us, 5ms or 5s"),
            ("server.bandwidth=100", "100MB/s, 100MiB/s"),
        ] {
            let error = set(text).expect_err(text);
            let (path, _) = text.split_once('=').expect("a setting");
            assert!(
                error.starts_with(path) && error.contains(meant),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn axes_have_the_names_and_units_of_flags() {
        let read = |text| axis(text).map(|axis| (axis.key, axis.values.join(",")));
        let is = |key: &str, values: &str| Ok((key.to_owned(), values.to_owned()));
        assert_eq!(read("bs=8K,64K"), is("io", "8K,64K"));
        assert_eq!(read("io=8.192KB,64K"), is("io", "8192B,64K"));
        assert_eq!(read("qd=1,32"), is("outstanding", "1,32"));
        assert_eq!(
            read("stripe-unit=64K,256K"),
            is("array.stripe_unit", "64K,256K")
        );
        axis("stripe-unit=64,256").expect_err("of what?");
        axis("io=8,64").expect_err("of what?");
    }
}
