//! Performance Data Helper logs: what Performance Monitor, `relog`, `typeperf` and esxtop's batch mode write. Each column is a
//! counter of an instance of an object, each row a moment.

pub(crate) mod counters;
pub(crate) mod esxtop;
pub(crate) mod export;
pub(crate) mod get_counter;
pub(crate) mod perfmon;

use std::collections::HashMap;
use straddle_stack::activity::{Quantity, Span, Unit};

use crate::fields::{self, in_bars};
use crate::format::{Body, Taken};
use crate::line::Line;
use crate::notes::{Channel, Notes};
use crate::number;
use crate::stamp::{self, Order};
use crate::subject::Subject;
use crate::table::is_ruler;

/// What a column says: of what, what, and by what its figures are multiplied; `utilization` is what is left of 100%.
pub(crate) struct Meaning {
    pub(crate) subject: Subject,
    pub(crate) quantity: Quantity,
    pub(crate) factor: Factor,
}

/// What is done with a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Factor {
    Times(f64),
    /// A percentage of time in which nothing was done.
    Idle,
}

impl Factor {
    pub(crate) fn apply(self, value: f64) -> f64 {
        match self {
            Factor::Times(factor) => value * factor,
            Factor::Idle => (1.0 - value / 100.0).max(0.0),
        }
    }
}

/// The parts of `\\HOST\Object(Instance)\Counter`.
pub(crate) struct Path<'t> {
    pub(crate) host: &'t str,
    pub(crate) object: &'t str,
    pub(crate) instance: &'t str,
    pub(crate) counter: &'t str,
}

impl<'t> Path<'t> {
    pub(crate) fn of(text: &'t str) -> Option<Path<'t>> {
        let rest = text.trim().trim_start_matches('\\');
        let (host, rest) = rest.split_once('\\')?;
        // Instances have parentheses and backslashes in them.
        let close = rest.rfind(")\\")?;
        let (before, counter) = (&rest[..close], &rest[close + 2..]);
        let (object, instance) = before.split_once('(')?;
        Some(Path {
            host,
            object: object.trim(),
            instance: instance.trim(),
            counter: counter.trim(),
        })
    }
}

/// One column.
struct Column {
    channel: Channel,
    factor: Factor,
    /// The column that says how many requests a latency stands for.
    weight: Option<usize>,
}

struct Log {
    separator: u8,
    /// What stands before fractions, once a figure has shown it: programs that make another file of it leave the points of Windows or put commas
    /// there, whatever stands between the cells.
    point: Option<u8>,
    columns: Vec<Option<Column>>,
    values: Vec<f64>,
}

/// The reader of the rows, when this line names their columns. Counters of disks whose name is not known are `is_strange`.
fn begins(
    line: &Line<'_>,
    notes: &mut Notes<'_>,
    means: fn(&Path<'_>) -> Option<Meaning>,
    is_strange: fn(&Path<'_>) -> bool,
) -> Option<Box<dyn Body>> {
    let text = line.text.trim_start_matches('\u{feff}').trim_start();
    let barred = in_bars(text);
    let text = barred.as_deref().unwrap_or(text);
    let is_head = text
        .get(..5)
        .is_some_and(|head| head.trim_start_matches('"').starts_with("(PDH"));
    // In a table that somebody made of it, the first column can have any name.
    if !is_head && barred.is_none() {
        return None;
    }
    let separators: &[u8] = if barred.is_some() { b"|" } else { b"\t;," };
    let separator = separators.iter().copied().find(|separator| {
        let (_, rest) = fields::one(text, *separator);
        rest.is_some_and(|rest| {
            let (second, _) = fields::one(rest, *separator);
            second.trim().starts_with("\\\\")
        })
    })?;
    let cells = fields::separated(text, separator);
    // Of the columns that are known.
    let mut hosts: Vec<&str> = Vec::new();
    let mut columns: Vec<Option<Column>> = cells
        .iter()
        .map(|cell| {
            let path = Path::of(cell)?;
            let Meaning {
                subject,
                quantity,
                factor,
            } = means(&path)?;
            if hosts.last().is_none_or(|last| *last != path.host) {
                hosts.push(path.host);
            }
            let subject = notes.subject_on(path.host, subject);
            Some(Column {
                channel: Channel::new(&subject, quantity, Span::Interval),
                factor,
                weight: None,
            })
        })
        .collect();
    if columns.iter().all(Option::is_none) {
        return None;
    }
    let known = columns.iter().flatten();
    if !known
        .map(|column| column.channel.name.quantity)
        .any(is_latency)
        && cells
            .iter()
            .filter_map(|cell| Path::of(cell))
            .any(|path| is_strange(&path))
    {
        notes.remark(NO_LATENCY, line);
    }
    let mut hosts = hosts.into_iter();
    if let Some(first) = hosts.next() {
        notes.of_host(first, line);
        // The line of names is one line, of however many hosts.
        if let Some(other) = hosts.find(|host| !host.eq_ignore_ascii_case(first)) {
            notes.of_host(other, line);
        }
    }
    // By name: the columns of a large host are a hundred thousand.
    let mut places: HashMap<(Subject, Quantity), usize> = HashMap::new();
    for (at, column) in columns.iter().enumerate() {
        if let Some(Column { channel, .. }) = column {
            let name = (channel.subject.clone(), channel.name.quantity);
            places.entry(name).or_insert(at);
        }
    }
    for column in columns.iter_mut().flatten() {
        if let Some(rate) = column.channel.name.quantity.rate() {
            let name = (column.channel.subject.clone(), rate);
            column.weight = places.get(&name).copied();
        }
    }
    let values = vec![f64::NAN; columns.len()];
    Some(Box::new(Log {
        separator,
        point: None,
        columns,
        values,
    }))
}

impl Log {
    /// The first cell, when it is as Windows writes it, a number in quotes; and what stands behind its separator.
    #[inline]
    fn quoted<'t>(&self, text: &'t str) -> Option<(f64, Option<&'t str>)> {
        let bytes = text.as_bytes();
        let inner = bytes.strip_prefix(b"\"")?;
        let (value, len) = number::decimal(inner, self.point.unwrap_or(b'.'))?;
        match inner.get(len..)? {
            [b'"'] => Some((value, None)),
            [b'"', separator, ..] if *separator == self.separator => {
                Some((value, text.get(len + 3..)))
            }
            _ => None,
        }
    }

    /// The figure in a cell, of which it is not known whether it has groups of thousands.
    fn number(&self, cell: &str) -> Option<f64> {
        number::with_point(cell, self.point)
    }

    /// Looks in the cells of a row for what stands before fractions.
    fn learn(&mut self, mut rest: Option<&str>) {
        while let (None, Some(more)) = (self.point, rest) {
            let (cell, next) = fields::one(more, self.separator);
            self.point = number::point_of(cell.trim());
            rest = next;
        }
    }
}

/// Names of counters are those of the language of Windows, which may be one that is not known.
const NO_LATENCY: &str = "with names of counters of disks, of which none is known to be a latency";

fn is_latency(quantity: Quantity) -> bool {
    quantity.unit() == Unit::Seconds && quantity.rate().is_some()
}

/// Whether it is the latency, or the size, of requests of which there were none: Windows has zero there, whose figures have all their decimals.
fn is_idle(quantity: Quantity, value: f64) -> bool {
    let is_rounded = matches!(
        quantity,
        Quantity::DeviceLatency
            | Quantity::KernelLatency
            | Quantity::GuestLatency
            | Quantity::QueueLatency
    );
    value == 0.0 && quantity.rate().is_some() && !is_rounded
}

/// True for what stands where a counter had no sample.
fn is_no_sample(cell: &str) -> bool {
    let cell = cell.trim();
    // With an exponent, a fraction or a name of what is no number: `-1`, `-1.#IND`.
    let is_unknown = cell.starts_with('-') || cell.starts_with("1.#") || cell.starts_with("1,#");
    cell.is_empty()
        || is_unknown
        || ["nan", "null", "n/a", "#n/a"]
            .iter()
            .any(|no| cell.eq_ignore_ascii_case(no))
}

impl Body for Log {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        let barred;
        let text = match self.separator {
            b'|' if is_ruler(line.text) => return Taken::Yes,
            b'|' => match in_bars(line.text) {
                Some(text) => {
                    barred = text;
                    barred.as_str()
                }
                None => return Taken::Ended,
            },
            _ => line.text,
        };
        let first = text.trim_start_matches(['"', ' ']).as_bytes().first();
        match first {
            None => return Taken::Yes,
            Some(b'0'..=b'9') => {}
            // The names again, of this log or of another one.
            Some(b'(' | b'\\') => return Taken::Ended,
            Some(_) => return Taken::No,
        }
        let (stamp, mut rest) = fields::one(text, self.separator);
        let Some(moment) = stamp::local(&stamp, Order::MonthFirst) else {
            notes.unread(line);
            return Taken::Yes;
        };
        if self.point.is_none() {
            self.learn(rest);
        }
        let (mut count, mut has_others) = (1, false);
        while let Some(more) = rest {
            let (value, next) = match self.quoted(more) {
                Some((value, next)) => (Some(value), next),
                None => {
                    let (cell, next) = fields::one(more, self.separator);
                    let value = self.number(cell.trim());
                    let is_known = matches!(self.columns.get(count), Some(Some(_)));
                    has_others |= value.is_none() && is_known && !is_no_sample(&cell);
                    (value, next)
                }
            };
            rest = next;
            if let Some(Some(column)) = self.columns.get(count) {
                // −1 is no sample.
                let value = value.filter(|value| *value >= 0.0);
                self.values[count] = value.map_or(f64::NAN, |value| column.factor.apply(value));
            }
            count += 1;
        }
        if count != self.columns.len() {
            notes.unread(line);
            return Taken::Yes;
        }
        // The other cells of the row are figures.
        if has_others {
            notes.unread(line);
        }
        let at = notes.at(*line, Some(moment));
        for (index, column) in self.columns.iter_mut().enumerate() {
            let Some(column) = column else { continue };
            let value = self.values[index];
            if value.is_nan() || is_idle(column.channel.name.quantity, value) {
                continue;
            }
            let weight = column
                .weight
                .map(|at| self.values[at])
                .filter(|weight| !weight.is_nan());
            notes.send(&mut column.channel, at, value, weight);
        }
        Taken::Yes
    }
}
