//! Figures of iostat that people made CSV of: its columns in any order, between others, with or without a time.

use straddle_stack::activity::{Moment, Span};

use super::columns;
use super::rows::{Columns, Rows};
use super::sadf;
use crate::fields::{self, in_bars};
use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::Notes;
use crate::number;
use crate::table::is_ruler;

pub(crate) static FORMAT: Format = Format {
    name: "iostat-csv",
    commands: &["iostat -x, made a CSV file"],
    says: "what iostat says at intervals, with commas, semicolons, tabs or bars between cells, by the names of its columns",
    shape: Shape::Lines {
        marks: &["%util", "await", "kb/s", "mb/s", "kb_read", "sec/s"],
        begins: |line, _| Some(Box::new(Csv::of(line.text)?) as Box<dyn Body>),
    },
};

/// More characters, and columns, than such a row has.
const LONGEST: usize = 4096;
const MAX_COLUMNS: usize = 128;
const DEVICES: [&str; 6] = ["device", "device:", "dev", "disk", "devname", "device_name"];
const TIMES: [&str; 12] = [
    "time",
    "timestamp",
    "@timestamp",
    "date",
    "datetime",
    "date_time",
    "day",
    "zeit",
    "datum",
    "uhrzeit",
    "fecha",
    "hora",
];
const HOSTS: [&str; 4] = ["host", "hostname", "server", "node"];

struct Csv {
    names: String,
    separator: u8,
    count: usize,
    device: usize,
    times: Vec<usize>,
    host: Option<usize>,
    /// The cells that have figures.
    figures: Vec<usize>,
    rows: Rows,
    /// A row as iostat prints it.
    text: String,
    /// The time of the last row as it is written, and what it says: all disks of a report have one.
    written: String,
    moment: Option<Moment>,
}

impl Csv {
    /// The reader of the rows, when this line has names of columns.
    fn of(text: &str) -> Option<Csv> {
        if text.len() > LONGEST {
            return None;
        }
        let barred = in_bars(text);
        let text = barred.as_deref().unwrap_or(text).trim();
        let count = |separator: &u8| memchr::memchr_iter(*separator, text.as_bytes()).count();
        let separator = *b"\t|;,".iter().max_by_key(|separator| count(separator))?;
        let cells = fields::separated(text, separator);
        if !(3..=MAX_COLUMNS).contains(&cells.len()) {
            return None;
        }
        let (mut device, mut host, mut times, mut figures) = (None, None, Vec::new(), Vec::new());
        let mut names = "Device".to_owned();
        for (index, cell) in cells.iter().enumerate() {
            let name = without_unit(cell);
            let lower = name.to_ascii_lowercase();
            if let Some(known) = columns::in_any_case(&name) {
                names.push(' ');
                names.push_str(known);
                figures.push(index);
            } else if TIMES.contains(&lower.as_str()) {
                times.push(index);
            } else if DEVICES.contains(&lower.as_str()) {
                device = device.or(Some(index));
            } else if HOSTS.contains(&lower.as_str()) {
                host = host.or(Some(index));
            }
        }
        Some(Csv {
            names: text.to_owned(),
            separator,
            count: cells.len(),
            device: device?,
            times,
            host,
            figures,
            rows: Rows::new(Columns::of(&names, &["Device"])?, Span::Interval),
            text: String::new(),
            written: String::new(),
            moment: None,
        })
    }
}

/// `await (ms)`, `"% util"`, `rkB/s [KiB]`.
fn without_unit(cell: &str) -> String {
    let name = fields::bare(cell);
    let end = name.find(['(', '[']).filter(|end| *end > 0);
    name[..end.unwrap_or(name.len())].replace(' ', "")
}

impl Body for Csv {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        let text = line.trimmed();
        if text.is_empty() || is_ruler(text) {
            return Taken::Yes;
        }
        let barred = in_bars(text).filter(|_| self.separator == b'|');
        let text = barred.as_deref().unwrap_or(text);
        if text == self.names && !text.starts_with(['{', '[']) {
            // The next report of what made the file.
            return Taken::Yes;
        }
        if text == self.names || memchr::memchr(self.separator, text.as_bytes()).is_none() {
            return Taken::Ended;
        }
        let cells = match text.len() <= LONGEST {
            true => fields::separated(text, self.separator),
            false => Vec::new(),
        };
        let cell = |at: usize| cells.get(at).map_or("", |cell| fields::bare(cell));
        let device = cell(self.device);
        if cells.len() != self.count || device.is_empty() {
            // The names of another table.
            let has_figures = text.bytes().any(|byte| byte.is_ascii_digit());
            if has_figures {
                notes.unread(line);
            }
            return if has_figures {
                Taken::Yes
            } else {
                Taken::Ended
            };
        }
        self.text.clear();
        self.text.push_str(device);
        if device.contains(' ') {
            self.text = self.text.replace(' ', "_");
        }
        // Spreadsheets put signs between thousands, which iostat does not; between commas, only cells in quotes have one.
        let sign = if self.separator == b',' { b'"' } else { b',' };
        let may_be_local = memchr::memchr(sign, text.as_bytes()).is_some();
        let is_local = may_be_local && self.figures.iter().any(|at| cell(*at).contains(','));
        let mut shown = self.figures.iter().filter(|_| is_local);
        let point = shown.find_map(|at| number::point_of(cell(*at)));
        for at in &self.figures {
            self.text.push(' ');
            let figure = match cell(*at) {
                "" | "-" | "NULL" | "NaN" | "N/A" => "nan",
                figure => figure,
            };
            match number::with_point(figure, point).filter(|_| is_local) {
                Some(value) => self.text.push_str(&value.to_string()),
                None => self.text.push_str(figure),
            }
        }
        let times = || self.times.iter().map(|at| cell(*at));
        let mut written = self.written.as_str();
        let is_same = times().enumerate().all(|(index, time)| {
            let rest = match index {
                0 => Some(written),
                _ => written.strip_prefix(' '),
            };
            let rest = rest.and_then(|rest| rest.strip_prefix(time));
            written = rest.unwrap_or(written);
            rest.is_some()
        });
        if !is_same || !written.is_empty() {
            self.written = times().collect::<Vec<&str>>().join(" ");
            let moment = notes.time_of(&self.written);
            self.moment = moment.or_else(|| sadf::moment(&self.written));
        }
        let moment = self.moment;
        if let Some(host) = self.host {
            notes.on_host(cell(host), line);
        }
        if !self.rows.line(line, &self.text, moment, notes) {
            notes.unread(line);
        }
        // A row is a line.
        self.rows.end(notes);
        Taken::Yes
    }
}
