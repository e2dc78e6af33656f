//! The way down from one layer.

use straddle_geometry::{Bytes, Extent, Map, Place, Raid, RaidLayout, Share};

use super::Unplaced;
use crate::{GridRole, Layer, LayerId, LayerKind, Stack};

/// Most pieces that the maps of one layer are asked for: the rest is [`Unplaced::TooMany`]. A page is a few pieces on each
/// layer; this many are 16 MiB in clusters of 4 KiB.
const MAX_PIECES: usize = 1 << 12;

/// The way down from one layer.
pub(super) struct Descent<'a> {
    pub(super) layer: &'a Layer,
    /// How often the map was asked.
    pieces: usize,
    pub(super) below: Vec<(LayerId, Share, Extent)>,
    pub(super) gaps: Vec<(Unplaced, Extent)>,
}

impl<'a> Descent<'a> {
    pub(super) fn from(layer: &'a Layer) -> Descent<'a> {
        Descent {
            layer,
            pieces: 0,
            below: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// What of `extent` the layer has.
    pub(super) fn within(&mut self, extent: Extent) -> Option<Extent> {
        let Some(size) = &self.layer.size else {
            return Some(extent);
        };
        let end = extent.end().min(size.value);
        let inside = end.checked_sub(extent.start()).unwrap_or(Bytes::ZERO);
        let behind = extent.start().max(size.value);
        if let Some(len) = extent.end().checked_sub(behind)
            && len > Bytes::ZERO
        {
            self.gaps
                .extend(Extent::new(behind, len).map(|e| (Unplaced::Beyond, e)));
        }
        Extent::new(extent.start(), inside).filter(|extent| !extent.is_empty())
    }

    pub(super) fn down(&mut self, share: Share, extent: Extent, stack: &Stack) {
        if self.layer.below.is_empty() {
            return;
        }
        if self.goes_elsewhere(stack) {
            self.gaps.push((Unplaced::Elsewhere, extent));
            return;
        }
        let extent = self.whole_sectors(extent);
        self.beside(extent);
        match &self.layer.map {
            Map::Raid(raid) if raid.layout == RaidLayout::Mirror => {
                for column in 0..raid.columns() {
                    let share = if column == 0 {
                        share
                    } else {
                        share.max(Share::Copy)
                    };
                    let start = raid.starts.get(column);
                    let place = start.and_then(|start| start.checked_add(extent.start()));
                    self.put(column, place, share, extent);
                }
            }
            Map::Raid(raid) => self.raid(raid, share, extent),
            Map::Blocks(table) => self.each(extent, |descent, at, left| {
                let answer = table.0.locate(at);
                let run = answer.as_ref().map_or(Bytes::new(1), |place| place.run(at));
                let part = Extent::new(at, run.min(left))?;
                match answer {
                    Ok(Place::At { target, offset, .. }) => {
                        descent.put(target, Some(offset), share, part);
                    }
                    Ok(Place::Absent { .. }) => descent.gaps.push((Unplaced::Absent, part)),
                    Ok(Place::Zero { .. }) => descent.gaps.push((Unplaced::Zero, part)),
                    Ok(Place::Packed { .. }) => descent.gaps.push((Unplaced::Packed, part)),
                    Err(_) => {
                        // The next entry is as likely to be damaged; the rest is not asked for byte by byte.
                        descent
                            .gaps
                            .push((Unplaced::Unreadable, Extent::new(at, left)?));
                        return None;
                    }
                }
                Some(part.len())
            }),
            Map::Segments(segments) if segments.is_empty() => {
                self.gaps.push((Unplaced::Nowhere, extent));
            }
            map => self.each(extent, |descent, at, left| {
                if let Some(found) = map.locate(at) {
                    let part = Extent::new(at, found.run.min(left))?;
                    descent.put(found.target, Some(found.offset), share, part);
                    return Some(part.len());
                }
                let (gap, len) = match map {
                    Map::Segments(segments) => {
                        let next = segments.partition_point(|piece| piece.upper.start() <= at);
                        let len = segments
                            .get(next)
                            .and_then(|piece| piece.upper.start().checked_sub(at))
                            .unwrap_or(left);
                        (Unplaced::Hole, len.min(left))
                    }
                    _ => (Unplaced::Nowhere, left),
                };
                descent.gaps.push((gap, Extent::new(at, len)?));
                Some(len)
            }),
        }
    }

    fn raid(&mut self, raid: &Raid, share: Share, extent: Extent) {
        self.each(extent, |descent, at, left| {
            let run = raid.unit.bytes().checked_sub(at.div_rem(raid.unit).1)?;
            let part = Extent::new(at, run.min(left))?;
            let reaches = raid.reaches(at);
            if reaches.is_empty() {
                descent.gaps.push((Unplaced::Nowhere, part));
            }
            for reach in reaches {
                descent.put(
                    reach.column,
                    Some(reach.offset),
                    share.max(reach.share),
                    part,
                );
            }
            Some(part.len())
        });
    }

    /// Goes over `extent`: `step` is told an address and how much is left, does what it can, and says for how many bytes.
    fn each(
        &mut self,
        extent: Extent,
        mut step: impl FnMut(&mut Self, Bytes, Bytes) -> Option<Bytes>,
    ) {
        let mut at = extent.start();
        while let Some(left) = extent.end().checked_sub(at)
            && left > Bytes::ZERO
        {
            if self.pieces >= MAX_PIECES {
                self.too_many(Extent::new(at, left));
                return;
            }
            self.pieces += 1;
            let Some(next) = step(self, at, left)
                .filter(|done| *done > Bytes::ZERO)
                .and_then(|done| at.checked_add(done))
            else {
                return;
            };
            at = next;
        }
    }

    /// Says that `part` of this layer lies at `place` of a layer below.
    fn put(&mut self, target: usize, place: Option<Bytes>, share: Share, part: Extent) {
        let found = self.layer.below.get(target).copied();
        let place = place.and_then(|place| Extent::new(place, part.len()));
        match found.zip(place) {
            Some((below, place)) => self.below.push((below, share, place)),
            None => self.gaps.push((Unplaced::Nowhere, part)),
        }
    }

    /// A sector is encrypted as a whole.
    fn whole_sectors(&self, extent: Extent) -> Extent {
        let sector = match self.layer.kind {
            LayerKind::Encryption => self.layer.grid(GridRole::EncryptionSector),
            _ => None,
        };
        let Some(sector) = sector else { return extent };
        let unit = sector.value.unit();
        let before = extent.start().div_rem(unit).1;
        let after = extent.end().div_rem(unit).1;
        let more = unit.bytes().checked_sub(after).unwrap_or(Bytes::ZERO);
        let more = if after == Bytes::ZERO {
            Bytes::ZERO
        } else {
            more
        };
        let wide = extent.start().checked_sub(before).and_then(|start| {
            let end = extent.end().checked_add(more)?;
            let size = self.layer.size.as_ref().map(|size| size.value);
            let end = size.map_or(end, |size| end.min(size.max(extent.end())));
            Extent::new(start, end.checked_sub(start)?)
        });
        wide.unwrap_or(extent)
    }

    /// Layers below that the map leaves out are written too, unless it is known that they are not.
    fn beside(&mut self, extent: Extent) {
        if self.layer.format.as_deref().is_some_and(is_integrity) {
            self.gaps.push((Unplaced::Checksums, extent));
        }
        let reached = match &self.layer.map {
            Map::Linear { .. } => 1,
            Map::Striped(striping) => striping.starts.len(),
            Map::Raid(raid) => raid.columns(),
            // What a table or a list of pieces leaves out is a gap of its own.
            Map::Segments(_) | Map::Blocks(_) => return,
        };
        // Paths lead to the same unit, and what is below a pool besides its data are records of what is allocated.
        if matches!(
            self.layer.format.as_deref(),
            Some("multipath" | "thin-pool")
        ) {
            return;
        }
        for other in self.layer.below.iter().skip(reached) {
            self.gaps.push((Unplaced::Beside(*other), extent));
        }
    }

    /// True when what is written never goes to where it was read from.
    fn goes_elsewhere(&self, stack: &Stack) -> bool {
        let copies_on_write = |id: &LayerId| {
            let format = stack.layer(*id).format.as_deref();
            matches!(format, Some("btrfs" | "zfs" | "bcachefs"))
        };
        match self.layer.kind {
            LayerKind::File => self.layer.below.iter().any(copies_on_write),
            LayerKind::Volume => matches!(
                self.layer.format.as_deref(),
                Some("snapshot" | "writecache")
            ),
            _ => false,
        }
    }

    pub(super) fn too_many(&mut self, extents: impl IntoIterator<Item = Extent>) {
        self.gaps.extend(
            extents
                .into_iter()
                .map(|extent| (Unplaced::TooMany, extent)),
        );
    }
}

fn is_integrity(format: &str) -> bool {
    matches!(format, "integrity" | "dm-integrity")
}
