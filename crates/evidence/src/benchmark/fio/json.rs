//! `--output-format=json` and `json+`. The keys say the unit: `lat_ns` in nanoseconds, `lat` of fio 2 in microseconds; `bw_bytes` in
//! bytes, `bw` in KiB.

use straddle_stack::activity::{Moment, Quantity, Statistic};

use super::{Direction, add, direction, kept, percentile};
use crate::format::{Document, Format, Shape};
use crate::json::{Event, Met, Step};
use crate::line::Line;
use crate::linux::english;
use crate::notes::{At, Notes};
use crate::subject::Subject;

pub(crate) static FORMAT: Format = Format {
    name: "fio-json",
    commands: &["fio --output-format=json", "fio --output-format=json+"],
    says: "rate, throughput and latency with percentiles of reads, writes, discards and syncs, by job",
    shape: Shape::Json {
        begins: || Box::new(Run::default()),
    },
};

#[derive(Default)]
struct Run {
    mine: bool,
    moment: Option<Moment>,
    job: Option<Subject>,
    /// The direction of the job that is open.
    part: Option<Part>,
}

/// What one direction says.
struct Part {
    direction: Direction,
    /// Something was done in it; known from the number of its requests.
    done: Option<bool>,
    /// The throughput was given in bytes.
    in_bytes: bool,
    /// Rates, which stand before the number of requests, and the mean of completion, until that of all is met.
    held: Vec<Held>,
    completion: Option<Held>,
    /// The key of the latencies that have percentiles.
    percentiles: Option<String>,
}

/// A figure that is not noted yet, with its line.
struct Held {
    number: u64,
    text: String,
    quantity: Quantity,
    value: f64,
}

impl Document for Run {
    fn is_mine(&self) -> bool {
        self.mine
    }

    fn event(&mut self, event: &Event<'_>, notes: &mut Notes<'_>) {
        match event.path {
            [Step::Key(key)] => match (key.as_str(), event.text()) {
                ("fio version", _) => self.mine = true,
                ("time", Some(text)) => self.moment = english(text),
                _ => {}
            },
            [Step::Key(jobs), Step::Index(_), rest @ ..]
                if jobs == "jobs" || jobs == "client_stats" =>
            {
                self.of_job(rest, event, notes);
            }
            _ => {}
        }
    }
}

impl Run {
    fn of_job(&mut self, path: &[Step], event: &Event<'_>, notes: &mut Notes<'_>) {
        match path {
            [] => self.job = None,
            [Step::Key(key)] if key == "jobname" => {
                self.mine = true;
                self.job = event.text().map(Subject::job);
            }
            [Step::Key(key)] => match (event.met, direction(key)) {
                (Met::Open, Some(direction)) => self.part = Some(Part::of(direction)),
                (Met::Close, Some(_)) => self.end(notes),
                _ => {}
            },
            [Step::Key(key), rest @ ..] if direction(key).is_some() => {
                self.figure(rest, event, notes);
            }
            _ => {}
        }
    }

    fn figure(&mut self, path: &[Step], event: &Event<'_>, notes: &mut Notes<'_>) {
        let (Some(part), Some(value)) = (&mut self.part, event.number()) else {
            return;
        };
        let Some(Step::Key(first)) = path.first() else {
            return;
        };
        let direction = part.direction;
        let hold = |quantity, value| Held {
            number: event.line.number,
            text: kept(event.line.text).to_owned(),
            quantity,
            value,
        };
        let mut told = None;
        match path.get(1..).unwrap_or_default() {
            [] => match (first.as_str(), direction.throughput) {
                ("total_ios", _) => {
                    part.done = Some(value > 0.0);
                    let held = std::mem::take(&mut part.held);
                    if value > 0.0 {
                        self.note_all(held, notes);
                    }
                    return;
                }
                ("iops", _) => told = Some(hold(direction.rate, value)),
                ("bw_bytes", Some(quantity)) => {
                    part.in_bytes = true;
                    told = Some(hold(quantity, value));
                }
                ("bw", Some(quantity)) if !part.in_bytes => {
                    told = Some(hold(quantity, value * 1024.0));
                }
                _ => {}
            },
            // Without one, a mean is zero.
            [Step::Key(key)] if key == "mean" && value > 0.0 => {
                if let Some((name, factor)) = latency(first) {
                    let held = hold(direction.latency, value * factor);
                    match name {
                        "lat" => {
                            part.completion = None;
                            told = Some(held);
                        }
                        _ => part.completion = Some(held),
                    }
                }
            }
            [Step::Key(key), Step::Key(text)] if key == "percentile" => {
                let of = part.percentiles.get_or_insert_with(|| first.clone());
                // `percentile_list` may ask for both; one distribution is enough.
                if of != first || part.done == Some(false) {
                    return;
                }
                if let Some(((_, factor), statistic)) = latency(first).zip(percentile(text)) {
                    let at = At {
                        line: event.line,
                        moment: self.moment,
                    };
                    let job = self.job.clone().unwrap_or_else(|| Subject::job("-"));
                    let meaning = (direction.latency, statistic);
                    add(notes, at, &job, meaning, value * factor);
                }
            }
            _ => {}
        }
        if let Some(held) = told {
            match part.done {
                Some(true) => self.note_all(vec![held], notes),
                Some(false) => {}
                None if part.held.len() < MAX_HELD => part.held.push(held),
                None => {}
            }
        }
    }

    /// The direction ends: what was held is noted, unless nothing was done.
    fn end(&mut self, notes: &mut Notes<'_>) {
        let Some(mut part) = self.part.take() else {
            return;
        };
        let rate = part.held.iter().any(|held| held.value > 0.0);
        if part.done.unwrap_or(rate) {
            let mut held = std::mem::take(&mut part.held);
            held.extend(part.completion);
            self.note_all(held, notes);
        }
    }

    fn note_all(&mut self, held: Vec<Held>, notes: &mut Notes<'_>) {
        let job = self.job.clone().unwrap_or_else(|| Subject::job("-"));
        for held in held {
            let line = Line {
                number: held.number,
                text: &held.text,
            };
            let at = notes.at(line, self.moment);
            let meaning = (held.quantity, Statistic::Mean);
            add(notes, at, &job, meaning, held.value);
        }
    }
}

/// More than a direction has, before the number of requests is known.
const MAX_HELD: usize = 8;

impl Part {
    fn of(direction: Direction) -> Part {
        Part {
            direction,
            done: None,
            in_bytes: false,
            held: Vec::new(),
            completion: None,
            percentiles: None,
        }
    }
}

/// Which latency it is, and its unit. That of submission is a part of the others.
fn latency(key: &str) -> Option<(&str, f64)> {
    let (name, factor) = match key.strip_suffix("_ns") {
        Some(name) => (name, 1e-9),
        None => (key, 1e-6),
    };
    matches!(name, "lat" | "clat").then_some((name, factor))
}
