//! Series over an axis: rates by load, latencies by percentile, latency by rate, a baseline over time.

use super::{Axis, CHARACTER, LINE, Screen, length, line, mark, picture, room, short, text};
use crate::pages::block::Picture;
use std::fmt::Write;

const PLOT: f64 = 240.0;
const TOP: f64 = 12.0;
/// Series at one place stand beside each other, if there is room.
const APART: f64 = 9.0;
const LEGEND: f64 = 20.0;

/// What depends on the screen.
struct Layout {
    width: f64,
    left: f64,
    right: f64,
    /// Figures below the picture.
    ticks: f64,
    /// How far apart names have to be that stand at the same height.
    named: f64,
}

impl Layout {
    const fn on(screen: Screen) -> Layout {
        let width = screen.width();
        match screen {
            Screen::Wide => Layout {
                width,
                left: 84.0,
                right: width - 40.0,
                ticks: 7.0,
                named: 160.0,
            },
            Screen::Narrow => Layout {
                width,
                left: 66.0,
                right: width - 28.0,
                ticks: 4.0,
                named: 130.0,
            },
        }
    }
}

/// A figure at a place, with its interval where it has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// The ends of its interval.
    pub(crate) between: Option<(f64, f64)>,
}

/// A series.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Track {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

/// What is drawn.
pub(crate) struct Lines<'a> {
    pub(crate) title: &'a str,
    /// The same figures in words.
    pub(crate) said: &'a str,
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
    pub(crate) tracks: &'a [Track],
    /// Names of the places 0, 1, 2 …, in place of figures.
    pub(crate) places: Option<&'a [String]>,
    /// Powers of ten on the x axis.
    pub(crate) x_in_decades: bool,
    /// Powers of ten on the y axis, which has no zero then.
    pub(crate) y_in_decades: bool,
    /// Without marks: so many points that they are a line.
    pub(crate) dense: bool,
    /// Points without lines between them.
    pub(crate) scattered: bool,
    /// A line on which both axes are the same.
    pub(crate) diagonal: bool,
    /// A point to be named: `knee`.
    pub(crate) named: &'a [(f64, f64, String)],
    pub(crate) write_x: fn(f64) -> String,
    pub(crate) write_y: fn(f64) -> String,
}

impl Lines<'_> {
    /// The picture; `None` without a point.
    pub(crate) fn draw(&self) -> Option<Picture> {
        Picture::of(|screen| self.on(screen))
    }

    fn on(&self, screen: Screen) -> Option<String> {
        let points = || self.tracks.iter().flat_map(|track| &track.points);
        points().next()?;
        let layout = Layout::on(screen);
        let Layout { left, right, .. } = layout;
        let legend = self.legend(&layout);
        let rows = legend.last().map_or(0.0, |(_, row, _)| row + 1.0);
        let top = TOP + rows * LEGEND + 8.0;
        let bottom = top + PLOT;
        let x = self.across(points(), &layout);
        let most = points().map(|p| p.between.map_or(p.y, |(_, high)| high));
        let most = most.fold(0.0, f64::max);
        let y = if self.y_in_decades {
            let least = points().map(|p| p.y).filter(|y| *y > 0.0);
            let least = least.fold(f64::INFINITY, f64::min);
            Axis::logarithmic(least / 1.3, most * 1.3, (bottom, top))
        } else {
            Axis::even(0.0, most, 5.0, (bottom, top)).rounded()
        };
        let mut out = String::new();
        for (index, (from, row, name)) in legend.iter().enumerate() {
            let middle = TOP + row * LEGEND + 6.0;
            mark(&mut out, index, from + 6.0, middle);
            text(&mut out, from + 18.0, middle + 4.5, "", name);
        }
        for figure in y.lines() {
            let at = y.place(figure);
            line(&mut out, "grid", (left, at), (right, at));
            let figure = (self.write_y)(figure);
            text(&mut out, left - 8.0, at + 4.5, "quiet end", &figure);
        }
        if self.places.is_none() {
            for figure in x.lines() {
                let at = x.place(figure);
                line(&mut out, "grid", (at, top), (at, bottom));
            }
        }
        let mut under = bottom + LINE + self.below(&x, bottom, &layout, &mut out);
        line(&mut out, "zero", (left, bottom), (right, bottom));
        let upwards = format!("upwards: {}", self.y);
        let both = length(upwards.chars().count() + self.x.chars().count() + 3) * CHARACTER;
        let is_one_line = both < right - left;
        let from = if is_one_line { left } else { 8.0 };
        text(&mut out, from, under + LINE, "quiet", &upwards);
        if !is_one_line {
            under += LINE;
        }
        text(&mut out, right, under + LINE, "quiet end", self.x);
        if self.diagonal {
            let least = points().map(|p| p.x.max(p.y)).fold(f64::INFINITY, f64::min);
            let far = points().map(|p| p.x.min(p.y)).fold(0.0, f64::max);
            line(
                &mut out,
                "zero",
                (x.place(least), y.place(least)),
                (x.place(far), y.place(far)),
            );
        }
        for (series, track) in self.tracks.iter().enumerate() {
            self.track(series, track, &x, &y, &mut out);
        }
        self.names(&x, &y, &layout, &mut out);
        let height = under + LINE + 10.0;
        Some(picture(layout.width, height, self.title, self.said, &out))
    }

    /// Names or figures below the x axis; by how much more than one line.
    fn below(&self, x: &Axis, bottom: f64, layout: &Layout, out: &mut String) -> f64 {
        let under = bottom + LINE;
        let Some(names) = self.places else {
            for figure in x.lines() {
                let name = if figure == 0.0 {
                    "0".to_owned()
                } else {
                    (self.write_x)(figure)
                };
                text(out, x.place(figure), under, "quiet mid", &name);
            }
            return 0.0;
        };
        let each = (layout.right - layout.left) / length(names.len()).max(1.0);
        let longest = names.iter().map(|name| name.chars().count()).max();
        // Those for which there is no room beside each other stand in two lines.
        let rows = if longest > Some(room(each).max(3)) {
            2
        } else {
            1
        };
        for (index, name) in names.iter().enumerate() {
            let name = short(name, room(each * length(rows)).max(3));
            let y = under + length(index % rows) * LINE;
            text(out, x.place(length(index)), y, "quiet mid", &name);
        }
        length(rows - 1) * LINE
    }

    /// Points that have a name.
    fn names(&self, x: &Axis, y: &Axis, layout: &Layout, out: &mut String) {
        let mut written: Vec<(f64, f64)> = Vec::new();
        for (at, height, name) in self.named {
            let (at, height) = (x.place(*at), y.place(*height));
            let _ = writeln!(
                out,
                "<circle class=\"ring\" cx=\"{at:.1}\" cy=\"{height:.1}\" r=\"9\"/>"
            );
            // Names that would lie on each other are in the table.
            if written
                .iter()
                .any(|(x, y)| (x - at).abs() < layout.named && (y - height).abs() < 16.0)
            {
                continue;
            }
            written.push((at, height));
            let end = at > f64::midpoint(layout.left, layout.right);
            let (class, aside) = if end { ("end", -12.0) } else { ("", 12.0) };
            text(out, at + aside, height - 10.0, class, name);
        }
    }

    fn across<'a>(&self, points: impl Iterator<Item = &'a Point> + Clone, layout: &Layout) -> Axis {
        let ends = (layout.left, layout.right);
        if let Some(names) = self.places {
            // Half a place of room at either end.
            return Axis::even(-0.5, length(names.len()) - 0.5, 1.0, ends);
        }
        let least = points.clone().map(|p| p.x).fold(f64::INFINITY, f64::min);
        let most = points.map(|p| p.x).fold(f64::NEG_INFINITY, f64::max);
        if self.x_in_decades {
            Axis::logarithmic(least, most, ends)
        } else {
            Axis::even(least.min(0.0), most, layout.ticks, ends).rounded()
        }
    }

    /// Where each name stands: its left end, its row, and what is written.
    fn legend(&self, layout: &Layout) -> Vec<(f64, f64, String)> {
        let (mut left, mut row) = (layout.left, 0.0);
        let mut out = Vec::new();
        if self.tracks.len() < 2 && self.tracks.iter().all(|track| track.name.is_empty()) {
            return out;
        }
        for track in self.tracks {
            let name = short(&track.name, 36);
            let width = 18.0 + length(name.chars().count()) * CHARACTER + 18.0;
            if left + width > layout.right && left > layout.left {
                (left, row) = (layout.left, row + 1.0);
            }
            out.push((left, row, name));
            left += width;
        }
        out
    }

    fn track(&self, series: usize, track: &Track, x: &Axis, y: &Axis, out: &mut String) {
        let class = format!("s{} d{}", series % 6, series / 6 % 2);
        let aside = match self.places {
            Some(_) => {
                let all = length(self.tracks.len());
                let apart = APART.min((x.place(1.0) - x.place(0.0)) * 0.8 / all);
                (length(series) - (all - 1.0) / 2.0) * apart
            }
            None => 0.0,
        };
        if !self.scattered && track.points.len() > 1 {
            let mut path = String::new();
            for (index, point) in track.points.iter().enumerate() {
                let pen = if index == 0 { 'M' } else { 'L' };
                let _ = write!(
                    path,
                    "{pen}{:.1} {:.1}",
                    x.place(point.x) + aside,
                    y.place(point.y)
                );
            }
            let _ = writeln!(out, "<path class=\"curve {class}\" d=\"{path}\"/>");
        }
        for point in &track.points {
            let at = x.place(point.x) + aside;
            if let Some((low, high)) = point.between {
                line(
                    out,
                    &format!("bar {class}"),
                    (at, y.place(low)),
                    (at, y.place(high)),
                );
                for end in [low, high] {
                    let end = y.place(end);
                    line(
                        out,
                        &format!("bar {class}"),
                        (at - 3.0, end),
                        (at + 3.0, end),
                    );
                }
            }
            if !self.dense {
                mark(out, series, at, y.place(point.y));
            }
        }
    }
}
