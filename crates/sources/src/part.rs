//! What belongs to one layer of a machine.

use straddle_stack::{LayerId, LayerKind, Stack};

use crate::raid::nowhere;

/// The layers that `id` rests on, `id` itself, and those that rest on it.
pub(crate) fn part_of(stack: &Stack, id: LayerId) -> Stack {
    let mut wanted = vec![false; stack.layers().len()];
    for below in stack.foundations(id) {
        wanted[below.index()] = true;
    }
    wanted[id.index()] = true;
    for (above, layer) in stack.iter() {
        let is_on_it = above > id
            && layer
                .below
                .iter()
                .any(|below| *below >= id && wanted[below.index()]);
        if is_on_it {
            wanted[above.index()] = true;
            // A virtual disk is nothing without the other files that it needs.
            if layer.kind == LayerKind::Container {
                for below in stack.foundations(above) {
                    wanted[below.index()] = true;
                }
            }
        }
    }
    let wanted = stack.iter().filter(|(id, _)| wanted[id.index()]);
    let wanted: Vec<LayerId> = wanted.map(|(id, _)| id).collect();
    of(stack, &wanted)
}

/// These layers, in this order; what one rests on comes before it.
pub(crate) fn of(stack: &Stack, wanted: &[LayerId]) -> Stack {
    let mut out = Stack::new();
    let mut new_ids: Vec<Option<LayerId>> = vec![None; stack.layers().len()];
    for old in wanted {
        let mut layer = stack.layer(*old).clone();
        // What lies above the file may also rest on layers that the file does not; targets keep their numbers.
        let below = layer.below.iter().map(|below| new_ids[below.index()]);
        match below.collect::<Option<Vec<_>>>() {
            Some(below) => layer.below = below,
            None => {
                layer.below = layer
                    .below
                    .iter()
                    .filter_map(|below| new_ids[below.index()])
                    .collect();
                layer.map = nowhere();
            }
        }
        new_ids[old.index()] = Some(out.push(layer));
    }
    out
}
