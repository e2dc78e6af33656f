//! Where table and metadata of a VHDX lie.
//!
//! ```text
//! 0x00  "regi"   0x04  u32 CRC-32C of 64 KiB   0x08  u32 entries, at most 2,047
//! 0x10  entries of 32 bytes: GUID, u64 offset, u32 length, u32 required
//! ```

use straddle_geometry::{Bytes, Extent};
use straddle_io::ReadError;
use straddle_stack::AnomalyKind;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::header::{Header, MIB};
use crate::Window;
use crate::crc32c;
use crate::record::{Place, Recorder, guid};

const LEN: u64 = 64 << 10;
const MAX: u32 = 2047;
const TABLE: &str = "2dc27766-f623-4200-9d64-115e9bfd4a08";
const METADATA: &str = "8b7ca206-4790-4b9a-b8fe-575f050f886e";

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Start {
    signature: [u8; 4],
    checksum: U32,
    entries: U32,
    reserved: U32,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Entry {
    id: [u8; 16],
    offset: U64,
    len: U32,
    required: U32,
}

/// The regions that are needed.
pub(super) struct Regions {
    pub(super) table: Extent,
    pub(super) metadata: Extent,
    /// All that is not payload: name, start, end.
    pub(super) taken: Vec<(&'static str, u64, u64)>,
}

/// One of the two copies, when it is valid.
fn copy(window: &Window<'_>, at: u64) -> Result<Result<Vec<u8>, String>, ReadError> {
    if window.size().get() < at + LEN {
        return Ok(Err("is beyond the end of the file".to_owned()));
    }
    let mut raw = vec![0; usize::try_from(LEN).unwrap_or(0)];
    window.fill(at, &mut raw)?;
    let start: Start = window.get(at)?;
    let sum = crc32c::sealed(&raw, core::mem::offset_of!(Start, checksum));
    Ok(if start.signature != *b"regi" {
        Err("lacks its signature \"regi\"".to_owned())
    } else if sum != start.checksum.get() {
        let recorded = start.checksum.get();
        Err(format!(
            "records the checksum {recorded:#010x}, its bytes give {sum:#010x}"
        ))
    } else if start.entries.get() > MAX {
        Err(format!(
            "has {} entries; expected at most {MAX}",
            start.entries
        ))
    } else {
        Ok(raw)
    })
}

/// Reads the regions; `None` when the disk cannot be followed, an anomaly then says why.
pub(super) fn read(
    window: &Window<'_>,
    record: &mut Recorder<'_>,
    header: &Header,
) -> Result<Option<Regions>, ReadError> {
    let places = [0x3_0000, 0x4_0000];
    let copies = [copy(window, places[0])?, copy(window, places[1])?];
    let grouped = |at: u64| Bytes::new(at).grouped();
    let usable = copies.iter().position(Result::is_ok);
    for (index, copy) in copies.iter().enumerate() {
        let (kind, used) = match usable {
            Some(used) => (
                AnomalyKind::CopiesDiffer,
                format!("; the one at byte {} is used", grouped(places[used])),
            ),
            None => (AnomalyKind::Unreadable, String::new()),
        };
        if let Err(what) = copy {
            let detail = format!(
                "the region table at byte {} {what}{used}",
                grouped(places[index])
            );
            record.at_base(places[index], |record| {
                record.odd(kind, detail, Place::new(0, 8))
            });
        }
    }
    if let [Ok(one), Ok(two)] = &copies
        && let Some(at) = one.iter().zip(two).position(|(a, b)| a != b)
    {
        let detail = format!(
            "the region tables at bytes {} and {} differ from byte {at} on; the first is used",
            grouped(places[0]),
            grouped(places[1])
        );
        record.at_base(places[0], |record| {
            record.odd(AnomalyKind::CopiesDiffer, detail, Place::new(at, 1));
        });
    }
    let Some((base, raw)) = usable.and_then(|at| Some((places[at], copies[at].as_ref().ok()?)))
    else {
        return Ok(None);
    };
    let mut out = None;
    record.at_base(base, |record| out = entries(window, record, header, raw));
    Ok(out)
}

fn entries(
    window: &Window<'_>,
    record: &mut Recorder<'_>,
    header: &Header,
    raw: &[u8],
) -> Option<Regions> {
    let grouped = |n: u64| Bytes::new(n).grouped();
    let (start, rest) = Start::ref_from_prefix(raw).ok()?;
    let count = usize::try_from(start.entries.get()).ok()?;
    let mut taken = vec![("the headers", 0, MIB)];
    if header.log_len.get() > 0 {
        let at = header.log_offset.get();
        taken.push((
            "the log",
            at,
            at.saturating_add(u64::from(header.log_len.get())),
        ));
    }
    let (mut table, mut metadata) = (None, None);
    for (index, raw) in rest.as_chunks::<32>().0.iter().take(count).enumerate() {
        let field = 16 + index * 32;
        let entry = Entry::read_from_bytes(raw).ok()?;
        let (at, len) = (entry.offset.get(), u64::from(entry.len.get()));
        let id = guid(entry.id);
        let (name, slot) = match id.as_str() {
            TABLE => ("the table", Some(&mut table)),
            METADATA => ("the metadata", Some(&mut metadata)),
            _ => ("another region", None),
        };
        let place = Place::new(field + 16, 12);
        if slot.is_none() && entry.required.get() & 1 == 1 {
            let detail =
                format!("the region {id} is required to understand the file, and unknown here");
            record.odd(AnomalyKind::Unreadable, detail, Place::new(field, 16));
            return None;
        }
        let Some(extent) = Extent::new(Bytes::new(at), Bytes::new(len)) else {
            let detail = format!("the region {id} lies beyond 2⁶⁴ bytes");
            record.odd(AnomalyKind::Unreadable, detail, place);
            return None;
        };
        let end = extent.end().get();
        if !at.is_multiple_of(MIB) || !len.is_multiple_of(MIB) {
            let detail = format!(
                "{name} has {} bytes at byte {}; expected multiples of 1 MiB",
                grouped(len),
                grouped(at)
            );
            record.odd(AnomalyKind::Damaged, detail, place);
        }
        if end > window.size().get() {
            let detail = format!(
                "{name} lies at bytes {} to {}, the file ends at {}",
                grouped(at),
                grouped(end),
                window.size().grouped()
            );
            record.odd(AnomalyKind::Damaged, detail, place);
        }
        if let Some((other, ..)) = taken.iter().find(|(_, from, to)| at < *to && end > *from) {
            let detail = format!("{name} at byte {} lies over {other}", grouped(at));
            record.odd(AnomalyKind::Damaged, detail, place);
        }
        if let Some(slot) = slot {
            if slot.is_some() {
                let detail = format!("{name} is listed twice; the first is used");
                record.odd(AnomalyKind::Damaged, detail, place);
            } else {
                *slot = Some(extent);
            }
        }
        // Overlap is looked for among the first: a list of thousands compared with itself takes too long.
        if taken.len() < 64 {
            taken.push((name, at, end));
        }
    }
    let (Some(table), Some(metadata)) = (table, metadata) else {
        let missing = if table.is_none() {
            "the table of blocks"
        } else {
            "the metadata"
        };
        let detail = format!("no region holds {missing}");
        record.odd(AnomalyKind::Unreadable, detail, Place::new(8, 4));
        return None;
    };
    Some(Regions {
        table,
        metadata,
        taken,
    })
}
