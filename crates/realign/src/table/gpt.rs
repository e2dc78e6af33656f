//! Both copies of a GPT: header and entries, with their checksums.
//!
//! ```text
//! header   0 "EFI PART"   8 revision   12 its length   16 its CRC   24 own LBA   32 LBA of the other copy
//!         40 first usable LBA   48 last usable LBA   56 disk GUID   72 LBA of the entries   80 their number   84 length of one
//!         88 CRC of all of them
//! entry    0 type   16 GUID   32 first LBA   40 last LBA   48 flags   56 name
//! ```
//!
//! Both copies must be whole and say the same before anything moves: a copy that is damaged now may be the one that is needed later.
//! Where the disk becomes longer, the second copy goes to its new end. Source: UEFI 2.10, 5.3.

use std::fmt::Display;

use crc32fast::hash;
use straddle_geometry::{Bytes, SectorSize};

use super::draft::{Draft, number};
use super::layout::{Layout, changed};
use crate::Refusal;

const HEADER: usize = 92;
/// Longest array of entries that is written: 4,096 entries of the usual length.
const MAX_ARRAY: u64 = 512 << 10;
/// Where the size of the protective entry of the MBR is.
const PROTECTIVE: usize = 446;

/// One copy.
struct Table {
    header: Vec<u8>,
    entries: Vec<u8>,
}

impl Table {
    fn field(&self, at: usize, len: usize) -> u64 {
        number(&self.header, at, len)
    }

    fn set(&mut self, at: usize, value: u64) {
        if let Some(into) = self.header.get_mut(at..at + 8) {
            into.copy_from_slice(&value.to_le_bytes());
        }
    }

    fn seal(&mut self) {
        let entries = hash(&self.entries).to_le_bytes();
        self.header[88..92].copy_from_slice(&entries);
        self.header[16..20].fill(0);
        let header = hash(&self.header).to_le_bytes();
        self.header[16..20].copy_from_slice(&header);
    }
}

/// Edits of both copies.
pub(super) fn edit(draft: &mut Draft<'_>, layout: &Layout) -> Result<(), Refusal> {
    let sector = layout.sector;
    let mut primary = read(draft, sector, 1)?;
    let other = primary.field(32, 8);
    let mut backup = read(draft, sector, other)?;
    if primary.entries != backup.entries || backup.field(32, 8) != 1 {
        return Err(damaged("its two copies differ"));
    }
    let sectors = |bytes: Bytes| bytes.div_rem(sector.unit()).0;
    let array = Bytes::new(primary.entries.len() as u64);
    let array = array.get().div_ceil(u64::from(sector.get()));
    let last = sectors(layout.size).saturating_sub(1);
    let is_longer = draft.size_then() > draft.size() && last > other;
    let new_array = match is_longer {
        true => last.saturating_sub(array),
        false => backup.field(72, 8),
    };
    if is_longer {
        for table in [&mut primary, &mut backup] {
            table.set(48, new_array.saturating_sub(1));
        }
        primary.set(32, last);
        backup.set(24, last);
        backup.set(72, new_array);
    }
    let (first_usable, last_usable) = (primary.field(40, 8), primary.field(48, 8));
    let size = usize::try_from(primary.field(84, 4)).unwrap_or(usize::MAX);
    for place in &layout.partitions {
        let index = usize::try_from(place.number.saturating_sub(1)).unwrap_or(usize::MAX);
        let at = index.saturating_mul(size);
        let ends = |start: Bytes, end: Bytes| (sectors(start), sectors(end).saturating_sub(1));
        let found = (
            number(&primary.entries, at.saturating_add(32), 8),
            number(&primary.entries, at.saturating_add(40), 8),
        );
        if at >= primary.entries.len() || found != ends(place.from.start(), place.from.end()) {
            return Err(changed(format_args!(
                "partition {} was seen at bytes {} to {}, and its entry says something else",
                place.number,
                place.from.start().grouped(),
                place.from.end().grouped()
            )));
        }
        let (first, end) = ends(place.to.start(), place.to.end());
        if first < first_usable || end > last_usable {
            return Err(Refusal::new(
                format_args!(
                    "partition {} would be at sectors {first} to {end}, and the GPT leaves {first_usable} to {last_usable} for partitions",
                    place.number
                ),
                "choose another start, or make the disk longer (an image: --grow)",
            ));
        }
        let mut field = first.to_le_bytes().to_vec();
        field.extend(end.to_le_bytes());
        for table in [&mut primary, &mut backup] {
            table.entries[at + 32..at + 48].copy_from_slice(&field);
        }
    }
    let used = primary.entries.chunks_exact(size.max(1)).enumerate();
    for (index, entry) in used {
        let is_used = entry.get(..16).is_some_and(|kind| kind != [0; 16]);
        let number = index as u64 + 1;
        if is_used && !layout.partitions.iter().any(|place| place.number == number) {
            return Err(changed(format_args!("entry {number} is used")));
        }
    }
    primary.seal();
    backup.seal();
    if is_longer {
        wipe(draft, sector, other)?;
        protect(draft, last)?;
    }
    let last = if is_longer { last } else { other };
    let copies = [
        (primary, "GPT", 1),
        (backup, "second GPT, at the end of the disk,", last),
    ];
    for (table, name, lba) in copies {
        let entries = byte(sector, table.field(72, 8))?;
        for (index, entry) in table.entries.chunks_exact(size.max(1)).enumerate() {
            // A few places in the copy that is there, all of one that goes elsewhere.
            let at = entries
                .checked_add(Bytes::new((index * size) as u64))
                .unwrap_or(entries);
            let what = format!("{name} entry {}", index + 1);
            draft.set(at, entry.to_vec(), what)?;
        }
        draft.set(byte(sector, lba)?, table.header, format!("{name} header"))?;
    }
    Ok(())
}

/// A copy, if it is whole.
fn read(draft: &Draft<'_>, sector: SectorSize, lba: u64) -> Result<Table, Refusal> {
    let header = draft.now(byte(sector, lba)?, HEADER)?;
    let len = usize::try_from(number(&header, 12, 4)).unwrap_or(usize::MAX);
    let is_header = header[..8] == *b"EFI PART"
        && (HEADER..=usize::try_from(sector.get()).unwrap_or(0)).contains(&len)
        && number(&header, 24, 8) == lba;
    if !is_header {
        return Err(damaged(format_args!("there is no header at sector {lba}")));
    }
    let header = draft.now(byte(sector, lba)?, len)?;
    let mut unsealed = header.clone();
    unsealed[16..20].fill(0);
    if u64::from(hash(&unsealed)) != number(&header, 16, 4) {
        return Err(damaged(format_args!(
            "the checksum of the header at sector {lba} is wrong"
        )));
    }
    let (count, size) = (number(&header, 80, 4), number(&header, 84, 4));
    let array = count
        .checked_mul(size)
        .filter(|array| *array <= MAX_ARRAY && size >= 128);
    let Some(array) = array.and_then(|array| usize::try_from(array).ok()) else {
        return Err(damaged(format_args!(
            "it has {count} entries of {size} bytes, and at most {MAX_ARRAY} bytes are expected"
        )));
    };
    let entries = draft.now(byte(sector, number(&header, 72, 8))?, array)?;
    if u64::from(hash(&entries)) != number(&header, 88, 4) {
        return Err(damaged(format_args!(
            "the checksum of the entries of the header at sector {lba} is wrong"
        )));
    }
    Ok(Table { header, entries })
}

/// Takes the mark off the copy that is no longer at the end, so that nothing finds it there.
fn wipe(draft: &mut Draft<'_>, sector: SectorSize, lba: u64) -> Result<(), Refusal> {
    let at = byte(sector, lba)?;
    if draft.is_moved_over(at) {
        return Ok(());
    }
    draft.set(
        at,
        vec![0; HEADER],
        "mark of the GPT that was at the end".to_owned(),
    )
}

/// Makes the entry that keeps old tools away cover the longer disk.
fn protect(draft: &mut Draft<'_>, last: u64) -> Result<(), Refusal> {
    let at = Bytes::new(PROTECTIVE as u64);
    let mut entry = draft.now(at, 16)?;
    if entry[4] == 0xee {
        let sectors = u32::try_from(last).unwrap_or(u32::MAX);
        entry[12..16].copy_from_slice(&sectors.to_le_bytes());
        draft.set(at, entry, "length of the protective MBR entry".to_owned())?;
    }
    Ok(())
}

fn byte(sector: SectorSize, lba: u64) -> Result<Bytes, Refusal> {
    let byte = sector.sectors(lba).bytes();
    byte.ok_or_else(|| damaged(format_args!("sector {lba} is beyond 2⁶⁴ bytes")))
}

fn damaged(what: impl Display) -> Refusal {
    Refusal::new(
        format_args!("the GPT is damaged: {what}"),
        "repair it first (`sgdisk --verify DISK` says how), then plan again",
    )
}
