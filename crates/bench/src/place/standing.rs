//! How offsets stand on the grids below.

use std::collections::HashMap;
use straddle_geometry::{Access, Bytes, Extent, Family, Grid, Ratio, Unit, gcd};
use straddle_stack::{LayerKind, Piece, Seen, SeenGrid};

use super::{
    Ground, PAST_THE_END, PlaceError, Placed, Region, SizePrice, Spacing, Standing, Wanted,
};

/// What the worst of the requests pays, beyond the aligned one, for being off a grid, as a share of the aligned one's
/// operations. Requests of size s, end to end, meet a unit u alike at all places that are alike modulo gcd(s, u); how far off
/// those they are makes no difference to the cost, so one byte will do. With gaps between them, a request may well be off
/// and not straddle; none meets more units than one that begins with the last byte of one.
pub(super) fn worst_cost(family: Family, unit: Unit, requests: &[Spacing]) -> Ratio {
    let price = |request: &Spacing, access| {
        let start = match request.stride {
            None => 1,
            Some(_) => unit.get() - 1,
        };
        family.price(request.from(Bytes::new(start)), Grid::new(unit), access)
    };
    requests
        .iter()
        .flat_map(|request| [price(request, Access::Read), price(request, Access::Write)])
        .flatten()
        .map(|price| price.extra)
        .max()
        .unwrap_or(Ratio::ZERO)
}

/// The places of all offsets of `wanted`, in its order.
pub(super) fn places(
    ground: Option<Ground<'_>>,
    grids: &[SeenGrid<'_>],
    wanted: &Wanted<'_>,
    region: Region,
) -> Result<Vec<Placed>, PlaceError> {
    let mut classes: HashMap<Vec<u64>, usize> = HashMap::new();
    let mut places = Vec::with_capacity(wanted.offsets.len());
    for (index, offset) in wanted.offsets.iter().enumerate() {
        let extent = region.at(offset.bytes).ok_or(PAST_THE_END)?;
        let next = classes.len();
        let class = if grids.is_empty() {
            index
        } else {
            *classes
                .entry(residues(grids, wanted.requests, offset.bytes))
                .or_insert(next)
        };
        let standings = grids
            .iter()
            .filter_map(|grid| Some(standing(ground?, grid, wanted.requests, extent)));
        places.push(Placed {
            offset: offset.clone(),
            device: ground.and_then(|ground| device(ground, extent.start())),
            standings: standings.flatten().collect(),
            class,
        });
    }
    Ok(places)
}

/// What two offsets must have in common to stand alike: for each unit u and each distance d, requests that are d apart meet
/// a unit u alike from two starts if and only if these are equal modulo gcd(u, d); the base, being common to both, does not
/// matter, and neither do fragments.
fn residues(grids: &[SeenGrid<'_>], requests: &[Spacing], offset: Bytes) -> Vec<u64> {
    let mut out = Vec::with_capacity(grids.len() * requests.len());
    for grid in grids {
        for request in requests {
            out.push(offset.get() % gcd(grid.fact.value.unit().get(), request.step().get()));
        }
    }
    out
}

/// Where a byte lies on the lowest layer that one path leads to; `None` for a file of which that is not known.
fn device(ground: Ground<'_>, at: Bytes) -> Option<(String, Bytes)> {
    let (lowest, address) = *ground.stack.path_of(ground.layer, at).last()?;
    let layer = ground.stack.layer(lowest);
    (layer.kind != LayerKind::File).then(|| (layer.name.clone(), address))
}

/// How requests in `extent` stand on a grid; `None` where the grid has no part in `extent`.
fn standing(
    ground: Ground<'_>,
    grid: &SeenGrid<'_>,
    requests: &[Spacing],
    extent: Extent,
) -> Option<Standing> {
    let seen = within(&grid.seen, extent)?;
    let phase = match &seen {
        Seen::Uniform(grid) => Some(grid.remainder(extent.start())),
        Seen::Pieces(pieces) => common_phase(pieces, extent.start()),
    };
    let family = grid.role.family();
    let price = |request: &Spacing| {
        let lattice = request.from(extent.start());
        SizePrice {
            size: request.size,
            stride: request.stride,
            read: seen.price(family, lattice, Access::Read),
            write: seen.price(family, lattice, Access::Write),
        }
    };
    Some(Standing {
        role: grid.role,
        layer: grid.layer,
        layer_name: ground.stack.layer(grid.layer).name.clone(),
        unit: grid.fact.value.unit(),
        phase,
        prices: requests.iter().map(price).collect(),
    })
}

/// The part of a grid that lies in `extent`: one grid when it has one look there and no granule is torn apart.
///
/// The blocks of a virtual disk are counted as a whole, and cannot be cut.
pub(super) fn within(seen: &Seen, extent: Extent) -> Option<Seen> {
    let pieces = match seen {
        Seen::Uniform(_) => return Some(seen.clone()),
        Seen::Pieces(pieces) => pieces,
    };
    let mut cut: Vec<Piece> = Vec::new();
    let from = pieces.partition_point(|piece| piece.extent().end() <= extent.start());
    for piece in &pieces[from..] {
        let part = piece.extent();
        if part.start() >= extent.end() {
            break;
        }
        let Piece::Run { grid, .. } = piece else {
            cut.push(piece.clone());
            continue;
        };
        let start = part.start().max(extent.start());
        let len = part.end().min(extent.end()).checked_sub(start)?;
        // What goes on with the same boundaries from a boundary is no other piece.
        if let Some(Piece::Run { extent, grid: last }) = cut.last_mut()
            && extent.end() == start
            && last == grid
            && grid.contains(start)
        {
            *extent = Extent::new(extent.start(), extent.len().checked_add(len)?)?;
            continue;
        }
        cut.push(Piece::Run {
            extent: Extent::new(start, len)?,
            grid: *grid,
        });
    }
    match cut.as_slice() {
        [] => None,
        [Piece::Run { extent: all, grid }] if *all == extent => Some(Seen::Uniform(*grid)),
        _ => Some(Seen::Pieces(cut)),
    }
}

/// Bytes from a boundary to `start` where all pieces have boundaries at the same places.
fn common_phase(pieces: &[Piece], start: Bytes) -> Option<Bytes> {
    let mut phases = pieces.iter().map(|piece| match piece {
        Piece::Run { grid, .. } => Some(grid.remainder(start)),
        Piece::Surveyed(_) => None,
    });
    let first = phases.next()??;
    phases.all(|phase| phase == Some(first)).then_some(first)
}
