//! `evidence`: what logs and counters say, the questions that they answer, and how things were over time.

use serde::Deserialize;

use super::block::{self, Block, Figure, Section, Table};
use super::chart::{Lines, Point, Track, length, round};
use super::finding::{Finding, told};
use super::measure::{Measure, Spread, Summary};
use crate::bench::wording::rate_text;

/// Most timelines that are drawn.
const MOST: usize = 12;

/// What a page needs of evidence.
#[derive(Deserialize)]
pub(crate) struct Document {
    #[serde(default)]
    formats: Vec<String>,
    lines: u64,
    figures: u64,
    #[serde(default)]
    failures: Vec<Failure>,
    #[serde(default)]
    findings: Vec<Finding>,
    #[serde(default)]
    answers: Vec<Answer>,
    #[serde(default)]
    changes: Vec<Change>,
    #[serde(default)]
    measured: Vec<usize>,
    #[serde(default)]
    stack: Vec<Layer>,
}

#[derive(Deserialize)]
struct Failure {
    input: String,
    error: String,
}

#[derive(Deserialize)]
struct Answer {
    question: String,
    answer: String,
    needs: Option<String>,
}

#[derive(Deserialize)]
struct Change {
    subject: String,
    quantity: String,
    before: f64,
    after: f64,
    half: Option<f64>,
}

#[derive(Deserialize)]
struct Layer {
    name: String,
    activity: Option<Activity>,
}

#[derive(Deserialize)]
struct Activity {
    #[serde(default)]
    roles: Vec<String>,
    #[serde(default)]
    series: Vec<Series>,
}

#[derive(Deserialize)]
struct Series {
    quantity: String,
    statistic: serde_json::Value,
    span: String,
    summary: Figures,
}

#[derive(Deserialize)]
struct Figures {
    count: u64,
    mean: f64,
    min: Option<Sample>,
    max: Option<Sample>,
    first: Option<Sample>,
    timeline: Timeline,
}

#[derive(Deserialize)]
struct Sample {
    value: f64,
    at: Option<String>,
}

#[derive(Deserialize)]
struct Timeline {
    /// Microseconds.
    width: i64,
    bins: Vec<Bin>,
}

#[derive(Deserialize)]
struct Bin {
    count: u64,
    sum: f64,
    max: f64,
}

/// Logs and counters in short: the mean of every latency.
pub(crate) fn summary(document: &Document) -> Summary {
    let mut summary = Summary::default();
    for layer in document
        .measured
        .iter()
        .filter_map(|index| document.stack.get(*index))
    {
        let series = layer.activity.iter().flat_map(|activity| &activity.series);
        for one in series.filter(|one| one.quantity.ends_with("latency")) {
            let what = format!(
                "{} of {}, {}, {}",
                words(&one.quantity),
                layer.name,
                statistic(&one.statistic),
                words(&one.span)
            );
            let value = one.summary.mean * 1e3;
            summary.measures.push(Measure::new(
                what,
                "latency, ms",
                false,
                value,
                Spread::Unknown,
            ));
        }
    }
    summary
}

/// The section of logs and counters.
pub(crate) fn section(document: &Document) -> Section {
    let mut section = Section::new("evidence", document.formats.join(", "));
    let count = |grade: &str| {
        document
            .findings
            .iter()
            .filter(|f| f.severity == grade)
            .count()
    };
    let grouped = |n: u64| straddle_geometry::Bytes::new(n).grouped().to_string();
    section.answer = format!(
        "{} errors, {} warnings, {} notes from {} figures in {} lines (measured by whoever wrote them).",
        count("error"),
        count("warning"),
        count("note"),
        grouped(document.figures),
        grouped(document.lines)
    );
    section.tone = match (count("error") + count("warning"), document.failures.len()) {
        (0, 0) => "good",
        (0, _) => "open",
        _ => "bad",
    };
    if !document.failures.is_empty() {
        let mut table = Table::new(
            "What could not be read, or in which nothing was found",
            &["input", "why"],
        );
        for failure in &document.failures {
            table.row([failure.input.clone(), failure.error.clone()]);
        }
        section.table(table);
    }
    if !document.answers.is_empty() {
        section.heading("Questions, and what these files say");
        let answers = document.answers.iter().map(|answer| block::Answer {
            question: answer.question.clone(),
            answer: answer.answer.clone(),
            needs: answer.needs.clone(),
        });
        section.blocks.push(Block::Answers(answers.collect()));
    }
    let mut changes = Table::new(
        "Before and after",
        &[
            "subject",
            "quantity",
            ">before",
            ">after",
            ">half of the 95% interval of the difference",
        ],
    );
    for change in &document.changes {
        changes.row([
            change.subject.clone(),
            words(&change.quantity),
            figure(&change.quantity, change.before),
            figure(&change.quantity, change.after),
            change.half.map_or("not known".to_owned(), |half| {
                figure(&change.quantity, half)
            }),
        ]);
    }
    section.table(changes);
    if !document.findings.is_empty() {
        section.heading("Findings");
    }
    for finding in &document.findings {
        let layer = document
            .stack
            .get(finding.layer)
            .map_or("?", |layer| layer.name.as_str());
        section
            .blocks
            .push(Block::Finding(Box::new(told(finding, layer))));
    }
    section.heading("What was measured");
    let measured = document
        .measured
        .iter()
        .filter_map(|index| document.stack.get(*index));
    let with: Vec<(&str, &Activity)> = measured
        .filter_map(|layer| Some((layer.name.as_str(), layer.activity.as_ref()?)))
        .collect();
    section.table(quantities(&with));
    let timed = with
        .iter()
        .flat_map(|(name, activity)| activity.series.iter().map(move |series| (*name, series)));
    let timed = timed.filter(|(_, series)| {
        series
            .summary
            .timeline
            .bins
            .iter()
            .filter(|bin| bin.count > 0)
            .count()
            > 2
    });
    let timed: Vec<(&str, &Series)> = timed.collect();
    section.blocks.extend(
        timed
            .iter()
            .take(MOST)
            .filter_map(|(name, series)| timeline(name, series))
            .map(Block::Figure),
    );
    if timed.len() > MOST {
        section.text(format!(
            "{} more have a course over time: see the JSON document.",
            timed.len() - MOST
        ));
    }
    section
}

fn quantities(measured: &[(&str, &Activity)]) -> Table {
    let mut table = Table::new(
        "Each quantity of each subject",
        &[
            "subject",
            "keeps",
            "quantity",
            "statistic",
            "each figure is about",
            ">figures",
            ">least",
            ">mean",
            ">most",
        ],
    );
    for (name, activity) in measured {
        for series in &activity.series {
            let end = |sample: &Option<Sample>| {
                sample
                    .as_ref()
                    .map(|s| figure(&series.quantity, s.value))
                    .unwrap_or_default()
            };
            table.row([
                (*name).to_owned(),
                activity.roles.join(", "),
                words(&series.quantity),
                statistic(&series.statistic),
                words(&series.span),
                series.summary.count.to_string(),
                end(&series.summary.min),
                figure(&series.quantity, series.summary.mean),
                end(&series.summary.max),
            ]);
        }
    }
    table
}

fn timeline(name: &str, series: &Series) -> Option<Figure> {
    let width = seconds(series.summary.timeline.width);
    let quantity = words(&series.quantity);
    let since = series
        .summary
        .first
        .as_ref()
        .and_then(|first| first.at.clone());
    let since = since.unwrap_or_else(|| "the first figure".to_owned());
    let mut table = Table::new(
        format!("{quantity} of {name}, in stretches of {width} s since {since}"),
        &[">seconds", ">figures", ">mean", ">most"],
    );
    let (mut means, mut most) = (Vec::new(), Vec::new());
    for (index, bin) in series
        .summary
        .timeline
        .bins
        .iter()
        .enumerate()
        .filter(|(_, bin)| bin.count > 0)
    {
        let x = length(index) * width;
        #[expect(clippy::cast_precision_loss, reason = "a count of figures")]
        let mean = bin.sum / bin.count as f64;
        means.push(Point {
            x,
            y: mean,
            between: None,
        });
        most.push(Point {
            x,
            y: bin.max,
            between: None,
        });
        table.row([
            rate_text(x),
            bin.count.to_string(),
            figure(&series.quantity, mean),
            figure(&series.quantity, bin.max),
        ]);
    }
    let tracks = [
        Track {
            name: "mean".to_owned(),
            points: means,
        },
        Track {
            name: "largest".to_owned(),
            points: most,
        },
    ];
    let title = format!("{quantity} of {name}");
    let is_time = is_time(&series.quantity);
    Some(Figure {
        picture: Lines {
            title: &title,
            said: "Mean and largest figure of each stretch of time; the table has them",
            x: &format!("seconds since {since}"),
            y: &quantity,
            tracks: &tracks,
            places: None,
            x_in_decades: false,
            y_in_decades: false,
            dense: false,
            scattered: false,
            diagonal: false,
            named: &[],
            write_x: round,
            write_y: if is_time { super::bench::time } else { round },
        }
        .draw()?,
        title,
        caption: format!(
            "Each mark is a stretch of {width} s; a mean hides what the largest shows (measured)."
        ),
        table,
        series: None,
    })
}

fn words(name: &str) -> String {
    name.replace(['-', '_'], " ")
}

fn statistic(of: &serde_json::Value) -> String {
    match of {
        serde_json::Value::String(word) => words(word),
        serde_json::Value::Object(map) => map
            .iter()
            .map(|(key, value)| format!("{} {value}", words(key)))
            .collect(),
        other => other.to_string(),
    }
}

fn is_time(quantity: &str) -> bool {
    quantity.contains("latency")
        || quantity.ends_with("time")
        || quantity.starts_with("checkpoint-")
}

fn figure(quantity: &str, value: f64) -> String {
    if is_time(quantity) {
        super::bench::time(value)
    } else {
        rate_text(value)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a length of time")]
fn seconds(micros: i64) -> f64 {
    micros as f64 / 1e6
}
