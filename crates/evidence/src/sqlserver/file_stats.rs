//! `sys.dm_io_virtual_file_stats`, `fn_virtualfilestats`, and what people make of them.

use straddle_stack::activity::{Quantity, Span};

use super::names::meaning;
use super::{LOGICAL, PATHS, file_of};
use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::{At, Channel, Notes};
use crate::subject::Subject;
use crate::table::{Head, Row};

pub(crate) static FORMAT: Format = Format {
    name: "file-statistics",
    commands: &[
        "SELECT * FROM sys.dm_io_virtual_file_stats(NULL, NULL)",
        "SELECT * FROM ::fn_virtualfilestats(-1, -1)",
    ],
    says: "reads, writes, bytes and the sums of their times since the start of SQL Server, by file",
    shape: Shape::Table {
        marks: &[
            "num_of_reads",
            "numberreads",
            "numberofreads",
            "readlatency",
            "read latency",
            "read_latency",
            "read stall",
            "avg read",
            "avg_read",
            "avgread",
            "average read",
            "average_read",
            "read wait",
            "io_stall",
            "read_stall",
            "readstall",
            "stall_read",
            "delta",
            "diff",
            "physical_name",
            // The first and the second name in lists of dbatools.
            "computername",
            "physicalname",
        ],
        is,
        read,
    },
};

/// The same without the names of its columns: nothing can be read.
pub(crate) static NAMELESS: Format = Format {
    name: "file-statistics-without-names",
    commands: &["SELECT * FROM sys.dm_io_virtual_file_stats(NULL, NULL)"],
    says: "nothing, because the names of the columns are missing: rows are counted as not understood",
    shape: Shape::Lines {
        marks: &["dm_io_virtual_file_stats("],
        begins: |line, _| {
            let text = line.text.to_ascii_lowercase();
            let asked = text.contains("select") && text.contains("dm_io_virtual_file_stats(");
            asked.then(|| Box::new(Nameless) as Box<dyn Body>)
        },
    },
};

struct Nameless;

impl Body for Nameless {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        if line.trimmed().is_empty() {
            return Taken::Yes;
        }
        let cells: Vec<&str> = line.text.split('\t').collect();
        let numbers = cells
            .iter()
            .filter(|cell| crate::number::plain(cell).is_some());
        if cells.len() >= 8 && numbers.count() + 2 >= cells.len() {
            notes.unread(line);
            return Taken::Yes;
        }
        Taken::Ended
    }
}

/// Tables of other servers have files with reads and writes, too.
const OF_OTHERS: [&str; 3] = ["count_read", "event_name", "datname"];

fn is(head: &Head) -> bool {
    let who = [
        &PATHS[..],
        &LOGICAL[..],
        &["file_id", "fileid", "drive", "volume_mount_point"],
    ]
    .concat();
    let says = |quantities: &[Quantity]| {
        let mut meanings = head.meanings(meaning).iter();
        meanings.any(|(_, meaning)| quantities.contains(&meaning.quantity))
    };
    let what = [
        Quantity::ReadLatency,
        Quantity::WriteLatency,
        Quantity::ReadTime,
        Quantity::WriteTime,
    ];
    let raw = head.has_any(&["num_of_reads", "num_of_writes", "numberreads"]);
    head.has_any(&who) && (raw || says(&what)) && !head.has_any(&OF_OTHERS)
}

fn read(row: &Row<'_>, notes: &mut Notes<'_>) {
    let Some(subject) = file_of(row, notes).or_else(|| volume(row)) else {
        return notes.unread(&row.line);
    };
    let moment = row
        .text(&[
            "capture_time",
            "capturetime",
            "collection_time",
            "sample_time",
            "checkdate",
            "snapshot_time",
            "date",
            "time",
        ])
        .and_then(|text| notes.time_of(text));
    let at = notes.at(row.line, moment);
    let mut differences = Differences::default();
    let mut has_counters = false;
    for (said, value, _) in row.meant(meaning) {
        match said.is_difference {
            true => differences.take(said.quantity, value * said.factor),
            false => has_counters |= said.quantity.is_counter(),
        }
    }
    // A mean beside differences is theirs, unless counters since the start stand there, too.
    let are_intervals = !differences.is_empty() && !has_counters;
    for (said, value, line) in row.meant(meaning) {
        // What is divided here is not rounded.
        let is_divided = are_intervals && differences.has_time_of(said.quantity);
        if said.is_difference && said.quantity.is_counter() || is_divided {
            continue;
        }
        let span = match said.quantity {
            Quantity::FileSize => Span::State,
            _ if said.is_difference || are_intervals => Span::Interval,
            _ => Span::SinceStart,
        };
        let at = At { line, ..at };
        notes.add(at, &subject, said.quantity, span, value * said.factor);
    }
    differences.note(row, at, &subject, notes);
}

/// What went on between two readings: a query took one from the other.
#[derive(Default)]
struct Differences {
    /// Requests, the sum of their times, and bytes: of reads and of writes.
    of: [[Option<f64>; 3]; 2],
}

impl Differences {
    fn take(&mut self, quantity: Quantity, value: f64) {
        let place = match quantity {
            Quantity::Reads => &mut self.of[0][0],
            Quantity::ReadTime => &mut self.of[0][1],
            Quantity::ReadBytes => &mut self.of[0][2],
            Quantity::Writes => &mut self.of[1][0],
            Quantity::WriteTime => &mut self.of[1][1],
            Quantity::WrittenBytes => &mut self.of[1][2],
            _ => return,
        };
        *place = Some(value);
    }

    fn is_empty(&self) -> bool {
        self.of.iter().flatten().all(Option::is_none)
    }

    /// Whether this latency can be divided.
    fn has_time_of(&self, latency: Quantity) -> bool {
        let mut pairs = self.of.iter().zip(DIFFERENCES);
        pairs.any(|([count, time, _], [of, ..])| of == latency && count.and(*time).is_some())
    }

    /// Means of the requests in between, and rates, where a column says over which time.
    fn note(&self, row: &Row<'_>, at: At<'_>, subject: &Subject, notes: &mut Notes<'_>) {
        let seconds = row.number(&SECONDS).map(|(seconds, _)| seconds);
        let seconds = seconds.or_else(|| Some(row.number(&MILLISECONDS)?.0 * 1e-3));
        let seconds = seconds.filter(|seconds| *seconds > 0.0);
        for ([count, time, bytes], [latency, size, rate]) in self.of.iter().zip(DIFFERENCES) {
            let Some(count) = *count else { continue };
            for (quantity, value, weight) in [
                (latency, time.map(|time| time / count), Some(count)),
                (size, bytes.map(|bytes| bytes / count), Some(count)),
                (rate, seconds.map(|seconds| count / seconds), None),
            ] {
                let is_of_some = count > 0.0 || quantity == rate;
                if let Some(value) = value.filter(|_| is_of_some) {
                    let mut channel = Channel::new(subject, quantity, Span::Interval);
                    notes.send(&mut channel, at, value, weight);
                }
            }
        }
    }
}

/// A latency, a size and a rate: of reads and of writes.
const DIFFERENCES: [[Quantity; 3]; 2] = [
    [
        Quantity::ReadLatency,
        Quantity::ReadSize,
        Quantity::ReadRate,
    ],
    [
        Quantity::WriteLatency,
        Quantity::WriteSize,
        Quantity::WriteRate,
    ],
];

const SECONDS: [&str; 7] = [
    "sample_seconds",
    "sampleseconds",
    "elapsed_seconds",
    "elapsedseconds",
    "interval_seconds",
    "delta_seconds",
    "seconds",
];
const MILLISECONDS: [&str; 4] = [
    "elapsed_ms",
    "interval_ms",
    "sample_ms_delta",
    "delta_sample_ms",
];

/// `C:\mnt\data\` is a folder, `C:\` a letter.
fn volume(row: &Row<'_>) -> Option<Subject> {
    let name = row.text(&["volume_mount_point", "drive"])?;
    Some(Subject::volume(name.trim_end_matches('\\')))
}
