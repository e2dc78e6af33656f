use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::fmt;

use super::{Distribution, Figure, Moment, Timeline};
use crate::Source;

/// What is kept of a series of figures, however many they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Summary {
    /// How many there are.
    pub count: u64,
    /// Their mean: of requests where it is known how many each figure stands for, else of figures.
    #[schemars(with = "Figure")]
    pub mean: Mean,
    /// Whether it is known how many requests each figure stands for.
    pub weighted: bool,
    /// Their sum.
    pub sum: Figure,
    /// The smallest.
    pub min: Sample,
    /// The largest.
    pub max: Sample,
    /// The first.
    pub first: Sample,
    /// The last; of what is counted from some beginning with its line, of other figures without.
    pub last: Last,
    /// From the first figure to the last, how many there are: fewer than `count` where a count started over.
    #[serde(skip)]
    pub readings: u64,
    /// How they are distributed.
    #[serde(skip)]
    pub distribution: Distribution,
    /// How they follow each other, where times are known.
    pub timeline: Timeline,
}

/// A mean, which is divided when it is asked for: figures come by the million.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    figures: f64,
    sum: f64,
    weights: f64,
    products: f64,
}

impl Mean {
    #[inline]
    fn add(&mut self, value: f64, weight: f64) {
        self.figures += 1.0;
        self.sum += value;
        self.weights += weight;
        self.products += weight * value;
    }

    /// Only the number of figures counts: of one of them it is not known how many requests it stands for.
    fn forget_weights(&mut self) {
        self.weights = f64::NEG_INFINITY;
    }

    /// The mean.
    #[must_use]
    pub fn get(self) -> f64 {
        let mean = match self.weights > 0.0 {
            true => self.products / self.weights,
            false => self.sum / self.figures,
        };
        Figure::new(mean).unwrap_or_default().get()
    }
}

/// None of them is ever "not a number".
impl Eq for Mean {}

impl fmt::Display for Mean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl Serialize for Mean {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.get())
    }
}

/// A figure, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sample {
    /// The figure.
    pub value: Figure,
    /// When, on the clock of whoever wrote it.
    pub at: Option<Moment>,
    /// Where.
    pub source: Source,
}

/// The last figure of a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Last {
    /// The figure.
    pub value: Figure,
    /// When, on the clock of whoever wrote it.
    pub at: Option<Moment>,
    /// Where, unless there are many.
    pub source: Option<Source>,
}

/// What is kept of the last figure of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Not where it stands: there are many.
    Nowhere,
    /// Where it stands.
    Place,
    /// The same, of a count: the first is that of the count that the last is of.
    Count,
}

impl Summary {
    /// The summary of one figure that stands for `weight` requests.
    #[must_use]
    pub fn of(sample: Sample, weight: Option<Figure>) -> Summary {
        let value = sample.value;
        let mut summary = Summary {
            count: 0,
            mean: Mean::default(),
            weighted: weight.is_some(),
            sum: Figure::ZERO,
            min: sample.clone(),
            max: sample.clone(),
            last: Last {
                value,
                at: sample.at,
                source: Some(sample.source.clone()),
            },
            readings: 1,
            distribution: Distribution::default(),
            timeline: Timeline::default(),
            first: sample,
        };
        summary.count_in(value, summary.first.at, weight);
        summary
    }

    /// Adds a figure that stands for `weight` requests. Which is the first and which the last is decided by their times, where they have some:
    /// a log may have its newest line first. Where a figure stands is asked for only when it is kept; `locate` writes it over another place,
    /// whose memory it may use.
    pub fn add(
        &mut self,
        value: Figure,
        at: Option<Moment>,
        weight: Option<Figure>,
        kept: Kept,
        locate: impl Fn(&mut Source),
    ) {
        let replace = |sample: &mut Sample| {
            (sample.value, sample.at) = (value, at);
            locate(&mut sample.source);
        };
        if value > self.max.value {
            replace(&mut self.max);
        }
        if value < self.min.value {
            replace(&mut self.min);
        }
        let is_before = |other| at.zip(other).is_some_and(|(this, other)| this < other);
        let (is_earlier, is_last) = (is_before(self.first.at), !is_before(self.last.at));
        // What is counted started over where it is less than before.
        let starts_over = kept == Kept::Count && is_last && value < self.last.value;
        let is_of_before = kept == Kept::Count && is_earlier && value > self.first.value;
        let is_first = starts_over || is_earlier && !is_of_before;
        match (starts_over, is_of_before) {
            (true, _) => self.readings = 1,
            (false, true) => {}
            (false, false) => self.readings += 1,
        }
        if is_first {
            replace(&mut self.first);
        }
        if is_last {
            (self.last.value, self.last.at) = (value, at);
            if kept == Kept::Nowhere {
                self.last.source = None;
            } else {
                let first = || self.first.source.clone();
                locate(self.last.source.get_or_insert_with(first));
            }
        }
        self.count_in(value, at, weight);
    }

    #[inline]
    fn count_in(&mut self, value: Figure, at: Option<Moment>, weight: Option<Figure>) {
        self.count += 1;
        self.sum = Figure::new(self.sum.get() + value.get()).unwrap_or(self.sum);
        self.mean.add(
            value.get(),
            weight.map_or(0.0, |weight| weight.get().max(0.0)),
        );
        if weight.is_none() {
            self.weighted = false;
            self.mean.forget_weights();
        }
        self.distribution.add(value.get());
        if let Some(at) = at {
            self.timeline.add(at, value.get());
        }
    }

    /// What `part` (0 to 1) of the figures do not exceed, to a step of the distribution; `None` where they are too few for one of them to
    /// exceed it: that is the largest.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub fn quantile(&self, part: f64) -> Option<f64> {
        // 20 × (1 − 0.95) is a little less than 1.
        let above = self.count as f64 * (1.0 - part);
        let found = self.distribution.quantile(part)?;
        (above > 0.999).then(|| found.min(self.max.value.get()))
    }

    /// From the first figure to the last, in seconds; `None` without times.
    #[must_use]
    pub fn stretch(&self) -> Option<f64> {
        Some(self.last.at?.since(self.first.at?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(value: f64, line: u64) -> Sample {
        Sample {
            value: Figure::new(value).expect("finite"),
            at: None,
            source: source(line),
        }
    }

    fn source(line: u64) -> Source {
        Source::Captured {
            file: "f".into(),
            line,
            text: String::new(),
        }
    }

    #[test]
    fn the_mean_is_that_of_requests_where_their_number_is_known() {
        let figure = |value| Figure::new(value).expect("finite");
        let mut summary = Summary::of(sample(0.010, 1), Some(figure(900.0)));
        summary.add(
            figure(0.110),
            None,
            Some(figure(100.0)),
            Kept::Nowhere,
            |place| {
                *place = source(2);
            },
        );
        assert!((summary.mean.get() - 0.020).abs() < 1e-12);
        assert!((summary.max.value.get() - 0.110).abs() < 1e-12 && summary.max.source == source(2));
        assert_eq!((summary.count, summary.min.source.clone()), (2, source(1)));
        summary.add(figure(0.060), None, None, Kept::Place, |place| {
            *place = source(3);
        });
        assert!(!summary.weighted && (summary.mean.get() - 0.060).abs() < 1e-12);
        assert_eq!(summary.last.source, Some(source(3)));
    }

    #[test]
    fn a_quantile_of_too_few_figures_is_none() {
        let figure = |value| Figure::new(value).expect("finite");
        let mut summary = Summary::of(sample(0.0201, 1), None);
        for _ in 0..18 {
            summary.add(figure(0.0201), None, None, Kept::Nowhere, |_| {});
        }
        assert_eq!(summary.quantile(0.95), None);
        summary.add(figure(0.0201), None, None, Kept::Nowhere, |_| {});
        // Not the end of a step, which is above every figure.
        assert_eq!(summary.quantile(0.95), Some(0.0201));
    }

    #[test]
    fn times_decide_which_is_the_first_and_which_the_last() {
        let figure = |value| Figure::new(value).expect("finite");
        let at = |hour| Some(Moment::from_micros(hour * 3_600_000_000));
        let ends = |kept, readings: &[(i64, f64)]| {
            let mut readings = readings.iter();
            let (hour, value) = readings.next().expect("a reading");
            let first = Sample {
                at: at(*hour),
                ..sample(*value, 1)
            };
            let mut summary = Summary::of(first, None);
            for (hour, value) in readings {
                summary.add(figure(*value), at(*hour), None, kept, |_| {});
            }
            (summary.first.value.get(), summary.last.value.get())
        };
        let newest_first = [(4, 70.0), (3, 90.0), (2, 30.0)];
        assert_eq!(ends(Kept::Place, &newest_first), (30.0, 70.0));
        // A count that started over, from either end.
        let counts = [(1, 500.0), (2, 20.0), (3, 80.0)];
        assert_eq!(ends(Kept::Count, &counts), (20.0, 80.0));
        let counts = [(3, 80.0), (2, 20.0), (1, 500.0)];
        assert_eq!(ends(Kept::Count, &counts), (20.0, 80.0));
        assert_eq!(ends(Kept::Place, &[(1, 5.0), (2, 3.0)]), (5.0, 3.0));
    }
}
