//! The pieces of which a layer consists, and parts of them.

use straddle_geometry::{Bytes, Extent, Map, Segment};

use crate::Layer;

/// The pieces of `layer` that lie in its `target`-th layer below; a linear map as one piece.
pub(crate) fn segments_of(layer: &Layer, target: usize) -> impl Iterator<Item = Segment> + '_ {
    let linear = match layer.map {
        Map::Linear { start } if target == 0 => {
            let rest = Bytes::MAX.checked_sub(start).unwrap_or(Bytes::ZERO);
            let len = layer
                .size
                .as_ref()
                .map_or(rest, |size| size.value.min(rest));
            Some(Segment {
                upper: Extent::whole(len),
                target: 0,
                lower: start,
            })
        }
        _ => None,
    };
    let segments = match &layer.map {
        Map::Segments(segments) => segments.as_slice(),
        _ => &[],
    };
    linear
        .into_iter()
        .chain(segments.iter().filter(move |s| s.target == target).copied())
}

/// What of `below`, a part of the layer that `segment` leads to, is seen through the segment: its addresses above, and
/// how far into `below` it begins.
pub(crate) fn cut(segment: &Segment, below: Extent) -> Option<(Extent, Bytes)> {
    let reach = Extent::new(segment.lower, segment.upper.len())?;
    let from = below.start().max(reach.start());
    let to = below.end().min(reach.end());
    let len = to.checked_sub(from).filter(|len| *len > Bytes::ZERO)?;
    let upper = segment
        .upper
        .start()
        .checked_add(from.checked_sub(reach.start())?)?;
    Some((Extent::new(upper, len)?, from.checked_sub(below.start())?))
}

/// `extent` up to `end`; `None` when nothing is left.
pub(super) fn clipped(extent: Extent, end: Bytes) -> Option<Extent> {
    let len = extent.end().min(end).checked_sub(extent.start())?;
    Extent::new(extent.start(), len).filter(|extent| !extent.is_empty())
}
