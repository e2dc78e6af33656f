//! What a target stands on: the grids below it, as it sees them.

use std::path::Path;
use straddle_geometry::{Bytes, Extent, Grid, Unit};
use straddle_stack::{GridRole, LayerId, LayerKind, Piece, Seen, SeenGrid, Stack, Trust};

/// A target in a stack.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// The stack, as `check` sees it.
    pub stack: &'a Stack,
    /// The file or device that is measured on.
    pub layer: LayerId,
}

impl<'a> Ground<'a> {
    /// Finds the file or block device at `path`, which must be the path that the stack was made from; a device's must be its
    /// own (`/dev/dm-0`, not a link to it). `None` when no layer is it.
    #[must_use]
    pub fn find(stack: &'a Stack, path: &Path) -> Option<Ground<'a>> {
        let text = path.to_str()?;
        // A file that a loop device lies on is a layer too; the one asked for was added after all devices.
        let file = stack
            .iter()
            .rev()
            .find(|(_, layer)| layer.kind == LayerKind::File && layer.name == text);
        let device = || {
            // Sysfs writes `!` where the path has `/`.
            let name = text.strip_prefix("/dev/")?.replace('/', "!");
            stack.iter().find(|(_, layer)| {
                !matches!(layer.kind, LayerKind::File | LayerKind::Filesystem) && layer.name == name
            })
        };
        let (layer, _) = file.or_else(device)?;
        Some(Ground { stack, layer })
    }

    /// The grids that requests meet there or below, highest layer first.
    ///
    /// Left out are: what is doubtful or cannot be meant; what only discards or atomic writes meet; what is assumed of a file
    /// of which nothing is known; and the allocation unit of the filesystem that the file itself lies on, because the blocks
    /// of a test file are allocated before, and a direct request passes them by. (Of a filesystem further below, with a loop
    /// device in between, it counts.)
    #[must_use]
    pub fn grids(&self) -> Vec<SeenGrid<'a>> {
        let here = self.stack.layer(self.layer);
        let is_file = here.kind == LayerKind::File;
        let holder = self.stack.only_below(self.layer).filter(|_| is_file);
        let mut grids = self.stack.grids_seen_from(self.layer);
        grids.retain(|grid| {
            let unit = grid.fact.value.unit();
            let is_met = !matches!(
                grid.role,
                GridRole::DiscardGranularity | GridRole::AtomicWrite | GridRole::DatabasePage
            );
            let is_own = is_file && grid.layer == self.layer && grid.fact.trust == Trust::Assumed;
            let is_holders = holder == Some(grid.layer) && grid.role == GridRole::AllocationUnit;
            grid.fact.trust != Trust::Doubtful
                && straddle_rules::is_plausible(grid.role, unit)
                && !self.contradicts_itself(grid)
                && unit.get() > 1
                && is_met
                && !is_own
                && !is_holders
        });
        grids
    }

    /// A preferred request that is not a whole number of physical sectors.
    fn contradicts_itself(&self, grid: &SeenGrid<'_>) -> bool {
        let sector = self.stack.layer(grid.layer).grid(GridRole::PhysicalSector);
        grid.role == GridRole::OptimalIo
            && sector.is_some_and(|sector| {
                let unit = grid.fact.value.unit();
                !unit.bytes().is_multiple_of(sector.value.unit())
            })
    }
}

/// A grid, to be asked for its look at one address after the other.
pub(super) struct Look {
    /// Distance of the boundaries.
    pub(super) unit: Unit,
    runs: Runs,
}

enum Runs {
    /// The same everywhere.
    All(Grid),
    /// Piece by piece, sorted. Blocks of a virtual disk are only counted, not placed; they are left out.
    Some(Vec<(Extent, Grid)>),
}

impl Look {
    /// `None` for a grid that is seen through the blocks of a virtual disk only: it has no place to point at.
    pub(super) fn of(seen: &SeenGrid<'_>) -> Option<Look> {
        let runs = match &seen.seen {
            Seen::Uniform(grid) => Runs::All(*grid),
            Seen::Pieces(pieces) => {
                let runs = pieces.iter().filter_map(|piece| match piece {
                    Piece::Run { extent, grid } => Some((*extent, *grid)),
                    Piece::Surveyed(_) => None,
                });
                let runs: Vec<_> = runs.collect();
                if runs.is_empty() {
                    return None;
                }
                Runs::Some(runs)
            }
        };
        Some(Look {
            unit: seen.fact.value.unit(),
            runs,
        })
    }

    /// The boundaries around `at`; `None` in a hole, and in the blocks of a virtual disk.
    pub(super) fn at(&self, at: Bytes) -> Option<Grid> {
        let runs = match &self.runs {
            Runs::All(grid) => return Some(*grid),
            Runs::Some(runs) => runs,
        };
        let after = runs.partition_point(|(extent, _)| extent.start() <= at);
        let (extent, grid) = runs.get(after.checked_sub(1)?)?;
        (at < extent.end()).then_some(*grid)
    }

    /// True when it comes in pieces.
    pub(super) fn is_torn(&self) -> bool {
        matches!(self.runs, Runs::Some(_))
    }

    /// Where its look may change.
    fn edges(&self) -> impl Iterator<Item = Bytes> + '_ {
        let runs = match &self.runs {
            Runs::All(_) => &[][..],
            Runs::Some(runs) => runs,
        };
        runs.iter()
            .flat_map(|(extent, _)| [extent.start(), extent.end()])
    }
}

/// A part of a target in which no grid changes its look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// The part.
    pub(super) extent: Extent,
    /// Each grid there, in the order of the looks; `None` where it is absent, as the sectors of one disk are on another.
    pub(super) grids: Vec<Option<Grid>>,
    /// True where no grid that comes in pieces is present: a hole, or a place of which nothing is known.
    pub(super) is_hole: bool,
}

/// Cuts a target of `size` bytes wherever a grid changes its look.
pub(super) fn stretches(looks: &[Look], size: Bytes) -> Vec<Stretch> {
    let mut cuts: Vec<Bytes> = looks.iter().flat_map(Look::edges).collect();
    cuts.retain(|cut| *cut < size);
    cuts.extend([Bytes::ZERO, size]);
    cuts.sort_unstable();
    cuts.dedup();
    let mut out: Vec<Stretch> = Vec::new();
    for pair in cuts.windows(2) {
        let grids: Vec<Option<Grid>> = looks.iter().map(|look| look.at(pair[0])).collect();
        let extend = out
            .last_mut()
            .filter(|last| last.grids == grids)
            .and_then(|last| {
                let start = last.extent.start();
                let whole = Extent::new(start, pair[1].checked_sub(start)?)?;
                last.extent = whole;
                Some(())
            });
        if extend.is_some() {
            continue;
        }
        let mut in_pieces = looks.iter().zip(&grids).filter(|(look, _)| look.is_torn());
        let is_hole = looks.iter().any(Look::is_torn) && in_pieces.all(|(_, grid)| grid.is_none());
        if let Some(extent) = pair[1]
            .checked_sub(pair[0])
            .and_then(|len| Extent::new(pair[0], len))
        {
            out.push(Stretch {
                extent,
                grids,
                is_hole,
            });
        }
    }
    out
}
