//! Rows with a dot for an estimate and a line for its interval, beside a line for nothing: gains, errors, sensitivities, and
//! bars from zero.

use super::{Axis, CHARACTER, LINE, Screen, length, line, lines, picture, room, short, text};
use crate::pages::block::Picture;
use std::fmt::Write;

/// Blanks between groups, and above and below them.
const GAP: f64 = 8.0;
/// Blanks around the picture, and between its columns.
const MARGIN: f64 = 16.0;
/// Longest name that is written in full.
const NAME: usize = 32;
/// Width of the axis on a wide screen.
const AXIS: f64 = 340.0;
/// Height of the axis' numbers.
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
    pub(crate) fn draw(&self) -> Option<Picture> {
        Picture::of(|screen| self.on(screen))
    }

    fn on(&self, screen: Screen) -> Option<String> {
        let rows = || self.panels.iter().flat_map(|panel| &panel.rows);
        rows().next()?;
        let columns = Columns::over(rows(), screen);
        let axis = axis(rows(), &columns);
        let mut out = String::new();
        let mut top = 0.0;
        for panel in self.panels {
            top = self.panel(&columns, &axis, panel, top, &mut out);
        }
        let said = self.words();
        Some(picture(columns.width, top, self.title, &said, &out))
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

    /// A panel that begins at `top`; where it ends.
    fn panel(
        &self,
        columns: &Columns,
        axis: &Axis,
        panel: &Panel,
        top: f64,
        out: &mut String,
    ) -> f64 {
        let room = room(columns.width - 2.0 * MARGIN);
        let head = lines(out, (MARGIN, top + 20.0), "head", &panel.title, room);
        let from = top + 2.0 + length(head) * LINE;
        let names = lines(out, (MARGIN, from + LINE), "quiet", &panel.names, room);
        let from = from + 6.0 + length(names) * LINE;
        // Lines of the axis lie below the rows, whose end is not known before they are drawn.
        let mut rows = String::new();
        let mut y = from + GAP;
        for (index, row) in panel.rows.iter().enumerate() {
            if row.group.is_some() && index > 0 {
                y += GAP;
            }
            y = columns.row(axis, row, y, &mut rows);
        }
        let to = y + GAP;
        for figure in axis.lines() {
            let x = axis.place(figure);
            let class = if figure.abs() < axis.step() / 2.0 {
                "zero"
            } else {
                "grid"
            };
            line(out, class, (x, from), (x, to));
            let figure = (self.write)(figure, axis.step());
            text(out, x, to + 16.0, "quiet mid", &figure);
        }
        out.push_str(&rows);
        to + FOOT
    }
}

/// Where things stand.
struct Columns {
    /// Where names of groups end, beside those of rows; nothing where a row has a line of text of its own.
    groups: Option<f64>,
    /// Where the axis begins, and where it ends.
    axis: (f64, f64),
    /// Lines of the axis, about.
    ticks: f64,
    width: f64,
}

impl Columns {
    fn over<'a>(rows: impl Iterator<Item = &'a Row> + Clone, screen: Screen) -> Columns {
        if screen == Screen::Narrow {
            let width = screen.width();
            return Columns {
                groups: None,
                // Half of a number stands beyond either end.
                axis: (2.0 * MARGIN + 4.0, width - 2.0 * MARGIN - 4.0),
                ticks: 4.0,
                width,
            };
        }
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
        let names = widest(&mut rows.clone().map(|r| r.name.as_str()), 8);
        let axis = groups + MARGIN + names + MARGIN;
        let figures = rows.map(|row| row.figures.chars().count()).max();
        let figures = length(figures.unwrap_or(0).max(8)) * CHARACTER;
        Columns {
            groups: Some(groups),
            axis: (axis, axis + AXIS),
            ticks: 7.0,
            width: axis + AXIS + MARGIN + figures + MARGIN,
        }
    }

    /// A row that begins at `top`; where it ends.
    fn row(&self, axis: &Axis, row: &Row, top: f64, out: &mut String) -> f64 {
        let (left, right) = self.axis;
        let group = row.group.as_deref();
        let Some(groups) = self.groups else {
            // What it is and comes to stands above it.
            let (left, right) = (MARGIN, self.width - MARGIN);
            let mut y = top;
            if let Some(group) = group {
                text(
                    out,
                    left,
                    y + 13.0,
                    "head",
                    &short(group, room(right - left)),
                );
                y += LINE;
            }
            let figures = length(row.figures.chars().count() + 1) * CHARACTER;
            let name = short(&row.name, room(right - left - figures));
            text(out, left, y + 13.0, "", &name);
            text(out, right, y + 13.0, "end", &row.figures);
            draw(axis, row, y + LINE + LINE / 2.0, out);
            return y + 2.0 * LINE;
        };
        let middle = top + LINE / 2.0;
        if let Some(group) = group {
            text(out, groups, middle + 4.5, "end", &short(group, NAME));
        }
        let name = short(&row.name, NAME);
        text(out, left - MARGIN, middle + 4.5, "end", &name);
        draw(axis, row, middle, out);
        text(out, right + MARGIN, middle + 4.5, "", &row.figures);
        top + LINE
    }
}

/// Wide enough for zero and all intervals that prove something; of the others, for what fits: one that proves nothing
/// can be a hundred times as wide.
fn axis<'a>(rows: impl Iterator<Item = &'a Row> + Clone, columns: &Columns) -> Axis {
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
    Axis::even(low - below, high + room, columns.ticks, columns.axis)
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
