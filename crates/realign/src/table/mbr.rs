//! The MBR: four entries of 16 bytes from byte 446 on.
//!
//! ```text
//!  0  flag (80: active)      4  type          8  first sector (4)
//!  1  CHS of the first (3)   5  CHS of the last (3)  12  sectors (4)
//! ```
//!
//! Only what says where a partition is changes: flags and types stay. Source: UEFI 2.10, 5.2.1.

use straddle_geometry::Bytes;

use super::chs::{Geometry, Said};
use super::draft::Draft;
use super::entry::{BOOT_RECORD, ENTRIES, ENTRY, extent, place_entry, said};
use super::layout::{Layout, Place, changed};
use super::records;
use crate::Refusal;

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
