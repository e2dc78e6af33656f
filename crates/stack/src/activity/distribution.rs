/// How figures are distributed, in steps of 1.6%, in memory that does not grow with their number. Figures that lie very far apart
/// make the steps wider: 3.2% for more than 16 doublings, and so on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// How many figures are zero, or as good as zero.
    zeros: u64,
    /// The step of the smallest figure that is not.
    first: u32,
    /// How many figures lie above the lower and not above the upper end of each step, from the first one on: most figures of a
    /// long log are counted by their place alone.
    counts: Vec<u64>,
    /// How often steps were made twice as wide.
    wider: u32,
}

/// Bits of a number's fraction that tell steps apart: 64 to each doubling.
const FRACTION: u32 = 6;
/// Below this all is one step: no quantity is measured so finely.
const LEAST: f64 = 1e-9;
/// Most steps: 16 doublings.
const MOST: u32 = 1024;

impl Distribution {
    /// Counts a figure that is not negative.
    #[inline]
    pub(super) fn add(&mut self, value: f64) {
        if value <= LEAST {
            self.zeros += 1;
            return;
        }
        let place = (step_of(value) >> self.wider).wrapping_sub(self.first);
        match self.counts.get_mut(place as usize) {
            Some(count) => *count += 1,
            None => self.reach(step_of(value)),
        }
    }

    /// Counts a figure outside of the steps that there are.
    fn reach(&mut self, unshifted: u32) {
        if self.counts.is_empty() {
            self.first = unshifted >> self.wider;
        }
        let (mut step, mut len) = (unshifted >> self.wider, self.len());
        while step.max(self.first + len.saturating_sub(1)) - step.min(self.first) >= MOST {
            self.widen();
            (step, len) = (unshifted >> self.wider, self.len());
        }
        if let Some(missing) = self.first.checked_sub(step) {
            self.counts
                .splice(0..0, std::iter::repeat_n(0, missing as usize));
            self.first = step;
        }
        let place = (step - self.first) as usize;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
    }

    fn len(&self) -> u32 {
        u32::try_from(self.counts.len()).unwrap_or(MOST)
    }

    fn widen(&mut self) {
        let odd = (self.first & 1) as usize;
        let mut counts = vec![0; (self.counts.len() + odd).div_ceil(2)];
        for (place, count) in self.counts.iter().enumerate() {
            counts[(place + odd) / 2] += count;
        }
        self.counts = counts;
        self.first >>= 1;
        self.wider += 1;
    }

    /// Each step that there is, from the smallest.
    fn steps(&self) -> impl Iterator<Item = (u32, u64)> {
        let zeros = (self.zeros > 0).then_some((0, self.zeros));
        let others = (self.first..).zip(self.counts.iter().copied());
        zeros.into_iter().chain(others)
    }

    /// How many figures were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.steps().map(|(_, count)| count).sum()
    }

    /// What `part` (0 to 1) of all figures do not exceed: the upper end of a step.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub fn quantile(&self, part: f64) -> Option<f64> {
        let needed = self.count() as f64 * part.clamp(0.0, 1.0);
        let mut below = 0_u64;
        for (step, count) in self.steps() {
            below += count;
            if below as f64 >= needed {
                return Some(self.upper_end(step));
            }
        }
        None
    }

    /// The part of all figures that is above `limit`, where those in the step of `limit` count as not above.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub fn above(&self, limit: f64) -> f64 {
        let all = self.count();
        if all == 0 {
            return 0.0;
        }
        let limit = step_of(limit) >> self.wider;
        let above = self.steps().filter(|(step, _)| *step > limit);
        let above: u64 = above.map(|(_, count)| count).sum();
        above as f64 / all as f64
    }

    fn upper_end(&self, step: u32) -> f64 {
        if step == 0 {
            return 0.0;
        }
        f64::from_bits(((u64::from(step) + 1) << self.wider) << (52 - FRACTION))
    }
}

/// The first bits of a positive number tell its magnitude; a step has no more than its upper end.
fn step_of(value: f64) -> u32 {
    if value <= LEAST {
        return 0;
    }
    let bits = value.to_bits() - 1;
    u32::try_from(bits >> (52 - FRACTION)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_figures_but_for_a_step() {
        let mut distribution = Distribution::default();
        let values: Vec<f64> = (1..=1000).map(|n| f64::from(n) * 1e-4).collect();
        for value in &values {
            distribution.add(*value);
        }
        for part in [0.001, 0.01, 0.5, 0.95, 0.999, 1.0] {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "up to 1000"
            )]
            let exact = values[(1000.0_f64 * part).ceil() as usize - 1];
            let found = distribution.quantile(part).expect("not empty");
            assert!(
                found >= exact && found <= exact * 1.0157,
                "{part}: {exact} {found}"
            );
        }
        assert_eq!(distribution.count(), 1000);
        assert_eq!(Distribution::default().quantile(0.5), None);
    }

    #[test]
    fn what_is_on_the_limit_is_not_above_it() {
        let mut distribution = Distribution::default();
        for value in [0.0, 0.001, 0.02, 0.02, 0.03] {
            distribution.add(value);
        }
        assert!((distribution.above(0.02) - 0.2).abs() < 1e-12);
        assert!((distribution.above(0.0) - 0.8).abs() < 1e-12);
        assert!(distribution.above(1.0) == 0.0);
        assert_eq!(distribution.quantile(0.1), Some(0.0));
    }

    #[test]
    fn the_order_of_figures_does_not_matter() {
        let mut values: Vec<f64> = (0..400).map(|n| 1e-7 * 1.06_f64.powi(n)).collect();
        values.push(0.0);
        let of = |values: &[f64]| {
            let mut distribution = Distribution::default();
            for value in values {
                distribution.add(*value);
            }
            distribution
        };
        let upwards = of(&values);
        values.reverse();
        assert_eq!(of(&values), upwards);
        // From the middle to both ends.
        values.sort_by(|a, b| (a.ln() - 4.0).abs().total_cmp(&(b.ln() - 4.0).abs()));
        assert_eq!(of(&values), upwards);
        assert_eq!((upwards.count(), upwards.zeros), (401, 1));
        // 34 doublings: steps of four times 1.6%.
        assert_eq!(upwards.wider, 2);
        let middle = upwards.quantile(0.5).expect("not empty");
        let exact = 1e-7 * 1.06_f64.powi(199);
        assert!(
            middle >= exact && middle <= exact * 1.064,
            "{middle} {exact}"
        );
    }

    #[test]
    fn any_figures_take_as_little_memory_and_none_is_lost() {
        let mut distribution = Distribution::default();
        let mut value = 1e-9;
        for _ in 0..5000 {
            value *= 1.013;
            distribution.add(value);
        }
        assert!(distribution.len() <= MOST);
        assert_eq!(distribution.count(), 5000);
        let top = distribution.quantile(1.0).expect("not empty");
        assert!(top >= value && top <= value * 1.27, "{value} {top}");
        let middle = distribution.above(1e-9 * 1.013_f64.powi(2500));
        assert!((middle - 0.5).abs() < 0.01, "{middle}");
    }
}
