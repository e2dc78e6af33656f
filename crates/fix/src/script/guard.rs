//! What tells a device from others: its size, and bytes of its metadata in their places.

use straddle_geometry::Bytes;
use straddle_stack::{GridRole, Key, Layer, LayerId, LayerKind, Source, Stack, Value};

/// What must be true of a device before anything is written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Its size.
    pub size: Option<Bytes>,
    /// Bytes that must stand on it, the first being those that best tell it from others.
    pub marks: Vec<Mark>,
    /// Its serial number, where it has one.
    pub serial: Option<String>,
}

/// Bytes in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What they are: `table identifier`.
    pub what: &'static str,
    /// Where.
    pub at: Bytes,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// What the header of a virtual disk says that tells its file from others.
const TELLING_DISKS: &[Key] = &[
    Key::DiskId,
    Key::DiskUuid,
    Key::Uuid,
    Key::OriginalSize,
    Key::BlockSize,
    Key::ClusterSize,
    Key::DataOffset,
    Key::Version,
    Key::CreatedBy,
];
/// Attributes that tell devices apart, the best first.
const TELLING: &[Key] = &[
    Key::TableId,
    Key::VolumeId,
    Key::Uuid,
    Key::SetUuid,
    // Members of a set are alike but for their place in it.
    Key::Role,
    Key::VdevGuid,
    Key::DiskUuid,
    Key::Label,
    Key::StartSector,
    Key::Holds,
    Key::PartitionTable,
];

/// Those of them that a table of partitions has.
const TABLE: &[Key] = &[Key::TableId, Key::PartitionTable];

impl Guard {
    /// What tells the device `layer` from others: from what was read on it, and on what rests directly on it.
    #[must_use]
    pub fn of(stack: &Stack, layer: LayerId) -> Guard {
        let here = stack.layer(layer);
        let above: Vec<&Layer> = stack.above(layer).map(|id| stack.layer(id)).collect();
        let mut marks: Vec<Mark> = Vec::new();
        // What lies in a virtual disk or on an array has addresses of its own: only the header of the disk is in the file.
        let disk = above
            .iter()
            .find(|layer| layer.kind == LayerKind::Container);
        let (keys, layers): (_, Vec<&Layer>) = match disk {
            Some(disk) => (TELLING_DISKS, vec![disk]),
            None => {
                let direct = above.iter().filter(|layer| {
                    matches!(layer.kind, LayerKind::Partition | LayerKind::Filesystem)
                });
                (
                    TELLING,
                    std::iter::once(&here).chain(direct).copied().collect(),
                )
            }
        };
        // Of a virtual disk itself, only its table of partitions lies in what its guest sees.
        let is_container = here.kind == LayerKind::Container;
        for key in keys {
            let attributes = layers.iter().flat_map(|layer| {
                let is_inside =
                    !is_container || layer.kind != LayerKind::Container || TABLE.contains(key);
                layer.attributes.iter().filter(move |_| is_inside)
            });
            for attribute in attributes {
                let Source::Image(image) = &attribute.value.source else {
                    continue;
                };
                let bytes = image.field().to_vec();
                let Some(at) = place(here, image.offset()) else {
                    continue;
                };
                let mark = Mark {
                    what: key.name(),
                    at,
                    bytes,
                };
                let is_new = marks.iter().all(|other| other.at != mark.at);
                if attribute.key == *key && !mark.bytes.is_empty() && is_new {
                    marks.push(mark);
                }
            }
        }
        marks.truncate(6);
        if disk.is_none() {
            if marks.is_empty() {
                marks.extend(printed(stack, layer));
            }
            marks.extend(held(stack, layer, &marks));
        }
        Guard {
            size: here.size.as_ref().map(|size| size.value),
            marks,
            serial: here.text(Key::Serial).map(str::to_owned),
        }
    }
}

impl Guard {
    /// What tells `carrier` from others when `layer`, a part of it, is to be written: what was read there comes first.
    #[must_use]
    pub fn within(stack: &Stack, layer: LayerId, carrier: LayerId) -> Guard {
        let mut guard = Guard::of(stack, carrier);
        if layer == carrier {
            return guard;
        }
        let there = stack.layer(carrier);
        let mut marks: Vec<Mark> = Vec::new();
        for id in std::iter::once(layer).chain(stack.above(layer)) {
            for attribute in &stack.layer(id).attributes {
                let Source::Image(image) = &attribute.value.source else {
                    continue;
                };
                let bytes = image.field().to_vec();
                let at = place(there, image.offset());
                if let (true, false, Some(at)) =
                    (TELLING.contains(&attribute.key), bytes.is_empty(), at)
                {
                    let what = attribute.key.name();
                    marks.push(Mark { what, at, bytes });
                }
            }
        }
        for mark in guard.marks {
            if marks.iter().all(|other| other.at != mark.at) {
                marks.push(mark);
            }
        }
        guard.marks = marks;
        guard
    }
}

/// What a tool printed of the table of `layer`, as it stands on the disk: its identifier, and where the primary partitions of an MBR begin.
fn printed(stack: &Stack, layer: LayerId) -> Vec<Mark> {
    let here = stack.layer(layer);
    let identifier = here.text(Key::TableId).and_then(|id| {
        let digits: String = id.chars().filter(char::is_ascii_hexdigit).collect();
        let id = u128::from_str_radix(&digits, 16).ok()?;
        (id != 0).then_some((digits.len(), id))
    });
    let what = Key::TableId.name();
    match (here.text(Key::PartitionTable), identifier) {
        (Some("gpt"), Some((32, id))) => {
            let mut bytes = id.to_be_bytes().to_vec();
            // Of a GUID on disk, the first three groups have their lowest byte first.
            for group in [0..4, 4..6, 6..8] {
                bytes[group].reverse();
            }
            // The header is in the second sector.
            let sector = here.grid(GridRole::LogicalSector);
            let sector = sector.map_or(512, |grid| grid.value.unit().bytes().get());
            let at = Bytes::new(sector.saturating_add(56));
            vec![Mark { what, at, bytes }]
        }
        (Some("mbr"), Some((1..=8, id))) => {
            let at = Bytes::new(440);
            let bytes = u32::try_from(id).unwrap_or_default().to_le_bytes().to_vec();
            let mut marks = vec![Mark { what, at, bytes }];
            let mut partitions: Vec<&Layer> =
                stack.above(layer).map(|id| stack.layer(id)).collect();
            partitions.sort_by_key(|layer| count(layer, Key::PartitionNumber));
            for partition in partitions {
                let number = count(partition, Key::PartitionNumber);
                let start = count(partition, Key::StartSector);
                let start = start.and_then(|start| u32::try_from(start).ok());
                if let (Some(number @ 1..=4), Some(start)) = (number, start) {
                    marks.push(Mark {
                        what: Key::StartSector.name(),
                        at: Bytes::new(446 + 16 * (number - 1) + 8),
                        bytes: start.to_le_bytes().to_vec(),
                    });
                }
            }
            marks
        }
        _ => Vec::new(),
    }
}

fn count(layer: &Layer, key: Key) -> Option<u64> {
    match &layer.attribute(key)?.value {
        Value::Count(count) => Some(*count),
        _ => None,
    }
}

/// Identifiers of what the partitions of `layer` hold: one disk has the table of another where both were made from one image.
fn held(stack: &Stack, layer: LayerId, known: &[Mark]) -> Vec<Mark> {
    let here = stack.layer(layer);
    let is_partition = |id: &LayerId| stack.layer(*id).kind == LayerKind::Partition;
    let partitions = stack.above(layer).filter(is_partition);
    let mut marks: Vec<Mark> = Vec::new();
    for id in partitions.flat_map(|id| stack.above(id)) {
        let held = stack.layer(id);
        if held.kind != LayerKind::Filesystem || held.below.len() != 1 {
            continue;
        }
        let mut identifiers = held.attributes.iter();
        let identifier = identifiers.find(|a| matches!(a.key, Key::VolumeId | Key::Uuid));
        let Some(Source::Image(image)) = identifier.map(|a| &a.value.source) else {
            continue;
        };
        let (bytes, at) = (image.field().to_vec(), place(here, image.offset()));
        if let (Some(at), Some(attribute), false) = (at, identifier, bytes.is_empty()) {
            let is_new = known.iter().chain(&marks).all(|other| other.at != at);
            if is_new && marks.len() < MOST_HELD {
                let what = attribute.key.name();
                marks.push(Mark { what, at, bytes });
            }
        }
    }
    marks
}

/// Most partitions of which what they hold is asked for.
const MOST_HELD: usize = 8;

/// Where a byte that was read at `offset` of the device lies in `layer`: a partition has places of its own.
fn place(layer: &Layer, offset: Bytes) -> Option<Bytes> {
    match (layer.kind, &layer.placement) {
        (LayerKind::Partition, Some(placement)) => {
            let extent = placement.value;
            (offset < extent.end()).then(|| offset.checked_sub(extent.start()))?
        }
        _ => Some(offset),
    }
}
