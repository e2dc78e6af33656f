//! The way from a virtual disk up to what consists of it, and down to the layers in which its runs end.

use std::collections::HashMap;
use straddle_geometry::{
    BlockTable, Blocks, Bytes, Extent, Gap, Map, Segment, Sink, TableError, entry,
};

use super::segments::{clipped, cut, segments_of};
use crate::{GridRole, Layer, LayerId, Stack, Trust};

/// Most windows of one disk.
const MAX_WINDOWS: usize = 1 << 12;
/// Deepest chain of maps that a run is followed through.
const MAX_DEPTH: usize = 64;

impl Stack {
    /// The parts of the virtual disk `container` that layers above it consist of, through linear maps and segments.
    pub(super) fn windows_above(&self, container: LayerId, size: Bytes) -> Vec<Extent> {
        let whole = Extent::whole(size);
        // For each layer the parts of it that lie in the container: (addresses there, addresses in the container).
        let mut reach: HashMap<LayerId, Vec<(Extent, Bytes)>> = HashMap::new();
        reach.insert(container, vec![(whole, Bytes::ZERO)]);
        let mut windows = vec![whole];
        for (id, layer) in self.iter().filter(|(id, _)| *id > container) {
            let mut parts = Vec::new();
            for (target, below) in layer.below.iter().enumerate() {
                let Some(pieces) = reach.get(below) else {
                    continue;
                };
                for segment in segments_of(layer, target) {
                    for (extent, at) in pieces {
                        if let Some((upper, skip)) = cut(&segment, *extent)
                            && let Some(at) = at.checked_add(skip)
                        {
                            parts.push((upper, at));
                        }
                    }
                }
                if parts.len() + windows.len() > MAX_WINDOWS {
                    return windows;
                }
            }
            windows.extend(
                parts
                    .iter()
                    .filter_map(|(upper, at)| Extent::new(*at, upper.len())),
            );
            if !parts.is_empty() {
                reach.insert(id, parts);
            }
        }
        windows.retain(|window| !window.is_empty());
        // The whole disk stays first: the others lie in it.
        windows.sort_by_key(|window| (window.start(), std::cmp::Reverse(window.end())));
        windows.dedup();
        windows
    }

    /// True when runs need not be followed further down than `layer`.
    pub(super) fn is_base(&self, id: LayerId) -> bool {
        let layer = self.layer(id);
        match layer.map {
            Map::Blocks(_) => false,
            Map::Striped(_) | Map::Raid(_) => true,
            Map::Linear { .. } | Map::Segments(_) => {
                layer.below.is_empty()
                    || (!self.rests_on_blocks(id)
                        && self
                            .grids_seen_from(id)
                            .iter()
                            .filter(|grid| is_kept(grid.role, grid.fact.trust))
                            .all(|grid| matches!(grid.seen, crate::Seen::Uniform(_))))
            }
        }
    }

    fn rests_on_blocks(&self, id: LayerId) -> bool {
        self.foundations(id)
            .iter()
            .any(|below| matches!(self.layer(*below).map, Map::Blocks(_)))
    }

    /// Follows the addresses `at` of `layer` down to the layers in which runs end, and calls `out` with each part: its
    /// addresses in the disk (`upper` belongs to the start of `at`), the layer, and the place there.
    pub(super) fn descend(
        &self,
        layer: LayerId,
        at: Extent,
        upper: Bytes,
        depth: usize,
        out: &mut dyn FnMut(Extent, LayerId, Bytes),
    ) -> Result<(), TableError> {
        if depth > MAX_DEPTH {
            return Err("layers nested too deep".into());
        }
        let here = self.layer(layer);
        if let Map::Blocks(Blocks(table)) = &here.map {
            let mut sink = Shifted {
                stack: self,
                layer: here,
                table: &**table,
                from: at.start(),
                upper,
                depth,
                out,
                failed: None,
            };
            table.stream(at, &mut sink)?;
            return sink.failed.map_or(Ok(()), Err);
        }
        if self.is_base(layer) {
            if let Some(extent) = Extent::new(upper, at.len()) {
                out(extent, layer, at.start());
            }
            return Ok(());
        }
        let one;
        let segments = match &here.map {
            // Sorted, so the first that reaches into `at` is found without looking at those before it.
            Map::Segments(all) => {
                let first = all.partition_point(|s| s.upper.end() <= at.start());
                all.get(first..).unwrap_or(&[])
            }
            _ => {
                one = segments_of(here, 0).collect::<Vec<_>>();
                one.as_slice()
            }
        };
        for segment in segments {
            if segment.upper.start() >= at.end() {
                break;
            }
            let Some(below) = here.below.get(segment.target) else {
                continue;
            };
            let from = at.start().max(segment.upper.start());
            let to = at.end().min(segment.upper.end());
            let place = to
                .checked_sub(from)
                .filter(|len| *len > Bytes::ZERO)
                .zip(from.checked_sub(segment.upper.start()))
                .and_then(|(len, skip)| Extent::new(segment.lower.checked_add(skip)?, len));
            let up = from
                .checked_sub(at.start())
                .and_then(|skip| upper.checked_add(skip));
            if let (Some(place), Some(up)) = (place, up) {
                self.descend(*below, place, up, depth + 1, out)?;
            }
        }
        Ok(())
    }
}

/// True for grids that runs are placed against. `optimal_io_size` is left out: values that are not a multiple of anything
/// are common, and would multiply what has to be kept.
pub(super) fn is_kept(role: GridRole, trust: Trust) -> bool {
    trust != Trust::Doubtful && !matches!(role, GridRole::OptimalIo | GridRole::DatabasePage)
}

/// Sends what a table below says on, in the addresses of the disk above.
struct Shifted<'a> {
    stack: &'a Stack,
    layer: &'a Layer,
    table: &'a dyn BlockTable,
    /// Address of this table's disk that belongs to `upper`.
    from: Bytes,
    upper: Bytes,
    depth: usize,
    out: &'a mut dyn FnMut(Extent, LayerId, Bytes),
    failed: Option<TableError>,
}

impl Shifted<'_> {
    fn send(&mut self, upper: Extent, target: usize, lower: Bytes) {
        let up = upper
            .start()
            .checked_sub(self.from)
            .and_then(|skip| self.upper.checked_add(skip));
        let below = self.layer.below.get(target);
        let (Some(up), Some(below), Some(at)) = (up, below, Extent::new(lower, upper.len())) else {
            return;
        };
        let at = match &self.stack.layer(*below).size {
            Some(size) => clipped(at, size.value),
            None => Some(at),
        };
        if let Some(at) = at {
            let sent = self.stack.descend(*below, at, up, self.depth + 1, self.out);
            self.failed = self.failed.take().or(sent.err());
        }
    }
}

impl Sink for Shifted<'_> {
    fn blocks(&mut self, first: Bytes, target: usize, lower: &[u64]) {
        let block = self.table.block().bytes();
        let mut at = first;
        for place in lower {
            let Some(upper) = Extent::new(at, block) else {
                return;
            };
            match entry::gap(*place) {
                Some(gap) => self.gap(upper, gap),
                None => self.send(upper, target, Bytes::new(*place)),
            }
            at = upper.end();
        }
    }

    fn piece(&mut self, piece: Segment) {
        self.send(piece.upper, piece.target, piece.lower);
    }

    fn gap(&mut self, upper: Extent, gap: Gap) {
        if let (Gap::Absent, Some(parent)) = (gap, self.table.parent()) {
            self.send(upper, parent, upper.start());
        }
    }
}
