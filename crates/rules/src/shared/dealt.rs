//! Grids as they look through pieces of equal length that were dealt out: a pool's chunks, a volume's stripes.

use straddle_geometry::{Bytes, Extent, Grid, Unit, gcd};
use straddle_stack::{Piece, Seen};

/// Most pieces that are looked at; the pattern of larger ones is cut short.
const MAX: u64 = 1 << 12;

/// How a grid looks through pieces of `piece` bytes of which the `n`th lies at `place(n)`, until the pattern repeats: as many
/// pieces as there are places in the unit where one can begin, `times` over.
pub(crate) fn dealt(
    grid: Grid,
    piece: Unit,
    times: u64,
    place: impl Fn(u64) -> Option<Bytes>,
) -> Option<Seen> {
    let unit = grid.unit().get();
    let count = (unit / gcd(unit, piece.get()))
        .checked_mul(times)?
        .clamp(1, MAX);
    let run = |number: u64| {
        let extent = Extent::new(piece.bytes().checked_mul(number)?, piece.bytes())?;
        // A boundary at b below is one at b − place + start up here.
        let seen = grid.seen_from(place(number)?);
        let shift = extent.start().div_rem(grid.unit()).1;
        let phase = seen.phase().checked_add(shift)?;
        Some(Piece::Run {
            extent,
            grid: Grid::with_phase(grid.unit(), phase),
        })
    };
    (0..count)
        .map(run)
        .collect::<Option<Vec<_>>>()
        .map(Seen::Pieces)
}

/// One length does not divide into the other, either way.
pub(crate) fn is_torn(one: Unit, other: Unit) -> bool {
    !one.bytes().is_multiple_of(other) && !other.bytes().is_multiple_of(one)
}
