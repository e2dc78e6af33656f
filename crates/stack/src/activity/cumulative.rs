use super::{Activity, Quantity, Sample, Statistic, Summary};

/// What two counters say of a latency: how often something was done, and the sum of its times.
#[derive(Clone, Copy, Debug)]
pub struct Cumulative<'a> {
    /// The number of times.
    pub count: &'a Summary,
    /// The sum of the times, in seconds.
    pub time: &'a Summary,
}

impl Activity {
    /// The two counters of a latency, where something was done.
    #[must_use]
    pub fn cumulative(&self, latency: Quantity) -> Option<Cumulative<'_>> {
        let (count, time) = match latency {
            Quantity::ReadLatency => (Quantity::Reads, Quantity::ReadTime),
            Quantity::WriteLatency => (Quantity::Writes, Quantity::WriteTime),
            Quantity::FlushLatency => (Quantity::Flushes, Quantity::FlushTime),
            _ => return None,
        };
        let count = self.counter(count)?;
        let time = self.counter(time)?;
        (count.last.value.get() > 0.0).then_some(Cumulative { count, time })
    }

    /// The largest latency that is known of one direction.
    #[must_use]
    pub fn largest(&self, latency: Quantity) -> Option<&Sample> {
        let of = self.series.iter().filter(|series| {
            series.quantity == latency && !matches!(series.statistic, Statistic::Percentile(_))
        });
        of.map(|series| &series.summary.max)
            .max_by(|a, b| a.value.get().total_cmp(&b.value.get()))
    }
}

impl Cumulative<'_> {
    /// The mean since the counters began, in seconds.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.time.last.value.get() / self.count.last.value.get()
    }

    /// The mean between the first and the last reading, and how many requests that are; `None` with one reading since the counters began,
    /// when nothing was done, and when one of the two started over at a reading at which the other did not seem to: the sum of the times may be
    /// larger after a restart than before.
    #[must_use]
    pub fn between(&self) -> Option<(f64, f64)> {
        if self.count.readings < 2 || self.time.readings != self.count.readings {
            return None;
        }
        let count = self.count.last.value.get() - self.count.first.value.get();
        let time = self.time.last.value.get() - self.time.first.value.get();
        (count > 0.0 && time >= 0.0).then(|| (time / count, count))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Figure, Kept, Series, Span};
    use super::*;
    use crate::Source;

    fn series(quantity: Quantity, values: &[f64]) -> Series {
        let source = || Source::Assumption { reason: "".into() };
        let figure = |value: f64| Figure::new(value).expect("finite");
        let first = Sample {
            value: figure(values[0]),
            at: None,
            source: source(),
        };
        let mut summary = Summary::of(first, None);
        for value in &values[1..] {
            summary.add(figure(*value), None, None, Kept::Count, |place| {
                *place = source()
            });
        }
        Series {
            quantity,
            statistic: Statistic::Mean,
            span: Span::SinceStart,
            summary,
        }
    }

    #[test]
    fn two_readings_say_what_went_on_between_them() {
        let activity = |reads: &[f64], time: &[f64]| Activity {
            series: vec![
                series(Quantity::Reads, reads),
                series(Quantity::ReadTime, time),
            ],
            ..Activity::default()
        };
        let two = activity(&[1000.0, 91_000.0], &[5.0, 1805.0]);
        let latency = two.cumulative(Quantity::ReadLatency).expect("reads");
        assert!((latency.mean() - 1805.0 / 91_000.0).abs() < 1e-12);
        assert_eq!(latency.between(), Some((0.02, 90_000.0)));
        // A counter that started over.
        let restarted = activity(&[1000.0, 10.0], &[5.0, 1.0]);
        let latency = restarted.cumulative(Quantity::ReadLatency).expect("reads");
        assert_eq!(latency.between(), None);
        // The new sum is larger than the old one, the new number is not: 9 s of 300 are 30 ms, not 24 s of 300.
        let restarted = activity(&[1000.0, 500.0, 800.0], &[5.0, 20.0, 29.0]);
        let latency = restarted.cumulative(Quantity::ReadLatency).expect("reads");
        assert_eq!(latency.between(), None);
        let restarted = activity(&[1000.0, 500.0, 800.0], &[50.0, 20.0, 29.0]);
        let latency = restarted.cumulative(Quantity::ReadLatency).expect("reads");
        assert_eq!(latency.between(), Some((0.03, 300.0)));
        assert!(
            activity(&[0.0], &[0.0])
                .cumulative(Quantity::ReadLatency)
                .is_none()
        );
    }
}
