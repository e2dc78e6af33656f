//! `bench`: what each offset delivered.

mod figures;
mod read;

use straddle_workload::Workload;

pub(crate) use read::Document;

use super::block::{Block, Section};
use super::measure::{Measure, Spread, Summary};
use super::read::{Interval, Latency, Layer, Verdict};
use crate::bench::wording::{gain, load, percent, rate_text, title, titled};
use read::{Delivered, Sample, Setting, Side};

/// A direction of requests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Reads,
    Writes,
}

impl Way {
    const BOTH: [Way; 2] = [Way::Reads, Way::Writes];

    const fn name(self) -> &'static str {
        match self {
            Way::Reads => "reads",
            Way::Writes => "writes",
        }
    }

    fn rate(self, of: &Delivered) -> f64 {
        match self {
            Way::Reads => of.reads_per_second,
            Way::Writes => of.writes_per_second,
        }
    }

    fn latency(self, of: &Delivered) -> Option<Latency> {
        match self {
            Way::Reads => of.read_latency,
            Way::Writes => of.write_latency,
        }
    }

    fn side(self, of: &Sample) -> &Side {
        match self {
            Way::Reads => &of.reads,
            Way::Writes => &of.writes,
        }
    }
}

/// An experiment with its workloads in groups that differ in nothing but their load.
struct Experiment<'a> {
    document: &'a Document,
    workloads: Vec<Workload>,
    /// Title and cells.
    groups: Vec<(String, Vec<usize>)>,
}

/// An experiment in short.
pub(crate) fn summary(document: &Document) -> Summary {
    let experiment = Experiment::new(document);
    let Setting {
        began_unix_seconds,
        machine,
        ..
    } = &document.setting;
    Summary {
        began: *began_unix_seconds,
        machine: Some(machine.host.clone()),
        measures: experiment.measures(),
        facts: experiment
            .facts()
            .into_iter()
            .filter(|(name, _)| !matches!(name.as_str(), "began" | "runs"))
            .chain(document.setting.stack.iter().flatten().map(Layer::fact))
            .collect(),
        ..Summary::default()
    }
}

/// The section of an experiment.
pub(crate) fn section(document: &Document) -> Section {
    let experiment = Experiment::new(document);
    let mut section = Section::new("bench", &document.setting.target);
    (section.answer, section.tone) = experiment.answer();
    section.blocks.push(Block::Facts(experiment.facts()));
    for warning in &document.warnings {
        section.text(format!("Warning: {} {}", warning.cause, warning.advice));
    }
    section.blocks.extend(experiment.gains().map(Block::Figure));
    for (title, cells) in &experiment.groups {
        section.heading(title);
        let figures = Way::BOTH
            .into_iter()
            .filter_map(|way| experiment.rates(title, cells, way));
        section.blocks.extend(figures.map(Block::Figure));
        let figures = Way::BOTH
            .into_iter()
            .filter_map(|way| experiment.saturation(title, cells, way));
        section.blocks.extend(figures.map(Block::Figure));
        for cell in experiment.telling(cells) {
            let figures = Way::BOTH
                .into_iter()
                .filter_map(|way| experiment.percentiles(title, cell, way));
            section.blocks.extend(figures.map(Block::Figure));
        }
    }
    section
        .blocks
        .extend(experiment.over_time().map(Block::Figure));
    section.table(experiment.drift());
    section
}

impl<'a> Experiment<'a> {
    fn new(document: &'a Document) -> Experiment<'a> {
        let workloads: Vec<Workload> = document.plan.cells.iter().map(Workload::from).collect();
        let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
        for (index, workload) in workloads.iter().enumerate() {
            let title = title(workload);
            match groups.iter_mut().find(|(other, _)| *other == title) {
                Some((_, cells)) => cells.push(index),
                None => groups.push((title, vec![index])),
            }
        }
        for (title, cells) in &mut groups {
            let names = cells
                .iter()
                .filter_map(|cell| document.plan.names.get(*cell));
            *title = titled(names.map(String::as_str), std::mem::take(title));
        }
        Experiment {
            document,
            workloads,
            groups,
        }
    }

    /// A cell's name, where it has one, and what it asks for.
    pub(super) fn title(&self, cell: usize) -> String {
        let name = self.document.plan.names.get(cell).map(String::as_str);
        let title = self.workloads.get(cell).map(title).unwrap_or_default();
        titled(name.into_iter(), title)
    }

    fn measures(&self) -> Vec<Measure> {
        let mut out = Vec::new();
        for (index, cell) in self.document.cells.iter().enumerate() {
            let workload = self.title(index);
            for offset in 0..cell.offsets.len() {
                let Some(delivered) = self.delivered(index, offset) else {
                    continue;
                };
                let what = format!("{workload}, {}, {}", self.load(index), self.offset(offset));
                let samples = self.document.samples.iter();
                let runs = samples.filter(|s| s.cell == index && s.offset == offset);
                let rates: Vec<f64> = runs.map(|s| s.requests_per_second).collect();
                let rate = delivered.reads_per_second + delivered.writes_per_second;
                let spread = Spread::Runs(rates);
                out.push(Measure::new(
                    what.clone(),
                    "requests each second",
                    true,
                    rate,
                    spread,
                ));
                for (way, quantity) in [
                    (Way::Reads, "99% of read latencies, ms"),
                    (Way::Writes, "99% of write latencies, ms"),
                ] {
                    if let Some(latency) = way.latency(delivered) {
                        let value = seconds(latency.p99_nanoseconds) * 1e3;
                        out.push(Measure::new(
                            what.clone(),
                            quantity,
                            false,
                            value,
                            Spread::Unknown,
                        ));
                    }
                }
                let gain = cell.gains.iter().find(|gain| gain.offset == offset);
                if let Some(ratio) = gain.and_then(|gain| gain.ratio) {
                    let spread = Spread::Between(ratio.low, ratio.high);
                    out.push(Measure::new(
                        what,
                        "gain over the first offset, ×",
                        true,
                        ratio.mean,
                        spread,
                    ));
                }
            }
        }
        out
    }

    fn offset(&self, index: usize) -> &str {
        self.document
            .plan
            .offsets
            .get(index)
            .map_or("?", |offset| offset.name.as_str())
    }

    fn load(&self, cell: usize) -> String {
        self.workloads.get(cell).map(load).unwrap_or_default()
    }

    /// Cells whose latencies are drawn: of many the first, the knee of the baseline or the middle, and the last.
    fn telling(&self, cells: &[usize]) -> Vec<usize> {
        let (Some(first), Some(last)) = (cells.first(), cells.last()) else {
            return Vec::new();
        };
        if cells.len() <= 3 {
            return cells.to_vec();
        }
        let knees = self.document.knees.iter().filter(|knee| knee.offset == 0);
        let knee = knees
            .filter_map(|knee| knee.cells.get(knee.at?))
            .find(|cell| cells.contains(cell));
        let middle = knee.or_else(|| cells.get(cells.len() / 2)).unwrap_or(first);
        let mut out = vec![*first, *middle, *last];
        out.dedup();
        out
    }

    /// What an offset delivered in a cell, where it had a run.
    fn delivered(&self, cell: usize, offset: usize) -> Option<&Delivered> {
        let delivered = self.document.cells.get(cell)?.offsets.get(offset)?;
        (delivered.runs > 0).then_some(delivered)
    }

    /// The largest proven gain, the largest proven loss, or that none is proven.
    fn answer(&self) -> (String, &'static str) {
        let cells = self.document.cells.iter().enumerate();
        let all = cells.flat_map(|(index, cell)| cell.gains.iter().map(move |gain| (index, gain)));
        let proven = all.clone().filter_map(|(index, one)| match one.verdict {
            Verdict::Faster | Verdict::Slower => Some((index, one, one.ratio?)),
            _ => None,
        });
        let base = self.offset(0);
        let far = |ratio: &Interval| (ratio.mean - 1.0).abs();
        let Some((index, one, ratio)) = proven.max_by(|a, b| far(&a.2).total_cmp(&far(&b.2)))
        else {
            let wide = all
                .clone()
                .any(|(_, one)| matches!(one.verdict, Verdict::NotEnoughEvidence));
            return if self.document.cells.is_empty() || all.clone().next().is_none() {
                ("No offset was compared with another.".to_owned(), "open")
            } else if wide {
                (
                    format!(
                        "No difference to {base} is proven, and not every interval is narrow enough to exclude one (measured)."
                    ),
                    "open",
                )
            } else {
                (
                    format!(
                        "No offset differs from {base} by more than the precision asked for, {} (measured).",
                        percent(self.document.plan.precision, 1)
                    ),
                    "good",
                )
            };
        };
        let workload = self.title(index);
        (
            format!(
                "{} delivers {} beside {base} (measured): {workload}, {}.",
                self.offset(one.offset),
                gain(ratio.into()),
                self.load(index)
            ),
            if ratio.mean > 1.0 { "bad" } else { "good" },
        )
    }

    fn facts(&self) -> Vec<(String, String)> {
        let Document {
            setting, samples, ..
        } = self.document;
        let end = match &self.document.end {
            serde_json::Value::String(word) => word.replace('_', " "),
            other => other.to_string(),
        };
        let fact = |name: &str, value: String| (name.to_owned(), value);
        vec![
            fact("began", setting.began.clone()),
            fact(
                "machine",
                format!(
                    "{}, {}, {}",
                    setting.machine.host, setting.machine.system, setting.machine.processors
                ),
            ),
            fact(
                "target",
                format!("{} ({})", setting.target, setting.medium.replace('_', " ")),
            ),
            fact("engine", setting.engine.name.clone()),
            fact("runs", format!("{}, ended: {end}", samples.len())),
            fact("version", setting.machine.version.clone()),
        ]
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a latency, of which three digits are shown"
)]
fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// A time in the unit that suits it, with three digits.
pub(crate) fn time(seconds: f64) -> String {
    let (figure, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s if s > 0.0 => (s * 1e6, "µs"),
        _ => return "0".to_owned(),
    };
    let digits = match figure {
        f if f >= 99.95 => 0,
        f if f >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{figure:.digits$}");
    let text = if digits > 0 {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text} {unit}")
}

fn one_in(rarity: f64) -> String {
    rate_text(rarity.round()).trim_end_matches(".0").to_owned()
}

pub(crate) fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars
        .next()
        .map(|c| c.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}
