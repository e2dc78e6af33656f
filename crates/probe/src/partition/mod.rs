//! Partition tables.

use straddle_geometry::Extent;
use straddle_stack::{Attribute, Key, LayerKind, Value};

use crate::{Child, Nesting, Window};

pub(crate) mod apple;
pub(crate) mod atari;
pub(crate) mod bsd;
pub(crate) mod dasd;
pub(crate) mod gpt;
pub(crate) mod mbr;
pub(crate) mod sgi;
pub(crate) mod sun;
mod types;
pub(crate) mod vtoc;

/// A used entry of a table: what every format records, and where.
struct Slot {
    /// What the format calls it: `partition 1`, `slice 0`.
    name: String,
    number: u64,
    extent: Extent,
    /// Its type as the usual tools print it, and the field.
    kind: String,
    kind_at: (u64, usize),
    /// The sector that it starts at, counted from where the table's primary entries count from, and the field.
    first: u64,
    first_at: (u64, usize),
    /// The field that records its length, or its last sector.
    len_at: (u64, usize),
    /// Where the entry itself begins.
    at: u64,
}

impl Slot {
    fn child(self, window: &Window<'_>, nesting: Nesting) -> Child {
        let fact = |key, value, (offset, len)| Attribute {
            key,
            value: window.fact(value, offset, len),
        };
        let name = types::name(&self.kind);
        let mut attributes = vec![
            fact(
                Key::PartitionNumber,
                Value::Count(self.number),
                (self.at, 16),
            ),
            fact(
                Key::PartitionType,
                Value::Text(self.kind.into()),
                self.kind_at,
            ),
            fact(Key::StartSector, Value::Count(self.first), self.first_at),
        ];
        if let Some(name) = name {
            attributes.push(fact(
                Key::PartitionTypeName,
                Value::Text(name.into()),
                self.kind_at,
            ));
        }
        if nesting == Nesting::Container {
            attributes.push(fact(Key::HoldsPartitions, Value::Flag(true), self.kind_at));
        }
        Child {
            kind: LayerKind::Partition,
            name: self.name,
            placement: window.fact(self.extent, self.first_at.0, self.first_at.1),
            len: window.source(self.len_at.0, self.len_at.1),
            nesting,
            attributes,
            anomalies: Vec::new(),
        }
    }
}

/// Exclusive-or of the little-endian 16-bit words of `bytes`: the checksum of BSD and Solaris labels.
fn exclusive_or(bytes: &[u8]) -> u16 {
    bytes
        .chunks_exact(2)
        .fold(0, |sum, word| sum ^ u16::from_le_bytes([word[0], word[1]]))
}

#[cfg(test)]
mod testing {
    use straddle_io::Reader;
    use straddle_stack::{AnomalyKind, Key, Value};

    use crate::{Detected, Prober, Window};

    pub(super) fn put(disk: &mut [u8], at: usize, bytes: &[u8]) {
        disk[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub(super) fn found(prober: &Prober, disk: &[u8]) -> Option<Detected> {
        found_in(prober, &Window::whole(&Reader::new(&disk), None))
    }

    pub(super) fn found_in(prober: &Prober, window: &Window<'_>) -> Option<Detected> {
        prober.run(window).expect("readable")
    }

    /// Number, start, length and type of every child.
    pub(super) fn children(detected: &Detected) -> Vec<(u64, u64, u64, String)> {
        let row = |child: &crate::Child| {
            let get = |key| {
                child
                    .attributes
                    .iter()
                    .find(|a| a.key == key)
                    .map(|a| a.value.value.clone())
            };
            let extent = child.placement.value;
            let number = match get(Key::PartitionNumber) {
                Some(Value::Count(n)) => n,
                other => panic!("no number: {other:?}"),
            };
            let kind = get(Key::PartitionType).map_or(String::new(), |kind| kind.to_string());
            (number, extent.start().get(), extent.len().get(), kind)
        };
        detected.children.iter().map(row).collect()
    }

    pub(super) fn kinds(detected: &Detected) -> Vec<AnomalyKind> {
        detected.anomalies.iter().map(|o| o.kind).collect()
    }
}
