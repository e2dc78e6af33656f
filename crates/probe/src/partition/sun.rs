//! Sun disk label: up to eight partitions that begin on cylinders.
//!
//! ```text
//! sector 0, high byte first
//!   byte 140  partitions that have a tag (2), then for each: tag (2), flags (2)
//!   byte 188  sanity 600ddeee (4), where there are tags
//!   byte 436  heads (2), sectors of a track (2)
//!   byte 444  eight partitions of 8 bytes: first cylinder (4), sectors (4)
//!   byte 508  magic dabe (2), exclusive-or of all 256 words (2)
//! ```
//!
//! Sectors have 512 bytes. A partition with tag 5 (`backup`) is the whole disk again and is left out, as libblkid does.
//!
//! Source: Linux `block/partitions/sun.h`.

use straddle_geometry::{Extent, SectorSize};
use straddle_io::ReadError;
use straddle_stack::AnomalyKind;
use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Slot;
use crate::{Class, Detected, Magic, Nesting, Prober, Window};

pub(crate) static PROBER: Prober = Prober {
    name: "sun",
    class: Class::Table,
    min_size: 512,
    magics: &[Magic {
        offset: 508,
        bytes: &[0xda, 0xbe],
    }],
    probe,
    find: None,
};

const SUM_AT: u64 = 510;
const SANITY_AT: u64 = 188;
const SANITY: u32 = 0x600d_deee;
const TAGS_AT: u64 = 142;
const HEADS_AT: u64 = 436;
const PARTITIONS_AT: u64 = 444;
const PARTITION_LEN: u64 = 8;
/// Tag of the partition that covers the whole disk.
const WHOLE: u16 = 5;
const SECTOR: SectorSize = SectorSize::B512;

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Tag {
    tag: U16,
    flags: U16,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Partition {
    cylinder: U32,
    sectors: U32,
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let label: [u8; 512] = window.get(0)?;
    let sum = super::exclusive_or(&label);
    let geometry: [U16; 2] = window.get(HEADS_AT)?;
    let [heads, sectors] = geometry.map(|count| u64::from(count.get()));
    let mut out = Detected::default();
    if sum != 0 {
        // Two bytes of magic alone are no label: something else may have them there.
        if heads == 0 || sectors == 0 {
            return Ok(None);
        }
        let detail = format!("the words of the Sun label combine to {sum:04x}; expected 0000");
        out.odd(window, AnomalyKind::Damaged, detail, SUM_AT, 2);
    }
    let sanity: U32 = window.get(SANITY_AT)?;
    let tags: [Tag; 8] = window.get(TAGS_AT)?;
    let has_tags = sanity.get() == SANITY;
    let partitions: [Partition; 8] = window.get(PARTITIONS_AT)?;
    for (index, (partition, tag)) in (0_u64..).zip(partitions.iter().zip(&tags)) {
        let tag = if has_tags { tag.tag.get() } else { 0 };
        let (cylinder, len) = (partition.cylinder.get(), partition.sectors.get());
        if len == 0 || tag == WHOLE {
            continue;
        }
        // 32 bits of cylinders of 32 bits of sectors fit in 64 bits of sectors, not always in 64 bits of bytes.
        let first = u64::from(cylinder).saturating_mul(heads * sectors);
        let extent = SECTOR
            .sectors(first)
            .bytes()
            .zip(SECTOR.sectors(u64::from(len)).bytes());
        let extent = extent.and_then(|(start, len)| Extent::new(start, len));
        let at = PARTITIONS_AT + index * PARTITION_LEN;
        let Some(extent) = extent else {
            let detail = format!(
                "partition {} of the Sun label ends beyond 2^64 bytes",
                index + 1
            );
            out.odd(window, AnomalyKind::Damaged, detail, at, 8);
            continue;
        };
        let slot = Slot {
            name: format!("partition {}", index + 1),
            number: index + 1,
            extent,
            kind: format!("sun {tag:02x}"),
            kind_at: (TAGS_AT + 4 * index, 2),
            first,
            first_at: (at, 4),
            len_at: (at + 4, 4),
            at,
        };
        out.children.push(slot.child(window, Nesting::Plain));
    }
    Ok(Some(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::testing::{children, found, kinds, put};

    fn label(heads: u16, sectors: u16, partitions: &[(u16, u32, u32)]) -> Vec<u8> {
        let mut disk = vec![0; 64 << 10];
        put(&mut disk, 140, &8_u16.to_be_bytes());
        put(&mut disk, 188, &SANITY.to_be_bytes());
        put(&mut disk, 436, &heads.to_be_bytes());
        put(&mut disk, 438, &sectors.to_be_bytes());
        for (i, (tag, cylinder, sectors)) in partitions.iter().enumerate() {
            put(&mut disk, 142 + 4 * i, &tag.to_be_bytes());
            put(&mut disk, 444 + 8 * i, &cylinder.to_be_bytes());
            put(&mut disk, 448 + 8 * i, &sectors.to_be_bytes());
        }
        put(&mut disk, 508, &[0xda, 0xbe]);
        let sum = crate::partition::exclusive_or(&disk[..512]);
        put(&mut disk, 510, &sum.to_le_bytes());
        disk
    }

    #[test]
    fn cylinders_are_those_of_the_label_and_the_whole_disk_is_left_out() {
        let disk = label(2, 7, &[(2, 1, 14), (0, 0, 0), (5, 0, 128), (4, 3, 28)]);
        let detected = found(&PROBER, &disk).expect("a Sun label");
        assert_eq!(
            children(&detected),
            [
                (1, 7_168, 7_168, "sun 02".into()),
                (4, 21_504, 14_336, "sun 04".into())
            ]
        );
        assert_eq!(kinds(&detected), []);
    }

    #[test]
    fn a_wrong_sum_is_said_and_a_magic_alone_is_no_label() {
        let mut disk = label(2, 7, &[(2, 1, 14)]);
        put(&mut disk, 0, &[1, 0]);
        let detected = found(&PROBER, &disk).expect("a Sun label");
        assert_eq!(detected.children.len(), 1);
        assert_eq!(
            detected.anomalies[0].detail,
            "the words of the Sun label combine to 0001; expected 0000"
        );
        let mut disk = vec![0; 4096];
        put(&mut disk, 508, &[0xda, 0xbe, 1, 0]);
        assert!(found(&PROBER, &disk).is_none());
    }

    #[test]
    fn what_cannot_be_is_an_anomaly() {
        let disk = label(u16::MAX, u16::MAX, &[(2, u32::MAX, 1)]);
        let detected = found(&PROBER, &disk).expect("a Sun label");
        assert_eq!(detected.children.len(), 0);
        assert_eq!(kinds(&detected), [AnomalyKind::Damaged]);
    }
}
