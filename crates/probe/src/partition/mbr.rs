//! MBR: four primary partitions, and the chain of extended boot records for logical ones.
//!
//! ```text
//! byte 446  four entries of 16 bytes: flag, CHS start (3), type, CHS end (3), first LBA (4), sectors (4)
//! byte 510  55 aa
//! ```
//!
//! An extended partition (types 05, 0f, 85) holds a chain of boot records of the same shape: entry 1 is a logical
//! partition, relative to its own record; entry 2 is the next record, relative to the extended partition. LBAs count
//! logical sectors, whose size the table does not record.
//!
//! Source: the layout is as described in UEFI 2.10, 5.2.1, and by the behaviour of Linux `block/partitions/msdos.c`.

use straddle_geometry::{Bytes, Extent, SectorSize};
use straddle_io::ReadError;
use straddle_stack::{Attribute, Key, LayerKind, Oddity, OddityKind, Value};
use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::inspect::holds_a_filesystem;
use crate::{Child, Class, Detected, Magic, Prober, Window};

pub(crate) static PROBER: Prober = Prober {
    name: "mbr",
    class: Class::Table,
    min_size: 512,
    magics: &[Magic {
        offset: 510,
        bytes: &[0x55, 0xaa],
    }],
    probe,
};

/// One entry, as it lies on the disk.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Entry {
    pub(super) flag: u8,
    pub(super) chs_start: [u8; 3],
    pub(super) kind: u8,
    pub(super) chs_end: [u8; 3],
    pub(super) first: U32,
    pub(super) sectors: U32,
}

pub(super) const ENTRIES_AT: u64 = 446;
const ENTRY_LEN: u64 = 16;
/// Offset of the first LBA in an entry.
const FIRST_AT: u64 = 8;
/// More logical partitions than any system creates; the kernel stops at 255 minors.
const MOST_LOGICAL: usize = 256;

impl Entry {
    fn is_used(&self) -> bool {
        self.kind != 0 && self.sectors.get() != 0
    }

    fn is_extended(&self) -> bool {
        matches!(self.kind, 0x05 | 0x0f | 0x85)
    }
}

/// The four entries of the boot record at `at`.
pub(super) fn entries(window: &Window<'_>, at: u64) -> Result<[Entry; 4], ReadError> {
    window.get(at.saturating_add(ENTRIES_AT))
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let table = entries(window, 0)?;
    // Boot code of filesystems ends in 55 aa as well; where a table has its flags, theirs have instructions or text.
    let plausible = table
        .iter()
        .all(|e| matches!(e.flag, 0 | 0x80) && (e.kind == 0 || e.first.get() != 0));
    if !plausible {
        return Ok(None);
    }
    let mut out = Detected::default();
    let sector = sector_size(window, &table, &mut out);
    for (index, entry) in (0_u64..).zip(&table) {
        if !entry.is_used() {
            continue;
        }
        let at = ENTRIES_AT + index * ENTRY_LEN;
        if entry.is_extended() {
            if let Some(extended) = placed(sector, 0, entry) {
                logical_partitions(window, sector, extended, &mut out);
            }
            continue;
        }
        // 32-bit LBAs and counts times any sector size fit in 64 bits.
        if let Some(extent) = placed(sector, 0, entry) {
            out.children
                .push(partition(window, index + 1, extent, entry, at));
        }
    }
    Ok(Some(out))
}

/// The extent of `entry`, whose LBAs count from byte `base`.
fn placed(sector: SectorSize, base: u64, entry: &Entry) -> Option<Extent> {
    let start = sector.sectors(u64::from(entry.first.get())).bytes()?;
    let len = sector.sectors(u64::from(entry.sectors.get())).bytes()?;
    Extent::new(Bytes::new(base).checked_add(start)?, len)
}

fn partition(window: &Window<'_>, number: u64, extent: Extent, entry: &Entry, at: u64) -> Child {
    let fact = |key, value, offset, len| Attribute {
        key,
        value: window.fact(value, at + offset, len),
    };
    Child {
        kind: LayerKind::Partition,
        name: format!("partition {number}"),
        placement: window.fact(extent, at + FIRST_AT, 4),
        attributes: vec![
            fact(Key::PartitionNumber, Value::Count(number), 0, 16),
            fact(
                Key::PartitionType,
                Value::Text(format!("{:02x}", entry.kind).into()),
                4,
                1,
            ),
            fact(
                Key::StartSector,
                Value::Count(u64::from(entry.first.get())),
                FIRST_AT,
                4,
            ),
        ],
        oddities: Vec::new(),
    }
}

/// Follows the chain of extended boot records from the start of `extended`.
fn logical_partitions(
    window: &Window<'_>,
    sector: SectorSize,
    extended: Extent,
    out: &mut Detected,
) {
    let base = extended.start().get();
    let mut at = base;
    let mut seen: Vec<u64> = Vec::new();
    loop {
        if seen.contains(&at) {
            let detail = format!(
                "the chain of extended boot records returns to the one at byte {at}; it is followed once"
            );
            out.oddities.push(Oddity::new(OddityKind::Chain, detail));
            return;
        }
        if seen.len() == MOST_LOGICAL {
            let detail = format!(
                "more than {MOST_LOGICAL} extended boot records; the rest is not looked at"
            );
            out.oddities
                .push(Oddity::new(OddityKind::LimitReached, detail));
            return;
        }
        seen.push(at);
        let record = match entries(window, at) {
            Ok(record) => record,
            Err(error) => {
                let detail = format!("extended boot record {}: {error}", seen.len());
                out.oddities
                    .push(Oddity::new(OddityKind::Unreadable, detail));
                return;
            }
        };
        if !matches!(
            window.matches(at.saturating_add(510), &[0x55, 0xaa]),
            Ok(true)
        ) {
            let detail = format!(
                "extended boot record at byte {at} lacks its signature: expected 55 aa at its byte 510"
            );
            out.odd(
                window,
                OddityKind::Damaged,
                detail,
                at.saturating_add(510),
                2,
            );
            return;
        }
        let [logical, link, ..] = &record;
        if logical.is_used() && !logical.is_extended() {
            let number = u64::try_from(seen.len())
                .unwrap_or(u64::MAX)
                .saturating_add(4);
            if let Some(extent) = placed(sector, at, logical) {
                out.children
                    .push(partition(window, number, extent, logical, at + ENTRIES_AT));
            }
        }
        // Some tools mark the end of the chain with an unused entry, others with a link of length zero.
        if !link.is_extended() || link.sectors.get() == 0 {
            return;
        }
        let Some(next) = placed(sector, base, link).map(|e| e.start().get()) else {
            return;
        };
        if next < at && !seen.contains(&next) {
            let detail = format!(
                "the chain of extended boot records runs backwards, from byte {at} to {next}"
            );
            out.odd(
                window,
                OddityKind::Chain,
                detail,
                at + ENTRIES_AT + ENTRY_LEN + FIRST_AT,
                4,
            );
        }
        at = next;
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
    let fits = |sector: SectorSize| {
        table
            .iter()
            .filter(|e| e.is_used() && !e.is_extended())
            .any(|entry| {
                placed(sector, 0, entry)
                    .and_then(|extent| window.part(extent))
                    .is_some_and(|part| holds_a_filesystem(&part))
            })
    };
    if fits(usual) || !fits(other) {
        return usual;
    }
    let detail = format!(
        "the table counts in sectors of {other}: filesystems stand where it says only with that size, not with {usual}"
    );
    match window.sector() {
        Some(_) => out.odd(
            window,
            OddityKind::ForeignSectorSize,
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
