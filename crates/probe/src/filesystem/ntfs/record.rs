//! NTFS records: the fixups that protect them, and the attributes of an MFT record.
//!
//! ```text
//! record    0  "FILE"                   attribute  0  kind (4)         resident  16  length of the value (4)
//!           4  fixups: where (2)                   4  length (4)                 20  where the value is (2)
//!           6  fixups: how many (2)                8  non-resident (1)  else     16  first, last cluster (8, 8)
//!          16  sequence number (2)                 9  name: length (1)           32  where the runs are (2)
//!          20  first attribute (2)                10  name: where (2)            34  log2 of a compression unit (1)
//!          22  1 in use, 2 directory (2)          12  flags (2)                  40  allocated (8)
//!          24  bytes in use (4)                   14  number (2)                 48  length (8)
//!          32  base record (8)                                                   56  initialised (8)
//!                                                                                64  really allocated (8)
//! ```
//!
//! The last two bytes of each 512 are a check number; the true ones are kept in the array of fixups. The last field is
//! there only when the attribute is compressed or sparse.
//!
//! Source: Linux-NTFS documentation, "FILE record", "Attribute header".

use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{u16_at, u32_at};
use crate::find::Flaw;

/// What one fixup protects, whatever the sector size is.
const STRIDE: usize = 512;

const END: u32 = 0xffff_ffff;

/// Puts the true bytes back at the end of each 512.
pub(super) fn undo_fixups(record: &mut [u8], magic: &[u8; 4]) -> Result<(), Flaw> {
    let short = |at| Flaw::new(at, "a structure cut short", "an array of fixups inside it");
    let found = record.get(..4).ok_or_else(|| short(0))?;
    if found != magic {
        let found = format!("`{}`", found.escape_ascii());
        return Err(Flaw::new(0, found, format!("`{}`", magic.escape_ascii())));
    }
    let array = u16_at(record, 4).ok_or_else(|| short(4))?;
    let check = u16_at(record, array).ok_or_else(|| short(4))?;
    for index in 1..=record.len() / STRIDE {
        let end = index * STRIDE;
        let have = u16_at(record, end - 2).ok_or_else(|| short(end - 2))?;
        if have != check {
            return Err(Flaw::new(
                end - 2,
                format!("check number {have:#06x}"),
                format!("{check:#06x}, as at byte {array} of the record: a write was torn"),
            ));
        }
        let entry = array + 2 * index;
        if entry + 2 > record.len() {
            return Err(short(4));
        }
        record.copy_within(entry..entry + 2, end - 2);
    }
    Ok(())
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    magic: [u8; 4],
    fixups_at: U16,
    fixups: U16,
    log: U64,
    sequence: U16,
    links: U16,
    attributes_at: U16,
    flags: U16,
    used: U32,
    allocated: U32,
    base: U64,
}

const IN_USE: u16 = 1;
const DIRECTORY: u16 = 2;

/// An MFT record, its fixups undone.
pub(super) struct Record {
    /// Its place in the MFT.
    pub(super) number: u64,
    pub(super) sequence: u16,
    pub(super) is_directory: bool,
    /// The record that this one extends; 0 when it is one of its own.
    pub(super) base: u64,
    attributes_at: usize,
    bytes: Vec<u8>,
}

impl Record {
    /// Takes the bytes as they are on the medium.
    pub(super) fn new(number: u64, mut bytes: Vec<u8>) -> Result<Record, Flaw> {
        undo_fixups(&mut bytes, b"FILE")?;
        let short = Flaw::new(0, "a record cut short", "48 bytes or more");
        let (header, _) = Header::read_from_prefix(&bytes).map_err(|_| short)?;
        if header.flags.get() & IN_USE == 0 {
            return Err(Flaw::new(22, "a record that is not in use", "one in use"));
        }
        let used = usize::try_from(header.used.get()).unwrap_or(usize::MAX);
        if used > bytes.len() {
            let limit = format!("at most {}", bytes.len());
            return Err(Flaw::new(24, format!("{used} bytes in use"), limit));
        }
        bytes.truncate(used);
        Ok(Record {
            number,
            sequence: header.sequence.get(),
            is_directory: header.flags.get() & DIRECTORY != 0,
            base: header.base.get() & REFERENCE_NUMBER,
            attributes_at: usize::from(header.attributes_at.get()),
            bytes,
        })
    }

    /// The attributes, one after another.
    pub(super) fn attributes(&self) -> Attributes<'_> {
        Attributes {
            record: &self.bytes,
            at: Some(self.attributes_at),
        }
    }

    /// The first attribute of that kind and name (UTF-16, little-endian) whose clusters start at `first`.
    pub(super) fn attribute(
        &self,
        kind: u32,
        name: &[u8],
        first: u64,
    ) -> Result<Option<Attribute<'_>>, Flaw> {
        for attribute in self.attributes() {
            let attribute = attribute?;
            if attribute.kind == kind
                && attribute.name()? == name
                && attribute.first_cluster()? == first
            {
                return Ok(Some(attribute));
            }
        }
        Ok(None)
    }
}

/// A reference to a record: its number, and the sequence number that it had then.
const REFERENCE_NUMBER: u64 = (1 << 48) - 1;

/// Splits a reference into number and sequence number.
pub(super) fn reference(raw: u64) -> (u64, u16) {
    // What is left after the shift fits.
    (
        raw & REFERENCE_NUMBER,
        u16::try_from(raw >> 48).unwrap_or(0),
    )
}

/// Walks over the attributes of a record. Every step is at least 16 bytes, so it ends with the record.
pub(super) struct Attributes<'r> {
    record: &'r [u8],
    at: Option<usize>,
}

impl<'r> Iterator for Attributes<'r> {
    type Item = Result<Attribute<'r>, Flaw>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at.take()?;
        let cut = || Some(Err(Flaw::new(at, "no attribute", "one, or the end mark")));
        let Some(kind) = u32_at(self.record, at) else {
            return cut();
        };
        if kind == END {
            return None;
        }
        let len = at.checked_add(4).and_then(|at| u32_at(self.record, at));
        let Some(len) = len.and_then(|len| usize::try_from(len).ok()) else {
            return cut();
        };
        let end = at.checked_add(len).filter(|_| len >= 16);
        let Some(bytes) = end.and_then(|end| self.record.get(at..end)) else {
            return Some(Err(Flaw::new(
                at.saturating_add(4),
                format!("an attribute of {len} bytes"),
                "16 or more, inside the record",
            )));
        };
        self.at = end;
        Some(Ok(Attribute { kind, at, bytes }))
    }
}

/// An attribute of a record.
#[derive(Clone, Copy)]
pub(super) struct Attribute<'r> {
    pub(super) kind: u32,
    /// Where it is in the record.
    pub(super) at: usize,
    bytes: &'r [u8],
}

/// The second half of the header of a non-resident attribute.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct NonResident {
    pub(super) first: U64,
    pub(super) last: U64,
    pub(super) runs_at: U16,
    pub(super) compression_unit: u8,
    unused: [u8; 5],
    pub(super) allocated: U64,
    pub(super) size: U64,
    pub(super) initialized: U64,
}

/// Where [`NonResident`] starts in the attribute.
const NON_RESIDENT_AT: usize = 16;

pub(super) const FLAGS: usize = 12;
pub(super) const VALUE_LEN: usize = 16;
pub(super) const ALLOCATED: usize = NON_RESIDENT_AT + core::mem::offset_of!(NonResident, allocated);
pub(super) const SIZE: usize = NON_RESIDENT_AT + core::mem::offset_of!(NonResident, size);
pub(super) const INITIALIZED: usize =
    NON_RESIDENT_AT + core::mem::offset_of!(NonResident, initialized);
pub(super) const REALLY_ALLOCATED: usize = 64;

impl<'r> Attribute<'r> {
    fn cut_short(&self) -> Flaw {
        Flaw::new(self.at, "an attribute cut short", "its header and value")
    }

    pub(super) fn is_resident(&self) -> bool {
        self.bytes.get(8) == Some(&0)
    }

    pub(super) fn flags(&self) -> u16 {
        // Every attribute has 16 bytes.
        u16_at(self.bytes, FLAGS)
            .and_then(|flags| u16::try_from(flags).ok())
            .unwrap_or(0)
    }

    fn name(&self) -> Result<&'r [u8], Flaw> {
        let len = usize::from(self.bytes.get(9).copied().unwrap_or(0)) * 2;
        let at = u16_at(self.bytes, 10).unwrap_or(0);
        if len == 0 {
            return Ok(&[]);
        }
        let name = self.bytes.get(at..at.saturating_add(len));
        name.ok_or_else(|| self.cut_short())
    }

    fn first_cluster(&self) -> Result<u64, Flaw> {
        if self.is_resident() {
            return Ok(0);
        }
        Ok(self.non_resident()?.first.get())
    }

    /// Where the value of a resident attribute is in the record, and the value.
    pub(super) fn value(&self) -> Result<(usize, &'r [u8]), Flaw> {
        let len = u32_at(self.bytes, VALUE_LEN).and_then(|len| usize::try_from(len).ok());
        let at = u16_at(self.bytes, 20);
        let (Some(len), Some(at)) = (len, at) else {
            return Err(self.cut_short());
        };
        let value = at
            .checked_add(len)
            .and_then(|end| self.bytes.get(at..end))
            .ok_or_else(|| self.cut_short())?;
        Ok((self.at.saturating_add(at), value))
    }

    pub(super) fn non_resident(&self) -> Result<NonResident, Flaw> {
        let rest = self.bytes.get(NON_RESIDENT_AT..).unwrap_or(&[]);
        let (header, _) = NonResident::read_from_prefix(rest).map_err(|_| self.cut_short())?;
        Ok(header)
    }

    /// What a compressed or sparse attribute really has allocated, when it says so.
    pub(super) fn really_allocated(&self) -> Option<u64> {
        let (value, _) = U64::read_from_prefix(self.bytes.get(REALLY_ALLOCATED..)?).ok()?;
        Some(value.get())
    }

    /// Where the runs are in the record, and their bytes up to the end of the attribute.
    pub(super) fn runs(&self, header: &NonResident) -> (usize, &'r [u8]) {
        let at = usize::from(header.runs_at.get());
        (
            self.at.saturating_add(at),
            self.bytes.get(at..).unwrap_or(&[]),
        )
    }
}
