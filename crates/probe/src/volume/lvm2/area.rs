//! A metadata area: its header, and the text that the header says is the newest, which may run over the end of the area and
//! go on behind the header.

use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, Source};
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::crc;
use super::label::Located;
use crate::Window;
use crate::record::{Place, Recorder, place};

const MAGIC: [u8; 16] = *b" LVM2 x[5A%r0N*>";
/// Length of the header; texts lie behind it.
const HEADER: u64 = 512;
/// The checksum covers the header from here on.
const SUMMED_FROM: usize = 4;
/// Longest text that is read: some 10,000 volumes. `vgcreate` warns far below.
pub(super) const MAX_TEXT: u64 = 4 << 20;
/// Flag of a location: the area is not kept up to date.
const IGNORED: u32 = 1;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Header {
    checksum: U32,
    magic: [u8; 16],
    version: U32,
    start: U64,
    size: U64,
    /// Where the text lies, counted from the start of the area.
    text_offset: U64,
    text_size: U64,
    text_checksum: U32,
    flags: U32,
}

/// Where a text lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    /// Start of the area in the window, and its length.
    start: u64,
    size: u64,
    offset: u64,
    len: u64,
    checksum: u32,
    /// Where the location stands in the window.
    at: u64,
}

/// What is known of one metadata area.
pub(super) enum Found {
    /// It says where its text lies.
    Text(Location),
    /// It has none: the physical volume belongs to no group, or keeps no metadata here.
    Empty,
    /// What it says is no use.
    Broken,
}

/// Reads the header of the area that `area` says is there.
pub(super) fn find(
    window: &Window<'_>,
    area: Located,
    say: &mut Recorder<'_>,
) -> Result<Found, ReadError> {
    let fits = area
        .offset
        .checked_add(area.size)
        .is_some_and(|end| end <= window.size().get());
    if area.size < HEADER || area.offset < HEADER || !fits {
        let detail = format!(
            "a metadata area of {} bytes at byte {}, in a device of {}",
            area.size,
            area.offset,
            window.size().grouped()
        );
        say.at_base(area.at, |say| {
            say.odd(AnomalyKind::Damaged, detail, Place::new(0, 16));
        });
        return Ok(Found::Broken);
    }
    let mut raw = [0; 512];
    window.fill(area.offset, &mut raw)?;
    let Ok((header, _)) = Header::read_from_prefix(&raw) else {
        return Ok(Found::Broken);
    };
    let mut found = Found::Broken;
    say.at_base(area.offset, |say| {
        if header.magic != MAGIC {
            let detail = format!(
                "no metadata area at byte {}: its signature is missing",
                area.offset
            );
            say.odd(AnomalyKind::Damaged, detail, place!(Header.magic));
            return;
        }
        let sum = raw.get(SUMMED_FROM..).map_or(0, crc::of);
        if header.checksum.get() != sum {
            let detail = format!(
                "the checksum of the metadata area at byte {} is {:#010x}, computed {sum:#010x}",
                area.offset,
                header.checksum.get()
            );
            say.odd(AnomalyKind::Damaged, detail, place!(Header.checksum));
        }
        if header.version.get() != 1 {
            let detail = format!(
                "a metadata area of version {}; version 1 is known",
                header.version.get()
            );
            say.odd(AnomalyKind::Damaged, detail, place!(Header.version));
            return;
        }
        if header.start.get() != area.offset || header.size.get() != area.size {
            let detail = format!(
                "the metadata area at byte {} calls itself {} bytes at byte {}",
                area.offset,
                header.size.get(),
                header.start.get()
            );
            say.odd(AnomalyKind::Damaged, detail, place!(Header.start));
        }
        found = header.location(area, say);
    });
    Ok(found)
}

impl Header {
    fn location(&self, area: Located, say: &mut Recorder<'_>) -> Found {
        let (offset, len) = (self.text_offset.get(), self.text_size.get());
        if offset == 0 || len == 0 || self.flags.get() & IGNORED != 0 {
            return Found::Empty;
        }
        let inside = offset >= HEADER && offset < area.size && len <= area.size - HEADER;
        if !inside {
            let detail = format!(
                "a text of {len} bytes at byte {offset} of a metadata area of {}",
                area.size
            );
            say.odd(AnomalyKind::Damaged, detail, place!(Header.text_offset));
            return Found::Broken;
        }
        if len > MAX_TEXT {
            let detail = format!(
                "metadata of {len} bytes; at most {MAX_TEXT} are read, so this volume group is not known"
            );
            say.odd(AnomalyKind::LimitReached, detail, place!(Header.text_size));
            return Found::Broken;
        }
        Found::Text(Location {
            start: area.offset,
            size: area.size,
            offset,
            len,
            checksum: self.text_checksum.get(),
            at: say.base() + u64::try_from(core::mem::offset_of!(Header, text_offset)).unwrap_or(0),
        })
    }
}

impl Location {
    /// Another area of the same group has the same text.
    pub(super) fn is_alike(&self, other: &Location) -> bool {
        (self.len, self.checksum) == (other.len, other.checksum)
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// How much of the text lies before the end of the area.
    fn first_part(&self) -> u64 {
        self.len.min(self.size - self.offset)
    }

    /// Where byte `at` of the text lies in the window.
    fn place(&self, at: u64) -> u64 {
        match at.checked_sub(self.first_part()) {
            None => self.start + self.offset + at,
            Some(over) => self.start + HEADER + over,
        }
    }

    /// The text.
    pub(super) fn read(&self, window: &Window<'_>) -> Result<Vec<u8>, ReadError> {
        // Bounded when the location was made.
        let mut text = vec![0; usize::try_from(self.len.min(MAX_TEXT)).unwrap_or(0)];
        let first = usize::try_from(self.first_part()).unwrap_or(0);
        let first = first.min(text.len());
        let (head, tail) = text.split_at_mut(first);
        window.fill(self.place(0), head)?;
        if !tail.is_empty() {
            window.fill(self.start + HEADER, tail)?;
        }
        Ok(text)
    }

    pub(super) fn sum_is_right(&self, text: &[u8]) -> bool {
        crc::of(text) == self.checksum
    }

    /// Where the checksum is written down in the window, and what it is.
    pub(super) fn checksum(&self) -> (u64, u32) {
        (self.at + 16, self.checksum)
    }

    /// Where byte `at` of the text lies in the window.
    pub(super) fn place_of(&self, at: usize) -> u64 {
        self.place(u64::try_from(at).unwrap_or(u64::MAX).min(self.len))
    }

    /// The `len` bytes at byte `at` of the text, as evidence.
    pub(super) fn source(&self, window: &Window<'_>, at: usize, len: usize) -> Source {
        window.source(self.place_of(at), len)
    }
}
