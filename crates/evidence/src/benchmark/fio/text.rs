//! What fio prints for people. Versions before 3 write `read : io=…, bw=…, iops=…`, where a KB has 1024 bytes.

use straddle_stack::activity::{Moment, Quantity, Statistic};

use super::{Direction, MAX_KEPT, SYNC, add, direction, percentile};
use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::linux::english;
use crate::notes::{At, Notes};
use crate::number;
use crate::subject::Subject;
use crate::word;

pub(crate) static FORMAT: Format = Format {
    name: "fio",
    commands: &["fio"],
    says: "rate, throughput and latency with percentiles of reads, writes, discards and syncs, by job",
    shape: Shape::Lines {
        marks: &[
            ": (groupid=",
            "fsync/fdatasync/sync_file_range:",
            "io=",
            "iops=",
        ],
        begins: |line, notes| {
            let mut report = Report::of(line.text)?;
            report.take(line, notes);
            Some(Box::new(report) as Box<dyn Body>)
        },
    },
};

const HEAD: &str = ": (groupid=";
const SYNCS: &str = "fsync/fdatasync/sync_file_range:";
/// Below the last job: sums of all.
const SUMS: &str = "Run status group";
const PERCENTILE: &str = "th=[";
/// Behind so many lines that are not fio's, no more is expected of it.
const MAX_STRANGERS: u32 = 16;

/// The report of one job.
struct Report {
    job: Subject,
    moment: Option<Moment>,
    direction: Option<Direction>,
    /// The mean of completion and its line, until the next line says whether there is one of all.
    completion: Option<(u64, String, f64)>,
    /// What the rows of percentiles that follow are of, and their unit.
    percentiles: Option<(Quantity, f64)>,
    /// The direction has its percentiles.
    has_percentiles: bool,
    /// The row of percentiles that may go on in the next line, and what of it was not read.
    row: Option<(u64, String)>,
    strangers: u32,
}

impl Report {
    /// The report that begins here: with its head, or, in posts, with what somebody asked for.
    fn of(text: &str) -> Option<Report> {
        let (job, moment) = match head(text) {
            Some((name, moment)) => (name, moment),
            None if text.contains(SYNCS) || rates(text).is_some() => ("-", None),
            None => return None,
        };
        Some(Report {
            job: Subject::job(job),
            moment,
            direction: None,
            completion: None,
            percentiles: None,
            has_percentiles: false,
            row: None,
            strangers: 0,
        })
    }

    /// Whether the line is one of fio's.
    fn take(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> bool {
        let text = line.text;
        if self.percentiles.is_some() && self.row_of_percentiles(line, notes) {
            return true;
        }
        let mean = mean(text);
        match mean {
            // The mean of all counts, not that of completion.
            Some(("lat", Some(_))) => self.completion = None,
            _ => self.flush(notes),
        }
        if let Some((label, value)) = mean {
            self.percentiles = None;
            let direction = match label {
                "sync" => Some(SYNC),
                _ => self.direction,
            };
            match (label, value, direction) {
                ("clat", Some(value), _) => {
                    let text = super::kept(text).to_owned();
                    self.completion = Some((line.number, text, value));
                }
                ("lat" | "sync", Some(value), Some(direction)) => {
                    let meaning = (direction.latency, Statistic::Mean);
                    self.note(line, meaning, value, notes);
                }
                ("lat" | "clat" | "sync", None, _) => notes.unread(line),
                _ => {}
            }
        } else if let Some((label, factor)) = title(text) {
            let quantity = match label {
                "sync" => Some(Quantity::FlushLatency),
                "slat" => None,
                _ => self.direction.map(|direction| direction.latency),
            };
            // Those of completion and those of all may both be asked for; one distribution is enough.
            let quantity = quantity.filter(|_| !self.has_percentiles);
            self.has_percentiles |= quantity.is_some();
            self.percentiles = quantity.map(|quantity| (quantity, factor));
        } else if let Some(rates) = rates(text) {
            self.rates(&rates, line, notes);
        } else if text.contains(SYNCS) {
            self.begin(SYNC);
        } else {
            return OTHERS.iter().any(|other| text.contains(other)) || text.trim().is_empty();
        }
        true
    }

    fn begin(&mut self, direction: Direction) {
        self.direction = Some(direction);
        self.percentiles = None;
        self.has_percentiles = false;
    }

    fn rates(&mut self, rates: &Rates, line: &Line<'_>, notes: &mut Notes<'_>) {
        let direction = rates.direction;
        self.begin(direction);
        let (Some(rate), Some(throughput)) = (rates.rate, rates.throughput) else {
            return notes.unread(line);
        };
        self.note(line, (direction.rate, Statistic::Mean), rate, notes);
        if let Some(quantity) = direction.throughput {
            self.note(line, (quantity, Statistic::Mean), throughput, notes);
        }
    }

    fn note(
        &self,
        line: &Line<'_>,
        meaning: (Quantity, Statistic),
        value: f64,
        notes: &mut Notes<'_>,
    ) {
        let at = notes.at(*line, self.moment);
        add(notes, at, &self.job, meaning, value);
    }

    /// No mean of all followed that of completion.
    fn flush(&mut self, notes: &mut Notes<'_>) {
        let Some((number, text, value)) = self.completion.take() else {
            return;
        };
        let Some(direction) = self.direction else {
            return;
        };
        let line = Line {
            number,
            text: &text,
        };
        self.note(&line, (direction.latency, Statistic::Mean), value, notes);
    }

    /// `| 99.00th=[  75], 99.50th=[ 110],`, which mails wrap anywhere.
    fn row_of_percentiles(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> bool {
        let text = line.text;
        let first = word::find(text, PERCENTILE);
        let bar = text[..first.unwrap_or_default()].rfind('|');
        let is_open = self.row.as_ref().is_some_and(|(_, rest)| is_open(rest));
        match (&mut self.row, bar) {
            (row, Some(bar)) => {
                if let Some((number, rest)) = row.take().filter(|_| is_open) {
                    notes.unread(&Line {
                        number,
                        text: &rest,
                    });
                }
                self.row = Some((line.number, text[bar + 1..].to_owned()));
            }
            (Some((_, rest)), None) if rest.len() > MAX_KEPT => {
                // No row is so long.
                self.percentiles = None;
                return false;
            }
            (Some((_, rest)), None) if first.is_some() || is_open && text.contains(']') => {
                rest.push(' ');
                rest.push_str(text.trim());
            }
            (row, None) => {
                if let Some((number, rest)) = row.take().filter(|_| is_open) {
                    notes.unread(&Line {
                        number,
                        text: &rest,
                    });
                }
                return false;
            }
        }
        let (Some((number, text)), Some((quantity, factor))) = (self.row.take(), self.percentiles)
        else {
            return false;
        };
        let at = At {
            line: Line {
                number,
                text: &text,
            },
            moment: self.moment,
        };
        let mut rest = text.as_str();
        while let Some((part, behind)) = word::split_once(rest, PERCENTILE)
            && let Some((value, next)) = behind.split_once(']')
        {
            let part = percentile(part.trim_start_matches([',', ' ']));
            match (part, number::plain(value)) {
                (Some(part), Some(value)) => {
                    add(notes, at, &self.job, (quantity, part), value * factor);
                }
                (None, Some(_)) => {}
                (_, None) => notes.unread(&at.line),
            }
            rest = next;
        }
        self.row = Some((number, rest.to_owned()));
        true
    }
}

impl Body for Report {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        if line.text.contains(SUMS) || head(line.text).is_some() {
            self.end(notes);
            return Taken::Ended;
        }
        if self.take(line, notes) {
            self.strangers = 0;
            return Taken::Yes;
        }
        self.strangers += 1;
        match self.strangers > MAX_STRANGERS {
            true => Taken::Ended,
            false => Taken::No,
        }
    }

    fn end(&mut self, notes: &mut Notes<'_>) {
        self.flush(notes);
        if let Some((number, rest)) = self.row.take()
            && is_open(&rest)
        {
            notes.unread(&Line {
                number,
                text: &rest,
            });
        }
    }
}

/// Beginnings of lines that say nothing of latency.
const OTHERS: [&str; 9] = [
    "bw (",
    "iops ",
    "lat (",
    "cpu ",
    "IO depths",
    "submit ",
    "complete ",
    "issued ",
    "latency ",
];

/// A percentile without its end.
fn is_open(rest: &str) -> bool {
    !rest.trim_matches([',', ' ', '\t']).is_empty()
}

/// `job: (groupid=0, jobs=1): err= 0: pid=77120: Thu Sep 14 21:07:31 2023`: the name of the job, and when it ended.
fn head(text: &str) -> Option<(&str, Option<Moment>)> {
    let at = word::find(text, HEAD)?;
    // What logs and containers put before it ends with one of these.
    let name = ["] ", "| ", ": "].iter().fold(&text[..at], |name, end| {
        name.rsplit(end).next().unwrap_or(name)
    });
    let behind = text[at..].split_once(" pid=").map(|(_, behind)| behind);
    let time = behind.and_then(|behind| behind.split_once(": "));
    Some((name.trim(), time.and_then(|(_, time)| english(time))))
}

/// The line with which a direction begins. A figure is `None` where it is cut off.
struct Rates {
    direction: Direction,
    rate: Option<f64>,
    throughput: Option<f64>,
}

/// `  read: IOPS=15.8k, BW=61.7MiB/s (64.7MB/s)(…)`, or `  read : io=4096.0MB, bw=95432KB/s, iops=23858, runtime= …`.
fn rates(text: &str) -> Option<Rates> {
    let (at, rate, throughput, is_old) = match word::find(text, "IOPS=") {
        Some(at) => (at, "IOPS=", "BW=", false),
        None => (word::find(text, "io=")?, "iops=", "bw=", true),
    };
    let before = text[..at].trim_end().strip_suffix(':')?;
    let direction = direction(before.split_whitespace().next_back()?)?;
    let value = |key: &str| Some(word::split_once(&text[at..], key)?.1.trim_start());
    Some(Rates {
        direction,
        rate: value(rate).and_then(|text| {
            // A number that nothing follows may be cut off.
            let (value, rest) = number::leading(text)?;
            let end = rest.find(',')?;
            Some(value * number::prefix(&rest[..end])?)
        }),
        throughput: value(throughput).and_then(|text| {
            let (value, rest) = number::leading(text)?;
            let unit = rest[..rest.find("/s")?].strip_suffix('B')?;
            // In version 3, KB and kB are 1000 bytes, and KiB 1024.
            let factor = match (unit, is_old) {
                ("", _) => 1.0,
                (unit, true) => number::prefix(&format!("{unit}i"))?,
                (unit, false) => number::prefix(unit)?,
            };
            Some(value * factor)
        }),
    })
}

/// Which latency a line is of, and its mean: `    clat (usec): min=82 , max=33120 , avg= 9.11, stdev= 4.20`.
fn mean(text: &str) -> Option<(&str, Option<f64>)> {
    let at = word::find(text, "): min=")?;
    let open = text[..at].rfind('(')?;
    let label = text[..open].split_whitespace().next_back()?;
    let factor = factor(&text[open + 1..at])?;
    let value = word::split_once(&text[at..], "avg=").and_then(|(_, value)| {
        let (value, rest) = number::leading(value.trim_start())?;
        let end = rest.find(',')?;
        Some(value * number::prefix(rest[..end].trim())? * factor)
    });
    Some((label, value))
}

/// `    clat percentiles (usec):`
fn title(text: &str) -> Option<(&str, f64)> {
    let (before, behind) = word::split_once(text, " percentiles (")?;
    let label = before.split_whitespace().next_back()?;
    let unit = &behind[..behind.find(')')?];
    Some((label, factor(unit)?))
}

fn factor(unit: &str) -> Option<f64> {
    Some(match unit.trim() {
        "nsec" => 1e-9,
        "usec" => 1e-6,
        "msec" => 1e-3,
        "sec" => 1.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{READ, WRITE};
    use super::*;

    #[test]
    fn a_name_stands_behind_what_others_put_before_it() {
        for (text, name) in [
            ("a b: (groupid=0, jobs=1): err= 0: pid=1: Thu", "a b"),
            ("20:16:21 DEBUG| [stdout] bs4k: (groupid=0", "bs4k"),
            ("Jan 02 03:04:05 db1 fio[7]: x: (groupid=0", "x"),
            ("fio-1  | wal: (groupid=0", "wal"),
        ] {
            assert_eq!(head(text).map(|(name, _)| name), Some(name), "{text}");
        }
        assert!(head("x: (g=0): rw=write").is_none());
    }

    #[test]
    fn units_depend_on_the_version() {
        let of = |text| rates(text).map(|r| (r.direction, r.rate, r.throughput));
        for (text, expected) in [
            (
                "  read: IOPS=15.8k, BW=2.0KiB/s (2.05kB/s)",
                (READ, Some(15_800.0), Some(2048.0)),
            ),
            (
                " write: IOPS=1, BW=2.0kB/s (1.95KiB/s)",
                (WRITE, Some(1.0), Some(2000.0)),
            ),
            (
                "  read : io=4.0MB, bw=2KB/s, iops=7, runtime= 4msec",
                (READ, Some(7.0), Some(2048.0)),
            ),
            ("  read: IOPS=15.8", (READ, None, None)),
        ] {
            assert_eq!(of(text), Some(expected), "{text}");
        }
        for text in [
            "  iops        : min=    7",
            "x: ios=1",
            "READ: io=4.0MB, aggrb=1KB/s",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn a_mean_has_the_unit_of_its_line() {
        let slat = "    slat (usec): min=4 , max=312 , avg= 8.00, stdev= 4.20";
        assert_eq!(mean(slat), Some(("slat", Some(8e-6))));
        assert_eq!(mean("  lat (usec)   : 50=0.44%"), None);
        assert_eq!(
            mean(" clat (msec): min=4, max=5, avg=9."),
            Some(("clat", None))
        );
    }
}
