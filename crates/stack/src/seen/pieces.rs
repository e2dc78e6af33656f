//! A grid below in pieces: runs by themselves, and the blocks of a virtual disk by their counts.

use std::sync::Arc;
use straddle_geometry::{Bytes, Extent, Grid, Lattice, Totals, Unit};

use crate::Survey;

/// A part of a layer, and how a grid below looks there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// It lies in one piece.
    Run {
        /// The part.
        extent: Extent,
        /// The boundaries, in the layer's addresses.
        grid: Grid,
    },
    /// It lies in the blocks of a virtual disk, in so many pieces that they are only counted.
    Surveyed(Surveyed),
}

/// A part of a layer that lies in the blocks of a virtual disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surveyed {
    /// The part, in the layer's addresses.
    pub extent: Extent,
    /// Where it starts in the virtual disk.
    pub(super) at: Bytes,
    /// What is known of the blocks.
    pub(super) survey: Arc<Survey>,
    /// Index of the layer that contributes the grid, or sees it, among [`Survey::bases`].
    pub(super) base: usize,
    /// The boundaries in the addresses of that layer.
    pub(super) grid: Grid,
}

/// Runs that start equally far behind a boundary, and lie equally towards requests.
pub(super) struct Kind {
    /// A stand-in for all of them.
    pub(super) extent: Extent,
    /// The boundaries as that one meets them.
    pub(super) grid: Grid,
    /// How far behind a boundary they start.
    pub(super) behind: Bytes,
    pub(super) count: u64,
    /// Runs near an end are given one by one, where they really lie.
    pub(super) is_edge: bool,
}

impl Surveyed {
    /// The runs on this grid, kind by kind; `None` when this part was not surveyed.
    pub(super) fn kinds(&self) -> Option<impl Iterator<Item = Kind> + '_> {
        let window = self
            .survey
            .window(Extent::new(self.at, self.extent.len())?)?;
        let start = self.extent.start();
        let kind = move |skip: Bytes, len: Bytes, lower: Bytes, count, is_edge| {
            let extent = Extent::new(start.checked_add(skip)?, len)?;
            let behind = self.grid.remainder(lower);
            // A boundary lies `behind` before the start; one unit more keeps it from going below zero.
            let unit = self.grid.unit();
            let phase = extent.start().div_rem(unit).1.get() + unit.get() - behind.get();
            Some(Kind {
                extent,
                grid: Grid::with_phase(unit, Bytes::new(phase)),
                behind,
                count,
                is_edge,
            })
        };
        let classes = window
            .classes
            .iter()
            .filter(|class| class.base == self.base);
        let edges = window.edges.iter().filter(|run| run.base == self.base);
        let classes = classes.filter_map(move |c| kind(c.offset, c.len, c.lower, c.count, false));
        let edges = edges.filter_map(move |run| {
            let skip = run.upper.start().checked_sub(self.at)?;
            kind(skip, run.upper.len(), run.lower, 1, true)
        });
        Some(classes.chain(edges))
    }

    /// Whether the position of a run towards boundaries or requests of this size is known.
    pub(super) fn knows(&self, step: Unit) -> bool {
        self.survey.period.bytes().is_multiple_of(step)
    }

    /// One grid for the whole part, where all runs agree on it and none ends inside a granule.
    pub(super) fn uniform(&self) -> Option<Grid> {
        if !self.knows(self.grid.unit()) {
            return None;
        }
        let mut all = self.kinds()?;
        let first = all.next()?;
        let end = self.extent.end();
        let whole = |kind: &Kind| {
            kind.behind == Bytes::ZERO
                && (kind.extent.len().is_multiple_of(self.grid.unit()) || kind.extent.end() == end)
        };
        let mut whole_so_far = whole(&first);
        for kind in all {
            whole_so_far &= whole(&kind);
            if !whole_so_far || kind.grid != first.grid {
                return None;
            }
        }
        Some(first.grid)
    }
}

impl Piece {
    /// The part of the layer.
    #[must_use]
    pub const fn extent(&self) -> Extent {
        match self {
            Piece::Run { extent, .. } => *extent,
            Piece::Surveyed(surveyed) => surveyed.extent,
        }
    }

    /// What `requests` do on this piece, of which only `bounds` count.
    pub(super) fn totals(&self, requests: Lattice, bounds: Extent) -> Option<Totals> {
        match self {
            Piece::Run { extent, grid } => match clip(*extent, bounds) {
                Some(extent) => requests.totals(extent, *grid),
                None => Some(Totals::default()),
            },
            Piece::Surveyed(surveyed) => {
                if !surveyed.knows(requests.step()) {
                    return None;
                }
                let mut sum = Totals::default();
                for kind in surveyed.kinds()? {
                    let extent = if kind.is_edge {
                        clip(kind.extent, bounds)
                    } else {
                        Some(kind.extent)
                    };
                    if let Some(extent) = extent {
                        let one = requests.totals(extent, kind.grid)?;
                        sum = sum.plus(one.times(kind.count)?)?;
                    }
                }
                Some(sum)
            }
        }
    }

    /// The unit of the grid.
    pub(super) fn unit(&self) -> Unit {
        match self {
            Piece::Run { grid, .. } => grid.unit(),
            Piece::Surveyed(surveyed) => surveyed.grid.unit(),
        }
    }
}

/// The part that both share.
fn clip(extent: Extent, bounds: Extent) -> Option<Extent> {
    let start = extent.start().max(bounds.start());
    let len = extent.end().min(bounds.end()).checked_sub(start)?;
    Extent::new(start, len).filter(|extent| !extent.is_empty())
}
