//! JSON of sysstat: hosts, their statistics, the disks in each.

use straddle_stack::activity::{Moment, Quantity, Span};

use super::clock;
use super::columns::{self, Meaning};
use super::devices::{Devices, channels};
use super::sadf;
use crate::format::Document;
use crate::json::{Event, Met, Step};
use crate::line::Line;
use crate::notes::Notes;
use crate::subject::Subject;

/// Which tool wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Iostat,
    Sadf,
}

impl Tool {
    fn device(self) -> &'static str {
        match self {
            Tool::Iostat => "disk_device",
            Tool::Sadf => "disk-device",
        }
    }
}

pub(super) struct Statistics {
    tool: Tool,
    is_mine: bool,
    moment: Option<Moment>,
    host: String,
    date: String,
    device: String,
    keys: Keys,
    figures: Vec<(Meaning, f64)>,
    /// The line on which the object of a device begins that has not ended.
    open: Option<u64>,
    since_start: Series,
    intervals: Series,
}

/// Keys that were met, and what they mean: each device has the same ones in the same order.
#[derive(Default)]
struct Keys {
    known: Vec<(String, Option<Meaning>)>,
    next: usize,
}

impl Keys {
    fn meaning(&mut self, key: &str) -> Option<Meaning> {
        const MAX_KEYS: usize = 64;
        let is = |(known, _): &(String, Option<Meaning>)| known == key;
        let at = match self.known.get(self.next).is_some_and(is) {
            true => Some(self.next),
            false => self.known.iter().position(is),
        };
        if let Some(at) = at {
            self.next = at + 1;
            return self.known[at].1;
        }
        let meaning = columns::known_key(key);
        if self.known.len() < MAX_KEYS {
            self.known.push((key.to_owned(), meaning));
            self.next = self.known.len();
        }
        meaning
    }
}

/// The series of one span.
struct Series {
    span: Span,
    devices: Devices,
}

impl Series {
    fn new(span: Span) -> Series {
        Series {
            span,
            devices: Devices::default(),
        }
    }
}

impl Statistics {
    pub(super) fn begins(tool: Tool) -> Box<dyn Document> {
        Box::new(Statistics {
            tool,
            is_mine: false,
            moment: None,
            host: String::new(),
            date: String::new(),
            device: String::new(),
            keys: Keys::default(),
            figures: Vec::new(),
            open: None,
            since_start: Series::new(Span::SinceStart),
            intervals: Series::new(Span::Interval),
        })
    }

    /// Something in an element of the statistics, `path` leading from there to it.
    fn statistic(&mut self, path: &[Step], event: &Event<'_>, notes: &mut Notes<'_>) {
        const MAX_FIGURES: usize = 64;
        let key = |step: &Step, name: &str| matches!(step, Step::Key(key) if key == name);
        let is_first = matches!(event.path.get(4), Some(Step::Index(0)));
        match (path, event.met) {
            ([], Met::Open) => self.moment = None,
            ([time], Met::Text(text)) if key(time, "timestamp") => {
                self.moment = clock::line(text);
            }
            ([time, part], Met::Text(text)) if key(time, "timestamp") => {
                if key(part, "date") {
                    text.clone_into(&mut self.date);
                } else if key(part, "time") {
                    self.moment = sadf::moment(&format!("{} {text}", self.date));
                }
            }
            ([disk, Step::Index(_)], Met::Open) if key(disk, "disk") => {
                self.open = Some(event.line.number);
                self.device.clear();
                self.figures.clear();
            }
            ([disk, Step::Index(_), name], met) if key(disk, "disk") => {
                if key(name, self.tool.device())
                    && let Met::Text(text) = met
                {
                    self.is_mine = true;
                    text.clone_into(&mut self.device);
                } else if let Some(value) = event.number()
                    && let Some(meaning) = self.keys.meaning(event.key())
                    && self.figures.len() < MAX_FIGURES
                {
                    // Old and new units of one figure: the newer one stands after the other.
                    self.figures
                        .retain(|(other, _)| other.quantity != meaning.quantity);
                    self.figures.push((meaning, value * meaning.factor));
                }
            }
            ([disk, Step::Index(_)], Met::Close) if key(disk, "disk") => {
                let number = self.open.take().unwrap_or(event.line.number);
                if !self.device.is_empty() {
                    let line = Line {
                        number,
                        text: event.line.text,
                    };
                    notes.on_host(&self.host, &line);
                    self.send(line, is_first, notes);
                }
            }
            _ => {}
        }
    }

    fn send(&mut self, line: Line<'_>, is_first: bool, notes: &mut Notes<'_>) {
        let since_start = is_first && self.tool == Tool::Iostat && !notes.reports.are_intervals();
        let series = match since_start {
            true => &mut self.since_start,
            false => &mut self.intervals,
        };
        let at = notes.at(line, self.moment);
        let figures = &self.figures;
        let of = |quantity: Quantity| {
            let same = |(meaning, _): &&(Meaning, f64)| meaning.quantity == quantity;
            figures.iter().find(same).map(|(_, value)| *value)
        };
        let weight = |quantity: Quantity| {
            let rate = quantity.rate()?;
            let both = || Some(of(Quantity::ReadRate)? + of(Quantity::WriteRate)?);
            match rate {
                Quantity::TransferRate => of(rate).or_else(both),
                _ => of(rate),
            }
        };
        let span = series.span;
        let make = |subject: &Subject| {
            let quantities = figures.iter().map(|(meaning, _)| meaning.quantity);
            channels(subject, quantities, span)
        };
        let channels = series.devices.of(&notes.name_here(&self.device), make);
        for (meaning, value) in figures {
            let quantity = meaning.quantity;
            let channel = channels
                .iter_mut()
                .find(|channel| channel.name.quantity == quantity);
            match channel {
                Some(channel) => notes.send(channel, at, *value, weight(quantity)),
                None => notes.add(at, &Subject::disk(&self.device), quantity, span, *value),
            }
        }
    }
}

impl Document for Statistics {
    fn is_mine(&self) -> bool {
        self.is_mine
    }

    fn event(&mut self, event: &Event<'_>, notes: &mut Notes<'_>) {
        let path = event.path;
        if let [
            Step::Key(sysstat),
            Step::Key(hosts),
            Step::Index(_),
            Step::Key(name),
        ] = path
            && [sysstat, hosts, name] == ["sysstat", "hosts", "nodename"]
            && let Met::Text(host) = event.met
        {
            self.host.clear();
            self.host.push_str(host);
        }
        if let Some((above, below)) = path.split_at_checked(5) {
            let is = |step: &Step, name: &str| matches!(step, Step::Key(key) if key == name);
            let [sysstat, hosts, Step::Index(_), statistics, Step::Index(_)] = above else {
                return;
            };
            if is(sysstat, "sysstat") && is(hosts, "hosts") && is(statistics, "statistics") {
                self.statistic(below, event, notes);
            }
        }
    }

    fn end(&mut self, notes: &mut Notes<'_>) {
        if let Some(number) = self.open.take().filter(|_| self.is_mine) {
            notes.unread(&Line {
                number,
                text: &self.device,
            });
        }
    }
}
