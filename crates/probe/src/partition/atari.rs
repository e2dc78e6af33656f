//! Atari (AHDI) root sector: four partitions, a chain of further root sectors, and eight more of ICD's.
//!
//! ```text
//! sector 0, high byte first
//!   byte 342  ICD's eight entries       454  four entries of 12 bytes: flags (1), identifier (3), first sector (4), sectors (4)
//! ```
//!
//! Sectors have 512 bytes. Bit 0 of the flags says that an entry is used. An entry `XGM` leads to another root sector: a
//! partition, counted from there, and perhaps a link, counted from the first of the chain. Numbers are those of Linux.
//!
//! There is no magic. As for libblkid, a used entry must have an identifier of letters and digits and lie on the disk;
//! further than that, all used ones must, flags have no reserved bits, and the sector does not end in 55 aa, so that
//! neither boot code nor random bytes pass.
//!
//! Source: Linux `block/partitions/atari.c`, libblkid `partitions/atari.c`.

use straddle_geometry::{Extent, SectorSize};
use straddle_io::{ReadError, ReadErrorKind};
use straddle_stack::AnomalyKind;
use zerocopy::byteorder::big_endian::U32;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Slot;
use crate::{Class, Detected, Nesting, Prober, Window};

pub(crate) static PROBER: Prober = Prober {
    name: "atari",
    class: Class::Table,
    min_size: 512,
    magics: &[],
    probe,
    find: None,
};

const ICD_AT: u64 = 342;
const ENTRIES_AT: u64 = 454;
const ENTRY_LEN: u64 = 12;
const EXTENDED: &[u8; 3] = b"XGM";
/// Identifiers with which ICD's entries are believed.
const USUAL: [&[u8; 3]; 5] = [b"GEM", b"BGM", b"LNX", b"SWP", b"RAW"];
const SECTOR: SectorSize = SectorSize::B512;
/// More than any system creates.
const MAX_RECORDS: usize = 256;

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Entry {
    flags: u8,
    id: [u8; 3],
    first: U32,
    sectors: U32,
}

impl Entry {
    fn is_used(&self) -> bool {
        self.flags & 1 != 0
    }

    fn is_plausible(&self, disk: u64) -> bool {
        let end = u64::from(self.first.get()) + u64::from(self.sectors.get());
        let named = self.id.iter().all(u8::is_ascii_alphanumeric);
        self.flags & 0x7e == 0
            && (!self.is_used()
                || named && self.first.get() != 0 && self.sectors.get() != 0 && end <= disk)
    }
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let sector = window.sector().unwrap_or(SECTOR);
    if sector != SECTOR || window.matches(510, &[0x55, 0xaa])? {
        return Ok(None);
    }
    let entries: [Entry; 4] = window.get(ENTRIES_AT)?;
    let disk = window.size().get() / 512;
    let plausible = entries.iter().all(|entry| entry.is_plausible(disk));
    if !plausible || !entries.iter().any(Entry::is_used) {
        return Ok(None);
    }
    let mut out = Detected::default();
    let mut number = 1;
    for (at, entry) in (ENTRIES_AT..).step_by(12).zip(&entries) {
        if entry.is_used() && entry.id == *EXTENDED {
            number = chain(window, entry, at, number, &mut out)?;
        } else if entry.is_used() {
            add(window, entry, at, 0, number, &mut out);
        }
        number += 1;
    }
    let extended = entries
        .iter()
        .any(|entry| entry.is_used() && entry.id == *EXTENDED);
    let more: [Entry; 8] = window.get(ICD_AT)?;
    if !extended && USUAL.contains(&&more[0].id) {
        for (index, entry) in (0..).zip(&more) {
            let usable = entry.is_used() && USUAL.contains(&&entry.id);
            if usable && entry.is_plausible(disk) {
                let at = ICD_AT + index * ENTRY_LEN;
                add(window, entry, at, 0, number + index, &mut out);
            }
        }
    }
    Ok(Some(out))
}

/// Follows the root sectors from the one that `link`, at `at`, names; gives the number of its last partition.
fn chain(
    window: &Window<'_>,
    link: &Entry,
    at: u64,
    mut number: u64,
    out: &mut Detected,
) -> Result<u64, ReadError> {
    let base = u64::from(link.first.get());
    let (mut record, mut link_at) = (base, at);
    let mut seen = Vec::new();
    loop {
        if seen.contains(&record) || seen.len() == MAX_RECORDS {
            let detail = format!(
                "the chain of Atari root sectors returns to sector {record} or has more than {MAX_RECORDS}; it is followed no further"
            );
            out.odd(window, AnomalyKind::Chain, detail, link_at + 4, 4);
            return Ok(number);
        }
        seen.push(record);
        // Sectors of 33 bits fit in 64 bits of bytes.
        let entries_at = record * 512 + ENTRIES_AT;
        let entries: [Entry; 4] = match window.get(entries_at) {
            Err(error) if !matches!(error.kind, ReadErrorKind::PastEnd { .. }) => {
                return Err(error);
            }
            read => read.unwrap_or(FromZeros::new_zeroed()),
        };
        let place = (entries_at..).step_by(12).zip(&entries);
        let mut used = place.skip_while(|(_, entry)| !entry.is_used());
        let Some((at, entry)) = used.next().filter(|(_, entry)| entry.id != *EXTENDED) else {
            let detail = format!("the Atari root sector at sector {record} has no partition");
            out.odd(window, AnomalyKind::Damaged, detail, link_at + 4, 4);
            return Ok(number);
        };
        add(window, entry, at, record, number, out);
        match used.next() {
            Some((at, next)) if next.is_used() && next.id == *EXTENDED => {
                record = base + u64::from(next.first.get());
                link_at = at;
            }
            _ => return Ok(number),
        }
        number += 1;
    }
}

/// Adds the partition of `entry`, which counts from sector `base`.
fn add(window: &Window<'_>, entry: &Entry, at: u64, base: u64, number: u64, out: &mut Detected) {
    let first = base + u64::from(entry.first.get());
    let len = SECTOR.sectors(u64::from(entry.sectors.get())).bytes();
    let extent = SECTOR.sectors(first).bytes().zip(len);
    let Some(extent) = extent.and_then(|(start, len)| Extent::new(start, len)) else {
        return;
    };
    let slot = Slot {
        name: format!("partition {number}"),
        number,
        extent,
        kind: crate::record::printable(&entry.id),
        kind_at: (at + 1, 3),
        first,
        first_at: (at + 4, 4),
        len_at: (at + 8, 4),
        at,
    };
    out.children.push(slot.child(window, Nesting::Plain));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::testing::{children, found, kinds, put};

    fn entry(disk: &mut [u8], at: usize, flags: u8, id: &[u8; 3], first: u32, sectors: u32) {
        disk[at] = flags;
        put(disk, at + 1, id);
        put(disk, at + 4, &first.to_be_bytes());
        put(disk, at + 8, &sectors.to_be_bytes());
    }

    fn disk() -> Vec<u8> {
        vec![0; 256 << 10]
    }

    #[test]
    fn primaries_and_the_chain_are_numbered_as_linux_does() {
        let mut disk = disk();
        entry(&mut disk, 454, 0x81, b"GEM", 2, 98);
        entry(&mut disk, 466, 0x01, b"XGM", 100, 200);
        entry(&mut disk, 490, 0x01, b"BGM", 300, 100);
        // Two root sectors at 100 and 200.
        entry(&mut disk, 100 * 512 + 454, 1, b"LNX", 1, 99);
        entry(&mut disk, 100 * 512 + 466, 1, b"XGM", 100, 100);
        entry(&mut disk, 200 * 512 + 466, 1, b"SWP", 3, 97);
        let detected = found(&PROBER, &disk).expect("an Atari table");
        let want = [
            (1, 2 * 512, 98 * 512, "GEM".into()),
            (2, 101 * 512, 99 * 512, "LNX".into()),
            (3, 203 * 512, 97 * 512, "SWP".into()),
            (5, 300 * 512, 100 * 512, "BGM".into()),
        ];
        assert_eq!(children(&detected), want);
        assert_eq!(kinds(&detected), []);
        // A link back to where the chain began.
        entry(&mut disk, 200 * 512 + 478, 1, b"XGM", 0, 100);
        let detected = found(&PROBER, &disk).expect("an Atari table");
        assert_eq!(kinds(&detected), [AnomalyKind::Chain]);
    }

    #[test]
    fn icd_s_entries_follow_without_a_chain() {
        let mut disk = disk();
        entry(&mut disk, 454, 1, b"GEM", 2, 98);
        entry(&mut disk, 342, 1, b"BGM", 100, 50);
        entry(&mut disk, 366, 1, b"RAW", 150, 50);
        let detected = found(&PROBER, &disk).expect("an Atari table");
        let numbers: Vec<u64> = children(&detected).iter().map(|row| row.0).collect();
        assert_eq!(numbers, [1, 5, 7]);
    }

    #[test]
    fn a_chain_that_leads_nowhere_is_named() {
        let mut disk = disk();
        entry(&mut disk, 454, 1, b"XGM", 100, 200);
        let detected = found(&PROBER, &disk).expect("an Atari table");
        assert_eq!(children(&detected), []);
        assert_eq!(kinds(&detected), [AnomalyKind::Damaged]);
    }

    #[test]
    fn what_might_be_anything_is_no_table() {
        let good = |disk: &mut [u8]| entry(disk, 454, 1, b"GEM", 2, 98);
        let refused: [(usize, &[u8]); 8] = [
            (454, &[0]),          // not used
            (454, &[3]),          // a reserved flag
            (455, b"G M"),        // no identifier
            (455, &[0xc4]),       // nor one of letters that only Linux takes for such
            (458, &[0, 1]),       // behind the end
            (462, &[0, 0, 0, 0]), // empty
            (466, &[1, b' ']),    // one of the others is none
            (510, &[0x55, 0xaa]), // a boot sector
        ];
        for (at, bytes) in refused {
            let mut disk = disk();
            good(&mut disk);
            assert!(found(&PROBER, &disk).is_some());
            put(&mut disk, at, bytes);
            assert!(found(&PROBER, &disk).is_none(), "byte {at}");
        }
    }
}
