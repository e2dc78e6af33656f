//! `bench`: what each offset delivered.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use straddle_workload::Workload;
use straddle_workload::histogram::Latencies;
use straddle_workload::interval::Verdict as Proof;

use super::block::{Block, Figure, Section, Series, Table};
use super::chart::{Lines, Panel, Point, Row, Track, length, round};
use super::measure::{Measure, Spread, Summary};
use super::read::{Interval, Latency, Layer, Verdict, Workload as WorkloadIn};
use crate::bench::picture;
use crate::bench::wording::{gain, load, percent, rate_text, title, verdict_of};

/// What a page needs of an experiment.
#[derive(Deserialize)]
pub(crate) struct Document {
    plan: Plan,
    setting: Setting,
    end: serde_json::Value,
    #[serde(default)]
    cells: Vec<Cell>,
    #[serde(default)]
    knees: Vec<Knee>,
    #[serde(default)]
    warnings: Vec<Warning>,
    #[serde(default)]
    samples: Vec<Sample>,
}

#[derive(Deserialize)]
struct Plan {
    cells: Vec<WorkloadIn>,
    offsets: Vec<Offset>,
    precision: f64,
}

#[derive(Deserialize)]
struct Offset {
    name: String,
}

#[derive(Deserialize)]
struct Setting {
    target: String,
    medium: String,
    began: String,
    began_unix_seconds: Option<f64>,
    stack: Option<Vec<Layer>>,
    engine: Engine,
    machine: Machine,
}

#[derive(Deserialize)]
struct Engine {
    name: String,
}

#[derive(Deserialize)]
struct Machine {
    host: String,
    system: String,
    processors: String,
    version: String,
}

#[derive(Deserialize)]
struct Cell {
    offsets: Vec<Delivered>,
    #[serde(default)]
    gains: Vec<Gain>,
    drift: Option<Drift>,
    noise_floor: Option<f64>,
}

#[derive(Deserialize)]
struct Delivered {
    runs: u32,
    reads_per_second: f64,
    writes_per_second: f64,
    least_per_second: f64,
    most_per_second: f64,
    read_latency: Option<Latency>,
    write_latency: Option<Latency>,
}

#[derive(Deserialize)]
struct Gain {
    offset: usize,
    ratio: Option<Interval>,
    verdict: Verdict,
}

#[derive(Deserialize)]
struct Drift {
    change: f64,
    p: f64,
    runs: u32,
}

#[derive(Deserialize)]
struct Knee {
    offset: usize,
    cells: Vec<usize>,
    at: Option<usize>,
}

#[derive(Deserialize)]
struct Warning {
    cause: String,
    advice: String,
}

#[derive(Deserialize)]
struct Sample {
    cell: usize,
    offset: usize,
    began_seconds: f64,
    took_seconds: f64,
    requests_per_second: f64,
    reads: Side,
    writes: Side,
    #[serde(default)]
    requests_per_tenth: Vec<u32>,
}

#[derive(Deserialize)]
struct Side {
    histogram_v2_base64: Option<String>,
}

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
        Experiment {
            document,
            workloads,
            groups,
        }
    }

    fn measures(&self) -> Vec<Measure> {
        let mut out = Vec::new();
        for (index, cell) in self.document.cells.iter().enumerate() {
            let workload = self.workloads.get(index).map(title).unwrap_or_default();
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
        let workload = self.workloads.get(index).map(title).unwrap_or_default();
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

    fn gains(&self) -> Option<Figure> {
        let base = self.offset(0);
        let mut table = Table::new(
            format!("Requests each second beside {base}"),
            &[
                "workload",
                "threads × outstanding",
                "offset",
                ">gain",
                ">from",
                ">to",
                "verdict",
            ],
        );
        let mut panels: Vec<Panel> = Vec::new();
        for (title, cells) in &self.groups {
            let mut rows: Vec<Row> = Vec::new();
            for index in cells {
                let Some(cell) = self.document.cells.get(*index) else {
                    continue;
                };
                let mut load = Some(self.load(*index));
                for one in &cell.gains {
                    let Some(ratio) = one.ratio else { continue };
                    let (ratio, verdict): (_, Proof) = (ratio.into(), one.verdict.into());
                    let offset = self.offset(one.offset);
                    rows.push(picture::row(
                        load.take(),
                        offset,
                        ratio,
                        verdict,
                        cell.noise_floor,
                    ));
                    table.row([
                        title.clone(),
                        self.load(*index),
                        offset.to_owned(),
                        percent(ratio.mean - 1.0, 2),
                        percent(ratio.low - 1.0, 2),
                        percent(ratio.high - 1.0, 2),
                        verdict_of(verdict, Some(ratio)),
                    ]);
                }
            }
            if !rows.is_empty() {
                panels.push(picture::panel(title, base, rows));
            }
        }
        let noise = self
            .document
            .cells
            .iter()
            .filter_map(|cell| cell.noise_floor);
        let noise = noise.fold(None, |most: Option<f64>, one| {
            Some(most.map_or(one, |m| m.max(one)))
        });
        let band = noise.map(|noise| format!(" The band is what offsets that stand alike on every known grid differ by: up to {}.", percent(noise, 1)));
        Some(Figure {
            title: format!("Gain over {base}"),
            caption: format!(
                "Dot: estimate; line: its 95% interval. Full where a difference is proven, hollow where none is, dashed where the interval is too wide to say.{}",
                band.unwrap_or_default()
            ),
            svg: picture::picture(base, &panels)?,
            table,
            series: None,
        })
    }

    fn rates(&self, group: &str, cells: &[usize], way: Way) -> Option<Figure> {
        let name = way.name();
        let mut table = Table::new(
            format!("{name} each second: {group}"),
            &[
                "offset",
                "threads × outstanding",
                ">mean",
                ">least of any run",
                ">most of any run",
                ">runs",
            ],
        );
        let mut tracks = Vec::new();
        for offset in 0..self.document.plan.offsets.len() {
            let mut points = Vec::new();
            for (place, cell) in cells.iter().enumerate() {
                let Some(delivered) = self.delivered(*cell, offset) else {
                    continue;
                };
                let rate = way.rate(delivered);
                if rate <= 0.0 {
                    continue;
                }
                let all = delivered.reads_per_second + delivered.writes_per_second;
                // Of a mix the range is that of all requests; each direction has its share of it.
                let (low, high) = (
                    delivered.least_per_second * rate / all,
                    delivered.most_per_second * rate / all,
                );
                points.push(Point {
                    x: length(place),
                    y: rate,
                    between: Some((low, high)),
                });
                table.row([
                    self.offset(offset).to_owned(),
                    self.load(*cell),
                    rate_text(rate),
                    rate_text(low),
                    rate_text(high),
                    delivered.runs.to_string(),
                ]);
            }
            tracks.push(Track {
                name: self.offset(offset).to_owned(),
                points,
            });
        }
        let places: Vec<String> = cells.iter().map(|cell| self.load(*cell)).collect();
        let title = format!("{} each second by load: {group}", capital(name));
        let svg = Lines {
            title: &title,
            said: "Mean of the runs of each offset at each load, with the least and the most of any run; the table has the figures",
            x: "threads × outstanding",
            y: &format!("{name} each second"),
            tracks: &tracks,
            places: Some(&places),
            x_in_decades: false,
            y_in_decades: false,
            dense: false,
            scattered: false,
            diagonal: false,
            named: &[],
            write_x: round,
            write_y: round,
        }
        .draw()?;
        Some(Figure {
            title,
            caption: "Mark: mean of all runs; line: least and most of any run (measured)."
                .to_owned(),
            svg,
            table,
            series: None,
        })
    }

    /// Latency against rate, where there are several loads.
    fn saturation(&self, group: &str, cells: &[usize], way: Way) -> Option<Figure> {
        if cells.len() < 2 {
            return None;
        }
        let name = way.name();
        let mut table = Table::new(
            format!("Latency against {name} each second: {group}"),
            &[
                "offset",
                "threads × outstanding",
                ">each second",
                ">mean latency",
                "knee",
            ],
        );
        let (mut tracks, mut named) = (Vec::new(), Vec::new());
        for offset in 0..self.document.plan.offsets.len() {
            let knee = self.document.knees.iter().find(|knee| {
                knee.offset == offset && knee.cells.iter().any(|cell| cells.contains(cell))
            });
            let knee = knee.and_then(|knee| knee.cells.get(knee.at?));
            let mut points = Vec::new();
            for cell in cells {
                let Some(delivered) = self.delivered(*cell, offset) else {
                    continue;
                };
                let Some(latency) = way.latency(delivered) else {
                    continue;
                };
                let (x, y) = (way.rate(delivered), seconds(latency.mean_nanoseconds));
                points.push(Point {
                    x,
                    y,
                    between: None,
                });
                let is_knee = knee == Some(cell);
                if is_knee {
                    named.push((x, y, format!("knee of {}", self.offset(offset))));
                }
                table.row([
                    self.offset(offset).to_owned(),
                    self.load(*cell),
                    rate_text(x),
                    time(y),
                    if is_knee { "here" } else { "" }.to_owned(),
                ]);
            }
            tracks.push(Track {
                name: self.offset(offset).to_owned(),
                points,
            });
        }
        let title = format!("Latency against {name} each second: {group}");
        let svg = Lines {
            title: &title,
            said: "Mean latency at each load against what was delivered there; the table has the figures",
            x: &format!("{name} each second"),
            y: "mean latency",
            tracks: &tracks,
            places: None,
            x_in_decades: false,
            y_in_decades: false,
            dense: false,
            scattered: false,
            diagonal: false,
            named: &named,
            write_x: round,
            write_y: time,
        }
        .draw()?;
        Some(Figure {
            title,
            caption: "Each mark is a load, the line follows rising concurrency. A ring is the knee: beyond it more concurrency adds latency and hardly a request (measured).".to_owned(),
            svg,
            table,
            series: None,
        })
    }

    /// The distribution of latencies in one cell.
    fn percentiles(&self, group: &str, cell: usize, way: Way) -> Option<Figure> {
        let name = way.name();
        let load = self.load(cell);
        let mut table = Table::new(
            format!("Latency of {name}: {group}, {load}"),
            &[
                "offset", ">mean", ">50%", ">90%", ">95%", ">99%", ">99.9%", ">longest",
            ],
        );
        let mut tracks = Vec::new();
        for offset in 0..self.document.plan.offsets.len() {
            let Some(latency) = self.delivered(cell, offset).and_then(|d| way.latency(d)) else {
                continue;
            };
            table.row(
                std::iter::once(self.offset(offset).to_owned()).chain(
                    [
                        latency.mean_nanoseconds,
                        latency.p50_nanoseconds,
                        latency.p90_nanoseconds,
                        latency.p95_nanoseconds,
                        latency.p99_nanoseconds,
                        latency.p999_nanoseconds,
                        latency.most_nanoseconds,
                    ]
                    .map(|n| time(seconds(n))),
                ),
            );
            tracks.push(Track {
                name: self.offset(offset).to_owned(),
                points: self.curve(cell, offset, way),
            });
        }
        let title = format!("Latencies of {name}: {group}, {load}");
        let svg = Lines {
            title: &title,
            said: "How many requests took longer than each latency; the table has the percentiles",
            x: "one request in so many takes longer",
            y: "latency",
            tracks: &tracks,
            places: None,
            x_in_decades: true,
            y_in_decades: true,
            dense: true,
            scattered: false,
            diagonal: false,
            named: &[],
            write_x: one_in,
            write_y: time,
        }
        .draw()?;
        Some(Figure {
            title,
            caption: "All runs of an offset together (measured). At 10 stands the latency that one request in ten exceeds (90%), at 100 that of one in a hundred (99%).".to_owned(),
            svg,
            table,
            series: None,
        })
    }

    /// Latencies that one request in 1, 2, 5, 10 … exceeds, as far as there are requests.
    fn curve(&self, cell: usize, offset: usize, way: Way) -> Vec<Point> {
        let mut all = Latencies::new();
        for sample in self
            .document
            .samples
            .iter()
            .filter(|s| s.cell == cell && s.offset == offset)
        {
            let packed = way.side(sample).histogram_v2_base64.as_ref();
            let bytes = packed.and_then(|text| STANDARD.decode(text).ok());
            if let Some(latencies) = bytes.and_then(|bytes| Latencies::decode(&bytes)) {
                all.merge(&latencies);
            }
        }
        let mut points = Vec::new();
        let steps = [1.001, 1.111, 1.25, 1.5, 2.0, 3.0, 5.0, 7.0];
        let decades = (1..6_i32).flat_map(|n| [1.0, 2.0, 5.0].map(|m| m * 10_f64.powi(n)));
        for rarity in steps.into_iter().chain(decades) {
            #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
            let enough = all.count() as f64 >= rarity * 10.0;
            if enough {
                let latency = all.percentile(100.0 * (1.0 - 1.0 / rarity)).as_secs_f64();
                points.push(Point {
                    x: rarity,
                    y: latency,
                    between: None,
                });
            }
        }
        points
    }

    /// Every run over time, the baseline's drift with it.
    fn over_time(&self) -> Option<Figure> {
        let samples = &self.document.samples;
        let mut tracks: Vec<Track> = Vec::new();
        for offset in 0..self.document.plan.offsets.len() {
            let runs = samples.iter().filter(|sample| sample.offset == offset);
            let points = runs.map(|sample| Point {
                x: sample.began_seconds,
                y: sample.requests_per_second,
                between: None,
            });
            tracks.push(Track {
                name: self.offset(offset).to_owned(),
                points: points.collect(),
            });
        }
        let mut table = Table::new(
            format!("How far {} drifted, by workload", self.offset(0)),
            &[
                "workload",
                "threads × outstanding",
                ">change from first to last run",
                ">chance of such a change without drift",
                ">runs",
            ],
        );
        for (index, cell) in self.document.cells.iter().enumerate() {
            if let Some(drift) = &cell.drift {
                table.row([
                    self.workloads.get(index).map(title).unwrap_or_default(),
                    self.load(index),
                    percent(drift.change, 1),
                    percent(drift.p, 0),
                    drift.runs.to_string(),
                ]);
            }
        }
        let svg = Lines {
            title: "Every run over time",
            said: "Requests each second of every run, by the time at which it began; the table has the drift of the baseline",
            x: "seconds since the experiment began",
            y: "requests each second",
            tracks: &tracks,
            places: None,
            x_in_decades: false,
            y_in_decades: false,
            dense: false,
            scattered: true,
            diagonal: false,
            named: &[],
            write_x: round,
            write_y: round,
        }
        .draw()?;
        Some(Figure {
            title: "Every run over time".to_owned(),
            caption: "Each mark is one run (measured). Runs of a workload that rise or fall together are the storage drifting, not the offset.".to_owned(),
            svg,
            table,
            series: self.series(),
        })
    }

    /// Requests in each tenth of a second of every run, a column for each offset.
    fn series(&self) -> Option<Series> {
        /// More are joined in stretches of equal length.
        const MOST: usize = 4000;
        let samples = &self.document.samples;
        let ticks: usize = samples
            .iter()
            .map(|sample| sample.requests_per_tenth.len())
            .sum();
        let joined = ticks.div_ceil(MOST).max(1);
        let columns = self.document.plan.offsets.len();
        let mut data: Vec<Vec<Option<f64>>> = vec![Vec::new(); columns + 1];
        let mut sorted: Vec<&Sample> = samples.iter().collect();
        sorted.sort_by(|a, b| a.began_seconds.total_cmp(&b.began_seconds));
        for sample in sorted {
            let each = sample.took_seconds / length(sample.requests_per_tenth.len().max(1));
            for (index, ticks) in sample.requests_per_tenth.chunks(joined).enumerate() {
                let requests: f64 = ticks.iter().map(|n| f64::from(*n)).sum();
                let at = sample.began_seconds + length(index * joined) * each;
                for (column, out) in data.iter_mut().enumerate() {
                    out.push(match column {
                        0 => Some((at * 1000.0).round() / 1000.0),
                        n if n == sample.offset + 1 => {
                            Some((requests / (length(ticks.len()) * each)).round())
                        }
                        _ => None,
                    });
                }
            }
        }
        Some(Series {
            x: "seconds since the experiment began".to_owned(),
            y: "requests each second".to_owned(),
            names: (0..columns)
                .map(|offset| self.offset(offset).to_owned())
                .collect(),
            data,
        })
        .filter(|series| series.data.first().is_some_and(|times| times.len() > 1))
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
