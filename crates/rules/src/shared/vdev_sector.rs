//! What rules about the sector of a ZFS vdev (2^ashift bytes) share.

use straddle_geometry::Grid;
use straddle_stack::{Fact, GridRole, Layer, LayerId, LayerKind};

use crate::Context;

/// The filesystems and logs of ZFS pools, each with its sector.
pub(crate) fn vdevs<'a>(
    context: &Context<'a>,
) -> impl Iterator<Item = (LayerId, &'a Layer, &'a Fact<Grid>)> {
    context.stack.iter().filter_map(|(id, layer)| {
        let sector = layer.grid(GridRole::AllocationUnit)?;
        is_zfs(layer).then_some((id, layer, sector))
    })
}

/// True for what ZFS allocates from, data or log.
pub(crate) fn is_zfs(layer: &Layer) -> bool {
    matches!(layer.format.as_deref(), Some("zfs" | "zfs-log"))
}

/// The devices and partitions that a vdev is made of.
pub(crate) fn members(context: &Context<'_>, id: LayerId) -> Vec<LayerId> {
    let mut members = Vec::new();
    let mut to_visit = context.stack.layer(id).below.clone();
    while let Some(below) = to_visit.pop() {
        let layer = context.stack.layer(below);
        let is_group = layer.kind == LayerKind::Array && layer.name.contains('/');
        if is_group {
            to_visit.extend(&layer.below);
        } else if !members.contains(&below) {
            members.push(below);
        }
    }
    members.sort_unstable();
    members
}
