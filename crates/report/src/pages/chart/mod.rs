//! Pictures of figures: SVG as text, a few dozen shapes whose places are known.
//!
//! Nothing is in colour alone: series have marks of their own, verdicts are full or hollow. Names come from outside and are
//! escaped where they are written.

mod axis;
mod lines;
mod whiskers;

pub(crate) use axis::Axis;
pub(crate) use lines::{Lines, Point, Track};
pub(crate) use whiskers::{Look, Panel, Row, Whiskers};

use std::fmt::Write;

use super::block::Picture;
use crate::escape::xml;
use crate::text::page::folded;

/// Height of a line of text.
pub(crate) const LINE: f64 = 18.0;

/// Width that a character is given; the widest fonts that browsers take for the style take less.
pub(crate) const CHARACTER: f64 = 7.5;

/// Where a picture is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Screen {
    Wide,
    /// A phone.
    Narrow,
}

impl Screen {
    /// Units across, each a pixel where there is room for all of them.
    pub(crate) const fn width(self) -> f64 {
        match self {
            Screen::Wide => 720.0,
            // The narrowest phone, without the margins of a page.
            Screen::Narrow => 328.0,
        }
    }
}

impl Picture {
    /// Draws for either screen.
    pub(crate) fn drawn(mut draw: impl FnMut(Screen) -> String) -> Picture {
        Picture {
            wide: draw(Screen::Wide),
            narrow: draw(Screen::Narrow),
        }
    }

    /// Draws for either screen; `None` where there is nothing to see.
    pub(crate) fn of(draw: impl Fn(Screen) -> Option<String>) -> Option<Picture> {
        Some(Picture {
            wide: draw(Screen::Wide)?,
            narrow: draw(Screen::Narrow)?,
        })
    }
}

/// Colours on light and on dark pages, for pictures that stand alone. On a page its own style has them.
pub(crate) const STYLE: &str = include_str!("../assets/chart.css");

/// An `svg` element of this size, named and described for those who do not see it.
pub(crate) fn picture(width: f64, height: f64, title: &str, said: &str, inner: &str) -> String {
    format!(
        "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n<rect class=\"page\" width=\"{width:.0}\" \
         height=\"{height:.0}\"/>\n{inner}</svg>\n",
        xml(title),
        xml(said),
    )
}

/// The same picture by itself, with its colours.
pub(crate) fn alone(svg: &str) -> String {
    let styled = format!("</desc>\n<style>{}</style>", STYLE.trim_end());
    svg.replacen("</desc>", &styled, 1)
}

pub(crate) fn line(out: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let _ = writeln!(
        out,
        "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
        from.0, from.1, to.0, to.1
    );
}

pub(crate) fn text(out: &mut String, x: f64, y: f64, class: &str, text: &str) {
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

/// Characters for which there is room.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a few characters"
)]
pub(crate) fn room(width: f64) -> usize {
    (width / CHARACTER).max(0.0) as usize
}

/// Text in as many lines as it needs; how many.
pub(crate) fn lines(
    out: &mut String,
    (x, y): (f64, f64),
    class: &str,
    words: &str,
    room: usize,
) -> usize {
    let lines = folded(words, room);
    for (index, line) in lines.iter().enumerate() {
        let y = y + length(index) * LINE;
        text(out, x, y, class, &short(line, room));
    }
    lines.len()
}

/// A name of at most `most` characters.
pub(crate) fn short(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_owned();
    }
    name.chars()
        .take(most.saturating_sub(1))
        .chain(['…'])
        .collect()
}

/// A round figure of an axis, without idle decimals.
pub(crate) fn round(figure: f64) -> String {
    let text = crate::bench::wording::rate_text(figure);
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

#[expect(clippy::cast_precision_loss, reason = "a few dozen of something")]
pub(crate) fn length(count: usize) -> f64 {
    count as f64
}

/// The mark of the n-th series at a place: six shapes, full and hollow.
pub(crate) fn mark(out: &mut String, series: usize, x: f64, y: f64) {
    let class = format!("s{} m{}", series % 6, series / 6 % 2);
    let shape = match series % 6 {
        0 => format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>"),
        1 => format!(
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"7\" height=\"7\"/>",
            x - 3.5,
            y - 3.5
        ),
        2 => path(&class, x, y, "m0-5 4.5 8h-9z"),
        3 => path(&class, x, y, "m0-5 5 5-5 5-5-5z"),
        4 => path(&class, x, y, "m0 5 4.5-8h-9z"),
        _ => path(&class, x, y, "m-4-4 8 8m0-8-8 8"),
    };
    out.push_str(&shape);
    out.push('\n');
}

fn path(class: &str, x: f64, y: f64, shape: &str) -> String {
    format!("<path class=\"{class}\" d=\"M{x:.1} {y:.1}{shape}\"/>")
}
