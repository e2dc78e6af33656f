use schemars::JsonSchema;
use serde::Serialize;

use super::{Figure, Moment};

/// A series over time, in at most 64 stretches of one length, which doubles when they do not suffice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Timeline {
    /// Length of a stretch in microseconds; 0 while there is none.
    pub width: i64,
    /// The first stretch begins at this multiple of the length after the beginning of 1970.
    #[serde(skip)]
    first: i64,
    /// The stretches, in order, with those between that have no figure.
    pub bins: Vec<Bin>,
    /// When the stretch of the last figure begins, and its place: the next figure is likely to be in it.
    #[serde(skip)]
    last: (i64, usize),
}

/// One stretch of a [`Timeline`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Bin {
    /// How many figures are from it.
    pub count: u64,
    /// Their sum.
    pub sum: Figure,
    /// The largest.
    pub max: Figure,
}

/// Most stretches.
const MOST: usize = 64;
/// Length of a stretch at first: a second.
const SHORTEST: i64 = 1_000_000;

impl Timeline {
    /// When the stretch with this index begins.
    #[must_use]
    pub fn start(&self, index: usize) -> Moment {
        let index = i64::try_from(index).unwrap_or(i64::MAX);
        Moment::from_micros(self.first.saturating_add(index).saturating_mul(self.width))
    }

    #[inline]
    pub(super) fn add(&mut self, at: Moment, value: f64) {
        let (start, place) = self.last;
        let is_within = (0..self.width).contains(&at.micros().wrapping_sub(start));
        match self.bins.get_mut(place).filter(|_| is_within) {
            Some(bin) => bin.add(value),
            None => self.find(at, value),
        }
    }

    /// Adds a figure to a stretch that is not that of the one before.
    fn find(&mut self, at: Moment, value: f64) {
        if self.bins.is_empty() {
            self.width = SHORTEST;
            self.first = at.micros().div_euclid(self.width);
        }
        let mut index = at.micros().div_euclid(self.width);
        while !self.holds(index) {
            self.double();
            index = at.micros().div_euclid(self.width);
        }
        if index < self.first {
            let missing = usize::try_from(self.first - index).unwrap_or(MOST);
            let empty = std::iter::repeat_n(Bin::default(), missing);
            self.bins.splice(0..0, empty);
            self.first = index;
        }
        let place = usize::try_from(index - self.first).unwrap_or(MOST);
        if place >= self.bins.len() {
            self.bins.resize(place + 1, Bin::default());
        }
        self.bins[place].add(value);
        self.last = (index.saturating_mul(self.width), place);
    }

    /// Whether all from the first stretch to the last one are few enough when this is one of them.
    fn holds(&self, index: i64) -> bool {
        let len = i64::try_from(self.bins.len()).unwrap_or(i64::MAX);
        let (from, to) = (self.first.min(index), (self.first + len).max(index + 1));
        to - from <= i64::try_from(MOST).unwrap_or(i64::MAX)
    }

    fn double(&mut self) {
        self.width *= 2;
        let odd = self.first.rem_euclid(2) == 1;
        self.first = self.first.div_euclid(2);
        let mut bins = Vec::with_capacity(self.bins.len() / 2 + 1);
        let mut rest = &self.bins[..];
        if odd && let Some((first, more)) = rest.split_first() {
            bins.push(*first);
            rest = more;
        }
        bins.extend(rest.chunks(2).map(|pair| {
            let mut both = pair[0];
            if let Some(second) = pair.get(1) {
                both.join(second);
            }
            both
        }));
        self.bins = bins;
    }
}

impl Bin {
    fn add(&mut self, value: f64) {
        let figure = Figure::new(value).unwrap_or_default();
        self.join(&Bin {
            count: 1,
            sum: figure,
            max: figure,
        });
    }

    fn join(&mut self, other: &Bin) {
        self.max = match (self.count, other.count) {
            (_, 0) => self.max,
            (0, _) => other.max,
            _ if other.max > self.max => other.max,
            _ => self.max,
        };
        self.count += other.count;
        self.sum = Figure::new(self.sum.get() + other.sum.get()).unwrap_or(self.sum);
    }

    /// The mean of its figures.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum.get() / self.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_stretches_become_longer_whatever_the_order() {
        let mut timeline = Timeline::default();
        let times = [1000, 1001, 40, 900_000, 1000, -7, 86_400 * 30];
        for seconds in times {
            timeline.add(Moment::from_micros(seconds * 1_000_000 + 5), 2.0);
            assert!(timeline.bins.len() <= MOST);
        }
        let count: u64 = timeline.bins.iter().map(|bin| bin.count).sum();
        assert_eq!(count, 7);
        for seconds in times {
            let at = Moment::from_micros(seconds * 1_000_000 + 5);
            let index = (0..timeline.bins.len())
                .rev()
                .find(|index| timeline.start(*index) <= at);
            let bin = timeline.bins[index.expect("it lies in one")];
            assert!(bin.count > 0 && bin.mean() == Some(2.0), "{seconds}");
        }
    }

    #[test]
    fn means_and_maxima_are_those_of_the_stretch() {
        let mut timeline = Timeline::default();
        for (seconds, value) in [(10, 1.0), (10, 3.0), (12, 7.0)] {
            timeline.add(Moment::from_micros(seconds * 1_000_000), value);
        }
        let means: Vec<_> = timeline.bins.iter().map(Bin::mean).collect();
        assert_eq!(means, [Some(2.0), None, Some(7.0)]);
        assert_eq!(timeline.bins[0].max.get(), 3.0);
        assert_eq!(timeline.start(2), Moment::from_micros(12_000_000));
    }
}
