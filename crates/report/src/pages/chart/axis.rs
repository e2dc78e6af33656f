use super::length;

/// From figures to places, with lines at round figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    step: f64,
    from: f64,
    to: f64,
    is_logarithmic: bool,
}

impl Axis {
    /// An even axis that holds these figures, with about `lines` lines, over the places `from` to `to`.
    pub(crate) fn even(low: f64, high: f64, lines: f64, (from, to): (f64, f64)) -> Axis {
        let (low, high) = if high > low {
            (low, high)
        } else {
            (low, low + 1.0)
        };
        Axis {
            low,
            high,
            step: step((high - low) / lines),
            from,
            to,
            is_logarithmic: false,
        }
    }

    /// The same, ended at the next line above.
    pub(crate) fn rounded(self) -> Axis {
        let high = (self.high / self.step).ceil() * self.step;
        Axis { high, ..self }
    }

    /// An axis in powers of ten; figures below `low` stand at its beginning.
    pub(crate) fn logarithmic(low: f64, high: f64, (from, to): (f64, f64)) -> Axis {
        let low = low.max(f64::MIN_POSITIVE);
        let high = if high > low { high } else { low * 10.0 };
        Axis {
            low,
            high,
            step: 10.0,
            from,
            to,
            is_logarithmic: true,
        }
    }

    /// The place of a figure; one beyond the axis stands at its end.
    pub(crate) fn place(&self, figure: f64) -> f64 {
        let within = figure.clamp(self.low, self.high);
        let share = if self.is_logarithmic {
            libm::log(within / self.low) / libm::log(self.high / self.low)
        } else {
            (within - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    /// True for a figure that is not beyond an end.
    pub(crate) fn holds(&self, figure: f64) -> bool {
        (self.low..=self.high).contains(&figure)
    }

    /// Distance of the lines.
    pub(crate) fn step(&self) -> f64 {
        self.step
    }

    /// Figures at which lines are drawn.
    pub(crate) fn lines(&self) -> Vec<f64> {
        const MOST: usize = 50;
        if self.is_logarithmic {
            let decade = 10_f64.powi(magnitude(self.low));
            let narrow = self.high / self.low < 50.0;
            let within: &[f64] = if narrow { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let all =
                (0..20_i32).flat_map(|n| within.iter().map(move |m| m * decade * 10_f64.powi(n)));
            return all.filter(|figure| self.holds(*figure)).collect();
        }
        let first = (self.low / self.step).ceil();
        (0..MOST)
            .map(|n| (first + length(n)) * self.step)
            .take_while(|figure| *figure <= self.high * (1.0 + 1e-12))
            .collect()
    }
}

/// A round figure that is at least this one.
fn step(rough: f64) -> f64 {
    let magnitude = 10_f64.powi(magnitude(rough));
    let steps = [1.0, 2.0, 5.0].map(|n| n * magnitude).into_iter();
    steps.fold(10.0 * magnitude, |best, step| {
        if step >= rough { best.min(step) } else { best }
    })
}

/// The power of ten of a positive number; by comparing, since logarithms differ from machine to machine.
fn magnitude(number: f64) -> i32 {
    (-12..18)
        .rev()
        .find(|n| 10_f64.powi(*n) <= number)
        .unwrap_or(-12)
}
