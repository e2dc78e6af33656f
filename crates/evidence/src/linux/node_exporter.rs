//! Counters of disks as Prometheus gets them: `node_disk_*` of node_exporter, a figure a line.

use straddle_stack::activity::{Moment, Quantity};

use super::devices::{Counter, Devices, since_start};
use super::diskstats::Snapshot;
use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::Notes;
use crate::number;
use crate::subject::Subject;

pub(crate) static FORMAT: Format = Format {
    name: "node-exporter",
    commands: &["curl …:9100/metrics"],
    says: "reads, writes, flushes, their bytes and times, of each disk since the start",
    shape: Shape::Lines {
        marks: &["node_disk_"],
        begins: |line, notes| {
            let mut metrics = Metrics::default();
            // Where others are first, as in the order of the alphabet, what is read is still to come.
            let is_one = Sample::of(line.text).is_some();
            is_one.then(|| metrics.line(line, notes))?;
            Some(Box::new(metrics) as Box<dyn Body>)
        },
    },
};

/// What stands behind `node_disk_`: as it is since version 0.16, and as it was before, where it is another one.
const NAMES: [(&str, &str, Quantity, f64); 10] = [
    (
        "reads_completed_total",
        "reads_completed",
        Quantity::Reads,
        1.0,
    ),
    ("read_bytes_total", "bytes_read", Quantity::ReadBytes, 1.0),
    (
        "read_time_seconds_total",
        "read_time_ms",
        Quantity::ReadTime,
        1e-3,
    ),
    (
        "writes_completed_total",
        "writes_completed",
        Quantity::Writes,
        1.0,
    ),
    (
        "written_bytes_total",
        "bytes_written",
        Quantity::WrittenBytes,
        1.0,
    ),
    (
        "write_time_seconds_total",
        "write_time_ms",
        Quantity::WriteTime,
        1e-3,
    ),
    (
        "io_time_seconds_total",
        "io_time_ms",
        Quantity::BusyTime,
        1e-3,
    ),
    (
        "io_time_weighted_seconds_total",
        "io_time_weighted",
        Quantity::QueueTime,
        1e-3,
    ),
    ("flush_requests_total", "", Quantity::Flushes, 1.0),
    (
        "flush_requests_time_seconds_total",
        "",
        Quantity::FlushTime,
        1.0,
    ),
];

/// The series of a device, in the order of [`NAMES`].
const SERIES: [Counter; 10] = {
    let mut series = [(0, Quantity::Reads, 1.0); NAMES.len()];
    let mut at = 0;
    while at < NAMES.len() {
        series[at] = (at, NAMES[at].2, 1.0);
        at += 1;
    }
    series
};

/// A line of a metric of a disk.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample<'t> {
    /// Which of [`NAMES`], and by what its figure is multiplied; `None` for another metric of disks.
    what: Option<(usize, f64)>,
    device: &'t str,
    /// The host that Prometheus got it from, where it says so.
    host: Option<&'t str>,
    /// Its name and its labels: what comes again is of the next time.
    series: &'t str,
    /// What stands behind the labels: the figure, and a time.
    behind: &'t str,
}

impl<'t> Sample<'t> {
    fn of(text: &'t str) -> Option<Sample<'t>> {
        const MARK: &str = "node_disk_";
        let at = memchr::memmem::find(text.as_bytes(), MARK.as_bytes())?;
        let (series, behind) = text[at..].split_once('}')?;
        let (name, labels) = series[MARK.len()..].split_once('{')?;
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        // What Prometheus answers has more labels than what it was given.
        let label = |mark: &str| Some(labels.split_once(mark)?.1.split_once('"')?.0);
        let device = label("device=\"")?;
        let is_sample = is_name && !device.is_empty() && behind.starts_with([' ', '\t']);
        let what = NAMES
            .iter()
            .enumerate()
            .find_map(|(at, (new, old, _, factor))| match name {
                _ if name == *new => Some((at, 1.0)),
                _ if name == *old => Some((at, *factor)),
                _ => None,
            });
        is_sample.then_some(Sample {
            what,
            device,
            host: label("instance=\""),
            series,
            behind: behind.trim(),
        })
    }

    /// The figure, and when it was taken, where that stands behind it in milliseconds.
    fn figure(&self) -> Option<(f64, Option<Moment>)> {
        let mut words = self.behind.split_ascii_whitespace();
        let value = number::plain(words.next()?)?;
        let Some(word) = words.next() else {
            return Some((value, None));
        };
        let millis: i64 = word.parse().ok()?;
        Some((value, Some(Moment::from_micros(millis.checked_mul(1000)?))))
    }
}

#[derive(Default)]
struct Metrics {
    devices: Devices,
    snapshot: Snapshot,
}

impl Body for Metrics {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        let Some(sample) = Sample::of(line.text) else {
            let is_mine = line.text.contains("node_disk_");
            return if is_mine { Taken::Yes } else { Taken::No };
        };
        let Some((index, factor)) = sample.what else {
            return Taken::Yes;
        };
        let Some((value, own)) = sample.figure() else {
            notes.unread(line);
            return Taken::Yes;
        };
        let moment = own.or_else(|| self.snapshot.moment(sample.series, notes));
        let at = notes.at(*line, moment);
        let make = |subject: &Subject| since_start(subject, &SERIES);
        let device = notes.name_on(sample.host.unwrap_or_default(), sample.device);
        if let Some(channel) = self.devices.of(&device, make).get_mut(index) {
            notes.send(channel, at, value * factor, None);
        }
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_a_device_and_a_figure() {
        let of = |text| Sample::of(text).map(|sample| (sample.what, sample.device));
        for (text, expected) in [
            (
                "node_disk_read_time_seconds_total{device=\"sda\"} 3140.265",
                Some((Some((2, 1.0)), "sda")),
            ),
            (
                "node_disk_read_time_ms{device=\"sda\"} 5880",
                Some((Some((2, 1e-3)), "sda")),
            ),
            (
                "node_disk_io_now{device=\"dm-0\",instance=\"db:9100\"} 1 1763640000000",
                Some((None, "dm-0")),
            ),
            ("# TYPE node_disk_io_now gauge", None),
            ("node_disk_reads_completed_total{device=\"sda\"}", None),
            (
                "rate(node_disk_reads_completed_total{device=\"sda\"}[5m])",
                None,
            ),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
        let sample = Sample::of("node_disk_io_now{device=\"sda\"} 1.5e+03 1763640000000");
        let (value, at) = sample.expect("a sample").figure().expect("a figure");
        assert_eq!(value, 1500.0);
        assert_eq!(at.expect("a time").to_string(), "2025-11-20T12:00:00");
    }
}
