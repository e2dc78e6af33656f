//! From a guest's page to the host's sector: where one byte lies in every layer.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Map, Place as Answer};
use straddle_stack::{LayerId, LayerKind};

use crate::Checked;

/// Said of a layer that rests on others when it is not known where.
const NOWHERE: &str = "no place below is known";
/// Most layers of one target whose ways down are told.
const MOST: usize = 64;

/// Where a byte of a layer lies in it and in every layer below, highest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Place {
    /// The steps; the first is the layer itself.
    pub steps: Vec<Step>,
    /// Why it ends before the bottom, where it does.
    pub ends: Option<&'static str>,
}

/// A layer on the way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    /// Index into the stack.
    pub layer: LayerId,
    /// The byte, in the addresses of that layer.
    pub offset: Bytes,
}

/// The ways down from the topmost layers of guests: files inside them where such were asked for, else whatever has
/// nothing on it.
pub(crate) fn places(checked: &Checked) -> Vec<Place> {
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
        .filter(|(id, _)| stack.above(*id).next().is_none() && is_guest(*id))
        .map(|(id, _)| id)
        .collect();
    let has_file = |id: &LayerId| {
        let mut layers = stack.foundations(*id);
        layers.push(*id);
        layers
            .iter()
            .any(|below| stack.layer(*below).kind == LayerKind::File && in_guest(*below))
    };
    let files: Vec<LayerId> = tops.iter().copied().filter(has_file).collect();
    let chosen = if files.is_empty() { tops } else { files };
    // One that leads nowhere and has a reason for it is an answer too; a disk that could not be followed has none.
    let is_told =
        |place: &Place| place.steps.len() > 1 || place.ends.is_some_and(|why| why != NOWHERE);
    let place = |id| Some(place(checked, id)).filter(is_told);
    chosen.into_iter().take(MOST).filter_map(place).collect()
}

fn place(checked: &Checked, id: LayerId) -> Place {
    let stack = &checked.stack;
    let path = stack.path_of(id, checked.at);
    let last = path.last().copied().unwrap_or((id, checked.at));
    Place {
        ends: ends(checked, last.0, last.1),
        steps: path
            .into_iter()
            .map(|(layer, offset)| Step { layer, offset })
            .collect(),
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
        return Some("beyond the end");
    }
    let table = match &layer.map {
        Map::Blocks(table) => table,
        Map::Segments(segments) if !segments.is_empty() => {
            return Some("in a hole of the file, or not yet written out");
        }
        _ => return Some(NOWHERE),
    };
    Some(match table.0.locate(at) {
        Ok(Answer::Packed { .. }) => "compressed with its neighbours",
        Ok(Answer::Zero { .. }) => "recorded as zeroes",
        Ok(Answer::Absent { .. }) => "not allocated",
        Ok(Answer::At { .. }) => NOWHERE,
        Err(_) => "its entry in the block table cannot be read",
    })
}
