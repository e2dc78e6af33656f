//! The MBR: four entries of 16 bytes from byte 446 on.
//!
//! ```text
//!  0  flag (80: active)      4  type          8  first sector (4)
//!  1  CHS of the first (3)   5  CHS of the last (3)  12  sectors (4)
//! ```
//!
//! Only what says where a partition is changes: flags and types stay. Source: UEFI 2.10, 5.2.1.

use straddle_geometry::{Bytes, Extent, SectorSize};

use super::chs::{Geometry, Said};
use super::draft::{Draft, number};
use super::{Layout, Place, changed, records};
use crate::Refusal;

pub(super) const ENTRIES: usize = 446;
pub(super) const ENTRY: usize = 16;
pub(super) const BOOT_RECORD: usize = 512;

/// Edits of the table and of the boot records of logical partitions.
pub(super) fn edit(draft: &mut Draft<'_>, layout: &Layout) -> Result<(), Refusal> {
    let record = draft.now(Bytes::ZERO, BOOT_RECORD)?;
    if record[510..] != [0x55, 0xaa] {
        return Err(changed("byte 510 is not 55 aa"));
    }
    let chain = match &layout.extended {
        Some(extended) => records::chain(draft, layout, extended.from)?,
        None => Vec::new(),
    };
    let mut said: Vec<Said> = (0..4).filter_map(|slot| said(&record, slot, 0)).collect();
    said.extend(chain.iter().filter_map(|record| record.said(layout.sector)));
    let geometry = Geometry::of(&said);
    let primaries = layout.partitions.iter().filter(|place| place.number <= 4);
    for place in primaries.chain(&layout.extended) {
        let slot = usize::try_from(place.number.saturating_sub(1)).unwrap_or(usize::MAX);
        if slot >= 4 || extent(&record, slot, Bytes::ZERO, layout.sector) != Some(place.from) {
            return Err(not_as_seen(place));
        }
        let at = ENTRIES + slot * ENTRY;
        let mut entry = record[at..at + ENTRY].to_vec();
        place_entry(&mut entry, place.to, Bytes::ZERO, layout.sector, geometry)?;
        let what = format!(
            "MBR entry {}: where partition {} is",
            slot + 1,
            place.number
        );
        draft.set(Bytes::new(at as u64), entry, what)?;
    }
    // Whatever is not a partition that the plan knows must not be written over.
    for slot in 0..4 {
        let found = extent(&record, slot, Bytes::ZERO, layout.sector);
        let number = slot as u64 + 1;
        let mut known = layout.partitions.iter().chain(&layout.extended);
        if found.is_some() && !known.any(|place| place.number == number) {
            return Err(changed(format_args!("entry {number} is used")));
        }
    }
    if layout
        .partitions
        .iter()
        .any(|place| place.to.start() < layout.sector.unit().bytes())
    {
        return Err(Refusal::new(
            "a partition would start in the sector of the table",
            "choose a start behind it",
        ));
    }
    match &layout.extended {
        Some(extended) => records::edit(draft, layout, &chain, extended.to, geometry),
        None => Ok(()),
    }
}

fn not_as_seen(place: &Place) -> Refusal {
    changed(format_args!(
        "partition {} was seen at bytes {} to {}, and its entry says something else",
        place.number,
        place.from.start().grouped(),
        place.from.end().grouped()
    ))
}

/// Where the partition of an entry is, which counts from `base`; `None` for an entry that is not used.
pub(super) fn extent(
    record: &[u8],
    slot: usize,
    base: Bytes,
    sector: SectorSize,
) -> Option<Extent> {
    let at = ENTRIES + slot * ENTRY;
    let (first, count) = (number(record, at + 8, 4), number(record, at + 12, 4));
    let start = base.checked_add(sector.sectors(first).bytes()?)?;
    let found = Extent::new(start, sector.sectors(count).bytes()?)?;
    (!found.is_empty()).then_some(found)
}

/// What an entry says of cylinders; its first sector counts from `base`.
pub(super) fn said(record: &[u8], slot: usize, base: u64) -> Option<Said> {
    let at = ENTRIES + slot * ENTRY;
    let count = number(record, at + 12, 4);
    let first = base.checked_add(number(record, at + 8, 4))?;
    Some(Said {
        start: record.get(at + 1..at + 4)?.try_into().ok()?,
        end: record.get(at + 5..at + 8)?.try_into().ok()?,
        first,
        last: first.checked_add(count.checked_sub(1)?)?,
    })
}

/// Makes an entry, whose first sector counts from `base`, say that its partition is at `to`.
pub(super) fn place_entry(
    entry: &mut [u8],
    to: Extent,
    base: Bytes,
    sector: SectorSize,
    geometry: Geometry,
) -> Result<(), Refusal> {
    let sectors = |bytes: Bytes| bytes.div_rem(sector.unit()).0;
    let relative = to.start().checked_sub(base).map(sectors);
    let relative = relative.and_then(|first| u32::try_from(first).ok());
    let (Some(first), Ok(count)) = (relative, u32::try_from(sectors(to.len()))) else {
        return Err(Refusal::new(
            format_args!(
                "byte {} cannot be written into an MBR, which counts 2³² sectors",
                to.start().grouped()
            ),
            "choose a lower start",
        ));
    };
    // Zeros were written by somebody who does not say it; they go on doing so.
    if entry[1..4] != [0; 3] || entry[5..8] != [0; 3] {
        let start = sectors(to.start());
        let last = (start + u64::from(count)).saturating_sub(1);
        entry[1..4].copy_from_slice(&geometry.of_sector(start));
        entry[5..8].copy_from_slice(&geometry.of_sector(last));
    }
    entry[8..12].copy_from_slice(&first.to_le_bytes());
    entry[12..16].copy_from_slice(&count.to_le_bytes());
    Ok(())
}
