//! `sadf -p`: a report of sar for awk, one figure a line.

use straddle_stack::activity::{Quantity, Span};

use super::columns;
use super::devices::{Devices, channels};
use super::rows::figure;
use super::sadf::{self, QUANTITIES};
use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::Notes;
use crate::subject::Subject;

pub(crate) static FORMAT: Format = Format {
    name: "sadf-lines",
    commands: &["sadf -p … -- -d"],
    says: "what `sar -d` says, one figure a line",
    shape: Shape::Lines { marks: &[], begins },
};

fn begins(line: &Line<'_>, notes: &mut Notes<'_>) -> Option<Box<dyn Body>> {
    let mut figures = Figures::default();
    (figures.line(line, notes) == Taken::Yes).then(|| Box::new(figures) as Box<dyn Body>)
}

#[derive(Default)]
struct Figures {
    devices: Devices,
    /// The device that was named last, and how many transfers it had a second.
    device: String,
    rate: Option<f64>,
}

impl Body for Figures {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        const LONGEST: usize = 256;
        let text = line.text;
        let is_figure = text
            .bytes()
            .last()
            .is_some_and(|byte| byte.is_ascii_digit());
        if !is_figure || text.len() > LONGEST {
            return Taken::No;
        }
        let mut words = text.split_ascii_whitespace();
        let (value, name, device) = (words.next_back(), words.next_back(), words.next_back());
        let (Some(value), Some(name), Some(device)) = (value, name, device) else {
            return Taken::No;
        };
        // Host, interval, and a time of one to three words.
        let (Some(_), Some(interval)) = (words.next(), words.next()) else {
            return Taken::No;
        };
        // Lines of other things end with a number too: what is quickly told comes first.
        let is_number = |word: &str| word.trim_start_matches('-').parse::<u32>().is_ok();
        let is_device = device.bytes().any(|byte| byte.is_ascii_alphabetic()) && device != "all";
        if !is_device || !is_number(interval) {
            return Taken::No;
        }
        let (Some(meaning), Some(figure)) = (columns::known(name), figure(value)) else {
            return Taken::No;
        };
        let date = words.next().unwrap_or_default();
        let moment = match words.next() {
            Some(time) => sadf::moment(&format!("{date} {time}")),
            None => sadf::moment(date),
        };
        let Some(moment) = moment else {
            return Taken::No;
        };
        let Some(meaning) = meaning else {
            return Taken::Yes;
        };
        let Some(index) = QUANTITIES.iter().position(|q| *q == meaning.quantity) else {
            return Taken::No;
        };
        if self.device != device {
            device.clone_into(&mut self.device);
            self.rate = None;
        }
        let weight = match meaning.quantity {
            Quantity::TransferRate => {
                self.rate = Some(figure.value);
                None
            }
            Quantity::TransferLatency | Quantity::TransferSize => self.rate,
            _ => None,
        };
        let make =
            |subject: &Subject| channels(subject, QUANTITIES.iter().copied(), Span::Interval);
        let at = notes.at(*line, Some(moment));
        let value = figure.value * meaning.factor;
        if let Some(channel) = self
            .devices
            .of(&notes.name_here(device), make)
            .get_mut(index)
        {
            notes.send(channel, at, value, weight);
        }
        Taken::Yes
    }
}
