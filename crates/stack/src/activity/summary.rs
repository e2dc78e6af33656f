use schemars::JsonSchema;
use serde::Serialize;

use super::{Distribution, Figure, Moment, Timeline};
use crate::Source;

/// What is kept of a series of figures, however many they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Summary {
    /// How many there are.
    pub count: u64,
    /// Their mean: of requests where it is known how many each figure stands for, else of figures.
    pub mean: Figure,
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
    /// How they are distributed.
    #[serde(skip)]
    pub distribution: Distribution,
    /// How they follow each other, where times are known.
    pub timeline: Timeline,
    #[serde(skip)]
    weights: Figure,
    #[serde(skip)]
    products: Figure,
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

impl Summary {
    /// The summary of one figure that stands for `weight` requests.
    #[must_use]
    pub fn of(sample: Sample, weight: Option<Figure>) -> Summary {
        let value = sample.value;
        let mut summary = Summary {
            count: 0,
            mean: Figure::ZERO,
            weighted: weight.is_some(),
            sum: Figure::ZERO,
            min: sample.clone(),
            max: sample.clone(),
            last: Last {
                value,
                at: sample.at,
                source: Some(sample.source.clone()),
            },
            distribution: Distribution::default(),
            timeline: Timeline::default(),
            weights: Figure::ZERO,
            products: Figure::ZERO,
            first: sample,
        };
        summary.count_in(value, summary.first.at, weight);
        summary
    }

    /// Adds a figure that stands for `weight` requests. Where it stands is asked for only when it is kept: `keep` says that the
    /// last one is.
    pub fn add(
        &mut self,
        value: Figure,
        at: Option<Moment>,
        weight: Option<Figure>,
        keep: bool,
        source: impl Fn() -> Source,
    ) {
        let sample = || Sample {
            value,
            at,
            source: source(),
        };
        if value > self.max.value {
            self.max = sample();
        }
        if value < self.min.value {
            self.min = sample();
        }
        self.last = Last {
            value,
            at,
            source: keep.then(&source),
        };
        self.count_in(value, at, weight);
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    fn count_in(&mut self, value: Figure, at: Option<Moment>, weight: Option<Figure>) {
        let plus = |a: Figure, b: f64| Figure::new(a.get() + b).unwrap_or(a);
        self.count += 1;
        self.sum = plus(self.sum, value.get());
        self.weighted &= weight.is_some();
        let weight = weight.unwrap_or_default().get().max(0.0);
        self.weights = plus(self.weights, weight);
        self.products = plus(self.products, weight * value.get());
        let mean = match self.weighted && self.weights > Figure::ZERO {
            true => self.products.get() / self.weights.get(),
            false => self.sum.get() / self.count as f64,
        };
        self.mean = Figure::new(mean).unwrap_or_default();
        self.distribution.add(value.get());
        if let Some(at) = at {
            self.timeline.add(at, value.get());
        }
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
        summary.add(figure(0.110), None, Some(figure(100.0)), false, || {
            source(2)
        });
        assert!((summary.mean.get() - 0.020).abs() < 1e-12);
        assert!((summary.max.value.get() - 0.110).abs() < 1e-12 && summary.max.source == source(2));
        assert_eq!((summary.count, summary.min.source.clone()), (2, source(1)));
        summary.add(figure(0.060), None, None, true, || source(3));
        assert!(!summary.weighted && (summary.mean.get() - 0.060).abs() < 1e-12);
        assert_eq!(summary.last.source, Some(source(3)));
    }
}
