//! What one row of a table says of a place: where it starts, where it ends, how long it is. Said more than once, the figures have
//! to agree; the row that contradicts itself is remarked, whatever tool printed it.

use straddle_geometry::Bytes;
use straddle_stack::{AnomalyKind, Fact, Interval, Trust};

use super::text::Line;
use super::tool::Notes;
use crate::inventory::Thing;

/// The figures of a row, each with what rounding leaves open.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row {
    /// First byte.
    pub(crate) start: Option<Interval>,
    /// First byte behind it.
    pub(crate) end: Option<Interval>,
    /// Length.
    pub(crate) length: Option<Interval>,
    /// The length again, for people.
    pub(crate) shown: Option<Interval>,
    /// A track: what is left of its cylinders when it starts one track into the first and ends with the last.
    pub(crate) track: Option<Bytes>,
}

/// What the figures come to together.
struct Sum {
    start: Option<Interval>,
    length: Option<Interval>,
    wrong: Option<String>,
    /// The start follows from where partitions end, not from a figure.
    inferred: bool,
}

fn less(a: Interval, b: Interval) -> Option<Interval> {
    let from = a.from().get().saturating_sub(b.to().get());
    let to = a.to().get().checked_sub(b.from().get())?;
    Interval::new(Bytes::new(from), Bytes::new(to))
}

impl Row {
    fn sum(&self) -> Sum {
        let mut sum = Sum {
            start: self.start,
            length: self.length,
            wrong: None,
            inferred: false,
        };
        if let (Some(start), Some(end)) = (self.start, self.end) {
            match (less(end, start), self.length) {
                (None, _) => {
                    sum.wrong = Some(format!(
                        "its row has the end at {}, before its start at {}",
                        end, start
                    ));
                }
                (Some(between), None) => sum.length = Some(between),
                (Some(between), Some(length)) => match between.intersect(&length) {
                    None => {
                        sum.wrong = Some(format!(
                            "its row contradicts itself: from start to end are {between}, its length is {length}"
                        ));
                    }
                    Some(_) => self.narrow(&mut sum, end, length),
                },
            }
        }
        if let (Some(length), Some(shown), None) = (sum.length, self.shown, &sum.wrong)
            && length.intersect(&shown).is_none()
        {
            sum.wrong = Some(format!(
                "its row contradicts itself: it is {length} long, and its size is shown as {shown}"
            ));
        }
        sum
    }

    /// A start that is rounded to a cylinder follows from the end and the length.
    fn narrow(&self, sum: &mut Sum, end: Interval, length: Interval) {
        let (Some(start), Some(from_end)) = (self.start, less(end, length)) else {
            return;
        };
        let Some(start) = start.intersect(&from_end) else {
            return;
        };
        sum.start = Some(start);
        let track = self.track.filter(|_| start.known().is_none());
        // The old tools ended partitions with their cylinders, and began the first one behind the first track.
        if let Some(track) = track
            && start.to().get() - start.from().get() == track.get()
        {
            sum.start = Some(Interval::exact(start.to()));
            sum.inferred = true;
        }
    }

    /// Sets start and length of `thing`, and remarks a row that contradicts itself.
    pub(crate) fn set(self, thing: &mut Thing, line: &Line<'_>, notes: &mut Notes<'_>) {
        let sum = self.sum();
        if let Some(start) = sum.start {
            let mut said: Fact<Interval> = notes.said(line, start);
            if sum.inferred {
                said.trust = Trust::Derived;
            }
            thing.start = Some(said);
        }
        thing.size = sum.length.map(|length| notes.said(line, length));
        if let Some(wrong) = sum.wrong {
            thing.remarks.push(straddle_stack::Anomaly::at(
                AnomalyKind::Misprint,
                wrong,
                notes.source(line),
            ));
        }
    }
}

/// The bytes of `count` units, and of one more when the figure was rounded down.
pub(crate) fn exact(count: u64, unit: u64) -> Option<Interval> {
    Bytes::new(unit).checked_mul(count).map(Interval::exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(from: u64, to: u64) -> Option<Interval> {
        Interval::new(Bytes::new(from), Bytes::new(to))
    }

    fn at(bytes: u64) -> Option<Interval> {
        between(bytes, bytes)
    }

    #[test]
    fn figures_of_one_row_agree_or_the_row_is_wrong() {
        let row = |start, end, length, shown| Row {
            start,
            end,
            length,
            shown,
            track: None,
        };
        let wrong = |row: Row| row.sum().wrong.is_some();
        assert!(!wrong(row(at(512), at(1536), at(1024), None)));
        assert!(wrong(row(at(512), at(1536), at(1025), None)));
        assert!(wrong(row(at(1536), at(512), None, None)));
        assert!(wrong(row(at(512), at(1536), None, between(2000, 3000))));
        assert!(!wrong(row(at(512), at(1536), None, between(1000, 3000))));
        assert!(!wrong(row(at(512), None, at(9), None)));
    }

    #[test]
    fn start_end_and_length_give_the_start_in_cylinders() {
        let unit = 8_225_280;
        // Cylinders 14 to 77, 514,080 KiB: 64 whole cylinders.
        let row = Row {
            start: between(13 * unit, 14 * unit - 512),
            end: between(76 * unit + 512, 77 * unit),
            length: at(514_080 * 1024),
            shown: None,
            track: Some(Bytes::new(63 * 512)),
        };
        assert_eq!(row.sum().start, at(13 * unit));
        // Cylinders 1 to 13, 104,391 KiB: one track is left over.
        let row = Row {
            start: between(0, unit - 512),
            end: between(12 * unit + 512, 13 * unit),
            length: at(104_391 * 1024),
            ..row
        };
        let sum = row.sum();
        assert_eq!((sum.start, sum.inferred), (at(32_256), true));
        let no_track = Row { track: None, ..row };
        assert_eq!(no_track.sum().start, between(0, 32_256));
    }
}
