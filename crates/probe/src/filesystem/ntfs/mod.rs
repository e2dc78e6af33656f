//! NTFS: the boot sector, and the version in the `$Volume` record of the MFT.
//!
//! ```text
//! byte  3  "NTFS    "          40  sectors in the volume (8), without the backup boot sector
//!      11  bytes per sector    48  first cluster of the MFT (8)
//!      13  sectors a cluster   64  clusters an MFT record, or -n for 2^n bytes (1)
//!      28  hidden sectors (4)  68  clusters an index record, or -n for 2^n bytes (1)
//! ```
//!
//! Sectors a cluster above 128 are 2^(256 - n): that is how clusters beyond 64 KiB are written. The volume's last sector,
//! one behind the sectors that the boot sector counts, holds a copy of the boot sector.
//!
//! Files are found by way of the MFT, see `volume`, `record`, `runs` and `index`.
//!
//! Source: Microsoft, "NTFS boot sector"; the MFT record and its fixups as described by the Linux-NTFS documentation.

mod files;
#[cfg(test)]
mod files_tests;
mod index;
mod record;
mod runs;
mod volume;

use straddle_geometry::Bytes;
use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, GridRole, Key};
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::record::{Place, Recorder, place};
use crate::{Class, Detected, Magic, Prober, Window};

const NAME: &[u8; 8] = b"NTFS    ";

pub(crate) static PROBER: Prober = Prober {
    name: "ntfs",
    class: Class::Filesystem,
    min_size: 512,
    magics: &[Magic {
        offset: 3,
        bytes: NAME,
    }],
    probe: |window| read(window, 0),
    find: Some(files::find),
};

/// The copy in the last sector of the volume, for sectors of 512 and of 4,096 bytes.
pub(crate) static BACKUP: Prober = Prober {
    name: "ntfs",
    class: Class::Filesystem,
    min_size: 1 << 20,
    magics: &[],
    probe: probe_backup,
    find: None,
};

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
    fat_sectors: U16,
    sectors_per_track: U16,
    heads: U16,
    hidden_sectors: U32,
    large_sectors: U32,
    drive: [u8; 4],
    total_sectors: U64,
    mft_cluster: U64,
    mirror_cluster: U64,
    mft_record: i8,
    unused_1: [u8; 3],
    index_record: i8,
    unused_2: [u8; 3],
}

struct Geometry {
    sector: u64,
    cluster: u64,
    mft: u64,
    mft_record: u64,
    index_record: u64,
    size: u64,
}

impl BootSector {
    /// `None` when the numbers cannot be those of an NTFS volume.
    fn geometry(&self) -> Option<Geometry> {
        let sector = u64::from(self.bytes_per_sector.get());
        if !sector.is_power_of_two() || !(256..=4096).contains(&sector) {
            return None;
        }
        // Where FAT has its tables, NTFS has zeroes.
        if self.reserved_sectors.get() != 0 || self.fats != 0 || self.root_entries.get() != 0 {
            return None;
        }
        let sectors_per_cluster = match self.sectors_per_cluster {
            n @ 0..=128 => u64::from(n),
            n => 1_u64.checked_shl(256 - u32::from(n))?,
        };
        let cluster = sector.checked_mul(sectors_per_cluster)?;
        if !sectors_per_cluster.is_power_of_two() || cluster > 2 << 20 {
            return None;
        }
        let size = self.total_sectors.get().checked_mul(sector)?;
        let mft = self.mft_cluster.get().checked_mul(cluster)?;
        if size == 0 || mft == 0 || mft >= size {
            return None;
        }
        Some(Geometry {
            sector,
            cluster,
            mft,
            mft_record: record_size(self.mft_record, cluster)?,
            index_record: record_size(self.index_record, cluster)?,
            size,
        })
    }
}

/// Positive: clusters. Negative: the exponent of a number of bytes.
fn record_size(encoded: i8, cluster: u64) -> Option<u64> {
    let size = match u64::try_from(encoded) {
        Ok(clusters) => clusters.checked_mul(cluster)?,
        Err(_) => 1_u64.checked_shl(u32::from(encoded.unsigned_abs()))?,
    };
    (size.is_power_of_two() && (256..=1 << 24).contains(&size)).then_some(size)
}

fn probe_backup(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    for sector in [512, 4096] {
        let at = window.size().get().saturating_sub(sector);
        if window.matches(at.saturating_add(3), NAME)?
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
    let Some(geometry) = boot.geometry() else {
        return Ok(None);
    };
    let mut rec = Recorder::new(window, at);
    if at != 0 {
        // A copy that another volume left behind does not end where this one ends.
        if at.checked_sub(geometry.size) >= Some(geometry.cluster) || at < geometry.size {
            return Ok(None);
        }
        rec.copy_instead_of(0, place!(BootSector.name));
    }
    let hidden = u64::from(boot.hidden_sectors.get()).saturating_mul(geometry.sector);
    rec.bytes(
        Key::SectorSize,
        geometry.sector,
        place!(BootSector.bytes_per_sector),
    );
    rec.bytes(
        Key::BlockSize,
        geometry.cluster,
        place!(BootSector.sectors_per_cluster),
    );
    rec.grid(
        GridRole::AllocationUnit,
        geometry.cluster,
        0,
        place!(BootSector.sectors_per_cluster),
    );
    rec.bytes(
        Key::HiddenSectors,
        hidden,
        place!(BootSector.hidden_sectors),
    );
    rec.bytes(Key::MftOffset, geometry.mft, place!(BootSector.mft_cluster));
    rec.bytes(
        Key::MftRecordSize,
        geometry.mft_record,
        place!(BootSector.mft_record),
    );
    rec.bytes(
        Key::IndexRecordSize,
        geometry.index_record,
        place!(BootSector.index_record),
    );
    rec.claimed_size(geometry.size, place!(BootSector.total_sectors));
    rec.volume_id::<8>(0x48);
    let mut found = rec.finish();
    version(window, &geometry, &mut found);
    Ok(Some(found))
}

/// The MFT's fourth record describes the volume.
const VOLUME_RECORD: u64 = 3;
const VOLUME_INFORMATION: u32 = 0x70;
const END_OF_ATTRIBUTES: u32 = 0xffff_ffff;
/// As much of a record as is looked at: its attributes, most of which are short, come first.
const RECORD_HEAD: usize = 1024;

/// Adds the version, for which one block more must be read. A volume without a readable MFT is one all the same.
fn version(window: &Window<'_>, geometry: &Geometry, found: &mut Detected) {
    let at = geometry
        .mft
        .saturating_add(geometry.mft_record.saturating_mul(VOLUME_RECORD));
    let mut record = [0; RECORD_HEAD];
    let len = usize::try_from(geometry.mft_record)
        .unwrap_or(RECORD_HEAD)
        .min(RECORD_HEAD);
    let Some(head) = record.get_mut(..len) else {
        return;
    };
    if let Err(error) = window.fill(at, head) {
        let detail = format!("the version is not known: {error}");
        found.odd(window, AnomalyKind::Missing, detail, at, 4);
        return;
    }
    match record::undo_fixups(head, b"FILE")
        .ok()
        .and_then(|()| volume_information(head))
    {
        Some(place) => {
            let (Some(major), Some(minor)) = (head.get(place.offset), head.get(place.offset + 1))
            else {
                return;
            };
            let mut rec = Recorder::new(window, at);
            rec.text(Key::Version, format!("{major}.{minor}"), place);
            found.attributes.extend(rec.finish().attributes);
        }
        None => {
            let detail = format!(
                "the version is not known: no $Volume record at byte {}, where the MFT should have it",
                Bytes::new(at).grouped()
            );
            found.odd(window, AnomalyKind::Damaged, detail, at, 4);
        }
    }
}

/// The boot sector's numbers, from the boot sector itself or from its copy.
fn geometry(window: &Window<'_>) -> Result<Option<Geometry>, ReadError> {
    let size = window.size().get();
    for at in [0, size.saturating_sub(512), size.saturating_sub(4096)] {
        if window.matches(at.saturating_add(3), NAME)? {
            let boot: BootSector = window.get(at)?;
            let geometry = boot.geometry().filter(|g| at == 0 || at >= g.size);
            if geometry.is_some() {
                return Ok(geometry);
            }
        }
    }
    Ok(None)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    let (value, _) = U16::read_from_prefix(bytes.get(at..)?).ok()?;
    Some(usize::from(value.get()))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let (value, _) = U32::read_from_prefix(bytes.get(at..)?).ok()?;
    Some(value.get())
}

/// Where the two bytes of the version are in a record whose fixups are undone.
fn volume_information(record: &[u8]) -> Option<Place> {
    let mut at = u16_at(record, 20)?;
    // Attributes lie one after another; every step is at least 16 bytes, so the loop ends with the record.
    loop {
        let kind = u32_at(record, at)?;
        let len = usize::try_from(u32_at(record, at.checked_add(4)?)?).ok()?;
        if kind == END_OF_ATTRIBUTES || len < 16 {
            return None;
        }
        let resident = *record.get(at.checked_add(8)?)? == 0;
        if kind == VOLUME_INFORMATION && resident {
            let value = at.checked_add(u16_at(record, at.checked_add(20)?)?)?;
            // Eight bytes of zeroes come before the version.
            let version = value.checked_add(8)?;
            record.get(version..version.checked_add(2)?)?;
            return Some(Place::new(version, 2));
        }
        at = at.checked_add(len)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Asked, Volume};

    const SIZE: usize = 1 << 20;

    fn boot(at: usize, spc: u8, sectors: u64) -> Volume {
        Volume::new(SIZE)
            .with(at, [0xeb, 0x52, 0x90])
            .with(at + 3, NAME)
            .with(at + 11, 512_u16.to_le_bytes())
            .with(at + 13, [spc])
            .with(at + 28, 63_u32.to_le_bytes())
            .with(at + 40, sectors.to_le_bytes())
            .with(at + 48, 4_u64.to_le_bytes())
            .with(at + 64, [0xf6])
            .with(at + 68, [1])
            .with(at + 510, [0x55, 0xaa])
    }

    /// An MFT record 3 of 1,024 bytes with `$VOLUME_INFORMATION` at `attribute`.
    fn with_volume_record(volume: Volume, at: usize, attribute: usize) -> Volume {
        let attributes = u16::try_from(attribute).expect("small");
        let volume = volume
            .with(at, b"FILE")
            .with(at + 4, 48_u16.to_le_bytes())
            .with(at + 20, attributes.to_le_bytes())
            .with(at + attribute, 0x70_u32.to_le_bytes())
            .with(at + attribute + 4, 40_u32.to_le_bytes())
            .with(at + attribute + 20, 24_u16.to_le_bytes())
            .with(at + attribute + 32, [3, 1]);
        let true_bytes = [
            volume.0[at + 510],
            volume.0[at + 511],
            volume.0[at + 1022],
            volume.0[at + 1023],
        ];
        volume
            .with(at + 48, [0x0a, 0x00])
            .with(at + 50, true_bytes)
            .with(at + 510, [0x0a, 0x00])
            .with(at + 1022, [0x0a, 0x00])
    }

    #[test]
    fn the_boot_sector_and_the_version_are_read() {
        let mft = 4 * 4096;
        let volume = with_volume_record(boot(0, 8, 2047), mft + 3 * 1024, 56);
        let found = volume.probe(&PROBER).expect("ntfs");
        assert_eq!(found.bytes(Key::SectorSize), Some(512));
        assert_eq!(found.bytes(Key::BlockSize), Some(4096));
        assert_eq!(found.bytes(Key::HiddenSectors), Some(63 * 512));
        assert_eq!(
            found.evidence(Key::HiddenSectors),
            Some((28, vec![63, 0, 0, 0]))
        );
        assert_eq!(found.bytes(Key::MftOffset), Some(16_384));
        assert_eq!(found.bytes(Key::MftRecordSize), Some(1024));
        assert_eq!(found.bytes(Key::IndexRecordSize), Some(4096));
        assert_eq!(found.bytes(Key::ClaimedSize), Some(2047 * 512));
        assert_eq!(found.text(Key::Version).as_deref(), Some("3.1"));
        assert_eq!(
            found.evidence(Key::Version),
            Some((16_384 + 3 * 1024 + 56 + 32, vec![3, 1]))
        );
        assert_eq!(found.grid(GridRole::AllocationUnit), Some((4096, 0)));
        assert_eq!(found.anomalies(), []);
    }

    #[test]
    fn a_version_under_a_fixup_is_the_true_one() {
        // The version's two bytes are at 510 of the record, where the check number overlays them.
        let volume = with_volume_record(boot(0, 8, 2047), 16_384 + 3 * 1024, 510 - 32);
        let found = volume.probe(&PROBER).expect("ntfs");
        assert_eq!(found.text(Key::Version).as_deref(), Some("3.1"));
    }

    #[test]
    fn clusters_beyond_64_kib_are_exponents() {
        let cluster = |spc: u8| {
            let volume = boot(0, spc, 1 << 40);
            volume
                .probe(&PROBER)
                .and_then(|found| found.bytes(Key::BlockSize))
        };
        assert_eq!(cluster(0x80), Some(65_536));
        assert_eq!(cluster(0xf8), Some(131_072));
        assert_eq!(cluster(0xf4), Some(2_097_152));
        assert_eq!(cluster(0xf3), None);
        assert_eq!(cluster(0x81), None);
        assert_eq!(cluster(0), None);
        assert_eq!(cluster(3), None);
    }

    #[test]
    fn a_missing_mft_is_an_anomaly_and_not_the_end() {
        let found = boot(0, 8, 2047).probe(&PROBER).expect("ntfs");
        assert_eq!(found.anomalies(), [AnomalyKind::Damaged]);
        let far = boot(0, 8, 1 << 30).with(48, (1_u64 << 20).to_le_bytes());
        let found = far.probe(&PROBER).expect("ntfs");
        assert_eq!(
            found.anomalies(),
            [AnomalyKind::SizeDiffers, AnomalyKind::Missing]
        );
    }

    #[test]
    fn the_backup_boot_sector_is_found_and_must_fit() {
        let found = boot(SIZE - 512, 8, 2047).probe(&BACKUP).expect("the copy");
        assert_eq!(found.bytes(Key::BlockSize), Some(4096));
        assert_eq!(
            found.evidence(Key::BlockSize),
            Some((1_048_576 - 512 + 13, vec![8]))
        );
        assert!(found.anomalies().contains(&AnomalyKind::UnusualPlace));
        // A copy that a smaller, older volume left there counts other sectors.
        assert!(boot(SIZE - 512, 8, 1000).probe(&BACKUP).is_none());
        assert!(boot(SIZE - 512, 8, 5000).probe(&BACKUP).is_none());
    }
}
