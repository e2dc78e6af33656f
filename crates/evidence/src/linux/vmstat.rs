//! `vmstat -d`: counters since the system was started, in every round.

use straddle_stack::activity::Quantity;

use super::devices::{Counter, Devices, since_start};
use super::diskstats::Snapshot;
use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::Notes;
use crate::number::figure;
use crate::stamp;
use crate::subject::Subject;

pub(crate) static FORMAT: Format = Format {
    name: "vmstat-disks",
    commands: &["vmstat -d"],
    says: "reads, writes, their bytes and times, of each disk since the start",
    shape: Shape::Lines {
        marks: &["disk-", "merged"],
        begins: |line, _| {
            is_head(line.text).then(|| Box::new(Counters::default()) as Box<dyn Body>)
        },
    },
};

/// One of the two lines of names.
fn is_head(text: &str) -> bool {
    const NAMES: [&str; 10] = [
        "total", "merged", "sectors", "ms", "total", "merged", "sectors", "ms", "cur", "sec",
    ];
    let text = text.trim();
    if text.starts_with("disk-") {
        return text.contains("-reads-") && text.contains("-writes-");
    }
    // The zone of the times stands behind them.
    text.starts_with("total") && text.split_ascii_whitespace().take(10).eq(NAMES)
}

#[derive(Default)]
struct Counters {
    devices: Devices,
    pending: Option<(u64, String)>,
    snapshot: Snapshot,
}

/// Figures of a row.
const COUNT: usize = 10;
/// A row over more characters is none.
const LONGEST: usize = 512;

/// The counters of a row; the last is in seconds.
const MEANINGS: [Counter; 7] = [
    (0, Quantity::Reads, 1.0),
    (2, Quantity::ReadBytes, 512.0),
    (3, Quantity::ReadTime, 1e-3),
    (4, Quantity::Writes, 1.0),
    (6, Quantity::WrittenBytes, 512.0),
    (7, Quantity::WriteTime, 1e-3),
    (9, Quantity::BusyTime, 1.0),
];

impl Counters {
    /// Whether a text is a row, as far as it goes; a whole one is noted.
    fn row(&mut self, number: u64, text: &str, notes: &mut Notes<'_>) -> Option<bool> {
        let trimmed = text.trim_ascii_start();
        let (name, mut rest) = trimmed.split_once(|c: char| c.is_ascii_whitespace())?;
        if !name.bytes().any(|byte| byte.is_ascii_alphabetic()) {
            return None;
        }
        let mut values = [0_u64; COUNT];
        for (index, value) in values.iter_mut().enumerate() {
            rest = rest.trim_ascii_start();
            if rest.is_empty() && index > 0 {
                return Some(false);
            }
            let end = rest
                .find(|c: char| c.is_ascii_whitespace())
                .unwrap_or(rest.len());
            *value = rest[..end].parse().ok()?;
            rest = &rest[end..];
        }
        let rest = rest.trim();
        let own = stamp::date_and_time(rest).map(|(moment, _)| moment);
        if !rest.is_empty() && own.is_none() {
            return None;
        }
        let moment = own.or_else(|| self.snapshot.moment(name, notes));
        let at = notes.at(Line { number, text }, moment);
        let make = |subject: &Subject| since_start(subject, &MEANINGS);
        let channels = self.devices.of(&notes.name_here(name), make);
        for (channel, (index, _, factor)) in channels.iter_mut().zip(MEANINGS) {
            if let Some(value) = values.get(index).copied().map(figure) {
                notes.send(channel, at, value * factor, None);
            }
        }
        Some(true)
    }

    fn give_up(&mut self, notes: &mut Notes<'_>) {
        if let Some((number, text)) = self.pending.take() {
            notes.unread(&Line {
                number,
                text: &text,
            });
        }
    }
}

impl Body for Counters {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        if let Some((number, text)) = &self.pending {
            let (number, text) = (*number, format!("{text} {}", line.trimmed()));
            let is_rest = line
                .text
                .trim_ascii_start()
                .starts_with(|c: char| c.is_ascii_digit());
            let row = match is_rest {
                true => self.row(number, &text, notes),
                false => None,
            };
            match row {
                Some(true) => {
                    self.pending = None;
                    return Taken::Yes;
                }
                Some(false) if text.len() <= LONGEST => {
                    self.pending = Some((number, text));
                    return Taken::Yes;
                }
                _ => self.give_up(notes),
            }
        }
        if line.trimmed().is_empty() {
            return Taken::No;
        }
        if is_head(line.text) {
            return Taken::Yes;
        }
        match self.row(line.number, line.text, notes) {
            Some(true) => Taken::Yes,
            Some(false) if line.text.len() <= LONGEST => {
                self.pending = Some((line.number, line.text.trim_end().to_owned()));
                Taken::Yes
            }
            Some(false) | None => {
                let mut words = line.text.split_ascii_whitespace().skip(1);
                let is_figure = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
                if words
                    .by_ref()
                    .take(3)
                    .filter(|word| is_figure(word))
                    .count()
                    == 3
                {
                    notes.unread(line);
                    return Taken::Yes;
                }
                Taken::Ended
            }
        }
    }

    fn end(&mut self, notes: &mut Notes<'_>) {
        self.give_up(notes);
    }
}
