//! Series over an axis: rates by load, latencies by percentile, latency by rate, a baseline over time.

use super::{Axis, CHARACTER, length, line, mark, picture, short, text};
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const PLOT: f64 = 240.0;
const TOP: f64 = 12.0;
const FOOT: f64 = 46.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 40.0;
/// Series at one place stand beside each other.
const APART: f64 = 9.0;
const LEGEND: f64 = 20.0;

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
    pub(crate) fn draw(&self) -> Option<String> {
        let points = || self.tracks.iter().flat_map(|track| &track.points);
        points().next()?;
        let legend = self.legend();
        let rows = legend.last().map_or(0.0, |(_, row, _)| row + 1.0);
        let top = TOP + rows * LEGEND + 8.0;
        let (bottom, right) = (top + PLOT, WIDTH - RIGHT);
        let x = self.across(points(), (LEFT, right));
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
        for (index, (left, row, name)) in legend.iter().enumerate() {
            let middle = TOP + row * LEGEND + 6.0;
            mark(&mut out, index, left + 6.0, middle);
            text(&mut out, left + 18.0, middle + 4.5, "", name);
        }
        for figure in y.lines() {
            let at = y.place(figure);
            line(&mut out, "grid", (LEFT, at), (right, at));
            text(
                &mut out,
                LEFT - 8.0,
                at + 4.5,
                "quiet end",
                &(self.write_y)(figure),
            );
        }
        let under = bottom + 18.0;
        match self.places {
            Some(names) => {
                let room = ((right - LEFT) / length(names.len()).max(1.0) / CHARACTER).max(3.0);
                for (index, name) in names.iter().enumerate() {
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "a few characters"
                    )]
                    let name = short(name, room as usize);
                    text(&mut out, x.place(length(index)), under, "quiet mid", &name);
                }
            }
            None => {
                for figure in x.lines() {
                    let at = x.place(figure);
                    line(&mut out, "grid", (at, top), (at, bottom));
                    text(&mut out, at, under, "quiet mid", &(self.write_x)(figure));
                }
            }
        }
        line(&mut out, "zero", (LEFT, bottom), (right, bottom));
        text(&mut out, right, bottom + 38.0, "quiet end", self.x);
        text(
            &mut out,
            LEFT,
            bottom + 38.0,
            "quiet",
            &format!("upwards: {}", self.y),
        );
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
                .any(|(x, y)| (x - at).abs() < 160.0 && (y - height).abs() < 16.0)
            {
                continue;
            }
            written.push((at, height));
            let end = at > (LEFT + right) / 2.0;
            let (class, aside) = if end { ("end", -12.0) } else { ("", 12.0) };
            text(&mut out, at + aside, height - 10.0, class, name);
        }
        Some(picture(WIDTH, bottom + FOOT, self.title, self.said, &out))
    }

    fn across<'a>(
        &self,
        points: impl Iterator<Item = &'a Point> + Clone,
        ends: (f64, f64),
    ) -> Axis {
        if let Some(names) = self.places {
            // Half a place of room at either end.
            return Axis::even(-0.5, length(names.len()) - 0.5, 1.0, ends);
        }
        let least = points.clone().map(|p| p.x).fold(f64::INFINITY, f64::min);
        let most = points.map(|p| p.x).fold(f64::NEG_INFINITY, f64::max);
        if self.x_in_decades {
            Axis::logarithmic(least, most, ends)
        } else {
            Axis::even(least.min(0.0), most, 7.0, ends).rounded()
        }
    }

    /// Where each name stands: its left end, its row, and what is written.
    fn legend(&self) -> Vec<(f64, f64, String)> {
        let (mut left, mut row) = (LEFT, 0.0);
        let mut out = Vec::new();
        if self.tracks.len() < 2 && self.tracks.iter().all(|track| track.name.is_empty()) {
            return out;
        }
        for track in self.tracks {
            let name = short(&track.name, 36);
            let width = 18.0 + length(name.chars().count()) * CHARACTER + 18.0;
            if left + width > WIDTH - RIGHT && left > LEFT {
                (left, row) = (LEFT, row + 1.0);
            }
            out.push((left, row, name));
            left += width;
        }
        out
    }

    fn track(&self, series: usize, track: &Track, x: &Axis, y: &Axis, out: &mut String) {
        let class = format!("s{} d{}", series % 6, series / 6 % 2);
        let aside = match self.places {
            Some(_) => (length(series) - (length(self.tracks.len()) - 1.0) / 2.0) * APART,
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
