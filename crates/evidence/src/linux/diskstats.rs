//! `/proc/diskstats` and `/sys/block/DISK/stat`: counters since the system was started.
//!
//! <https://docs.kernel.org/admin-guide/iostats.html>

use straddle_stack::activity::{Moment, Quantity};

use super::devices::{Counter, Devices, since_start};
use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::Notes;
use crate::number::figure;
use crate::subject::Subject;

pub(crate) static FORMAT: Format = Format {
    name: "diskstats",
    commands: &["cat /proc/diskstats", "cat /sys/block/*/stat"],
    says: "reads, writes, flushes, their bytes and times, of each disk since the start",
    shape: Shape::Lines { marks: &[], begins },
};

fn begins(line: &Line<'_>, notes: &mut Notes<'_>) -> Option<Box<dyn Body>> {
    let text = line.text.trim_ascii_start();
    let mut counters = Counters::default();
    if text.contains("/stat") && text.contains("/sys/") {
        return (counters.stat(line, notes)).then(|| Box::new(counters) as Box<dyn Body>);
    }
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    // The first row has to be whole, or of a name that only disks have.
    let (name, rest) = named(text)?;
    let figures = Figures::of(rest)?;
    let is_whole = COUNTS.contains(&figures.count) || figures.count > WHOLE;
    let is_part = figures.count > PARTITION && is_disk(name);
    if !is_whole && !is_part {
        return None;
    }
    counters.line(line, notes);
    Some(Box::new(counters))
}

/// How many figures a row has: before Linux 4.18, with discards, with flushes. What comes is appended.
const COUNTS: [usize; 3] = [11, 15, WHOLE];
const WHOLE: usize = 17;
/// Partitions had that many before Linux 2.6.25: reads, their sectors, writes, their sectors.
const PARTITION: usize = 4;
/// A row over more characters is none.
const LONGEST: usize = 1024;

/// How names of disks begin.
const DISKS: [&str; 24] = [
    "sd", "hd", "vd", "xvd", "nvme", "dm-", "md", "loop", "ram", "zram", "mmcblk", "sr", "zd",
    "nbd", "rbd", "drbd", "bcache", "sata", "cciss", "fd", "pmem", "dasd", "emcpower", "ubiblock",
];

fn is_disk(name: &str) -> bool {
    DISKS.iter().any(|start| name.starts_with(start))
}

/// The name in a row that begins with two numbers, and what stands behind it.
fn named(text: &str) -> Option<(&str, &str)> {
    let word = |text: &'_ str| -> Option<(usize, usize)> {
        let from = text.len() - text.trim_ascii_start().len();
        let rest = &text[from..];
        let len = rest.find(|c: char| c.is_ascii_whitespace())?;
        (len > 0).then_some((from, from + len))
    };
    let mut rest = text;
    for _ in 0..2 {
        let (from, to) = word(rest)?;
        let is_number = rest[from..to].bytes().all(|byte| byte.is_ascii_digit());
        if !is_number || to - from > 7 {
            return None;
        }
        rest = &rest[to..];
    }
    let (from, to) = word(rest)?;
    let name = &rest[from..to];
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
    is_name.then(|| (name, &rest[to..]))
}

/// The figures of a row.
#[derive(Clone, Copy)]
struct Figures {
    count: usize,
    values: [u64; WHOLE],
}

impl Figures {
    /// `None` when there is something else.
    fn of(text: &str) -> Option<Figures> {
        let mut figures = Figures {
            count: 0,
            values: [0; WHOLE],
        };
        for word in text.split_ascii_whitespace() {
            let mut value = 0_u64;
            for byte in word.bytes() {
                let digit = byte.is_ascii_digit().then(|| byte - b'0')?;
                value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
            }
            if let Some(slot) = figures.values.get_mut(figures.count) {
                *slot = value;
            }
            figures.count += 1;
        }
        Some(figures)
    }
}

/// The counters of a row.
const MEANINGS: [Counter; 10] = [
    (0, Quantity::Reads, 1.0),
    (2, Quantity::ReadBytes, 512.0),
    (3, Quantity::ReadTime, 1e-3),
    (4, Quantity::Writes, 1.0),
    (6, Quantity::WrittenBytes, 512.0),
    (7, Quantity::WriteTime, 1e-3),
    (9, Quantity::BusyTime, 1e-3),
    (10, Quantity::QueueTime, 1e-3),
    (15, Quantity::Flushes, 1.0),
    (16, Quantity::FlushTime, 1e-3),
];

/// Reads rows of counters.
#[derive(Default)]
struct Counters {
    devices: Devices,
    /// How many figures the rows have.
    count: usize,
    pending: Option<Pending>,
    /// The disk whose figures follow: `cat /sys/block/sda/stat`.
    named: Option<String>,
    snapshot: Snapshot,
}

/// A row that may go on in the next line.
struct Pending {
    number: u64,
    name: String,
    figures: String,
    /// When a collector got its line.
    collected: Option<Moment>,
}

/// When the counters that are read were taken.
#[derive(Default)]
pub(super) struct Snapshot {
    moment: Option<Moment>,
    change: u64,
    /// The first disk of it: when it comes again, another one was taken.
    first: String,
}

impl Snapshot {
    pub(super) fn moment(&mut self, name: &str, notes: &mut Notes<'_>) -> Option<Moment> {
        let change = notes.reports.change;
        if self.first.is_empty() || self.first == name || self.change != change {
            name.clone_into(&mut self.first);
            self.change = change;
            self.moment = notes.reports.moment();
        }
        self.moment
    }
}

impl Counters {
    /// `/sys/block/sda/stat: …`, or the prompt above such figures.
    fn stat(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> bool {
        let text = line.text;
        let Some(from) = text.find("/sys/") else {
            return false;
        };
        let path = &text[from..];
        let end = path
            .find(|c: char| c.is_whitespace() || c == ':' || c == ';')
            .unwrap_or(path.len());
        let (path, rest) = path.split_at(end);
        let Some((above, "stat")) = path.rsplit_once('/') else {
            return false;
        };
        let name = above.rsplit('/').next().unwrap_or_default();
        let is_name = !name.is_empty() && !name.contains(['*', '?', '[', '$']);
        if !is_name || !path.contains("/block/") || path.len() > LONGEST {
            return false;
        }
        if let Some(figures) = rest
            .strip_prefix(':')
            .filter(|rest| !rest.trim().is_empty())
        {
            return self.row(line, name, figures, notes);
        }
        self.named = Some(name.to_owned());
        rest.trim_matches(['<', '=', ' ', '>']).is_empty()
    }

    /// Takes a row, or its beginning; false for what is none.
    fn row(&mut self, line: &Line<'_>, name: &str, text: &str, notes: &mut Notes<'_>) -> bool {
        let Some(figures) = Figures::of(text) else {
            let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
            let numbers = text.split_ascii_whitespace().take(WHOLE);
            if numbers.filter(|word| is_number(word)).count() < 3 {
                return false;
            }
            notes.unread(line);
            return true;
        };
        if figures.count >= WHOLE || figures.count == self.count {
            self.send(line, name, &figures, notes);
        } else if text.len() <= LONGEST {
            self.pending = Some(Pending {
                number: line.number,
                name: name.to_owned(),
                figures: text.to_owned(),
                collected: notes.collected,
            });
        } else {
            notes.unread(line);
        }
        true
    }

    /// Whether a line is the rest of the row above, which has its own time.
    fn goes_on(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> bool {
        let collected = self.pending.as_ref().and_then(|row| row.collected);
        let now = std::mem::replace(&mut notes.collected, collected);
        let goes_on = self.goes_on_then(line, notes);
        notes.collected = now;
        goes_on
    }

    fn goes_on_then(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> bool {
        let Some(mut pending) = self.pending.take() else {
            return false;
        };
        let more = line.text.trim();
        let is_rest = Figures::of(more).is_some_and(|figures| figures.count > 0);
        if !is_rest || pending.figures.len() + more.len() > LONGEST {
            self.give_up(&pending, notes);
            return false;
        }
        let joined = |between: &str| format!("{}{between}{more}", pending.figures.trim_end());
        let apart = joined(" ");
        let count = |text: &str| Figures::of(text).map_or(0, |figures| figures.count);
        let is_whole = |text: &str| match self.count {
            0 => COUNTS.contains(&count(text)),
            known => count(text) == known,
        };
        let together = joined("");
        // A terminal breaks a figure in two.
        let text = match !is_whole(&apart) && is_whole(&together) {
            true => together,
            false => apart,
        };
        let first = Line {
            number: pending.number,
            text: &text,
        };
        match Figures::of(&text) {
            Some(figures) if figures.count == WHOLE || is_whole(&text) && self.count > 0 => {
                self.send(&first, &pending.name, &figures, notes);
            }
            Some(figures) if figures.count < WHOLE => {
                pending.figures = text;
                self.pending = Some(pending);
            }
            _ => notes.unread(&first),
        }
        true
    }

    /// Nothing belongs to the row above any more.
    fn give_up(&mut self, pending: &Pending, notes: &mut Notes<'_>) {
        let line = Line {
            number: pending.number,
            text: &pending.figures,
        };
        let Some(figures) = Figures::of(&pending.figures) else {
            return notes.unread(&line);
        };
        let of_old_kernel = self.count == 0 || self.count == 11;
        let is_partition = figures.count == PARTITION
            && of_old_kernel
            && pending.name.ends_with(|c: char| c.is_ascii_digit());
        let known = self.count == 0 || self.count == figures.count || figures.count < self.count;
        if is_partition || COUNTS.contains(&figures.count) && known {
            self.send(&line, &pending.name, &figures, notes);
        } else {
            notes.unread(&line);
        }
    }

    fn send(&mut self, line: &Line<'_>, name: &str, figures: &Figures, notes: &mut Notes<'_>) {
        let moment = self.snapshot.moment(name, notes);
        let at = notes.at(*line, moment);
        let mut values = figures.values;
        let mut count = figures.count;
        if count == PARTITION {
            let [reads, read, writes, written, ..] = values;
            values = [0; WHOLE];
            (values[0], values[2], values[4], values[6]) = (reads, read, writes, written);
            count = 0;
        } else {
            self.count = count;
        }
        let make = |subject: &Subject| since_start(subject, &MEANINGS);
        let channels = self.devices.of(&notes.name_here(name), make);
        let is_partition = count == 0;
        for (channel, (index, quantity, factor)) in channels.iter_mut().zip(MEANINGS) {
            let is_there = match is_partition {
                true => matches!(
                    quantity,
                    Quantity::Reads
                        | Quantity::ReadBytes
                        | Quantity::Writes
                        | Quantity::WrittenBytes
                ),
                // Flushes came after discards: a row without them has fewer figures.
                false => index < count,
            };
            if is_there && let Some(value) = values.get(index).copied().map(figure) {
                notes.send(channel, at, value * factor, None);
            }
        }
    }
}

impl Body for Counters {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        let text = line.text.trim_ascii_start();
        if self.pending.is_some() && self.goes_on(line, notes) {
            return Taken::Yes;
        }
        if let Some(name) = self.named.take_if(|_| !text.is_empty()) {
            let is_row = Figures::of(text).is_some_and(|figures| figures.count >= PARTITION);
            if is_row && self.row(line, &name, text, notes) {
                return Taken::Yes;
            }
        }
        if !text.starts_with(|c: char| c.is_ascii_digit()) {
            if text.starts_with("/sys/") && self.stat(line, notes) {
                return Taken::Yes;
            }
            if text.contains("/sys/") {
                self.stat(line, notes);
            }
            return Taken::No;
        }
        let Some((name, rest)) = named(text) else {
            return Taken::No;
        };
        match self.row(line, name, rest, notes) {
            true => Taken::Yes,
            false => Taken::No,
        }
    }

    fn end(&mut self, notes: &mut Notes<'_>) {
        if let Some(pending) = self.pending.take() {
            notes.collected = pending.collected;
            self.give_up(&pending, notes);
        }
    }
}
