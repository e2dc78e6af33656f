//! FAT12, FAT16 and FAT32: the BIOS parameter block.
//!
//! ```text
//! byte 11  bytes per sector (2)      22  sectors a FAT, FAT12 and FAT16 (2)
//!      13  sectors a cluster (1)     28  hidden sectors (4)
//!      14  reserved sectors (2)      32  sectors, if 65,536 or more (4)
//!      16  FATs (1)                  36  sectors a FAT, FAT32 (4)
//!      17  root entries (2)          50  sector of the backup boot sector, FAT32 (2)
//!      19  sectors (2)              510  55 aa
//! ```
//!
//! The clusters start behind the reserved sectors, the FATs and the root directory: at no particular boundary.
//!
//! There is no magic: `55 aa` is that of every boot sector, an MBR's too. So every field must make sense, and the
//! fields must agree with each other.
//!
//! Source: Microsoft, "FAT32 File System Specification" 1.03 (`fatgen103`).

use straddle_io::ReadError;
use straddle_stack::{GridRole, Key};
use zerocopy::byteorder::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::record::{Recorder, place};
use crate::{Class, Detected, Magic, Prober, Window};

pub(crate) static PROBER: Prober = Prober {
    name: "fat",
    class: Class::Filesystem,
    min_size: 512,
    magics: &[Magic {
        offset: 510,
        bytes: &[0x55, 0xaa],
    }],
    probe: |window| read(window, 0),
    find: None,
};

/// The copy of a FAT32 boot sector, six sectors on by the specification's recommendation; for sectors of 512 bytes.
pub(crate) static BACKUP: Prober = Prober {
    name: "fat",
    class: Class::Filesystem,
    min_size: 7 * 512,
    magics: &[Magic {
        offset: BACKUP_AT + 510,
        bytes: &[0x55, 0xaa],
    }],
    probe: |window| read(window, BACKUP_AT),
    find: None,
};

const BACKUP_AT: u64 = 6 * 512;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct BootSector {
    jump: [u8; 3],
    name: [u8; 8],
    bytes_per_sector: U16,
    sectors_per_cluster: u8,
    reserved_sectors: U16,
    fats: u8,
    root_entries: U16,
    small_sectors: U16,
    media: u8,
    small_fat_sectors: U16,
    sectors_per_track: U16,
    heads: U16,
    hidden_sectors: U32,
    large_sectors: U32,
    large_fat_sectors: U32,
    flags: U16,
    version: U16,
    root_cluster: U32,
    info_sector: U16,
    backup_sector: U16,
}

struct Geometry {
    kind: &'static str,
    sector: u64,
    cluster: u64,
    sectors: u64,
    /// Sectors before the first cluster.
    heap: u64,
    fat_sectors: u64,
    root_sectors: u64,
}

impl BootSector {
    /// `None` when this is not a FAT boot sector.
    fn geometry(&self) -> Option<Geometry> {
        if !matches!(self.jump, [0xeb | 0xe9, ..]) {
            return None;
        }
        let sector = u64::from(self.bytes_per_sector.get());
        let per_cluster = u64::from(self.sectors_per_cluster);
        if !sector.is_power_of_two() || !(512..=4096).contains(&sector) {
            return None;
        }
        if !per_cluster.is_power_of_two() || !(self.media == 0xf0 || self.media >= 0xf8) {
            return None;
        }
        let (reserved, fats) = (u64::from(self.reserved_sectors.get()), u64::from(self.fats));
        if reserved == 0 || !(1..=2).contains(&fats) {
            return None;
        }
        let is_fat32 = self.small_fat_sectors.get() == 0;
        let fat_sectors = if is_fat32 {
            u64::from(self.large_fat_sectors.get())
        } else {
            u64::from(self.small_fat_sectors.get())
        };
        let root_entries = u64::from(self.root_entries.get());
        // FAT32 keeps its root directory in clusters, the others before them.
        if fat_sectors == 0 || is_fat32 != (root_entries == 0) {
            return None;
        }
        let sectors = match self.small_sectors.get() {
            0 => u64::from(self.large_sectors.get()),
            n => u64::from(n),
        };
        let root_sectors = (root_entries * 32).div_ceil(sector);
        let heap = reserved + fats * fat_sectors + root_sectors;
        let clusters = sectors.checked_sub(heap)? / per_cluster;
        let (kind, bits) = match clusters {
            0 => return None,
            _ if is_fat32 => ("FAT32", 32),
            1..4085 => ("FAT12", 12),
            4085..65_525 => ("FAT16", 16),
            _ => return None,
        };
        // Two entries, which stand for no cluster, come first.
        let needed = ((clusters + 2) * bits).div_ceil(8 * sector);
        (needed <= fat_sectors).then_some(Geometry {
            kind,
            sector,
            cluster: sector * per_cluster,
            sectors,
            heap,
            fat_sectors,
            root_sectors,
        })
    }
}

/// Reads the boot sector at `at`: 0, or where its copy is.
fn read(window: &Window<'_>, at: u64) -> Result<Option<Detected>, ReadError> {
    let boot: BootSector = window.get(at)?;
    let Some(geometry) = boot.geometry() else {
        return Ok(None);
    };
    let sector = geometry.sector;
    let mut rec = Recorder::new(window, at);
    if at != 0 {
        if geometry.kind != "FAT32" || u64::from(boot.backup_sector.get()) * sector != at {
            return Ok(None);
        }
        rec.copy_instead_of(0, place!(BootSector.backup_sector));
    }
    rec.variant(match geometry.kind {
        "FAT12" => "fat12",
        "FAT16" => "fat16",
        _ => "fat32",
    });
    rec.text(
        Key::Version,
        geometry.kind,
        if geometry.kind == "FAT32" {
            place!(BootSector.large_fat_sectors)
        } else {
            place!(BootSector.small_fat_sectors)
        },
    );
    rec.bytes(Key::SectorSize, sector, place!(BootSector.bytes_per_sector));
    rec.bytes(
        Key::BlockSize,
        geometry.cluster,
        place!(BootSector.sectors_per_cluster),
    );
    let heap = geometry.heap * sector;
    let (reserved, fats) = (boot.reserved_sectors.get(), boot.fats);
    let (fat_sectors, root) = (geometry.fat_sectors, geometry.root_sectors);
    rec.derived(
        Key::ClusterHeapOffset,
        heap,
        format!(
            "({reserved} reserved sectors + {fats} × {fat_sectors} of the FATs + {root} of the root directory) × {sector} = {heap}"
        ),
    );
    rec.grid(
        GridRole::AllocationUnit,
        geometry.cluster,
        heap,
        place!(BootSector.sectors_per_cluster),
    );
    rec.bytes(
        Key::HiddenSectors,
        u64::from(boot.hidden_sectors.get()) * sector,
        place!(BootSector.hidden_sectors),
    );
    rec.claimed_size(
        geometry.sectors * sector,
        if boot.small_sectors.get() == 0 {
            place!(BootSector.large_sectors)
        } else {
            place!(BootSector.small_sectors)
        },
    );
    // FAT32 has a longer header before it.
    match geometry.kind {
        "FAT32" => rec.volume_id::<4>(67),
        _ => rec.volume_id::<4>(39),
    }
    Ok(Some(rec.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Asked, Volume};
    use straddle_stack::AnomalyKind;

    const SECTORS: u64 = 81_920;

    fn fat32(volume: Volume, at: usize) -> Volume {
        volume
            .with(at, [0xeb, 0x58, 0x90])
            .with(at + 11, 512_u16.to_le_bytes())
            .with(at + 13, [1])
            .with(at + 14, 32_u16.to_le_bytes())
            .with(at + 16, [2])
            .with(at + 21, [0xf8])
            .with(at + 28, 2048_u32.to_le_bytes())
            .with(at + 32, 81_920_u32.to_le_bytes())
            .with(at + 36, 630_u32.to_le_bytes())
            .with(at + 50, 6_u16.to_le_bytes())
            .with(at + 510, [0x55, 0xaa])
    }

    fn volume() -> Volume {
        Volume::new(usize::try_from(SECTORS * 512).expect("small"))
    }

    fn fat16() -> Volume {
        Volume::new(20_480 * 512)
            .with(0, [0xeb, 0x3c, 0x90])
            .with(11, 512_u16.to_le_bytes())
            .with(13, [4])
            .with(14, 1_u16.to_le_bytes())
            .with(16, [2])
            .with(17, 512_u16.to_le_bytes())
            .with(19, 20_480_u16.to_le_bytes())
            .with(21, [0xf8])
            .with(22, 20_u16.to_le_bytes())
            .with(510, [0x55, 0xaa])
    }

    #[test]
    fn fat32_clusters_start_behind_the_fats() {
        let found = fat32(volume(), 0).probe(&PROBER).expect("fat");
        assert_eq!(found.text(Key::Version).as_deref(), Some("FAT32"));
        assert_eq!(found.bytes(Key::BlockSize), Some(512));
        // 32 + 2 × 630 = 1,292 sectors.
        assert_eq!(found.bytes(Key::ClusterHeapOffset), Some(661_504));
        assert_eq!(found.grid(GridRole::AllocationUnit), Some((512, 0)));
        assert_eq!(found.bytes(Key::HiddenSectors), Some(1 << 20));
        assert_eq!(found.bytes(Key::ClaimedSize), Some(SECTORS * 512));
        assert_eq!(found.anomalies(), []);
    }

    #[test]
    fn a_small_fat32_may_have_its_sectors_in_the_small_field() {
        let small = |large: u32| {
            fat32(volume(), 0)
                .with(19, 40_960_u16.to_le_bytes())
                .with(32, large.to_le_bytes())
                .probe(&PROBER)
                .expect("fat")
        };
        // 40,960 sectors are what mkfs.fat -F 32 writes here for 20 MiB; Linux believes the small field.
        for large in [0, 40_960, 81_920] {
            let found = small(large);
            assert_eq!(found.text(Key::Version).as_deref(), Some("FAT32"));
            assert_eq!(found.bytes(Key::ClaimedSize), Some(20 << 20));
            assert_eq!(found.evidence(Key::ClaimedSize), Some((19, vec![0, 160])));
        }
    }

    #[test]
    fn fat16_has_a_root_directory_before_its_clusters() {
        let found = fat16().probe(&PROBER).expect("fat");
        assert_eq!(found.text(Key::Version).as_deref(), Some("FAT16"));
        // 1 + 2 × 20 + 32 = 73 sectors, which are 18 clusters of 2 KiB and a sector.
        assert_eq!(found.bytes(Key::ClusterHeapOffset), Some(73 * 512));
        assert_eq!(found.grid(GridRole::AllocationUnit), Some((2048, 512)));
        assert_eq!(found.bytes(Key::ClaimedSize), Some(20_480 * 512));
    }

    #[test]
    fn a_floppy_is_fat12() {
        let floppy = fat16()
            .with(13, [1])
            .with(17, 224_u16.to_le_bytes())
            .with(19, 2880_u16.to_le_bytes())
            .with(21, [0xf0])
            .with(22, 9_u16.to_le_bytes());
        let found = floppy.probe(&PROBER).expect("fat");
        assert_eq!(found.text(Key::Version).as_deref(), Some("FAT12"));
        assert_eq!(found.bytes(Key::ClusterHeapOffset), Some(33 * 512));
    }

    #[test]
    fn one_field_that_makes_no_sense_is_enough_to_refuse() {
        let refused: [(usize, &[u8]); 11] = [
            (0, &[0x33, 0xc0]), // an MBR's first instruction
            (11, &[0, 0]),      // no sector size
            (11, &[0, 3]),      // not a power of two
            (13, &[3]),         // cluster not a power of two
            (14, &[0, 0]),      // the boot sector itself is reserved
            (16, &[0]),         // no FAT
            (17, &[0, 0]),      // no root directory, but not FAT32
            (19, &[60, 0]),     // ends before its clusters
            (21, &[0]),         // no media descriptor
            (22, &[1, 0]),      // a FAT too short for the clusters
            (510, &[0, 0]),     // no signature
        ];
        for (at, bytes) in refused {
            let found = fat16().with(at, bytes).probe(&PROBER);
            assert!(found.is_none(), "byte {at}");
        }
    }

    #[test]
    fn an_mbr_is_not_fat() {
        let mbr = Volume::new(1 << 20)
            .with(0, [0xeb, 0x63, 0x90])
            .with(
                446,
                [0x80, 1, 1, 0, 0x0c, 0xfe, 0xff, 0xff, 63, 0, 0, 0, 0, 8],
            )
            .with(510, [0x55, 0xaa]);
        assert!(mbr.probe(&PROBER).is_none());
    }

    #[test]
    fn the_backup_boot_sector_must_know_where_it_is() {
        let found = fat32(volume(), 3072).probe(&BACKUP).expect("the copy");
        assert_eq!(found.bytes(Key::ClusterHeapOffset), Some(661_504));
        assert_eq!(found.anomalies(), [AnomalyKind::UnusualPlace]);
        let lost = fat32(volume(), 3072).with(3072 + 50, [7, 0]);
        assert!(lost.probe(&BACKUP).is_none());
    }
}
