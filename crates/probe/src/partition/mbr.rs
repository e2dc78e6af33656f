//! MBR: four primary partitions, and the chain of extended boot records for logical ones.
//!
//! ```text
//! byte 440  disk signature (4)
//! byte 446  four entries of 16 bytes: flag, CHS start (3), type, CHS end (3), first LBA (4), sectors (4)
//! byte 510  55 aa
//! ```
//!
//! An extended partition (types 05, 0f, 85) holds a chain of boot records of the same shape: one entry is a logical
//! partition, relative to its own record; another links to the next record, relative to the extended partition. LBAs
//! count logical sectors, whose size the table does not record. Numbers are those of Linux and sfdisk: primaries have
//! that of their entry, logical partitions count from 5 and skip records that hold none. An entry is used when its
//! length is not zero; its type may be zero. Extended partitions are listed too, as containers; an entry that protects a
//! GPT (ee) is none, whether there is a GPT or not.
//!
//! Source: the layout is as described in UEFI 2.10, 5.2.1, and by the behaviour of Linux `block/partitions/msdos.c`
//! and of sfdisk. Where these two differ (second extended partition, several logical partitions in one record), what
//! is done and why is said at that place.

use straddle_geometry::{Bytes, Extent, SectorSize};
use straddle_io::ReadError;
use straddle_stack::{Anomaly, AnomalyKind, Key, Value};
use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Slot;
use crate::inspect::{has_the_magic_of_a_filesystem, holds_a_filesystem};
use crate::{Child, Class, Detected, Magic, Nesting, Prober, Window};

pub(crate) static PROBER: Prober = Prober {
    name: "mbr",
    class: Class::Table,
    min_size: 512,
    magics: &[Magic {
        offset: SIGNATURE_AT,
        bytes: &SIGNATURE,
    }],
    probe,
    find: None,
};

/// One entry, as it lies on the disk.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Entry {
    flag: u8,
    chs_start: [u8; 3],
    pub(super) kind: u8,
    chs_end: [u8; 3],
    pub(super) first: U32,
    pub(super) sectors: U32,
}

const SIGNATURE_AT: u64 = 510;
const SIGNATURE: [u8; 2] = [0x55, 0xaa];
const DISK_ID_AT: u64 = 440;
pub(super) const ENTRIES_AT: u64 = 446;
pub(super) const ENTRY_LEN: u64 = 16;
/// Offset of the type in an entry.
pub(super) const KIND_AT: u64 = 4;
/// Offset of the first LBA in an entry.
const FIRST_AT: u64 = 8;
/// Offset of the number of sectors in an entry.
const SECTORS_AT: u64 = 12;
/// Type of the entry that keeps tools which know no GPT from touching the disk.
pub(crate) const PROTECTIVE: u8 = 0xee;
/// "IBMA" in EBCDIC: an AIX physical volume, whose boot record ends in 55 aa too.
const AIX: [u8; 4] = [0xc9, 0xc2, 0xd4, 0xc1];
/// More logical partitions than any system creates; the kernel stops at 255 minors.
const MAX_RECORDS: usize = 256;

impl Entry {
    pub(super) fn is_used(&self) -> bool {
        self.sectors.get() != 0
    }

    fn is_extended(&self) -> bool {
        matches!(self.kind, 0x05 | 0x0f | 0x85)
    }
}

/// The four entries of the boot record at `at`.
fn entries(window: &Window<'_>, at: u64) -> Result<[Entry; 4], ReadError> {
    window.get(at.saturating_add(ENTRIES_AT))
}

/// The entries of the table in the first sector; `None` when it is not signed, or has what no table has.
///
/// Boot code of filesystems ends in 55 aa as well; where a table has its flags, theirs have instructions or text.
pub(super) fn table(window: &Window<'_>) -> Result<Option<[Entry; 4]>, ReadError> {
    if !window.matches(SIGNATURE_AT, &SIGNATURE)? || window.matches(0, &AIX)? {
        return Ok(None);
    }
    let table = entries(window, 0)?;
    let plausible = table
        .iter()
        .all(|e| matches!(e.flag, 0 | 0x80) && (!e.is_used() || e.first.get() != 0));
    Ok(plausible.then_some(table))
}

/// The types of the used entries in the first sector; none when that is no table.
pub(crate) fn types(window: &Window<'_>) -> Result<Vec<u8>, ReadError> {
    let table = table(window)?;
    let entries = table.iter().flatten();
    Ok(entries
        .filter(|entry| entry.is_used())
        .map(|entry| entry.kind)
        .collect())
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let Some(table) = table(window)? else {
        return Ok(None);
    };
    let mut out = Detected::default();
    let sector = sector_size(window, &table, &mut out);
    let id: U32 = window.get(DISK_ID_AT)?;
    if id.get() != 0 {
        let text = format!("{:08x}", id.get());
        out.record_text(window, Key::TableId, text, DISK_ID_AT, 4);
    }
    contradicted_by_gpt(window, &table, &mut out);
    let mut chains = Chains::default();
    for (index, entry) in (0_u64..).zip(&table) {
        let at = ENTRIES_AT + index * ENTRY_LEN;
        // 32-bit LBAs and counts times any sector size fit in 64 bits.
        let holds_data = entry.is_used() && entry.kind != PROTECTIVE;
        let Some(extent) = placed(sector, 0, entry).filter(|_| holds_data) else {
            continue;
        };
        let nesting = if entry.is_extended() {
            Nesting::Container
        } else {
            Nesting::Plain
        };
        out.children.push(partition(
            window,
            sector,
            index + 1,
            extent,
            entry,
            at,
            nesting,
        ));
        if entry.is_extended() {
            chains.follow(window, sector, extent, at, &mut out);
        }
    }
    out.children.extend(chains.found);
    Ok(Some(out))
}

/// This prober runs when no GPT is usable, or when the MBR does not yield to it; the remains of one are worth a word.
fn contradicted_by_gpt(window: &Window<'_>, table: &[Entry; 4], out: &mut Detected) {
    if let Some(index) = table.iter().position(|e| e.kind == PROTECTIVE) {
        let at = ENTRIES_AT + u64::try_from(index).unwrap_or(0) * ENTRY_LEN;
        let mut detail = "the MBR protects a GPT (type ee), but neither of its copies is found; expected EFI PART at LBA 1 and at the last LBA".to_owned();
        // Entries of larger disks than 2 TiB have the largest count there is.
        let protected = table.get(index).filter(|e| e.sectors.get() != u32::MAX);
        let end = protected
            .and_then(|entry| placed(SectorSize::B512, 0, entry))
            .map(Extent::end);
        if let Some(end) = end.filter(|end| *end > window.size()) {
            detail += &format!(
                "; it protects bytes up to {}, and {} are there: the copy is cut off, or the disk is another one",
                end.grouped(),
                window.size().grouped()
            );
        }
        out.odd(window, AnomalyKind::Damaged, detail, at + KIND_AT, 1);
        return;
    }
    for at in [512, 4096] {
        if matches!(window.matches(at, b"EFI PART"), Ok(true)) {
            let detail = format!(
                "a GPT header stands at byte {at}, but no entry of the MBR protects it (type ee); systems read the MBR"
            );
            out.odd(window, AnomalyKind::Ambiguous, detail, at, 8);
        }
    }
}

/// The extent of `entry`, whose LBAs count from byte `base`.
fn placed(sector: SectorSize, base: u64, entry: &Entry) -> Option<Extent> {
    let start = sector.sectors(u64::from(entry.first.get())).bytes()?;
    let len = sector.sectors(u64::from(entry.sectors.get())).bytes()?;
    Extent::new(Bytes::new(base).checked_add(start)?, len)
}

fn partition(
    window: &Window<'_>,
    sector: SectorSize,
    number: u64,
    extent: Extent,
    entry: &Entry,
    at: u64,
    nesting: Nesting,
) -> Child {
    let slot = Slot {
        name: format!("partition {number}"),
        number,
        extent,
        kind: format!("{:02x}", entry.kind),
        kind_at: (at + KIND_AT, 1),
        // From the beginning of the disk, also where the entry counts from its boot record.
        first: extent.start().div_rem(sector.unit()).0,
        first_at: (at + FIRST_AT, 4),
        len_at: (at + SECTORS_AT, 4),
        at,
    };
    slot.child(window, nesting)
}

/// The chains of extended boot records of one table.
#[derive(Default)]
struct Chains {
    /// Where records were found so far.
    seen: Vec<u64>,
    /// Number of chains followed.
    chains: usize,
    /// The logical partitions.
    found: Vec<Child>,
}

impl Chains {
    /// Follows the chain that starts with `extended`, which the entry at `entry_at` describes.
    fn follow(
        &mut self,
        window: &Window<'_>,
        sector: SectorSize,
        extended: Extent,
        entry_at: u64,
        out: &mut Detected,
    ) {
        self.chains += 1;
        if self.chains == 2 {
            // The kernel makes partitions of all chains, and what it makes can be used.
            let detail = "more than one extended partition; expected one: Linux reads the chain of each, sfdisk only the first";
            out.odd(window, AnomalyKind::Chain, detail, entry_at + KIND_AT, 1);
        }
        let base = extended.start().get();
        let mut at = base;
        loop {
            if self.seen.contains(&at) {
                let detail = format!(
                    "the chain of extended boot records returns to the one at byte {at}; it is followed once"
                );
                out.anomalies.push(Anomaly::new(AnomalyKind::Chain, detail));
                return;
            }
            if self.seen.len() == MAX_RECORDS {
                let detail = format!(
                    "more than {MAX_RECORDS} extended boot records; the rest is not looked at"
                );
                out.anomalies
                    .push(Anomaly::new(AnomalyKind::LimitReached, detail));
                return;
            }
            self.seen.push(at);
            let Some(next) = self.record(window, sector, base, at, out) else {
                return;
            };
            at = next;
        }
    }

    /// Reads the record at `at`; gives the place of the next.
    fn record(
        &mut self,
        window: &Window<'_>,
        sector: SectorSize,
        base: u64,
        at: u64,
        out: &mut Detected,
    ) -> Option<u64> {
        let record = match entries(window, at) {
            Ok(record) => record,
            Err(error) => {
                let detail = format!("extended boot record {}: {error}", self.seen.len());
                out.anomalies
                    .push(Anomaly::new(AnomalyKind::Unreadable, detail));
                return None;
            }
        };
        let signature_at = at.saturating_add(SIGNATURE_AT);
        if !matches!(window.matches(signature_at, &SIGNATURE), Ok(true)) {
            let detail = format!(
                "extended boot record at byte {at} lacks its signature: expected 55 aa at its byte 510"
            );
            out.odd(window, AnomalyKind::Damaged, detail, signature_at, 2);
            return None;
        }
        let mut logical = None;
        let mut link = None;
        for (index, entry) in (0_u64..).zip(&record) {
            let entry_at = at + ENTRIES_AT + index * ENTRY_LEN;
            let place = match (entry.is_used(), entry.is_extended()) {
                (false, _) => continue,
                (true, true) => &mut link,
                (true, false) => &mut logical,
            };
            if place.is_none() {
                *place = Some((entry, entry_at));
            } else {
                // As sfdisk does. The kernel takes some of these, but no tool writes them on purpose.
                let detail = format!(
                    "entry {} of the extended boot record at byte {at} is one too many and ignored; expected one partition and one link",
                    index + 1
                );
                out.odd(window, AnomalyKind::Chain, detail, entry_at, 16);
            }
        }
        if let Some((entry, entry_at)) = logical
            && let Some(extent) = placed(sector, at, entry)
        {
            let number = u64::try_from(self.found.len())
                .unwrap_or(u64::MAX)
                .saturating_add(5);
            self.found.push(partition(
                window,
                sector,
                number,
                extent,
                entry,
                entry_at,
                Nesting::Contained,
            ));
        }
        let (entry, entry_at) = link?;
        let next = placed(sector, base, entry)?.start().get();
        if next < at && !self.seen.contains(&next) {
            let detail = format!(
                "the chain of extended boot records runs backwards, from byte {at} to {next}"
            );
            out.odd(window, AnomalyKind::Chain, detail, entry_at + FIRST_AT, 4);
        }
        Some(next)
    }
}

/// The sector size that the table counts in. The table does not say; a device does, and for an image the contents
/// decide: the size at which a filesystem stands where the table says that a partition starts.
fn sector_size(window: &Window<'_>, table: &[Entry; 4], out: &mut Detected) -> SectorSize {
    let usual = window.sector().unwrap_or(SectorSize::B512);
    let other = if usual == SectorSize::B512 {
        SectorSize::B4096
    } else {
        SectorSize::B512
    };
    let fits = |sector: SectorSize, shows: fn(&Window<'_>) -> bool| {
        table
            .iter()
            .filter(|e| e.is_used() && !e.is_extended())
            .any(|entry| {
                placed(sector, 0, entry)
                    .and_then(|extent| window.part(extent))
                    .is_some_and(|part| shows(&part))
            })
    };
    // Nearly always a magic settles it, for a fraction of what reading the filesystem costs.
    if fits(usual, has_the_magic_of_a_filesystem)
        || fits(usual, holds_a_filesystem)
        || !fits(other, holds_a_filesystem)
    {
        return usual;
    }
    let detail = format!(
        "the table counts in sectors of {other}: filesystems stand where it says only with that size, not with {usual}"
    );
    match window.sector() {
        Some(_) => out.odd(
            window,
            AnomalyKind::ForeignSectorSize,
            detail,
            ENTRIES_AT,
            16,
        ),
        None => out.record(
            window,
            Key::TableSectorSize,
            Value::Bytes(other.unit().bytes()),
            ENTRIES_AT,
            16,
        ),
    }
    other
}

#[cfg(test)]
mod tests;
