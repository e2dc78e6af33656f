//! GPT: a header and an array of entries at each end of a disk, behind a protective MBR.
//!
//! ```text
//! LBA 1      header: "EFI PART", revision (4), length (4), CRC (4), 0 (4), own LBA (8), LBA of the other copy (8),
//!            first usable LBA (8), last (8), disk GUID (16), LBA of the entries (8), their number (4), the size of
//!            one (4), CRC of all of them (4)
//! LBA 2 …    entries: type GUID (16), GUID (16), first LBA (8), last LBA (8), flags (8), name in UTF-16 (72)
//! last LBA   the same header, its entries before it
//! ```
//!
//! The place of the header gives the sector size away that the table was written for: LBA 1 is byte 512 or 4,096 (or
//! 520, 528, 2,048). The table is read with that size even when the device has another.
//!
//! A header is intact when its length, its checksum and its own LBA are right; an array is when its checksum is. The
//! primary copy is used unless the backup is in a better state. When the primary is wholly intact, only the header of
//! the backup is read: it records the checksum of its array. A GPT counts only where the MBR does not contradict it: a
//! boot record with partitions and without a protective entry is what systems read, so it is left to the MBR prober.
//!
//! Source: UEFI 2.10, 5.3. An entry may be 128 × 2ⁿ bytes; sizes above 4,096 are refused.

use straddle_geometry::{Bytes, Extent, SectorSize};
use straddle_io::{ReadError, ReadErrorKind};
use straddle_stack::{Attribute, Key, Oddity, OddityKind, Value};
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Slot, mbr};
use crate::inspect::holds_a_filesystem;
use crate::{Class, Detected, Nesting, Prober, Window};

/// Without a magic: where only the backup is left, nothing at the beginning tells.
pub(crate) static PROBER: Prober = Prober {
    name: "gpt",
    class: Class::Table,
    min_size: 2048,
    magics: &[],
    probe,
};

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawHeader {
    signature: [u8; 8],
    revision: U32,
    len: U32,
    crc: U32,
    reserved: U32,
    own_lba: U64,
    other_lba: U64,
    first_usable: U64,
    last_usable: U64,
    disk: [u8; 16],
    entries_lba: U64,
    entry_count: U32,
    entry_size: U32,
    entries_crc: U32,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawEntry {
    kind: [u8; 16],
    id: [u8; 16],
    first: U64,
    last: U64,
    flags: U64,
    name: [U16; 36],
}

const SIGNATURE: [u8; 8] = *b"EFI PART";
/// Bytes of the header that are defined, and of an entry.
const HEADER_LEN: u32 = 92;
const ENTRY_LEN: u32 = 128;
/// Offsets in the header.
const LEN_AT: u64 = 12;
const CRC_AT: u64 = 16;
const OWN_AT: u64 = 24;
const OTHER_AT: u64 = 32;
const DISK_AT: u64 = 56;
const ENTRIES_AT: u64 = 72;
const COUNT_AT: u64 = 80;
const SIZE_AT: u64 = 84;
const ENTRIES_CRC_AT: u64 = 88;
/// Most bytes of an array that are read: 1,024 entries of the usual size, eight times the usual number.
const MOST_ARRAY: u64 = 128 << 10;
/// Largest entry that is read.
const MOST_ENTRY: u32 = 4096;

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let mbr = mbr::table(window)?;
    let used = |e: &&mbr::Entry| e.is_used();
    let protected = mbr.is_some_and(|t| t.iter().filter(used).any(|e| e.kind == mbr::PROTECTIVE));
    if !protected && mbr.is_some_and(|t| t.iter().any(|e| e.is_used())) {
        return Ok(None);
    }
    let mut out = Detected::default();
    let primary = primary(window, &mut out)?;
    let better = if primary.as_ref().is_some_and(|p| p.state() == State::INTACT) {
        None
    } else {
        match backup_instead(window, primary.as_ref()) {
            Ok(backup) => backup,
            // Without any sign of a GPT, the end of a failing disk is no concern of this prober.
            Err(error) if primary.is_some() || protected => {
                unreadable(&mut out, "its backup", &error);
                None
            }
            Err(_) => None,
        }
    };
    let chosen = match (primary, better) {
        (None, None) => return Ok(None),
        (None, Some(backup)) => {
            // What remains of a GPT behind a filesystem that was made on the whole disk later.
            if !protected && holds_a_filesystem(window) {
                return Ok(None);
            }
            let detail = format!(
                "there is no primary header at LBA 1; the backup at LBA {}, byte {}, is used",
                backup.header.raw.own_lba,
                backup.header.at.get()
            );
            out.odd(
                window,
                OddityKind::UnusualPlace,
                detail,
                backup.header.at.get(),
                8,
            );
            backup
        }
        (Some(mut primary), Some(backup)) if backup.state() > primary.state() => {
            out.oddities.append(&mut primary.faults());
            let detail = format!(
                "the primary copy is damaged; the backup at LBA {} is used",
                backup.header.raw.own_lba
            );
            out.odd(
                window,
                OddityKind::CopiesDiffer,
                detail,
                backup.header.at.get(),
                8,
            );
            backup
        }
        (Some(primary), _) => {
            compare_backup(window, &primary.header, &mut out);
            primary
        }
    };
    if let (Some(table), true) = (mbr, protected) {
        compare_mbr(window, &table, &chosen, &mut out);
    } else {
        let detail = "the GPT has no protective MBR; expected an entry of type ee in sector 0, without which most systems ignore the GPT";
        out.odd(window, OddityKind::Damaged, detail, mbr::ENTRIES_AT, 16);
    }
    report(window, chosen, &mut out);
    Ok(Some(out))
}

/// How good a copy is: a bit for its header, one for its array. Later is better, and an intact header is worth more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    header: bool,
    array: bool,
}

impl State {
    const INTACT: State = State {
        header: true,
        array: true,
    };
    const LOST: State = State {
        header: false,
        array: false,
    };
}

/// One copy of the table.
struct Table {
    header: Header,
    array: Array,
}

impl Table {
    fn read(window: &Window<'_>, header: Header) -> Table {
        let array = Array::read(window, &header);
        Table { header, array }
    }

    fn state(&self) -> State {
        State {
            header: self.header.faults.is_empty(),
            array: self.array.usable,
        }
    }

    fn faults(&mut self) -> Vec<Oddity> {
        let mut faults = std::mem::take(&mut self.header.faults);
        faults.append(&mut self.array.faults);
        faults
    }
}

/// A header with its signature.
struct Header {
    sector: SectorSize,
    at: Bytes,
    raw: RawHeader,
    /// What is wrong with it.
    faults: Vec<Oddity>,
}

impl Header {
    /// The header at `lba`; `None` when it is outside or there is none.
    fn read(
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
        if len < HEADER_LEN || len > self.sector.get() || len > MOST_ENTRY {
            let detail = format!(
                "the GPT header at LBA {lba} records its length as {len} bytes; expected {HEADER_LEN} to {}",
                self.sector.get()
            );
            self.fault(window, detail, at + LEN_AT, 4);
            return Ok(());
        }
        let mut bytes = [0; MOST_ENTRY as usize];
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
            .push(Oddity::at(OddityKind::Damaged, detail, source));
    }
}

/// The entries of one copy, as far as they are read.
struct Array {
    at: u64,
    stride: usize,
    bytes: Vec<u8>,
    /// Its checksum is right, or it is too long for one to be computed.
    usable: bool,
    faults: Vec<Oddity>,
}

impl Array {
    fn read(window: &Window<'_>, header: &Header) -> Array {
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
        array.faults.push(Oddity::at(kind, detail, source));
        array
    }

    /// Reads the array; on failure what is wrong, and the field of the header that says so.
    fn fetch(
        &mut self,
        window: &Window<'_>,
        header: &Header,
    ) -> Result<(), (OddityKind, String, u64, usize)> {
        let raw = &header.raw;
        let (count, size) = (raw.entry_count.get(), raw.entry_size.get());
        let damaged = |detail, field, len| Err((OddityKind::Damaged, detail, field, len));
        if !(ENTRY_LEN..=MOST_ENTRY).contains(&size) || !size.is_power_of_two() {
            let detail = format!(
                "the GPT records entries of {size} bytes; expected 128, 256, 512 or another 128 × 2^n up to {MOST_ENTRY}"
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
        let take = whole.min(room).min(MOST_ARRAY);
        // Bounded by MOST_ARRAY.
        self.bytes = vec![0; usize::try_from(take).unwrap_or(0)];
        window.prefetch(at.get(), take);
        if let Err(error) = window.fill(at.get(), &mut self.bytes) {
            self.bytes.clear();
            let detail = format!("the entries of the GPT: {error}");
            return Err((OddityKind::Unreadable, detail, ENTRIES_AT, 8));
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
        if whole > MOST_ARRAY {
            self.usable = true;
            let detail = format!(
                "the GPT has {count} entries of {size} bytes; the first {entries} are read, and their checksum is not verified"
            );
            return Err((OddityKind::LimitReached, detail, COUNT_AT, 4));
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

/// The sector sizes to try: the device's own, then the usual ones, then those of disks with protection information.
fn sector_sizes(window: &Window<'_>) -> impl Iterator<Item = SectorSize> {
    let own = window.sector();
    let others = [512, 4096, 2048, 520, 528].into_iter();
    let others = others.filter_map(SectorSize::new);
    own.into_iter()
        .chain(others.filter(move |size| Some(*size) != own))
}

fn last_lba(window: &Window<'_>, sector: SectorSize) -> Option<u64> {
    let (sectors, _) = window.size().div_rem(sector.unit());
    sectors.checked_sub(1)
}

/// The copy at LBA 1: the first intact one, else the first with a signature. All places lie in one or two pages.
fn primary(window: &Window<'_>, out: &mut Detected) -> Result<Option<Table>, ReadError> {
    let mut best: Option<Header> = None;
    for sector in sector_sizes(window) {
        let Some(header) = Header::read(window, sector, 1)? else {
            continue;
        };
        match &best {
            Some(best) if best.faults.is_empty() && header.faults.is_empty() => {
                let detail = format!(
                    "intact GPT headers stand at LBA 1 of sectors of {} and of {sector}; the first is used",
                    best.sector
                );
                let at = header.at.get();
                out.odd(window, OddityKind::Ambiguous, detail, at, 8);
            }
            Some(best) if best.faults.is_empty() || !header.faults.is_empty() => {}
            _ => best = Some(header),
        }
    }
    Ok(best.map(|header| Table::read(window, header)))
}

/// The backup copy, looked for because the primary is not in order: where it says, and at the last LBA.
fn backup_instead(
    window: &Window<'_>,
    primary: Option<&Table>,
) -> Result<Option<Table>, ReadError> {
    let (said, sizes): (_, Vec<SectorSize>) = match primary {
        Some(table) => (
            Some(table.header.raw.other_lba.get()),
            vec![table.header.sector],
        ),
        None => (None, sector_sizes(window).collect()),
    };
    for sector in sizes {
        for lba in last_lba(window, sector).into_iter().chain(said) {
            // The header at LBA 1 is the primary, whatever it says of itself.
            let header = match Header::read(window, sector, lba) {
                Ok(header) => header.filter(|h| lba > 1 && h.faults.is_empty()),
                Err(error) if is_past_end(&error) => None,
                Err(error) => return Err(error),
            };
            if let Some(header) = header {
                return Ok(Some(Table::read(window, header)));
            }
        }
    }
    Ok(None)
}

fn is_past_end(error: &ReadError) -> bool {
    matches!(error.kind, ReadErrorKind::PastEnd { .. })
}

fn unreadable(out: &mut Detected, what: &str, error: &ReadError) {
    let detail = format!("while looking at the GPT and {what}: {error}");
    out.oddities
        .push(Oddity::new(OddityKind::Unreadable, detail));
}

/// Compares the header of the backup with that of the primary, which is used.
fn compare_backup(window: &Window<'_>, primary: &Header, out: &mut Detected) {
    let lba = primary.raw.other_lba.get();
    let field = primary.at.get() + OTHER_AT;
    let last = last_lba(window, primary.sector).unwrap_or(0);
    let mut odd = |kind, detail: String| out.odd(window, kind, detail, field, 8);
    if lba <= 1 || lba > last {
        let detail = format!(
            "the GPT records its backup at LBA {lba}; expected the last LBA, {last}: the image is cut short or the table was copied from another disk"
        );
        odd(OddityKind::CopiesDiffer, detail);
        return;
    }
    if lba < last {
        let detail = format!(
            "the GPT records its backup at LBA {lba}, but the last LBA is {last}: the disk has grown since"
        );
        odd(OddityKind::UnusualPlace, detail);
    }
    let backup = match Header::read(window, primary.sector, lba) {
        Ok(Some(backup)) => backup,
        Ok(None) => {
            let detail = format!("there is no backup header at LBA {lba}; expected EFI PART");
            odd(OddityKind::CopiesDiffer, detail);
            return;
        }
        Err(error) => {
            unreadable(out, "its backup", &error);
            return;
        }
    };
    for fault in backup.faults {
        out.oddities.push(Oddity {
            kind: OddityKind::CopiesDiffer,
            ..fault
        });
    }
    let (a, b) = (&primary.raw, &backup.raw);
    let at = backup.at.get();
    let same = [
        (a.disk == b.disk, "disk GUID", DISK_AT, 16),
        (a.first_usable == b.first_usable, "first usable LBA", 40, 8),
        (a.last_usable == b.last_usable, "last usable LBA", 48, 8),
        (
            a.entry_count == b.entry_count,
            "number of entries",
            COUNT_AT,
            4,
        ),
        (a.entry_size == b.entry_size, "size of an entry", SIZE_AT, 4),
        (
            a.entries_crc == b.entries_crc,
            "checksum of the entries",
            ENTRIES_CRC_AT,
            4,
        ),
    ];
    for (_, what, offset, len) in same.into_iter().filter(|(same, ..)| !same) {
        let detail = format!(
            "the backup at LBA {lba} differs from the primary, which is used, in its {what}"
        );
        out.odd(window, OddityKind::CopiesDiffer, detail, at + offset, len);
    }
}

/// Compares what a hybrid MBR says besides its protective entry with the GPT.
fn compare_mbr(window: &Window<'_>, table: &[mbr::Entry; 4], chosen: &Table, out: &mut Detected) {
    for (index, entry) in (0_u64..).zip(table) {
        if !entry.is_used() || entry.kind == mbr::PROTECTIVE {
            continue;
        }
        let (first, sectors) = (u64::from(entry.first.get()), u64::from(entry.sectors.get()));
        let last = first + sectors - 1;
        let same = chosen
            .entries()
            .find(|(_, _, e)| e.first.get() == first && e.last.get() == last);
        let detail = match same {
            Some((number, ..)) => format!(
                "entry {} of the MBR (type {:02x}) describes the same sectors as partition {number} of the GPT",
                index + 1,
                entry.kind
            ),
            None => format!(
                "entry {} of the MBR (type {:02x}) describes LBA {first} to {last}, which is no partition of the GPT",
                index + 1,
                entry.kind
            ),
        };
        let at = mbr::ENTRIES_AT + index * mbr::ENTRY_LEN;
        out.odd(window, OddityKind::HybridTable, detail, at, 16);
    }
}

impl Table {
    /// The used entries: number, place, contents.
    fn entries(&self) -> impl Iterator<Item = (u64, u64, RawEntry)> {
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

/// What the chosen copy says.
fn report(window: &Window<'_>, mut table: Table, out: &mut Detected) {
    // Entries that nothing vouches for would be noise read as positions.
    let lost = table.state() == State::LOST;
    out.oddities.append(&mut table.faults());
    let header = &table.header;
    let (sector, at) = (header.sector, header.at.get());
    let size = Value::Bytes(sector.unit().bytes());
    out.record(window, Key::TableSectorSize, size, at, 8);
    out.record_text(
        window,
        Key::TableId,
        guid(&header.raw.disk),
        at + DISK_AT,
        16,
    );
    if let Some(device) = window.sector().filter(|device| *device != sector) {
        let detail = format!(
            "the GPT was written for sectors of {sector}, the device has {device}: its header stands at byte {at}, LBA {} of the table",
            header.raw.own_lba
        );
        out.odd(window, OddityKind::ForeignSectorSize, detail, at, 8);
    }
    if lost {
        return;
    }
    for (number, at, entry) in table.entries() {
        partition(window, &table.header, number, at, &entry, out);
    }
}

fn partition(
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
        out.odd(window, OddityKind::Damaged, detail, at + 32, 16);
        return;
    };
    let slot = Slot {
        name: format!("partition {number}"),
        number,
        extent,
        kind: guid(&entry.kind),
        kind_at: (at, 16),
        first,
        first_at: (at + 32, 8),
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
            .oddities
            .push(Oddity::at(OddityKind::Damaged, detail, source));
    }
    out.children.push(child);
}

/// A GUID as tools print it: the first three groups are stored with their low byte first.
fn guid(b: &[u8; 16]) -> String {
    format!(
        "{:02X}{:02X}{:02X}{:02X}-{:02X}{:02X}-{:02X}{:02X}-{:02X}{:02X}-{:02X}{:02X}{:02X}{:02X}{:02X}{:02X}",
        b[3],
        b[2],
        b[1],
        b[0],
        b[5],
        b[4],
        b[7],
        b[6],
        b[8],
        b[9],
        b[10],
        b[11],
        b[12],
        b[13],
        b[14],
        b[15]
    )
}

/// The name up to its first zero, fit for a terminal: neither control characters nor those that turn the direction of
/// writing around.
fn name(units: &[U16; 36]) -> String {
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

#[cfg(test)]
mod tests;
