//! What the rules about virtual disks share: which layer is to blame when a guest's requests miss a grid far below.

use straddle_geometry::{Bytes, Grid, Ratio, Unit};
use straddle_stack::{GridRole, LayerId, LayerKind, Seen, SeenGrid, Stack};

use crate::Context;
use crate::context::is_believable;

/// The virtual disk that `layer` lies in, the innermost where there are several.
pub(crate) fn container_below(stack: &Stack, layer: LayerId) -> Option<LayerId> {
    let mut here = layer;
    while let Some(below) = stack.layer(here).below.first() {
        here = *below;
        if stack.layer(here).kind == LayerKind::Container {
            return Some(here);
        }
    }
    None
}

/// The file, or whatever else, that a virtual disk lies in.
pub(crate) fn holder(stack: &Stack, container: LayerId) -> Option<LayerId> {
    stack.layer(container).below.first().copied()
}

/// A virtual disk, a grid that it sees, and how the file that holds it sees the same.
pub(crate) struct Below<'a> {
    pub(crate) id: LayerId,
    pub(crate) grid: &'a SeenGrid<'a>,
    pub(crate) from_file: &'a SeenGrid<'a>,
}

/// Every virtual disk beside every believable grid below it that `wanted` takes.
pub(crate) fn disks_and_grids<'a>(
    context: &'a Context<'a>,
    wanted: impl Fn(&SeenGrid<'_>) -> bool + Copy + 'a,
) -> impl Iterator<Item = Below<'a>> {
    context
        .of_kind(LayerKind::Container)
        .filter_map(|(id, _)| Some((id, holder(context.stack, id)?)))
        .flat_map(move |(id, file)| {
            let here = context.seen(id).iter();
            here.filter(move |grid| is_believable(grid) && wanted(grid))
                .filter_map(move |grid| {
                    let from_file = in_view(context, file, grid)?;
                    Some(Below {
                        id,
                        grid,
                        from_file,
                    })
                })
        })
}

/// How `layer` sees the grid that another layer sees as `grid`.
pub(crate) fn in_view<'a>(
    context: &'a Context<'a>,
    layer: LayerId,
    grid: &SeenGrid<'_>,
) -> Option<&'a SeenGrid<'a>> {
    context.seen(layer).iter().find(|other| {
        other.layer == grid.layer && other.role == grid.role && other.fact.value == grid.fact.value
    })
}

/// True when a layer starts on the boundaries, and in pieces, with every piece.
pub(crate) fn is_on(seen: &Seen) -> bool {
    match seen {
        Seen::Uniform(grid) => grid.contains(Bytes::ZERO),
        Seen::Pieces(_) => seen
            .off_grid(Bytes::ZERO)
            .is_some_and(|(off, _)| off == Bytes::ZERO),
    }
}

/// Where runs of a virtual disk start behind the boundaries, and the share of the bytes: `0 B (12.5%), 512 B (12.5%), …`.
pub(crate) fn phases(seen: &Seen) -> Option<String> {
    const MAX: usize = 8;
    let remainders = seen.remainders()?;
    let all = remainders
        .values()
        .try_fold(Bytes::ZERO, |sum, len| sum.checked_add(*len))?;
    let mut parts: Vec<String> = Vec::new();
    for (behind, len) in remainders.iter().take(MAX) {
        let share = Ratio::new(len.get(), all.get())?;
        parts.push(format!("{} B ({share})", behind.grouped()));
    }
    if remainders.len() > MAX {
        parts.push(format!("and {} more", remainders.len() - MAX));
    }
    Some(format!(
        "blocks start behind a boundary by {}",
        parts.join(", ")
    ))
}

/// What is off, on the way from a guest's layer to a grid.
pub(crate) struct Blame {
    /// The layer does not start on the grid inside its virtual disk.
    pub(crate) guest: bool,
    /// The virtual disk's blocks do not start on the grid inside the file.
    pub(crate) container: bool,
    /// The file does not start on the grid inside the layer it lies in.
    pub(crate) file: bool,
    /// What the file lies in does not start on the grid itself; the outermost such layer.
    pub(crate) host: Option<LayerId>,
}

impl Blame {
    /// True when the virtual disk would be off the grid for an aligned guest too.
    pub(crate) fn is_off_below(&self) -> bool {
        self.container || self.file || self.host.is_some()
    }
}

/// Works out what is off between `layer`, in a guest, and a grid that it sees. `None` where it lies in no virtual disk, or
/// the grid belongs to the virtual disk or to what is in it.
pub(crate) fn blame(context: &Context<'_>, layer: LayerId, grid: &SeenGrid<'_>) -> Option<Blame> {
    let stack = context.stack;
    let container = container_below(stack, layer)?;
    if grid.layer >= container {
        return None;
    }
    let unit = grid.fact.value.unit();
    let file = holder(stack, container)?;
    let start = stack.start_in(layer, container)?;
    let from_container = in_view(context, container, grid)?;
    let from_file = in_view(context, file, grid)?;
    let below_file = stack.layer(file).below.first().copied();
    let seen_below = below_file.and_then(|below| in_view(context, below, grid));
    let file_off = match seen_below.map(|grid| &grid.seen) {
        Some(Seen::Uniform(below)) => !from_file.seen.is_everywhere(*below),
        // What is below is in pieces itself, or nothing is: the file's own byte 0 is where its grid is told from.
        _ => false,
    };
    let own = match (&from_file.seen, seen_below.map(|grid| &grid.seen)) {
        (Seen::Uniform(own), _) => Some(*own),
        (pieces, Some(Seen::Uniform(below))) => {
            Some(*below).filter(|below| pieces.is_everywhere(*below))
        }
        _ => None,
    };
    // A file that is off in some pieces hides what its container does; the file is named.
    let container_off = own.is_some_and(|own| !from_container.seen.is_everywhere(own));
    let host = below_file
        .into_iter()
        .flat_map(|below| std::iter::once(below).chain(stack.foundations(below)));
    let host = host.filter(|id| *id > grid.layer).rfind(|id| {
        in_view(context, *id, grid).is_some_and(|seen| match seen.seen {
            Seen::Uniform(grid) => !grid.contains(Bytes::ZERO),
            Seen::Pieces(_) => false,
        })
    });
    Some(Blame {
        guest: !start.is_multiple_of(unit),
        container: container_off,
        file: file_off,
        host,
    })
}

/// The boundaries as a layer would see them whose virtual disk, file and host were all on the grid.
pub(crate) fn alone(grid: &SeenGrid<'_>, start: Bytes) -> Seen {
    Seen::Uniform(Grid::new(grid.fact.value.unit()).seen_from(start))
}

/// True when neighbouring blocks never share a granule of a grid, nor does the grid cut blocks at odd places: one is a
/// whole number of the other, and what is rewritten as a whole is no larger than a block.
pub(crate) fn fits(block: Unit, role: GridRole, unit: Unit) -> bool {
    let multiple = block.bytes().is_multiple_of(unit);
    match role {
        GridRole::StripeUnit => multiple || unit.bytes().is_multiple_of(block),
        GridRole::FullStripe => multiple || block < unit,
        _ => multiple,
    }
}
