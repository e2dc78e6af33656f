//! `trace`: where recorded requests begin, and what each start costs them.

use serde::Deserialize;
use std::fmt::Write;

use straddle_geometry::Bytes;
use straddle_rules::figures::{percent, time};

use super::block::{Block, Figure, Picture, Section, Table};
use super::chart::{Axis, Lines, Point, Screen, Track, length, line, picture, text};
use super::measure::{Measure, Summary};
use crate::trace::words::{self, best_place, signed};

/// What a page needs of a trace.
#[derive(Deserialize)]
pub(crate) struct Document {
    #[serde(default)]
    files: Vec<File>,
    #[serde(default)]
    failures: Vec<Failure>,
    #[serde(default)]
    doubts: Vec<String>,
    span: Option<(u64, u64)>,
    #[serde(default)]
    places: Vec<Place>,
}

#[derive(Deserialize)]
struct File {
    name: String,
    format: String,
    requests: u64,
    bad: u64,
    stopped: Option<String>,
}

#[derive(Deserialize)]
struct Failure {
    error: String,
}

#[derive(Deserialize)]
struct Place {
    name: Option<String>,
    common: Option<u64>,
    all: Device,
    #[serde(default)]
    devices: Vec<Device>,
    #[serde(default)]
    windows: Vec<Window>,
}

#[derive(Deserialize)]
struct Device {
    name: Option<String>,
    requests: Directions,
    bytes: Directions,
    sequential: Directions,
    sectors: [u64; 8],
    best: Option<u64>,
    grids: Vec<Grid>,
}

#[derive(Clone, Copy, Deserialize)]
struct Directions {
    read: u64,
    write: u64,
}

impl Directions {
    const fn sum(self) -> u64 {
        self.read.saturating_add(self.write)
    }
}

#[derive(Deserialize)]
struct Grid {
    unit: u64,
    role: Option<String>,
    layer: Option<String>,
    today: At,
    #[serde(default)]
    starts: Vec<At>,
    best: Option<At>,
}

#[derive(Deserialize)]
struct At {
    start: u64,
    straddling: Option<f64>,
    extra: Option<f64>,
}

#[derive(Deserialize)]
struct Window {
    from: u64,
    requests: Directions,
    operations: Vec<(u64, Option<u64>)>,
}

impl Grid {
    fn title(&self) -> String {
        let unit = Bytes::new(self.unit);
        match (&self.role, &self.layer) {
            (Some(role), Some(layer)) => format!("{} {unit} of {layer}", role.replace('-', " ")),
            _ => unit.to_string(),
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "shares of counts, and places in pictures"
)]
fn figure(count: u64) -> f64 {
    count as f64
}

fn share(part: u64, all: u64) -> f64 {
    match all {
        0 => 0.0,
        all => figure(part) / figure(all),
    }
}

fn told(value: Option<f64>) -> String {
    value.map_or_else(|| "not known".to_owned(), percent)
}

/// More, or less.
fn more(value: Option<f64>) -> String {
    value.map_or_else(|| "not known".to_owned(), signed)
}

/// A trace in short: the share of requests that straddle each grid today.
pub(crate) fn summary(document: &Document) -> Summary {
    let mut summary = Summary::default();
    for place in &document.places {
        for grid in &place.all.grids {
            let of = place.name.as_deref().unwrap_or("all requests");
            if let Some(straddling) = grid.today.straddling {
                let what = format!("{of} on {}", grid.title());
                summary
                    .measures
                    .push(Measure::share(what, "requests that straddle", straddling));
            }
        }
    }
    summary.unchecked = document.failures.len();
    summary
}

/// The page of a trace.
pub(crate) fn section(document: &Document) -> Section {
    let title = match document.files.as_slice() {
        [] => "nothing".to_owned(),
        [file] => file.name.clone(),
        [first, rest @ ..] => format!("{} and {} more", first.name, rest.len()),
    };
    let mut section = Section::new("trace", title);
    let (answer, tone) = answer(document);
    section.answer = answer;
    section.tone = tone;
    let mut files = Table::new(
        "What was read",
        &[
            "file",
            "recorder",
            ">requests",
            ">lines not understood",
            "not read to its end",
        ],
    );
    for file in &document.files {
        files.row([
            file.name.clone(),
            file.format.clone(),
            file.requests.to_string(),
            file.bad.to_string(),
            file.stopped.clone().unwrap_or_default(),
        ]);
    }
    section.table(files);
    for failure in &document.failures {
        section.text(format!("Not read: {}", failure.error));
    }
    for doubt in &document.doubts {
        section.text(format!("Note: {doubt}"));
    }
    if let Some((from, to)) = document.span.filter(|(from, to)| to > from) {
        section.text(format!("Recorded over {}.", time(figure(to - from) / 1e9)));
    }
    for place in &document.places {
        self::place(place, &mut section);
    }
    section
}

/// What the best start would save, on the grid where it saves most.
fn answer(document: &Document) -> (String, &'static str) {
    if document.places.is_empty() {
        return ("No request was read.".to_owned(), "open");
    }
    let worst = document
        .places
        .iter()
        .flat_map(|place| place.all.grids.iter().map(move |grid| (place, grid)))
        .filter_map(|(place, grid)| Some((grid.today.extra?, place, grid)))
        .max_by(|(a, ..), (b, ..)| a.total_cmp(b));
    match worst {
        None => ("No best start was looked for.".to_owned(), "open"),
        Some((extra, ..)) if extra < 0.0005 => {
            ("No start is better than today's.".to_owned(), "good")
        }
        Some((extra, place, grid)) => {
            let of = place
                .name
                .as_deref()
                .map(|name| format!("{name}: "))
                .unwrap_or_default();
            let text = format!(
                "{of}{} more operations on {} than at the best start.",
                percent(extra),
                grid.title()
            );
            (text, if extra >= 0.05 { "bad" } else { "open" })
        }
    }
}

fn place(place: &Place, section: &mut Section) {
    let all = &place.all;
    section.heading(
        place
            .name
            .clone()
            .unwrap_or_else(|| "All requests".to_owned()),
    );
    let requests = all.requests.sum();
    let mean = |bytes: u64, count: u64| match count {
        0 => "none".to_owned(),
        count => Bytes::new(bytes / count).rounded(),
    };
    section.blocks.push(Block::Facts(vec![
        ("requests".to_owned(), requests.to_string()),
        (
            "reads".to_owned(),
            percent(share(all.requests.read, requests)),
        ),
        (
            "mean read".to_owned(),
            mean(all.bytes.read, all.requests.read),
        ),
        (
            "mean write".to_owned(),
            mean(all.bytes.write, all.requests.write),
        ),
        (
            "go on where the one before ended".to_owned(),
            percent(share(all.sequential.sum(), requests)),
        ),
    ]));
    section.blocks.push(Block::Figure(sectors(all)));
    section.table(starts(
        place,
        "Requests that straddle a boundary, by where the data begin",
        |at| told(at.straddling),
    ));
    let has_best = all.grids.iter().any(|grid| grid.best.is_some());
    if has_best {
        section.table(starts(
            place,
            "Operations more than at the best start (counted, not measured)",
            |at| more(at.extra),
        ));
    }
    if let Some(figure) = over_time(place) {
        section.blocks.push(Block::Figure(figure));
    }
    section.table(devices(place));
}

/// Where in 4 KiB requests begin: eight bars from zero.
fn sectors(all: &Device) -> Figure {
    let requests = all.requests.sum();
    let shares: Vec<f64> = all
        .sectors
        .iter()
        .map(|count| share(*count, requests) * 100.0)
        .collect();
    let mut table = Table::new(
        "Where requests begin",
        &["sector of 4 KiB", ">requests", ">share"],
    );
    for (sector, count) in all.sectors.iter().enumerate() {
        table.row([
            sector.to_string(),
            count.to_string(),
            percent(share(*count, requests)),
        ]);
    }
    let title = "Where in 4 KiB requests begin";
    let most = all
        .sectors
        .iter()
        .enumerate()
        .max_by_key(|(_, count)| **count);
    let caption = match most {
        Some((7, count)) if share(*count, requests) >= 0.5 => {
            "Most begin in the last sector, as those of a partition at sector 63 do.".to_owned()
        }
        Some((0, count)) if share(*count, requests) >= 0.5 => {
            "Most begin at a multiple of 4 KiB.".to_owned()
        }
        _ => "Requests of data that begin at a multiple of 4 KiB begin in sector 0.".to_owned(),
    };
    Figure {
        title: title.to_owned(),
        caption,
        picture: Picture::drawn(|screen| bars(&shares, title, screen)),
        table,
        series: None,
    }
}

/// Shares of the sectors of 4 KiB in which requests begin, as bars.
fn bars(shares: &[f64], title: &str, screen: Screen) -> String {
    const HEIGHT: f64 = 240.0;
    let most = shares.iter().copied().fold(1.0, f64::max);
    let (left, right, top, bottom) = (64.0, screen.width() - 16.0, 16.0, HEIGHT - 48.0);
    let y = Axis::even(0.0, most, 5.0, (bottom, top)).rounded();
    let mut inner = String::new();
    for at in y.lines() {
        let place = y.place(at);
        line(&mut inner, "grid", (left, place), (right, place));
        text(
            &mut inner,
            left - 8.0,
            place + 4.0,
            "end",
            &format!("{at:.0}%"),
        );
    }
    let each = (right - left) / length(shares.len());
    for (sector, part) in shares.iter().enumerate() {
        let x = left + each * length(sector);
        let high = y.place(*part);
        let _ = writeln!(
            inner,
            "<rect class=\"s0\" x=\"{:.1}\" y=\"{high:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            x + each * 0.15,
            each * 0.7,
            (bottom - high).max(0.0)
        );
        text(
            &mut inner,
            x + each / 2.0,
            bottom + 18.0,
            "mid",
            &sector.to_string(),
        );
    }
    text(
        &mut inner,
        f64::midpoint(left, right),
        HEIGHT - 8.0,
        "mid",
        "sector of 4 KiB in which a request begins",
    );
    let said: Vec<String> = shares
        .iter()
        .enumerate()
        .map(|(sector, part)| format!("sector {sector}: {}", percent(part / 100.0)))
        .collect();
    picture(screen.width(), HEIGHT, title, &said.join(", "), &inner)
}

fn starts(place: &Place, caption: &str, cell: impl Fn(&At) -> String) -> Table {
    let all = &place.all;
    let names: Vec<String> = all
        .grids
        .iter()
        .map(|grid| format!(">{}", grid.title()))
        .collect();
    let columns: Vec<&str> = std::iter::once("the data begin at")
        .chain(names.iter().map(String::as_str))
        .collect();
    let mut table = Table::new(caption, &columns);
    let Some(first) = all.grids.first() else {
        return table;
    };
    let start = |at: &At| words::place(Bytes::new(at.start));
    let mut row = |name: String, of: &dyn Fn(&Grid) -> Option<String>| {
        let cells = all.grids.iter().map(|grid| of(grid).unwrap_or_default());
        table.row(std::iter::once(name).chain(cells));
    };
    row(format!("{} (today)", start(&first.today)), &|grid| {
        Some(cell(&grid.today))
    });
    for (index, at) in first.starts.iter().enumerate() {
        row(start(at), &|grid| grid.starts.get(index).map(&cell));
    }
    if let Some(best) = &first.best {
        let name = best_place(best.start, place.common);
        row(format!("{name} (best)"), &|grid| {
            grid.best.as_ref().map(&cell)
        });
    }
    table
}

/// What it costs over time.
fn over_time(place: &Place) -> Option<Figure> {
    let first = place.windows.first()?;
    if place.windows.len() < 2 {
        return None;
    }
    let extra = |window: &Window, grid: usize| {
        let (today, best) = window.operations.get(grid)?;
        let best = best.filter(|best| *best > 0)?;
        Some((figure(*today) / figure(best) - 1.0) * 100.0)
    };
    let after = |window: &Window| figure(window.from - first.from) / 1e9;
    let tracks: Vec<Track> = place
        .all
        .grids
        .iter()
        .enumerate()
        .map(|(at, grid)| Track {
            name: grid.title(),
            points: place
                .windows
                .iter()
                .filter_map(|window| {
                    Some(Point {
                        x: after(window),
                        y: extra(window, at)?.max(0.0),
                        between: None,
                    })
                })
                .collect(),
        })
        .collect();
    let title = "What today's start costs over time";
    let caption = "Operations more than at the best start, in percent.";
    let names: Vec<String> = place
        .all
        .grids
        .iter()
        .map(|grid| format!(">{}", grid.title()))
        .collect();
    let columns: Vec<&str> = ["after", ">requests"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .collect();
    let mut table = Table::new(caption, &columns);
    for window in &place.windows {
        let cells = (0..place.all.grids.len())
            .map(|at| more(extra(window, at).map(|percent| percent / 100.0)));
        let head = [time(after(window)), window.requests.sum().to_string()];
        table.row(head.into_iter().chain(cells));
    }
    let picture = Lines {
        title,
        said: caption,
        x: "time from the first request",
        y: "operations more, %",
        tracks: &tracks,
        places: None,
        x_in_decades: false,
        y_in_decades: false,
        dense: place.windows.len() > 60,
        scattered: false,
        diagonal: false,
        named: &[],
        write_x: time,
        write_y: super::chart::round,
    }
    .draw()?;
    Some(Figure {
        title: title.to_owned(),
        caption: caption.to_owned(),
        picture,
        table,
        series: None,
    })
}

/// As many devices are listed.
const DEVICES: usize = 1000;

fn devices(place: &Place) -> Table {
    let names: Vec<String> = place
        .all
        .grids
        .iter()
        .map(|grid| format!(">straddle {}", grid.title()))
        .collect();
    let columns: Vec<&str> = ["device", ">requests", ">writes"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .chain([">best start"])
        .collect();
    let mut table = Table::new("Devices, those with most requests first", &columns);
    if place.devices.len() < 2 {
        return table;
    }
    for device in place.devices.iter().take(DEVICES) {
        let requests = device.requests.sum();
        let cells = device.grids.iter().map(|grid| told(grid.today.straddling));
        let head = [
            device.name.clone().unwrap_or_default(),
            requests.to_string(),
            percent(share(device.requests.write, requests)),
        ];
        let best = device.best.map_or_else(
            || "not looked for".to_owned(),
            |best| best_place(best, place.common),
        );
        table.row(head.into_iter().chain(cells).chain([best]));
    }
    table
}
