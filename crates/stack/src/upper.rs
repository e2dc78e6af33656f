//! What rests on each layer, kept so that nobody looks through all layers for it.

use std::sync::{Arc, OnceLock};

use crate::{Layer, LayerId};

/// For each layer, those that rest directly on it, in order. It is made when it is first asked for, and follows from the
/// layers: two stacks of the same layers are the same, whether it was made or not. Copies of a stack share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Upper(OnceLock<Arc<Vec<Vec<LayerId>>>>);

impl PartialEq for Upper {
    fn eq(&self, _: &Upper) -> bool {
        true
    }
}

impl Eq for Upper {}

impl Upper {
    /// The layers that rest directly on `id`.
    pub(crate) fn on(&self, id: LayerId, layers: &[Arc<Layer>]) -> &[LayerId] {
        let upper = self.0.get_or_init(|| {
            let mut upper = vec![Vec::new(); layers.len()];
            for (index, layer) in layers.iter().enumerate() {
                enter(&mut upper, LayerId::new(index), layer);
            }
            Arc::new(upper)
        });
        upper.get(id.index()).map_or(&[], Vec::as_slice)
    }

    /// Follows a layer that is put on top.
    pub(crate) fn push(&mut self, id: LayerId, layer: &Layer) {
        if let Some(upper) = self.0.get_mut() {
            let upper = Arc::make_mut(upper);
            upper.push(Vec::new());
            enter(upper, id, layer);
        }
    }

    /// Forgets what was found: a layer may come to rest on others.
    pub(crate) fn forget(&mut self) {
        self.0.take();
    }
}

fn enter(upper: &mut [Vec<LayerId>], id: LayerId, layer: &Layer) {
    for below in &layer.below {
        // A layer may rest on another one several times.
        if let Some(on) = upper.get_mut(below.index())
            && on.last() != Some(&id)
        {
            on.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Layer, LayerId, LayerKind, Stack};

    fn above(stack: &Stack, id: LayerId) -> Vec<LayerId> {
        stack.above(id).collect()
    }

    #[test]
    fn what_rests_on_a_layer_is_known_after_each_change() {
        let over = |below: &[LayerId]| {
            let mut layer = Layer::new(LayerKind::Volume, "v");
            layer.below = below.to_vec();
            layer
        };
        let mut stack = Stack::new();
        let disk = stack.push(over(&[]));
        assert_eq!(above(&stack, disk), []);
        let first = stack.push(over(&[disk, disk]));
        assert_eq!(above(&stack, disk), [first]);
        let second = stack.push(over(&[disk, first]));
        assert_eq!(above(&stack, disk), [first, second]);
        assert_eq!(above(&stack, first), [second]);
        let unasked = stack.clone();
        stack.layer_mut(second).below = vec![disk];
        assert_eq!(above(&stack, first), []);
        assert_eq!(above(&unasked, first), [second]);
        assert_ne!(stack, unasked);
        stack.layer_mut(second).below = vec![disk, first];
        assert_eq!(stack, unasked);
    }

    #[test]
    fn what_a_layer_rests_on_comes_highest_first_and_once() {
        let mut stack = Stack::new();
        let mut push = |below: &[LayerId]| {
            let mut layer = Layer::new(LayerKind::Device, "d");
            layer.below = below.to_vec();
            stack.push(layer)
        };
        let disks = [push(&[]), push(&[])];
        let parts = [push(&[disks[0]]), push(&[disks[1]])];
        let array = push(&[parts[1], parts[0]]);
        let top = push(&[array, disks[0]]);
        assert_eq!(
            stack.foundations(top),
            [array, parts[1], parts[0], disks[1], disks[0]]
        );
        assert_eq!(stack.foundations(disks[1]), []);
    }
}
