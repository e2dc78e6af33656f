//! `study`: published beside simulated, cell by cell.

use serde::Deserialize;

use super::block::{Block, Figure, Section, Table};
use super::chart::{Lines, Look, Panel, Point, Row, Track, Whiskers, round};
use super::measure::{Measure, Summary};
use super::read::Interval;
use crate::bench::picture::share;
use crate::bench::wording::{percent, rate_text};

/// What a page needs of studies.
#[derive(Deserialize)]
pub(crate) struct Document {
    studies: Vec<Study>,
}

#[derive(Deserialize)]
struct Study {
    name: String,
    title: String,
    source: String,
    configuration: String,
    identifies: Option<String>,
    refused: Option<String>,
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Cell {
    id: String,
    mark: String,
    fitted: bool,
    metric: String,
    published: Published,
    tolerance: String,
    simulated: Option<Simulated>,
    misses: Option<String>,
}

#[derive(Deserialize)]
struct Published {
    least: Option<f64>,
    most: Option<f64>,
}

#[derive(Deserialize)]
struct Simulated {
    value: f64,
    interval: Option<Interval>,
    error_percent: f64,
    within: bool,
}

/// Studies in short: how far each cell is off.
pub(crate) fn summary(document: &Document) -> Summary {
    let mut summary = Summary::default();
    for study in &document.studies {
        for cell in &study.cells {
            let Some(simulated) = &cell.simulated else {
                continue;
            };
            let (what, error) = (cell.id.clone(), simulated.error_percent.abs());
            summary
                .measures
                .push(Measure::share(what.clone(), "error", error / 100.0));
            let held = if simulated.within {
                "within its tolerance"
            } else {
                "outside its tolerance"
            };
            summary.facts.push((what, held.to_owned()));
        }
    }
    summary
}

/// A section for each study.
pub(crate) fn sections(document: &Document) -> Vec<Section> {
    document.studies.iter().map(section).collect()
}

fn section(study: &Study) -> Section {
    let mut section = Section::new("study", format!("{}: {}", study.name, study.title));
    if let Some(why) = &study.refused {
        section.answer = format!("It could not be simulated: {why}");
        section.tone = "open";
    } else {
        let held = |mark: fn(&Cell) -> bool| {
            let cells = study.cells.iter().filter(|cell| mark(cell));
            let within = cells
                .clone()
                .filter(|cell| cell.simulated.as_ref().is_some_and(|s| s.within));
            (within.count(), cells.count())
        };
        let parts = [
            ("validation cells", held(|c| c.mark == "validation")),
            (
                "calibration cells on which nothing was fitted",
                held(|c| c.mark != "validation" && !c.fitted),
            ),
            (
                "fitted cells, which are no test",
                held(|c| c.mark != "validation" && c.fitted),
            ),
        ];
        let said = parts.iter().filter(|(_, (_, all))| *all > 0);
        let said: Vec<String> = said
            .map(|(name, (within, all))| format!("{within} of {all} {name}"))
            .collect();
        section.answer = format!("Within their tolerance: {}.", said.join("; "));
        let (within, all) = held(|_| true);
        section.tone = if within == all { "good" } else { "bad" };
    }
    let mut facts = vec![
        ("published".to_owned(), study.source.clone()),
        ("setup".to_owned(), study.configuration.clone()),
    ];
    facts.extend(
        study
            .identifies
            .clone()
            .map(|text| ("cannot tell".to_owned(), text)),
    );
    section.blocks.push(Block::Facts(facts));
    section
        .blocks
        .extend(beside(study).into_iter().map(Block::Figure));
    section.blocks.extend(figure(study).map(Block::Figure));
    for cell in &study.cells {
        if let Some(why) = &cell.misses {
            section.text(format!("{}: {why}", cell.id));
        }
    }
    section
}

/// Simulated against published, for each metric that is no ratio: those are near 1, where only their error can be seen.
fn beside(study: &Study) -> Vec<Figure> {
    let mut metrics: Vec<&str> = Vec::new();
    for cell in &study.cells {
        if !cell.metric.contains("ratio") && !metrics.contains(&cell.metric.as_str()) {
            metrics.push(&cell.metric);
        }
    }
    metrics
        .into_iter()
        .filter_map(|metric| against(study, metric))
        .collect()
}

fn against(study: &Study, metric: &str) -> Option<Figure> {
    let name = metric.replace("iops", "IOPS").replace('_', " ");
    let mut table = Table::new(
        format!("Published and simulated {name}"),
        &["cell", ">published", ">simulated", ">from", ">to"],
    );
    let mut tracks = ["within the tolerance", "within, but fitted", "outside"].map(|name| Track {
        name: name.to_owned(),
        points: Vec::new(),
    });
    for cell in study.cells.iter().filter(|cell| cell.metric == metric) {
        let (Some(least), Some(most), Some(simulated)) =
            (cell.published.least, cell.published.most, &cell.simulated)
        else {
            continue;
        };
        let between = simulated.interval.map(|i| (i.low, i.high));
        let published = f64::midpoint(least, most);
        let (low, high) = between.unwrap_or((simulated.value, simulated.value));
        table.row([
            cell.id.clone(),
            number(published),
            number(simulated.value),
            number(low),
            number(high),
        ]);
        let track = match (simulated.within, cell.fitted) {
            (true, false) => 0,
            (true, true) => 1,
            (false, _) => 2,
        };
        if let Some(track) = tracks.get_mut(track) {
            track.points.push(Point {
                x: published,
                y: simulated.value,
                between,
            });
        }
    }
    let title = format!("Published and simulated {name}: {}", study.name);
    Some(Figure {
        picture: Lines {
            title: &title,
            said: "Each cell at what was published and at what was simulated; the table has the figures",
            x: &format!("published {name}"),
            y: &format!("simulated {name}"),
            tracks: &tracks,
            places: None,
            x_in_decades: true,
            y_in_decades: true,
            dense: false,
            scattered: true,
            diagonal: true,
            named: &[],
            write_x: round,
            write_y: round,
        }
        .draw()?,
        title,
        caption: "On the line both are the same. Line through a mark: its 95% interval over replicates (simulated).".to_owned(),
        table,
        series: None,
    })
}

/// Simulated over published: the tolerance behind, zero where they agree.
fn figure(study: &Study) -> Option<Figure> {
    let mut table = Table::new(
        format!("Published beside simulated: {}", study.title),
        &[
            "cell",
            "mark",
            "metric",
            ">published",
            ">simulated",
            ">from",
            ">to",
            ">error",
            "tolerance",
            "within",
        ],
    );
    let mut rows = Vec::new();
    for cell in &study.cells {
        let published = match (cell.published.least, cell.published.most) {
            (Some(least), Some(most)) if least >= most => number(least),
            (Some(least), Some(most)) => format!("{} to {}", number(least), number(most)),
            (Some(least), None) => format!("at least {}", number(least)),
            (None, Some(most)) => format!("at most {}", number(most)),
            (None, None) => String::new(),
        };
        let mark = if cell.fitted {
            format!("{}, fitted", cell.mark)
        } else {
            cell.mark.clone()
        };
        let Some(simulated) = &cell.simulated else {
            table.row([
                cell.id.clone(),
                mark,
                cell.metric.replace('_', " "),
                published,
                "not simulated".to_owned(),
                String::new(),
                String::new(),
                String::new(),
                cell.tolerance.clone(),
                String::new(),
            ]);
            continue;
        };
        let (low, high) = simulated
            .interval
            .map_or((simulated.value, simulated.value), |i| (i.low, i.high));
        table.row([
            cell.id.clone(),
            mark,
            cell.metric.replace('_', " "),
            published,
            number(simulated.value),
            number(low),
            number(high),
            percent(simulated.error_percent / 100.0, 1),
            cell.tolerance.clone(),
            if simulated.within { "yes" } else { "no" }.to_owned(),
        ]);
        // The error at the ends of the interval: what the value is over, moved by as much as they are.
        let error = simulated.error_percent / 100.0;
        let at = |end: f64| {
            if simulated.value == 0.0 {
                error
            } else {
                (1.0 + error) * end / simulated.value - 1.0
            }
        };
        rows.push(Row {
            group: None,
            name: cell.id.clone(),
            low: at(low),
            mean: error,
            high: at(high),
            look: match (simulated.within, cell.fitted) {
                (false, _) => Look::Worse,
                (true, false) => Look::Better,
                (true, true) => Look::Same,
            },
            band: tolerated(&cell.tolerance),
            figures: format!("{} ({})", percent(error, 1), cell.tolerance),
        });
    }
    let panels = [Panel {
        title: "Simulated beside published".to_owned(),
        names: "cell".to_owned(),
        rows,
    }];
    Some(Figure {
        title: format!("Error of each cell: {}", study.name),
        caption: "How far simulated is from published, zero where they agree; line: its 95% interval over replicates; band: the tolerance, where it is a share. Full green: within it, hollow: within it but fitted, so no test; full red: outside.".to_owned(),
        picture: Whiskers {
            title: &format!("Error of each cell of {}", study.name),
            said: "How far simulated is from published",
            panels: &panels,
            write: share,
        }
        .draw()?,
        table,
        series: None,
    })
}

/// A tolerance that is a share of what was published: `10%`.
fn tolerated(text: &str) -> Option<(f64, f64)> {
    let share: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    Some((-share / 100.0, share / 100.0))
}

fn number(figure: f64) -> String {
    if figure.abs() < 20.0 {
        let text = format!("{figure:.4}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    rate_text(figure)
}
