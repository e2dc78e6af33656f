//! One entry of a GPT.

use straddle_geometry::Extent;
use straddle_stack::{Anomaly, AnomalyKind, Attribute, Key, Value};
use uuid::Uuid;
use zerocopy::byteorder::little_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Slot;
use super::copy::Header;
use crate::{Detected, Nesting, Window};

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct RawEntry {
    pub(super) kind: [u8; 16],
    pub(super) id: [u8; 16],
    pub(super) first: U64,
    pub(super) last: U64,
    pub(super) flags: U64,
    pub(super) name: [U16; 36],
}

/// Adds the partition of one used entry, which stands at byte `at`.
pub(super) fn partition(
    window: &Window<'_>,
    header: &Header,
    number: u64,
    at: u64,
    entry: &RawEntry,
    out: &mut Detected,
) {
    let (first, last) = (entry.first.get(), entry.last.get());
    let bytes = |sectors: u64| header.sector.sectors(sectors).bytes();
    let extent = last
        .checked_sub(first)
        .and_then(|len| bytes(len.checked_add(1)?))
        .zip(bytes(first))
        .and_then(|(len, start)| Extent::new(start, len));
    let Some(extent) = extent else {
        let detail = format!(
            "partition {number} is recorded from LBA {first} to {last}; expected a start not after the end and an end below 2^64 bytes"
        );
        out.odd(window, AnomalyKind::Damaged, detail, at + 32, 16);
        return;
    };
    let slot = Slot {
        name: format!("partition {number}"),
        number,
        extent,
        kind: guid(entry.kind),
        kind_at: (at, 16),
        first,
        first_at: (at + 32, 8),
        len_at: (at + 40, 8),
        at,
    };
    let mut child = slot.child(window, Nesting::Plain);
    let name = name(&entry.name);
    if !name.is_empty() {
        child.attributes.push(Attribute {
            key: Key::PartitionName,
            value: window.fact(Value::Text(name.into()), at + 56, 16),
        });
    }
    let usable = header.raw.first_usable.get()..=header.raw.last_usable.get();
    if !usable.contains(&first) || !usable.contains(&last) {
        let detail = format!(
            "partition {number} is recorded from LBA {first} to {last}; the GPT gives LBA {} to {} to partitions",
            usable.start(),
            usable.end()
        );
        let source = window.source(at + 32, 16);
        child
            .anomalies
            .push(Anomaly::at(AnomalyKind::Damaged, detail, source));
    }
    out.children.push(child);
}

/// A GUID as tools print it: the first three groups are stored with their low byte first.
pub(super) fn guid(raw: [u8; 16]) -> String {
    format!("{:X}", Uuid::from_bytes_le(raw))
}

/// The name up to its first zero, fit for a terminal: neither control characters nor those that turn the direction of
/// writing around.
pub(super) fn name(units: &[U16; 36]) -> String {
    let units = units.iter().map(|u| u.get()).take_while(|u| *u != 0);
    char::decode_utf16(units)
        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .map(|c| match c {
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                char::REPLACEMENT_CHARACTER
            }
            c if c.is_control() => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect()
}
