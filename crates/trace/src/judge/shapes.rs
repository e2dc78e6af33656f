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

/// As many shapes are counted one by one.
const KEPT: usize = 1 << 16;

/// Which shapes requests have, those that occur most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shapes {
    counts: BTreeMap<Shape, u64>,
    /// A count that is told may be too small by this. Zero: all are exact.
    pub bound: u64,
}

impl Shapes {
    pub(crate) fn add(&mut self, shape: Shape, count: u64) {
        *self.counts.entry(shape).or_default() += count;
        if self.counts.len() > KEPT {
            // The smaller half goes; whatever comes back was at most as large as the largest that went.
            let mut counts: Vec<u64> = self.counts.values().copied().collect();
            let (_, median, _) = counts.select_nth_unstable(KEPT / 2);
            let median = *median;
            self.counts.retain(|_, count| *count > median);
            self.bound += median;
        }
    }

    /// The commonest of them, with how many requests have them.
    #[must_use]
    pub fn most(&self, n: usize) -> Vec<(Shape, u64)> {
        let mut all: Vec<(Shape, u64)> = self
            .counts
            .iter()
            .map(|(shape, count)| (*shape, *count))
            .collect();
        all.sort_by_key(|(shape, count)| (std::cmp::Reverse(*count), *shape));
        all.truncate(n);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_off_by_no_more_than_the_bound() {
        let mut shapes = Shapes::default();
        let shape = |len: u64| Shape {
            access: Access::Read,
            place: 0,
            len,
        };
        let mut true_count = 0;
        for len in 1..200_000 {
            shapes.add(shape(len), 1 + len % 7);
            if len % 100 == 0 {
                shapes.add(shape(5), 3);
                true_count += 3;
            }
        }
        true_count += 1 + 5;
        let (first, count) = shapes.most(1)[0];
        assert_eq!(first, shape(5));
        assert!(shapes.bound > 0 && count <= true_count && count + shapes.bound >= true_count);
        assert!(shapes.counts.len() <= KEPT);
    }

    #[test]
    fn a_few_are_counted_exactly() {
        let mut shapes = Shapes::default();
        for (place, count) in [(512, 7), (0, 2), (512, 1)] {
            let access = Access::Write;
            shapes.add(
                Shape {
                    access,
                    place,
                    len: 4096,
                },
                count,
            );
        }
        let most: Vec<(u64, u64)> = shapes
            .most(5)
            .iter()
            .map(|(shape, count)| (shape.place, *count))
            .collect();
        assert_eq!((most, shapes.bound), (vec![(512, 8), (0, 2)], 0));
    }
}
