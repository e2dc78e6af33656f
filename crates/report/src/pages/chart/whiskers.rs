//! Rows with a dot for an estimate and a line for its interval, beside a line for nothing: gains, errors, sensitivities, and
//! bars from zero.

use super::{Axis, CHARACTER, length, line, picture, short, text};
use std::fmt::Write;

/// Height of a line.
const LINE: f64 = 18.0;
/// Blanks between groups, and above and below them.
const GAP: f64 = 8.0;
/// Blanks around the picture, and between its columns.
const MARGIN: f64 = 16.0;
/// Longest name that is written in full.
const NAME: usize = 32;
/// Width of the axis.
const AXIS: f64 = 340.0;
/// Height of a panel's heading, and of the axis' numbers.
const HEAD: f64 = 44.0;
const FOOT: f64 = 40.0;

/// What a row looks like. What is proven is full, what is not is hollow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Proven to be better.
    Better,
    /// Proven to be worse.
    Worse,
    /// Proven to be as good as equal.
    Same,
    /// Not proven.
    Open,
    /// A bar from zero.
    Bar,
}

impl Look {
    const fn class(self) -> &'static str {
        match self {
            Look::Better => "faster",
            Look::Worse => "slower",
            Look::Same => "same",
            Look::Open => "open",
            Look::Bar => "amount",
        }
    }
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// Of the first row of a group: its name.
    pub(crate) group: Option<String>,
    pub(crate) name: String,
    pub(crate) low: f64,
    pub(crate) mean: f64,
    pub(crate) high: f64,
    pub(crate) look: Look,
    /// What is allowed or is noise: a band behind the row.
    pub(crate) band: Option<(f64, f64)>,
    /// The figures in words.
    pub(crate) figures: String,
}

/// Rows under a heading.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Panel {
    pub(crate) title: String,
    /// What the columns of names are.
    pub(crate) names: String,
    pub(crate) rows: Vec<Row>,
}

impl Panel {
    fn body(&self) -> f64 {
        let groups = self.rows.iter().filter(|row| row.group.is_some()).count();
        length(self.rows.len()) * LINE + length(groups.max(1) + 1) * GAP
    }

    fn height(&self) -> f64 {
        HEAD + self.body() + FOOT
    }
}

/// What is drawn: panels on one axis.
pub(crate) struct Whiskers<'a> {
    pub(crate) title: &'a str,
    /// Stands in front of what the rows say, for those who do not see them.
    pub(crate) said: &'a str,
    pub(crate) panels: &'a [Panel],
    /// How a figure of the axis is written, given the distance of the lines.
    pub(crate) write: fn(f64, f64) -> String,
}

impl Whiskers<'_> {
    /// The picture; `None` without a row.
    pub(crate) fn draw(&self) -> Option<String> {
        let rows = || self.panels.iter().flat_map(|panel| &panel.rows);
        rows().next()?;
        let columns = Columns::over(rows());
        let axis = axis(rows(), columns.axis);
        let figures = rows().map(|row| row.figures.chars().count()).max();
        let width =
            columns.axis + AXIS + MARGIN + length(figures.unwrap_or(0).max(8)) * CHARACTER + MARGIN;
        let mut out = String::new();
        let mut top = 0.0;
        for panel in self.panels {
            self.panel(&columns, &axis, panel, top, &mut out);
            top += panel.height();
        }
        Some(picture(width, top, self.title, &self.words(), &out))
    }

    /// The same for those who do not see it.
    fn words(&self) -> String {
        let mut out = Vec::new();
        for panel in self.panels {
            let mut group = "";
            let rows = panel.rows.iter().map(|row| {
                group = row.group.as_deref().unwrap_or(group);
                let group = if group.is_empty() {
                    String::new()
                } else {
                    format!("{group}, ")
                };
                format!("{group}{}: {}", row.name, row.figures)
            });
            out.push(format!(
                "{}: {}",
                panel.title,
                rows.collect::<Vec<_>>().join("; ")
            ));
        }
        format!("{}. {}", self.said, out.join(". "))
    }

    fn panel(&self, columns: &Columns, axis: &Axis, panel: &Panel, top: f64, out: &mut String) {
        let (from, to) = (top + HEAD, top + HEAD + panel.body());
        text(out, MARGIN, top + 20.0, "head", &panel.title);
        text(out, MARGIN, top + 38.0, "quiet", &panel.names);
        for figure in axis.lines() {
            let x = axis.place(figure);
            let class = if figure.abs() < axis.step() / 2.0 {
                "zero"
            } else {
                "grid"
            };
            line(out, class, (x, from), (x, to));
            text(
                out,
                x,
                to + 16.0,
                "quiet mid",
                &(self.write)(figure, axis.step()),
            );
        }
        let mut y = from + GAP + LINE / 2.0;
        for (index, row) in panel.rows.iter().enumerate() {
            if let Some(group) = &row.group {
                if index > 0 {
                    y += GAP;
                }
                text(out, columns.groups, y + 4.5, "end", &short(group, NAME));
            }
            text(
                out,
                columns.axis - MARGIN,
                y + 4.5,
                "end",
                &short(&row.name, NAME),
            );
            draw(axis, row, y, out);
            text(out, columns.axis + AXIS + MARGIN, y + 4.5, "", &row.figures);
            y += LINE;
        }
    }
}

/// Where names of groups end, and where the axis begins.
struct Columns {
    groups: f64,
    axis: f64,
}

impl Columns {
    fn over<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> Columns {
        let widest = |texts: &mut dyn Iterator<Item = &str>, least: usize| {
            let most = texts.map(|t| t.chars().count()).max().unwrap_or(0);
            CHARACTER * length(most.clamp(least, NAME))
        };
        let has_groups = rows.clone().any(|row| row.group.is_some());
        let groups = if has_groups {
            MARGIN + widest(&mut rows.clone().filter_map(|r| r.group.as_deref()), 8)
        } else {
            0.0
        };
        let names = widest(&mut rows.map(|r| r.name.as_str()), 8);
        Columns {
            groups,
            axis: groups + MARGIN + names + MARGIN,
        }
    }
}

/// Wide enough for zero and all intervals that prove something; of the others, for what fits: one that proves nothing
/// can be a hundred times as wide.
fn axis<'a>(rows: impl Iterator<Item = &'a Row> + Clone, left: f64) -> Axis {
    let ends = |rows: &mut dyn Iterator<Item = &'a Row>| {
        rows.fold((0.0_f64, 0.0_f64), |(low, high), row| {
            let (least, most) = row.band.unwrap_or((0.0, 0.0));
            (low.min(row.low).min(least), high.max(row.high).max(most))
        })
    };
    let proves = |row: &&Row| row.look != Look::Open;
    let (low, high) = if rows.clone().any(|row| proves(&row)) {
        ends(&mut rows.clone().filter(proves))
    } else {
        ends(&mut rows.clone())
    };
    // Room for the caps of an interval, and for one that is nothing but zero.
    let room = ((high - low) * 0.04).max(0.001);
    let below = if low < 0.0 || rows.clone().any(|row| row.look != Look::Bar) {
        room
    } else {
        0.0
    };
    Axis::even(low - below, high + room, 7.0, (left, left + AXIS))
}

fn draw(axis: &Axis, row: &Row, y: f64, out: &mut String) {
    if let Some((low, high)) = row.band {
        let (left, right) = (axis.place(low), axis.place(high));
        let _ = writeln!(
            out,
            "<rect class=\"band\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{LINE}\"/>",
            y - LINE / 2.0,
            right - left
        );
    }
    let _ = writeln!(out, "<g class=\"{}\">", row.look.class());
    if row.look == Look::Bar {
        let (left, right) = (axis.place(0.0), axis.place(row.mean));
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"12\"/>\n</g>",
            y - 6.0,
            (right - left).max(0.0)
        );
        return;
    }
    line(
        out,
        "bar",
        (axis.place(row.low), y),
        (axis.place(row.high), y),
    );
    for end in [row.low, row.high] {
        // An end beyond the axis has no cap: the line goes on.
        if axis.holds(end) {
            let x = axis.place(end);
            line(out, "bar", (x, y - 4.0), (x, y + 4.0));
        }
    }
    if axis.holds(row.mean) {
        let _ = writeln!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\"/>",
            axis.place(row.mean)
        );
    }
    out.push_str("</g>\n");
}
