//! What columns of file statistics are called. Everybody who divides `io_stall_read_ms` by `num_of_reads` has a name of their own for it, so
//! names are read word by word: `AvgReadLatencyMs`, `Average Read Wait (ms)` and `avg_read_stall` say the same.

use straddle_stack::activity::Quantity;

use crate::table::Meaning;

/// A part of a name.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Word {
    Mean,
    Total,
    Read,
    Write,
    /// Reads and writes together.
    Both,
    /// A latency by itself.
    Latency,
    /// A sum of times, unless it is a mean.
    Wait,
    /// How many there are.
    Number,
    Per,
    /// Bytes of one.
    Bytes(f64),
    /// Seconds of one.
    Seconds(f64),
    Size,
    /// Between two readings.
    Difference,
    /// Says nothing.
    Filler,
}

const KIB: f64 = 1024.0;

/// Of words that begin alike the longer one is tried first.
const WORDS: &[(&str, &[Word])] = &[
    ("average", &[Word::Mean]),
    ("avg", &[Word::Mean]),
    ("mean", &[Word::Mean]),
    ("total", &[Word::Total]),
    ("sum", &[Word::Total]),
    ("reads", &[Word::Read, Word::Number]),
    ("read", &[Word::Read]),
    ("writes", &[Word::Write, Word::Number]),
    ("written", &[Word::Write]),
    ("write", &[Word::Write]),
    ("overall", &[Word::Both]),
    ("transfers", &[Word::Both]),
    ("transfer", &[Word::Both]),
    ("i/o", &[Word::Both]),
    ("ios", &[Word::Both]),
    ("io", &[Word::Both]),
    ("latency", &[Word::Latency]),
    ("responsetime", &[Word::Latency]),
    ("response", &[Word::Latency]),
    ("stalls", &[Word::Wait]),
    ("stalled", &[Word::Wait]),
    ("stall", &[Word::Wait]),
    ("waits", &[Word::Wait]),
    ("wait", &[Word::Wait]),
    ("time", &[Word::Wait]),
    ("number", &[Word::Number]),
    ("num", &[Word::Number]),
    ("count", &[Word::Number]),
    ("#", &[Word::Number]),
    ("per", &[Word::Per]),
    ("/", &[Word::Per]),
    ("bytes", &[Word::Bytes(1.0)]),
    ("kb", &[Word::Bytes(KIB)]),
    ("mb", &[Word::Bytes(KIB * KIB)]),
    ("gb", &[Word::Bytes(KIB * KIB * KIB)]),
    ("b", &[Word::Bytes(1.0)]),
    ("milliseconds", &[Word::Seconds(1e-3)]),
    ("msec", &[Word::Seconds(1e-3)]),
    ("ms", &[Word::Seconds(1e-3)]),
    ("microseconds", &[Word::Seconds(1e-6)]),
    ("us", &[Word::Seconds(1e-6)]),
    ("seconds", &[Word::Seconds(1.0)]),
    ("second", &[Word::Seconds(1.0)]),
    ("sec", &[Word::Seconds(1.0)]),
    ("s", &[Word::Seconds(1.0)]),
    ("size", &[Word::Size]),
    ("differences", &[Word::Difference]),
    ("difference", &[Word::Difference]),
    ("diff", &[Word::Difference]),
    ("deltas", &[Word::Difference]),
    ("delta", &[Word::Difference]),
    ("interval", &[Word::Difference]),
    ("disk", &[Word::Filler]),
    ("file", &[Word::Filler]),
    ("of", &[Word::Filler]),
    ("in", &[Word::Filler]),
];

/// More words than a name of any sense has.
const MAX_WORDS: usize = 10;
/// A longer name is none of them.
const LONGEST: usize = 48;

/// What a column says, by its name; `None` for what is none of the figures that are read.
pub(super) fn meaning(name: &str) -> Option<Meaning> {
    match name {
        "size_on_disk_bytes" | "bytesondisk" | "sizeondiskbytes" => {
            return Some(of(Quantity::FileSize, 1.0));
        }
        "sizeondiskmb" | "size_on_disk_mb" => return Some(of(Quantity::FileSize, KIB * KIB)),
        _ => {}
    }
    if name.len() > LONGEST {
        return None;
    }
    let is_sign = |c: char| matches!(c, '_' | ' ' | '(' | ')' | '[' | ']');
    let letters: String = name.chars().filter(|c| !is_sign(*c)).collect();
    let mut words = Vec::with_capacity(MAX_WORDS);
    let meaning = split(&letters, &mut words).then(|| Said::of(&words).meaning())??;
    Some(Meaning {
        is_difference: words.contains(&Word::Difference),
        ..meaning
    })
}

const fn of(quantity: Quantity, factor: f64) -> Meaning {
    Meaning {
        quantity,
        factor,
        is_difference: false,
    }
}

/// Finds the words that make up a text. Where one is the beginning of another (`read`, `reads`), whichever leads to the end.
fn split(text: &str, words: &mut Vec<Word>) -> bool {
    if text.is_empty() {
        return !words.is_empty();
    }
    if words.len() >= MAX_WORDS {
        return false;
    }
    let before = words.len();
    WORDS.iter().any(|(word, said)| {
        text.strip_prefix(word).is_some_and(|rest| {
            words.extend_from_slice(said);
            let is_whole = split(rest, words);
            if !is_whole {
                words.truncate(before);
            }
            is_whole
        })
    })
}

/// What the words of a name come to.
struct Said {
    /// Reads, writes, or both.
    direction: Option<Direction>,
    is_mean: bool,
    is_total: bool,
    is_latency: bool,
    is_wait: bool,
    is_number: bool,
    is_size: bool,
    bytes: Option<f64>,
    seconds: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Direction {
    Read,
    Write,
    Both,
}

impl Said {
    fn of(words: &[Word]) -> Said {
        let has = |word| words.contains(&word);
        let direction = match (has(Word::Read), has(Word::Write)) {
            (true, false) => Some(Direction::Read),
            (false, true) => Some(Direction::Write),
            (false, false) if has(Word::Both) || has(Word::Latency) => Some(Direction::Both),
            _ => None,
        };
        Said {
            direction,
            is_mean: has(Word::Mean) || has(Word::Per),
            is_total: has(Word::Total),
            is_latency: has(Word::Latency),
            is_wait: has(Word::Wait),
            is_number: has(Word::Number),
            is_size: has(Word::Size),
            bytes: words.iter().find_map(|word| match word {
                Word::Bytes(bytes) => Some(*bytes),
                _ => None,
            }),
            seconds: words.iter().find_map(|word| match word {
                Word::Seconds(seconds) => Some(*seconds),
                _ => None,
            }),
        }
    }

    fn meaning(&self) -> Option<Meaning> {
        let direction = self.direction?;
        match self.bytes {
            Some(_) if self.seconds.is_some() => None,
            Some(bytes) => self.of_bytes(direction, bytes),
            None if self.is_latency || self.is_wait || self.seconds.is_some() => {
                self.of_time(direction)
            }
            None => self.of_requests(direction),
        }
    }

    fn of_bytes(&self, direction: Direction, bytes: f64) -> Option<Meaning> {
        let quantity = match (direction, self.is_mean || self.is_size) {
            (Direction::Read, true) => Quantity::ReadSize,
            (Direction::Write, true) => Quantity::WriteSize,
            (Direction::Both, true) => Quantity::TransferSize,
            (Direction::Read, false) => Quantity::ReadBytes,
            (Direction::Write, false) => Quantity::WrittenBytes,
            (Direction::Both, false) => return None,
        };
        Some(of(quantity, bytes))
    }

    /// A mean, or a sum of times. SQL Server counts in milliseconds.
    fn of_time(&self, direction: Direction) -> Option<Meaning> {
        let seconds = self.seconds.unwrap_or(1e-3);
        let is_latency = match (self.is_latency, self.is_wait) {
            (true, _) => self.is_mean || !self.is_total,
            (false, true) => self.is_mean,
            // `avg_read_ms`; `reads/s` is a rate.
            (false, false) if self.is_mean && !self.is_number && seconds < 1.0 => true,
            (false, false) => return None,
        };
        let quantity = match (direction, is_latency) {
            (Direction::Read, true) => Quantity::ReadLatency,
            (Direction::Write, true) => Quantity::WriteLatency,
            (Direction::Both, true) => Quantity::TransferLatency,
            (Direction::Read, false) => Quantity::ReadTime,
            (Direction::Write, false) => Quantity::WriteTime,
            (Direction::Both, false) => return None,
        };
        Some(of(quantity, seconds))
    }

    fn of_requests(&self, direction: Direction) -> Option<Meaning> {
        if !self.is_number || self.is_mean || self.is_size {
            return None;
        }
        match direction {
            Direction::Read => Some(of(Quantity::Reads, 1.0)),
            Direction::Write => Some(of(Quantity::Writes, 1.0)),
            Direction::Both => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_word_by_word() {
        for (quantity, factor, names) in [
            (
                Quantity::ReadLatency,
                1e-3,
                &[
                    "readlatency",
                    "read_latency_(ms)",
                    "avg_read_latency",
                    "avgreadlatencyms",
                    "avg_read_stall_ms",
                    "average_read_wait_(ms)",
                    "avg_read_ms",
                    "read_ms_per_read",
                    "avgreadstall_ms",
                    "avg_read_time_(ms)",
                    "read_response_time_ms",
                    "mean_read_latency(ms)",
                    "avg_disk_read_latency",
                ][..],
            ),
            (
                Quantity::WriteLatency,
                1e-6,
                &["avg_write_latency_us", "write_latency_(microseconds)"],
            ),
            (
                Quantity::TransferLatency,
                1e-3,
                &[
                    "latency",
                    "overall_latency",
                    "avg_io_stall_ms",
                    "avg_total_latency",
                    "average_i/o_wait_(ms)",
                ],
            ),
            (
                Quantity::ReadTime,
                1e-3,
                &[
                    "io_stall_read_ms",
                    "iostallread",
                    "total_read_waits_(ms)",
                    "read_stall_ms",
                    "total_read_latency_ms",
                ],
            ),
            (
                Quantity::Reads,
                1.0,
                &[
                    "num_of_reads",
                    "numberreads",
                    "number_of_reads",
                    "reads",
                    "totalreads",
                    "read_count",
                    "#_reads",
                ],
            ),
            (
                Quantity::Writes,
                1.0,
                &["num_of_writes", "writes", "total_writes"],
            ),
            (
                Quantity::ReadBytes,
                1.0,
                &["num_of_bytes_read", "bytesread", "numberofbytesread"],
            ),
            (
                Quantity::WrittenBytes,
                KIB * KIB,
                &["mb_written", "written_mb", "total_mb_written"],
            ),
            (
                Quantity::ReadSize,
                1.0,
                &["avgbperread", "avg_bytes/read", "avg_bytes_per_read"],
            ),
            (
                Quantity::TransferSize,
                KIB,
                &["avg_kb_per_transfer", "avg_io_size_kb"],
            ),
        ] {
            for name in names {
                assert_eq!(meaning(name), Some(of(quantity, factor)), "{name}");
            }
        }
    }

    #[test]
    fn what_went_on_between_two_readings_is_told_apart() {
        for (name, quantity) in [
            ("delta_reads", Quantity::Reads),
            ("num_of_reads_delta", Quantity::Reads),
            ("readsdiff", Quantity::Reads),
            ("io_stall_read_ms_diff", Quantity::ReadTime),
            ("interval_write_stall_ms", Quantity::WriteTime),
            ("avg_read_latency_delta_ms", Quantity::ReadLatency),
        ] {
            let expected = Meaning {
                is_difference: true,
                ..of(quantity, meaning(name).expect(name).factor)
            };
            assert_eq!(meaning(name), Some(expected), "{name}");
        }
    }

    #[test]
    fn what_is_something_else_is_none_of_them() {
        for name in [
            "",
            "io_stall",
            "io_stalls",
            "total_io",
            "io_stall_queued_read_ms",
            "io_stall_pct",
            "sample_ms",
            "reads/sec",
            "reads_per_second",
            "mb_read/sec",
            "avg_reads",
            "read",
            "read_ms",
            "file_size_(mb)",
            "resource_governor_total_read_io_latency_(ms)",
            "database_name",
            "ssssssssssssssssssssssssssssssssssssssss",
        ] {
            assert_eq!(meaning(name), None, "{name}");
        }
    }
}
