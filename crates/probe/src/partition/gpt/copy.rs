//! One copy of a GPT: its header and its array of entries, and what is wrong with them.

use straddle_geometry::{Bytes, Extent, SectorSize};
use straddle_io::ReadError;
use straddle_stack::{Anomaly, AnomalyKind};
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::entry::RawEntry;
use crate::Window;

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct RawHeader {
    pub(super) signature: [u8; 8],
    pub(super) revision: U32,
    pub(super) len: U32,
    pub(super) crc: U32,
    pub(super) reserved: U32,
    pub(super) own_lba: U64,
    pub(super) other_lba: U64,
    pub(super) first_usable: U64,
    pub(super) last_usable: U64,
    pub(super) disk: [u8; 16],
    pub(super) entries_lba: U64,
    pub(super) entry_count: U32,
    pub(super) entry_size: U32,
    pub(super) entries_crc: U32,
}

pub(super) const SIGNATURE: [u8; 8] = *b"EFI PART";
/// Bytes of the header that are defined, and of an entry.
pub(super) const HEADER_LEN: u32 = 92;
pub(super) const ENTRY_LEN: u32 = 128;
/// Offsets in the header.
pub(super) const LEN_AT: u64 = 12;
pub(super) const CRC_AT: u64 = 16;
pub(super) const OWN_AT: u64 = 24;
pub(super) const OTHER_AT: u64 = 32;
pub(super) const DISK_AT: u64 = 56;
pub(super) const ENTRIES_AT: u64 = 72;
pub(super) const COUNT_AT: u64 = 80;
pub(super) const SIZE_AT: u64 = 84;
pub(super) const ENTRIES_CRC_AT: u64 = 88;
/// Most bytes of an array that are read: 1,024 entries of the usual size, eight times the usual number.
pub(super) const MAX_ARRAY: u64 = 128 << 10;
/// Largest entry that is read.
pub(super) const MAX_ENTRY: u32 = 4096;

/// How good a copy is: a bit for its header, one for its array. Later is better, and an intact header is worth more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    pub(super) header: bool,
    pub(super) array: bool,
}

impl State {
    pub(super) const INTACT: State = State {
        header: true,
        array: true,
    };
    pub(super) const LOST: State = State {
        header: false,
        array: false,
    };
}

/// One copy of the table.
pub(super) struct Table {
    pub(super) header: Header,
    pub(super) array: Array,
}

impl Table {
    pub(super) fn read(window: &Window<'_>, header: Header) -> Table {
        let array = Array::read(window, &header);
        Table { header, array }
    }

    pub(super) fn state(&self) -> State {
        State {
            header: self.header.faults.is_empty(),
            array: self.array.usable,
        }
    }

    pub(super) fn faults(&mut self) -> Vec<Anomaly> {
        let mut faults = std::mem::take(&mut self.header.faults);
        faults.append(&mut self.array.faults);
        faults
    }
}

/// A header with its signature.
pub(super) struct Header {
    pub(super) sector: SectorSize,
    pub(super) at: Bytes,
    pub(super) raw: RawHeader,
    /// What is wrong with it.
    pub(super) faults: Vec<Anomaly>,
}

impl Header {
    /// The header at `lba`; `None` when it is outside or there is none.
    pub(super) fn read(
        window: &Window<'_>,
        sector: SectorSize,
        lba: u64,
    ) -> Result<Option<Header>, ReadError> {
        let Some(at) = sector.sectors(lba).bytes() else {
            return Ok(None);
        };
        let inside = Extent::new(at, sector.unit().bytes())
            .is_some_and(|e| Extent::whole(window.size()).contains(e));
        if !inside || !window.matches(at.get(), &SIGNATURE)? {
            return Ok(None);
        }
        let raw: RawHeader = window.get(at.get())?;
        let mut header = Header {
            sector,
            at,
            raw,
            faults: Vec::new(),
        };
        header.check(window, lba)?;
        Ok(Some(header))
    }

    fn check(&mut self, window: &Window<'_>, lba: u64) -> Result<(), ReadError> {
        let (raw, at) = (self.raw, self.at.get());
        let len = raw.len.get();
        if len < HEADER_LEN || len > self.sector.get() || len > MAX_ENTRY {
            let detail = format!(
                "the GPT header at LBA {lba} records its length as {len} bytes; expected {HEADER_LEN} to {}",
                self.sector.get()
            );
            self.fault(window, detail, at + LEN_AT, 4);
            return Ok(());
        }
        let mut bytes = [0; MAX_ENTRY as usize];
        // At most 4,096.
        let bytes = &mut bytes[..usize::try_from(len).unwrap_or(0)];
        window.fill(at, bytes)?;
        bytes[16..20].fill(0);
        let crc = crc32fast::hash(bytes);
        if crc != raw.crc.get() {
            let detail = format!(
                "the GPT header at LBA {lba} records checksum {:08x}; its bytes have {crc:08x}",
                raw.crc
            );
            self.fault(window, detail, at + CRC_AT, 4);
        }
        if raw.own_lba.get() != lba {
            let detail = format!(
                "the GPT header at LBA {lba} records its own place as LBA {}",
                raw.own_lba
            );
            self.fault(window, detail, at + OWN_AT, 8);
        }
        Ok(())
    }

    fn fault(&mut self, window: &Window<'_>, detail: String, at: u64, len: usize) {
        let source = window.source(at, len);
        self.faults
            .push(Anomaly::at(AnomalyKind::Damaged, detail, source));
    }
}

/// The entries of one copy, as far as they are read.
pub(super) struct Array {
    pub(super) at: u64,
    pub(super) stride: usize,
    pub(super) bytes: Vec<u8>,
    /// Its checksum is right, or it is too long for one to be computed.
    pub(super) usable: bool,
    pub(super) faults: Vec<Anomaly>,
}

impl Array {
    pub(super) fn read(window: &Window<'_>, header: &Header) -> Array {
        let mut array = Array {
            at: 0,
            stride: 0,
            bytes: Vec::new(),
            usable: false,
            faults: Vec::new(),
        };
        let Err((kind, detail, field, len)) = array.fetch(window, header) else {
            return array;
        };
        let source = window.source(header.at.get() + field, len);
        array.faults.push(Anomaly::at(kind, detail, source));
        array
    }

    /// Reads the array; on failure what is wrong, and the field of the header that says so.
    fn fetch(
        &mut self,
        window: &Window<'_>,
        header: &Header,
    ) -> Result<(), (AnomalyKind, String, u64, usize)> {
        let raw = &header.raw;
        let (count, size) = (raw.entry_count.get(), raw.entry_size.get());
        let damaged = |detail, field, len| Err((AnomalyKind::Damaged, detail, field, len));
        if !(ENTRY_LEN..=MAX_ENTRY).contains(&size) || !size.is_power_of_two() {
            let detail = format!(
                "the GPT records entries of {size} bytes; expected 128, 256, 512 or another 128 × 2^n up to {MAX_ENTRY}"
            );
            return damaged(detail, SIZE_AT, 4);
        }
        let lba = raw.entries_lba.get();
        let at = header.sector.sectors(lba).bytes();
        // Sector 0 is the MBR's, sector 1 the header's.
        let Some(at) = at.filter(|at| lba >= 2 && *at < window.size()) else {
            let detail = format!(
                "the GPT records its entries at LBA {lba}; expected 2 to {}",
                last_lba(window, header.sector).unwrap_or(2)
            );
            return damaged(detail, ENTRIES_AT, 8);
        };
        (self.at, self.stride) = (at.get(), usize::try_from(size).unwrap_or(128));
        let whole = u64::from(count) * u64::from(size);
        // The array ends before the partitions or, in the backup, before the header.
        let end = [raw.first_usable.get(), raw.own_lba.get()]
            .into_iter()
            .filter(|end| *end > lba)
            .filter_map(|end| header.sector.sectors(end).bytes())
            .fold(window.size(), Bytes::min);
        let room = end.get().saturating_sub(at.get()) / u64::from(size) * u64::from(size);
        let take = whole.min(room).min(MAX_ARRAY);
        // Bounded by MAX_ARRAY.
        self.bytes = vec![0; usize::try_from(take).unwrap_or(0)];
        window.prefetch(at.get(), take);
        if let Err(error) = window.fill(at.get(), &mut self.bytes) {
            self.bytes.clear();
            let detail = format!("the entries of the GPT: {error}");
            return Err((AnomalyKind::Unreadable, detail, ENTRIES_AT, 8));
        }
        let entries = take / u64::from(size);
        if whole > room {
            let detail = format!(
                "the GPT records {count} entries of {size} bytes; {} fit between LBA {lba} and byte {}: the first {entries} are read",
                room / u64::from(size),
                end.get()
            );
            return damaged(detail, COUNT_AT, 4);
        }
        if whole > MAX_ARRAY {
            self.usable = true;
            let detail = format!(
                "the GPT has {count} entries of {size} bytes; the first {entries} are read, and their checksum is not verified"
            );
            return Err((AnomalyKind::LimitReached, detail, COUNT_AT, 4));
        }
        let crc = crc32fast::hash(&self.bytes);
        if crc != raw.entries_crc.get() {
            let detail = format!(
                "the GPT records checksum {:08x} for its entries; their bytes have {crc:08x}",
                raw.entries_crc
            );
            return damaged(detail, ENTRIES_CRC_AT, 4);
        }
        self.usable = true;
        Ok(())
    }
}

impl Table {
    /// The used entries: number, place, contents.
    pub(super) fn entries(&self) -> impl Iterator<Item = (u64, u64, RawEntry)> {
        let Array { at, stride, .. } = self.array;
        // A stride of zero belongs to an empty array.
        let chunks = self.array.bytes.chunks_exact(stride.max(1));
        (1_u64..).zip(chunks).filter_map(move |(number, bytes)| {
            let (entry, _) = RawEntry::read_from_prefix(bytes).ok()?;
            let offset = (number - 1).checked_mul(u64::try_from(stride).ok()?)?;
            (entry.kind != [0; 16]).then_some((number, at.checked_add(offset)?, entry))
        })
    }
}

pub(super) fn last_lba(window: &Window<'_>, sector: SectorSize) -> Option<u64> {
    let (sectors, _) = window.size().div_rem(sector.unit());
    sectors.checked_sub(1)
}
