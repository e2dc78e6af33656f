//! What is said of several things together, compared: partitions with their disk and with each other, and the places of volumes
//! with what their system says of them.

use straddle_geometry::Bytes;
use straddle_stack::{
    Anomaly, AnomalyKind, Fact, GridRole, Interval, Key, LayerKind, Source, Value,
};

use super::groups::Groups;
use super::partitions::by_disk;
use super::relation::{has_name_in, line_of};
use super::{Space, Thing};

/// Most overlaps that are told of one disk; the rest is counted.
const MAX_OVERLAPS: usize = 64;

/// Remarks what cannot all be true.
pub(super) fn compare(groups: &mut Groups) {
    let mut found: Vec<(usize, Anomaly)> = Vec::new();
    for ((disk, _), partitions) in by_disk(groups) {
        let disk = disk.and_then(|index| groups.things[index].as_ref());
        let mut placed: Vec<(Interval, usize)> = Vec::new();
        for index in partitions {
            let Some(thing) = groups.things[index].as_ref() else {
                continue;
            };
            if let Some(disk) = disk {
                found.extend(beyond(thing, disk).map(|anomaly| (index, anomaly)));
                found.extend(elsewhere(thing, disk).map(|anomaly| (index, anomaly)));
            }
            if let Some(start) = &thing.start
                && is_data(thing)
            {
                placed.push((start.value, index));
            }
        }
        placed.sort_by_key(|(start, index)| (start.from(), *index));
        found.extend(overlaps(groups, &placed));
    }
    found.extend(unlike_sectors(groups));
    for (index, anomaly) in found {
        if let Some(thing) = groups.things[index].as_mut() {
            thing.remarks.push(anomaly);
        }
    }
}

fn source<T>(fact: &Fact<T>) -> Source {
    fact.source.clone()
}

fn text_of(thing: &Thing, key: Key) -> Option<&Value> {
    let mut attributes = thing.attributes.iter();
    let found = attributes.find(|attribute| attribute.key == key);
    found.map(|attribute| &attribute.value.value)
}

/// True for a partition that is no more than room for others.
fn is_data(thing: &Thing) -> bool {
    text_of(thing, Key::HoldsPartitions).is_none()
}

/// The first byte behind a partition, at least.
fn end(thing: &Thing) -> Option<Bytes> {
    let (start, size) = (thing.start.as_ref()?, thing.size.as_ref()?);
    start.value.from().checked_add(size.value.from())
}

/// A partition that ends behind its disk, whatever was rounded.
fn beyond(thing: &Thing, disk: &Thing) -> Option<Anomaly> {
    let size = disk.size.as_ref()?;
    let (start, end) = (thing.start.as_ref(), end(thing));
    // Where only its size is known, that alone may be too much.
    let end = end.or_else(|| Some(thing.size.as_ref()?.value.from()))?;
    if end <= size.value.to() || size.value.to() == Bytes::ZERO {
        return None;
    }
    let detail = format!(
        "{} ends at byte {} or later, and {} has {} bytes",
        thing.title,
        end.grouped(),
        disk.title,
        size.value.to().grouped()
    );
    let line = start.map(source).or(thing.size.as_ref().map(source))?;
    Some(Anomaly::between(
        AnomalyKind::Overlap,
        detail,
        line,
        source(size),
    ))
}

/// Partitions of which each starts inside the one before it. Two tools may number and cut them differently: those are compared
/// that one tool numbers.
fn overlaps(groups: &Groups, placed: &[(Interval, usize)]) -> Vec<(usize, Anomaly)> {
    let mut found = Vec::new();
    // Of those before, the one that reaches furthest.
    let mut furthest: Option<(Bytes, usize)> = None;
    for (start, index) in placed {
        let Some(thing) = groups.things[*index].as_ref() else {
            continue;
        };
        let inside = furthest.filter(|(end, _)| start.to() < *end);
        if let Some((end, other)) = inside
            && let Some(other) = groups.things[other].as_ref()
            && of_one_numbering(thing, other)
            && (!may_hold(other) || self::end(thing).is_some_and(|own| own > end))
        {
            let detail = format!(
                "{} starts at byte {}, inside {}, which ends at byte {} or later",
                thing.title,
                start.to().grouped(),
                other.title,
                end.grouped()
            );
            if let (Some(a), Some(b)) = (thing.start.as_ref(), other.start.as_ref()) {
                let anomaly = Anomaly::between(AnomalyKind::Overlap, detail, source(a), source(b));
                found.push((*index, anomaly));
            }
        }
        if let Some(end) = self::end(thing)
            && furthest.is_none_or(|(other, _)| end > other)
        {
            furthest = Some((end, *index));
        }
    }
    let more = found.len().saturating_sub(MAX_OVERLAPS);
    found.truncate(MAX_OVERLAPS);
    if let (Some((_, last)), true) = (found.last_mut(), more > 0) {
        last.detail.push_str(&format!(
            "; {more} more partitions of this disk start inside another"
        ));
    }
    found
}

/// True for a partition of which nothing says that it does not hold others.
fn may_hold(thing: &Thing) -> bool {
    // PowerShell's `Type` and a letter tell data from room for others.
    text_of(thing, Key::PartitionType).is_none()
        && !has_name_in(thing, Space::WindowsVolume)
        && !has_name_in(thing, Space::WindowsPartition)
}

fn of_one_numbering(a: &Thing, b: &Thing) -> bool {
    [
        Space::WindowsPartition,
        Space::WmiPartition,
        Space::EsxiDevice,
        Space::Device,
        Space::DevicePath,
    ]
    .into_iter()
    .any(|space| has_name_in(a, space) && has_name_in(b, space))
}

/// A volume of Windows that starts elsewhere in a physical sector than Windows says.
fn elsewhere(thing: &Thing, disk: &Thing) -> Option<Anomaly> {
    if !has_name_in(thing, Space::WindowsVolume) {
        return None;
    }
    let start = thing.start.as_ref()?;
    let mut attributes = thing.attributes.iter();
    let said = attributes.find(|attribute| attribute.key == Key::AlignmentOffset)?;
    let Value::SignedBytes(said_bytes) = said.value.value else {
        return None;
    };
    let mut grids = disk.grids.iter();
    let physical = grids.find(|grid| grid.role == GridRole::PhysicalSector)?;
    let (unit, phase) = (
        physical.grid.value.unit().get(),
        physical.grid.value.phase().get(),
    );
    let at = start.value.known()?.get();
    let distance = (unit - (at % unit + unit - phase % unit) % unit) % unit;
    if i64::try_from(distance).ok()? == said_bytes {
        return None;
    }
    let detail = format!(
        "{} is said to be {said_bytes} bytes before the next physical sector of {unit} bytes; by its start it is {distance}",
        thing.title
    );
    let kind = AnomalyKind::Contradiction;
    Some(Anomaly::between(
        kind,
        detail,
        source(&said.value),
        source(start),
    ))
}

/// Devices whose physical sector is smaller than their logical one.
fn unlike_sectors(groups: &Groups) -> Vec<(usize, Anomaly)> {
    let things = groups.things.iter().enumerate();
    let devices = things.filter_map(|(index, thing)| Some((index, thing.as_ref()?)));
    let devices = devices.filter(|(_, thing)| thing.kind == LayerKind::Device);
    let of = |thing: &Thing, role| {
        let mut grids = thing.grids.iter();
        grids
            .find(|grid| grid.role == role)
            .map(|grid| grid.grid.clone())
    };
    let odd = devices.filter_map(|(index, thing)| {
        let logical = of(thing, GridRole::LogicalSector)?;
        let physical = of(thing, GridRole::PhysicalSector)?;
        let (small, large) = (physical.value.unit(), logical.value.unit());
        if small >= large || line_of(thing).is_none() {
            return None;
        }
        let detail =
            format!("a physical sector of {small} cannot be smaller than a logical one of {large}");
        let kind = AnomalyKind::Contradiction;
        let anomaly = Anomaly::between(kind, detail, physical.source, logical.source);
        Some((index, anomaly))
    });
    odd.collect()
}
