//! How much of a layer that may lie in several pieces is off a grid, in words.

use straddle_geometry::{Bytes, Ratio};
use straddle_stack::{GridRole, Seen};

/// The grids on which any piece must begin.
pub(crate) const HARD: [GridRole; 3] = [
    GridRole::PhysicalSector,
    GridRole::IndirectionUnit,
    GridRole::StripeUnit,
];

/// How much is off the grid; `None` when nothing is.
pub(crate) fn off(seen: &Seen) -> Option<String> {
    if let Seen::Uniform(grid) = seen {
        let behind = grid.remainder(Bytes::ZERO);
        return (behind > Bytes::ZERO).then(|| {
            format!(
                "every piece begins {} B behind a boundary (unit {})",
                behind.grouped(),
                grid.unit().bytes().grouped()
            )
        });
    }
    let (off, all) = seen
        .off_grid(Bytes::ZERO)
        .filter(|(off, _)| *off > Bytes::ZERO)?;
    let share = Ratio::new(off.get(), all.get())?;
    Some(format!(
        "{} of {} bytes = {share} lie in pieces that are off the grid",
        off.grouped(),
        all.grouped()
    ))
}
