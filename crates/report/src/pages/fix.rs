//! `fix`: what to change, what that costs and what it takes away.

use serde::Deserialize;
use straddle_geometry::{Bytes, Unit};

use super::block::{Block, Figure, Section, Table};
use super::chart::{Look, Panel, Row, Whiskers};
use super::check::EXTRA;
use super::measure::{Measure, Summary};
use super::read::Ratio;
use super::{bench::capital, ruler};
use crate::bench::picture::share;
use crate::bench::wording::percent;
use crate::views::View;

/// What a page needs of a plan.
#[derive(Deserialize)]
pub(crate) struct Document {
    target: String,
    steps: Vec<Step>,
    #[serde(default)]
    optional: Vec<Step>,
    #[serde(default)]
    cured: Vec<Cured>,
    #[serde(default)]
    left: Vec<Left>,
    #[serde(default)]
    unread: Vec<String>,
    effort: Effort,
    worth: Worth,
    #[serde(default)]
    views: Vec<View>,
    #[serde(default)]
    views_after: Vec<View>,
}

#[derive(Deserialize)]
struct Step {
    number: usize,
    title: String,
    #[serde(default)]
    arithmetic: Vec<String>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default, rename = "hindrances")]
    blockers: Vec<String>,
}

#[derive(Deserialize)]
struct Cured {
    code: String,
    layer: String,
    title: String,
    severity: String,
    #[serde(default)]
    prices: Vec<Price>,
}

#[derive(Deserialize)]
struct Price {
    io: Unit,
    before: Ratio,
    after: Ratio,
}

#[derive(Deserialize)]
struct Left {
    code: String,
    title: String,
    why: Option<String>,
}

#[derive(Deserialize)]
struct Effort {
    read: Option<Bytes>,
    written: Option<Bytes>,
    room: Option<Bytes>,
    seconds: Option<f64>,
    rate: Option<f64>,
}

#[derive(Deserialize)]
struct Worth {
    call: String,
    #[serde(default)]
    because: Vec<String>,
}

/// A plan in short: what the findings that it cures cost, and its steps.
pub(crate) fn summary(document: &Document) -> Summary {
    let cured = document.cured.iter().map(|cured| {
        let prices = cured.prices.iter().map(|price| price.before.value);
        let what = format!("{} on {}", cured.code, cured.layer);
        Measure::share(what, EXTRA, prices.fold(0.0, f64::max))
    });
    let steps = document
        .steps
        .iter()
        .map(|step| (format!("step {}", step.number), step.title.clone()));
    let left = document
        .left
        .iter()
        .map(|left| (format!("stays: {}", left.code), left.title.clone()));
    let call = (
        "verdict".to_owned(),
        document.worth.call.replace(['-', '_'], " "),
    );
    Summary {
        measures: cured.collect(),
        facts: std::iter::once(call).chain(steps).chain(left).collect(),
        ..Summary::default()
    }
}

/// The section of a plan.
pub(crate) fn section(document: &Document) -> Section {
    let mut section = Section::new("fix", &document.target);
    let call = document.worth.call.replace(['-', '_'], " ");
    section.tone = match call.as_str() {
        "now" | "fix now" => "bad",
        "not worth it" | "nothing" => "good",
        _ => "open",
    };
    let call = match call.as_str() {
        "now" => "Fix now".to_owned(),
        "nothing" => "Nothing to do".to_owned(),
        other => capital(other),
    };
    section.answer = format!("{call}: {}.", document.worth.because.join("; "));
    section.blocks.push(Block::Facts(effort(&document.effort)));
    section.blocks.extend(prices(document).map(Block::Figure));
    for (views, when) in [
        (&document.views, "before"),
        (&document.views_after, "after"),
    ] {
        // The first of those that see most.
        let most = views.iter().rev().max_by_key(|view| {
            view.grids
                .iter()
                .filter(|grid| grid.phase.is_some())
                .count()
        });
        if let Some(ruler) = most.and_then(|view| ruler::ruler(view, None)) {
            section.heading(format!("A request {when} the change"));
            section.blocks.push(Block::Ruler(Box::new(ruler)));
        }
    }
    if !document.steps.is_empty() {
        section.heading("Steps");
    }
    for step in document.steps.iter().chain(&document.optional) {
        section.table(told(step));
    }
    let mut left = Table::new("What stays as it is", &["rule", "finding", "why"]);
    for one in &document.left {
        left.row([
            one.code.clone(),
            one.title.clone(),
            one.why.clone().unwrap_or_default(),
        ]);
    }
    section.table(left);
    for one in &document.unread {
        section.text(format!("Not checked: {one}"));
    }
    section
}

fn effort(effort: &Effort) -> Vec<(String, String)> {
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let bytes = |name: &str, bytes: Option<Bytes>| bytes.map(|bytes| fact(name, bytes.rounded()));
    let mut out: Vec<(String, String)> = [
        bytes("read", effort.read),
        bytes("written", effort.written),
        bytes("room needed", effort.room),
    ]
    .into_iter()
    .flatten()
    .collect();
    if let (Some(seconds), Some(rate)) = (effort.seconds, effort.rate) {
        out.push(fact(
            "takes",
            format!("{seconds:.0} s at {:.0} MB/s (assumed)", rate / 1e6),
        ));
    }
    out
}

fn told(step: &Step) -> Table {
    let mut table = Table::new(format!("{}. {}", step.number, step.title), &["", ""]);
    for (name, lines) in [
        ("arithmetic", &step.arithmetic),
        ("note", &step.notes),
        ("in the way", &step.blockers),
    ] {
        for line in lines {
            table.row([name.to_owned(), line.clone()]);
        }
    }
    table
}

/// What requests cost before and after.
fn prices(document: &Document) -> Option<Figure> {
    let mut table = Table::new(
        "Extra operations for each operation, before and after (computed)",
        &[
            "rule",
            "severity",
            "finding",
            ">request size",
            ">before",
            ">after",
        ],
    );
    let mut panels = Vec::new();
    for cured in &document.cured {
        let mut rows = Vec::new();
        for price in &cured.prices {
            let (before, after) = (price.before.value, price.after.value);
            table.row([
                cured.code.clone(),
                cured.severity.clone(),
                cured.title.clone(),
                price.io.to_string(),
                percent(before, 1),
                percent(after, 1),
            ]);
            for (name, figure) in [("before", before), ("after", after)] {
                rows.push(Row {
                    group: (name == "before").then(|| price.io.to_string()),
                    name: name.to_owned(),
                    low: 0.0,
                    mean: figure,
                    high: figure,
                    look: Look::Bar,
                    band: None,
                    figures: percent(figure, 1),
                });
            }
        }
        panels.push(Panel {
            title: format!("{} on {}", cured.code, cured.layer),
            names: "request size".to_owned(),
            rows,
        });
    }
    panels.retain(|panel| !panel.rows.is_empty());
    Some(Figure {
        title: "Extra operations before and after".to_owned(),
        caption: "Operations of the disks beyond those of aligned requests, by request size (computed, not measured).".to_owned(),
        picture: Whiskers {
            title: "Extra operations before and after",
            said: "Operations beyond those of aligned requests",
            panels: &panels,
            write: share,
        }
        .draw()?,
        table,
        series: None,
    })
}
