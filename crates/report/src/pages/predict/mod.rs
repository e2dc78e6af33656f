//! `predict`: what each offset would deliver, what limits it, and which assumptions decide.

mod read;

use straddle_geometry::Bytes;
use straddle_workload::Workload;
use straddle_workload::interval::Verdict as Proof;

use super::bench::{capital, time};
use super::block::{Block, Figure, Section, Table};
use super::chart::{Lines, Look, Panel, Point, Row, Track, Whiskers, length, round};
use super::measure::{Measure, Spread, Summary};
use super::read::{Interval, Latency};
use crate::bench::picture::{self, share};
use crate::bench::wording::{gain, load, percent, rate_text, title};
use read::{Asked, Comparison, Decision, Offset, Prediction, Sensitivity, Variant};

pub(crate) use read::Document;

/// Predictions in short: rates and gains of every offset, and the figures of the profile.
pub(crate) fn summary(document: &Document) -> Summary {
    let mut summary = Summary::default();
    let mut measure = |of: &str, offset: &Offset| {
        let what = format!("{of}{}", offset.name);
        let rate = offset.requests_per_second;
        let spread = Spread::Between(rate.low, rate.high);
        summary.measures.push(Measure::new(
            what.clone(),
            "requests each second",
            true,
            rate.mean,
            spread,
        ));
        if let Some(gain) = &offset.gain {
            let spread = Spread::Between(gain.ratio.low, gain.ratio.high);
            summary.measures.push(Measure::new(
                what,
                "gain over the first offset, ×",
                true,
                gain.ratio.mean,
                spread,
            ));
        }
    };
    let mut facts = Vec::new();
    let mut asked = |asked: &Asked| {
        facts.push(("asked".to_owned(), subject(asked)));
        let figures = asked.profile.figures.iter();
        facts.extend(figures.map(|figure| (figure.path.clone(), figure.shown.clone())));
    };
    for one in &document.predictions {
        let place = one
            .place
            .as_ref()
            .map(|place| format!("{}: ", place.name))
            .unwrap_or_default();
        one.offsets
            .iter()
            .for_each(|offset| measure(&place, offset));
        asked(&one.asked);
    }
    if let Some(comparison) = &document.comparison {
        for variant in &comparison.variants {
            let of = format!("{}: ", variant.values.join(", "));
            variant
                .offsets
                .iter()
                .for_each(|offset| measure(&of, offset));
        }
        asked(&comparison.asked);
    }
    facts.dedup();
    summary.facts = facts;
    summary
}

/// A section for each place in question, and one for variants compared.
pub(crate) fn sections(document: &Document) -> Vec<Section> {
    let mut out: Vec<Section> = document.predictions.iter().map(prediction).collect();
    out.extend(document.comparison.as_ref().map(comparison));
    out
}

fn subject(asked: &Asked) -> String {
    let workload = Workload::from(&asked.workload);
    let what = asked
        .scenario
        .clone()
        .unwrap_or_else(|| format!("{}, {}", title(&workload), load(&workload)));
    format!("{}: {what}", asked.profile.title)
}

fn prediction(of: &Prediction) -> Section {
    let place = of
        .place
        .as_ref()
        .map(|place| format!("{} on {}: ", place.name, place.base));
    let mut section = Section::new(
        "predict",
        format!("{}{}", place.unwrap_or_default(), of.asked.profile.title),
    );
    let best = of.offsets.get(of.best);
    let base = of
        .offsets
        .first()
        .map_or("?", |offset| offset.name.as_str());
    section.answer = match (
        &of.decision,
        best.and_then(|best| Some((best, best.gain.as_ref()?))),
    ) {
        (Some(decision), Some((best, one))) => {
            let call = decision.call.replace('_', " ");
            section.tone = match call.as_str() {
                "fix now" => "bad",
                "not worth it" => "good",
                _ => "open",
            };
            format!(
                "{}: {} delivers {} beside {base} (simulated; it rests on the assumptions below).",
                capital(&call),
                best.name,
                gain(one.ratio.into())
            )
        }
        _ => "One offset only, so that there is nothing to compare.".to_owned(),
    };
    section.blocks.push(Block::Facts(vec![
        ("profile".to_owned(), of.asked.profile.name.clone()),
        ("asked".to_owned(), subject(&of.asked)),
        (
            "simulated".to_owned(),
            format!(
                "{} replicates of {} requests",
                of.asked.replicates,
                Bytes::new(of.asked.requests).grouped()
            ),
        ),
    ]));
    if let Some(decision) = &of.decision {
        section.table(turns(decision));
    }
    for missed in &of.missed {
        section.text(format!(
            "The profile is out of tolerance in study {}: {}",
            missed.study,
            missed.cells.join(", ")
        ));
    }
    section.blocks.extend(gains(&of.offsets).map(Block::Figure));
    section.blocks.extend(rates(&of.offsets).map(Block::Figure));
    section
        .blocks
        .extend(resources(&of.offsets).map(Block::Figure));
    section
        .blocks
        .extend(sensitivity(&of.sensitivity).map(Block::Figure));
    section
}

fn turns(decision: &Decision) -> Table {
    let mut table = Table::new(
        "What the verdict depends on",
        &[
            "assumption, and the value that turns it",
            ">gain there",
            "verdict there",
            "how to find out",
        ],
    );
    for turn in &decision.depends {
        let values = turn
            .values
            .iter()
            .map(|one| format!("{} = {}", one.path, one.value));
        let mut ways: Vec<&str> = turn
            .values
            .iter()
            .map(|one| one.found_by.as_str())
            .collect();
        ways.dedup();
        table.row([
            values.collect::<Vec<_>>().join(" and "),
            percent(turn.gain - 1.0, 1),
            turn.call.replace('_', " "),
            ways.join("; "),
        ]);
    }
    table
}

fn gains(offsets: &[Offset]) -> Option<Figure> {
    let base = offsets.first()?.name.as_str();
    let mut table = Table::new(
        format!("Gain over {base} (simulated)"),
        &["offset", ">bytes", ">gain", ">from", ">to"],
    );
    let mut rows = Vec::new();
    for offset in offsets {
        let Some(one) = &offset.gain else { continue };
        let verdict: Proof = one.verdict.into();
        rows.push(picture::row(
            None,
            &offset.name,
            one.ratio.into(),
            verdict,
            None,
        ));
        table.row([
            offset.name.clone(),
            offset.bytes.grouped().to_string(),
            percent(one.ratio.mean - 1.0, 2),
            percent(one.ratio.low - 1.0, 2),
            percent(one.ratio.high - 1.0, 2),
        ]);
    }
    let panels = [Panel {
        title: format!("Beside {base}"),
        names: "offset".to_owned(),
        rows,
    }];
    Some(Figure {
        title: format!("Predicted gain over {base}"),
        caption: "Dot: estimate; line: its 95% interval over replicates of the simulation. The interval says nothing of assumptions: those are below.".to_owned(),
        picture: picture::picture(base, &panels)?,
        table,
        series: None,
    })
}

fn rates(offsets: &[Offset]) -> Option<Figure> {
    let mut table = Table::new(
        "What each offset would deliver (simulated)",
        &[
            "offset",
            ">requests each second",
            ">from",
            ">to",
            ">read latency, mean",
            ">99%",
            ">write latency, mean",
            ">99%",
        ],
    );
    let mut points = Vec::new();
    let mut names = Vec::new();
    for (place, offset) in offsets.iter().enumerate() {
        let rate = offset.requests_per_second;
        points.push(Point {
            x: length(place),
            y: rate.mean,
            between: Some((rate.low, rate.high)),
        });
        names.push(offset.name.clone());
        let latency = |of: &Option<Latency>| {
            let pair = of.map(|l| [l.mean_nanoseconds, l.p99_nanoseconds]);
            #[expect(
                clippy::cast_precision_loss,
                reason = "a latency, of which three digits are shown"
            )]
            pair.map_or([String::new(), String::new()], |pair| {
                pair.map(|n| time(n as f64 / 1e9))
            })
        };
        let cells = [
            offset.name.clone(),
            rate_text(rate.mean),
            rate_text(rate.low),
            rate_text(rate.high),
        ];
        table.row(
            cells
                .into_iter()
                .chain(latency(&offset.read_latency))
                .chain(latency(&offset.write_latency)),
        );
    }
    let tracks = [Track {
        name: String::new(),
        points,
    }];
    Some(Figure {
        title: "Requests each second by offset".to_owned(),
        caption: "Mark: mean of the replicates; line: its 95% interval (simulated).".to_owned(),
        picture: Lines {
            title: "Requests each second by offset",
            said: "Requests each second that each offset would deliver; the table has the figures",
            x: "offset",
            y: "requests each second",
            tracks: &tracks,
            places: Some(&names),
            x_in_decades: false,
            y_in_decades: false,
            dense: false,
            scattered: true,
            diagonal: false,
            named: &[],
            write_x: round,
            write_y: round,
        }
        .draw()?,
        table,
        series: None,
    })
}

fn resources(offsets: &[Offset]) -> Option<Figure> {
    let mut table = Table::new(
        "How busy each resource is (simulated)",
        &["resource", ">how many", "offset", ">busy"],
    );
    let mut names: Vec<&str> = Vec::new();
    for resource in offsets.iter().flat_map(|offset| &offset.resources) {
        if !names.contains(&resource.name.as_str()) {
            names.push(&resource.name);
        }
    }
    let mut rows = Vec::new();
    for name in names {
        let mut group = Some(name.split(" (").next().unwrap_or(name).to_owned());
        for offset in offsets {
            let Some(resource) = offset.resources.iter().find(|r| r.name == name) else {
                continue;
            };
            table.row([
                name.to_owned(),
                resource.count.to_string(),
                offset.name.clone(),
                percent(resource.mean, 1),
            ]);
            rows.push(Row {
                group: group.take(),
                name: offset.name.clone(),
                low: 0.0,
                mean: resource.mean,
                high: resource.mean,
                look: Look::Bar,
                band: Some((0.0, 1.0)),
                figures: percent(resource.mean, 1),
            });
        }
    }
    let panels = [Panel {
        title: "Share of time that it works".to_owned(),
        names: "resource, offset".to_owned(),
        rows,
    }];
    Some(Figure {
        title: "Which resource saturates".to_owned(),
        caption: "A bar that reaches 100% is what limits. The band is 0 to 100%.".to_owned(),
        picture: Whiskers {
            title: "Which resource saturates",
            said: "Share of time that each resource works",
            panels: &panels,
            write: amount,
        }
        .draw()?,
        table,
        series: None,
    })
}

/// A share that is no gain.
fn amount(figure: f64, _: f64) -> String {
    percent(figure, 0)
}

fn sensitivity(of: &Sensitivity) -> Option<Figure> {
    let nominal = of.nominal?;
    let mut table = Table::new(
        "The gain when one assumption is another",
        &["assumption", "in the profile", "varied to", ">gain there"],
    );
    let mut rows = Vec::new();
    for varied in &of.varied {
        let mut ends: Vec<f64> = Vec::new();
        for end in &varied.ends {
            let at = match (end.gain, &end.refused) {
                (Some(gain), _) => percent(gain - 1.0, 2),
                (None, why) => format!("not known: {}", why.as_deref().unwrap_or("?")),
            };
            ends.extend(end.gain);
            table.row([
                varied.path.clone(),
                varied.value.clone(),
                end.value.clone(),
                at,
            ]);
        }
        let low = ends.iter().copied().fold(nominal, f64::min) - 1.0;
        let high = ends.iter().copied().fold(nominal, f64::max) - 1.0;
        rows.push(Row {
            group: None,
            name: varied.path.clone(),
            low,
            mean: nominal - 1.0,
            high,
            look: Look::Same,
            band: None,
            figures: format!("{} to {}", percent(low, 1), percent(high, 1)),
        });
    }
    let panels = [Panel {
        title: "Gain as each assumption takes the values that it may have".to_owned(),
        names: "assumption".to_owned(),
        rows,
    }];
    Some(Figure {
        title: "What the gain rests on".to_owned(),
        caption: "Dot: the gain with the profile as it is; line: how far one assumption alone moves it. The one that moves it most is first.".to_owned(),
        picture: Whiskers {
            title: "What the gain rests on",
            said: "How far each assumption moves the gain",
            panels: &panels,
            write: share,
        }
        .draw()?,
        table,
        series: None,
    })
}

fn comparison(of: &Comparison) -> Section {
    let mut section = Section::new("predict", format!("Variants by {}", of.keys.join(", ")));
    let name = |variant: &Variant| {
        let each = of
            .keys
            .iter()
            .zip(&variant.values)
            .map(|(key, value)| format!("{key} {value}"));
        each.collect::<Vec<_>>().join(", ")
    };
    let base = of.variants.first();
    let first = base.and_then(|variant| variant.offsets.first());
    let base = base.map(|variant| {
        format!(
            "{}, {}",
            name(variant),
            first.map_or("?", |o| o.name.as_str())
        )
    });
    let base = base.unwrap_or_default();
    section.answer = format!("Every gain is over {base} (simulated).");
    section
        .blocks
        .push(Block::Facts(vec![("asked".to_owned(), subject(&of.asked))]));
    let mut table = Table::new(
        format!("Gain over {base}"),
        &[
            "variant",
            "offset",
            ">requests each second",
            ">gain",
            ">from",
            ">to",
        ],
    );
    let mut rows = Vec::new();
    for variant in &of.variants {
        let mut group = Some(name(variant));
        for offset in &variant.offsets {
            let gain = offset.gain.as_ref();
            let part = |of: fn(&Interval) -> f64| {
                gain.map(|g| percent(of(&g.ratio) - 1.0, 2))
                    .unwrap_or_default()
            };
            table.row([
                name(variant),
                offset.name.clone(),
                rate_text(offset.requests_per_second.mean),
                part(|i| i.mean),
                part(|i| i.low),
                part(|i| i.high),
            ]);
            if let Some(one) = gain {
                rows.push(picture::row(
                    group.take(),
                    &offset.name,
                    one.ratio.into(),
                    one.verdict.into(),
                    None,
                ));
            }
        }
    }
    let panels = [Panel {
        title: format!("Beside {base}"),
        names: "variant, offset".to_owned(),
        rows,
    }];
    let figure = picture::picture(&base, &panels).map(|picture| Figure {
        title: "Gain of each variant".to_owned(),
        caption: "Dot: estimate; line: its 95% interval over replicates (simulated).".to_owned(),
        picture,
        table: table.clone(),
        series: None,
    });
    match figure {
        Some(figure) => section.blocks.push(Block::Figure(figure)),
        None => section.table(table),
    }
    section
}
