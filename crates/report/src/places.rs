//! From a guest's page to the host's sector: where bytes lie in every layer, and what changes when they are written.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Extent, Map, Place as Answer};
use straddle_stack::{Key, LayerId, LayerKind, Unplaced, WrittenGap, WrittenRun};

use crate::Checked;

/// Said of a layer that rests on others when it is not known where.
const NOWHERE: &str = Unplaced::Nowhere.text();
/// Most ways down of one target that are told.
const MAX: usize = 64;

/// The bytes whose ways down a report tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The bytes, in the addresses of each layer that is asked. When there are none: the first byte, of guests only.
    pub extents: Vec<Extent>,
    /// What the layer is called, or labelled; without, the topmost layers are asked.
    pub of: Option<String>,
}

/// Where bytes of a layer lie in it and in every layer below, highest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Place {
    /// How many bytes were asked for.
    pub length: Bytes,
    /// The way of the first byte; the first step is the layer itself.
    pub steps: Vec<Step>,
    /// Why it ends before the bottom, where it does.
    pub ends: Option<&'static str>,
    /// What changes when these bytes are written in place: themselves, their copies, and parities that are made of them, on
    /// the layer itself and on all below, highest first. Encrypted bytes change by whole encryption sectors.
    pub written: Vec<WrittenRun>,
    /// What changes besides and cannot be placed. Without gaps nothing else changes for these bytes' sake.
    pub gaps: Vec<GapDocument>,
}

/// A layer on the way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    /// Index into the stack.
    pub layer: LayerId,
    /// The byte, in the addresses of that layer.
    pub offset: Bytes,
}

/// Bytes of a layer that change something below, and it is not known where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GapDocument {
    /// Index into the stack.
    pub layer: LayerId,
    /// Its bytes.
    pub extent: Extent,
    /// Why it is not known.
    pub why: &'static str,
    /// The layer below that it is about, when it is not about all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<LayerId>,
}

impl GapDocument {
    fn of(gap: WrittenGap) -> GapDocument {
        GapDocument {
            layer: gap.layer,
            extent: gap.extent,
            why: gap.why.text(),
            beside: match gap.why {
                Unplaced::Beside(other) => Some(other),
                _ => None,
            },
        }
    }
}

/// The ways down from the layers that are asked for.
pub(crate) fn places(checked: &Checked) -> Vec<Place> {
    let asked = &checked.asked;
    let layers = match &asked.of {
        Some(name) => called(checked, name),
        None => topmost(checked),
    };
    let first = [Extent::whole(Bytes::new(1))];
    let extents = if asked.extents.is_empty() {
        &first[..]
    } else {
        &asked.extents
    };
    // One that leads nowhere and has a reason for it is an answer too; a disk that could not be followed has none.
    let is_told = |place: &Place| {
        asked.of.is_some() || place.steps.len() > 1 || place.ends.is_some_and(|why| why != NOWHERE)
    };
    layers
        .into_iter()
        .flat_map(|layer| extents.iter().map(move |extent| (layer, *extent)))
        .map(|(layer, extent)| place(checked, layer, extent))
        .filter(is_told)
        .take(MAX.max(extents.len()))
        .collect()
}

/// Layers by the name or the label that they have, with or without the directory of devices.
fn called(checked: &Checked, name: &str) -> Vec<LayerId> {
    let short = name.strip_prefix("/dev/").unwrap_or(name);
    let short = short.strip_prefix("mapper/").unwrap_or(short);
    let is = |text: &str| text == name || text == short;
    checked
        .stack
        .iter()
        .filter(|(_, layer)| is(&layer.name) || layer.text(Key::Label).is_some_and(is))
        .map(|(id, _)| id)
        .collect()
}

/// The topmost layers of guests: files inside them where such were asked for, else whatever has nothing on it. When there is
/// no guest, and bytes were asked for, the topmost layers of all.
fn topmost(checked: &Checked) -> Vec<LayerId> {
    let stack = &checked.stack;
    let in_guest = |id: LayerId| {
        stack
            .foundations(id)
            .iter()
            .any(|below| stack.layer(*below).kind == LayerKind::Container)
    };
    let is_guest = |id: LayerId| stack.layer(id).kind == LayerKind::Container || in_guest(id);
    let tops: Vec<LayerId> = stack
        .iter()
        .filter(|(id, _)| stack.above(*id).next().is_none())
        .map(|(id, _)| id)
        .collect();
    let guests: Vec<LayerId> = tops.iter().copied().filter(|id| is_guest(*id)).collect();
    if guests.is_empty() {
        return match checked.asked.extents.as_slice() {
            [] => Vec::new(),
            _ => tops,
        };
    }
    let has_file = |id: &LayerId| {
        let mut layers = stack.foundations(*id);
        layers.push(*id);
        layers
            .iter()
            .any(|below| stack.layer(*below).kind == LayerKind::File && in_guest(*below))
    };
    let files: Vec<LayerId> = guests.iter().copied().filter(has_file).collect();
    if files.is_empty() { guests } else { files }
}

fn place(checked: &Checked, id: LayerId, extent: Extent) -> Place {
    let stack = &checked.stack;
    let path = stack.path_of(id, extent.start());
    let last = path.last().copied().unwrap_or((id, extent.start()));
    let written = stack.written(id, extent);
    Place {
        length: extent.len(),
        ends: ends(checked, last.0, last.1),
        steps: path
            .into_iter()
            .map(|(layer, offset)| Step { layer, offset })
            .collect(),
        written: written.runs,
        gaps: written.gaps.into_iter().map(GapDocument::of).collect(),
    }
}

/// Why the way down ends at a layer that has others below it.
pub(crate) fn ends(checked: &Checked, id: LayerId, at: Bytes) -> Option<&'static str> {
    let layer = checked.stack.layer(id);
    if layer.below.is_empty() {
        // What stands for a file that is missing has neither size nor map.
        let nothing = matches!(&layer.map, Map::Segments(segments) if segments.is_empty());
        let is_lost = layer.kind == LayerKind::File && layer.size.is_none() && nothing;
        return is_lost.then_some("in a file that could not be opened");
    }
    let beyond = layer.size.as_ref().is_some_and(|size| at >= size.value);
    if beyond {
        return Some(Unplaced::Beyond.text());
    }
    let table = match &layer.map {
        Map::Blocks(table) => table,
        Map::Segments(segments) if !segments.is_empty() => {
            return Some(Unplaced::Hole.text());
        }
        _ => return Some(NOWHERE),
    };
    Some(match table.0.locate(at) {
        Ok(Answer::Packed { .. }) => Unplaced::Packed.text(),
        Ok(Answer::Zero { .. }) => Unplaced::Zero.text(),
        Ok(Answer::Absent { .. }) => Unplaced::Absent.text(),
        Ok(Answer::At { .. }) => NOWHERE,
        Err(_) => Unplaced::Unreadable.text(),
    })
}
