//! What all rules about a start on a grid share.

use straddle_geometry::{Bytes, Grid, Unit, both_ways};
use straddle_stack::{GridRole, Key, Layer, LayerId, Seen, SeenGrid};

use super::guest::blame;
use super::pieces::off;
use super::said::Said;
use crate::context::is_idle;
use crate::wording::{remainder_line, start_label};
use crate::{Code, Context, Finding, Severity};

/// A layer that starts somewhere, and a grid far below that it sees in one piece.
pub(crate) struct Start<'a> {
    pub(crate) id: LayerId,
    pub(crate) layer: &'a Layer,
    pub(crate) grid: &'a SeenGrid<'a>,
    /// The layer whose addresses the arithmetic is written in.
    pub(crate) base: LayerId,
    /// The start there.
    pub(crate) start: Bytes,
    /// The grid there.
    pub(crate) there: Grid,
}

impl<'a> Start<'a> {
    /// `None` when the layer sees the grid in pieces, or has no single place in the layer below.
    pub(crate) fn of(
        context: &Context<'a>,
        id: LayerId,
        layer: &'a Layer,
        grid: &'a SeenGrid<'a>,
    ) -> Option<Start<'a>> {
        let Seen::Uniform(seen) = grid.seen else {
            return None;
        };
        // Inside a virtual disk that is on the grid itself, a partition is judged like any other. Otherwise rules of their
        // own (STR401 and on) say which layers are wrong, and a start that undoes them here would be wrong elsewhere.
        let blame = blame(context, id, grid);
        if blame.is_some_and(|blame| !blame.guest || blame.is_off_below()) {
            return None;
        }
        // Where one linear path leads to the grid's own layer, its addresses are the natural ones; else those one below.
        let (base, start, there) = match context.stack.start_in(id, grid.layer) {
            Some(start) if is_linear(context, id, grid.layer) => {
                (grid.layer, start, grid.fact.value)
            }
            _ => {
                let below = context.stack.only_below(id)?;
                let start = context.stack.start_in(id, below)?;
                // A boundary at b up here is one at b + start below.
                let phase = seen.phase().checked_add(start)?;
                (below, start, Grid::with_phase(seen.unit(), phase))
            }
        };
        Some(Start {
            id,
            layer,
            grid,
            base,
            start,
            there,
        })
    }

    pub(crate) fn unit(&self) -> Unit {
        self.there.unit()
    }

    pub(crate) fn is_on_grid(&self) -> bool {
        self.there.contains(self.start)
    }

    /// The disk whose table records the start, and the start on it: what has to be changed. `base` may lie deeper, below a
    /// loop device or a logical volume that holds the table.
    fn recorded(&self, context: &Context<'_>) -> (LayerId, Bytes) {
        context
            .disk_of(self.id)
            .and_then(|disk| Some((disk, context.stack.start_in(self.id, disk)?)))
            .unwrap_or((self.base, self.start))
    }
}

fn is_linear(context: &Context<'_>, from: LayerId, to: LayerId) -> bool {
    let mut here = from;
    while here != to {
        match (
            &context.stack.layer(here).map,
            context.stack.only_below(here),
        ) {
            (straddle_geometry::Map::Linear { .. }, Some(below)) => here = below,
            _ => return false,
        }
    }
    true
}

/// The places that data partitions start at, beside every grid of this role below them.
pub(crate) fn partition_starts<'a>(
    context: &'a Context<'a>,
    role: GridRole,
) -> impl Iterator<Item = Start<'a>> {
    context.data_partitions().flat_map(move |(id, layer)| {
        context
            .below(id, role)
            .filter_map(move |grid| Start::of(context, id, layer, grid))
    })
}

/// False for a full stripe without parity (RAID 0, 1, 10): writing a part of it costs nothing. One that is only stated may
/// have it.
pub(crate) fn has_parity(context: &Context<'_>, grid: &SeenGrid<'_>) -> bool {
    let level = context.stack.layer(grid.layer).text(Key::Level);
    !matches!(
        level,
        Some("raid0" | "raid1" | "raid10" | "linear" | "striped")
    )
}

/// Adds that a layer is off a grid and yet pays nothing for the sizes asked for, when that is so.
pub(crate) fn say_what_is_free(finding: Finding) -> Finding {
    let Some(prices) = &finding.prices else {
        return finding;
    };
    let Some(row) = prices.at_unit.filter(|row| !row.extra.is_zero()) else {
        return finding;
    };
    if !prices.worst().is_zero() {
        return finding;
    }
    let note = format!(
        "off the grid, and yet free for the request sizes asked for: on their own lattice they never meet a boundary; \
         requests of {} would pay {}",
        row.io, row.extra
    );
    finding.note(note)
}

/// The finding that `start` is off its grid; `None` when it is on it.
pub(crate) fn off_grid(
    code: Code,
    context: &Context<'_>,
    start: &Start<'_>,
    title: String,
) -> Option<Finding> {
    if start.is_on_grid() {
        return None;
    }
    let mut finding = Finding::priced(code, start.id, title, context.prices(start.grid));
    let (disk, recorded) = start.recorded(context);
    if let Some(placement) = &start.layer.placement {
        finding = finding.evidence(&placement.source, start_label(start.layer, recorded));
    }
    let grid_label = format!("{} = {}", start.grid.role.name(), start.unit());
    finding = finding
        .evidence(&start.grid.fact.source, grid_label)
        .arithmetic(remainder_line(start.layer, start.start, start.there));
    let mut of_disk = String::new();
    if disk != start.base {
        let name = |id| &context.stack.layer(id).name;
        of_disk = format!(" of {}", name(disk));
        finding = finding.note(format!(
            "the division counts from the start of {}; the partition table counts from {}, whose byte {} it is",
            name(start.base),
            name(disk),
            recorded.grouped()
        ));
    }
    let is_idle = is_idle(start.layer);
    finding = match context.good_start(disk, recorded) {
        // Nothing is gained by moving it.
        _ if is_idle => finding,
        Ok(good) => finding.help(format!(
            "start it at {}{of_disk}: the first place from here on that is on every boundary known",
            both_ways(good)
        )),
        Err(error) => finding.help(format!(
            "no start satisfies every boundary known here ({error}); satisfy the costliest"
        )),
    };
    finding = say_what_is_free(finding);
    if is_idle {
        finding = finding.at_most(
            Severity::Note,
            "it is a partition that only a boot loader or an installer uses; its start does not matter for speed",
        );
    }
    Some(finding)
}

/// True when the layer directly below begins on the grid, or owns it.
pub(crate) fn enters_here(context: &Context<'_>, id: LayerId, grid: &SeenGrid<'_>) -> bool {
    context.stack.layer(id).below.iter().all(|below| {
        (*below == grid.layer && !is_said_of(context, *below, grid))
            || context
                .seen(*below)
                .iter()
                .filter(|lower| lower.layer == grid.layer && lower.role == grid.role)
                .all(|lower| off(&lower.seen).is_none())
    })
}

/// Whether a grid of a layer tells where that begins on what it lies on, not where its sectors begin.
fn is_said_of(context: &Context<'_>, id: LayerId, grid: &SeenGrid<'_>) -> bool {
    let layer = context.stack.layer(id);
    grid.role == GridRole::PhysicalSector && Said::of(context, id, layer).is_some()
}
