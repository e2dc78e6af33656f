//! How workloads and figures are written, the same in every table.

use std::time::Duration;

use straddle_bench::plan::Plan;
use straddle_bench::results::{CellResult, Experiment, Gain, OffsetResult};
use straddle_geometry::Bytes;
use straddle_workload::interval::{Interval, Verdict};
use straddle_workload::{Pattern, Percent, Workload};

/// Cells that differ in nothing but threads and outstanding requests: what one table shows.
pub(crate) struct Group<'a> {
    /// `8 KiB random, reads only`.
    pub(crate) title: String,
    /// Indices of the cells in the plan, in its order.
    pub(crate) cells: Vec<usize>,
    /// One of the workloads.
    pub(crate) workload: &'a Workload,
}

impl Group<'_> {
    /// True when some cell of it has a run.
    pub(crate) fn is_measured(&self, experiment: &Experiment) -> bool {
        let offsets = experiment.plan.offsets.len();
        let mut cells = self.cells.iter();
        cells.any(|cell| (0..offsets).any(|o| delivered(experiment, *cell, o).is_some()))
    }
}

/// The groups of a plan, in the order in which they first come.
pub(crate) fn groups(plan: &Plan) -> Vec<Group<'_>> {
    let mut out: Vec<Group<'_>> = Vec::new();
    for (index, workload) in plan.cells.iter().enumerate() {
        match out.iter_mut().find(|group| alike(group.workload, workload)) {
            Some(group) => group.cells.push(index),
            None => out.push(Group {
                title: String::new(),
                cells: vec![index],
                workload,
            }),
        }
    }
    for group in &mut out {
        let names = group.cells.iter().filter_map(|cell| plan.name(*cell));
        group.title = titled(names, title(group.workload));
    }
    out
}

/// A title behind the names of its cells, where they have any: `oltp: 8 KiB random, 70% reads`.
pub(crate) fn titled<'a>(names: impl Iterator<Item = &'a str>, title: String) -> String {
    let names: Vec<&str> = names.collect();
    match names.as_slice() {
        [] => title,
        names => format!("{}: {title}", names.join(", ")),
    }
}

/// A cell by itself: `oltp: 8 KiB random, 70% reads`.
pub(crate) fn title_of(plan: &Plan, cell: usize) -> String {
    let title = plan.cells.get(cell).map(title).unwrap_or_default();
    titled(plan.name(cell).into_iter(), title)
}

/// True for workloads that differ in nothing but threads and outstanding requests.
fn alike(a: &Workload, b: &Workload) -> bool {
    let same_load = Workload {
        workers: b.workers,
        outstanding: b.outstanding,
        ..a.clone()
    };
    same_load == *b
}

/// What is asked for, without how much at once: `8 KiB random, 70% reads`.
pub(crate) fn title(workload: &Workload) -> String {
    let mix = match workload.reads {
        Percent::ALL => "reads only".to_owned(),
        Percent::NONE => "writes only".to_owned(),
        share => format!("{}% reads", share.get()),
    };
    let mut out = format!("{} {}, {mix}", sizes(workload), workload.pattern);
    if !workload.think.is_zero() {
        out.push_str(&format!(", {} of think time", short_time(workload.think)));
    }
    if let Some(rate) = workload.rate {
        out.push_str(&format!(", {}/s offered", rate_text(rate)));
    }
    out
}

/// `8 KiB`, or `75% 8 KiB and 25% 64 KiB`.
pub(crate) fn sizes(workload: &Workload) -> String {
    if let [(size, _)] = workload.sizes.as_slice() {
        return size.to_string();
    }
    if matches!(workload.pattern, Pattern::Recorded(_)) {
        let least = workload.sizes.iter().map(|(size, _)| *size).min();
        return least.map_or_else(String::new, |least| {
            format!("{least} to {}", workload.largest())
        });
    }
    let all: u64 = workload.sizes.iter().map(|(_, n)| u64::from(*n)).sum();
    let share = |n: u32| (u64::from(n) * 100 + all / 2).checked_div(all).unwrap_or(0);
    let parts = workload.sizes.iter();
    let parts: Vec<String> = parts.map(|(s, n)| format!("{}% {s}", share(*n))).collect();
    list(&parts)
}

/// `random`, `strided:65536`, for programs.
pub(crate) fn pattern(pattern: Pattern) -> String {
    match pattern {
        Pattern::Random | Pattern::Sequential => pattern.to_string(),
        Pattern::RandomEvery(step) => format!("random:{}", step.get()),
        Pattern::Strided(stride) => format!("strided:{}", stride.get()),
        Pattern::Columns(row) => format!("columns:{}", row.get()),
        Pattern::Recorded(_) => "recorded".to_owned(),
    }
}

/// Threads and what each keeps under way: `8 × 32`.
pub(crate) fn load(workload: &Workload) -> String {
    format!("{} × {}", workload.workers, workload.outstanding)
}

/// The result of a cell, `None` where it was not reached.
pub(crate) fn cell(experiment: &Experiment, index: usize) -> Option<&CellResult> {
    experiment.cells.get(index)
}

/// What an offset delivered, `None` where it had no run.
pub(crate) fn delivered(
    experiment: &Experiment,
    index: usize,
    offset: usize,
) -> Option<&OffsetResult> {
    let result = cell(experiment, index)?.offsets.get(offset)?;
    (result.runs > 0).then_some(result)
}

/// The name of an offset of the plan.
pub(crate) fn offset_name(plan: &Plan, offset: usize) -> &str {
    plan.offsets.get(offset).map_or("?", |o| o.name.as_str())
}

/// `A` for the first class.
pub(crate) fn class(number: usize) -> String {
    let letter = u8::try_from(number).ok().filter(|n| *n < 26);
    letter.map_or_else(|| number.to_string(), |n| char::from(b'A' + n).to_string())
}

/// What a gain means, in words: `faster by 2.3% (1.9 to 2.8)`.
pub(crate) fn verdict(gain: &Gain) -> String {
    verdict_of(gain.verdict, gain.ratio)
}

/// The same of a verdict by itself.
pub(crate) fn verdict_of(verdict: Verdict, ratio: Option<Interval>) -> String {
    match (verdict, ratio) {
        (Verdict::Faster, Some(ratio)) => format!("faster by {}", range(ratio, 1.0)),
        (Verdict::Slower, Some(ratio)) => format!("slower by {}", range(ratio, -1.0)),
        (Verdict::Faster, None) => "faster".to_owned(),
        (Verdict::Slower, None) => "slower".to_owned(),
        (Verdict::NoDifferenceAbove(share), _) => {
            format!("no difference larger than {}", at_most(share))
        }
        (Verdict::NotEnoughEvidence, Some(ratio)) => {
            format!("{}: not enough evidence, run longer", self::gain(ratio))
        }
        (Verdict::NotEnoughEvidence, None) => "not enough evidence, run longer".to_owned(),
    }
}

/// A ratio as a gain, with its sign: `+2.3% (1.9 to 2.8)`.
pub(crate) fn gain(ratio: Interval) -> String {
    let sign = if percent(ratio.mean - 1.0, digits(ratio)).starts_with('−') {
        ""
    } else {
        "+"
    };
    format!("{sign}{}", range(ratio, 1.0))
}

/// `2.3% (1.9 to 2.8)`; with a `direction` of −1 the loss.
pub(crate) fn range(ratio: Interval, direction: f64) -> String {
    let digits = digits(ratio);
    let share = |of: f64| percent((of - 1.0) * direction, digits);
    let (mut low, mut high) = (share(ratio.low), share(ratio.high));
    if direction < 0.0 {
        std::mem::swap(&mut low, &mut high);
    }
    let low = low.trim_end_matches('%');
    let high = high.trim_end_matches('%');
    format!("{} ({low} to {high})", share(ratio.mean))
}

/// Decimals that an interval deserves: its half width has about two significant digits.
fn digits(ratio: Interval) -> usize {
    match (ratio.high - ratio.low) / 2.0 {
        // A multiple is not read to a hundredth of a percent.
        half if half < 0.000_5 && ratio.mean < 2.0 => 2,
        half if half < 0.1 => 1,
        _ => 0,
    }
}

/// A share in percent with a true minus and no `−0.0`.
pub(crate) fn percent(share: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", (share * 100.0).abs());
    let zero = text.chars().all(|c| matches!(c, '0' | '.'));
    let sign = if share < 0.0 && !zero { "−" } else { "" };
    format!("{sign}{text}%")
}

/// A share that was asked for, without idle decimals: `1%`, `0.5%`.
pub(crate) fn asked(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A share that is not exceeded, so rounded up: `0.7%`.
pub(crate) fn at_most(share: f64) -> String {
    // What a decimal fraction loses in binary must not push it to the next tenth.
    let tenths = (share * 1000.0 - 1e-9).ceil() / 10.0;
    format!("{tenths:.1}%")
}

/// A rate: whole with thousands separators; with one decimal below a hundred.
pub(crate) fn rate_text(rate: f64) -> String {
    if rate < 99.95 {
        return format!("{rate:.1}");
    }
    whole(rate)
}

/// A number rounded to a whole one, with thousands separators.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes the nearest integer there is; figures here are far smaller"
)]
pub(crate) fn whole(number: f64) -> String {
    Bytes::new(number.round() as u64).grouped().to_string()
}

/// A number with thousands separators and so many decimals.
pub(crate) fn decimals(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    let (before, after) = text.split_once('.').unwrap_or((&text, ""));
    let dot = if after.is_empty() { "" } else { "." };
    match before.parse() {
        Ok(before) => format!("{}{dot}{after}", Bytes::new(before).grouped()),
        Err(_) => text,
    }
}

/// A time as people say it: `250 ms`, `2.5 s`, `10 min`, `1 h 3 min`.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    let tenths = (time.as_millis() + 50) / 100;
    match seconds {
        0 => short_time(time),
        1..60 if tenths.is_multiple_of(10) => format!("{} s", tenths / 10),
        1..60 => format!("{}.{} s", tenths / 10, tenths % 10),
        60..3600 if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ if (seconds / 60).is_multiple_of(60) => format!("{} h", seconds / 3600),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// A time below a second in its own unit: `250 µs`.
fn short_time(time: Duration) -> String {
    let nanoseconds = time.as_nanos();
    let (size, unit) = match nanoseconds {
        0 => return "0 s".to_owned(),
        1..1_000 => (1.0, "ns"),
        1_000..1_000_000 => (1e3, "µs"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let text = format!("{:.1}", time.as_secs_f64() * 1e9 / size);
    format!("{} {unit}", text.trim_end_matches(".0"))
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, mean: f64, high: f64) -> Interval {
        Interval { mean, low, high }
    }

    #[test]
    fn gains_have_the_digits_that_their_interval_deserves() {
        assert_eq!(gain(interval(1.019, 1.023, 1.028)), "+2.3% (1.9 to 2.8)");
        assert_eq!(gain(interval(0.972, 0.977, 0.981)), "−2.3% (−2.8 to −1.9)");
        assert_eq!(gain(interval(0.997, 0.999_9, 1.003)), "+0.0% (−0.3 to 0.3)");
        assert_eq!(
            gain(interval(1.0228, 1.023, 1.0232)),
            "+2.30% (2.28 to 2.32)"
        );
        assert_eq!(gain(interval(0.8, 1.0, 1.25)), "+0% (−20 to 25)");
    }

    #[test]
    fn verdicts_are_words() {
        let gain = |verdict, ratio| Gain {
            offset: 1,
            ratio,
            p: None,
            p_adjusted: None,
            verdict,
        };
        let faster = Some(interval(1.019, 1.023, 1.028));
        let slower = Some(interval(0.972, 0.977, 0.981));
        assert_eq!(
            verdict(&gain(Verdict::Faster, faster)),
            "faster by 2.3% (1.9 to 2.8)"
        );
        assert_eq!(
            verdict(&gain(Verdict::Slower, slower)),
            "slower by 2.3% (1.9 to 2.8)"
        );
        assert_eq!(
            verdict(&gain(Verdict::NoDifferenceAbove(0.006_1), slower)),
            "no difference larger than 0.7%"
        );
        assert_eq!(
            verdict(&gain(Verdict::NoDifferenceAbove(0.007), None)),
            "no difference larger than 0.7%"
        );
        assert_eq!(
            verdict(&gain(Verdict::NotEnoughEvidence, None)),
            "not enough evidence, run longer"
        );
    }

    #[test]
    fn times_and_rates_are_short() {
        assert_eq!(time(Duration::from_millis(250)), "250 ms");
        assert_eq!(time(Duration::from_micros(2_500)), "2.5 ms");
        assert_eq!(time(Duration::from_secs(10)), "10 s");
        assert_eq!(time(Duration::from_millis(2_540)), "2.5 s");
        assert_eq!(time(Duration::from_secs(600)), "10 min");
        assert_eq!(time(Duration::from_secs(3_780)), "1 h 3 min");
        assert_eq!(rate_text(24_812.4), "24,812");
        assert_eq!(rate_text(12.34), "12.3");
        assert_eq!(rate_text(99.96), "100");
        assert_eq!(decimals(2081.44, 1), "2,081.4");
        assert_eq!(decimals(7.6, 0), "8");
        assert_eq!(asked(0.01), "1%");
        assert_eq!(asked(0.005), "0.5%");
    }
}
