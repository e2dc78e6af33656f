//! The histogram of syncs in the metrics: its sum and its count, from which the mean comes.

use straddle_stack::activity::{Quantity, Span};

use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::{At, Notes};
use crate::number;
use crate::subject::Subject;

pub(crate) static FORMAT: Format = Format {
    name: "etcd-metrics",
    commands: &["curl …/metrics"],
    says: "syncs of the write-ahead log since the server's start, and their mean",
    shape: Shape::Lines {
        marks: &[
            "etcd_disk_wal_fsync_duration_seconds",
            "etcd_wal_fsync_durations_seconds",
        ],
        begins: |line, notes| {
            part(line.text)?;
            let mut histogram = Histogram::default();
            histogram.line(line, notes);
            Some(Box::new(histogram) as Box<dyn Body>)
        },
    },
};

/// From 3 on, and in 2.
const NAMES: [&str; 2] = [
    "etcd_disk_wal_fsync_duration_seconds",
    "etcd_wal_fsync_durations_seconds",
];

#[derive(Default)]
struct Histogram {
    /// The sum, until the count is met: its line, whose it is, and how long all syncs took.
    sum: Option<(u64, String, String, f64)>,
}

impl Body for Histogram {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        let text = line.text;
        let Some((which, labels, value)) = part(text) else {
            let is_mine = NAMES.iter().any(|name| text.contains(name));
            return if is_mine { Taken::Yes } else { Taken::Ended };
        };
        if which == "bucket" {
            return Taken::Yes;
        }
        let value = value.split_whitespace().next().and_then(number::plain);
        let Some(value) = value else {
            notes.unread(line);
            return Taken::Yes;
        };
        if which == "sum" {
            self.sum = Some((line.number, text.to_owned(), labels.to_owned(), value));
            return Taken::Yes;
        }
        let server = Subject::whole_server();
        let sum = self.sum.take().filter(|(_, _, of, _)| of == labels);
        if let Some((number, text, _, sum)) = sum
            && value > 0.0
        {
            let line = Line {
                number,
                text: &text,
            };
            let at = At { line, moment: None };
            let mean = sum / value;
            notes.add(at, &server, Quantity::FlushLatency, Span::SinceStart, mean);
        }
        let at = At {
            line: *line,
            moment: None,
        };
        notes.add(at, &server, Quantity::Flushes, Span::SinceStart, value);
        Taken::Yes
    }
}

/// What a line of the histogram is, whose, and its value.
fn part(text: &str) -> Option<(&'static str, &str, &str)> {
    let behind = |name: &&str| {
        let at = text.find(*name)? + name.len();
        text[at..].strip_prefix('_')
    };
    let rest = NAMES.iter().find_map(behind)?;
    let (which, rest) = ["bucket", "sum", "count"]
        .into_iter()
        .find_map(|which| Some((which, rest.strip_prefix(which)?)))?;
    let (labels, value) = match rest.starts_with('{') {
        true => rest.split_at(rest.rfind('}')? + 1),
        false => ("", rest),
    };
    value
        .starts_with([' ', '\t'])
        .then_some((which, labels, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_may_have_braces_in_them() {
        let line = "etcd_disk_wal_fsync_duration_seconds_sum{a=\"}\",b=\"c d\"} 1.5e+03 17";
        let expected = Some(("sum", "{a=\"}\",b=\"c d\"}", " 1.5e+03 17"));
        assert_eq!(part(line), expected);
        for line in [
            "etcd_disk_wal_fsync_duration_seconds_sum{a=\"b",
            "etcd_disk_wal_fsync_duration_sec",
            "etcd_disk_backend_commit_duration_seconds_sum 2",
        ] {
            assert_eq!(part(line), None, "{line}");
        }
    }
}
