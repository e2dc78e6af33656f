//! Commands that wait in the drive, and which of them is next.
//!
//! What is compared lies in arrays of its own, so that a choice is one pass over them in which nothing branches.

use super::arm::cost;
use super::seek::Moves;
use super::zones::{Place, Run};
use crate::kernel::Time;

/// A command for the arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) ticket: u32,
    pub(super) came: Time,
    pub(super) sectors: Sectors,
    pub(super) is_write: bool,
}

/// Physical sectors that an operation touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sectors {
    pub(super) first: u64,
    pub(super) count: u64,
    /// The first is covered in part only. Where there is just one, both ends are said of it.
    pub(super) is_first_partial: bool,
    /// The last is.
    pub(super) is_last_partial: bool,
}

impl Sectors {
    /// Of bytes, in sectors of 2^`shift`.
    #[inline]
    pub(super) fn of(start: u64, end: u64, shift: u32) -> Sectors {
        let mask = (1_u64 << shift) - 1;
        let first = start >> shift;
        Sectors {
            first,
            count: ((end - 1) >> shift) - first + 1,
            is_first_partial: start & mask != 0,
            is_last_partial: end & mask != 0,
        }
    }

    pub(super) fn last(self) -> u64 {
        self.first + self.count - 1
    }

    /// How many are covered in part.
    #[inline]
    pub(super) fn partial(self) -> u64 {
        if self.count == 1 {
            u64::from(self.is_first_partial || self.is_last_partial)
        } else {
            u64::from(self.is_first_partial) + u64::from(self.is_last_partial)
        }
    }

    /// The sector that is read first before they are written; `None` when none is.
    #[inline]
    pub(super) fn first_read(self) -> Option<u64> {
        if self.is_first_partial {
            Some(self.first)
        } else {
            self.is_last_partial.then(|| self.last())
        }
    }
}

/// Which command is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheduling {
    /// The one with the shortest positioning time.
    Position,
    /// The next one inwards; from the outermost when there is none.
    Elevator,
    /// The oldest.
    Fifo,
}

/// Commands that wait.
#[derive(Debug)]
pub(super) struct Queue {
    cylinders: Vec<i32>,
    heads: Vec<u32>,
    angles: Vec<u32>,
    settles: Vec<u32>,
    costs: Vec<i32>,
    entries: Vec<Entry>,
    /// Where their sectors begin.
    runs: Vec<Run>,
    scheduling: Scheduling,
    patience: Time,
    /// No command is older than this.
    oldest: Time,
}

impl Queue {
    pub(super) fn new(scheduling: Scheduling, patience: Option<Time>) -> Queue {
        Queue {
            cylinders: Vec::new(),
            heads: Vec::new(),
            angles: Vec::new(),
            settles: Vec::new(),
            costs: Vec::new(),
            entries: Vec::new(),
            runs: Vec::new(),
            scheduling,
            patience: patience.unwrap_or(Time::NEVER),
            oldest: Time::NEVER,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// A command comes, whose sectors begin with a run; its first access is at `place`, before which the head settles for
    /// so many steps.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry, run: Run, place: Place, settle: u32) {
        self.cylinders.push(place.cylinder.cast_signed());
        self.heads.push(place.head);
        self.angles.push(place.angle);
        self.settles.push(settle);
        self.costs.push(0);
        self.oldest = self.oldest.min(entry.came);
        self.entries.push(entry);
        self.runs.push(run);
    }

    /// Takes the next command, and the run that its sectors begin with, for an arm at `from` while the platter stands at that place's angle.
    #[inline]
    pub(super) fn take(&mut self, now: Time, moves: &Moves, from: Place) -> Option<(Entry, Run)> {
        if self.entries.is_empty() {
            return None;
        }
        let number = if now - self.oldest >= self.patience {
            self.aged(now)
        } else {
            None
        };
        let number = number.unwrap_or_else(|| match self.scheduling {
            Scheduling::Position => self.nearest(moves, from),
            Scheduling::Elevator => self.next_inwards(from),
            Scheduling::Fifo => self.first(),
        });
        self.cylinders.swap_remove(number);
        self.heads.swap_remove(number);
        self.angles.swap_remove(number);
        self.settles.swap_remove(number);
        self.costs.truncate(self.cylinders.len());
        let run = self.runs.swap_remove(number);
        Some((self.entries.swap_remove(number), run))
    }

    /// The one with the shortest positioning time; of several, the one with the lowest number.
    #[inline]
    fn nearest(&mut self, moves: &Moves, from: Place) -> usize {
        let places = self.cylinders.iter().zip(&self.heads);
        let targets = self.angles.iter().zip(&self.settles);
        for (((cylinder, head), (angle, settle)), out) in places.zip(targets).zip(&mut self.costs) {
            *out = cost(moves, from, *cylinder, *head, *angle, *settle).cast_signed();
        }
        let least = self.costs.iter().copied().min().unwrap_or(0);
        let number = self.costs.iter().position(|cost| *cost == least);
        number.unwrap_or(0)
    }

    fn next_inwards(&self, from: Place) -> usize {
        let key = |number: &usize| {
            let cylinder = self.cylinders[*number];
            let is_behind = cylinder < from.cylinder.cast_signed();
            let entry = &self.entries[*number];
            (is_behind, entry.sectors.first, entry.came, *number)
        };
        (0..self.entries.len()).min_by_key(key).unwrap_or(0)
    }

    fn first(&self) -> usize {
        let key = |number: &usize| {
            let entry = &self.entries[*number];
            (entry.came, entry.ticket)
        };
        (0..self.entries.len()).min_by_key(key).unwrap_or(0)
    }

    /// The oldest, if it has waited too long. Looked for only when one may have.
    #[cold]
    fn aged(&mut self, now: Time) -> Option<usize> {
        let oldest = self.first();
        self.oldest = self.entries[oldest].came;
        (now - self.oldest >= self.patience).then_some(oldest)
    }
}
