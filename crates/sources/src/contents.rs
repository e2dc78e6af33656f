//! What lies on the devices of a machine whose system has told of them already: read through the probers, and put beside what the
//! system says.

use std::collections::HashSet;
use std::sync::Arc;
use straddle_io::{ReadAt, Reader, Target};
use straddle_probe::Limits;
use straddle_probe::container::recognise;
use straddle_probe::volume::Member;
use straddle_stack::{Key, Layer, LayerId, LayerKind, Stack};

use crate::guest::{Contents, Ground, Guests};
use crate::metadata::Device;
use crate::{Settings, SourceError};

/// Most layers of a machine.
pub(crate) const MAX_LAYERS: usize = 1 << 14;

/// A machine whose system has told of its devices.
pub(crate) trait Known: Ground {
    /// Adds a layer.
    fn push(&mut self, layer: Layer) -> LayerId;
}

/// What was found on a device.
pub(crate) struct Read {
    /// Members of arrays, volume groups and the like.
    pub(crate) members: Vec<Member>,
    /// Whether it has a partition table that could be read.
    pub(crate) has_table: bool,
    /// The partitions of its tables.
    pub(crate) partitions: Vec<LayerId>,
    /// Its bytes.
    bytes: Arc<dyn ReadAt>,
}

/// Puts together members on which the system has built nothing: arrays that are stopped, volumes that are not open.
pub(crate) fn assemble(known: &mut impl Known, found: Vec<Read>) {
    let left = left_alone(known.stack(), found);
    assemble_all(known, left);
}

/// Puts together all members, whatever the system has built on them.
pub(crate) fn assemble_all(known: &mut impl Known, left: Vec<Read>) {
    let mut guests = Guests::new(known, None);
    for read in left {
        guests.found(read.members, &read.bytes, 0);
    }
    guests.assemble();
}

/// Puts what is in a file of the live machine on its layer: pages of a database, a guest.
///
/// # Errors
/// [`SourceError::GuestFile`] when one of [`Settings::guest_files`] is not found.
pub(crate) fn look_into_file(
    known: &mut impl Known,
    id: LayerId,
    target: Target,
    settings: &Settings,
) -> Result<(), SourceError> {
    // Where it is a disk of this machine, what is inside is known from there.
    if known.stack().above(id).next().is_some() {
        return Ok(());
    }
    let target = Arc::new(target);
    let contents = Contents {
        layer: id,
        bytes: target.clone(),
        file: Some(target),
    };
    Guests::new(known, None)
        .with_files(&settings.guest_files)
        .with_outside(&settings.outside)
        .look_into(&contents)
}

/// Puts what is on a device on its layer. `None` where that is a virtual disk.
pub(crate) fn inspect(known: &mut impl Known, id: LayerId, device: Device) -> Option<Read> {
    let Device { bytes, file } = device;
    let reader = Reader::new(&*bytes);
    // A virtual disk on a bare volume: the system knows nothing of what is in it.
    if known.stack().above(id).next().is_none() && matches!(recognise(&reader, &bytes), Ok(Some(_)))
    {
        let contents = Contents {
            layer: id,
            bytes: Arc::clone(&bytes),
            file,
        };
        // Only a file that was asked for can be missing.
        let _ = Guests::new(known, None).look_into(&contents);
        return None;
    }
    let own = known.stack().layer(id);
    let told = crate::sectors::logical_sector_of(own);
    // What is found goes into a stack of its own first: the system's partitions are there already.
    let mut found = Stack::new();
    let base = found.push(Layer::new(own.kind, own.name.clone()));
    let mut members = straddle_probe::inspect(&mut found, base, &reader, told, Limits::default());
    let ids = graft(known, id, &found, base);
    members.retain_mut(|member| match ids.get(member.layer.index()) {
        Some(Some(id)) => {
            member.layer = *id;
            true
        }
        _ => false,
    });
    let layers = found.iter().zip(&ids);
    let partitions = layers.filter_map(|((_, layer), id)| {
        let is_partition = layer.kind == LayerKind::Partition;
        is_partition.then_some(*id).flatten()
    });
    Some(Read {
        has_table: found.layer(base).text(Key::PartitionTable).is_some(),
        members,
        partitions: partitions.collect(),
        bytes,
    })
}

/// Moves what was found on `base` to `id`. A partition that the system knows too keeps the system's layer and gets
/// the table's facts.
///
/// Gives the layers in this stack of those in the other.
fn graft(
    known: &mut impl Known,
    id: LayerId,
    found: &Stack,
    base: LayerId,
) -> Vec<Option<LayerId>> {
    let mut new_ids = vec![None; found.layers().len()];
    let before = known.stack().layers().len();
    // A member of an array shows what is on the array, and that belongs above the array.
    let held = |stack: &Stack, below| {
        stack
            .above(below)
            .any(|above| above.index() < before && stack.layer(above).kind != LayerKind::Partition)
    };
    for (old, layer) in found.iter() {
        if known.stack().layers().len() >= MAX_LAYERS {
            return new_ids;
        }
        if old == base {
            // What a member says of itself is its own, whatever is above it.
            if !held(known.stack(), id) || layer.attribute(Key::Holds).is_some() {
                merge(known.stack().layer_mut(id), layer);
            }
            new_ids[old.index()] = Some(id);
            continue;
        }
        let below = layer.below.first().and_then(|below| new_ids[below.index()]);
        let Some(below) = below else { continue };
        let stack = known.stack();
        let same = stack.above(below).find(|above| {
            let known = stack.layer(*above);
            let start = |layer: &Layer| layer.placement.as_ref().map(|p| p.value.start());
            known.kind == layer.kind
                && match layer.kind {
                    LayerKind::Partition => start(known).is_some() && start(known) == start(layer),
                    // Mounted, so the system has told of it already.
                    LayerKind::Filesystem => {
                        known.attribute(Key::MountPoint).is_some() || is_alike(known, layer)
                    }
                    _ => false,
                }
        });
        if let Some(same) = same {
            merge(known.stack().layer_mut(same), layer);
            new_ids[old.index()] = Some(same);
            continue;
        }
        if held(known.stack(), below) {
            continue;
        }
        let mut layer = layer.clone();
        layer.below = vec![below];
        new_ids[old.index()] = Some(known.push(layer));
    }
    new_ids
}

pub(crate) fn is_alike(known: &Layer, found: &Layer) -> bool {
    known.format.is_some() && known.format.as_deref() == found.format.as_deref()
}

pub(crate) fn merge(layer: &mut Layer, found: &Layer) {
    for attribute in &found.attributes {
        let known = layer.attribute(attribute.key).is_some();
        // The system numbers partitions as the table does; the rest is news.
        if !(known && attribute.key == Key::PartitionNumber) {
            layer.attributes.push(attribute.clone());
        }
    }
    for grid in &found.grids {
        if layer.grid(grid.role).is_none() {
            layer.grids.push(grid.clone());
        }
    }
    layer.anomalies.extend(found.anomalies.iter().cloned());
}

/// The partition that a whole disk is, so that other systems take it for one in use, is nothing that was built on it.
fn is_built(above: &Layer) -> bool {
    above.kind != LayerKind::Partition || above.attribute(Key::HoldsPartitions).is_none()
}

/// The members of those sets on which the system has built nothing at all. A spare, or a member that was thrown out, has
/// nothing above it either; but the array that it names is there, from its other members.
fn left_alone(stack: &Stack, mut found: Vec<Read>) -> Vec<Read> {
    let set = |member: &Member| (member.format.name, member.set.clone());
    let members = found.iter().flat_map(|read| &read.members);
    let running: HashSet<_> = members
        .filter(|member| {
            stack
                .above(member.layer)
                .any(|id| is_built(stack.layer(id)))
        })
        .map(set)
        .collect();
    for read in &mut found {
        read.members
            .retain(|member| !running.contains(&set(member)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_geometry::Bytes;

    #[test]
    fn a_spare_of_an_array_that_runs_is_no_array_of_its_own() {
        let mut stack = Stack::new();
        let disks =
            ["sda", "sdb", "sdc"].map(|name| stack.push(Layer::new(LayerKind::Device, name)));
        let mut array = Layer::new(LayerKind::Array, "md0");
        array.below = vec![disks[0]];
        stack.push(array);
        let member = |layer, set: &str| Member {
            layer,
            extent: straddle_geometry::Extent::whole(Bytes::mib(1)),
            format: straddle_probe::registry::VOLUMES[0],
            set: set.to_owned(),
            member: format!("{layer:?}"),
            of: Some(2),
        };
        let bytes: Arc<dyn ReadAt> = Arc::new(vec![0_u8; 512]);
        let read = |disk: LayerId, set: &str| Read {
            has_table: false,
            members: vec![member(disk, set)],
            partitions: Vec::new(),
            bytes: Arc::clone(&bytes),
        };
        let found = vec![
            read(disks[0], "runs"),
            read(disks[1], "runs"),
            read(disks[2], "stopped"),
        ];
        let left: Vec<String> = left_alone(&stack, found)
            .into_iter()
            .flat_map(|read| read.members)
            .map(|member| member.set)
            .collect();
        assert_eq!(left, ["stopped"]);
    }
}
