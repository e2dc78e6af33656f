//! exFAT: the boot sector.
//!
//! ```text
//! byte  3  "EXFAT   "                     92  clusters (4)
//!      64  PartitionOffset, sectors (8)  104  revision: minor, major (1, 1)
//!      72  VolumeLength, sectors (8)     108  log2 of bytes a sector (1)
//!      80  FatOffset (4), FatLength (4)  109  log2 of sectors a cluster (1)
//!      88  ClusterHeapOffset (4)         510  55 aa
//! ```
//!
//! The twelve boot sectors, the last of which is a checksum of the others over and over, are followed by a copy of them.
//!
//! Source: Microsoft, "exFAT file system specification", 3.1.

use straddle_io::ReadError;
use straddle_stack::{GridRole, Key};
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::record::{Place, Recorder, place};
use crate::{Class, Detected, Magic, Prober, Window};

const NAME: &[u8; 8] = b"EXFAT   ";

pub(crate) static PROBER: Prober = Prober {
    name: "exfat",
    class: Class::Filesystem,
    min_size: 512,
    magics: &[Magic {
        offset: 3,
        bytes: NAME,
    }],
    probe: |window| read(window, 0),
    find: None,
};

/// The backup boot region, for sectors of 512 and of 4,096 bytes.
pub(crate) static BACKUP: Prober = Prober {
    name: "exfat",
    class: Class::Filesystem,
    min_size: 1 << 20,
    magics: &[],
    probe: probe_backup,
    find: None,
};

/// Boot sectors that the checksum in the next one covers.
const SEALED_SECTORS: usize = 11;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct BootSector {
    jump: [u8; 3],
    name: [u8; 8],
    zero: [u8; 53],
    partition_offset: U64,
    volume_length: U64,
    fat_offset: U32,
    fat_length: U32,
    heap_offset: U32,
    cluster_count: U32,
    root_cluster: U32,
    serial: U32,
    revision: [u8; 2],
    flags: U16,
    sector_shift: u8,
    cluster_shift: u8,
    fats: u8,
}

fn probe_backup(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    for at in [12 * 512, 12 * 4096] {
        if window.matches(at + 3, NAME)?
            && let Some(found) = read(window, at)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Reads the boot sector at `at`: 0, or where its copy is.
fn read(window: &Window<'_>, at: u64) -> Result<Option<Detected>, ReadError> {
    let boot: BootSector = window.get(at)?;
    let shifts = (boot.sector_shift, boot.cluster_shift);
    // Clusters are at most 32 MiB. Where FAT has its parameters, exFAT has zeroes.
    if !(9..=12).contains(&shifts.0) || shifts.1 > 25 - shifts.0 || boot.zero != [0; 53] {
        return Ok(None);
    }
    let sector = 1_u64 << shifts.0;
    let cluster = sector << shifts.1;
    let heap = u64::from(boot.heap_offset.get()) * sector;
    let fat_end = u64::from(boot.fat_offset.get()) + u64::from(boot.fat_length.get());
    let size = boot.volume_length.get().checked_mul(sector);
    let Some(size) = size.filter(|size| heap < *size && fat_end * sector <= heap) else {
        return Ok(None);
    };
    if !(1..=2).contains(&boot.fats) || boot.cluster_count.get() == 0 {
        return Ok(None);
    }
    let mut rec = Recorder::new(window, at);
    if at != 0 {
        if at != 12 * sector {
            return Ok(None);
        }
        rec.copy_instead_of(0, place!(BootSector.name));
    }
    let [minor, major] = boot.revision;
    rec.text(
        Key::Version,
        format!("{major}.{minor}"),
        place!(BootSector.revision),
    );
    rec.bytes(Key::SectorSize, sector, place!(BootSector.sector_shift));
    // The cluster size is in both shifts, which are neighbours.
    let both_shifts = Place::new(core::mem::offset_of!(BootSector, sector_shift), 2);
    rec.bytes(Key::BlockSize, cluster, both_shifts);
    let offset = boot.partition_offset.get().saturating_mul(sector);
    rec.bytes(
        Key::PartitionOffset,
        offset,
        place!(BootSector.partition_offset),
    );
    rec.bytes(Key::ClusterHeapOffset, heap, place!(BootSector.heap_offset));
    rec.grid(GridRole::AllocationUnit, cluster, heap, both_shifts);
    if let Some(boundary) = largest_power_of_two_in(offset.checked_add(heap)) {
        rec.derived(
            Key::BoundaryUnit,
            boundary,
            format!(
                "PartitionOffset {offset} + ClusterHeapOffset {heap} = {} × {boundary}",
                (offset + heap) / boundary
            ),
        );
    }
    rec.claimed_size(size, place!(BootSector.volume_length));
    rec.volume_id::<4>(100);
    // At most 11 × 4,096 bytes.
    let mut sealed = vec![0; SEALED_SECTORS << shifts.0];
    let sum_at = at.saturating_add(u64::try_from(sealed.len()).unwrap_or(u64::MAX));
    if sum_at.saturating_add(sector) <= window.size().get() {
        window.fill(at, &mut sealed)?;
        let recorded: U32 = window.get(sum_at)?;
        let place = Place::new(sealed.len(), 4);
        rec.checksum("boot sectors", recorded.get(), sum(&sealed), place);
    }
    Ok(Some(rec.finish()))
}

/// The checksum of the boot sectors. Flags and the percentage in use change while the volume is mounted, and do not count.
fn sum(sectors: &[u8]) -> u32 {
    let counted = sectors.iter().enumerate();
    counted
        .filter(|(at, _)| !matches!(at, 106 | 107 | 112))
        .fold(0, |sum: u32, (_, byte)| {
            sum.rotate_right(1).wrapping_add(u32::from(*byte))
        })
}

/// The formatter's boundary is not recorded; what can be said is to which power of two the clusters are aligned.
fn largest_power_of_two_in(n: Option<u64>) -> Option<u64> {
    n.filter(|n| *n != 0).map(|n| 1 << n.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Asked, Volume};
    use straddle_stack::AnomalyKind;

    fn exfat(at: usize, partition: u64, heap: u32) -> Volume {
        Volume::new(4 << 20)
            .with(at, [0xeb, 0x76, 0x90])
            .with(at + 3, NAME)
            .with(at + 64, partition.to_le_bytes())
            .with(at + 72, 8192_u64.to_le_bytes())
            .with(at + 80, 128_u32.to_le_bytes())
            .with(at + 84, 8_u32.to_le_bytes())
            .with(at + 88, heap.to_le_bytes())
            .with(at + 92, 900_u32.to_le_bytes())
            .with(at + 104, [0, 1])
            .with(at + 108, [9, 3, 1])
            .with(at + 510, [0x55, 0xaa])
    }

    fn sealed(volume: Volume, at: usize, sector: usize) -> Volume {
        let sum = sum(&volume.0[at..at + 11 * sector]);
        volume.with(at + 11 * sector, sum.to_le_bytes())
    }

    #[test]
    fn a_wrong_checksum_is_named_and_what_changes_does_not_count() {
        let changed = |at: usize| {
            let volume = sealed(exfat(0, 63, 257), 0, 512).with(at, [7]);
            volume.probe(&PROBER).expect("exfat").anomalies()
        };
        for at in [106, 107, 112] {
            assert_eq!(changed(at), []);
        }
        assert_eq!(changed(120), [AnomalyKind::Damaged]);
        assert_eq!(changed(11 * 512 - 1), [AnomalyKind::Damaged]);
    }

    #[test]
    fn the_boot_sector_is_read() {
        let found = sealed(exfat(0, 63, 257), 0, 512)
            .probe(&PROBER)
            .expect("exfat");
        assert_eq!(found.text(Key::Version).as_deref(), Some("1.0"));
        assert_eq!(found.bytes(Key::SectorSize), Some(512));
        assert_eq!(found.bytes(Key::BlockSize), Some(4096));
        assert_eq!(found.evidence(Key::BlockSize), Some((108, vec![9, 3])));
        assert_eq!(found.bytes(Key::PartitionOffset), Some(32_256));
        assert_eq!(found.bytes(Key::ClusterHeapOffset), Some(257 * 512));
        assert_eq!(found.grid(GridRole::AllocationUnit), Some((4096, 512)));
        // (63 + 257) × 512 = 5 × 32 KiB.
        assert_eq!(found.bytes(Key::BoundaryUnit), Some(32_768));
        assert_eq!(found.bytes(Key::ClaimedSize), Some(4 << 20));
        assert_eq!(found.anomalies(), []);
    }

    #[test]
    fn limits_are_kept() {
        let refused: [(usize, &[u8]); 6] = [
            (108, &[8]),         // sectors of 256 bytes
            (108, &[13]),        // sectors of 8 KiB
            (109, &[17]),        // clusters of 64 MiB
            (40, &[1]),          // FAT's parameters are not zero
            (84, &[0xff, 0xff]), // the FAT reaches into the clusters
            (79, &[0xff]),       // the length overflows
        ];
        for (at, bytes) in refused {
            assert!(
                exfat(0, 0, 256).with(at, bytes).probe(&PROBER).is_none(),
                "byte {at}"
            );
        }
        let furthest = exfat(0, u64::MAX, 256).probe(&PROBER).expect("exfat");
        assert_eq!(furthest.bytes(Key::BoundaryUnit), None);
    }

    #[test]
    fn the_backup_region_is_found() {
        let copy = sealed(exfat(12 * 512, 0, 256), 12 * 512, 512);
        let found = copy.probe(&BACKUP).expect("the copy");
        assert_eq!(found.bytes(Key::ClusterHeapOffset), Some(131_072));
        assert_eq!(found.anomalies(), [AnomalyKind::UnusualPlace]);
        // With sectors of 4 KiB the copy is elsewhere; one at 6,144 that says so is a remnant.
        let remnant = exfat(12 * 512, 0, 256).with(12 * 512 + 108, [12, 0]);
        assert!(remnant.probe(&BACKUP).is_none());
        let wide = exfat(12 * 4096, 0, 256)
            .with(12 * 4096 + 72, 1024_u64.to_le_bytes())
            .with(12 * 4096 + 108, [12, 0]);
        let found = wide.probe(&BACKUP).expect("the copy");
        assert_eq!(found.bytes(Key::SectorSize), Some(4096));
    }
}
