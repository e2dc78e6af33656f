//! `sadf -x`: reports of sar as XML, an element for each disk.

use straddle_stack::activity::{Moment, Span};

use super::columns;
use super::devices::{Devices, channels};
use super::rows::figure;
use super::sadf::{self, QUANTITIES};
use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::Notes;
use crate::subject::Subject;

pub(crate) static FORMAT: Format = Format {
    name: "sadf-xml",
    commands: &["sadf -x … -- -d"],
    says: "what `sar -d` says, as XML",
    shape: Shape::Lines {
        marks: &["<host nodename=", "<timestamp date="],
        begins,
    },
};

fn begins(line: &Line<'_>, notes: &mut Notes<'_>) -> Option<Box<dyn Body>> {
    let mut reports = Reports::default();
    (reports.line(line, notes) == Taken::Yes).then(|| Box::new(reports) as Box<dyn Body>)
}

#[derive(Default)]
struct Reports {
    devices: Devices,
    /// When the interval ended whose disks follow.
    moment: Option<Moment>,
}

impl Body for Reports {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        let text = line.trimmed();
        if let Some(host) = text.strip_prefix("<host ") {
            notes.on_host(attribute(host, "nodename").unwrap_or_default(), line);
        } else if let Some(when) = text.strip_prefix("<timestamp ") {
            let date = attribute(when, "date").unwrap_or_default();
            let time = attribute(when, "time").unwrap_or_default();
            self.moment = sadf::moment(&format!("{date} {time}"));
        } else if let Some(disk) = text.strip_prefix("<disk-device ") {
            self.disk(disk, line, notes);
        } else if text == "</sysstat>" {
            return Taken::Ended;
        } else if !text.starts_with('<') && !text.is_empty() {
            return Taken::No;
        }
        Taken::Yes
    }
}

impl Reports {
    fn disk(&mut self, text: &str, line: &Line<'_>, notes: &mut Notes<'_>) {
        let mut device = None;
        // The same in sectors and in KiB, by names that changed: the last is the newest.
        let mut values = [None; QUANTITIES.len()];
        for (key, value) in attributes(text) {
            if key == "dev" {
                device = Some(value);
                continue;
            }
            let Some(meaning) = columns::known_key(key) else {
                continue;
            };
            let Some(figure) = figure(value) else {
                return notes.unread(line);
            };
            if let Some(index) = QUANTITIES.iter().position(|q| *q == meaning.quantity) {
                values[index] = Some(figure.value * meaning.factor);
            }
        }
        let Some(device) = device.filter(|_| text.ends_with("/>")) else {
            return notes.unread(line);
        };
        let make = |subject: &Subject| channels(subject, QUANTITIES.into_iter(), Span::Interval);
        let at = notes.at(*line, self.moment);
        let [rate, ..] = values;
        for (channel, value) in self
            .devices
            .of(&notes.name_here(device), make)
            .iter_mut()
            .zip(values)
        {
            let is_mean = channel.name.quantity.rate().is_some();
            if let Some(value) = value {
                notes.send(channel, at, value, rate.filter(|_| is_mean));
            }
        }
    }
}

/// The attributes of an element, of which this is what stands behind its name.
fn attributes(mut text: &str) -> impl Iterator<Item = (&str, &str)> {
    std::iter::from_fn(move || {
        let (key, rest) = text.split_once("=\"")?;
        let (value, rest) = rest.split_once('"')?;
        text = rest;
        Some((key.trim(), value))
    })
}

fn attribute<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    attributes(text).find_map(|(key, value)| (key == name).then_some(value))
}
