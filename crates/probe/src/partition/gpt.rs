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

use std::ops::RangeInclusive;
use straddle_geometry::SectorSize;
use straddle_io::{ReadError, ReadErrorKind};
use straddle_stack::{Anomaly, AnomalyKind, Key, Value};

mod copy;
mod entry;

use super::{Slot, mbr};
use crate::inspect::holds_a_filesystem;
use crate::{Class, Detected, Prober, Window};
use copy::{COUNT_AT, DISK_AT, ENTRIES_CRC_AT, Header, OTHER_AT, SIZE_AT, State, Table, last_lba};
use entry::{guid, partition};

/// Without a magic: where only the backup is left, nothing at the beginning tells.
pub(crate) static PROBER: Prober = Prober {
    name: "gpt",
    class: Class::Table,
    min_size: 2048,
    magics: &[],
    probe,
    find: None,
};

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
                AnomalyKind::UnusualPlace,
                detail,
                backup.header.at.get(),
                8,
            );
            backup
        }
        (Some(mut primary), Some(backup)) if backup.state() > primary.state() => {
            out.anomalies.append(&mut primary.faults());
            let detail = format!(
                "the primary copy is damaged; the backup at LBA {} is used",
                backup.header.raw.own_lba
            );
            out.odd(
                window,
                AnomalyKind::CopiesDiffer,
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
        out.odd(window, AnomalyKind::Damaged, detail, mbr::ENTRIES_AT, 16);
    }
    report(window, chosen, &mut out);
    Ok(Some(out))
}

/// The sector size of a table, and the first and last LBA of its first partition whose type, as it is stored, is `kind`.
pub(crate) fn first_of_type(
    window: &Window<'_>,
    kind: &[u8; 16],
) -> Result<Option<(SectorSize, RangeInclusive<u64>)>, ReadError> {
    let primary = primary(window, &mut Detected::default())?;
    let better = match &primary {
        Some(table) if table.state() == State::INTACT => None,
        // What is wrong with it is for the prober of tables to say.
        table => backup_instead(window, table.as_ref()).unwrap_or(None),
    };
    let Some(table) = better.or(primary) else {
        return Ok(None);
    };
    let found = table.entries().find(|(_, _, entry)| entry.kind == *kind);
    Ok(found.map(|(_, _, entry)| (table.header.sector, entry.first.get()..=entry.last.get())))
}

/// The sector sizes to try: the device's own, then the usual ones, then those of disks with protection information.
fn sector_sizes(window: &Window<'_>) -> impl Iterator<Item = SectorSize> {
    let own = window.sector();
    let others = [512, 4096, 2048, 520, 528].into_iter();
    let others = others.filter_map(SectorSize::new);
    own.into_iter()
        .chain(others.filter(move |size| Some(*size) != own))
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
                out.odd(window, AnomalyKind::Ambiguous, detail, at, 8);
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
    out.anomalies
        .push(Anomaly::new(AnomalyKind::Unreadable, detail));
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
        odd(AnomalyKind::CopiesDiffer, detail);
        return;
    }
    if lba < last {
        let detail = format!(
            "the GPT records its backup at LBA {lba}, but the last LBA is {last}: the disk has grown since"
        );
        odd(AnomalyKind::UnusualPlace, detail);
    }
    let backup = match Header::read(window, primary.sector, lba) {
        Ok(Some(backup)) => backup,
        Ok(None) => {
            let detail = format!("there is no backup header at LBA {lba}; expected EFI PART");
            odd(AnomalyKind::CopiesDiffer, detail);
            return;
        }
        Err(error) => {
            unreadable(out, "its backup", &error);
            return;
        }
    };
    for fault in backup.faults {
        out.anomalies.push(Anomaly {
            kind: AnomalyKind::CopiesDiffer,
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
        out.odd(window, AnomalyKind::CopiesDiffer, detail, at + offset, len);
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
        out.odd(window, AnomalyKind::HybridTable, detail, at, 16);
    }
}

/// What the chosen copy says.
fn report(window: &Window<'_>, mut table: Table, out: &mut Detected) {
    // Entries that nothing vouches for would be noise read as positions.
    let lost = table.state() == State::LOST;
    out.anomalies.append(&mut table.faults());
    let header = &table.header;
    let (sector, at) = (header.sector, header.at.get());
    let size = Value::Bytes(sector.unit().bytes());
    out.record(window, Key::TableSectorSize, size, at, 8);
    out.record_text(
        window,
        Key::TableId,
        guid(header.raw.disk),
        at + DISK_AT,
        16,
    );
    if let Some(device) = window.sector().filter(|device| *device != sector) {
        let detail = format!(
            "the GPT was written for sectors of {sector}, the device has {device}: its header stands at byte {at}, LBA {} of the table",
            header.raw.own_lba
        );
        out.odd(window, AnomalyKind::ForeignSectorSize, detail, at, 8);
    }
    if lost {
        return;
    }
    for (number, at, entry) in table.entries() {
        partition(window, &table.header, number, at, &entry, out);
    }
}

#[cfg(test)]
mod tests;
