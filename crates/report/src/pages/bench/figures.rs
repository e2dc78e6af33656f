//! The pictures of an experiment, each with its figures.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use straddle_workload::histogram::Latencies;
use straddle_workload::interval::Verdict as Proof;

use super::read::Sample;
use super::{Experiment, Way, capital, one_in, seconds, time};
use crate::bench::picture;
use crate::bench::wording::{decimals, percent, rate_text, verdict_of};
use crate::pages::block::{Column, Figure, Series, Table};
use crate::pages::chart::{Lines, Panel, Point, Row, Track, length, round};
use crate::pages::read::Latency;
use crate::welch;

impl Experiment<'_> {
    pub(super) fn gains(&self) -> Option<Figure> {
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
            picture: picture::picture(base, &panels)?,
            table,
            series: None,
        })
    }

    pub(super) fn rates(&self, group: &str, cells: &[usize], way: Way) -> Option<Figure> {
        let name = way.name();
        let mut table = Table::new(
            format!("{name} each second: {group}"),
            &[
                "offset",
                "threads × outstanding",
                ">mean",
                ">from",
                ">to",
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
                let runs = self.runs(*cell, offset, way);
                let between = welch::half_of_mean(&runs).map(|half| (rate - half, rate + half));
                let end = |end: Option<f64>| end.map_or("not known".to_owned(), rate_text);
                points.push(Point {
                    x: length(place),
                    y: rate,
                    between,
                });
                table.row([
                    self.offset(offset).to_owned(),
                    self.load(*cell),
                    rate_text(rate),
                    end(between.map(|(low, _)| low)),
                    end(between.map(|(_, high)| high)),
                    rate_text(runs.iter().copied().fold(f64::INFINITY, f64::min)),
                    rate_text(runs.iter().copied().fold(0.0, f64::max)),
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
        let picture = Lines {
            title: &title,
            said: "Mean of the runs of each offset at each load, with its 95% interval; the table has the figures",
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
            caption: "Mark: mean of all runs; line: its 95% interval, where there are four runs (measured)."
                .to_owned(),
            picture,
            table,
            series: None,
        })
    }

    /// What each run of an offset in a cell delivered.
    fn runs(&self, cell: usize, offset: usize, way: Way) -> Vec<f64> {
        let samples = self.document.samples.iter();
        let samples = samples.filter(|sample| sample.cell == cell && sample.offset == offset);
        samples
            .map(|sample| way.side(sample).requests_per_second)
            .collect()
    }

    /// Latency against rate, where there are several loads.
    pub(super) fn saturation(&self, group: &str, cells: &[usize], way: Way) -> Option<Figure> {
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
        let picture = Lines {
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
            picture,
            table,
            series: None,
        })
    }

    /// The distribution of latencies in one cell.
    pub(super) fn percentiles(&self, group: &str, cell: usize, way: Way) -> Option<Figure> {
        let name = way.name();
        let load = self.load(cell);
        let mut tracks = Vec::new();
        let mut summaries = Vec::new();
        for offset in 0..self.document.plan.offsets.len() {
            let Some(latency) = self.delivered(cell, offset).and_then(|d| way.latency(d)) else {
                continue;
            };
            summaries.push(latency);
            tracks.push(Track {
                name: self.offset(offset).to_owned(),
                points: self.curve(cell, offset, way),
            });
        }
        let table = distribution(
            format!("Latency of {name}: {group}, {load}"),
            &tracks,
            &summaries,
        );
        let title = format!("Latencies of {name}: {group}, {load}");
        let picture = Lines {
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
            picture,
            table,
            series: None,
        })
    }

    /// Latencies that one request in 1, 2, 5, 10 … exceeds, as far as there are requests.
    fn curve(&self, cell: usize, offset: usize, way: Way) -> Vec<Point> {
        let mut all = Latencies::new();
        let samples = self.document.samples.iter();
        for sample in samples.filter(|s| s.cell == cell && s.offset == offset) {
            let packed = way.side(sample).histogram_v2_base64.as_ref();
            let bytes = packed.and_then(|text| STANDARD.decode(text).ok());
            if let Some(latencies) = bytes.and_then(|bytes| Latencies::decode(&bytes)) {
                all.merge(&latencies);
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
        let enough = |rarity: f64| all.count() as f64 >= rarity * 10.0;
        let points = rarities().filter(|rarity| enough(*rarity));
        points
            .map(|rarity| Point {
                x: rarity,
                y: all.percentile(100.0 * (1.0 - 1.0 / rarity)).as_secs_f64(),
                between: None,
            })
            .collect()
    }

    /// Every run over time, the baseline's drift with it.
    pub(super) fn over_time(&self) -> Option<Figure> {
        /// Most runs that are drawn and listed; of more, every second, third, … one.
        const MOST: usize = 1000;
        let mut samples: Vec<&Sample> = self.document.samples.iter().collect();
        samples.sort_by(|a, b| a.began_seconds.total_cmp(&b.began_seconds));
        let every = samples.len().div_ceil(MOST).max(1);
        let mut tracks: Vec<Track> = (0..self.document.plan.offsets.len())
            .map(|offset| Track {
                name: self.offset(offset).to_owned(),
                points: Vec::new(),
            })
            .collect();
        let mut table = Table::new(
            "Every run by the time at which it began",
            &[
                ">seconds",
                "workload",
                "threads × outstanding",
                "offset",
                ">requests each second",
            ],
        );
        for sample in samples.into_iter().step_by(every) {
            if let Some(track) = tracks.get_mut(sample.offset) {
                track.points.push(Point {
                    x: sample.began_seconds,
                    y: sample.requests_per_second,
                    between: None,
                });
            }
            table.row([
                decimals(sample.began_seconds, 1),
                self.title(sample.cell),
                self.load(sample.cell),
                self.offset(sample.offset).to_owned(),
                rate_text(sample.requests_per_second),
            ]);
        }
        let left_out = match every {
            1 => String::new(),
            n => format!(" One run in {n} is drawn and listed."),
        };
        let picture = Lines {
            title: "Every run over time",
            said: "Requests each second of every run, by the time at which it began; the table has the figures",
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
            caption: format!(
                "Each mark is one run (measured). Runs of a workload that rise or fall together are the storage drifting, not the offset.{left_out}"
            ),
            picture,
            table,
            series: self.series(),
        })
    }

    /// What happened to the baseline meanwhile.
    pub(super) fn drift(&self) -> Table {
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
                    self.title(index),
                    self.load(index),
                    percent(drift.change, 1),
                    percent(drift.p, 0),
                    drift.runs.to_string(),
                ]);
            }
        }
        table
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

/// One request in so many: the places of a distribution, the usual percentiles among them.
fn rarities() -> impl Iterator<Item = f64> {
    let steps = [1.001, 1.111, 1.25, 1.5, 2.0, 3.0, 5.0, 7.0];
    let decades = (1..6_i32).flat_map(|n| [1.0, 2.0, 5.0].map(|m| m * 10_f64.powi(n)));
    steps.into_iter().chain(decades)
}

/// The points of a distribution in rows, with the mean above and the longest below.
fn distribution(caption: String, tracks: &[Track], summaries: &[Latency]) -> Table {
    let mut table = Table::new(
        caption,
        &["requests that take no longer", ">one takes longer in"],
    );
    table.columns.extend(tracks.iter().map(|track| Column {
        name: track.name.clone(),
        right: true,
    }));
    let mut row = |name: String, rarity: String, cells: Vec<String>| {
        table.row([name, rarity].into_iter().chain(cells));
    };
    let of = |figure: fn(&Latency) -> u64| -> Vec<String> {
        summaries
            .iter()
            .map(|one| time(seconds(figure(one))))
            .collect()
    };
    row(
        "mean".to_owned(),
        String::new(),
        of(|one| one.mean_nanoseconds),
    );
    for (index, rarity) in rarities().enumerate() {
        let at = |track: &Track| {
            track
                .points
                .get(index)
                .map(|point| time(point.y))
                .unwrap_or_default()
        };
        let cells: Vec<String> = tracks.iter().map(at).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            let plain = |figure: f64| {
                let text = decimals(figure, 3);
                let text = text.trim_end_matches('0').trim_end_matches('.');
                text.to_owned()
            };
            let share = plain(100.0 * (1.0 - 1.0 / rarity));
            row(format!("{share}%"), plain(rarity), cells);
        }
    }
    row(
        "all".to_owned(),
        String::new(),
        of(|one| one.max_nanoseconds),
    );
    table
}
