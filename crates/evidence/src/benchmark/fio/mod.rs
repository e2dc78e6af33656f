//! fio, in all its outputs. Each tells of jobs, and of each job in each direction: rate, throughput, latency with percentiles.

pub(crate) mod json;
pub(crate) mod terse;
pub(crate) mod text;

use straddle_stack::activity::{Quantity, Span, Statistic};

use crate::notes::{At, Notes};
use crate::subject::Subject;

/// What requests of one direction are counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Direction {
    latency: Quantity,
    rate: Quantity,
    /// Syncs and discards move nothing.
    throughput: Option<Quantity>,
}

const READ: Direction = Direction {
    latency: Quantity::ReadLatency,
    rate: Quantity::ReadRate,
    throughput: Some(Quantity::ReadThroughput),
};
const WRITE: Direction = Direction {
    latency: Quantity::WriteLatency,
    rate: Quantity::WriteRate,
    throughput: Some(Quantity::WriteThroughput),
};
const TRIM: Direction = Direction {
    latency: Quantity::DiscardLatency,
    rate: Quantity::DiscardRate,
    throughput: None,
};
const SYNC: Direction = Direction {
    latency: Quantity::FlushLatency,
    rate: Quantity::FlushRate,
    throughput: None,
};
/// All together, by `unified_rw_reporting`.
const MIXED: Direction = Direction {
    latency: Quantity::TransferLatency,
    rate: Quantity::TransferRate,
    throughput: Some(Quantity::TransferThroughput),
};

/// Most of a line that is held until what follows says what it means: a document may stand in one.
const MAX_KEPT: usize = 240;

fn kept(text: &str) -> &str {
    match text.as_bytes().get(..MAX_KEPT) {
        None => text,
        Some(start) if start.is_ascii() => &text[..MAX_KEPT],
        Some(_) => match text.char_indices().nth(MAX_KEPT) {
            Some((end, _)) => &text[..end],
            None => text,
        },
    }
}

/// A direction by the word that all outputs have for it.
fn direction(word: &str) -> Option<Direction> {
    Some(match word {
        "read" => READ,
        "write" => WRITE,
        "trim" => TRIM,
        "sync" => SYNC,
        "mixed" => MIXED,
        _ => return None,
    })
}

/// `99.500000`; `None` also for the zeroes with which a list is filled up.
fn percentile(text: &str) -> Option<Statistic> {
    let statistic = Statistic::percentile(text.trim()).ok()?;
    (statistic != Statistic::Percentile(0)).then_some(statistic)
}

/// Notes a figure of a whole run.
fn add(
    notes: &mut Notes<'_>,
    at: At<'_>,
    job: &Subject,
    (quantity, statistic): (Quantity, Statistic),
    value: f64,
) {
    notes.add_as(at, job, (quantity, statistic, Span::Run), value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_have_zeroes_behind_them() {
        assert_eq!(percentile(" 1.00"), Some(Statistic::Percentile(1_000)));
        assert_eq!(percentile("99.990000"), Some(Statistic::Percentile(99_990)));
        for text in ["0.00", "0", "", "x", "101"] {
            assert_eq!(percentile(text), None, "{text}");
        }
    }
}
