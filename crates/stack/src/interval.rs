use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use straddle_geometry::{Bytes, Unit};

/// A number of bytes that is known only to lie between two others, both included: what a rounded figure leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Interval {
    from: Bytes,
    to: Bytes,
}

impl Interval {
    /// From one number to another, both included; `None` when `to` is less than `from`.
    #[must_use]
    pub const fn new(from: Bytes, to: Bytes) -> Option<Interval> {
        if from.get() <= to.get() {
            Some(Interval { from, to })
        } else {
            None
        }
    }

    /// Exactly this number.
    #[must_use]
    pub const fn exact(bytes: Bytes) -> Interval {
        Interval {
            from: bytes,
            to: bytes,
        }
    }

    /// The least it can be.
    #[must_use]
    pub const fn from(&self) -> Bytes {
        self.from
    }

    /// The most it can be.
    #[must_use]
    pub const fn to(&self) -> Bytes {
        self.to
    }

    /// The number, when only one is left.
    #[must_use]
    pub fn known(&self) -> Option<Bytes> {
        (self.from == self.to).then_some(self.from)
    }

    /// True when `bytes` is possible.
    #[must_use]
    pub fn contains(&self, bytes: Bytes) -> bool {
        self.from <= bytes && bytes <= self.to
    }

    /// What both leave possible; `None` when they contradict each other.
    #[must_use]
    pub fn intersect(&self, other: &Interval) -> Option<Interval> {
        Interval::new(self.from.max(other.from), self.to.min(other.to))
    }

    /// The same, when only multiples of `unit` are possible: offsets on a disk are whole sectors. `None` when there is none.
    #[must_use]
    pub fn multiples_of(&self, unit: Unit) -> Option<Interval> {
        let first = self.from.get().div_ceil(unit.get());
        let last = self.to.get() / unit.get();
        let at = |n: u64| unit.bytes().checked_mul(n);
        Interval::new(at(first)?, at(last)?)
    }

    /// How many multiples of `unit` are possible.
    #[must_use]
    pub const fn count(&self, unit: Unit) -> u64 {
        let first = self.from.get().div_ceil(unit.get());
        let last = self.to.get() / unit.get();
        if first > last { 0 } else { last - first + 1 }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known() {
            Some(bytes) => bytes.fmt(f),
            None => write!(f, "{} to {} B", self.from.grouped(), self.to.grouped()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(from: u64, to: u64) -> Interval {
        Interval::new(Bytes::new(from), Bytes::new(to)).expect("in order")
    }

    #[test]
    fn what_disk_part_shows_as_32_kb_is_one_of_three_sectors() {
        let shown = interval(31 * 1024 + 1, 32 * 1024 + 512);
        let sector = Unit::new(512).expect("not zero");
        assert_eq!(shown.count(sector), 3);
        assert_eq!(shown.multiples_of(sector), Some(interval(32_256, 33_280)));
        assert_eq!(shown.count(Unit::B4096), 1);
        assert!(shown.contains(Bytes::new(32_256)) && !shown.contains(Bytes::new(31_744)));
        assert_eq!(shown.to_string(), "31,745 to 33,280 B");
    }

    #[test]
    fn multiples_are_those_that_counting_finds() {
        for (from, to) in [(0, 0), (1, 7), (3, 30), (8, 8), (9, 15), (16, 16)] {
            for step in 1..10_u64 {
                let unit = Unit::new(step).expect("not zero");
                let all: Vec<u64> = (from..=to).filter(|n| n % step == 0).collect();
                let interval = interval(from, to);
                assert_eq!(interval.count(unit), all.len() as u64);
                let ends = interval.multiples_of(unit);
                assert_eq!(ends.map(|i| i.from().get()), all.first().copied());
                assert_eq!(ends.map(|i| i.to().get()), all.last().copied());
            }
        }
    }
}
