//! `sadf -d`: a report of sar for databases.

use straddle_stack::activity::{Moment, Span};

use super::clock::Day;
use super::rows::{Columns, Rows};
use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::Notes;
use crate::stamp;

pub(crate) static FORMAT: Format = Format {
    name: "sadf",
    commands: &["sadf -d … -- -d"],
    says: "what `sar -d` says, with semicolons",
    shape: Shape::Lines {
        marks: &["hostname;interval;timestamp;"],
        begins,
    },
};

fn begins(line: &Line<'_>, _: &mut Notes<'_>) -> Option<Box<dyn Body>> {
    let columns = head(line.text)?;
    Some(Box::new(Report {
        rows: Rows::new(columns, Span::Interval),
        text: String::new(),
    }))
}

/// A row over more characters is none.
const LONGEST: usize = 1024;
const NAMES: &str = "hostname;interval;timestamp;";

fn head(text: &str) -> Option<Columns> {
    let names = text.trim().trim_start_matches(['#', ' ']);
    let names = names.strip_prefix(NAMES)?;
    Columns::of(&names.replace(';', " "), &["DEV"])
}

struct Report {
    rows: Rows,
    /// The cells with blanks between them.
    text: String,
}

impl Body for Report {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        let text = line.trimmed();
        if text.is_empty() {
            return Taken::No;
        }
        if text.trim_start_matches(['#', ' ']).starts_with(NAMES) {
            return Taken::Ended;
        }
        let mut cells = text.splitn(4, ';');
        let (Some(_), Some(_), Some(time), Some(rest)) =
            (cells.next(), cells.next(), cells.next(), cells.next())
        else {
            // The end of a row, or something else.
            if text.contains(';') {
                notes.unread(line);
                return Taken::Yes;
            }
            return Taken::No;
        };
        let Some(moment) = moment(time) else {
            notes.unread(line);
            return Taken::Yes;
        };
        if rest.len() > LONGEST {
            notes.unread(line);
            return Taken::Yes;
        }
        if rest.starts_with("LINUX-RESTART") || rest.starts_with("COM ") {
            return Taken::Yes;
        }
        self.text.clear();
        self.text.extend(rest.chars().map(|c| match c {
            ';' => ' ',
            c => c,
        }));
        if !self.rows.line(line, &self.text, Some(moment), notes) {
            notes.unread(line);
        }
        // A row is a line.
        self.rows.end(notes);
        Taken::Yes
    }
}

/// `2024-11-27 04:10:01 UTC`, `2014-02-20 03-15-01`, `1732680601`.
pub(super) fn moment(text: &str) -> Option<Moment> {
    if let Some((moment, _)) = stamp::date_and_time(text) {
        return Some(moment);
    }
    if text.len() >= 9 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds: i64 = text.parse().ok()?;
        return Some(Moment::from_micros(seconds.checked_mul(1_000_000)?));
    }
    let (day, time) = text.split_once(' ')?;
    let time = time.split(' ').next()?.replace('-', ":");
    let (time, half, _) = super::clock::time(&time)?;
    Day::of(day)?.moment(time, half, 0)
}
