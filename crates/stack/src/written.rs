//! What changes below when bytes of a layer are written: data, copies, parities.

mod descent;

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use straddle_geometry::{Extent, Share};

use crate::{LayerId, Stack};
use descent::Descent;

/// Most runs, and most gaps, on one layer.
const MAX_RUNS: usize = 1 << 10;

/// What changes when an extent of a layer is written in place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Runs of bytes on the layer itself and on every layer below, highest layer first, then by address. Runs of one share
    /// that touch are one.
    pub runs: Vec<WrittenRun>,
    /// What is written besides, and cannot be placed. Without gaps nothing else changes.
    pub gaps: Vec<WrittenGap>,
}

/// Bytes of one layer that change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WrittenRun {
    /// Index into the stack.
    pub layer: LayerId,
    /// Its bytes.
    pub extent: Extent,
    /// What they are to the bytes that are written.
    pub share: Share,
}

/// Bytes of one layer that change something below, and it is not known where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenGap {
    /// The layer.
    pub layer: LayerId,
    /// Its bytes.
    pub extent: Extent,
    /// Why their way down is not known, or not all of it.
    pub why: Unplaced,
}

/// Why it is not known what changes below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unplaced {
    /// How the layer reaches those below is not known.
    Nowhere,
    /// Behind the end of the layer.
    Beyond,
    /// In a hole, or not yet written out: a write is given a place.
    Hole,
    /// Not allocated in a virtual disk: a write is given a place.
    Absent,
    /// Recorded as zeroes in a virtual disk: a write may be given a place.
    Zero,
    /// Compressed with its neighbours: a write is given a place.
    Packed,
    /// The entry of a block table cannot be read.
    Unreadable,
    /// Never overwritten: a write goes to a new place.
    Elsewhere,
    /// Another layer below is written too, and the map does not say where.
    Beside(LayerId),
    /// Checksums between the data, and a journal where there is one, change too.
    Checksums,
    /// In more pieces than are followed.
    TooMany,
}

impl Unplaced {
    /// What a reader is told.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Unplaced::Nowhere => "no place below is known",
            Unplaced::Beyond => "beyond the end",
            Unplaced::Hole => "in a hole of the file, or not yet written out",
            Unplaced::Absent => "not allocated",
            Unplaced::Zero => "recorded as zeroes",
            Unplaced::Packed => "compressed with its neighbours",
            Unplaced::Unreadable => "its entry in the block table cannot be read",
            Unplaced::Elsewhere => "a write goes to a new place",
            Unplaced::Beside(_) => "where it is written there is not known",
            Unplaced::Checksums => "checksums, and a journal if there is one, are written too",
            Unplaced::TooMany => "in more pieces than are followed",
        }
    }
}

impl Stack {
    /// Every run of bytes that changes when `extent` of `layer` is written in place: the bytes themselves on the layers that
    /// they pass, their copies, and the parities that are made of them.
    ///
    /// It is what must change for the data's sake. What is written for other reasons (a superblock, a bitmap, the time a file
    /// was modified) is not part of it. Encrypted data change by whole encryption sectors. What cannot be placed is a gap,
    /// never silence.
    #[must_use]
    pub fn written(&self, layer: LayerId, extent: Extent) -> Written {
        let mut pending: BTreeMap<LayerId, Vec<(Share, Extent)>> = BTreeMap::new();
        pending.insert(layer, vec![(Share::Data, extent)]);
        let mut written = Written::default();
        // Layers below have smaller indices: each is complete when its turn comes.
        while let Some((id, parts)) = pending.pop_last() {
            let mut parts = joined(parts);
            let mut descent = Descent::from(self.layer(id));
            if parts.len() > MAX_RUNS {
                let rest = parts.split_off(MAX_RUNS);
                descent.too_many(rest.iter().map(|(_, extent)| *extent));
            }
            for (share, extent) in &parts {
                if let Some(extent) = descent.within(*extent) {
                    written.runs.push(WrittenRun {
                        layer: id,
                        extent,
                        share: *share,
                    });
                    descent.down(*share, extent, self);
                }
            }
            for (target, share, extent) in descent.below {
                pending.entry(target).or_default().push((share, extent));
            }
            written.gaps.extend(gaps_of(id, descent.gaps));
        }
        written
            .runs
            .sort_by_key(|run| (std::cmp::Reverse(run.layer), run.extent, run.share));
        written
    }
}

impl Written {
    /// The runs on layers that rest on nothing: disks, images.
    pub fn at_the_bottom<'a>(&'a self, stack: &'a Stack) -> impl Iterator<Item = &'a WrittenRun> {
        self.runs
            .iter()
            .filter(|run| stack.layer(run.layer).below.is_empty())
    }
}

/// Sorted, and joined where extents of one share touch or overlap.
fn joined<T: Copy + Ord>(mut parts: Vec<(T, Extent)>) -> Vec<(T, Extent)> {
    parts.retain(|(_, extent)| !extent.is_empty());
    parts.sort_unstable();
    let mut out: Vec<(T, Extent)> = Vec::with_capacity(parts.len());
    for (what, extent) in parts {
        if let Some((last, before)) = out.last_mut()
            && *last == what
            && extent.start() <= before.end()
        {
            let end = before.end().max(extent.end());
            let len = end.checked_sub(before.start()).unwrap_or(before.len());
            *before = Extent::new(before.start(), len).unwrap_or(*before);
        } else {
            out.push((what, extent));
        }
    }
    out
}

/// The gaps of one layer; when there are too many, the last says so of all the rest.
fn gaps_of(layer: LayerId, gaps: Vec<(Unplaced, Extent)>) -> impl Iterator<Item = WrittenGap> {
    let mut gaps = joined(gaps);
    if gaps.len() > MAX_RUNS {
        let rest = gaps.split_off(MAX_RUNS);
        let first = rest.iter().map(|(_, extent)| extent.start()).min();
        let end = rest.iter().map(|(_, extent)| extent.end()).max();
        let span = first.zip(end).and_then(|(first, end)| {
            Some((
                Unplaced::TooMany,
                Extent::new(first, end.checked_sub(first)?)?,
            ))
        });
        gaps.extend(span);
    }
    gaps.into_iter()
        .map(move |(why, extent)| WrittenGap { layer, extent, why })
}

#[cfg(test)]
mod tests;
