//! One entry of an MBR or of an extended boot record.

use straddle_geometry::{Bytes, Extent, SectorSize};

use super::chs::{Geometry, Said};
use super::draft::number;
use crate::Refusal;

pub(super) const ENTRIES: usize = 446;
pub(super) const ENTRY: usize = 16;
pub(super) const BOOT_RECORD: usize = 512;

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
