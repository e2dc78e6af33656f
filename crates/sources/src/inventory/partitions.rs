//! Partitions that different tools number differently are known again by where they start.

use std::collections::BTreeMap;
use straddle_geometry::Bytes;
use straddle_stack::{
    Anomaly, AnomalyKind, Attribute, GridFact, GridRole, Interval, Key, LayerKind, Trust, Value,
};

use super::groups::Groups;
use super::relation::{has_name_in, is_bare_volume};
use super::{Name, Space, Thing};

/// Joins partitions that start at the same place of one disk, volumes of RAID controllers with the disks that the system
/// sees, and filesystems with the partitions that they fill.
pub(super) fn join(groups: &mut Groups) {
    raid_volumes(groups);
    count_in_sectors(groups);
    for of_one_disk in by_disk(groups).into_values() {
        by_start(groups, &of_one_disk);
        by_number(groups, &of_one_disk);
    }
    by_volume_size(groups);
    by_filesystem_size(groups);
}

/// Starts and sizes that a tool counted in sectors without saying how large: taken for 512 bytes, they are corrected when
/// something else says what the disk's logical sector is. When nothing does, and it matters, that is remarked.
fn count_in_sectors(groups: &mut Groups) {
    for ((disk, _), partitions) in by_disk(groups) {
        let Some(disk) = disk else { continue };
        let unclear = |index: &usize| {
            let start = groups.things[*index].as_ref()?.start.as_ref()?;
            (start.trust == Trust::Assumed).then(|| start.clone())
        };
        let first = partitions
            .iter()
            .filter_map(unclear)
            .min_by_key(|fact| fact.value.from());
        let Some(first) = first else { continue };
        let Some(thing) = groups.things[disk].as_mut() else {
            continue;
        };
        let sector = thing
            .grids
            .iter()
            .find(|grid| grid.role == GridRole::LogicalSector)
            .map(|grid| grid.grid.value.unit().get());
        match sector {
            None => {
                // The usual first start, 1 MiB, in sectors of 4,096 bytes.
                if first.value == Interval::exact(Bytes::kib(128)) {
                    thing.remarks.push(Anomaly::at(
                        AnomalyKind::UnitUnclear,
                        "starts are counted in sectors of a size that is not said: 512 bytes are assumed, but the first, 256, is 1 MiB \
                         in sectors of 4,096",
                        first.source,
                    ));
                }
            }
            Some(512) => {}
            Some(sector) => {
                for index in partitions {
                    let Some(thing) = groups.things[index].as_mut() else {
                        continue;
                    };
                    for fact in [&mut thing.start, &mut thing.size].into_iter().flatten() {
                        if fact.trust == Trust::Assumed
                            && let Some(bytes) = fact.value.from().get().checked_mul(sector / 512)
                        {
                            fact.value = Interval::exact(Bytes::new(bytes));
                            fact.trust = Trust::Reported;
                        }
                    }
                }
            }
        }
    }
}

/// Partitions by the disk they lie on, or by what it is called when nothing describes it.
pub(super) fn by_disk(groups: &Groups) -> BTreeMap<(Option<usize>, Option<Name>), Vec<usize>> {
    let mut found: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, thing) in groups.things.iter().enumerate() {
        let Some(thing) = thing else { continue };
        if thing.kind == LayerKind::Partition
            && let [name] = thing.on.as_slice()
        {
            let disk = groups.find(name, thing.file);
            let name = disk.is_none().then(|| name.clone());
            found.entry((disk, name)).or_default().push(index);
        }
    }
    found
}

fn meet(a: Option<&Interval>, b: Option<&Interval>) -> Option<bool> {
    Some(a?.intersect(b?).is_some())
}

fn start(thing: &Thing) -> Option<&Interval> {
    thing.start.as_ref().map(|fact| &fact.value)
}

fn size(thing: &Thing) -> Option<&Interval> {
    thing.size.as_ref().map(|fact| &fact.value)
}

/// Most partitions that one is compared with. Real ones lie side by side; only a forged list has more at one place.
const MAX_NEIGHBOURS: usize = 64;

/// Two tools' partitions are one when their starts agree and no other one's does.
fn by_start(groups: &mut Groups, partitions: &[usize]) {
    // An exact start belongs to one partition; a rounded one may be that of several.
    let mut exact: BTreeMap<Bytes, Vec<usize>> = BTreeMap::new();
    for index in partitions {
        let thing = groups.things[*index].as_ref();
        if let Some(start) = thing.and_then(start).and_then(Interval::known) {
            exact.entry(start).or_default().push(*index);
        }
    }
    for of_one_start in exact.values() {
        for (at, first) in of_one_start.iter().enumerate() {
            for second in of_one_start[at + 1..].iter().take(MAX_NEIGHBOURS) {
                if agree(groups, *first, *second) {
                    groups.unite(*first, *second);
                }
            }
        }
    }
    let mut by_place: Vec<(Interval, usize)> = partitions
        .iter()
        .filter_map(|index| Some((*start(groups.things[*index].as_ref()?)?, *index)))
        .collect();
    by_place.sort_by_key(|(start, index)| (start.from(), start.to(), *index));
    for (at, (place, first)) in by_place.iter().enumerate() {
        let overlaps = |(other, _): &&(Interval, usize)| other.intersect(place).is_some();
        let before = by_place[..at].iter().rev().take(MAX_NEIGHBOURS);
        let behind = by_place[at + 1..].iter().take(MAX_NEIGHBOURS);
        let mut candidates = before
            .chain(behind)
            .filter(overlaps)
            .map(|(_, index)| *index)
            .filter(|second| agree(groups, *first, *second));
        if let (Some(only), None) = (candidates.next(), candidates.next()) {
            let (into, from) = (*first.min(&only), *first.max(&only));
            groups.unite(into, from);
        }
    }
}

/// True for two partitions that can be one by all that is said of them.
fn agree(groups: &Groups, first: usize, second: usize) -> bool {
    let (Some(a), Some(b)) = (&groups.things[first], &groups.things[second]) else {
        return false;
    };
    !numbered_apart(a, b)
        && meet(start(a), start(b)) == Some(true)
        && meet(size(a), size(b)) != Some(false)
}

/// True when one numbering gives them different numbers. Nodes are named after the disk: by another name of it, they are others.
fn numbered_apart(a: &Thing, b: &Thing) -> bool {
    let by_one_name = a.on.iter().any(|name| b.on.contains(name));
    let spaces = [Space::WindowsPartition, Space::WmiPartition, Space::Device];
    spaces
        .into_iter()
        .filter(|space| *space != Space::Device || by_one_name)
        .any(|space| {
            let of = |thing: &'_ Thing| -> bool {
                let mut names = thing.names.iter();
                names.any(|name| name.space == space)
            };
            let mut shared = a.names.iter().filter(|name| name.space == space);
            of(a) && of(b) && !shared.any(|name| b.names.contains(name))
        })
}

/// WMI counts from 0 where DiskPart counts from 1: two of one size under one number are the same, wherever they are said
/// to start, and so are two that are largely in one place. What they differ in is then the contradiction.
fn by_number(groups: &mut Groups, partitions: &[usize]) {
    let mut numbered: BTreeMap<u64, usize> = BTreeMap::new();
    for index in partitions {
        let thing = groups.things[*index].as_ref();
        if let Some(number) = thing.and_then(|thing| number(thing, Space::WindowsPartition)) {
            numbered.entry(number).or_insert(*index);
        }
    }
    for first in partitions {
        let thing = groups.things[*first].as_ref();
        let wmi = thing.and_then(|thing| number(thing, Space::WmiPartition));
        let windows = wmi.and_then(|wmi| wmi.checked_add(1));
        let Some(second) = windows.and_then(|number| numbered.get(&number)) else {
            continue;
        };
        let (Some(a), Some(b)) = (&groups.things[*first], &groups.things[*second]) else {
            continue;
        };
        let one = meet(size(a), size(b)) == Some(true) || largely_one(a, b);
        if !numbered_apart(a, b) && one {
            groups.unite(*first, *second);
        }
    }
}

/// True when more than half of each lies in the other.
fn largely_one(a: &Thing, b: &Thing) -> bool {
    let place = |thing: &Thing| {
        let from = start(thing)?.known()?.get();
        let len = size(thing)?.known()?.get();
        Some((from, from.checked_add(len)?, len))
    };
    let (Some((from, to, len)), Some((other_from, other_to, other_len))) = (place(a), place(b))
    else {
        return false;
    };
    let common = to.min(other_to).saturating_sub(from.max(other_from));
    common > len.max(other_len) / 2
}

fn number(thing: &Thing, space: Space) -> Option<u64> {
    let name = thing.names.iter().find(|name| name.space == space)?;
    name.text.rsplit('/').next()?.parse().ok()
}

/// A volume of which only the size was said is the one partition of that size that no other volume is said to be, if both
/// are the only ones.
fn by_volume_size(groups: &mut Groups) {
    let named = |thing: &Thing| {
        has_name_in(thing, Space::WindowsVolume) || has_name_in(thing, Space::WindowsVolumeNumber)
    };
    let mut volumes: Vec<usize> = Vec::new();
    let mut partitions: Vec<usize> = Vec::new();
    for (index, thing) in groups.things.iter().enumerate() {
        let Some(thing) = thing.as_ref().filter(|thing| {
            thing.kind == LayerKind::Partition && thing.size.is_some() && !holds_partitions(thing)
        }) else {
            continue;
        };
        if is_bare_volume(thing) {
            volumes.push(index);
        } else if !named(thing) && thing.on.len() == 1 {
            partitions.push(index);
        }
    }
    let alike = |groups: &Groups, a: usize, b: usize| {
        let (Some(a), Some(b)) = (&groups.things[a], &groups.things[b]) else {
            return false;
        };
        let disk = |thing: &Thing| groups.find(thing.on.first()?, thing.file);
        let unknown = |thing: &Thing| {
            let mut on = thing.on.iter();
            on.all(|name| name.space == Space::WindowsVolumeDisk)
        };
        let one_disk = unknown(a) || disk(a) == disk(b);
        one_disk && meet(size(a), size(b)) == Some(true)
    };
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for volume in &volumes {
        let fitting: Vec<usize> = partitions
            .iter()
            .copied()
            .filter(|partition| alike(groups, *volume, *partition))
            .collect();
        let [only] = fitting.as_slice() else { continue };
        let rivals = volumes.iter().filter(|other| alike(groups, **other, *only));
        if rivals.count() == 1 {
            pairs.push((*only, *volume));
        }
    }
    for (partition, volume) in pairs {
        groups.unite(partition, volume);
        if let Some(thing) = groups.things[partition].as_mut() {
            thing.remarks.push(Anomaly::new(
                AnomalyKind::Missing,
                "nothing says which volume it is; it is taken for the only one of its size",
            ));
        }
    }
}

fn holds_partitions(thing: &Thing) -> bool {
    let mut keys = thing.attributes.iter().map(|attribute| attribute.key);
    keys.any(|key| key == Key::HoldsPartitions)
}

/// A filesystem on a volume of which nothing says where it is fills the one partition of its size, if there is one.
fn by_filesystem_size(groups: &mut Groups) {
    // NTFS leaves the last sector of its partition to the copy of its boot sector, and what remains of a last cluster.
    const LEFT: u64 = 4096;
    for index in 0..groups.things.len() {
        let Some(thing) = &groups.things[index] else {
            continue;
        };
        let volume = match thing.on.as_slice() {
            [] => None,
            [on] => groups.find(on, thing.file),
            _ => continue,
        };
        // A volume of which only the letter is known is no place yet.
        let is_placed = |index: usize| {
            let thing = groups.things[index].as_ref();
            thing.is_none_or(|thing| !is_bare_volume(thing))
        };
        if thing.kind != LayerKind::Filesystem || volume.is_some_and(is_placed) {
            continue;
        }
        let claimed = || {
            let mut keys = thing.attributes.iter();
            let claimed = keys.find(|attribute| attribute.key == Key::ClaimedSize)?;
            match claimed.value.value {
                Value::Bytes(length) => Some(Interval::exact(length)),
                _ => None,
            }
        };
        let Some(length) = size(thing).copied().or_else(claimed) else {
            continue;
        };
        let units = thing.grids.iter();
        let unit = units
            .filter(|grid| grid.role == GridRole::AllocationUnit)
            .map(|grid| grid.grid.value.unit().get())
            .max();
        let left = unit.unwrap_or(LEFT).max(LEFT);
        let fitting: Vec<usize> = groups
            .things
            .iter()
            .enumerate()
            .filter(|(_, other)| {
                other.as_ref().is_some_and(|other| {
                    other.kind == LayerKind::Partition
                        && !is_bare_volume(other)
                        && !has_name_in(other, Space::WindowsVolume)
                        && size(other).and_then(Interval::known).is_some_and(|size| {
                            size >= length.from()
                                && size.get().saturating_sub(length.to().get()) <= left
                        })
                })
            })
            .map(|(index, _)| index)
            .collect();
        let [only] = fitting.as_slice() else { continue };
        let name = groups.things[*only]
            .as_ref()
            .and_then(|partition| partition.names.first().cloned());
        if let (Some(name), Some(thing)) = (name, groups.things[index].as_mut()) {
            if volume.is_none() {
                thing.on = vec![name];
            }
            thing.remarks.push(Anomaly::new(
                AnomalyKind::Missing,
                "nothing says on which partition it lies; it is taken for the only one of its size",
            ));
        }
        if let Some(volume) = volume {
            groups.unite(*only, volume);
        }
    }
}

/// What was said of the disk below a volume is said of the disk that the volume's partition lies on.
pub(super) fn disks_of_volumes(groups: &mut Groups) {
    let mut pairs: Vec<(usize, Name)> = Vec::new();
    for (index, thing) in groups.things.iter().enumerate() {
        let names = thing.iter().flat_map(|thing| &thing.names);
        for name in names.filter(|name| name.space == Space::WindowsVolumeDisk) {
            pairs.push((index, Name::new(Space::WindowsVolume, name.text.clone())));
        }
    }
    for (below, volume) in pairs {
        let Some(thing) = &groups.things[below] else {
            continue;
        };
        let partition = groups.find(&volume, thing.file);
        let partition = partition.and_then(|index| groups.things[index].as_ref());
        let disk = partition.and_then(|partition| match partition.on.as_slice() {
            [disk] if partition.kind == LayerKind::Partition => {
                Some((disk.clone(), partition.file))
            }
            _ => None,
        });
        let Some((disk, file)) = disk else { continue };
        match groups.find(&disk, file) {
            Some(disk) => groups.unite(disk, below),
            // Nothing else describes it.
            None => {
                let title = format!("disk {}", disk.and_machine().0);
                groups.call(below, disk, title);
            }
        }
    }
}

/// A volume of a RAID controller of which no text says what the system calls it is the disk of its size, if both are the
/// only ones.
fn raid_volumes(groups: &mut Groups) {
    let seen_by_system = |thing: &Thing| {
        thing.names.iter().any(|name| {
            matches!(
                name.space,
                Space::WindowsDisk | Space::Device | Space::EsxiDevice
            )
        })
    };
    let is_volume = |thing: &Thing| {
        let names = &thing.names;
        names.iter().any(|name| name.space == Space::RaidVolume)
    };
    let of = |test: &dyn Fn(&Thing) -> bool, groups: &Groups| -> Vec<usize> {
        let things = groups.things.iter().enumerate();
        things
            .filter(|(_, thing)| {
                thing
                    .as_ref()
                    .is_some_and(|thing| thing.kind == LayerKind::Device && test(thing))
            })
            .map(|(index, _)| index)
            .collect()
    };
    let volumes = of(&|thing| is_volume(thing) && !seen_by_system(thing), groups);
    let disks = of(&|thing| seen_by_system(thing) && !is_volume(thing), groups);
    let alike = |groups: &Groups, a: usize, b: usize| {
        let (Some(a), Some(b)) = (&groups.things[a], &groups.things[b]) else {
            return false;
        };
        meet(size(a), size(b)) == Some(true)
    };
    for volume in &volumes {
        let fitting: Vec<usize> = disks
            .iter()
            .copied()
            .filter(|disk| alike(groups, *volume, *disk))
            .collect();
        let [disk] = fitting.as_slice() else { continue };
        let rivals = volumes.iter().filter(|other| alike(groups, **other, *disk));
        if rivals.count() == 1 {
            groups.unite(*disk, *volume);
            if let Some(thing) = groups.things[*disk].as_mut() {
                thing.remarks.push(Anomaly::new(
                    AnomalyKind::Missing,
                    "nothing says which volume of the RAID controller it is; it is taken for the only one of its size",
                ));
            }
        }
    }
    for disk in &disks {
        let alike_to = |all: &[usize], index: usize| -> Vec<usize> {
            let all = all.iter().copied();
            all.filter(|other| alike(groups, index, *other)).collect()
        };
        let fitting = alike_to(&volumes, *disk);
        let [first, _, ..] = fitting.as_slice() else {
            continue;
        };
        // As many disks as volumes of one size: each is one of them, and what all of them say holds for each.
        if fitting.len() <= MAX_ALIKE && alike_to(&disks, *first).len() == fitting.len() {
            let (said, attributes) = in_common(groups, &fitting);
            groups.tell(*disk, said);
            if let Some(thing) = groups.things[*disk].as_mut() {
                thing.attributes.extend(attributes);
            }
        }
    }
}

/// What all these volumes have alike, and a remark about which of them it is.
fn in_common(
    groups: &Groups,
    volumes: &[usize],
) -> ((Vec<GridFact>, Vec<Anomaly>), Vec<Attribute>) {
    let things = || {
        volumes
            .iter()
            .filter_map(|index| groups.things[*index].as_ref())
    };
    let mut first = things().flat_map(|thing| &thing.grids).take(MAX_GRIDS);
    let mut grids: Vec<GridFact> = Vec::new();
    for grid in &mut first {
        let new = grids.iter().all(|have| have.role != grid.role);
        let alike = |thing: &Thing| {
            let mut its = thing.grids.iter().filter(|other| other.role == grid.role);
            its.any(|other| other.grid.value == grid.grid.value)
        };
        if new && things().all(alike) {
            grids.push(grid.clone());
        }
    }
    let names: Vec<&str> = things().take(8).map(|thing| thing.title.as_str()).collect();
    let detail = format!(
        "nothing says which volume of the RAID controller it is: {} are of its size; what they have in common was taken",
        names.join(", ")
    );
    let shared = |key: &Key| {
        let of = |thing: &Thing| {
            let mut its = thing.attributes.iter();
            its.find(|attribute| attribute.key == *key).cloned()
        };
        let first = things().next().and_then(of)?;
        let alike = |other: Option<Attribute>| {
            other.is_some_and(|other| other.value.value == first.value.value)
        };
        things().all(|thing| alike(of(thing))).then_some(first)
    };
    let keys = [Key::Level, Key::Members, Key::DataMembers, Key::WriteCache];
    let attributes = keys.iter().filter_map(shared).collect();
    let remarks = vec![Anomaly::new(AnomalyKind::Missing, detail)];
    ((grids, remarks), attributes)
}

/// Most volumes of one size: more than any controller has.
const MAX_ALIKE: usize = 256;
/// Grids that are looked at for what volumes have in common: those of the first few say it all.
const MAX_GRIDS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Overrides;
    use crate::inventory::{Inventory, Name};
    use straddle_geometry::Unit;
    use straddle_stack::{Fact, Stack};

    fn thing(name: Name, size: u64, strip: Option<u64>) -> Thing {
        let mut thing = Thing::new(LayerKind::Device, name.text.to_string(), name);
        let size = Interval::exact(Bytes::mib(size));
        thing.size = Some(Fact::derived(size, "said"));
        if let Some(unit) = strip.and_then(Unit::new) {
            thing.grid(GridRole::StripeUnit, Fact::derived(unit, "said"));
        }
        thing
    }

    fn stack(sizes: [u64; 4], strips: [u64; 2]) -> Stack {
        let mut inventory = Inventory::default();
        for (number, size) in sizes[..2].iter().enumerate() {
            inventory.add(thing(Name::windows_disk(number as u64), *size, None));
        }
        for (number, size) in sizes[2..].iter().enumerate() {
            let name = Name::new(Space::RaidVolume, format!("c0/v{number}"));
            inventory.add(thing(name, *size, Some(strips[number])));
        }
        inventory.stack(&Overrides::default())
    }

    fn strips(stack: &Stack) -> Vec<Option<u64>> {
        let of = |grid: &Fact<straddle_geometry::Grid>| grid.value.unit().get();
        let layers = stack.layers().iter();
        layers
            .map(|layer| layer.grid(GridRole::StripeUnit).map(of))
            .collect()
    }

    #[test]
    fn volumes_are_known_by_their_size() {
        let joined = stack([10, 20, 20, 10], [65_536, 4096]);
        assert_eq!(strips(&joined), [Some(4096), Some(65_536)]);
    }

    #[test]
    fn what_volumes_of_one_size_have_in_common_holds_for_each_disk_of_that_size() {
        let alike = stack([10, 10, 10, 10], [65_536, 65_536]);
        assert_eq!(strips(&alike), [Some(65_536); 4]);
        let others = stack([10, 10, 10, 10], [65_536, 4096]);
        assert_eq!(strips(&others)[..2], [None, None]);
        let remark = &others.layers()[0].anomalies[0];
        assert!(remark.detail.contains("c0/v0, c0/v1"), "{}", remark.detail);
        // One of the disks may be none of the controller's.
        let fewer = stack([10, 10, 10, 30], [65_536, 65_536]);
        assert_eq!(strips(&fewer)[..2], [None, None]);
        assert!(fewer.layers()[0].anomalies.is_empty());
    }
}
