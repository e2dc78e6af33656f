use schemars::JsonSchema;
use std::collections::BinaryHeap;
use std::sync::Arc;
use straddle_geometry::Bytes;

use crate::upper::Upper;
use crate::{Layer, LayerId};

/// A storage stack: layers, each above those it rests on.
///
/// A layer's `below` names only layers with smaller indices, so there are no cycles and one pass from the front visits
/// everything below a layer before the layer itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Stack {
    /// Shared between copies of a stack until one of them changes a layer: plans are made by trying changes on copies.
    layers: Vec<Arc<Layer>>,
    #[serde(skip)]
    upper: Upper,
}

impl Stack {
    /// An empty stack.
    #[must_use]
    pub fn new() -> Stack {
        Stack::default()
    }

    /// Puts a layer on top of layers that are already there.
    ///
    /// References to layers that do not exist yet are dropped: they could only make a cycle.
    pub fn push(&mut self, mut layer: Layer) -> LayerId {
        let id = LayerId::new(self.layers.len());
        layer.below.retain(|below| *below < id);
        self.upper.push(id, &layer);
        self.layers.push(Arc::new(layer));
        id
    }

    /// All layers, lowest first.
    #[must_use]
    pub fn layers(&self) -> &[Arc<Layer>] {
        &self.layers
    }

    /// All layers with their names.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (LayerId, &Layer)> + Clone {
        self.layers
            .iter()
            .enumerate()
            .map(|(index, layer)| (LayerId::new(index), layer.as_ref()))
    }

    /// The layer named `id`.
    ///
    /// # Panics
    /// When `id` belongs to another stack.
    #[must_use]
    pub fn layer(&self, id: LayerId) -> &Layer {
        &self.layers[id.index()]
    }

    /// The layer named `id`, to add what is learnt later. Its `below` must not be given layers above it.
    ///
    /// # Panics
    /// When `id` belongs to another stack.
    pub fn layer_mut(&mut self, id: LayerId) -> &mut Layer {
        self.upper.forget();
        Arc::make_mut(&mut self.layers[id.index()])
    }

    /// The layers that rest directly on `id`, in order.
    pub fn above(&self, id: LayerId) -> impl Iterator<Item = LayerId> {
        self.upper.on(id, &self.layers).iter().copied()
    }

    /// The layers that rest on nothing: devices and images.
    pub fn roots(&self) -> impl Iterator<Item = LayerId> {
        self.iter()
            .filter(|(_, layer)| layer.below.is_empty())
            .map(|(id, _)| id)
    }

    /// The layer directly below, when there is exactly one.
    #[must_use]
    pub fn only_below(&self, id: LayerId) -> Option<LayerId> {
        match self.layer(id).below.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// True when `id` rests, directly or not, on `base`, or is it.
    #[must_use]
    pub fn rests_on(&self, id: LayerId, base: LayerId) -> bool {
        id == base || self.foundations(id).contains(&base)
    }

    /// Every layer that `id` rests on, directly or not, highest first; without `id`.
    #[must_use]
    pub fn foundations(&self, id: LayerId) -> Vec<LayerId> {
        let mut found = Vec::new();
        let mut next: BinaryHeap<LayerId> = self.layer(id).below.iter().copied().collect();
        while let Some(highest) = next.pop() {
            // What rests on it is higher, so that whatever leads to it was seen already.
            if found.last() != Some(&highest) {
                found.push(highest);
                next.extend(&self.layer(highest).below);
            }
        }
        found
    }

    /// Where byte `offset` of `id` lies, in `id` itself and in each layer below it, highest first; it ends early where the
    /// byte has no place below.
    #[must_use]
    pub fn path_of(&self, id: LayerId, offset: Bytes) -> Vec<(LayerId, Bytes)> {
        let mut path = vec![(id, offset)];
        let (mut here, mut at) = (id, offset);
        while let Some(location) = self.layer(here).map.locate(at) {
            let Some(below) = self.layer(here).below.get(location.target) else {
                break;
            };
            (here, at) = (*below, location.offset);
            path.push((here, at));
        }
        path
    }

    /// Where address 0 of `id` lies in `base`, when one linear path leads there.
    #[must_use]
    pub fn start_in(&self, id: LayerId, base: LayerId) -> Option<Bytes> {
        let mut at = Bytes::ZERO;
        let mut here = id;
        while here != base {
            let layer = self.layer(here);
            let location = layer.map.locate(at)?;
            at = location.offset;
            here = *layer.below.get(location.target)?;
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LayerKind;
    use straddle_geometry::Map;

    #[test]
    fn a_layer_cannot_rest_on_one_that_comes_later() {
        let mut stack = Stack::new();
        let mut layer = Layer::new(LayerKind::Device, "sda");
        layer.below = vec![LayerId::new(0), LayerId::new(7)];
        let id = stack.push(layer);
        assert!(stack.layer(id).below.is_empty());
    }

    #[test]
    fn starts_add_up_along_the_path() {
        let mut stack = Stack::new();
        let disk = stack.push(Layer::new(LayerKind::Device, "sda"));
        let mut place = |below, start| {
            let mut layer = Layer::new(LayerKind::Partition, "p");
            layer.below = vec![below];
            layer.map = Map::Linear {
                start: Bytes::new(start),
            };
            stack.push(layer)
        };
        let outer = place(disk, 32_256);
        let inner = place(outer, 512);
        assert_eq!(stack.start_in(inner, disk), Some(Bytes::new(32_768)));
        assert_eq!(stack.foundations(inner), [outer, disk]);
        assert!(stack.rests_on(inner, disk) && !stack.rests_on(disk, inner));
    }
}
