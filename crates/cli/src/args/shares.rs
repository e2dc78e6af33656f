//! Shares as they are typed: percentages, mixes of reads and writes, mixes of sizes. The one reader of each, for all verbs.

use straddle::geometry::Unit;
use straddle::workload::{Pattern, Percent};

use super::number::{Typed, either};

/// Request sizes, and the share of each in percent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sizes(pub(crate) Vec<(Unit, u32)>);

/// Reads and writes, and the access pattern where the word for them names one: `randread`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mix {
    pub(crate) reads: Percent,
    pub(crate) pattern: Option<Pattern>,
}

/// `1%`, `0.5 %`, `5`, as a share above zero.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    share(text, 100.0).and_then(|share| match share > 0.0 {
        true => Ok(share),
        false => Err(not_a_percentage(text, 100.0)),
    })
}

/// By how much something may be worse: from `0%`.
pub(super) fn tolerance(text: &str) -> Result<f64, String> {
    share(text, 1000.0)
}

/// A bare number from 1 on can only be meant in percent; below, it may be a share of one.
fn share(text: &str, max: f64) -> Result<f64, String> {
    let fail = || not_a_percentage(text, max);
    let typed = Typed::read(text).ok_or_else(fail)?;
    let number = typed.float();
    match typed.unit {
        "%" | "percent" => {}
        "" if number == 0.0 || number >= 1.0 => {}
        "" => {
            let number = typed.number;
            let as_share = format!("{:.6}", typed.float() * 100.0);
            let as_share = as_share.trim_end_matches('0').trim_end_matches('.');
            return Err(format!(
                "`{text}` has no unit; as a percentage it could be {number}% or {as_share}%"
            ));
        }
        _ => return Err(fail()),
    }
    match number <= max {
        true => Ok(number / 100.0),
        false => Err(fail()),
    }
}

fn not_a_percentage(text: &str, max: f64) -> String {
    format!("`{text}` is not a percentage up to {max}%; write it like 1% or 0.5%")
}

/// `read`, `write`, `70/30`, `70:30`, and fio's `randread`, `randwrite`, `randrw`.
pub(super) fn mix(text: &str) -> Result<Mix, String> {
    let of = |reads: Percent, pattern| Ok(Mix { reads, pattern });
    let half = || Percent::new(50).unwrap_or(Percent::ALL);
    let (random, sequential) = (Some(Pattern::Random), Some(Pattern::Sequential));
    match text.trim().to_ascii_lowercase().as_str() {
        "read" | "reads" => of(Percent::ALL, None),
        "write" | "writes" => of(Percent::NONE, None),
        "randread" => of(Percent::ALL, random),
        "randwrite" => of(Percent::NONE, random),
        "randrw" => of(half(), random),
        "seqread" => of(Percent::ALL, sequential),
        "seqwrite" => of(Percent::NONE, sequential),
        "rw" | "readwrite" => Err(format!(
            "`{text}` does not say in which order; it could be randrw, 50/50, or 50/50 with --pattern sequential, which is fio's"
        )),
        other => shares(text, other).and_then(|reads| of(reads, None)),
    }
}

/// `70/30`, `70:30`, reads first.
fn shares(text: &str, lower: &str) -> Result<Percent, String> {
    let fail = || {
        format!(
            "`{text}` is not a mix; expected read, write, randread, randwrite, randrw, or the percentages of reads and writes, such as 70/30"
        )
    };
    let number = |part: &str| {
        let part = part.trim();
        part.strip_suffix('%')
            .unwrap_or(part)
            .trim_end()
            .parse::<u32>()
            .ok()
    };
    let Some((reads, writes)) = lower.split_once(['/', ':']) else {
        return Err(match number(lower) {
            Some(one) if one <= 100 => {
                let other = 100 - one;
                format!(
                    "`{text}` is one share of two; it could be {one}/{other} ({one}% reads) or {other}/{one} ({one}% writes)"
                )
            }
            _ => fail(),
        });
    };
    let (Some(reads), Some(writes)) = (number(reads), number(writes)) else {
        return Err(fail());
    };
    let sum = u64::from(reads) + u64::from(writes);
    if sum != 100 {
        let meant: Vec<String> = [
            (reads <= 100).then(|| format!("{reads}/{}", 100 - reads)),
            (writes <= 100).then(|| format!("{}/{writes}", 100 - writes)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let meant = match meant.is_empty() {
            true => "two percentages that come to 100, such as 70/30".to_owned(),
            false => either(&meant),
        };
        return Err(format!(
            "the shares of `{text}` come to {sum}, not to 100; expected {meant}"
        ));
    }
    u8::try_from(reads)
        .ok()
        .and_then(Percent::new)
        .ok_or_else(fail)
}

/// `8K`, `8K:70+64K:30`, `8K+64K` in equal parts.
pub(super) fn sizes(text: &str) -> Result<Sizes, String> {
    let parts: Vec<&str> = text.split('+').collect();
    let weighed = parts.iter().filter(|part| part.contains(':')).count();
    if weighed == 0 {
        let sizes = parts
            .iter()
            .map(|part| Ok((super::sizes::request(part)?, 1)));
        return sizes.collect::<Result<_, String>>().map(Sizes);
    }
    let mut sizes = Vec::with_capacity(parts.len());
    let mut sum = 0_u64;
    for part in parts {
        let Some((size, weight)) = part.split_once(':') else {
            return Err(format!(
                "`{part}` has no share, and others of `{text}` have one; write it like 8K:70+64K:30"
            ));
        };
        let digits = weight.trim().trim_end_matches('%').trim_end();
        let share = digits
            .parse()
            .ok()
            .filter(|share| (1..=100).contains(share));
        let share: u32 = share.ok_or_else(|| {
            format!("`{part}` needs a share from 1 to 100; write it like 8K:70+64K:30")
        })?;
        sum += u64::from(share);
        sizes.push((super::sizes::request(size)?, share));
    }
    match sum {
        100 => Ok(Sizes(sizes)),
        _ => Err(format!(
            "the shares of `{text}` come to {sum}, not to 100; write them like 8K:70+64K:30"
        )),
    }
}

/// `random`, `sequential`, `strided:64K`, and their short names.
pub(super) fn pattern(text: &str) -> Result<Pattern, String> {
    let lower = text.trim().to_ascii_lowercase();
    match (lower.as_str(), lower.split_once(':')) {
        ("random" | "rand" | "rnd", _) => Ok(Pattern::Random),
        ("sequential" | "seq", _) => Ok(Pattern::Sequential),
        (_, Some(("strided" | "stride", stride))) => {
            super::sizes::stride(stride).map(Pattern::Strided)
        }
        _ => Err(format!(
            "`{text}` is not an access pattern; expected random, sequential, or strided with the distance between requests, such as strided:64K"
        )),
    }
}

/// The mixes with the pattern of each: that of its word, or those that were asked for.
///
/// A word that names another pattern than the one that was asked for is refused: one of the two was not meant.
pub(crate) fn streams(mixes: &[Mix], asked: &[Pattern]) -> Result<Vec<(Percent, Pattern)>, String> {
    let mut out = Vec::new();
    for mix in mixes {
        match (mix.pattern, asked) {
            (Some(pattern), []) => out.push((mix.reads, pattern)),
            (Some(pattern), asked) if *asked == [pattern] => out.push((mix.reads, pattern)),
            (Some(pattern), _) => {
                let word = |pattern| match pattern {
                    Pattern::Random => "random",
                    Pattern::Sequential => "sequential",
                    _ => "strided",
                };
                let others: Vec<&str> = asked.iter().map(|one| word(*one)).collect();
                return Err(format!(
                    "--rw asks for {} requests and --pattern for {}; leave one of them out",
                    word(pattern),
                    others.join(",")
                ));
            }
            (None, []) => out.push((mix.reads, Pattern::Random)),
            (None, asked) => out.extend(asked.iter().map(|pattern| (mix.reads, *pattern))),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kib(n: u64) -> Unit {
        Unit::new(n << 10).expect("not zero")
    }

    #[test]
    fn shares_of_sizes_come_to_100() {
        assert_eq!(
            sizes("8K:70+64K:30"),
            Ok(Sizes(vec![(kib(8), 70), (kib(64), 30)]))
        );
        assert_eq!(sizes("8K"), Ok(Sizes(vec![(kib(8), 1)])));
        assert_eq!(sizes("8K+64K"), Ok(Sizes(vec![(kib(8), 1), (kib(64), 1)])));
        assert_eq!(
            sizes("8K:70+64K:40"),
            Err("the shares of `8K:70+64K:40` come to 110, not to 100; write them like 8K:70+64K:30".to_owned())
        );
        for text in [
            "",
            "8K:",
            "8K:0",
            "8K+",
            "1G",
            "8K:70,64K",
            "8K:70+64K",
            "8K:7+64K:3",
        ] {
            sizes(text).expect_err(text);
        }
    }

    #[test]
    fn mixes_are_read_as_fio_and_people_write_them() {
        let reads = |text| mix(text).map(|mix| mix.reads);
        let seventy = Percent::new(70).expect("a share");
        for text in ["70/30", "70:30", "70%/30%", " 70 / 30 "] {
            assert_eq!(reads(text), Ok(seventy), "{text}");
        }
        let random = |reads| {
            Ok(Mix {
                reads,
                pattern: Some(Pattern::Random),
            })
        };
        assert_eq!(mix("randread"), random(Percent::ALL));
        assert_eq!(mix("RandWrite"), random(Percent::NONE));
        assert_eq!(mix("randrw"), random(Percent::new(50).expect("a share")));
        assert_eq!(
            mix("70/40"),
            Err(
                "the shares of `70/40` come to 110, not to 100; expected 70/30 or 60/40".to_owned()
            )
        );
        assert_eq!(
            mix("70"),
            Err(
                "`70` is one share of two; it could be 70/30 (70% reads) or 30/70 (70% writes)"
                    .to_owned()
            )
        );
        for text in ["101/-1", "reading", "/", "rw", "4294967295/4294967295"] {
            mix(text).expect_err(text);
        }
    }

    #[test]
    fn patterns_have_short_names() {
        assert_eq!(pattern("seq"), Ok(Pattern::Sequential));
        assert_eq!(pattern("Random"), Ok(Pattern::Random));
        assert_eq!(pattern("strided:64K"), Ok(Pattern::Strided(kib(64))));
        for text in [
            "",
            "strided",
            "strided:",
            "strided:0",
            "strided:64",
            "random:4K",
        ] {
            pattern(text).expect_err(text);
        }
    }

    #[test]
    fn a_word_that_names_a_pattern_has_it() {
        let word = mix("randread").expect("fio's");
        let plain = mix("read").expect("ours");
        assert_eq!(
            streams(&[word, plain], &[]),
            Ok(vec![(Percent::ALL, Pattern::Random); 2])
        );
        assert_eq!(
            streams(&[plain], &[Pattern::Sequential, Pattern::Random]).map(|s| s.len()),
            Ok(2)
        );
        assert_eq!(
            streams(&[word], &[Pattern::Sequential]),
            Err(
                "--rw asks for random requests and --pattern for sequential; leave one of them out"
                    .to_owned()
            )
        );
    }

    #[test]
    fn percentages_are_what_can_be_meant() {
        assert_eq!(percent("0.5%"), Ok(0.005));
        assert_eq!(percent("1"), Ok(0.01));
        assert_eq!(tolerance("0%"), Ok(0.0));
        assert_eq!(tolerance("400%"), Ok(4.0));
        assert_eq!(
            percent("0.05"),
            Err("`0.05` has no unit; as a percentage it could be 0.05% or 5%".to_owned())
        );
        for text in ["0%", "0", "101%", "nan%", "%", "5 apples"] {
            percent(text).expect_err(text);
        }
        tolerance("1001%").expect_err("too much");
    }
}
