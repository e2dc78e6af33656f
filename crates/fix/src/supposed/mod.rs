//! Facts that nobody said and that a verdict may rest on: what each can be, what narrows that, and which command decides.
//!
//! A plan is made for each value that such a fact can have. Where all come to the same verdict, it stands; where they do not,
//! nothing is recommended but to find out.

mod drives;
mod judge;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;
use straddle_geometry::{Bytes, Grid, Unit};
use straddle_rules::{codes, is_array, suitable};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerId, LayerKind, Source, Stack, Trust, Value};

use crate::{How, Plan, Question, Unknown};

pub(crate) use judge::judge;

/// What is not known about the layers that a plan is about.
#[derive(Default)]
struct Open {
    /// Disks whose physical sector is assumed.
    sectors: Vec<LayerId>,
    /// Disks that may be an array of an unknown stripe unit.
    stripes: Vec<LayerId>,
}

impl Open {
    fn of(stack: &Stack, plan: &Plan) -> Open {
        let mut bases: BTreeSet<LayerId> = BTreeSet::new();
        // What no script does is not what is decided on, unless there is nothing else.
        let by_hand = plan.steps.iter().all(|step| step.how == How::ByHand);
        let steps = plan.steps.iter();
        for step in steps.filter(|step| by_hand || step.how != How::ByHand) {
            bases.insert(step.layer);
            bases.extend(stack.foundations(step.layer));
        }
        let roots = bases.iter().copied().filter(|id| {
            let layer = stack.layer(*id);
            layer.below.is_empty()
        });
        let sectors = roots.filter(|id| is_assumed(stack.layer(*id)));
        // STR203 is the rule that speaks of arrays which may lie below.
        let hidden = plan
            .found
            .iter()
            .filter(|finding| finding.0 == codes::STRIPE_UNIT_UNKNOWN);
        let stripes: BTreeSet<LayerId> = hidden
            .filter_map(|(_, layer, _)| root_of(stack, *layer))
            .filter(|root| bases.contains(root))
            .collect();
        Open {
            sectors: sectors.collect(),
            stripes: stripes.into_iter().collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.sectors.is_empty() && self.stripes.is_empty()
    }
}

/// What lies at the bottom, where that is one disk.
fn root_of(stack: &Stack, layer: LayerId) -> Option<LayerId> {
    let mut here = layer;
    while let Some(below) = stack.only_below(here) {
        here = below;
    }
    stack.layer(here).below.is_empty().then_some(here)
}

/// Whether the physical sector of a disk is only assumed, and could be another: it is no smaller than the logical one.
fn is_assumed(layer: &Layer) -> bool {
    let logical = layer.grid(GridRole::LogicalSector);
    let is_small = logical.is_none_or(|grid| grid.value.unit() < Unit::B4096);
    layer.grid(GridRole::PhysicalSector).is_some_and(|grid| {
        grid.trust == Trust::Assumed && matches!(grid.source, Source::Assumption { .. }) && is_small
    })
}

/// Puts a physical sector in the place of those that are assumed: what a profile says, or a model.
pub fn settle(stack: &mut Stack, sector: Unit, from: &str) {
    let assumed: Vec<LayerId> = stack
        .roots()
        .filter(|id| is_assumed(stack.layer(*id)))
        .collect();
    for id in assumed {
        put(
            stack.layer_mut(id),
            GridRole::PhysicalSector,
            Fact::derived(Grid::new(sector), from),
        );
    }
}

/// The stack with what the models of its drives say in the place of what was assumed.
pub(crate) fn by_models(stack: &Stack) -> Cow<'_, Stack> {
    let mut out = Cow::Borrowed(stack);
    for id in stack.roots() {
        let layer = stack.layer(id);
        let known = layer.text(Key::Model).and_then(drives::sector_of);
        let Some((sector, source)) = known.filter(|_| is_assumed(layer) && !is_array(layer)) else {
            continue;
        };
        let from = format!("its model: {source}");
        let fact = Fact::derived(Grid::new(sector), from);
        put(out.to_mut().layer_mut(id), GridRole::PhysicalSector, fact);
    }
    out
}

/// A grid in the place of the one that has this role.
fn put(layer: &mut Layer, role: GridRole, grid: Fact<Grid>) {
    match layer.grids.iter_mut().find(|grid| grid.role == role) {
        Some(known) => known.grid = grid,
        None => layer.add_grid(role, grid),
    }
}

/// The stack as it is when these are the sectors and the stripe units; 0 for no array.
fn supposed(stack: &Stack, open: &Open, sector: Option<Unit>, stripe: Option<Bytes>) -> Stack {
    let mut stack = stack.clone();
    for id in open.sectors.iter().filter(|_| sector.is_some()) {
        let layer = stack.layer_mut(*id);
        let sector = sector.unwrap_or(Unit::B4096);
        put(
            layer,
            GridRole::PhysicalSector,
            Fact::assumed(Grid::new(sector), "supposed"),
        );
    }
    for id in open.stripes.iter().filter(|_| stripe.is_some()) {
        let layer = stack.layer_mut(*id);
        match stripe.and_then(|stripe| Unit::try_from(stripe).ok()) {
            Some(unit) => put(
                layer,
                GridRole::StripeUnit,
                Fact::assumed(Grid::new(unit), "supposed"),
            ),
            // As if one disk were all that is below.
            None => layer.set(Key::Members, Fact::assumed(Value::Count(1), "supposed")),
        }
    }
    stack
}

/// What is to be found out about these disks.
fn question(stack: &Stack, unknown: Unknown, disks: &[LayerId]) -> Question {
    let mut evidence: BTreeSet<String> = BTreeSet::new();
    let mut commands: Vec<String> = Vec::new();
    // One disk of a machine tells it of all.
    let is_old = stack
        .iter()
        .any(|(_, layer)| layer.text(Key::SystemGeneration).is_some());
    for id in disks {
        let layer = stack.layer(*id);
        if unknown == Unknown::PhysicalSector {
            evidence.extend(about_sector(layer, is_old));
        }
        for command in commands_for(layer, unknown, is_old) {
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
    }
    Question {
        unknown,
        of: disks
            .iter()
            .map(|id| stack.layer(*id).name.clone())
            .collect(),
        evidence: evidence.into_iter().collect(),
        commands,
        flag: unknown.flag(),
    }
}

/// What speaks for one sector or another.
fn about_sector(layer: &Layer, is_old: bool) -> Vec<String> {
    let mut out = Vec::new();
    if is_array(layer) {
        out.push(
            "a RAID controller stands between: what the system reports is the controller's answer, and its own tool shows the drives'"
                .to_owned(),
        );
    } else if is_virtual(layer) {
        out.push(
            "it is a virtual disk: the sectors are those of the host's storage, which the host shows"
                .to_owned(),
        );
    }
    if is_old {
        out.push(
            "the system is Windows before Vista, for which no drive of 4,096-byte physical sectors is supported: 512 is the likelier"
                .to_owned(),
        );
    }
    if out.is_empty() {
        out.push(
            "drives of 4,096-byte physical sectors are sold since 2009, and drives of 512 to servers to this day".to_owned(),
        );
    }
    out
}

fn is_virtual(layer: &Layer) -> bool {
    let model = layer.text(Key::Model).unwrap_or_default().to_uppercase();
    let names = [
        "VMWARE", "VIRTUAL", "QEMU", "VBOX", "XENSRC", "PVDISK", "VIRTIO",
    ];
    layer.text(Key::Transport) == Some("virtio") || names.iter().any(|name| model.contains(name))
}

/// The commands that decide.
fn commands_for(layer: &Layer, unknown: Unknown, is_old: bool) -> Vec<String> {
    let platform = layer.text(Key::Platform).unwrap_or_default();
    let model = layer.text(Key::Model).unwrap_or_default();
    let asks_controller = is_array(layer) && unknown == Unknown::PhysicalSector;
    let platform = match asks_controller {
        true => "raid",
        false => platform,
    };
    // What needs a later system than the one that spoke is of no use there.
    let runs = |systems: &str| {
        !is_old || !systems.starts_with("Windows 7") && !systems.starts_with("Windows 8")
    };
    let known = suitable(unknown.lack(), platform, model);
    let known = known.iter().filter(|supply| runs(supply.systems));
    let mut out: Vec<String> = known
        .map(|supply| format!("{} ({})", supply.command, supply.systems))
        .collect();
    if !out.is_empty() {
        return out;
    }
    out.push(match unknown {
        Unknown::PhysicalSector if is_old => {
            "wmic diskdrive get Model (Windows XP, Server 2003 and later): the data sheet of that drive says 512n or 512e"
                .to_owned()
        }
        Unknown::PhysicalSector if layer.kind == LayerKind::File => {
            "where the file lies: blockdev --getpbsz DEVICE (Linux), fsutil fsinfo ntfsinfo C: (Windows)".to_owned()
        }
        Unknown::PhysicalSector => {
            "where the disk is: blockdev --getpbsz DEVICE (Linux), fsutil fsinfo ntfsinfo C: (Windows)".to_owned()
        }
        Unknown::StripeUnit => {
            "the tool of the array or of the SAN that the disk is a volume of; a disk by itself has none".to_owned()
        }
    });
    out
}
