//! What two things that share a name are to each other.

use straddle_stack::{Anomaly, AnomalyKind, Key, LayerKind, Source};

use super::{Space, Thing};

/// What two things that share a name are to each other.
pub(super) enum Relation {
    Same,
    /// Names of one kind that they share mean nothing.
    Other,
    /// They are called the same and are not the same: identities of this kind differ.
    Replaced(Space),
    /// They share an identity of this kind, and one text says that they are two.
    Twin(Space),
}

pub(super) fn relation(thing: &Thing, other: &Thing) -> Relation {
    let shared = thing
        .names
        .iter()
        .filter(|name| other.names.contains(name))
        .collect::<Vec<_>>();
    let Some(first) = shared.first() else {
        return Relation::Other;
    };
    if let Some(identity) = shared.iter().find(|name| name.space.is_identity()) {
        let two_slots = [Space::WindowsDisk, Space::Device, Space::EsxiDevice]
            .into_iter()
            .any(|space| differ(thing, other, space));
        let is_device = thing.kind == LayerKind::Device;
        // A table can be cloned to another disk, a serial number cannot.
        let other_serial = identity.space == Space::TableId && differ(thing, other, Space::Serial);
        let one_file = thing.file == other.file;
        return match thing.kind {
            LayerKind::Device if other_serial && !two_slots && shared.len() > 1 => {
                Relation::Replaced(Space::Serial)
            }
            _ if is_device && (other_serial || two_slots && one_file) => {
                Relation::Twin(identity.space)
            }
            _ if !two_slots || !one_file => Relation::Same,
            // Those of a cloned disk have the identities of the original's; the disks say so once.
            LayerKind::Partition => Relation::Other,
            LayerKind::Filesystem if !spans_devices(thing) => Relation::Other,
            _ => Relation::Same,
        };
    }
    // A partition's or volume's identity may be said in two spellings; that of a disk is told by its tools alike.
    if first.space.is_identity() || thing.kind != LayerKind::Device {
        return Relation::Same;
    }
    let other_disk = [Space::Serial, Space::TableId]
        .into_iter()
        .find(|space| differ(thing, other, *space));
    match other_disk {
        Some(space) => Relation::Replaced(space),
        None => Relation::Same,
    }
}

/// True for a volume of which nothing but letters and the like is known.
pub(super) fn is_bare_volume(thing: &Thing) -> bool {
    let numbered = [Space::WindowsPartition, Space::WmiPartition];
    thing.kind == LayerKind::Partition
        && thing.start.is_none()
        && !numbered.into_iter().any(|space| has_name_in(thing, space))
        && (has_name_in(thing, Space::WindowsVolume)
            || has_name_in(thing, Space::WindowsVolumeNumber))
}

pub(super) fn has_name_in(thing: &Thing, space: Space) -> bool {
    thing.names.iter().any(|name| name.space == space)
}

/// True for a filesystem that may lie on several devices.
fn spans_devices(thing: &Thing) -> bool {
    let format = thing.format.as_ref().map(|format| format.value.as_ref());
    matches!(format, Some("btrfs" | "zfs" | "bcachefs"))
}

/// True when both have names in `space`, and none in common.
fn differ(thing: &Thing, other: &Thing, space: Space) -> bool {
    let of = |thing: &Thing| -> Vec<String> {
        let names = thing.names.iter().filter(|name| name.space == space);
        names.map(|name| bare(&name.text)).collect()
    };
    let (a, b) = (of(thing), of(other));
    // Tools cut serial numbers, and pad them; `sda` is not `sdaa`.
    let alike = |a: &String, b: &String| match space {
        Space::Serial => a.starts_with(b.as_str()) || b.starts_with(a.as_str()),
        _ => a == b,
    };
    !a.is_empty() && !b.is_empty() && !a.iter().any(|a| b.iter().any(|b| alike(a, b)))
}

fn bare(text: &str) -> String {
    text.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// A line in which a thing is spoken of, the one with its identity if there is one.
pub(super) fn line_of(thing: &Thing) -> Option<Source> {
    let keys = [Key::Serial, Key::TableId];
    let identity = thing
        .attributes
        .iter()
        .find(|attribute| keys.contains(&attribute.key))
        .map(|attribute| attribute.value.source.clone());
    identity
        .or_else(|| thing.size.as_ref().map(|fact| fact.source.clone()))
        .or_else(|| thing.attributes.first().map(|a| a.value.source.clone()))
        .or_else(|| thing.grids.first().map(|grid| grid.grid.source.clone()))
}

fn remark(kind: AnomalyKind, detail: String, thing: &Thing, other: &Thing) -> Anomaly {
    match (line_of(thing), line_of(other)) {
        (Some(a), Some(b)) => Anomaly::between(kind, detail, a, b),
        (Some(a), None) | (None, Some(a)) => Anomaly::at(kind, detail, a),
        (None, None) => Anomaly::new(kind, detail),
    }
}

fn name_in(thing: &Thing, space: Space) -> &str {
    let name = thing.names.iter().find(|name| name.space == space);
    name.map_or("", |name| &name.text)
}

pub(super) fn replaced(thing: &Thing, other: &Thing, space: Space) -> Anomaly {
    let detail = format!(
        "{} {} here, {} in another capture: not the same disk, so their facts are kept apart",
        space.word(),
        name_in(thing, space),
        name_in(other, space)
    );
    remark(AnomalyKind::Stale, detail, thing, other)
}

pub(super) fn twin(thing: &Thing, other: &Thing, space: Space) -> Anomaly {
    let detail = format!(
        "has the {} {} as {} has",
        space.word(),
        name_in(thing, space),
        other.title
    );
    remark(AnomalyKind::SameIdentity, detail, thing, other)
}
