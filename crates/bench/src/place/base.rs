//! The place in a target that offset 0 stands for.
//!
//! A partition is tried out at an offset from the beginning of a disk, where every grid has a boundary, as a rule. So offset
//! 0 is put where all known grids have one, and what is at offset O from there stands on every grid as a partition at O
//! would. The smallest such address is taken at which the file is in one piece as far as it is needed; in a file without so
//! long a piece, the one from which the largest share of the file stands alike.
//!
//! Where no address lies on all grids, or only one past 64 MiB, grids are taken in this order, each unless it contradicts
//! those before it: what direct I/O asks for; then by what the worst of the requests pays for being off it, dearest first; then
//! the larger unit. Those left out are reported.

use std::cmp::Reverse;
use straddle_geometry::{Bytes, Extent, Grid, Ratio, Unit};

use super::ground::{Look, Stretch};

/// Largest distance of places that lie on all grids at once: more of a file is not skipped to reach one.
pub(super) const MAX_SKIPPED: Unit = Unit::new(64 << 20).expect("not zero");

/// Stretches beside the first whose shares are worked out, longest first.
const MAX_TRIED: usize = 64;

/// What a base is chosen from.
pub(super) struct Choice<'a> {
    pub(super) looks: &'a [Look],
    /// What being off each of them costs at worst.
    pub(super) costs: &'a [Ratio],
    pub(super) stretches: &'a [Stretch],
    /// What direct I/O asks for.
    pub(super) permitted: Unit,
    /// Bytes from offset 0 to the end of the last request of the largest offset.
    pub(super) window: Bytes,
    /// Length of the target.
    pub(super) size: Bytes,
}

/// A place for offset 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Base {
    pub(super) at: Bytes,
    /// Indices of the grids that could not be had at the same time.
    pub(super) left_out: Vec<usize>,
}

/// A place that could be one.
struct Candidate<'a> {
    at: Bytes,
    stretch: &'a Stretch,
    /// Whether it lies on each grid that is present, dearest first.
    met: Vec<bool>,
}

impl Choice<'_> {
    /// The best place.
    ///
    /// # Errors
    /// The least length that the target would have to have.
    pub(super) fn base(&self) -> Result<Base, Bytes> {
        let order = self.order();
        let candidates: Vec<Candidate<'_>> = (0..self.stretches.len())
            .filter_map(|index| self.candidate(index, &order))
            .collect();
        // The most grids, dearest first: the smallest of these lists in reverse.
        let Some(best) = candidates.iter().map(|c| &c.met).max().cloned() else {
            return self.end_of(Bytes::ZERO).map_or(Err(Bytes::MAX), |end| {
                if end > self.size {
                    return Err(end);
                }
                Ok(Base {
                    at: Bytes::ZERO,
                    left_out: Vec::new(),
                })
            });
        };
        let best_ones: Vec<&Candidate<'_>> = candidates.iter().filter(|c| c.met == best).collect();
        let fits = |at| self.end_of(at).is_some_and(|end| end <= self.size);
        let mut fitting: Vec<&Candidate<'_>> = best_ones
            .iter()
            .copied()
            .filter(|candidate| fits(candidate.at))
            .collect();
        let left_out = order
            .iter()
            .zip(&best)
            .filter(|(_, met)| !**met)
            .map(|(look, _)| *look)
            .collect();
        let chosen = |at| Ok(Base { at, left_out });
        let in_one_piece = |c: &&&Candidate<'_>| {
            self.end_of(c.at)
                .is_some_and(|end| end <= c.stretch.extent.end())
        };
        if let Some(candidate) = fitting.iter().find(in_one_piece) {
            return chosen(candidate.at);
        }
        if fitting.len() > MAX_TRIED {
            let first = fitting.remove(0);
            fitting.sort_by_key(|c| Reverse(c.stretch.extent.len()));
            fitting.truncate(MAX_TRIED);
            fitting.push(first);
        }
        let by_share = |candidate: &&Candidate<'_>| {
            let alike = self.alike(candidate.at, &best, &order);
            (alike, Reverse(candidate.at))
        };
        match fitting.into_iter().max_by_key(by_share) {
            Some(candidate) => chosen(candidate.at),
            None => {
                let least = best_ones.iter().map(|c| c.at).min();
                Err(least.and_then(|at| self.end_of(at)).unwrap_or(Bytes::MAX))
            }
        }
    }

    /// Grids in the order in which they are taken.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.looks.len()).collect();
        order.sort_by_key(|index| Reverse((self.costs.get(*index), self.looks[*index].unit)));
        order
    }

    fn end_of(&self, at: Bytes) -> Option<Bytes> {
        at.checked_add(self.window)
    }

    /// The best place in one stretch. The last one goes on past the end of the target, to find out how long it would have to
    /// be.
    fn candidate(&self, index: usize, order: &[usize]) -> Option<Candidate<'_>> {
        let stretch = self.stretches.get(index).filter(|s| !s.is_hole)?;
        let is_last = index + 1 == self.stretches.len();
        let inside = |grid: Grid| {
            let at = grid.first_at_or_after(stretch.extent.start()).ok()?;
            (is_last || at < stretch.extent.end()).then_some(at)
        };
        let mut common = Grid::new(self.permitted);
        let mut at = inside(common)?;
        let mut met = Vec::with_capacity(order.len());
        for look in order {
            let Some(grid) = stretch.grids.get(*look).copied().flatten() else {
                met.push(true);
                continue;
            };
            let both = common.intersect(grid).ok();
            let both = both.filter(|both| both.unit() <= MAX_SKIPPED);
            match both.and_then(|both| Some((both, inside(both)?))) {
                Some((both, place)) => {
                    (common, at) = (both, place);
                    met.push(true);
                }
                None => met.push(grid.contains(at)),
            }
        }
        // A grid that was left out may still be met by chance, but not after a later grid moved the place.
        for (met, look) in met.iter_mut().zip(order) {
            if let Some(grid) = stretch.grids.get(*look).copied().flatten() {
                *met = grid.contains(at);
            }
        }
        Some(Candidate { at, stretch, met })
    }

    /// Bytes of the window from `base` in which every grid that `base` is on has a boundary there, extended in either direction.
    fn alike(&self, base: Bytes, met: &[bool], order: &[usize]) -> Bytes {
        let Some(window) = Extent::new(base, self.window) else {
            return Bytes::ZERO;
        };
        let first = self
            .stretches
            .partition_point(|stretch| stretch.extent.end() <= base);
        let mut sum = 0_u64;
        for stretch in &self.stretches[first..] {
            if stretch.extent.start() >= window.end() {
                break;
            }
            let stands = |(look, met): (&usize, &bool)| {
                let grid = stretch.grids.get(*look).copied().flatten();
                !met || grid.is_none_or(|grid| grid.contains(base))
            };
            if !stretch.is_hole && order.iter().zip(met).all(stands) {
                let start = stretch.extent.start().max(base);
                let end = stretch.extent.end().min(window.end());
                // Stretches do not overlap and the window's length fits in 64 bits.
                sum = sum.saturating_add(end.get() - start.get());
            }
        }
        Bytes::new(sum)
    }
}
