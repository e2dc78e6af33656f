//! What `sp_BlitzFirst` says of files: the difference of two readings, over so many seconds.

use straddle_stack::activity::{Quantity, Span};

use super::file_of;
use crate::format::{Format, Shape};
use crate::notes::{Channel, Notes};
use crate::table::{Head, Row};

pub(crate) static FORMAT: Format = Format {
    name: "sp-blitzfirst-files",
    commands: &[
        "sp_BlitzFirst @ExpertMode = 1",
        "SELECT * FROM BlitzFirst_FileStats_Deltas",
    ],
    says: "latency, rates and throughput of files between two readings",
    shape: Shape::Table {
        marks: &["avg stall (ms)", "io_stall_read_ms_average"],
        is,
        read,
    },
};

const SECONDS: [&str; 2] = ["sample_(seconds)", "elapsedseconds"];
const PATTERN: [&str; 1] = ["pattern"];
const MIB: f64 = 1024.0 * 1024.0;

fn is(head: &Head) -> bool {
    let of_pattern = head.has(&["pattern", "avg_stall_(ms)"]);
    let of_deltas = head.has(&["io_stall_read_ms_average"]);
    head.has_any(&SECONDS) && (of_pattern || of_deltas)
}

/// Requests, the sum of their times, the mean of it, and megabytes, with what each is called.
struct Names {
    requests: &'static [&'static str],
    sum: &'static [&'static str],
    mean: &'static [&'static str],
    megabytes: &'static [&'static str],
    /// Rate, latency and throughput.
    quantities: [Quantity; 3],
}

const READS: [Quantity; 3] = [
    Quantity::ReadRate,
    Quantity::ReadLatency,
    Quantity::ReadThroughput,
];
const WRITES: [Quantity; 3] = [
    Quantity::WriteRate,
    Quantity::WriteLatency,
    Quantity::WriteThroughput,
];

const DELTAS: [Names; 2] = [
    Names {
        requests: &["num_of_reads"],
        sum: &["io_stall_read_ms"],
        mean: &["io_stall_read_ms_average"],
        megabytes: &["megabytes_read"],
        quantities: READS,
    },
    Names {
        requests: &["num_of_writes"],
        sum: &["io_stall_write_ms"],
        mean: &["io_stall_write_ms_average"],
        megabytes: &["megabytes_written"],
        quantities: WRITES,
    },
];

/// A row is of reads or of writes.
const fn of_pattern(quantities: [Quantity; 3]) -> Names {
    Names {
        requests: &["#_reads/writes"],
        sum: &[],
        mean: &["avg_stall_(ms)"],
        megabytes: &["mb_read/written"],
        quantities,
    }
}

fn read(row: &Row<'_>, notes: &mut Notes<'_>) {
    match row.text(&PATTERN) {
        Some("PHYSICAL READS") => one(row, &[of_pattern(READS)], notes),
        Some("PHYSICAL WRITES") => one(row, &[of_pattern(WRITES)], notes),
        Some(_) => notes.unread(&row.line),
        None => one(row, &DELTAS, notes),
    }
}

fn one(row: &Row<'_>, of: &[Names], notes: &mut Notes<'_>) {
    let seconds = row.number(&SECONDS).map(|(seconds, _)| seconds);
    let subject = file_of(row, notes);
    let (Some(seconds), Some(subject)) = (seconds.filter(|s| *s > 0.0), subject) else {
        return notes.unread(&row.line);
    };
    let moment = row.text(&["sample_time", "checkdate"]);
    let moment = moment.and_then(|text| notes.time_of(text));
    let at = notes.at(row.line, moment);
    for names in of {
        let Some((requests, _)) = row.count(names.requests) else {
            continue;
        };
        let number = |names| row.number(names).map(|(value, _)| value);
        let mean = match number(names.sum).filter(|_| requests > 0.0) {
            // The column of means has no fractions.
            Some(sum) => Some(sum / requests),
            None => number(names.mean).filter(|_| requests > 0.0),
        };
        let [rate, latency, throughput] = names.quantities;
        for (quantity, value, weight) in [
            (rate, Some(requests / seconds), None),
            (latency, mean.map(|mean| mean / 1e3), Some(requests)),
            (
                throughput,
                number(names.megabytes).map(|megabytes| megabytes * MIB / seconds),
                None,
            ),
        ] {
            if let Some(value) = value {
                let mut channel = Channel::new(&subject, quantity, Span::Interval);
                notes.send(&mut channel, at, value, weight);
            }
        }
    }
}
