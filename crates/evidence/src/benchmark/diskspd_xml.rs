//! diskspd's results as XML, an element a line.

use straddle_stack::activity::{Moment, Span, Statistic};

use super::diskspd::Counts;
use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::Notes;
use crate::number;
use crate::stamp;
use crate::subject::Subject;

pub(crate) static FORMAT: Format = Format {
    name: "diskspd-xml",
    commands: &["diskspd -Rxml"],
    says: "the same as diskspd's text",
    shape: Shape::Lines {
        marks: &["<results>"],
        begins: |line, notes| {
            let (before, _) = line.text.split_once("<Results>")?;
            let is_first = before.trim_start_matches('\u{feff}').trim().is_empty();
            // A declaration, where another program wrote the document.
            let begins = is_first || before.trim_end().ends_with("?>");
            begins.then(|| {
                // All of it may be in this line.
                let mut results = Results::default();
                results.line(line, notes);
                Box::new(results) as Box<dyn Body>
            })
        },
    },
};

const ALL: [Counts; 3] = [Counts::Reads, Counts::Writes, Counts::Both];

#[derive(Default)]
struct Results {
    moment: Option<Moment>,
    /// Length of the run, and the line that says so.
    seconds: Option<(f64, u64, String)>,
    percentile: Option<Statistic>,
    /// Requests and bytes of each direction.
    sums: [(f64, f64); 3],
    /// Latencies, until it is known whether something was done.
    latencies: Vec<(Counts, Statistic, f64, u64, String)>,
}

/// Most latencies of one run: a histogram has as many rows as it likes.
const MAX_LATENCIES: usize = 4096;

impl Body for Results {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        let mut rest = line.text;
        while let Some(open) = rest.find('<') {
            let Some(close) = rest[open..].find('>').map(|at| open + at) else {
                break;
            };
            let (tag, behind) = (&rest[open + 1..close], &rest[close + 1..]);
            let value = &behind[..behind.find('<').unwrap_or(behind.len())];
            match tag {
                "/TimeSpan" => self.end(notes),
                "/Results" => {
                    self.end(notes);
                    return Taken::Yes;
                }
                "RunTime" => self.moment = stamp::date_and_time(value).map(|(moment, _)| moment),
                tag => {
                    if let Some(value) = number::plain(value) {
                        self.figure(tag, value, line);
                    }
                }
            }
            rest = behind;
        }
        Taken::Yes
    }
}

impl Results {
    fn figure(&mut self, tag: &str, value: f64, line: &Line<'_>) {
        let plus = |at: usize, count: f64, bytes: f64, sums: &mut [(f64, f64); 3]| {
            sums[at].0 += count;
            sums[at].1 += bytes;
        };
        match tag {
            "TestTimeSeconds" => self.seconds = Some((value, line.number, line.text.to_owned())),
            "ReadCount" => plus(0, value, 0.0, &mut self.sums),
            "WriteCount" => plus(1, value, 0.0, &mut self.sums),
            "IOCount" => plus(2, value, 0.0, &mut self.sums),
            "ReadBytes" => plus(0, 0.0, value, &mut self.sums),
            "WriteBytes" => plus(1, 0.0, value, &mut self.sums),
            "BytesCount" => plus(2, 0.0, value, &mut self.sums),
            "Percentile" => {
                #[expect(
                    clippy::float_cmp,
                    reason = "they are written so, and nothing is computed"
                )]
                let known = [
                    (50.0, 50_000),
                    (90.0, 90_000),
                    (95.0, 95_000),
                    (99.0, 99_000),
                    (99.9, 99_900),
                ]
                .into_iter()
                .find(|(percent, _)| *percent == value);
                self.percentile = match known {
                    Some((_, thousandths)) => Some(Statistic::Percentile(thousandths)),
                    None => (value >= 100.0).then_some(Statistic::Max),
                };
            }
            tag => {
                let (counts, statistic) = match (tag, self.percentile) {
                    ("AverageReadMilliseconds", _) => (Counts::Reads, Statistic::Mean),
                    ("AverageWriteMilliseconds", _) => (Counts::Writes, Statistic::Mean),
                    ("AverageTotalMilliseconds", _) => (Counts::Both, Statistic::Mean),
                    ("ReadMilliseconds", Some(statistic)) => (Counts::Reads, statistic),
                    ("WriteMilliseconds", Some(statistic)) => (Counts::Writes, statistic),
                    ("TotalMilliseconds", Some(statistic)) => (Counts::Both, statistic),
                    _ => return,
                };
                if self.latencies.len() < MAX_LATENCIES {
                    let text = line.text.to_owned();
                    self.latencies
                        .push((counts, statistic, value * 1e-3, line.number, text));
                }
            }
        }
    }

    fn end(&mut self, notes: &mut Notes<'_>) {
        let Results {
            moment,
            seconds,
            sums,
            latencies,
            ..
        } = std::mem::take(self);
        self.moment = moment;
        let subject = Subject::job("-");
        if let Some((seconds, number, text)) = seconds.filter(|(seconds, ..)| *seconds > 0.0) {
            let line = Line {
                number,
                text: &text,
            };
            let at = notes.at(line, moment);
            for (counts, (operations, bytes)) in ALL.into_iter().zip(sums) {
                notes.add(at, &subject, counts.rate(), Span::Run, operations / seconds);
                notes.add(
                    at,
                    &subject,
                    counts.throughput(),
                    Span::Run,
                    bytes / seconds,
                );
            }
        }
        for (counts, statistic, value, number, text) in latencies {
            let at = ALL.iter().position(|other| *other == counts);
            let did_something = at
                .and_then(|at| sums.get(at))
                .is_some_and(|(n, _)| *n > 0.0);
            if did_something {
                let line = Line {
                    number,
                    text: &text,
                };
                let at = notes.at(line, moment);
                notes.add_as(
                    at,
                    &subject,
                    (counts.latency(), statistic, Span::Run),
                    value,
                );
            }
        }
    }
}
