//! `Get-Counter` on a screen: a path with a colon, and its figure below.

use straddle_stack::activity::{Moment, Span};

use super::{Path, is_idle, perfmon};
use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::Notes;
use crate::number;
use crate::stamp::{self, Order};

pub(crate) static FORMAT: Format = Format {
    name: "get-counter",
    commands: &["Get-Counter"],
    says: "counters of disks and volumes at a few moments",
    shape: Shape::Lines {
        marks: &["countersamples"],
        begins: |line, _| {
            let text = line.text;
            let named = text.contains("Timestamp") && text.contains("CounterSamples");
            named.then(|| Box::new(Samples::default()) as Box<dyn Body>)
        },
    },
};

#[derive(Default)]
struct Samples {
    moment: Option<Moment>,
    path: String,
}

impl Body for Samples {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        let mut text = line.trimmed();
        if text.is_empty() || text.starts_with("---") {
            return Taken::Yes;
        }
        if let Some((stamp, rest)) = text.split_once("\\\\")
            && let Some(moment) = stamp::local(stamp, order(stamp))
        {
            self.moment = Some(moment);
            text = &text[text.len() - rest.len() - 2..];
        }
        if text.starts_with("\\\\") {
            self.path.clear();
        }
        if self.path.ends_with(':') {
            let path = std::mem::take(&mut self.path);
            let path = Path::of(path.trim_end_matches(':'));
            let known = path.and_then(|path| Some((perfmon::meaning(&path)?, path.host)));
            let Some(value) = number::local(text, false) else {
                if known.is_some() {
                    notes.unread(line);
                }
                return Taken::No;
            };
            if let Some((meaning, host)) = known {
                notes.of_host(host, line);
                let at = notes.at(*line, self.moment);
                let value = meaning.factor.apply(value);
                if is_idle(meaning.quantity, value) {
                    return Taken::Yes;
                }
                let subject = notes.subject_on(host, meaning.subject);
                notes.add(at, &subject, meaning.quantity, Span::Interval, value);
            }
            return Taken::Yes;
        }
        if self.path.is_empty() && !text.starts_with("\\\\") {
            return Taken::No;
        }
        if !self.path.is_empty() {
            self.path.push(' ');
        }
        self.path.push_str(text);
        Taken::Yes
    }
}

/// Where a clock of 24 hours is shown with slashes, the day comes first.
fn order(stamp: &str) -> Order {
    let lower = stamp.to_ascii_lowercase();
    match stamp::order_of(stamp) {
        Some(order) => order,
        None if lower.contains('m') => Order::MonthFirst,
        None => Order::DayFirst,
    }
}
