//! SQLIO: rates and whole milliseconds of one run after the other.

use straddle_stack::activity::{Quantity, Span, Statistic};

use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::Notes;
use crate::number;
use crate::subject::Subject;

pub(crate) static FORMAT: Format = Format {
    name: "sqlio",
    commands: &["sqlio"],
    says: "rate, throughput, mean and largest latency of each run",
    shape: Shape::Lines {
        marks: &[
            "sqlio v1.",
            "cumulative data",
            "throughput metrics:",
            " secs ",
        ],
        begins: |line, _| {
            let text = line.text;
            let begins = text.contains("sqlio v1.")
                || text.contains("CUMULATIVE DATA")
                || text.contains("throughput metrics:")
                || job(text).is_some();
            begins.then(|| {
                let mut run = Run::default();
                run.head(text);
                Box::new(run) as Box<dyn Body>
            })
        },
    },
};

#[derive(Default)]
struct Run {
    /// The file, and whether it is written.
    job: Option<(String, bool)>,
    /// A figure is still to come.
    waits: bool,
}

/// `2 threads reading for 120 secs from file E:\testfile.dat`.
fn job(text: &str) -> Option<(String, bool)> {
    let (before, rest) = text.split_once(" secs ")?;
    let writes = before.contains("threads writing for");
    if !writes && !before.contains("threads reading for") {
        return None;
    }
    let (_, file) = rest.split_once(" file")?;
    let file = file.trim_start_matches('s').trim();
    Some((file.to_owned(), writes))
}

impl Run {
    fn head(&mut self, text: &str) {
        if let Some(job) = job(text) {
            self.job = Some(job);
        }
        if text.contains("CUMULATIVE DATA") || text.contains("throughput metrics:") {
            self.waits = true;
        }
    }
}

impl Body for Run {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        let text = line.trimmed();
        if text.contains("sqlio v1.") {
            *self = Run::default();
            return Taken::Yes;
        }
        self.head(text);
        let (job, writes) = match &self.job {
            Some((job, writes)) => (job.as_str(), Some(*writes)),
            None => ("-", None),
        };
        let by = |reads, writes_, both| match writes {
            Some(false) => reads,
            Some(true) => writes_,
            None => both,
        };
        let mega = 1024.0 * 1024.0;
        let latency = by(
            Quantity::ReadLatency,
            Quantity::WriteLatency,
            Quantity::TransferLatency,
        );
        let (label, value) = text.split_once(':').unwrap_or((text, ""));
        let (quantity, statistic, factor) = match label.trim() {
            "IOs/sec" => (
                by(
                    Quantity::ReadRate,
                    Quantity::WriteRate,
                    Quantity::TransferRate,
                ),
                Statistic::Mean,
                1.0,
            ),
            "MBs/sec" => (
                by(
                    Quantity::ReadThroughput,
                    Quantity::WriteThroughput,
                    Quantity::TransferThroughput,
                ),
                Statistic::Mean,
                mega,
            ),
            "Avg_Latency(ms)" => (latency, Statistic::Mean, 1e-3),
            "Max_Latency(ms)" => (latency, Statistic::Max, 1e-3),
            label => {
                // Cut off in the middle of a figure's name.
                if self.waits && label.len() >= 4 && "IOs/sec".starts_with(label) {
                    notes.unread(line);
                }
                return Taken::Yes;
            }
        };
        self.waits = false;
        let subject = Subject::job(job);
        match number::plain(value) {
            Some(value) => {
                let at = notes.at(*line, None);
                notes.add_as(
                    at,
                    &subject,
                    (quantity, statistic, Span::Run),
                    value * factor,
                );
            }
            None => notes.unread(line),
        }
        Taken::Yes
    }
}
