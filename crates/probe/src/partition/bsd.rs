//! BSD disklabel: up to 22 partitions inside an MBR partition of type a5, a6 or a9, or on a whole disk.
//!
//! ```text
//! byte 512, 64 or 4096 of the volume
//!   byte 0    magic 82564557 (4)
//!   byte 40   sector size (4)
//!   byte 132  magic again (4), checksum (2), number of partitions (2)
//!   byte 148  partitions of 16 bytes: sectors (4), first (4), fragment (4), type (1), fragments (1), cpg (2)
//! ```
//!
//! The exclusive-or of all 16-bit words up to the end of the last partition is zero. Partitions of type 0 and those
//! without sectors are unused, and one that is the whole volume again (`c`) is left out, as libblkid does.
//!
//! First sectors count from the beginning of the disk, except in labels that FreeBSD wrote since version 10, which
//! count from the beginning of the label's own volume. The kernel and libblkid tell by partition `c`, which then starts
//! at 0, where the volume's type is FreeBSD's. Here the type is not needed: in a relative label `c` starts at 0 and is
//! not longer than the volume; in OpenBSD's, whose `c` starts at 0 too, it is the whole disk and thus longer.
//! OpenBSD's upper 16 bits of a position (disks above 2 TiB) are not read.
//!
//! Source: FreeBSD `sys/disklabel.h`, OpenBSD `disklabel(5)`, Linux `block/partitions/msdos.c` for the meaning.

use straddle_geometry::{Bytes, Extent, SectorSize};
use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, Key, Value};
use zerocopy::byteorder::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Slot;
use crate::{Class, Detected, Magic, Nesting, Prober, Window};

pub(crate) static PROBER: Prober = Prober {
    name: "bsd",
    class: Class::NestedTable,
    min_size: 1024,
    magics: &[
        magic_at(PLACES[0]),
        magic_at(PLACES[1]),
        magic_at(PLACES[2]),
    ],
    probe,
    find: None,
};

/// Sector 1, the Alpha's place behind its boot block, and sector 1 of a 4K-native disk.
const PLACES: [u64; 3] = [512, 64, 4096];
const MAGIC: [u8; 4] = 0x8256_4557_u32.to_le_bytes();
const SECTOR_SIZE_AT: u64 = 40;
const MAGIC2_AT: u64 = 132;
const CHECKSUM_AT: u64 = 136;
const COUNT_AT: u64 = 138;
const PARTITIONS_AT: u64 = 148;
const PARTITION_LEN: u64 = 16;
const MAX: u16 = 22;

const fn magic_at(offset: u64) -> Magic {
    Magic {
        offset,
        bytes: &MAGIC,
    }
}

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Partition {
    sectors: U32,
    first: U32,
    fragment: U32,
    kind: u8,
    fragments: u8,
    cylinders: U16,
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    for at in PLACES {
        if window.matches(at, &MAGIC)? && window.matches(at + MAGIC2_AT, &MAGIC)? {
            return read(window, at);
        }
    }
    Ok(None)
}

fn read(window: &Window<'_>, label: u64) -> Result<Option<Detected>, ReadError> {
    let mut out = Detected::default();
    let recorded: U16 = window.get(label + COUNT_AT)?;
    let count = recorded.get().min(MAX);
    if count < recorded.get() {
        let detail = format!("the disklabel records {recorded} partitions; it has room for {MAX}");
        out.odd(window, AnomalyKind::Damaged, detail, label + COUNT_AT, 2);
    }
    // At most 148 + 22 × 16 bytes.
    let mut bytes = [0; 500];
    let len = usize::from(count) * 16 + 148;
    let bytes = &mut bytes[..len];
    window.fill(label, bytes)?;
    let sum = super::exclusive_or(bytes);
    if sum != 0 && count == recorded.get() {
        let detail = format!("the words of the disklabel combine to {sum:04x}; expected 0000");
        out.odd(window, AnomalyKind::Damaged, detail, label + CHECKSUM_AT, 2);
    }
    let sector = sector_size(window, label, &mut out)?;
    let partitions: Vec<Partition> = (0..u64::from(count))
        .map(|i| window.get(label + PARTITIONS_AT + i * PARTITION_LEN))
        .collect::<Result<_, _>>()?;
    let bytes_of = |sectors: U32| sector.sectors(u64::from(sectors.get())).bytes();
    let relative = partitions.get(2).is_some_and(|c| {
        c.first.get() == 0
            && c.sectors.get() != 0
            && bytes_of(c.sectors).is_some_and(|len| len <= window.size())
    });
    let origin = if relative {
        Bytes::ZERO
    } else {
        window.extent().start()
    };
    for ((index, letter), partition) in (0_u64..).zip('a'..='v').zip(&partitions) {
        if partition.kind == 0 || partition.sectors.get() == 0 {
            continue;
        }
        let at = label + PARTITIONS_AT + index * PARTITION_LEN;
        let place = bytes_of(partition.first).zip(bytes_of(partition.sectors));
        let Some((first, len)) = place else { continue };
        let extent = first
            .checked_sub(origin)
            .and_then(|start| Extent::new(start, len));
        let Some(extent) = extent else {
            let detail = format!(
                "partition {letter} starts at byte {} of the disk, before the disklabel's volume at {}",
                first.grouped(),
                origin.grouped()
            );
            out.odd(window, AnomalyKind::Overlap, detail, at + 4, 4);
            continue;
        };
        if extent == Extent::whole(window.size()) {
            continue;
        }
        let slot = Slot {
            name: format!("partition {letter}"),
            number: index + 1,
            extent,
            kind: format!("{:02x}", partition.kind),
            kind_at: (at + 12, 1),
            first: u64::from(partition.first.get()),
            first_at: (at + 4, 4),
            len_at: (at, 4),
            at,
        };
        out.children.push(slot.child(window, Nesting::Plain));
    }
    Ok(Some(out))
}

/// The sector size that the label records.
fn sector_size(
    window: &Window<'_>,
    label: u64,
    out: &mut Detected,
) -> Result<SectorSize, ReadError> {
    let at = label + SECTOR_SIZE_AT;
    let recorded: U32 = window.get(at)?;
    let size = SectorSize::new(recorded.get())
        .filter(|_| recorded.get().is_power_of_two() && (512..=4096).contains(&recorded.get()));
    let Some(size) = size else {
        let detail = format!(
            "the disklabel records sectors of {recorded} bytes; expected 512 to 4,096, a power of two: it is read with 512"
        );
        out.odd(window, AnomalyKind::Damaged, detail, at, 4);
        return Ok(SectorSize::B512);
    };
    let value = Value::Bytes(size.unit().bytes());
    out.record(window, Key::TableSectorSize, value, at, 4);
    if let Some(device) = window.sector().filter(|device| *device != size) {
        let detail = format!("the disklabel counts in sectors of {size}; the device has {device}");
        out.odd(window, AnomalyKind::ForeignSectorSize, detail, at, 4);
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::testing::{children, found, found_in, kinds, put};
    use straddle_io::Reader;

    fn label(at: usize, partitions: &[(u32, u32, u8)]) -> Vec<u8> {
        let mut disk = vec![0; 128 << 10];
        put(&mut disk, at, &MAGIC);
        put(&mut disk, at + 40, &512_u32.to_le_bytes());
        put(&mut disk, at + 132, &MAGIC);
        let count = u16::try_from(partitions.len()).expect("few");
        put(&mut disk, at + 138, &count.to_le_bytes());
        for (i, (first, sectors, kind)) in partitions.iter().enumerate() {
            let entry = at + 148 + 16 * i;
            put(&mut disk, entry, &sectors.to_le_bytes());
            put(&mut disk, entry + 4, &first.to_le_bytes());
            disk[entry + 12] = *kind;
        }
        let sum =
            crate::partition::exclusive_or(&disk[at..at + 148 + 16 * partitions.len().min(22)]);
        put(&mut disk, at + 136, &sum.to_le_bytes());
        disk
    }

    /// As it looks inside a partition that starts at sector 64 of its disk and is 64 KiB long.
    fn inside(label: &[u8]) -> Detected {
        let mut disk = vec![0; 32_768];
        disk.extend(&label[..65_536]);
        let reader = Reader::new(&disk);
        let extent = Extent::new(Bytes::kib(32), Bytes::kib(64)).expect("small");
        let window = Window::whole(&reader, None).part(extent).expect("inside");
        found_in(&PROBER, &window).expect("a disklabel")
    }

    #[test]
    fn positions_count_from_the_disk() {
        for place in [512, 64, 4096] {
            let disk = label(place, &[(80, 10, 7), (90, 9, 1), (64, 128, 0)]);
            let detected = inside(&disk);
            let want = [
                (1, 16 * 512, 5_120, "07".into()),
                (2, 26 * 512, 4_608, "01".into()),
            ];
            assert_eq!(children(&detected), want, "{place}");
            assert_eq!(kinds(&detected), []);
        }
    }

    #[test]
    fn freebsd_counts_from_the_label_and_openbsd_from_the_disk() {
        // c = the partition's own 128 sectors from 0.
        let freebsd = label(512, &[(16, 10, 7), (26, 9, 1), (0, 128, 0)]);
        assert_eq!(
            children(&inside(&freebsd))[0],
            (1, 8_192, 5_120, "07".into())
        );
        // c = the whole disk of 192 sectors from 0.
        let openbsd = label(512, &[(80, 10, 7), (90, 9, 1), (0, 192, 0)]);
        assert_eq!(
            children(&inside(&openbsd))[0],
            (1, 8_192, 5_120, "07".into())
        );
    }

    #[test]
    fn a_partition_before_its_volume_and_a_wrong_sum_are_named() {
        let mut disk = label(512, &[(80, 10, 7), (10, 9, 1), (64, 128, 0)]);
        disk[512 + 4] ^= 1;
        let detected = inside(&disk);
        assert_eq!(
            kinds(&detected),
            [AnomalyKind::Damaged, AnomalyKind::Overlap]
        );
        assert_eq!(
            detected.anomalies[0].detail,
            "the words of the disklabel combine to 0001; expected 0000"
        );
        assert_eq!(
            detected.anomalies[1].detail,
            "partition b starts at byte 5,120 of the disk, before the disklabel's volume at 32,768"
        );
    }

    #[test]
    fn impossible_counts_and_sector_sizes_are_named() {
        let mut disk = label(512, &[(16, 10, 7)]);
        put(&mut disk, 512 + 138, &60_000_u16.to_le_bytes());
        put(&mut disk, 512 + 40, &513_u32.to_le_bytes());
        let detected = found(&PROBER, &disk).expect("a disklabel");
        let details: Vec<_> = detected
            .anomalies
            .iter()
            .map(|o| o.detail.as_str())
            .collect();
        assert_eq!(
            details,
            [
                "the disklabel records 60000 partitions; it has room for 22",
                "the disklabel records sectors of 513 bytes; expected 512 to 4,096, a power of two: it is read with 512"
            ]
        );
        assert_eq!(children(&detected), [(1, 8_192, 5_120, "07".into())]);
    }
}
