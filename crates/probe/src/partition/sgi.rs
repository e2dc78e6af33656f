//! SGI volume header: up to sixteen partitions.
//!
//! ```text
//! sector 0, high byte first
//!   byte 0    magic 0be5a941 (4)
//!   byte 312  sixteen partitions of 12 bytes: blocks (4), first block (4), type (4)
//!   byte 504  checksum (4)
//! ```
//!
//! Blocks have 512 bytes. The sum of all 128 words is zero. Partitions of type 0 (the header itself) and 6 (the whole disk) are left
//! out, as they hold no data of their own.
//!
//! Source: Linux `block/partitions/sgi.c`, fdisk(8).

use straddle_geometry::{Extent, SectorSize};
use straddle_io::ReadError;
use straddle_stack::AnomalyKind;
use zerocopy::byteorder::big_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Slot;
use crate::{Class, Detected, Magic, Nesting, Prober, Window};

pub(crate) static PROBER: Prober = Prober {
    name: "sgi",
    class: Class::Table,
    min_size: 512,
    magics: &[Magic {
        offset: 0,
        bytes: &0x0be5_a941_u32.to_be_bytes(),
    }],
    probe,
    find: None,
};

const PARTITIONS_AT: u64 = 312;
const PARTITION_LEN: u64 = 12;
const SUM_AT: u64 = 504;
/// Types of the header and of the whole disk.
const NO_DATA: [u32; 2] = [0, 6];
const SECTOR: SectorSize = SectorSize::B512;

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Partition {
    blocks: U32,
    first: U32,
    kind: U32,
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let mut out = Detected::default();
    let words: [U32; 128] = window.get(0)?;
    let sum = words
        .iter()
        .fold(0_u32, |sum, word| sum.wrapping_add(word.get()));
    if sum != 0 {
        let detail =
            format!("the words of the SGI volume header add up to {sum:08x}; expected 00000000");
        out.odd(window, AnomalyKind::Damaged, detail, SUM_AT, 4);
    }
    let partitions: [Partition; 16] = window.get(PARTITIONS_AT)?;
    for (index, partition) in (0_u64..).zip(&partitions) {
        let (first, blocks) = (u64::from(partition.first.get()), partition.blocks.get());
        if blocks == 0 || NO_DATA.contains(&partition.kind.get()) {
            continue;
        }
        // 32 bits of blocks fit in 64 bits of bytes.
        let extent = SECTOR
            .sectors(first)
            .bytes()
            .zip(SECTOR.sectors(u64::from(blocks)).bytes());
        let Some(extent) = extent.and_then(|(start, len)| Extent::new(start, len)) else {
            continue;
        };
        let at = PARTITIONS_AT + index * PARTITION_LEN;
        let slot = Slot {
            name: format!("partition {}", index + 1),
            number: index + 1,
            extent,
            kind: format!("sgi {:02x}", partition.kind.get()),
            kind_at: (at + 8, 4),
            first,
            first_at: (at + 4, 4),
            len_at: (at, 4),
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

    fn header(partitions: &[(u32, u32, u32)]) -> Vec<u8> {
        let mut disk = vec![0; 64 << 10];
        put(&mut disk, 0, &0x0be5_a941_u32.to_be_bytes());
        for (i, (blocks, first, kind)) in partitions.iter().enumerate() {
            put(&mut disk, 312 + 12 * i, &blocks.to_be_bytes());
            put(&mut disk, 316 + 12 * i, &first.to_be_bytes());
            put(&mut disk, 320 + 12 * i, &kind.to_be_bytes());
        }
        let words = disk[..512].chunks_exact(4);
        let sum = words.fold(0_u32, |sum, word| {
            sum.wrapping_add(u32::from_be_bytes(word.try_into().expect("four bytes")))
        });
        put(&mut disk, 504, &sum.wrapping_neg().to_be_bytes());
        disk
    }

    #[test]
    fn what_holds_data_is_listed() {
        let disk = header(&[
            (20, 63, 0x83),
            (0, 9, 0x83),
            (63, 0, 0),
            (128, 0, 6),
            (30, 90, 10),
        ]);
        let detected = found(&PROBER, &disk).expect("a volume header");
        assert_eq!(
            children(&detected),
            [
                (1, 32_256, 10_240, "sgi 83".into()),
                (5, 46_080, 15_360, "sgi 0a".into())
            ]
        );
        assert_eq!(kinds(&detected), []);
    }

    #[test]
    fn a_wrong_sum_is_said() {
        let mut disk = header(&[(20, 63, 0x83)]);
        put(&mut disk, 508, &[0, 0, 0, 7]);
        let detected = found(&PROBER, &disk).expect("a volume header");
        assert_eq!(detected.children.len(), 1);
        assert_eq!(kinds(&detected), [AnomalyKind::Damaged]);
    }
}
