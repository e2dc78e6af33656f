use std::collections::BTreeMap;
use straddle_geometry::{Bytes, Error, Grid};
use straddle_predict::decision;
use straddle_rules::{Code, Context, Finding, RepairKind, Severity};
use straddle_stack::{Key, Layer, LayerId, LayerKind, Stack};

use crate::{Ask, How};

/// What the rules found, for changes to ask about: the highest severity of each rule about each layer.
#[derive(Clone, Debug, Default)]
pub struct Known(BTreeMap<(LayerId, Code), Severity>);

impl Known {
    pub(crate) fn of(findings: &[Finding]) -> Known {
        let mut known = Known::default();
        for Finding {
            layer,
            code,
            severity,
            ..
        } in findings
        {
            let worst = known.0.entry((*layer, *code)).or_insert(*severity);
            *worst = (*worst).max(*severity);
        }
        known
    }

    /// Takes up what was found besides; what is known already stays as it is.
    pub(crate) fn add_new(&mut self, findings: &[Finding]) {
        for (place, severity) in Known::of(findings).0 {
            self.0.entry(place).or_insert(severity);
        }
    }

    /// What was found, and on which layer.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (LayerId, Code)> {
        self.0.keys().copied()
    }
}

/// What a change is proposed for: the stack with all changes below made already, and what was found on it as it is.
pub struct Situation<'a> {
    /// The stack as it will be when the steps so far are done.
    pub stack: &'a Stack,
    /// What the rules see of it.
    pub context: &'a Context<'a>,
    /// What was found on the stack as it is now, and what the steps so far bring about besides.
    pub known: &'a Known,
    /// What the user asked for.
    pub ask: &'a Ask,
}

impl<'a> Situation<'a> {
    /// The highest severity of what was found on `layer` with this code.
    #[must_use]
    pub fn severity(&self, layer: LayerId, code: Code) -> Option<Severity> {
        self.known.0.get(&(layer, code)).copied()
    }

    /// True when this code was found on `layer`.
    #[must_use]
    pub fn found(&self, layer: LayerId, code: Code) -> bool {
        self.known.0.contains_key(&(layer, code))
    }

    /// True when something was found on `layer` that this repairs.
    #[must_use]
    pub fn calls_for(&self, layer: LayerId, repair: RepairKind) -> bool {
        repair.codes().any(|code| self.found(layer, code))
    }

    /// Layers that rest directly on `layer`, in the order of the stack.
    pub fn children(&self, layer: LayerId) -> impl Iterator<Item = (LayerId, &'a Layer)> {
        let stack = self.stack;
        stack.above(layer).map(move |id| (id, stack.layer(id)))
    }

    /// The partitions of `layer`, by their start.
    #[must_use]
    pub fn partitions(&self, layer: LayerId) -> Vec<(LayerId, &'a Layer)> {
        partitions(self.stack, layer)
    }

    /// Where something on `layer` may begin: on all boundaries known there; the second on a multiple of 1 MiB too, which is what
    /// every partitioner makes, where the two have one in common.
    ///
    /// # Errors
    /// When the grids below have no boundary in common.
    pub fn starts(&self, layer: LayerId) -> Result<[Grid; 2], Error> {
        let needed = self.context.start_grid(layer)?;
        let round = Grid::new(straddle_geometry::Unit::MIB);
        Ok([needed, needed.intersect(round).unwrap_or(needed)])
    }

    /// What becomes of data that begin elsewhere on `device`: the tools of Windows and ESXi move nothing, and of a virtual disk a new
    /// file is made.
    #[must_use]
    pub fn how_moved(&self, device: LayerId, bytes: Bytes) -> How {
        if decision::passes(platform(self.stack)) == decision::AWAY_AND_BACK {
            How::Refill { bytes }
        } else if self.stack.layer(device).kind == LayerKind::Container {
            How::Copy {
                bytes: self.size(device).unwrap_or(bytes),
            }
        } else {
            How::Move { bytes }
        }
    }

    /// How long `layer` is.
    #[must_use]
    pub fn size(&self, layer: LayerId) -> Option<Bytes> {
        self.stack.layer(layer).size.as_ref().map(|size| size.value)
    }
}

/// The partitions of `layer`, by their start.
pub(crate) fn partitions(stack: &Stack, layer: LayerId) -> Vec<(LayerId, &Layer)> {
    let children = stack.above(layer).map(|id| (id, stack.layer(id)));
    let mut partitions: Vec<_> = children
        .filter(|(_, layer)| layer.kind == LayerKind::Partition)
        .collect();
    partitions.sort_by_key(|(_, layer)| layer.placement.as_ref().map(|p| p.value.start()));
    partitions
}

/// The system that a stack was captured on, where that is known.
pub(crate) fn platform(stack: &Stack) -> Option<&str> {
    stack
        .iter()
        .find_map(|(_, layer)| layer.text(Key::Platform))
}
