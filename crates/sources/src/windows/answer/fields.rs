//! The fields of one structure in an answer.

use straddle_geometry::{Bytes, SectorSize};
use uuid::Uuid;

use super::{BadAnswer, Problem};

/// Windows' name of a field, and where it starts in its structure.
pub(super) type Field = (&'static str, usize);

/// The bytes that are read as one structure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    structure: &'static str,
    bytes: &'a [u8],
    /// Where they start in the answer, for messages.
    start: usize,
}

impl<'a> Fields<'a> {
    pub(super) const fn new(structure: &'static str, bytes: &'a [u8]) -> Fields<'a> {
        Fields {
            structure,
            bytes,
            start: 0,
        }
    }

    /// A structure that begins with `Version` and `Size`. What lies past `Size` was not written by whoever answered.
    ///
    /// `Version` is not compared with anything: it grows with the system, drivers set it to what they like, and it says nothing that
    /// `Size` does not.
    pub(super) fn sized(
        structure: &'static str,
        bytes: &'a [u8],
        min: usize,
        expected: &'static str,
    ) -> Result<Fields<'a>, BadAnswer> {
        let all = Fields::new(structure, bytes);
        let size = all.u32(("Size", 4))?;
        // On a system where it does not fit it is more than any buffer.
        let size_here = usize::try_from(size).unwrap_or(usize::MAX);
        if size_here < min {
            return Err(all.unexpected(("Size", 4), size.into(), expected));
        }
        Ok(Fields {
            bytes: bytes.get(..size_here).unwrap_or(bytes),
            ..all
        })
    }

    /// The structure that starts at `at` of this one, as far as there are bytes.
    pub(super) fn part(self, structure: &'static str, at: usize) -> Fields<'a> {
        Fields {
            structure,
            bytes: self.bytes.get(at..).unwrap_or(&[]),
            start: self.start.saturating_add(at),
        }
    }

    /// The structures of `size` bytes that lie one after another from `at` on: those of `count` that are there as a whole, and how
    /// many are not.
    pub(super) fn list(
        self,
        structure: &'static str,
        at: usize,
        size: usize,
        count: u32,
    ) -> (impl Iterator<Item = Fields<'a>>, u32) {
        let rest = self.bytes.get(at..).unwrap_or(&[]);
        let room = u32::try_from(rest.len() / size.max(1)).unwrap_or(u32::MAX);
        let there = count.min(room);
        let each = rest.chunks_exact(size.max(1)).zip(0..there);
        let start = self.start.saturating_add(at);
        let each = each.enumerate().map(move |(n, (bytes, _))| Fields {
            structure,
            bytes,
            start: start.saturating_add(n.saturating_mul(size)),
        });
        (each, count - there)
    }

    pub(super) const fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Where it starts in the answer.
    pub(super) const fn start(self) -> usize {
        self.start
    }

    pub(super) const fn len(self) -> usize {
        self.bytes.len()
    }

    pub(super) fn has(self, end: usize) -> bool {
        self.bytes.len() >= end
    }

    pub(super) fn array<const N: usize>(self, field: Field) -> Result<[u8; N], BadAnswer> {
        let found = field
            .1
            .checked_add(N)
            .and_then(|end| self.bytes.get(field.1..end))
            .and_then(|bytes| bytes.try_into().ok());
        found.ok_or_else(|| {
            let len = self.start.saturating_add(self.bytes.len());
            self.bad(field, Problem::PastTheEnd { len })
        })
    }

    pub(super) fn u8(self, field: Field) -> Result<u8, BadAnswer> {
        self.array(field).map(u8::from_le_bytes)
    }

    pub(super) fn u16(self, field: Field) -> Result<u16, BadAnswer> {
        self.array(field).map(u16::from_le_bytes)
    }

    pub(super) fn u32(self, field: Field) -> Result<u32, BadAnswer> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(super) fn u64(self, field: Field) -> Result<u64, BadAnswer> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// A `BOOLEAN`: anything but zero is true.
    pub(super) fn flag(self, field: Field) -> Result<bool, BadAnswer> {
        self.u8(field).map(|byte| byte != 0)
    }

    /// A `LARGE_INTEGER` that counts something.
    pub(super) fn count(self, field: Field) -> Result<u64, BadAnswer> {
        let signed = self.array(field).map(i64::from_le_bytes)?;
        u64::try_from(signed).map_err(|_| self.bad(field, Problem::Negative(signed)))
    }

    /// A `LARGE_INTEGER` in bytes.
    pub(super) fn length(self, field: Field) -> Result<Bytes, BadAnswer> {
        self.count(field).map(Bytes::new)
    }

    pub(super) fn sector(self, field: Field) -> Result<SectorSize, BadAnswer> {
        let size = self.u32(field)?;
        SectorSize::new(size)
            .ok_or_else(|| self.unexpected(field, size.into(), "the length of a sector in bytes"))
    }

    pub(super) fn guid(self, field: Field) -> Result<Uuid, BadAnswer> {
        self.array(field).map(Uuid::from_bytes_le)
    }

    pub(super) const fn bad(self, field: Field, problem: Problem) -> BadAnswer {
        BadAnswer {
            structure: self.structure,
            field: field.0,
            at: self.start.saturating_add(field.1),
            problem,
        }
    }

    pub(super) const fn unexpected(
        self,
        field: Field,
        found: u64,
        expected: &'static str,
    ) -> BadAnswer {
        self.bad(field, Problem::Unexpected { found, expected })
    }
}

/// What a device writes into a field of fixed width or up to a zero: ASCII, padded with blanks. `None` when it is empty.
pub(super) fn ascii(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0);
    let text = String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
