//! What each offset gains, as a picture: a dot for the estimate, a line for its 95% interval.
//!
//! SVG as text, without a library: a few dozen shapes whose places are known. Names come from users and are escaped.

use std::fmt::Write;

use straddle_bench::results::{Experiment, Gain};
use straddle_workload::interval::{Interval, Verdict};

use super::wording::{cell, gain, groups, load, offset_name};
use crate::escape::xml;

/// Height of a line.
const LINE: f64 = 18.0;
/// Blanks between cells, and above and below them.
const GAP: f64 = 8.0;
/// Blanks around the picture, and between its columns.
const MARGIN: f64 = 16.0;
/// Width that a character is given; the widest fonts that browsers take for the style take less.
const CHARACTER: f64 = 7.5;
/// Longest name of an offset that is written in full.
const NAME: usize = 24;
/// Width of the axis.
const AXIS: f64 = 380.0;
/// Width of the figures beside it.
const RIGHT: f64 = 190.0;
/// Height of a panel's heading, and of the axis' numbers.
const HEAD: f64 = 44.0;
const FOOT: f64 = 40.0;

/// Colours on light and on dark pages. What is proven is a full dot, what is not a hollow one, so that nothing is in colour
/// alone.
const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#1f2328}\
.head{font-weight:600}.quiet{fill:#59636e}.end{text-anchor:end}.mid{text-anchor:middle}\
.page{fill:#fff}.grid{stroke:#d1d9e0}.zero{stroke:#1f2328}\
.faster{stroke:#0b6e4f;fill:#0b6e4f}.slower{stroke:#b5310f;fill:#b5310f}\
.same{stroke:#59636e;fill:#fff}.open{stroke:#59636e;fill:#fff;stroke-dasharray:2 2}\
line{stroke-width:1}.bar{stroke-width:2}circle{stroke-width:2;stroke-dasharray:none}\
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.quiet{fill:#9198a1}.page,.same,.open{fill:#0d1117}\
.grid{stroke:#3d444d}.zero{stroke:#f0f6fc}.faster{stroke:#4cc38a;fill:#4cc38a}.slower{stroke:#ff8566;fill:#ff8566}\
.same,.open{stroke:#9198a1}}";

/// One line of the picture.
struct Row<'a> {
    /// Threads and outstanding requests; only on the first line of a cell.
    load: Option<String>,
    offset: &'a str,
    ratio: Interval,
    verdict: Verdict,
}

/// The gains of every cell over the baseline; `None` when no comparison has an interval.
#[must_use]
pub fn gains(experiment: &Experiment) -> Option<String> {
    let panels: Vec<(String, Vec<Row<'_>>)> = groups(&experiment.plan)
        .into_iter()
        .map(|group| {
            let cells = group.cells.iter();
            (
                group.title,
                cells.flat_map(|c| rows(experiment, *c)).collect(),
            )
        })
        .filter(|(_, rows): &(_, Vec<_>)| !rows.is_empty())
        .collect();
    let axis = Axis::over(panels.iter().flat_map(|(_, rows)| rows))?;
    let base = offset_name(&experiment.plan, 0);
    let height: f64 = panels.iter().map(|(_, rows)| panel_height(rows)).sum();
    let width = axis.left + AXIS + RIGHT;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\">\n<title>Gain over {}</title>\n<desc>Requests each second beside {}, with 95% intervals: {}</desc>\n\
         <style>{STYLE}</style>\n<rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n",
        xml(base),
        xml(base),
        xml(&said(&panels)),
    );
    let mut top = 0.0;
    for (title, rows) in &panels {
        panel(&axis, base, title, rows, top, &mut out);
        top += panel_height(rows);
    }
    out.push_str("</svg>\n");
    Some(out)
}

fn rows(experiment: &Experiment, index: usize) -> Vec<Row<'_>> {
    let Some(result) = cell(experiment, index) else {
        return Vec::new();
    };
    let mut name = experiment.plan.cells.get(index).map(load);
    let row = |gain: &Gain| {
        Some(Row {
            ratio: gain.ratio?,
            load: name.take(),
            offset: offset_name(&experiment.plan, gain.offset),
            verdict: gain.verdict,
        })
    };
    result.gains.iter().filter_map(row).collect()
}

/// The same for those who do not see it.
fn said(panels: &[(String, Vec<Row<'_>>)]) -> String {
    let mut out = Vec::new();
    for (title, rows) in panels {
        let mut load = "";
        for row in rows {
            load = row.load.as_deref().unwrap_or(load);
            out.push(format!(
                "{title}, {load}, {}: {}",
                row.offset,
                gain(row.ratio)
            ));
        }
    }
    out.join("; ")
}

/// From shares to places.
struct Axis {
    /// Where loads end, and where the axis begins.
    loads: f64,
    left: f64,
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    /// Wide enough for zero and all intervals that prove something; of the others, for what fits: one that proves nothing
    /// can be a hundred times as wide.
    fn over<'a>(rows: impl Iterator<Item = &'a Row<'a>> + Clone) -> Option<Axis> {
        let ends = |rows: &mut dyn Iterator<Item = &'a Row<'a>>| {
            rows.fold((0.0_f64, 0.0_f64), |(low, high), row| {
                (low.min(row.ratio.low - 1.0), high.max(row.ratio.high - 1.0))
            })
        };
        rows.clone().next()?;
        let proves = |row: &&Row<'_>| row.verdict != Verdict::NotEnoughEvidence;
        let (low, high) = if rows.clone().any(|row| proves(&row)) {
            ends(&mut rows.clone().filter(proves))
        } else {
            ends(&mut rows.clone())
        };
        // Room for the caps of an interval, and for one that is nothing but zero.
        let room = ((high - low) * 0.04).max(0.001);
        let (low, high) = (low - room, high + room);
        // About seven lines, on round figures.
        let rough = (high - low) / 7.0;
        let magnitude = 10_f64.powi(magnitude(rough));
        let step = [1.0, 2.0, 5.0].map(|n| n * magnitude).into_iter();
        let step = step.fold(10.0 * magnitude, |best, step| {
            if step >= rough { best.min(step) } else { best }
        });
        let widest = |texts: &mut dyn Iterator<Item = &str>, least: usize| {
            let most = texts.map(|t| t.chars().count()).max().unwrap_or(0);
            CHARACTER * length(most.clamp(least, NAME))
        };
        let loads = MARGIN + widest(&mut rows.clone().filter_map(|r| r.load.as_deref()), 8);
        let names = widest(&mut rows.clone().map(|r| r.offset), 8);
        Some(Axis {
            loads,
            left: loads + MARGIN + names + MARGIN,
            low,
            high,
            step,
        })
    }

    fn place(&self, share: f64) -> f64 {
        let within = share.clamp(self.low, self.high);
        self.left + (within - self.low) / (self.high - self.low) * AXIS
    }

    fn holds(&self, share: f64) -> bool {
        (self.low..=self.high).contains(&share)
    }

    /// Shares at which lines are drawn.
    fn lines(&self) -> impl Iterator<Item = f64> {
        let (step, high) = (self.step, self.high);
        let first = (self.low / step).ceil();
        (0..50_u32)
            .map(move |n| (first + f64::from(n)) * step)
            .take_while(move |share| *share <= high)
    }

    /// A share in as many digits as the lines are apart.
    fn label(&self, share: f64) -> String {
        let digits = match self.step {
            step if step >= 0.009_9 => 0,
            step if step >= 0.000_99 => 1,
            _ => 2,
        };
        let text = super::wording::percent(share, digits);
        if share > self.step / 2.0 {
            format!("+{text}")
        } else {
            text
        }
    }
}

/// The power of ten of a positive number; by comparing, since logarithms differ from machine to machine.
fn magnitude(number: f64) -> i32 {
    (-9..9)
        .rev()
        .find(|n| 10_f64.powi(*n) <= number)
        .unwrap_or(-9)
}

fn panel_height(rows: &[Row<'_>]) -> f64 {
    HEAD + body_height(rows) + FOOT
}

fn body_height(rows: &[Row<'_>]) -> f64 {
    let cells = rows.iter().filter(|row| row.load.is_some()).count();
    length(rows.len()) * LINE + length(cells + 1) * GAP
}

#[expect(clippy::cast_precision_loss, reason = "a few dozen of something")]
fn length(count: usize) -> f64 {
    count as f64
}

/// A name that fits its column.
fn short(name: &str) -> String {
    if name.chars().count() <= NAME {
        return name.to_owned();
    }
    name.chars().take(NAME - 1).chain(['…']).collect()
}

fn panel(axis: &Axis, base: &str, title: &str, rows: &[Row<'_>], top: f64, out: &mut String) {
    let (from, to) = (top + HEAD, top + HEAD + body_height(rows));
    let head = format!("{title}: requests each second beside {}", short(base));
    text(out, MARGIN, top + 20.0, "head", &head);
    text(
        out,
        MARGIN,
        top + 38.0,
        "quiet",
        "threads × outstanding, offset",
    );
    let under = to + 16.0;
    for share in axis.lines() {
        let x = axis.place(share);
        let class = if share.abs() < axis.step / 2.0 {
            "zero"
        } else {
            "grid"
        };
        line(out, class, (x, from), (x, to));
        text(out, x, under, "quiet mid", &axis.label(share));
    }
    let mut y = from + GAP + LINE / 2.0;
    for (index, row) in rows.iter().enumerate() {
        if let Some(load) = &row.load {
            if index > 0 {
                y += GAP;
            }
            text(out, axis.loads, y + 4.5, "end", load);
        }
        text(out, axis.left - MARGIN, y + 4.5, "end", &short(row.offset));
        whisker(axis, row, y, out);
        text(
            out,
            axis.left + AXIS + MARGIN,
            y + 4.5,
            "",
            &gain(row.ratio),
        );
        y += LINE;
    }
}

fn whisker(axis: &Axis, row: &Row<'_>, y: f64, out: &mut String) {
    let (low, mean, high) = (
        row.ratio.low - 1.0,
        row.ratio.mean - 1.0,
        row.ratio.high - 1.0,
    );
    let class = match row.verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NoDifferenceAbove(_) => "same",
        Verdict::NotEnoughEvidence => "open",
    };
    let _ = writeln!(out, "<g class=\"{class}\">");
    line(out, "bar", (axis.place(low), y), (axis.place(high), y));
    for end in [low, high] {
        // An end beyond the axis has no cap: the line goes on.
        if axis.holds(end) {
            let x = axis.place(end);
            line(out, "bar", (x, y - 4.0), (x, y + 4.0));
        }
    }
    if axis.holds(mean) {
        let _ = writeln!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\"/>",
            axis.place(mean)
        );
    }
    out.push_str("</g>\n");
}

fn line(out: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let _ = writeln!(
        out,
        "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn text(out: &mut String, x: f64, y: f64, class: &str, text: &str) {
    let class = if class.is_empty() {
        String::new()
    } else {
        format!(" class=\"{class}\"")
    };
    let _ = writeln!(
        out,
        "<text{class} x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
        xml(text)
    );
}
