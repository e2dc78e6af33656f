//! What tells a device from others: its size, and bytes of its metadata in their places.

use straddle_geometry::Bytes;
use straddle_stack::{Key, LayerId, Source, Stack};

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

/// Attributes that tell devices apart, the best first.
const TELLING: &[Key] = &[
    Key::TableId,
    Key::Uuid,
    Key::SetUuid,
    Key::VdevGuid,
    Key::DiskUuid,
    Key::Label,
    Key::StartSector,
    Key::Holds,
    Key::PartitionTable,
];

impl Guard {
    /// What tells the device `layer` from others: from what was read on it, and on what rests directly on it.
    #[must_use]
    pub fn of(stack: &Stack, layer: LayerId) -> Guard {
        let here = stack.layer(layer);
        let above: Vec<LayerId> = stack.above(layer).collect();
        let mut layers = vec![here];
        layers.extend(above.iter().map(|id| stack.layer(*id)));
        let mut marks: Vec<Mark> = Vec::new();
        for key in TELLING {
            for attribute in layers.iter().flat_map(|layer| &layer.attributes) {
                let Source::Image(image) = &attribute.value.source else {
                    continue;
                };
                let bytes = image.field().to_vec();
                let mark = Mark {
                    what: key.name(),
                    at: image.offset(),
                    bytes,
                };
                let is_new = marks.iter().all(|other| other.at != mark.at);
                if attribute.key == *key && !mark.bytes.is_empty() && is_new {
                    marks.push(mark);
                }
            }
        }
        marks.truncate(6);
        Guard {
            size: here.size.as_ref().map(|size| size.value),
            marks,
            serial: here.text(Key::Serial).map(str::to_owned),
        }
    }
}
