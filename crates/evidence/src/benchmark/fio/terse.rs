//! `--output-format=terse`: a job is a line, and syncs are not told of.

use straddle_stack::activity::Statistic;

use super::{Direction, READ, TRIM, WRITE, add, percentile};
use crate::format::{Format, Reading, Shape};
use crate::line::Line;
use crate::notes::{At, Notes};
use crate::number;
use crate::subject::Subject;

pub(crate) static FORMAT: Format = Format {
    name: "fio-terse",
    commands: &["fio --output-format=terse", "fio --minimal"],
    says: "rate, throughput and latency with percentiles of reads and writes, by job",
    shape: Shape::Messages {
        marks: &[";fio-"],
        of_errorlog: false,
        read,
    },
};

/// Version, fio's version, job, group, error.
const BEFORE: usize = 5;
/// Where the figures of a direction stand among its fields: KiB, KiB/s, operations/s; mean of completion; percentiles; mean of all.
const BYTES: usize = 0;
const THROUGHPUT: usize = 1;
const RATE: usize = 2;
const COMPLETION: usize = 10;
const PERCENTILES: std::ops::Range<usize> = 12..32;
const LATENCY: usize = 34;

fn read(line: &Line<'_>, notes: &mut Notes<'_>) -> Reading {
    let text = line.trimmed();
    // Behind what others put before a line stands the version, a digit.
    let version = crate::word::find(text, ";fio-").and_then(|at| at.checked_sub(1));
    let Some(row) = version.and_then(|at| text.get(at..)) else {
        return Reading::Other;
    };
    let mut fields = Vec::with_capacity(2 * BEFORE + 3 * 47);
    fields.extend(row.split(';'));
    let (len, directions): (usize, &[Direction]) = match fields.first().copied() {
        Some("3") => (41, &[READ, WRITE]),
        Some("4") => (41, &[READ, WRITE, TRIM]),
        // Samples of the throughput, and the spread of the rate.
        Some("5") => (47, &[READ, WRITE, TRIM]),
        _ => return Reading::Other,
    };
    // Whatever version: behind them stand those of the processor.
    if fields.len() <= BEFORE + len * directions.len() {
        notes.unread(line);
        return Reading::Done;
    }
    let job = Subject::job(fields[2]);
    let at = At {
        line: *line,
        moment: None,
    };
    for (direction, fields) in directions.iter().zip(fields[BEFORE..].chunks(len)) {
        if direction_of(*direction, fields, at, &job, notes).is_none() {
            notes.unread(line);
            break;
        }
    }
    Reading::Done
}

fn direction_of(
    direction: Direction,
    fields: &[&str],
    at: At<'_>,
    job: &Subject,
    notes: &mut Notes<'_>,
) -> Option<()> {
    const MICRO: f64 = 1e-6;
    let figure = |at: usize| number::plain(fields.get(at)?);
    let (bytes, throughput, rate) = (figure(BYTES)?, figure(THROUGHPUT)?, figure(RATE)?);
    if bytes == 0.0 && rate == 0.0 {
        // Nothing was done.
        return Some(());
    }
    // Without the mean of all, that of completion.
    let latency = Some(figure(LATENCY)?).filter(|mean| *mean > 0.0);
    let latency = latency.or_else(|| figure(COMPLETION))?;
    let mut percentiles = Vec::new();
    for field in fields.get(PERCENTILES)? {
        let (part, value) = field.split_once("%=")?;
        if let Some(part) = percentile(part) {
            percentiles.push((part, number::plain(value)?));
        }
    }
    if let Some(quantity) = direction.throughput {
        let value = throughput * 1024.0;
        add(notes, at, job, (quantity, Statistic::Mean), value);
    }
    add(notes, at, job, (direction.rate, Statistic::Mean), rate);
    let mean = (direction.latency, Statistic::Mean);
    add(notes, at, job, mean, latency * MICRO);
    for (part, value) in percentiles {
        add(notes, at, job, (direction.latency, part), value * MICRO);
    }
    Some(())
}
