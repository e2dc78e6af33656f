//! `sar -d`: reports of all disks, a row for each disk and time of the day.

use straddle_stack::activity::Span;

use super::clock;
use super::rows::{Columns, Rows};
use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::Notes;

pub(crate) static FORMAT: Format = Format {
    name: "sar",
    commands: &["sar -d"],
    says: "latency, rates, throughput, sizes, queue length and utilization of disks over the day",
    shape: Shape::Lines {
        marks: &["dev"],
        begins,
    },
};

fn begins(line: &Line<'_>, _: &mut Notes<'_>) -> Option<Box<dyn Body>> {
    let columns = head(line.text)?;
    Some(Box::new(Report {
        rows: Rows::new(columns, Span::Interval),
        is_open: true,
        is_apart: false,
    }))
}

/// The columns that a line names behind a time.
fn head(text: &str) -> Option<Columns> {
    // Most lines of other things begin otherwise.
    let first = *text.trim_ascii_start().as_bytes().first()?;
    if first.is_ascii_alphabetic() || !text.contains("DEV") {
        return None;
    }
    let (_, _, rest) = clock::time(text)?;
    Columns::of(rest, &["DEV"])
}

struct Report {
    rows: Rows,
    /// False below the names of the columns of another report.
    is_open: bool,
    /// Other lines stand between the last row and the next.
    is_apart: bool,
}

impl Body for Report {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        let text = line.text;
        let first = text.trim_ascii_start();
        if first.is_empty() {
            self.rows.end(notes);
            self.is_apart = true;
            return Taken::No;
        }
        let Some((time, half, rest)) = clock::time(first) else {
            if !self.is_open {
                return Taken::No;
            }
            if self.rows.goes_on(line, notes) {
                return Taken::Yes;
            }
            // What a row at the end begins with is in the language of the system.
            if is_average(first) && self.rows.has_figures(first) {
                notes.reports.begin_again();
                return Taken::Yes;
            }
            self.is_apart = true;
            return Taken::No;
        };
        if let Some(columns) = head(text) {
            self.end(notes);
            if columns != self.rows.columns {
                self.rows = Rows::new(columns, Span::Interval);
            }
            (self.is_open, self.is_apart) = (true, false);
            return Taken::Yes;
        }
        let word = rest.split_ascii_whitespace().nth(1).unwrap_or_default();
        let is_row = word.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        if !self.is_open || !is_row {
            // Another report, a restart, a comment.
            self.end(notes);
            self.is_open &= !rest.contains(['/', '%']);
            return Taken::No;
        }
        let moment = notes.reports.of_day(time, half);
        let is_row = match self.is_apart {
            true => self.rows.whole_line(line, rest, moment, notes),
            false => self.rows.line(line, rest, moment, notes),
        };
        self.is_apart = !is_row;
        match is_row {
            true => Taken::Yes,
            false => Taken::No,
        }
    }

    fn end(&mut self, notes: &mut Notes<'_>) {
        self.rows.end(notes);
    }
}

/// `Average:`, `Moyenne :`, `平均時間：`.
fn is_average(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let ends = |word: &str| word.ends_with([':', '：']);
    ends(first) || words.next().is_some_and(|word| word == ":" || word == "：")
}
