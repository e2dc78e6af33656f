//! The chain of extended boot records: one for each logical partition, in front of it.
//!
//! A record has the form of an MBR. One entry is its partition, counted from the record; one links to the next record, counted from the
//! extended partition. The first record is the first sector of the extended partition; the others may lie anywhere in it where no partition
//! is. So a record goes along with its partition, at the same distance where there is room for that, and else right in front of it.

use straddle_geometry::{Bytes, Extent, SectorSize};

use super::chs::{Geometry, Said};
use super::draft::{Draft, number};
use super::entry::{BOOT_RECORD, ENTRIES, ENTRY, extent, place_entry, said};
use super::layout::{Layout, changed};
use crate::Refusal;

/// Longest chain that is followed: more than any system makes.
const MAX_RECORDS: usize = 256;

/// A record as it is found.
pub(super) struct Record {
    at: Bytes,
    bytes: Vec<u8>,
    /// Slot and number of its partition.
    data: Option<(usize, u64)>,
    /// Slot of the link to the next one.
    link: Option<usize>,
}

impl Record {
    pub(super) fn said(&self, sector: SectorSize) -> Option<Said> {
        let (slot, _) = self.data?;
        said(&self.bytes, slot, self.at.div_rem(sector.unit()).0)
    }
}

/// The records of an extended partition, in the order of the chain.
pub(super) fn chain(
    draft: &Draft<'_>,
    layout: &Layout,
    extended: Extent,
) -> Result<Vec<Record>, Refusal> {
    let mut chain: Vec<Record> = Vec::new();
    let mut numbers = 5..;
    let mut next = Some(extended.start());
    while let Some(at) = next {
        if chain.len() == MAX_RECORDS || chain.iter().any(|record| record.at == at) {
            return Err(damaged(at, "the chain of boot records does not end"));
        }
        let bytes = draft.now(at, BOOT_RECORD)?;
        if bytes[510..] != [0x55, 0xaa] {
            return Err(damaged(at, "expected a boot record that ends in 55 aa"));
        }
        let used: Vec<usize> = (0..4)
            .filter(|slot| number(&bytes, ENTRIES + slot * ENTRY + 12, 4) > 0)
            .collect();
        let is_link =
            |slot: &usize| matches!(bytes[ENTRIES + slot * ENTRY + 4], 0x05 | 0x0f | 0x85);
        let (links, data): (Vec<usize>, Vec<usize>) = used.into_iter().partition(is_link);
        if links.len() > 1 || data.len() > 1 {
            return Err(damaged(
                at,
                "expected one partition and one link in a boot record",
            ));
        }
        let data = data
            .first()
            .map(|slot| (*slot, numbers.next().unwrap_or(u64::MAX)));
        if let Some((slot, number)) = data {
            let found = extent(&bytes, slot, at, layout.sector);
            let known = layout
                .partitions
                .iter()
                .find(|place| place.number == number);
            if known.map(|place| place.from) != found {
                return Err(changed(format_args!(
                    "the boot record at byte {} describes another partition {number}",
                    at.grouped()
                )));
            }
        }
        let link = links.first().copied();
        next = match link {
            Some(slot) => {
                let to = extent(&bytes, slot, extended.start(), layout.sector);
                Some(
                    to.ok_or_else(|| damaged(at, "its link leads nowhere"))?
                        .start(),
                )
            }
            None => None,
        };
        chain.push(Record {
            at,
            bytes,
            data,
            link,
        });
    }
    let logical = layout.partitions.iter().filter(|place| place.number > 4);
    if logical.count() != chain.iter().filter(|record| record.data.is_some()).count() {
        return Err(changed(
            "the chain of boot records has another number of partitions",
        ));
    }
    Ok(chain)
}

fn damaged(at: Bytes, what: &str) -> Refusal {
    Refusal::new(
        format_args!("the boot record at byte {}: {what}", at.grouped()),
        "write the table again with one tool (`sfdisk -d DISK > table`, `sfdisk DISK < table`) first",
    )
}

/// Edits that make a chain describe its partitions where they will be, in an extended partition that will be at `extended`.
pub(super) fn edit(
    draft: &mut Draft<'_>,
    layout: &Layout,
    chain: &[Record],
    extended: Extent,
    geometry: Geometry,
) -> Result<(), Refusal> {
    let to = |number: u64| {
        layout
            .partitions
            .iter()
            .find(|place| place.number == number)
    };
    let mut places: Vec<Bytes> = Vec::new();
    for (n, record) in chain.iter().enumerate() {
        let is_free = |at: &Bytes| {
            let one = Extent::new(*at, layout.sector.unit().bytes());
            one.is_some_and(|one| {
                extended.contains(one)
                    && !layout.partitions.iter().any(|place| place.to.overlaps(one))
                    && !places.contains(at)
                    && (n == 0 || *at != extended.start())
            })
        };
        let place = record.data.and_then(|(_, number)| to(number));
        let candidates = match place {
            _ if n == 0 => [Some(extended.start()), None],
            Some(place) => {
                let gap = place.from.start().checked_sub(record.at);
                let before = |gap| place.to.start().checked_sub(gap);
                let near = before(layout.sector.unit().bytes());
                [gap.and_then(before), near]
            }
            None => [Some(record.at), None],
        };
        let Some(at) = candidates.into_iter().flatten().find(is_free) else {
            return Err(Refusal::new(
                format_args!(
                    "there is no free sector for the boot record that is at byte {}",
                    record.at.grouped()
                ),
                "choose starts with a sector in front of each logical partition",
            ));
        };
        places.push(at);
    }
    for (n, (record, at)) in chain.iter().zip(&places).enumerate() {
        let mut bytes = record.bytes.clone();
        let entry = |slot: usize| ENTRIES + slot * ENTRY..ENTRIES + (slot + 1) * ENTRY;
        if let Some((slot, number)) = record.data
            && let Some(place) = to(number)
        {
            let entry = &mut bytes[entry(slot)];
            place_entry(entry, place.to, *at, layout.sector, geometry)?;
        }
        if let (Some(slot), Some(next), Some(follows)) =
            (record.link, places.get(n + 1), chain.get(n + 1))
        {
            // From the next record to the end of what it describes.
            let end = match follows.data.and_then(|(_, number)| to(number)) {
                Some(place) => place.to.end(),
                None => next
                    .checked_add(layout.sector.unit().bytes())
                    .unwrap_or(*next),
            };
            let link = end
                .checked_sub(*next)
                .and_then(|len| Extent::new(*next, len));
            let link = link.ok_or_else(|| damaged(*at, "its link would lead backwards"))?;
            let entry = &mut bytes[entry(slot)];
            place_entry(entry, link, extended.start(), layout.sector, geometry)?;
        }
        let what = match record.data {
            Some((_, number)) => format!("extended boot record of partition {number}"),
            None => "extended boot record without a partition".to_owned(),
        };
        // Where it stays, only the entries that change.
        if *at == record.at && !draft.is_moved_over(*at) {
            for slot in 0..4 {
                let range = entry(slot);
                let place = at.checked_add(Bytes::new(range.start as u64));
                draft.set(place.unwrap_or(*at), bytes[range].to_vec(), what.clone())?;
            }
        } else {
            draft.set(*at, bytes, what)?;
        }
    }
    Ok(())
}
