use std::cmp::Reverse;
use std::collections::BTreeMap;

use straddle_geometry::Access;

/// Requests of one direction and length that begin at one place of a page of 4 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// Read or write.
    pub access: Access,
    /// The first byte, modulo 4 KiB.
    pub place: u64,
    /// The length in bytes.
    pub len: u64,
}

/// What requests of one shape come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// How many they are.
    pub requests: u64,
    /// Operations that they would not need at the best start, on all grids together whose units divide 1 MiB.
    pub extra: u64,
}

/// As many shapes are counted one by one.
const KEPT: usize = 1 << 16;

/// Which shapes of requests cost more than they have to: those that cost most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shapes {
    costs: BTreeMap<Shape, Cost>,
    /// Extra operations of a shape may be more by this than is told. Zero: all are exact.
    pub bound: u64,
}

impl Shapes {
    pub(crate) fn add(&mut self, shape: Shape, cost: Cost) {
        let sum = self.costs.entry(shape).or_default();
        sum.requests += cost.requests;
        sum.extra = sum.extra.saturating_add(cost.extra);
        if self.costs.len() > KEPT {
            // The cheaper half goes; whatever comes back had cost at most as much as the dearest that went.
            let mut extra: Vec<u64> = self.costs.values().map(|cost| cost.extra).collect();
            let (_, median, _) = extra.select_nth_unstable(KEPT / 2);
            let median = *median;
            self.costs.retain(|_, cost| cost.extra > median);
            self.bound = self.bound.saturating_add(median);
        }
    }

    /// The dearest of them.
    #[must_use]
    pub fn most(&self, n: usize) -> Vec<(Shape, Cost)> {
        let all = self.costs.iter();
        let mut all: Vec<(Shape, Cost)> = all.map(|(shape, cost)| (*shape, *cost)).collect();
        all.sort_by_key(|(shape, cost)| (Reverse(cost.extra), *shape));
        all.truncate(n);
        all
    }

    /// Extra operations of all of them that are kept.
    #[must_use]
    pub fn extra(&self) -> u64 {
        let extra = self.costs.values().map(|cost| cost.extra);
        extra.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(len: u64) -> Shape {
        Shape {
            access: Access::Read,
            place: 0,
            len,
        }
    }

    fn cost(extra: u64) -> Cost {
        Cost { requests: 1, extra }
    }

    #[test]
    fn a_cost_is_off_by_no_more_than_the_bound() {
        let mut shapes = Shapes::default();
        let mut of_five = 0;
        for len in 1..200_000 {
            let extra = 1 + len % 7;
            shapes.add(shape(len), cost(extra));
            if len == 5 {
                of_five += extra;
            }
            if len % 100 == 0 {
                shapes.add(shape(5), cost(3));
                of_five += 3;
            }
        }
        let (first, found) = shapes.most(1)[0];
        assert_eq!(first, shape(5));
        assert!(
            shapes.bound > 0 && found.extra <= of_five && found.extra + shapes.bound >= of_five
        );
        assert!(shapes.costs.len() <= KEPT);
    }

    #[test]
    fn a_few_are_counted_exactly() {
        let mut shapes = Shapes::default();
        for (len, extra) in [(512, 7), (1024, 2), (512, 1)] {
            shapes.add(shape(len), cost(extra));
        }
        let most: Vec<(u64, u64, u64)> = shapes
            .most(5)
            .iter()
            .map(|(shape, cost)| (shape.len, cost.requests, cost.extra))
            .collect();
        assert_eq!(most, [(512, 2, 8), (1024, 1, 2)]);
        assert_eq!((shapes.bound, shapes.extra()), (0, 10));
    }
}
