//! `iostat` of sysstat and busybox: reports of all disks, of which the first counts since the system was started.

use straddle_stack::activity::{Moment, Span};

use super::rows::{Columns, Rows, figure};
use super::unnamed;
use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::Notes;

pub(crate) static FORMAT: Format = Format {
    name: "iostat",
    commands: &["iostat -x", "iostat", "busybox iostat"],
    says: "latency, rates, throughput, sizes, queue length and utilization of disks: since the start, and at intervals",
    shape: Shape::Lines { marks: &[], begins },
};

const DEVICE: [&str; 2] = ["Device", "Device:"];

fn begins(line: &Line<'_>, notes: &mut Notes<'_>) -> Option<Box<dyn Body>> {
    // What stands above a report of any tool of sysstat; this is the first that is asked.
    if let Some(host) = notes.reports.remember(line.text) {
        notes.on_host(host, line);
    }
    let is_head = line.text.contains("Device");
    let columns = match is_head {
        true => Columns::of(line.text, &DEVICE)?,
        false => unnamed::columns(line.text, &DEVICE)?,
    };
    let mut reports = Reports::default();
    reports.head(columns, line, notes);
    if !is_head {
        notes.remark(UNNAMED, line);
        reports.line(line, notes);
    }
    Some(Box::new(reports))
}

/// What the columns of rows are follows from their number and from what they come to.
const UNNAMED: &str = "where rows of iostat begin that have no names of columns: which columns they are follows from their number, and from throughput \
                       being rate times size";

/// The tables of reports. One report has several with the option `-h`, and one more for each group.
#[derive(Default)]
struct Reports {
    tables: Vec<Rows>,
    /// Lines of names that were read, and their columns: each report repeats them.
    heads: Vec<(String, Columns)>,
    /// The table that is read.
    current: Option<usize>,
    /// What stands below its names are rows.
    has_rows: bool,
    is_behind_blank: bool,
    /// Tables of this report so far; none when the next one begins with the next table.
    of_report: Vec<usize>,
    span: Option<Span>,
    moment: Option<Moment>,
    change: u64,
    /// How far the names of the columns stand to the right, and whether a row of a device as far has come since.
    margin: usize,
    has_devices: bool,
}

/// What `iostat -g` prints below the disks of a group, one blank to their right.
const GROUP: &str = "of a group of disks, each of which is counted by itself";

/// The first report of all counts since the system was started, and looks like the others.
const OPEN: &str = "above the first report of iostat, of which no banner (`Linux …`) says whether it counts since the system was started: it is taken for \
                    an interval";

/// Tables whose columns are kept.
const MAX_TABLES: usize = 16;

impl Reports {
    fn columns(&mut self, text: &str) -> Option<Columns> {
        if let Some((_, columns)) = self.heads.iter().find(|(head, _)| head == text) {
            return Some(columns.clone());
        }
        let columns = Columns::of(text, &DEVICE)?;
        if self.heads.len() >= MAX_TABLES {
            self.heads.clear();
        }
        self.heads.push((text.to_owned(), columns.clone()));
        Some(columns)
    }

    /// A table begins.
    fn head(&mut self, columns: Columns, line: &Line<'_>, notes: &mut Notes<'_>) {
        self.end(notes);
        let change = notes.reports.change;
        let span = self.span;
        let same = |rows: &Rows| rows.columns == columns && Some(rows.span) == span;
        let is_again = self
            .tables
            .iter()
            .position(same)
            .is_some_and(|table| self.of_report.contains(&table));
        if self.of_report.is_empty() || is_again || change != self.change {
            self.of_report.clear();
            if notes.reports.is_open() {
                notes.remark(OPEN, line);
            }
            self.span = Some(match notes.reports.is_since_start() {
                true => Span::SinceStart,
                false => Span::Interval,
            });
            self.moment = notes.reports.moment();
            self.change = change;
        }
        (self.margin, self.has_devices) = (margin(line.text), false);
        self.table(columns);
    }

    fn table(&mut self, columns: Columns) {
        let span = self.span.unwrap_or(Span::Interval);
        let same = |rows: &Rows| rows.columns == columns && rows.span == span;
        let found = self.tables.iter().position(same);
        let table = found.unwrap_or_else(|| {
            if self.tables.len() >= MAX_TABLES {
                self.tables.clear();
                self.of_report.clear();
            }
            self.tables.push(Rows::new(columns, span));
            self.tables.len() - 1
        });
        self.of_report.push(table);
        self.current = Some(table);
        self.has_rows = false;
        self.is_behind_blank = false;
    }
}

/// Blanks before a line.
fn margin(text: &str) -> usize {
    text.len() - text.trim_start_matches(' ').len()
}

/// Something and a figure behind it.
fn is_row(text: &str) -> bool {
    let mut words = text.split_ascii_whitespace();
    words.nth(1).is_some_and(|word| figure(word).is_some())
}

/// A name with its figures; the rest of a row that was wrapped begins with a figure.
fn is_of_group(text: &str) -> bool {
    let first = text.split_ascii_whitespace().next();
    is_row(text) && first.is_some_and(|word| figure(word).is_none())
}

impl Body for Reports {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        let text = line.text;
        let first = text.trim_ascii_start();
        if first.is_empty() {
            self.end(notes);
            self.is_behind_blank = true;
            return match self.current {
                Some(_) => Taken::Yes,
                None => Taken::No,
            };
        }
        if first.starts_with("avg-cpu") {
            self.end(notes);
            self.current = None;
            self.of_report.clear();
            return Taken::Yes;
        }
        let has_name = first.starts_with("Device") || first.ends_with("Device");
        if has_name && let Some(columns) = self.columns(text) {
            self.head(columns, line, notes);
            return Taken::Yes;
        }
        let Some(table) = self.current else {
            return Taken::No;
        };
        let Some(rows) = self.tables.get_mut(table) else {
            return Taken::No;
        };
        if std::mem::take(&mut self.is_behind_blank) {
            // Some pages have a blank line behind each line.
            if rows.whole_line(line, text, self.moment, notes) {
                return Taken::Yes;
            }
            self.current = None;
            return Taken::No;
        }
        let is_behind = margin(text) > self.margin;
        if is_behind && self.has_devices && is_of_group(text) && !rows.columns.device_last {
            notes.remark(GROUP, line);
            return Taken::Yes;
        }
        if !self.has_rows
            && !is_row(text)
            && let Some(columns) = rows.columns.with(text)
        {
            self.of_report.pop();
            self.table(columns);
            return Taken::Yes;
        }
        self.has_rows = true;
        self.has_devices |= !is_behind;
        if rows.line(line, text, self.moment, notes) {
            return Taken::Yes;
        }
        self.current = None;
        Taken::No
    }

    fn end(&mut self, notes: &mut Notes<'_>) {
        if let Some(rows) = self.current.and_then(|table| self.tables.get_mut(table)) {
            rows.end(notes);
        }
    }
}
