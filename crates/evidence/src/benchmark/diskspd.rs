//! diskspd: the totals of reads, writes and both, and the table of percentiles.

use straddle_stack::activity::{Moment, Quantity, Span, Statistic};

use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::Notes;
use crate::number;
use crate::stamp;
use crate::subject::Subject;

pub(crate) static FORMAT: Format = Format {
    name: "diskspd",
    commands: &["diskspd"],
    says: "rates, throughput, mean latency and percentiles of reads, writes and both",
    shape: Shape::Lines {
        marks: &[
            "command line:",
            "results for timespan",
            "total io",
            "read io",
            "write io",
            "ib)",
        ],
        begins: |line, _| {
            let text = line.trimmed();
            let begins = text.starts_with("Command Line:")
                && text.to_lowercase().contains("diskspd")
                || text.starts_with("Results for timespan")
                || section(text).is_some()
                || is_row(text);
            begins.then(|| {
                Box::new(Run {
                    counts: section(text),
                    ..Run::default()
                }) as Box<dyn Body>
            })
        },
    },
};

#[derive(Default)]
struct Run {
    moment: Option<Moment>,
    counts: Option<Counts>,
    /// The directions of the columns of percentiles.
    percentiles: Vec<Counts>,
    /// What did nothing has no latency.
    idle: [bool; 3],
}

/// What a table counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    Reads,
    Writes,
    Both,
}

impl Counts {
    pub(super) fn latency(self) -> Quantity {
        match self {
            Counts::Reads => Quantity::ReadLatency,
            Counts::Writes => Quantity::WriteLatency,
            Counts::Both => Quantity::TransferLatency,
        }
    }

    pub(super) fn rate(self) -> Quantity {
        match self {
            Counts::Reads => Quantity::ReadRate,
            Counts::Writes => Quantity::WriteRate,
            Counts::Both => Quantity::TransferRate,
        }
    }

    pub(super) fn throughput(self) -> Quantity {
        match self {
            Counts::Reads => Quantity::ReadThroughput,
            Counts::Writes => Quantity::WriteThroughput,
            Counts::Both => Quantity::TransferThroughput,
        }
    }

    fn index(self) -> usize {
        match self {
            Counts::Reads => 0,
            Counts::Writes => 1,
            Counts::Both => 2,
        }
    }
}

fn section(text: &str) -> Option<Counts> {
    match text {
        "Total IO" => Some(Counts::Both),
        "Read IO" => Some(Counts::Reads),
        "Write IO" => Some(Counts::Writes),
        _ => None,
    }
}

/// A thread's row: five numbers between bars, and a file.
fn is_row(text: &str) -> bool {
    let cells: Vec<&str> = text.split('|').map(str::trim).collect();
    cells.len() >= 6
        && cells[..5].iter().all(|cell| number::plain(cell).is_some())
        && cells.last().is_some_and(|file| file.contains("iB)"))
}

/// The percentile of a row's name: `50th`, `3-nines`, `max`.
fn percentile(name: &str) -> Option<Statistic> {
    match name {
        "max" => Some(Statistic::Max),
        "50th" => Some(Statistic::Percentile(50_000)),
        "90th" => Some(Statistic::Percentile(90_000)),
        "95th" => Some(Statistic::Percentile(95_000)),
        "99th" => Some(Statistic::Percentile(99_000)),
        "3-nines" => Some(Statistic::Percentile(99_900)),
        _ => None,
    }
}

impl Body for Run {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        let text = line.trimmed();
        if text.starts_with("Command Line:") {
            *self = Run::default();
            return Taken::Yes;
        }
        if let Some(rest) = text.strip_prefix("start time:") {
            self.moment = stamp::date_and_time(rest.trim()).map(|(moment, _)| moment);
            return Taken::Yes;
        }
        if let Some(counts) = section(text) {
            self.counts = Some(counts);
            return Taken::Yes;
        }
        if text.starts_with("%-ile") {
            let cells = text.split('|').skip(1);
            self.percentiles = cells
                .map(|cell| match cell.trim() {
                    cell if cell.starts_with("Read") => Counts::Reads,
                    cell if cell.starts_with("Write") => Counts::Writes,
                    _ => Counts::Both,
                })
                .collect();
            return Taken::Yes;
        }
        if let Some(rest) = text.strip_prefix("total:") {
            if !rest.trim().is_empty() {
                self.total(rest, line, notes);
            }
            return Taken::Yes;
        }
        let cells: Vec<&str> = text.split('|').map(str::trim).collect();
        if let (Some(statistic), false) = (percentile(cells[0]), self.percentiles.is_empty()) {
            self.percentile(statistic, &cells[1..], line, notes);
        }
        Taken::Yes
    }
}

impl Run {
    fn total(&mut self, rest: &str, line: &Line<'_>, notes: &mut Notes<'_>) {
        let cells: Vec<Option<f64>> = rest.split('|').map(number::plain).collect();
        let (Some(counts), Some(&[Some(_), Some(operations), Some(mega), Some(rate)])) =
            (self.counts, cells.first_chunk::<4>())
        else {
            return notes.unread(line);
        };
        let subject = Subject::job("-");
        let at = notes.at(*line, self.moment);
        let throughput = mega * 1024.0 * 1024.0;
        notes.add(at, &subject, counts.throughput(), Span::Run, throughput);
        notes.add(at, &subject, counts.rate(), Span::Run, rate);
        let idle = operations <= 0.0;
        self.idle[counts.index()] = idle;
        if let (false, Some(Some(latency))) = (idle, cells.get(4)) {
            notes.add(at, &subject, counts.latency(), Span::Run, latency * 1e-3);
        }
    }

    fn percentile(
        &self,
        statistic: Statistic,
        cells: &[&str],
        line: &Line<'_>,
        notes: &mut Notes<'_>,
    ) {
        let subject = Subject::job("-");
        if cells.len() < self.percentiles.len() {
            return notes.unread(line);
        }
        let at = notes.at(*line, self.moment);
        for (counts, cell) in self.percentiles.iter().zip(cells) {
            match number::plain(cell) {
                Some(value) if !self.idle[counts.index()] => {
                    let name = (counts.latency(), statistic, Span::Run);
                    notes.add_as(at, &subject, name, value * 1e-3);
                }
                None if *cell != "N/A" => notes.unread(line),
                _ => {}
            }
        }
    }
}
