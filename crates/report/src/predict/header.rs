//! What was simulated, and where each figure comes from.

use std::fmt::Write;

use straddle_geometry::{Bytes, both_ways};
use straddle_predict::design::Comparison;
use straddle_predict::experiment::Unsettled;
use straddle_predict::outline::{Place, Taken};
use straddle_predict::prediction::{Prediction, Question};
use straddle_predict::profile::{Origin, Profile};
use straddle_predict::sensitivity::tells;
use straddle_predict::study::registry::known_as;
use straddle_rules::figures::counted;
use straddle_workload::Workload;

use super::profile::{figure, path};
use super::words::asked as workload;
use crate::bench::wording::{asked, decimals, list, load, percent, sizes};
use crate::escape::terminal;
use crate::text::page::folded;
use crate::text::style::{STRONG, paint};

/// Column at which the text behind a name begins.
const MARGIN: usize = 11;
/// Most figures that are named.
const NAMED: usize = 12;

/// Writes lines with a name before them.
struct Lines<'a> {
    width: usize,
    out: &'a mut String,
}

impl Lines<'_> {
    fn line(&mut self, name: &str, text: &str) {
        let text = terminal(text);
        for (index, part) in folded(&text, self.width - MARGIN).iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            let padding = " ".repeat(MARGIN.saturating_sub(name.len()));
            let _ = writeln!(self.out, "{}{padding}{part}", paint(STRONG, name));
        }
    }
}

/// Writes a line or two for each fact.
pub(super) fn render(prediction: &Prediction, width: usize, out: &mut String) {
    let question = &prediction.question;
    let mut lines = Lines { width, out };
    if let Some((place, taken)) = &prediction.place {
        lines.line("partition", &partition(place));
        stack(&mut lines, taken);
    }
    system(&mut lines, &question.profile);
    for missed in &prediction.missed {
        let text = format!(
            "out of tolerance in {} of study {} ({}): {}",
            counted(missed.cells.len(), "cell"),
            known_as(&missed.study),
            few(&missed.cells),
            missed.why.join("; ")
        );
        lines.line("beware", &text);
    }
    if let Some(through) = prediction.written_through {
        let times = |ratio: f64| decimals(ratio, 2);
        let mut of = question.clone();
        of.workload.reads = through.reads;
        let whose = match through.reads == question.workload.reads {
            true => "as many requests as now".to_owned(),
            false => workload(&of),
        };
        let text = format!(
            "written through the cache, {whose} would come to {} times the rate ({} to {}): the destages that may be \
             under way at once (cache.destages) keep members idle. What tells how many there are: {}",
            times(through.rate.mean),
            times(through.rate.low),
            times(through.rate.high),
            tells("cache.destages")
        );
        lines.line("beware", &text);
    }
    lines.line("workload", &explained(question, workload(question)));
    lines.line("offsets", &offsets(question));
    if let Some(span) = question.span {
        let text = format!("{} behind each offset", about(span));
        lines.line("span", &text);
    }
    let trials = &prediction.trials;
    lines.line("simulated", &simulated(question, trials));
}

/// The same of a comparison.
pub(super) fn compared(
    question: &Question,
    comparison: &Comparison,
    width: usize,
    out: &mut String,
) {
    let mut lines = Lines { width, out };
    // Complete, so that what is assumed because nobody says is named too.
    match question.profile.complete() {
        Ok(profile) => system(&mut lines, &profile),
        Err(_) => system(&mut lines, &question.profile),
    }
    lines.line(
        "workload",
        &explained(question, varied(question, comparison)),
    );
    lines.line("offsets", &offsets(question));
    let axes = comparison.axes.iter();
    let axes: Vec<String> = axes
        .map(|axis| format!("{} {}", axis.key, list(&axis.values)))
        .collect();
    let mut axes = axes.join("; ");
    let varied = comparison.variants.first().map(|variant| &variant.profile);
    if let Some(piece) = varied.and_then(pieces) {
        let _ = write!(axes, "; files are in pieces of {piece} (assumed)");
    }
    lines.line("compared", &axes);
    let spans = comparison.spans.iter();
    if let (Some(least), Some(most)) = (spans.clone().min(), spans.max()) {
        let text = match least == most {
            true => format!("{} behind each offset", about(*least)),
            false => format!(
                "{} to {} behind each offset, all that each holds; give --size for the same of each",
                about(*least),
                about(*most)
            ),
        };
        lines.line("span", &text);
    }
    lines.line("simulated", &simulated(question, &comparison.trials));
}

/// `A, B and C`, or `A to Z`.
fn few(names: &[String]) -> String {
    match names {
        [first, .., last] if names.len() > 4 => format!("{first} to {last}"),
        few => list(few),
    }
}

/// Says what `8 × 32` is, once.
fn explained(question: &Question, text: String) -> String {
    match question.workload.rate {
        _ if question.script.is_some() => text,
        Some(_) => text,
        None if text.ends_with(&concurrency(&question.workload)) => {
            text + " (threads × requests that each keeps under way)"
        }
        None => text,
    }
}

/// Bytes of a file's pieces where they are assumed.
fn pieces(profile: &Profile) -> Option<String> {
    let mut figures = profile.figures();
    let is_it = |model: &str, key: &str| (model, key) == ("blocks", "fragment");
    let (_, key, found) = figures.find(|(model, key, _)| is_it(model.section, key.name))?;
    found.origin.is_assumed().then(|| figure(key, found))
}

/// The workload, without the request size and the concurrency where these vary.
pub(super) fn varied(question: &Question, comparison: &Comparison) -> String {
    let text = workload(question);
    let varies = |keys: &[&str]| {
        let mut axes = comparison.axes.iter();
        axes.any(|axis| keys.contains(&axis.key.as_str()))
    };
    let asked = &question.workload;
    let mut rest = text.as_str();
    if varies(&["io"]) {
        rest = rest
            .strip_prefix(&sizes(asked))
            .unwrap_or(rest)
            .trim_start();
    }
    let stays = match (varies(&["threads"]), varies(&["outstanding"])) {
        (false, false) => return rest.to_owned(),
        (true, true) => String::new(),
        (true, false) => format!(", {} under way on each thread", asked.outstanding),
        (false, true) => format!(", {}", counted(asked.workers, "thread")),
    };
    rest = rest.strip_suffix(&concurrency(asked)).unwrap_or(rest);
    format!("{rest}{stays}")
}

/// How a closed loop's workload ends: `, 8 × 32`.
fn concurrency(asked: &Workload) -> String {
    format!(", {}", load(asked))
}

/// `42.9 GB (40.0 GiB)`: an amount, of which no digit is missed.
pub(super) fn about(bytes: Bytes) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let exact = bytes.get() as f64;
    let units = |units: [&'static str; 4], base: f64| {
        let mut value = exact / base;
        let mut unit = units[0];
        for larger in &units[1..] {
            if value < base {
                break;
            }
            (value, unit) = (value / base, larger);
        }
        let digits = match value {
            v if v < 10.0 => 2,
            v if v < 100.0 => 1,
            _ => 0,
        };
        format!("{} {unit}", decimals(value, digits))
    };
    if exact < 1e6 {
        return bytes.to_string();
    }
    let (decimal, binary) = (
        units(["kB", "MB", "GB", "TB"], 1e3),
        units(["KiB", "MiB", "GiB", "TiB"], 1024.0),
    );
    format!("{decimal} ({binary})")
}

fn partition(place: &Place) -> String {
    let mut text = format!(
        "{}: begins at {} ({})",
        place.path(),
        both_ways(place.offset.value),
        place.offset.from
    );
    if let Some(length) = &place.length {
        let _ = write!(text, ", {} long", length.value.rounded());
    }
    if let Some(filesystem) = &place.filesystem {
        let _ = write!(text, ", {filesystem}");
    }
    if let Some(unit) = &place.allocation_unit {
        let _ = write!(text, " with allocation units of {}", unit.value);
    }
    text
}

fn stack(lines: &mut Lines<'_>, taken: &[Taken]) {
    let used = |taken: &&Taken| taken.refused.is_none();
    let said: Vec<String> = taken
        .iter()
        .filter(used)
        .map(|taken| format!("{} = {} ({})", taken.path, taken.value, taken.from))
        .collect();
    let text = match said.is_empty() {
        true => "nothing but the offset: what the stack says of the array is not known".to_owned(),
        false => said.join("; "),
    };
    lines.line("stack", &text);
    for taken in taken {
        let Some(why) = &taken.refused else { continue };
        let text = format!(
            "{} = {} ({}) is left out: {why}",
            taken.path, taken.value, taken.from
        );
        lines.line("", &text);
    }
}

fn system(lines: &mut Lines<'_>, profile: &Profile) {
    lines.line("profile", &format!("{}: {}", profile.name, profile.title));
    let figures = || profile.figures();
    let of = |is: fn(&Origin) -> bool| figures().filter(move |(_, _, f)| is(&f.origin)).count();
    let parts: Vec<String> = [
        (of(|o| matches!(o, Origin::Source(_))), "published"),
        (of(|o| matches!(o, Origin::Computed(_))), "computed"),
        (of(|o| matches!(o, Origin::Fitted(_))), "fitted"),
        (of(|o| matches!(o, Origin::Stack(_))), "from the stack"),
        (of(|o| matches!(o, Origin::Flag)), "given by flags"),
        (of(Origin::is_assumed), "assumed"),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, how)| format!("{n} {how}"))
    .collect();
    let figures_text = counted(figures().count(), "figure");
    lines.line("", &format!("{figures_text}: {}", list(&parts)));
    let flags = figures().filter(|(_, _, figure)| figure.origin == Origin::Flag);
    let flags: Vec<String> = flags
        .map(|(model, key, f)| format!("{} = {}", path(model, key), figure(key, f)))
        .collect();
    if !flags.is_empty() {
        lines.line("flags", &flags.join(", "));
    }
    let assumed = figures().filter(|(_, _, figure)| figure.origin.is_assumed());
    let mut assumed: Vec<String> = assumed
        .map(|(model, key, f)| format!("{} = {}", path(model, key), figure(key, f)))
        .collect();
    let more = assumed.len().saturating_sub(NAMED);
    assumed.truncate(NAMED);
    if more > 0 {
        assumed.push(format!(
            "{more} more (straddle profile show {})",
            profile.name
        ));
    }
    if !assumed.is_empty() {
        lines.line("assumed", &assumed.join(", "));
    }
}

fn offsets(question: &Question) -> String {
    let offset = |offset: &straddle_workload::offset::Offset| match offset.name.parse::<Bytes>() {
        Ok(_) => offset.name.clone(),
        Err(_) => format!("{} ({})", offset.name, offset.bytes),
    };
    let names: Vec<String> = question.offsets.iter().map(offset).collect();
    match names.len() {
        0 | 1 => format!("{}; there is nothing to compare it with", names.join("")),
        _ => format!("{}; the first is the baseline", names.join(", ")),
    }
}

fn simulated(question: &Question, trials: &straddle_predict::experiment::Trials) -> String {
    let effort = question.effort;
    let grouped = |n: u64| Bytes::new(n).grouped();
    let within = asked(effort.precision);
    let wider = if trials.replicates < effort.most {
        format!("every interval of a gain is within ±{within}")
    } else {
        format!("the most that were allowed; intervals may be wider than ±{within}")
    };
    let longer = if trials.length.measured > effort.requests {
        ", more than asked for until they were a steady state"
    } else {
        ""
    };
    let mut text = format!(
        "{} of {} requests for each offset{longer}, each after {} of warm-up; {wider}; seed {}",
        counted(trials.replicates, "replicate"),
        grouped(trials.length.measured),
        grouped(trials.length.warm_up),
        effort.seed
    );
    let pairs = question.offsets.iter().zip(&trials.cases);
    for (offset, case) in pairs {
        let why = match &case.unsettled {
            None => continue,
            Some(Unsettled::Store(what, drift)) => format!(
                "{what} grow by {} of what passes through them",
                percent(*drift, 1)
            ),
            Some(Unsettled::Halves(ratio)) => format!(
                "the second half of the count has {} of the rate of the first",
                percent(*ratio, 1)
            ),
        };
        text.push_str(&format!(
            ". No steady state at {}, so no verdict: {why}; run longer with --requests",
            terminal(&offset.name)
        ));
    }
    text
}
