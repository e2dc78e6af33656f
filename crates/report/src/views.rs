//! How the grids below look from where requests begin: what a page needs to draw a request on them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use straddle_geometry::{Bytes, Unit};
use straddle_stack::{LayerId, LayerKind, Seen, Stack};

/// The grids below one layer, in its own addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// Index into the stack of the layer that looks down.
    pub layer: usize,
    /// Its name.
    pub name: String,
    /// The grids, the layer's own first, then from the highest below to the lowest.
    pub grids: Vec<ViewGrid>,
}

/// One grid as a layer above sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ViewGrid {
    /// Index into the stack of the layer that contributes it.
    pub layer: usize,
    /// Its name.
    pub of: String,
    /// What the boundaries are, such as `stripe unit`.
    pub role: String,
    /// Distance of its boundaries in bytes.
    pub unit: Unit,
    /// The first boundary in bytes, below the unit; `null` where pieces of the layer have different ones.
    pub phase: Option<Bytes>,
    /// True where a request that covers a unit in part makes the device read it first.
    pub rewrites: bool,
}

/// The views of all layers at which requests begin: partitions, and layers with nothing on them.
#[must_use]
pub(crate) fn views(stack: &Stack) -> Vec<View> {
    let begins = |id: LayerId| {
        let layer = stack.layer(id);
        layer.kind == LayerKind::Partition || stack.above(id).next().is_none()
    };
    let ids = stack.iter().map(|(id, _)| id).filter(|id| begins(*id));
    let views = ids.map(|id| View {
        layer: id.index(),
        name: stack.layer(id).name.clone(),
        grids: grids(stack, id),
    });
    views.filter(|view| !view.grids.is_empty()).collect()
}

fn grids(stack: &Stack, id: LayerId) -> Vec<ViewGrid> {
    let mut out: Vec<ViewGrid> = Vec::new();
    for seen in stack.grids_seen_from(id) {
        let unit = match &seen.seen {
            Seen::Uniform(grid) => grid.unit(),
            Seen::Pieces(_) => seen.fact.value.unit(),
        };
        let grid = ViewGrid {
            layer: seen.layer.index(),
            of: stack.layer(seen.layer).name.clone(),
            role: seen.role.name().to_owned(),
            unit,
            phase: match seen.seen {
                Seen::Uniform(grid) => Some(grid.phase()),
                Seen::Pieces(_) => None,
            },
            rewrites: seen.role.family() == straddle_geometry::Family::ReadModifyWrite,
        };
        if !out.contains(&grid) {
            out.push(grid);
        }
    }
    // Layers are numbered from below.
    out.sort_by_key(|grid| std::cmp::Reverse(grid.layer));
    out
}
