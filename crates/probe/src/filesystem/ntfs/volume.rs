//! An NTFS volume as records and streams.
//!
//! The MFT is a stream like any other: record 0 says where its runs are. When there are many, record 0 has an attribute
//! list, and the records that it names are found through the runs that are known so far.

use std::cell::{OnceCell, RefCell};

use straddle_geometry::Bytes;
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Geometry;
use super::record::{
    ALLOCATED, Attribute, FLAGS, INITIALIZED, REALLY_ALLOCATED, Record, SIZE, VALUE_LEN, reference,
};
use super::runs::{Placer, Trouble};
use crate::filesystem::content::Content;
use crate::find::Flaw;
use crate::{FindError, Window};

pub(super) const ATTRIBUTE_LIST: u32 = 0x20;
pub(super) const DATA: u32 = 0x80;
const MFT_RECORD: u64 = 0;
const UPCASE_RECORD: u64 = 10;

/// Windows limits attribute lists to this.
const MAX_LIST: u64 = 256 << 10;
/// Records are 1 or 4 KiB. This is also the limit for blocks of an index.
pub(super) const LARGEST_RECORD: u64 = 64 << 10;

const COMPRESSION: u16 = 0x00ff;
pub(super) const SPARSE: u16 = 0x8000;
pub(super) const ENCRYPTED: u16 = 0x4000;

/// An entry of an attribute list.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct ListEntry {
    kind: U32,
    len: U16,
    name_len: u8,
    name_at: u8,
    first: U64,
    record: U64,
    id: U16,
}

/// A part of an attribute: its clusters from `first` on are in a record of their own.
struct Piece {
    first: u64,
    record: u64,
    sequence: Option<u16>,
}

/// An attribute with all its parts.
pub(super) struct Stream {
    /// Where its header is in the window.
    at: u64,
    pub(super) flags: u16,
    pub(super) size: u64,
    pub(super) allocated: u64,
    pub(super) initialized: u64,
    /// The value itself, and where it is in the window, when it lies in the record.
    pub(super) resident: Option<(u64, Vec<u8>)>,
    /// Where it lies otherwise.
    pub(super) content: Content,
    pub(super) compressed: u64,
    pub(super) holes: u64,
    /// Where its first run that is not a hole is recorded in the window.
    pub(super) first_run: Option<(u64, usize)>,
}

impl Stream {
    fn field(&self, resident: (usize, usize), otherwise: (usize, usize)) -> (u64, usize) {
        let (at, len) = if self.resident.is_some() {
            resident
        } else {
            otherwise
        };
        // A position in a record.
        (self.at.saturating_add(u64::try_from(at).unwrap_or(0)), len)
    }

    /// Where its length is recorded.
    pub(super) fn size_field(&self) -> (u64, usize) {
        self.field((VALUE_LEN, 4), (SIZE, 8))
    }

    /// Where it is recorded what it has allocated; nothing when it is resident.
    pub(super) fn allocated_field(&self) -> (u64, usize) {
        let at = if self.flags & (SPARSE | COMPRESSION) != 0 {
            REALLY_ALLOCATED
        } else {
            ALLOCATED
        };
        self.field((8, 1), (at, 8))
    }

    pub(super) fn initialized_field(&self) -> (u64, usize) {
        self.field((VALUE_LEN, 4), (INITIALIZED, 8))
    }

    pub(super) fn flags_field(&self) -> (u64, usize) {
        self.field((FLAGS, 2), (FLAGS, 2))
    }

    pub(super) fn is_compressed(&self) -> bool {
        self.flags & COMPRESSION != 0
    }
}

pub(super) struct Volume<'a> {
    pub(super) window: &'a Window<'a>,
    pub(super) geometry: Geometry,
    /// Where the MFT lies, as far as is known.
    mft: Content,
    upcase: UpCase,
}

/// The volume's own table of upper-case letters: one UTF-16 unit for each. Read in pieces: most names need one.
#[derive(Default)]
struct UpCase {
    content: OnceCell<Content>,
    pages: RefCell<Vec<(u16, Box<[u8; UPCASE_PAGE]>)>>,
}

/// Bytes of the table that are read at once: 256 letters.
const UPCASE_PAGE: usize = 512;

impl<'a> Volume<'a> {
    pub(super) fn open(window: &'a Window<'a>) -> Result<Volume<'a>, FindError> {
        let absent = |detail: &str| FindError::NotThisFormat {
            format: "ntfs",
            detail: detail.to_owned(),
        };
        let geometry = super::geometry(window)?.ok_or_else(|| {
            absent("neither the first nor the last sector is an NTFS boot sector")
        })?;
        for size in [geometry.mft_record, geometry.index_record] {
            if !(512..=LARGEST_RECORD).contains(&size) {
                return Err(absent("its records are not between 512 bytes and 64 KiB"));
            }
        }
        let mut mft = Content::default();
        mft.push(0, geometry.mft, geometry.mft_record)?;
        let mut volume = Volume {
            window,
            geometry,
            mft,
            upcase: UpCase::default(),
        };
        volume.find_mft()?;
        Ok(volume)
    }

    /// Follows the MFT to all its parts.
    fn find_mft(&mut self) -> Result<(), FindError> {
        let base = self.record(MFT_RECORD)?;
        let pieces = self.pieces(&base, DATA, &[])?;
        let mut placer = None;
        for piece in pieces {
            let record = self.piece(&base, &piece)?;
            let record = record.as_ref().unwrap_or(&base);
            let attribute = self.part(record, DATA, &[], &piece)?;
            let header = attribute
                .non_resident()
                .map_err(|flaw| self.flaw(record.number, flaw))?;
            let (at, list) = attribute.runs(&header);
            let place = (record.number.saturating_mul(self.geometry.mft_record), at);
            let bounds = (header.first.get(), header.last.get());
            let placer = placer.get_or_insert_with(|| {
                // Up to now only this record was known.
                let (cluster, size) = (self.geometry.cluster, header.size.get());
                self.mft = Content::default();
                Placer::new(cluster, self.window.size().get(), size, None)
            });
            // What is known so far leads to the next part. It is lent, not copied: there may be very many parts.
            placer.content = std::mem::take(&mut self.mft);
            let added = placer.add(list, place, bounds);
            self.mft = std::mem::take(&mut placer.content);
            added.map_err(|trouble| self.trouble(record.number, trouble))?;
            if self.mft.locate(0).map(|(at, _)| at) != Some(self.geometry.mft) {
                let found = "runs of the MFT that do not begin with it";
                let expected = format!("a run at byte {}", self.geometry.mft);
                return Err(self.flaw(MFT_RECORD, Flaw::new(at, found, expected)));
            }
        }
        Ok(())
    }

    /// Reads a record.
    pub(super) fn record(&self, number: u64) -> Result<Record, FindError> {
        let size = self.geometry.mft_record;
        let offset = number.saturating_mul(size);
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        if self.mft.locate(offset).is_none() {
            return Err(FindError::Damaged {
                what: format!("reference to record {number} of the MFT, which"),
                offset: self.absolute(self.geometry.mft),
                found: "a number behind its end".to_owned(),
                expected: format!("less than {}", self.mft.end() / size),
            });
        }
        self.mft.fill(self.window, offset, &mut bytes)?;
        Record::new(number, bytes).map_err(|flaw| self.flaw(number, flaw))
    }

    /// Reads the record of a reference, which must still be the one that was meant.
    pub(super) fn referred(&self, raw: u64) -> Result<Record, FindError> {
        let (number, sequence) = reference(raw);
        let record = self.record(number)?;
        self.check_sequence(&record, sequence)?;
        Ok(record)
    }

    fn check_sequence(&self, record: &Record, sequence: u16) -> Result<(), FindError> {
        // Zero: whoever wrote the reference did not know.
        if sequence == 0 || sequence == record.sequence {
            return Ok(());
        }
        let found = format!("sequence number {}", record.sequence);
        let expected = format!("{sequence}, as in the reference to it");
        Err(self.flaw(record.number, Flaw::new(16, found, expected)))
    }

    fn absolute(&self, offset: u64) -> Bytes {
        let start = self.window.extent().start().get();
        Bytes::new(start.saturating_add(offset))
    }

    /// Where a byte of a record is in the window.
    fn place_of(&self, number: u64, at: usize) -> u64 {
        let at = u64::try_from(at).unwrap_or(u64::MAX);
        let offset = number.saturating_mul(self.geometry.mft_record);
        self.in_window(offset.saturating_add(at))
    }

    /// Where a byte of the MFT is in the window.
    fn in_window(&self, offset: u64) -> u64 {
        self.mft.locate(offset).map_or(0, |(at, _)| at)
    }

    pub(super) fn flaw(&self, number: u64, mut flaw: Flaw) -> FindError {
        let at = self.place_of(number, flaw.at);
        flaw.at = 0;
        flaw.inside(self.window, at, format!("record {number} of the MFT"))
    }

    fn trouble(&self, number: u64, trouble: Trouble) -> FindError {
        match trouble {
            Trouble::Flaw(flaw) => self.flaw(number, flaw),
            Trouble::Error(error) => error,
        }
    }

    /// The parts of an attribute: in the record itself, or as the attribute list says. None: there is no such attribute.
    fn pieces(&self, base: &Record, kind: u32, name: &[u8]) -> Result<Vec<Piece>, FindError> {
        let flaw = |flaw| self.flaw(base.number, flaw);
        let list = base.attribute(ATTRIBUTE_LIST, &[], 0).map_err(flaw)?;
        let Some(list) = list.filter(|_| kind != ATTRIBUTE_LIST) else {
            let found = base.attribute(kind, name, 0).map_err(flaw)?;
            let only = Piece {
                first: 0,
                record: base.number,
                sequence: None,
            };
            return Ok(found.map(|_| only).into_iter().collect());
        };
        let (at, bytes) = self.list(base, &list)?;
        let mut pieces = Vec::new();
        let mut pos = 0;
        while pos < bytes.len() {
            let rest = bytes.get(pos..).unwrap_or(&[]);
            let entry = ListEntry::read_from_prefix(rest)
                .ok()
                .map(|(entry, _)| entry);
            // At least the fixed part: the loop ends with the list.
            let entry = entry.filter(|e| usize::from(e.len.get()) >= size_of::<ListEntry>());
            let Some(entry) = entry else {
                let expected = format!("{} or more, inside the list", size_of::<ListEntry>());
                let flaw = Flaw::new(pos, "an entry that is too short", expected);
                return Err(flaw.inside(self.window, at, "attribute list"));
            };
            let name_at = usize::from(entry.name_at);
            let name_end = name_at + 2 * usize::from(entry.name_len);
            let named = if entry.name_len == 0 {
                Some(&[][..])
            } else {
                rest.get(name_at..name_end)
            };
            if entry.kind.get() == kind && named == Some(name) {
                let (record, sequence) = reference(entry.record.get());
                pieces.push(Piece {
                    first: entry.first.get(),
                    record,
                    sequence: Some(sequence),
                });
            }
            pos += usize::from(entry.len.get());
        }
        Ok(pieces)
    }

    /// The attribute list, and where it begins in the window.
    fn list(&self, base: &Record, list: &Attribute<'_>) -> Result<(u64, Vec<u8>), FindError> {
        let flaw = |flaw| self.flaw(base.number, flaw);
        if list.is_resident() {
            let (at, value) = list.value().map_err(flaw)?;
            return Ok((self.place_of(base.number, at), value.to_vec()));
        }
        let header = list.non_resident().map_err(flaw)?;
        let size = header.size.get();
        if size > MAX_LIST {
            let found = format!("an attribute list of {size} bytes");
            let expected = format!("at most {MAX_LIST}");
            return Err(flaw(Flaw::new(list.at, found, expected)));
        }
        let mut placer = Placer::new(self.geometry.cluster, self.window.size().get(), size, None);
        self.place(&mut placer, base, list)?;
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        placer.content.fill(self.window, 0, &mut bytes)?;
        let at = placer.content.locate(0).map_or(0, |(at, _)| at);
        Ok((at, bytes))
    }

    /// The record that a part of an attribute of `base` is in; `None` when it is `base` itself.
    fn piece(&self, base: &Record, piece: &Piece) -> Result<Option<Record>, FindError> {
        if piece.record == base.number {
            return Ok(None);
        }
        let record = self.record(piece.record)?;
        if let Some(sequence) = piece.sequence {
            self.check_sequence(&record, sequence)?;
        }
        if record.base != base.number {
            let found = format!("an extension of record {}", record.base);
            let flaw = Flaw::new(32, found, format!("one of record {}", base.number));
            return Err(self.flaw(record.number, flaw));
        }
        Ok(Some(record))
    }

    fn part<'r>(
        &self,
        record: &'r Record,
        kind: u32,
        name: &[u8],
        piece: &Piece,
    ) -> Result<Attribute<'r>, FindError> {
        let found = record.attribute(kind, name, piece.first);
        let found = found.map_err(|flaw| self.flaw(record.number, flaw))?;
        found.ok_or_else(|| {
            let expected = format!(
                "attribute {kind:#x} from cluster {} on, as the attribute list says",
                piece.first
            );
            self.flaw(record.number, Flaw::new(0, "no such attribute", expected))
        })
    }

    /// Adds the runs of a part.
    fn place(
        &self,
        placer: &mut Placer,
        record: &Record,
        part: &Attribute<'_>,
    ) -> Result<(), FindError> {
        let header = part
            .non_resident()
            .map_err(|flaw| self.flaw(record.number, flaw))?;
        let (at, list) = part.runs(&header);
        let start = record.number.saturating_mul(self.geometry.mft_record);
        placer
            .add(list, (start, at), (header.first.get(), header.last.get()))
            .map_err(|trouble| self.trouble(record.number, trouble))
    }

    /// An attribute with all its parts; `None` when the record has no such attribute.
    pub(super) fn stream(
        &self,
        base: &Record,
        kind: u32,
        name: &[u8],
    ) -> Result<Option<Stream>, FindError> {
        let mut stream: Option<(Stream, Placer)> = None;
        for piece in self.pieces(base, kind, name)? {
            let record = self.piece(base, &piece)?;
            let record = record.as_ref().unwrap_or(base);
            let part = self.part(record, kind, name, &piece)?;
            let at = self.place_of(record.number, part.at);
            let flaw = |flaw| self.flaw(record.number, flaw);
            if part.is_resident() {
                let (value_at, value) = part.value().map_err(flaw)?;
                let len = u64::try_from(value.len()).unwrap_or(u64::MAX);
                return Ok(Some(Stream {
                    at,
                    flags: part.flags(),
                    size: len,
                    allocated: 0,
                    initialized: len,
                    resident: Some((self.place_of(record.number, value_at), value.to_vec())),
                    content: Content::default(),
                    compressed: 0,
                    holes: 0,
                    first_run: None,
                }));
            }
            let (_, placer) = match &mut stream {
                Some(stream) => stream,
                none => none.insert(self.start(at, &part).map_err(flaw)?),
            };
            self.place(placer, record, &part)?;
        }
        let Some((mut stream, mut placer)) = stream else {
            return Ok(None);
        };
        placer.finish()?;
        if placer.covered() < stream.size {
            let found = format!("runs of {} bytes", placer.covered());
            let flaw = Flaw::new(0, found, format!("{}, its length", stream.size));
            return Err(flaw.inside(self.window, stream.at, "attribute"));
        }
        stream.first_run = placer.first.map(|(at, len)| (self.in_window(at), len));
        stream.compressed = placer.compressed;
        stream.holes = placer.holes;
        stream.content = placer.content;
        Ok(Some(stream))
    }

    /// What the first part of an attribute says of the whole.
    fn start(&self, at: u64, part: &Attribute<'_>) -> Result<(Stream, Placer), Flaw> {
        let header = part.non_resident()?;
        let size = header.size.get();
        let flags = part.flags();
        let compressed = flags & COMPRESSION != 0;
        if compressed && !(1..=8).contains(&header.compression_unit) {
            let found = format!("a compression unit of 2^{}", header.compression_unit);
            return Err(Flaw::new(
                part.at + 34,
                found,
                "2^1 to 2^8 clusters, usually 2^4",
            ));
        }
        let unit = compressed.then(|| 1 << header.compression_unit);
        let allocated = match part.really_allocated() {
            Some(allocated) if flags & (SPARSE | COMPRESSION) != 0 => allocated,
            _ => header.allocated.get(),
        };
        let stream = Stream {
            at,
            flags,
            size,
            allocated,
            initialized: header.initialized.get(),
            resident: None,
            content: Content::default(),
            compressed: 0,
            holes: 0,
            first_run: None,
        };
        let placer = Placer::new(self.geometry.cluster, self.window.size().get(), size, unit);
        Ok((stream, placer))
    }

    /// The upper-case form of a UTF-16 unit, by the volume's own table.
    pub(super) fn upper(&self, unit: u16) -> Result<u16, FindError> {
        let number = unit >> 8;
        let at = usize::from(unit & 0xff) * 2;
        let letter = |page: &[u8; UPCASE_PAGE]| {
            let bytes = [page.get(at), page.get(at + 1)].map(|byte| byte.copied().unwrap_or(0));
            u16::from_le_bytes(bytes)
        };
        let known = self.upcase.pages.borrow();
        if let Some((_, page)) = known.iter().find(|(n, _)| *n == number) {
            return Ok(letter(page));
        }
        drop(known);
        let content = match self.upcase.content.get() {
            Some(content) => content,
            None => {
                let record = self.record(UPCASE_RECORD)?;
                let stream = self.stream(&record, DATA, &[])?;
                // Two bytes for each of 65,536 letters.
                let stream = stream.filter(|s| s.size == 131_072 && s.resident.is_none());
                let content = stream.map(|stream| stream.content).ok_or_else(|| {
                    let found = "no table of 131,072 bytes";
                    let flaw = Flaw::new(0, found, "$UpCase, by which names are compared");
                    self.flaw(UPCASE_RECORD, flaw)
                })?;
                self.upcase.content.get_or_init(|| content)
            }
        };
        let mut page = Box::new([0; UPCASE_PAGE]);
        let offset = u64::from(number) * 512;
        content.fill(self.window, offset, page.as_mut_slice())?;
        let upper = letter(&page);
        // At most 256 of them.
        self.upcase.pages.borrow_mut().push((number, page));
        Ok(upper)
    }
}
