//! What a collection would have to hold besides, by device: asked for by the option or the plugin of the tool that made it.

use std::collections::BTreeMap;

use straddle_geometry::Map;
use straddle_stack::{GridRole, Key, Layer, LayerKind, Stack, Trust};

/// What is not known of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Missing {
    /// Sector sizes of a disk.
    Sectors,
    /// Where a partition starts.
    Start,
    /// Level, chunk and members of an array.
    Array,
    /// Where a volume lies on its disks.
    Volume,
    /// Where the data of an encrypted device begins.
    Encryption,
    /// The geometry of ext2, ext3 or ext4.
    Ext,
    /// The geometry of XFS.
    Xfs,
    /// The geometry of btrfs.
    Btrfs,
}

impl Missing {
    fn name(self) -> &'static str {
        match self {
            Missing::Sectors => "sector sizes",
            Missing::Start => "start",
            Missing::Array => "chunk and members",
            Missing::Volume => "place on its disks",
            Missing::Encryption => "start of the data",
            Missing::Ext | Missing::Xfs | Missing::Btrfs => "block size and stripes",
        }
    }
}

/// How an ask for the starts of any partitions begins.
pub(crate) const STARTS: &str = "starts of partitions";

/// Most layers that are named for one fact.
const MAX_NAMED: usize = 4;

/// What is asked for, in sentences: `start of sda1, sda2: the sos plugin …`. Facts that this tool has no place for are not asked of it.
pub(crate) fn asks(stack: &Stack, places: &[(Missing, &str)]) -> Vec<(Missing, String)> {
    let mut lacking: BTreeMap<Missing, Vec<&str>> = BTreeMap::new();
    for (id, layer) in stack.iter() {
        let on = stack.only_below(id).map(|below| stack.layer(below));
        if let Some(missing) = of_layer(layer) {
            let name = match layer.kind {
                // A filesystem is called after its kind.
                LayerKind::Filesystem => on.map_or(&layer.name, |on| &on.name),
                _ => &layer.name,
            };
            lacking.entry(missing).or_default().push(name);
        }
    }
    let ask = |(missing, names): (Missing, Vec<&str>)| {
        let (_, place) = places.iter().find(|(of, _)| *of == missing)?;
        let named = names[..names.len().min(MAX_NAMED)].join(", ");
        let more = match names.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let ask = format!("{} of {named}{more}: {place}", missing.name());
        Some((missing, ask))
    };
    lacking.into_iter().filter_map(ask).collect()
}

fn of_layer(layer: &Layer) -> Option<Missing> {
    // What is taken for granted is not known.
    let has_grid = |role| {
        let grid = layer.grid(role);
        grid.is_some_and(|grid| grid.trust != Trust::Assumed)
    };
    let is_placed = layer.placement.is_some() || !is_nowhere(&layer.map);
    let is_partition_table = layer.attribute(Key::HoldsPartitions).is_some();
    match layer.kind {
        // What is a file or memory has no sectors of its own.
        LayerKind::Device if layer.format.is_none() => {
            let is_known = has_grid(GridRole::PhysicalSector) || has_grid(GridRole::LogicalSector);
            (!is_known).then_some(Missing::Sectors)
        }
        LayerKind::Partition if !is_partition_table => {
            layer.placement.is_none().then_some(Missing::Start)
        }
        LayerKind::Array => {
            (!is_placed && !has_grid(GridRole::StripeUnit)).then_some(Missing::Array)
        }
        LayerKind::Volume => (!is_placed).then_some(Missing::Volume),
        LayerKind::Encryption => (!is_placed).then_some(Missing::Encryption),
        LayerKind::Filesystem if !has_grid(GridRole::AllocationUnit) => {
            match layer.format.as_deref() {
                Some("ext2" | "ext3" | "ext4" | "ext") => Some(Missing::Ext),
                Some("xfs") => Some(Missing::Xfs),
                Some("btrfs") => Some(Missing::Btrfs),
                _ => None,
            }
        }
        _ => None,
    }
}

/// True for a map that reaches nothing: nobody said where it leads.
fn is_nowhere(map: &Map) -> bool {
    matches!(map, Map::Segments(segments) if segments.is_empty())
}
