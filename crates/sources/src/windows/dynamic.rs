//! Volumes of dynamic disks: Windows tells on which extents of which disks they lie, and the databases on the disks whether these are
//! striped, mirrored or one after the other.

use straddle_geometry::{Bytes, Map};
use straddle_stack::{Layer, LayerId, LayerKind, Stack};

use crate::contents::{is_alike, merge};
use crate::part;

/// Puts every volume that Windows has on the one that a database describes and that begins at one of its extents. What both tell is
/// told once.
pub(super) fn joined(stack: &Stack, volumes: &[String]) -> Stack {
    let mut stack = stack.clone();
    let described: Vec<(LayerId, (LayerId, Bytes))> = tops(&stack).collect();
    let (mut moved, mut dropped) = (Vec::new(), Vec::new());
    for name in volumes {
        let Some(volume) = called(&stack, name) else {
            continue;
        };
        let places = places(&stack, volume);
        let mut described = described.iter();
        let found = described.find(|(_, start)| places.iter().any(|(_, place)| place == start));
        let Some((base, _)) = found else { continue };
        // What Windows told of the extents is in the database.
        dropped.extend(places.iter().map(|(id, _)| *id).filter(|id| *id != volume));
        dropped.extend(told_twice(&mut stack, volume, *base));
        let layer = stack.layer_mut(volume);
        layer.kind = LayerKind::Volume;
        layer.below = vec![*base];
        layer.map = Map::Linear { start: Bytes::ZERO };
        layer.placement = None;
        layer
            .anomalies
            .retain(|anomaly| anomaly.detail != super::volume::HOW_UNKNOWN);
        moved.push(volume);
    }
    if moved.is_empty() {
        return stack;
    }
    // A volume comes behind what it rests on now, and what rests on it behind that.
    let mut late = moved;
    for (id, layer) in stack.iter() {
        if !late.contains(&id) && layer.below.iter().any(|below| late.contains(below)) {
            late.push(id);
        }
    }
    let early = stack.iter().map(|(id, _)| id);
    let early: Vec<LayerId> = early.filter(|id| !late.contains(id)).collect();
    let order = early.into_iter().chain(late);
    let order: Vec<LayerId> = order.filter(|id| !dropped.contains(id)).collect();
    part::of(&stack, &order)
}

/// The disk or volume of a name, which its filesystem has, too.
pub(super) fn called(stack: &Stack, name: &str) -> Option<LayerId> {
    let is_it = |layer: &Layer| {
        use LayerKind::{Device, Partition, Volume};
        layer.name == name && matches!(layer.kind, Device | Partition | Volume)
    };
    let mut all = stack.iter();
    all.find(|(_, layer)| is_it(layer)).map(|(id, _)| id)
}

/// Where a volume lies as Windows tells it: the layers that stand for its extents, with the disk and the place on it.
fn places(stack: &Stack, volume: LayerId) -> Vec<(LayerId, (LayerId, Bytes))> {
    let place = |id: LayerId| {
        let layer = stack.layer(id);
        let start = layer.placement.as_ref()?.value.start();
        Some((id, (*layer.below.first()?, start)))
    };
    let own = std::iter::once(volume);
    let extents = stack.layer(volume).below.iter().copied();
    own.chain(extents).filter_map(place).collect()
}

/// The volumes of databases that nothing else of a database rests on, with the disk and the place at which they begin.
fn tops(stack: &Stack) -> impl Iterator<Item = (LayerId, (LayerId, Bytes))> + '_ {
    let is_of_database = |id: LayerId| stack.layer(id).format.as_deref() == Some("ldm");
    let tops = stack
        .iter()
        .map(|(id, _)| id)
        .filter(move |id| is_of_database(*id) && !stack.above(*id).any(is_of_database));
    tops.filter_map(|id| Some((id, *stack.path_of(id, Bytes::ZERO).last()?)))
}

/// Filesystems on `base` that are on `volume`, too: what was read of them goes there.
fn told_twice(stack: &mut Stack, volume: LayerId, base: LayerId) -> Vec<LayerId> {
    let here: Vec<LayerId> = stack.above(volume).collect();
    let there: Vec<LayerId> = stack.above(base).collect();
    let mut twice = Vec::new();
    for read in there {
        let found = stack.layer(read).clone();
        let same = here
            .iter()
            .find(|id| is_alike(stack.layer(**id), &found) && found.kind == LayerKind::Filesystem);
        if let Some(same) = same {
            merge(stack.layer_mut(*same), &found);
            twice.push(read);
        }
    }
    twice
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_geometry::{Extent, Striping, Unit};
    use straddle_stack::{Anomaly, AnomalyKind, Fact, GridRole, Key, Value};

    fn placed(stack: &mut Stack, name: &str, disk: LayerId, start: u64) -> LayerId {
        let mut layer = Layer::new(LayerKind::Partition, name);
        layer.below = vec![disk];
        let start = Bytes::new(start);
        layer.map = Map::Linear { start };
        let extent = Extent::new(start, Bytes::mib(1)).expect("an extent");
        layer.placement = Some(Fact::derived(extent, "Windows"));
        stack.push(layer)
    }

    fn filesystem(stack: &mut Stack, name: &str, on: LayerId) -> LayerId {
        let mut layer = Layer::new(LayerKind::Filesystem, name);
        layer.format = Some("ntfs".into());
        layer.below = vec![on];
        layer.map = Map::Linear { start: Bytes::ZERO };
        stack.push(layer)
    }

    /// A volume striped over two disks from sector 63 on, as Windows tells of it and as the database has it.
    fn striped() -> (Stack, LayerId) {
        let mut stack = Stack::new();
        let disks =
            ["disk 1", "disk 2"].map(|name| stack.push(Layer::new(LayerKind::Device, name)));
        let parts = disks.map(|disk| placed(&mut stack, "extent of D:", disk, 32_256));
        let mut volume = Layer::new(LayerKind::Volume, "D:");
        volume.below = parts.to_vec();
        let unknown = Anomaly::new(AnomalyKind::Missing, super::super::volume::HOW_UNKNOWN);
        volume.anomalies.push(unknown);
        let volume = stack.push(volume);
        let own = filesystem(&mut stack, "D:", volume);
        let columns = disks.map(|disk| {
            let mut column = Layer::new(LayerKind::Volume, "column");
            column.format = Some("ldm".into());
            column.below = vec![disk];
            column.map = Map::Linear {
                start: Bytes::new(32_256),
            };
            stack.push(column)
        });
        let mut stripes = Layer::new(LayerKind::Array, "Stripe1");
        stripes.format = Some("ldm".into());
        stripes.below = columns.to_vec();
        let unit = Unit::new(65_536).expect("not zero");
        stripes.map = Map::Striped(Striping {
            unit,
            starts: vec![Bytes::ZERO; 2],
        });
        let stripes = stack.push(stripes);
        let read = filesystem(&mut stack, "ntfs", stripes);
        let cluster = Fact::derived(straddle_geometry::Grid::new(Unit::B4096), "its boot sector");
        stack
            .layer_mut(read)
            .add_grid(GridRole::AllocationUnit, cluster);
        let serial = Fact::derived(Value::Bytes(Bytes::new(7)), "its boot sector");
        stack.layer_mut(read).set(Key::MftOffset, serial);
        (stack, own)
    }

    #[test]
    fn a_volume_lies_on_what_the_database_says() {
        let (stack, _) = striped();
        let joined = joined(&stack, &["D:".to_owned()]);
        let names: Vec<&str> = joined.layers().iter().map(|l| l.name.as_str()).collect();
        let expected = [
            "disk 1", "disk 2", "column", "column", "Stripe1", "D:", "D:",
        ];
        assert_eq!(names, expected);
        let filesystem = joined.layers().last().expect("a filesystem");
        assert!(filesystem.grid(GridRole::AllocationUnit).is_some());
        assert!(filesystem.attribute(Key::MftOffset).is_some());
        // The second stripe unit of the volume is the first of the second disk.
        let (id, _) = joined.iter().last().expect("a filesystem");
        let path = joined.path_of(id, Bytes::new(65_536));
        let (disk, at) = *path.last().expect("a place");
        assert_eq!(
            (joined.layer(disk).name.as_str(), at.get()),
            ("disk 2", 32_256)
        );
        assert!(
            joined
                .layers()
                .iter()
                .all(|layer| layer.anomalies.is_empty())
        );
    }

    #[test]
    fn a_volume_that_no_database_has_stays_what_windows_says() {
        let (stack, _) = striped();
        for name in ["E:", "disk 1"] {
            assert_eq!(
                joined(&stack, &[name.to_owned()]).layers().len(),
                stack.layers().len()
            );
        }
        let mut elsewhere = stack.clone();
        let parts: Vec<LayerId> = elsewhere.iter().map(|(id, _)| id).skip(2).take(2).collect();
        for id in parts {
            let extent = Extent::new(Bytes::mib(64), Bytes::mib(1)).expect("an extent");
            elsewhere.layer_mut(id).placement = Some(Fact::derived(extent, "Windows"));
        }
        let same = joined(&elsewhere, &["D:".to_owned()]);
        assert_eq!(same.layers().len(), stack.layers().len());
    }
}
