//! The database of a pool: slots of 64 bytes, records over several of them.
//!
//! ```text
//! header  "SDBC    ", CRC-32 at 12, pool GUID at 16, size of a slot at 36, slots in use at 40, sequence at 64
//! slot    "SDBB", own number (4), record (4, 0: free), fragment (2), fragments (2), 48 bytes
//! record  type (1), version (1), 2 bytes, length (4), fields: a number is a count of bytes and the bytes
//! ```

use std::collections::BTreeMap;
use straddle_geometry::Bytes;
use straddle_io::{ReadError, ReadErrorKind};
use straddle_stack::{Anomaly, AnomalyKind, Fact, Value};
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::sums;
use crate::Window;
use crate::record::uuid;

/// Where the database lies.
const AT: u64 = 4096;
/// Bytes of a slot.
const SLOT: usize = 64;
/// Bytes of a fragment.
const FRAGMENT: usize = 48;
/// Slots that the header takes.
const HEADER_SLOTS: u32 = 8;
/// Most slots that are read: 4 MiB, the extents of a pool of several hundred TiB.
const MAX_SLOTS: u32 = 1 << 16;
/// Most fragments of a record; a space with a description of 1,024 letters has 44.
const MAX_FRAGMENTS: u16 = 256;
/// A copy that is current.
const CURRENT: u64 = 0xffff_ffff;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    unknown: [u8; 4],
    crc: U32,
    owner: [u8; 16],
    unknown_too: U32,
    slot: U32,
    used: U32,
    unknown_three: [u8; 20],
    sequence: U64,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Slot {
    magic: [u8; 4],
    number: U32,
    record: U32,
    fragment: U16,
    fragments: U16,
    payload: [u8; FRAGMENT],
}

/// A disk of the pool.
pub(super) struct Disk {
    pub(super) guid: String,
    pub(super) name: String,
}

/// A space that a person made.
pub(super) struct Space {
    pub(super) id: u64,
    pub(super) name: String,
    /// Where its record lies: evidence for everything about it.
    pub(super) at: u64,
    pub(super) size: Bytes,
    pub(super) thin: bool,
    /// 1 simple, 2 mirror, 3 parity.
    pub(super) resiliency: u8,
    /// How many disks may fail.
    pub(super) redundancy: u64,
    pub(super) copies: u64,
    pub(super) columns: u64,
    /// Power of two.
    pub(super) interleave: u8,
}

/// Slabs of a column of a space that lie together on a disk.
#[derive(Clone, Copy)]
pub(super) struct Slabs {
    pub(super) space: u64,
    pub(super) count: u64,
    /// Counted over all columns of data.
    pub(super) first: u64,
    pub(super) column: u64,
    pub(super) copy: u64,
    pub(super) disk: u64,
    pub(super) physical: u64,
}

/// A copy of the database.
#[derive(Default)]
pub(super) struct Database {
    pub(super) sequence: u64,
    pub(super) pool: Option<Fact<Value>>,
    pub(super) disks: BTreeMap<u64, Disk>,
    pub(super) spaces: Vec<Space>,
    pub(super) slabs: Vec<Slabs>,
    /// Spaces that have a part of another kind: a tier or a write-back cache.
    pub(super) parents: Vec<u64>,
    pub(super) anomalies: Vec<Anomaly>,
}

/// The fragments of a record by number, each with its place.
type Fragments = BTreeMap<u16, (u64, [u8; FRAGMENT])>;

impl Database {
    /// Reads the copy in `window`; `None` when the disk has none.
    pub(super) fn read(window: &Window<'_>) -> Result<Option<Database>, ReadError> {
        let header: Header = window.get(AT)?;
        if &header.magic != b"SDBC    " {
            return Ok(None);
        }
        let mut out = Database {
            sequence: header.sequence.get(),
            ..Database::default()
        };
        let (expected, found) = sums(window, AT)?;
        if expected != found {
            let detail = format!(
                "the checksum of the pool's database is {found:08x}; expected {expected:08x}: it is read all the same"
            );
            out.damaged(window, AT + 12, 4, detail);
        }
        if usize::try_from(header.slot.get()).ok() != Some(SLOT) {
            let detail = format!(
                "the pool's database has slots of {} bytes; expected {SLOT}: it is not read",
                header.slot.get()
            );
            out.damaged(window, AT + 36, 4, detail);
            return Ok(Some(out));
        }
        let used = header.used.get();
        if used > MAX_SLOTS {
            let detail = format!(
                "the pool's database has {used} slots in use; {MAX_SLOTS} are looked at, so that extents may be missing"
            );
            let source = window.source(AT + 40, 4);
            let limit = Anomaly::at(AnomalyKind::LimitReached, detail, source);
            out.anomalies.push(limit);
        }
        let mut records: BTreeMap<u32, (u16, Fragments)> = BTreeMap::new();
        for number in HEADER_SLOTS..used.min(MAX_SLOTS) {
            let at = AT.saturating_add(u64::from(number).saturating_mul(64));
            let slot: Slot = match window.get(at) {
                Ok(slot) => slot,
                Err(error) if matches!(error.kind, ReadErrorKind::PastEnd { .. }) => break,
                Err(error) => return Err(error),
            };
            let (record, fragment, fragments) =
                (slot.record.get(), slot.fragment.get(), slot.fragments.get());
            if &slot.magic != b"SDBB" || slot.number.get() != number {
                let detail = format!(
                    "slot {number} of the pool's database is not in order; expected SDBB and its number: the rest is not read"
                );
                out.damaged(window, at, 8, detail);
                break;
            }
            if record == 0 {
                continue;
            }
            if fragment >= fragments || fragments > MAX_FRAGMENTS {
                let detail = format!(
                    "slot {number} is fragment {fragment}, counted from 0, of {fragments}; expected at most {MAX_FRAGMENTS}, and a smaller number"
                );
                out.damaged(window, at + 12, 4, detail);
                continue;
            }
            let (_, pieces) = records
                .entry(record)
                .or_insert_with(|| (fragments, BTreeMap::new()));
            pieces.insert(fragment, (at, slot.payload));
        }
        for (number, (count, pieces)) in records {
            let at = pieces.values().next().map_or(AT, |(at, _)| *at);
            let whole = pieces.len() == usize::from(count);
            let data: Vec<u8> = pieces.into_values().flat_map(|(_, data)| data).collect();
            if !whole || out.record(window, at, &data).is_none() {
                let detail = format!(
                    "record {number} of the pool's database cannot be read; expected {count} fragments, and the fields of pool versions 28 and 29"
                );
                out.damaged(window, at, 16, detail);
            }
        }
        Ok(Some(out))
    }

    fn damaged(&mut self, window: &Window<'_>, at: u64, len: usize, detail: String) {
        const MAX: usize = 16;
        if self.anomalies.len() < MAX {
            let source = window.source(at, len);
            self.anomalies
                .push(Anomaly::at(AnomalyKind::Damaged, detail, source));
        }
    }

    fn record(&mut self, window: &Window<'_>, at: u64, data: &[u8]) -> Option<()> {
        let (kind, version) = (*data.first()?, *data.get(1)?);
        let len = u32::from_be_bytes(data.get(4..8)?.try_into().ok()?);
        let body = data.get(8..)?;
        let body = body.get(..usize::try_from(len).ok()?.min(body.len()))?;
        let mut fields = Fields(body);
        match kind {
            1 => {
                fields.number()?;
                fields.number()?;
                fields.take(16)?;
                let name = Value::Text(fields.text()?.into());
                self.pool = Some(window.fact(name, at, SLOT));
            }
            2 => {
                let id = fields.number()?;
                fields.number()?;
                let guid = uuid(fields.take(16)?.try_into().ok()?);
                let name = fields.text()?;
                self.disks.insert(id, Disk { guid, name });
            }
            3 => self.spaces.extend(space(fields, version, at)?),
            4 => self.slabs.extend(slabs(fields)?),
            6 => self.parents.extend(parent(fields, version)),
            // Not needed for where data lie.
            _ => {}
        }
        Some(())
    }
}

/// What is left of a record.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u64> {
        let len = self.byte().filter(|len| *len <= 8)?;
        let raw = self.take(usize::from(len))?;
        Some(raw.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)))
    }

    fn text(&mut self) -> Option<String> {
        let len = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
        let raw = self.take(usize::from(len).checked_mul(2)?)?;
        let units = raw
            .chunks_exact(2)
            .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
            .take_while(|unit| *unit != 0);
        Some(
            char::decode_utf16(units)
                .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
                .map(|c| match c {
                    '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                        char::REPLACEMENT_CHARACTER
                    }
                    c if c.is_control() => char::REPLACEMENT_CHARACTER,
                    c => c,
                })
                .collect(),
        )
    }

    /// Identifier, sequence, GUID, name and description.
    fn head(&mut self) -> Option<(u64, String)> {
        let id = self.number()?;
        self.number()?;
        self.take(16)?;
        let name = self.text()?;
        self.text()?;
        Some((id, name))
    }

    /// What stands before the resiliency, by the version of the record.
    fn prefix(&mut self, version: u8) -> Option<()> {
        let expected: &[u8] = match version {
            17 | 5 => &[1, 0, 1, 0, 0],
            16 => &[1, 1, 0, 0],
            _ => return None,
        };
        (self.take(expected.len())? == expected).then_some(())
    }
}

/// A space; `Some(None)` for those that Windows keeps for itself.
fn space(mut fields: Fields<'_>, version: u8, at: u64) -> Option<Option<Space>> {
    let (id, name) = fields.head()?;
    fields.take(2)?;
    let role = fields.byte()?;
    let size = fields.number()?;
    fields.number()?;
    let thin = fields.byte()? == 1;
    fields.number()?;
    fields.byte()?;
    // A space for a person.
    if role != 2 {
        return Some(None);
    }
    fields.prefix(version)?;
    let resiliency = fields.byte()?;
    let redundancy = fields.number()?;
    let copies = fields.number()?;
    fields.number()?;
    let columns = fields.number()?;
    let interleave = fields.byte()?;
    Some(Some(Space {
        id,
        name,
        at,
        size: Bytes::new(size),
        thin,
        resiliency,
        redundancy,
        copies,
        columns,
        interleave,
    }))
}

/// The space that a child belongs to; `None` when that cannot be told.
fn parent(mut fields: Fields<'_>, version: u8) -> Option<u64> {
    fields.head()?;
    fields.take(3)?;
    // Provisioning, allocation unit, a kind.
    fields.byte()?;
    fields.number()?;
    fields.byte()?;
    fields.prefix(version)?;
    fields.byte()?;
    for _ in 0..4 {
        fields.number()?;
    }
    fields.byte()?;
    fields.number()?;
    fields.number()
}

/// Slabs that are in use; `Some(None)` for a copy that is out of date.
fn slabs(mut fields: Fields<'_>) -> Option<Option<Slabs>> {
    fields.number()?;
    fields.number()?;
    fields.number()?;
    fields.byte()?;
    let count = fields.number()?;
    let space = fields.number()?;
    let first = fields.number()?;
    let column = fields.number()?;
    let copy = fields.number()?;
    let stale = fields.number()?;
    let disk = fields.number()?;
    let physical = fields.number()?;
    Some((stale == CURRENT).then_some(Slabs {
        space,
        count,
        first,
        column,
        copy,
        disk,
        physical,
    }))
}
