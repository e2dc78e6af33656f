/// How figures are distributed, in steps of 1.6%, in memory that does not grow with their number. Figures that lie very far apart
/// make the steps wider: 3.2% for more than 12 doublings, and so on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// How many figures are zero, or as good as zero.
    zeros: u64,
    /// The step of the first of `counts`.
    first: u32,
    /// How many figures lie above the lower and not above the upper end of each step: a figure is counted by its place alone.
    /// Half as wide as a number of figures, as there are thousands of series.
    counts: Vec<u32>,
    /// The step, once for each 2^32 figures that were counted in it besides.
    carries: Vec<u32>,
    /// How often steps were made twice as wide.
    wider: u32,
}

/// Bits of a number's fraction that tell steps apart.
const FRACTION: u32 = 6;
/// Steps of each doubling. Room is made for so many at once.
const DOUBLING: u32 = 1 << FRACTION;
/// Below this all is one step: no quantity is measured so finely.
const LEAST: f64 = 1e-9;
/// Most steps: 12 doublings.
const MOST: u32 = 12 * DOUBLING;

impl Distribution {
    /// Counts a figure that is not negative.
    #[inline]
    pub(super) fn add(&mut self, value: f64) {
        let step = step_of(value);
        if step == 0 {
            self.zeros += 1;
            return;
        }
        let place = (step >> self.wider).wrapping_sub(self.first);
        match self.counts.get_mut(place as usize) {
            Some(count) if *count < u32::MAX => *count += 1,
            Some(count) => {
                *count = 0;
                self.carries.push(step >> self.wider);
            }
            None => {
                self.reach(step);
                self.add(value);
            }
        }
    }

    /// Makes room for a step, which is that of steps that were never made wider.
    fn reach(&mut self, unwidened: u32) {
        let ends = |this: &Self| {
            let step = unwidened >> this.wider;
            let (from, to) = (
                step / DOUBLING * DOUBLING,
                step / DOUBLING * DOUBLING + DOUBLING,
            );
            match this.counts.len() {
                0 => (from, to),
                _ => (from.min(this.first), to.max(this.end())),
            }
        };
        let (mut from, mut to) = ends(self);
        while to - from > MOST {
            self.widen();
            (from, to) = ends(self);
        }
        let mut counts = vec![0; (to - from) as usize];
        if !self.counts.is_empty() {
            let old = (self.first - from) as usize;
            counts[old..][..self.counts.len()].copy_from_slice(&self.counts);
        }
        (self.counts, self.first) = (counts, from);
    }

    /// The step behind the last of `counts`.
    fn end(&self) -> u32 {
        self.first + u32::try_from(self.counts.len()).unwrap_or(MOST)
    }

    fn widen(&mut self) {
        let before = std::mem::take(self);
        self.zeros = before.zeros;
        self.wider = before.wider + 1;
        self.first = before.first >> 1;
        self.carries = before.carries.iter().map(|step| step >> 1).collect();
        self.counts = vec![0; (before.end().div_ceil(2) - self.first) as usize];
        for (step, count) in (before.first..).zip(before.counts) {
            let sum = &mut self.counts[((step >> 1) - self.first) as usize];
            let carried;
            (*sum, carried) = sum.overflowing_add(count);
            if carried {
                self.carries.push(step >> 1);
            }
        }
    }

    /// Each step in which there is a figure, from the smallest.
    fn steps(&self) -> impl Iterator<Item = (u32, u64)> {
        let zeros = (0, self.zeros);
        let others = (self.first..).zip(&self.counts).map(|(step, count)| {
            let carries = self.carries.iter().filter(|carry| **carry == step);
            (step, u64::from(*count) + ((carries.count() as u64) << 32))
        });
        let all = std::iter::once(zeros).chain(others);
        all.filter(|(_, count)| *count > 0)
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
            // 34 doublings: steps of four times 1.6%.
            assert_eq!(distribution.wider, 2);
            distribution.steps().collect::<Vec<_>>()
        };
        let upwards = of(&values);
        assert_eq!(upwards[0], (0, 1));
        let sum: u64 = upwards.iter().map(|(_, count)| count).sum();
        assert_eq!(sum, 401);
        values.reverse();
        assert_eq!(of(&values), upwards);
        // From the middle to both ends.
        values.sort_by(|a, b| (a.ln() - 4.0).abs().total_cmp(&(b.ln() - 4.0).abs()));
        assert_eq!(of(&values), upwards);
    }

    #[test]
    fn more_than_four_billion_figures_can_be_alike() {
        let mut distribution = Distribution::default();
        distribution.add(0.020);
        let place = distribution.counts.iter().position(|count| *count == 1);
        let place = place.expect("counted");
        distribution.counts[place] = u32::MAX;
        // The step above, with which it becomes one.
        distribution.counts[place ^ 1] = u32::MAX - 5;
        for _ in 0..3 {
            distribution.add(0.020);
        }
        let all = (1_u64 << 32) + 2 + u64::from(u32::MAX - 5);
        assert_eq!((distribution.count(), distribution.carries.len()), (all, 1));
        let above = distribution.above(0.010);
        distribution.widen();
        distribution.widen();
        assert_eq!(distribution.count(), all);
        assert!(above == 1.0 && distribution.above(0.010) == 1.0);
        assert_eq!(distribution.above(0.040), 0.0);
        // Two that overflow together.
        let mut distribution = Distribution::default();
        distribution.add(0.020);
        distribution.counts.fill(u32::MAX);
        let all = distribution.count();
        distribution.widen();
        assert_eq!(distribution.count(), all);
    }

    #[test]
    fn any_figures_take_as_little_memory_and_none_is_lost() {
        let mut distribution = Distribution::default();
        let mut value = 1e-9;
        for _ in 0..5000 {
            value *= 1.013;
            distribution.add(value);
        }
        assert!(distribution.counts.capacity() <= MOST as usize);
        assert_eq!(distribution.count(), 5000);
        let top = distribution.quantile(1.0).expect("not empty");
        assert!(top >= value && top <= value * 1.27, "{value} {top}");
        let middle = distribution.above(1e-9 * 1.013_f64.powi(2500));
        assert!((middle - 0.5).abs() < 0.01, "{middle}");
    }
}
