//! Files of a directory as they look from below: in how many pieces, and how much of them lies off each grid.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Extent, Unit};
use straddle_stack::{GridRole, Key, LayerId, Piece, Seen, Stack, Value};

/// What a target was taken for, where it could have been something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Taken {
    /// The kind, as it is typed after `--as`.
    pub kind: &'static str,
    /// The same in words.
    pub words: String,
    /// The host that it is, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What else it could have been, and how to get that.
    pub instead: Option<String>,
}

/// The largest files of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FilesBelow {
    /// Files that were looked through.
    pub among: usize,
    /// Files and directories that could not be looked at.
    pub unread: usize,
    /// Other filesystems that are mounted in the directory. They are not looked into.
    pub mounted: Vec<String>,
    /// How many database files there are of each kind, by the name of the kind.
    pub databases: Vec<(String, usize)>,
    /// The largest, the largest first.
    pub largest: Vec<FileBelow>,
}

/// A file from below.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileBelow {
    /// Its path.
    pub path: String,
    /// Its length in bytes.
    pub size: Bytes,
    /// The kind of database that it belongs to, where it is known to be one.
    pub database: Option<String>,
    /// In how many pieces it lies.
    pub extents: Option<u64>,
    /// Bytes of which it is known where they lie.
    pub mapped: Bytes,
    /// The grids below, and what of the file lies off them.
    pub grids: Vec<OffGrid>,
    /// Why no more is known.
    pub unknown: Vec<String>,
}

/// What of a file lies off a grid: where its own multiples of the unit are no boundaries below.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OffGrid {
    /// What the boundaries are.
    pub role: &'static str,
    /// The layer that they belong to.
    pub of: String,
    /// Their distance in bytes.
    pub unit: Unit,
    /// Bytes of the file that lie off them.
    pub off: Bytes,
    /// Pieces that do.
    pub pieces: usize,
}

impl FileBelow {
    /// The file that `layer` is, `size` bytes long.
    #[must_use]
    pub fn new(stack: &Stack, layer: LayerId, size: Bytes, database: Option<String>) -> FileBelow {
        let file = stack.layer(layer);
        let mapped = file
            .bytes(Key::MappedBytes)
            .map_or(Bytes::ZERO, |fact| fact.value);
        let extents = match file.attribute(Key::Extents).map(|fact| &fact.value) {
            Some(Value::Count(count)) => Some(*count),
            _ => None,
        };
        let unknown = file.anomalies.iter().map(|anomaly| anomaly.detail.clone());
        FileBelow {
            path: file.name.to_string(),
            size,
            database,
            extents,
            mapped,
            grids: grids(stack, layer, mapped),
            unknown: unknown.collect(),
        }
    }
}

/// Every grid below a file but those that nothing can be off.
fn grids(stack: &Stack, layer: LayerId, mapped: Bytes) -> Vec<OffGrid> {
    let mut out: Vec<OffGrid> = Vec::new();
    if mapped == Bytes::ZERO {
        return out;
    }
    for seen in stack.grids_seen_from(layer) {
        let tells = !matches!(
            seen.role,
            GridRole::LogicalSector | GridRole::AllocationUnit | GridRole::DiscardGranularity
        );
        if !tells || seen.layer == layer {
            continue;
        }
        let unit = seen.fact.value.unit();
        let (off, pieces) = match &seen.seen {
            Seen::Uniform(grid) if grid.phase() == Bytes::ZERO => (Bytes::ZERO, 0),
            Seen::Uniform(_) => (mapped, 1),
            Seen::Pieces(all) => off_grid(all),
        };
        let grid = OffGrid {
            role: seen.role.name(),
            of: stack.layer(seen.layer).name.to_string(),
            unit,
            off,
            pieces,
        };
        let is_there = |other: &OffGrid| (other.unit, other.off) == (grid.unit, grid.off);
        // What several layers say of the same boundaries counts once.
        if !out.iter().any(is_there) {
            out.push(grid);
        }
    }
    out.sort_by_key(|grid| grid.unit);
    out
}

fn off_grid(pieces: &[Piece]) -> (Bytes, usize) {
    let mut off = (0_u64, 0);
    let mut add = |extent: &Extent| {
        off.0 = off.0.saturating_add(extent.len().get());
        off.1 += 1;
    };
    for piece in pieces {
        if let Piece::Run { extent, grid } = piece
            && grid.phase() != Bytes::ZERO
        {
            add(extent);
        }
    }
    (Bytes::new(off.0), off.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_geometry::{Grid, Map, Segment};
    use straddle_stack::{Fact, Layer, LayerKind};

    /// A file of three pieces on a filesystem that begins at `start` of a disk with sectors of 4 KiB and stripes of 64 KiB.
    fn stack(start: u64) -> (Stack, LayerId) {
        let mut stack = Stack::new();
        let mut disk = Layer::new(LayerKind::Device, "sda");
        for (role, unit) in [
            (GridRole::PhysicalSector, 4096),
            (GridRole::StripeUnit, 65536),
        ] {
            let unit = Unit::new(unit).expect("not zero");
            disk.add_grid(role, Fact::stated(Grid::new(unit), "test", ""));
        }
        let disk = stack.push(disk);
        let mut filesystem = Layer::new(LayerKind::Filesystem, "ext4");
        filesystem.below = vec![disk];
        filesystem.map = Map::Linear {
            start: Bytes::new(start),
        };
        let filesystem = stack.push(filesystem);
        let mut file = Layer::new(LayerKind::File, "/data/f");
        file.below = vec![filesystem];
        let piece = |upper, lower, len| Segment {
            upper: Extent::new(Bytes::new(upper), Bytes::new(len)).expect("small"),
            target: 0,
            lower: Bytes::new(lower),
        };
        // On the stripe; 4 KiB behind one; and again on it, though neither begins at a multiple.
        file.map = Map::segments(vec![
            piece(0, 1 << 20, 65536),
            piece(65536, (4 << 20) + 4096, 8192),
            piece(73728, (8 << 20) + 8192, 4096),
        ])
        .expect("apart");
        let count = Fact::stated(Value::Count(3), "test", "");
        file.set(Key::Extents, count);
        let mapped = Fact::stated(Value::Bytes(Bytes::new(77824)), "test", "");
        file.set(Key::MappedBytes, mapped);
        let file = stack.push(file);
        (stack, file)
    }

    #[test]
    fn what_lies_off_each_grid_is_counted_by_bytes() {
        let off = |start| {
            let (stack, file) = stack(start);
            let below = FileBelow::new(&stack, file, Bytes::new(80_000), None);
            assert_eq!(below.extents, Some(3));
            let grids = below.grids.iter();
            grids
                .map(|grid| (grid.unit.get(), grid.off.get(), grid.pieces))
                .collect::<Vec<_>>()
        };
        assert_eq!(off(1 << 20), [(4096, 0, 0), (65536, 8192, 1)]);
        assert_eq!(off(63 * 512), [(4096, 77824, 3), (65536, 77824, 3)]);
        // A partition 60 KiB behind a stripe puts the odd piece on one, and the others off it.
        assert_eq!(off(60 << 10), [(4096, 0, 0), (65536, 69632, 2)]);
    }
}
