//! What was asked of the storage, as studies write it.

use std::time::Duration;

use straddle_geometry::{Bytes, Unit};
use straddle_workload::offset::Offset;
use straddle_workload::{Pattern, Percent, Workload};

use super::fields::{Fields, positive};
use crate::profile::{Kind, Refusal, Value, value};
use crate::requests::Arrivals;

/// Keys of `[workload]`; a cell may repeat them.
pub(crate) const KEYS: &[&str] = &[
    "io",
    "rw",
    "pattern",
    "threads",
    "outstanding",
    "think",
    "rate",
    "arrivals",
    "span",
    "offset",
];

/// Longest request.
const MAX_LEN: u64 = 64 << 20;

/// What was asked of the storage, and where.
pub(crate) struct Asked {
    pub(crate) workload: Workload,
    pub(crate) arrivals: Arrivals,
    pub(crate) offset_name: String,
    pub(crate) offset: Bytes,
    pub(crate) span: Option<Bytes>,
}

pub(crate) fn read(fields: &Fields<'_>) -> Result<Asked, Refusal> {
    let needed = |key: &str, expected: &str| fields.refuse(key, expected);
    let sizes_expected = "request sizes up to 64 MiB, such as 8K, or with shares that make 100, such as 8K:70,64K:30";
    let sizes = fields
        .with("io", sizes_expected, |value| sizes(value.as_str()?))?
        .ok_or_else(|| needed("io", sizes_expected))?;
    let mix_expected = "read, write, or two shares that make 100, such as 70/30";
    let reads = fields
        .with("rw", mix_expected, |value| mix(value.as_str()?))?
        .ok_or_else(|| needed("rw", mix_expected))?;
    let pattern = fields
        .with(
            "pattern",
            "random, random SIZE, sequential, strided SIZE or columns SIZE",
            |value| pattern(value.as_str()?),
        )?
        .unwrap_or(Pattern::Random);
    let think = fields.with(
        "think",
        "a time up to 1 h, such as 2 ms",
        |found| match value::parse(Kind::Time(0.0, 3600.0), found)? {
            Value::Number(seconds) => Duration::try_from_secs_f64(seconds).ok(),
            _ => None,
        },
    )?;
    let arrivals = fields.with("arrivals", "even or random", |value| {
        match value.as_str()? {
            "even" => Some(Arrivals::Even),
            "random" => Some(Arrivals::Random),
            _ => None,
        }
    })?;
    let offset_expected = "unaligned, or a size such as 64K";
    let (offset_name, offset) = fields
        .with("offset", offset_expected, offset)?
        .ok_or_else(|| needed("offset", offset_expected))?;
    let workload = Workload {
        reads,
        pattern,
        sizes,
        workers: fields.whole("threads", 1, 65_536)?.unwrap_or(1),
        outstanding: fields.whole("outstanding", 1, 65_536)?.unwrap_or(1),
        think: think.unwrap_or(Duration::ZERO),
        rate: fields.with("rate", "requests each second, above zero", positive)?,
    };
    Ok(Asked {
        workload,
        arrivals: arrivals.unwrap_or_default(),
        offset_name,
        offset,
        span: fields.with("span", "a size such as 32 GiB, above zero", |value| {
            Some(unit(value.as_str()?)?.bytes())
        })?,
    })
}

fn unit(text: &str) -> Option<Unit> {
    Unit::new(text.trim().parse::<Bytes>().ok()?.get())
}

/// `8K`, `8K:70,64K:30`; shares come to 100, or there are none, and the parts are equal.
fn sizes(text: &str) -> Option<Vec<(Unit, u32)>> {
    let one = |part: &str| {
        let (size, share) = match part.split_once(':') {
            Some((size, share)) => (size, Some(share.trim().parse::<u32>().ok()?)),
            None => (part, None),
        };
        let size = unit(size).filter(|size| size.get() <= MAX_LEN)?;
        Some((size, share))
    };
    let sizes: Vec<(Unit, Option<u32>)> = text.split([',', '+']).map(one).collect::<Option<_>>()?;
    let shares: Vec<u32> = sizes.iter().filter_map(|(_, share)| *share).collect();
    let is_fair = match shares.as_slice() {
        [] => true,
        shares => {
            let sum = shares
                .iter()
                .try_fold(0_u32, |sum, share| sum.checked_add(*share));
            shares.len() == sizes.len() && !shares.contains(&0) && sum == Some(100)
        }
    };
    let weights = sizes
        .into_iter()
        .map(|(size, share)| (size, share.unwrap_or(1)));
    is_fair.then(|| weights.collect())
}

fn mix(text: &str) -> Option<Percent> {
    match text {
        "read" => return Some(Percent::ALL),
        "write" => return Some(Percent::NONE),
        _ => {}
    }
    let (reads, writes) = text.split_once('/')?;
    let (reads, writes): (u8, u8) = (reads.trim().parse().ok()?, writes.trim().parse().ok()?);
    Percent::new(reads).filter(|_| u32::from(reads) + u32::from(writes) == 100)
}

fn pattern(text: &str) -> Option<Pattern> {
    match text.split_once([' ', ':']) {
        None if text == "random" => Some(Pattern::Random),
        None if text == "sequential" => Some(Pattern::Sequential),
        Some(("random", step)) => unit(step).map(Pattern::RandomEvery),
        Some(("strided", stride)) => unit(stride).map(Pattern::Strided),
        Some(("columns", row)) => unit(row).map(Pattern::Columns),
        _ => None,
    }
}

fn offset(value: &toml::Value) -> Option<(String, Bytes)> {
    let name = match value {
        toml::Value::String(text) => text.trim().to_owned(),
        toml::Value::Integer(bytes) => bytes.to_string(),
        _ => return None,
    };
    let bytes = match name.parse::<Bytes>() {
        Ok(bytes) => bytes,
        Err(_) => name.parse::<Offset>().ok()?.bytes,
    };
    Some((name, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_studies_are_read() {
        let kib = |n: u64| Unit::new(n << 10).expect("not zero");
        assert_eq!(
            sizes("8K:70,64K:30"),
            Some(vec![(kib(8), 70), (kib(64), 30)])
        );
        for wrong in ["", "8K:", "8K:0", "0", "1G"] {
            assert_eq!(sizes(wrong), None, "{wrong}");
        }
        assert_eq!(mix("70/30"), Percent::new(70));
        assert_eq!(mix("70/40"), None);
        assert_eq!(pattern("random 4K"), Some(Pattern::RandomEvery(kib(4))));
        assert_eq!(pattern("strided 64K"), Some(Pattern::Strided(kib(64))));
        assert_eq!(pattern("strided 0"), None);
        for name in ["unaligned", "63s", "32256", "31.5K"] {
            let value = toml::Value::String(name.to_owned());
            assert_eq!(offset(&value), Some((name.to_owned(), Bytes::new(32_256))));
        }
    }
}
