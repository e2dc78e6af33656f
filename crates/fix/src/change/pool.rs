//! A ZFS pool is re-created with another ashift: its vdevs keep theirs for life, also when disks are replaced.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Grid, Unit, both_ways};
use straddle_rules::RepairKind;
use straddle_stack::{Fact, GridRole, Key, LayerId, LayerKind, Stack};

use super::kind::{Kind, Proposal};
use crate::{How, Situation};

pub(super) static KIND: Kind<Pool> = Kind {
    name: "pool",
    title: "ashift of a ZFS pool that is re-created",
    repair: RepairKind::Pool,
    propose,
};

/// A pool that is re-created.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Pool {
    /// What it allocates from.
    pub layer: LayerId,
    /// What it is called.
    pub name: String,
    /// What it allocates at once now.
    pub from: Bytes,
    /// The power of two of what it will allocate at once.
    pub ashift: u32,
    /// Its groups of disks.
    pub vdevs: Vec<Vdev>,
}

/// A group of disks of a pool.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Vdev {
    /// The array; `None` for a disk by itself.
    pub array: Option<LayerId>,
    /// `mirror`, `raidz1`; empty for a disk by itself.
    pub kind: String,
    /// Its disks.
    pub members: Vec<LayerId>,
}

fn propose(situation: &Situation<'_>, id: LayerId) -> Option<Proposal<Pool>> {
    let stack = situation.stack;
    let layer = stack.layer(id);
    if layer.format.as_deref() != Some("zfs") || !situation.calls_for(id, KIND.repair) {
        return None;
    }
    // Captured text calls the pool by its name alone.
    let name = layer.text(Key::Pool).unwrap_or(&layer.name).to_owned();
    let from = layer.grid(GridRole::AllocationUnit)?.value.unit();
    let mut blockers = Vec::new();
    let mut vdevs = Vec::new();
    for below in &layer.below {
        let group = stack.layer(*below);
        let kind = group
            .name
            .strip_prefix(&name)
            .and_then(|rest| rest.strip_prefix('/'))
            .filter(|_| group.kind == LayerKind::Array);
        let kind = kind.and_then(|rest| rest.split('-').next());
        let vdev = match kind {
            None => Vdev {
                array: None,
                kind: String::new(),
                members: vec![*below],
            },
            Some(kind) => {
                if !matches!(kind, "mirror" | "raidz1" | "raidz2" | "raidz3") {
                    blockers.push(format!(
                        "{} is not whole: let that be finished first",
                        group.name
                    ));
                }
                Vdev {
                    array: Some(*below),
                    kind: kind.to_owned(),
                    members: group.below.clone(),
                }
            }
        };
        vdevs.push(vdev);
    }
    let logs = stack.layers().iter().any(|other| {
        other.format.as_deref() == Some("zfs-log") && other.text(Key::Pool) == Some(&name)
    });
    if logs {
        blockers.push("it has a log device: take it away first (zpool remove), and add it again with the new ashift".to_owned());
    }
    let members = || vdevs.iter().flat_map(|vdev| &vdev.members);
    let roles = [GridRole::PhysicalSector, GridRole::IndirectionUnit];
    let units = members().flat_map(|member| {
        let grids = roles
            .into_iter()
            .flat_map(|role| situation.context.below(*member, role));
        let own = stack.layer(*member);
        let own = roles
            .into_iter()
            .filter_map(|role| own.grid(role).map(|grid| grid.value.unit()));
        own.chain(grids.map(|grid| grid.fact.value.unit()))
            .collect::<Vec<_>>()
    });
    let largest = units.max().unwrap_or(Unit::B4096).max(Unit::B4096);
    // ZFS caps it at 16.
    let ashift = largest.get().next_power_of_two().trailing_zeros().min(16);
    let size = members()
        .filter_map(|member| situation.size(*member))
        .fold(Bytes::ZERO, |sum, size| {
            sum.checked_add(size).unwrap_or(Bytes::MAX)
        });
    Some(Proposal {
        title: format!("make the pool {name} again with ashift={ashift}"),
        how: How::Restore {
            bytes: situation.size(id).unwrap_or(size),
        },
        arithmetic: vec![format!(
            "2^{ashift} = {}, the largest sector of its disks (was {})",
            both_ways(Bytes::new(1 << ashift)),
            both_ways(from.bytes())
        )],
        notes: vec![
            "zpool replace and zpool attach keep the old ashift. With other disks at hand: zpool create -o ashift=… NEW …, zfs snapshot -r, \
             zfs send -R | zfs receive -F -d NEW; then nothing is destroyed before the copy was looked at. Otherwise the stream is kept in a file, \
             and the pool is re-created on its own disks; zpool properties, spares and caches must be set again"
                .to_owned(),
        ],
        blockers,
        change: Pool {
            layer: id,
            name,
            from: from.bytes(),
            ashift,
            vdevs,
        },
    })
}

impl Pool {
    /// Its disks.
    #[must_use]
    pub fn members(&self) -> Vec<LayerId> {
        let members = self.vdevs.iter().flat_map(|vdev| &vdev.members);
        members.copied().collect()
    }

    pub(super) fn apply(&self, stack: &mut Stack) {
        let Ok(unit) = Unit::try_from(Bytes::new(1 << self.ashift)) else {
            return;
        };
        let arrays = self.vdevs.iter().filter_map(|vdev| vdev.array);
        let changed = arrays.map(|array| (array, GridRole::StripeUnit));
        for (id, role) in changed.chain([(self.layer, GridRole::AllocationUnit)]) {
            let layer = stack.layer_mut(id);
            for grid in layer.grids.iter_mut().filter(|grid| grid.role == role) {
                grid.grid = Fact::derived(Grid::new(unit), "planned");
            }
        }
    }
}
