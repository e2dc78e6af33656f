//! `check`: one target with its stack, or a fleet with its worst targets.

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use std::fmt;
use straddle_geometry::both_ways;

use super::block::{Block, Figure, Section, Table};
use super::finding::{Finding, told};
use super::fleet::{Rows, fleet};
use super::measure::{Measure, Summary};
use super::read::{Grid, Layer};
use super::{map, ruler};
use crate::bench::wording::{list, percent};
use crate::views::View;

/// Of a fleet, how many of the worst targets are shown whole.
const SHOWN: usize = 20;

/// What a page needs of a check.
#[derive(Deserialize)]
pub(crate) struct Document {
    #[serde(default)]
    targets: Targets,
    #[serde(default)]
    failures: Vec<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    target: String,
    error: String,
}

/// A row for each target, and the worst of them whole: a fleet of any size has a page of a bounded one.
#[derive(Default)]
struct Targets {
    rows: Rows,
    worst: Vec<Target>,
}

/// A target.
#[derive(Deserialize)]
pub(crate) struct Target {
    pub(crate) target: String,
    coverage: Coverage,
    #[serde(default)]
    pub(crate) findings: Vec<Finding>,
    #[serde(default)]
    folded: Vec<Folded>,
    #[serde(default)]
    correlations: Vec<Correlations>,
    #[serde(default)]
    views: Vec<View>,
    #[serde(default)]
    stack: Vec<Layer>,
    next: Option<Next>,
}

#[derive(Deserialize)]
struct Next {
    fix: String,
    realign: Option<String>,
}

#[derive(Deserialize)]
struct Folded {
    code: String,
    more: usize,
}

#[derive(Deserialize)]
pub(crate) struct Coverage {
    checked: String,
    starts: Option<usize>,
    because: Option<String>,
    why: Option<String>,
    #[serde(default)]
    next: Vec<String>,
}

impl Coverage {
    pub(crate) fn is_nothing(&self) -> bool {
        self.checked == "nothing"
    }
}

#[derive(Deserialize)]
struct Correlations {
    layer: usize,
    correlations: Vec<Correlation>,
}

#[derive(Deserialize)]
struct Correlation {
    name: String,
    dividend: u64,
    divisor: u64,
    integer: bool,
}

impl<'de> Deserialize<'de> for Targets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Targets, D::Error> {
        deserializer.deserialize_seq(EachTarget)
    }
}

struct EachTarget;

impl<'de> Visitor<'de> for EachTarget {
    type Value = Targets;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of targets")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Targets, A::Error> {
        let mut out = Targets::default();
        while let Some(target) = seq.next_element::<Target>()? {
            out.rows.add(&target);
            // The worst first; those that are as bad in the order in which they came.
            let at = out
                .worst
                .partition_point(|other| rank(other) >= rank(&target));
            if at < SHOWN {
                out.worst.insert(at, target);
                out.worst.truncate(SHOWN);
            }
        }
        Ok(out)
    }
}

/// How bad a target is: its severity, its price in thousandths, whether nothing was checked.
fn rank(target: &Target) -> (u8, u64, bool) {
    let severity = target.findings.iter().map(|f| grade(&f.severity)).max();
    let price = target
        .findings
        .iter()
        .map(Finding::worst_price)
        .fold(0.0, f64::max);
    (
        severity.unwrap_or(0),
        thousandths(price),
        target.coverage.is_nothing(),
    )
}

/// 3 error, 2 warning, 1 note.
pub(crate) fn grade(severity: &str) -> u8 {
    match severity {
        "error" => 3,
        "warning" => 2,
        "note" => 1,
        _ => 0,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a price is not negative; an absurd one is the largest integer"
)]
pub(crate) fn thousandths(share: f64) -> u64 {
    (share * 1000.0).round() as u64
}

impl Target {
    pub(crate) fn coverage_is_nothing(&self) -> bool {
        self.coverage.is_nothing()
    }

    /// Errors, warnings and notes.
    pub(crate) fn counts(&self) -> [usize; 3] {
        let mut out = [0; 3];
        for finding in &self.findings {
            match grade(&finding.severity) {
                3 => out[0] += 1,
                2 => out[1] += 1,
                _ => out[2] += 1,
            }
        }
        out
    }

    fn layer(&self, index: usize) -> &str {
        self.stack
            .get(index)
            .map_or("?", |layer| layer.name.as_str())
    }
}

/// A check in short: what each finding costs, or of many targets what the worst on each does.
pub(crate) fn summary(document: &Document) -> Summary {
    let targets = &document.targets;
    if targets.rows.count() > targets.worst.len() {
        return Summary {
            measures: targets.rows.measures(),
            unchecked: targets.rows.unchecked() + document.failures.len(),
            ..Summary::default()
        };
    }
    let is_alone = targets.worst.len() == 1;
    let mut summary = Summary {
        unchecked: targets.rows.unchecked() + document.failures.len(),
        ..Summary::default()
    };
    for target in &targets.worst {
        let within = if is_alone {
            String::new()
        } else {
            format!("{}: ", target.target)
        };
        for finding in &target.findings {
            let layer = target.layer(finding.layer);
            let (what, price) = (
                format!("{within}{} on {layer}", finding.code),
                finding.worst_price(),
            );
            // Of several on one layer the worst.
            match summary.measures.iter_mut().find(|one| one.what == what) {
                Some(known) => known.value = known.value.max(price),
                None => summary.measures.push(Measure::share(what, EXTRA, price)),
            }
        }
        let (answer, _) = answer(target);
        summary.facts.push((format!("{within}coverage"), answer));
        summary.facts.extend(target.stack.iter().map(|layer| {
            let (name, words) = layer.fact();
            (format!("{within}{name}"), words)
        }));
    }
    summary
}

/// What a finding costs.
pub(crate) const EXTRA: &str = "extra operations for each";

/// The sections of a check: the fleet where there are several targets, then the targets, worst first.
pub(crate) fn sections(document: Document) -> Vec<Section> {
    let mut out = Vec::new();
    let count = document.targets.rows.count();
    if count != 1 || !document.failures.is_empty() {
        let mut section = fleet(document.targets.rows, count.min(SHOWN));
        if !document.failures.is_empty() {
            section.heading("Could not be read");
            let mut table = Table::new("Targets that could not be read", &["target", "why"]);
            for failure in document.failures {
                table.row([failure.target, failure.error]);
            }
            section.table(table);
        }
        out.push(section);
    }
    out.extend(document.targets.worst.iter().map(section));
    out
}

fn section(target: &Target) -> Section {
    let mut section = Section::new("check", &target.target);
    (section.answer, section.tone) = answer(target);
    if !target.coverage.next.is_empty() {
        section.text(format!("Next: {}", target.coverage.next.join("; ")));
    }
    if let Some(next) = &target.next {
        let mut commands = vec![("Is it worth fixing, and how".to_owned(), next.fix.clone())];
        let realign = next.realign.iter().cloned();
        commands.extend(realign.map(|one| ("If it is, this moves the partitions".to_owned(), one)));
        section.blocks.push(Block::Commands(commands));
    }
    if let Some(ruler) = worst_view(target)
        .and_then(|(view, finding)| ruler::ruler(view, finding.and_then(Finding::worst_size)))
    {
        section.heading("A request, and what it touches");
        section.blocks.push(Block::Ruler(Box::new(ruler)));
    }
    if !target.stack.is_empty() {
        section.blocks.push(Block::Figure(stack(target)));
    }
    section.table(correlations(target));
    if !target.findings.is_empty() {
        section.heading("Findings");
    }
    for finding in &target.findings {
        let finding = told(finding, target.layer(finding.layer));
        section.blocks.push(Block::Finding(Box::new(finding)));
    }
    for folded in &target.folded {
        section.text(format!("{}: {} more of the same", folded.code, folded.more));
    }
    section
}

fn answer(target: &Target) -> (String, &'static str) {
    let [errors, warnings, notes] = target.counts();
    let mut parts = Vec::new();
    for (count, one, many) in [
        (errors, "error", "errors"),
        (warnings, "warning", "warnings"),
        (notes, "note", "notes"),
    ] {
        match count {
            0 => {}
            1 => parts.push(format!("1 {one}")),
            n => parts.push(format!("{n} {many}")),
        }
    }
    let coverage = &target.coverage;
    let rests = match coverage.checked.as_str() {
        "starts" => match coverage.starts.unwrap_or(0) {
            1 => "1 start was checked".to_owned(),
            n => format!("{n} starts were checked"),
        },
        "units" => "units were checked against each other".to_owned(),
        "blank" => format!(
            "there is nothing in it: {}",
            coverage.because.as_deref().unwrap_or("blank")
        ),
        _ => {
            let why = coverage
                .why
                .as_deref()
                .unwrap_or("unknown")
                .replace('-', " ");
            return (
                format!("Nothing was checked ({why}), so that this is no pass."),
                "open",
            );
        }
    };
    let found = if parts.is_empty() {
        "No finding".to_owned()
    } else {
        list(&parts)
    };
    let worst = target
        .findings
        .iter()
        .max_by(|a, b| a.worst_price().total_cmp(&b.worst_price()));
    let cost = match worst {
        Some(worst) if worst.worst_price() > 0.0 => {
            let rests = if worst.is_assumed() {
                "computed, from what is assumed"
            } else {
                "computed"
            };
            let price = percent(worst.worst_price(), 1);
            format!("; the worst costs {price} more operations ({rests})")
        }
        _ => String::new(),
    };
    let tone = if errors + warnings > 0 { "bad" } else { "good" };
    (format!("{found}{cost}; {rests}."), tone)
}

/// The view of the layer of the worst priced finding, else of the layer from which most is seen.
fn worst_view(target: &Target) -> Option<(&View, Option<&Finding>)> {
    let of = |layer: usize| target.views.iter().find(|view| view.layer == layer);
    let priced = target
        .findings
        .iter()
        .filter(|finding| finding.worst_price() > 0.0);
    let priced = priced.filter_map(|finding| Some((of(finding.layer)?, Some(finding))));
    let mut priced = priced;
    priced.next().or_else(|| {
        let most = target.views.iter().max_by_key(|view| view.grids.len())?;
        Some((most, None))
    })
}

fn stack(target: &Target) -> Figure {
    let mut table = Table::new(
        "The layers, topmost first",
        &[
            "layer",
            "kind",
            "lies on",
            "starts there at",
            ">length in bytes",
            "boundaries",
        ],
    );
    for layer in target.stack.iter().rev() {
        let below: Vec<&str> = layer
            .below
            .iter()
            .map(|below| target.layer(*below))
            .collect();
        table.row([
            layer.name.clone(),
            layer
                .format
                .as_ref()
                .map_or(layer.kind.clone(), |f| format!("{} ({f})", layer.kind)),
            below.join(", "),
            layer.start().map(both_ways).unwrap_or_default(),
            layer
                .size
                .as_ref()
                .map(|size| size.value.grouped().to_string())
                .unwrap_or_default(),
            layer
                .grids
                .iter()
                .map(Grid::words)
                .collect::<Vec<_>>()
                .join("; "),
        ]);
    }
    Figure {
        title: format!("The layers of {}", target.target),
        caption: "Each layer above what it lies on, to scale where that is known; a layer that would be too narrow to see is drawn wider."
            .to_owned(),
        picture: map::draw(&target.target, &target.stack),
        table,
        series: None,
    }
}

fn correlations(target: &Target) -> Table {
    let mut table = Table::new(
        "The two classical correlations: both have to be whole numbers",
        &["layer", "correlation", ">arithmetic", "whole"],
    );
    let grouped = |n: u64| straddle_geometry::Bytes::new(n).grouped().to_string();
    for layer in &target.correlations {
        for one in &layer.correlations {
            let (whole, rest) = (
                one.dividend.checked_div(one.divisor),
                one.dividend.checked_rem(one.divisor),
            );
            let result = match (whole, rest) {
                (Some(whole), Some(0)) => grouped(whole),
                (Some(whole), Some(rest)) => format!("{}, rest {}", grouped(whole), grouped(rest)),
                _ => "?".to_owned(),
            };
            table.row([
                target.layer(layer.layer).to_owned(),
                one.name.clone(),
                format!(
                    "{} ÷ {} = {result}",
                    grouped(one.dividend),
                    grouped(one.divisor)
                ),
                if one.integer { "yes" } else { "no" }.to_owned(),
            ]);
        }
    }
    table
}
