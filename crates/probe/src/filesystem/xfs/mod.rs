//! XFS: the superblock of the first allocation group, in the first sector; all numbers big-endian.
//!
//! ```text
//! byte   0  "XFSB"                 108  label (12)
//!        4  block size (4)         120  log2 of block size, of sector size (1, 1)
//!        8  data blocks (8)        184  sunit: blocks a stripe unit (4)
//!       84  blocks a group (4)     188  swidth: blocks a full stripe (4)
//!      100  version and flags (2)  194  log sector size (2)
//!      102  sector size (2)        196  log stripe unit in bytes, 0 or 1 if none (4)
//! ```
//!
//! Files are found by way of the inodes, see `volume`, `extents` and `directory`.
//!
//! Source: "XFS Algorithms & Data Structures", 3rd edition, chapter 13.

mod directory;
mod extents;
mod files;
#[cfg(test)]
mod files_tests;
mod volume;

use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, GridRole, Key};
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::byteorder::little_endian;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::crc32c;
use crate::record::{Recorder, place};
use crate::{Class, Detected, Magic, Prober, Window};

pub(crate) static PROBER: Prober = Prober {
    name: "xfs",
    class: Class::Filesystem,
    min_size: 512,
    magics: &[Magic {
        offset: 0,
        bytes: b"XFSB",
    }],
    probe,
    find: Some(files::find),
};

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Superblock {
    magic: [u8; 4],
    block_size: U32,
    data_blocks: U64,
    unused_1: [u8; 40],
    root_inode: U64,
    unused_5: [u8; 16],
    realtime_extent: U32,
    group_blocks: U32,
    groups: U32,
    unused_2: [u8; 4],
    log_blocks: U32,
    version: U16,
    sector_size: U16,
    inode_size: U16,
    inodes_per_block: U16,
    label: [u8; 12],
    log_block_size: u8,
    log_sector_size: u8,
    log_inode_size: u8,
    log_inodes_per_block: u8,
    log_group_blocks: u8,
    unused_3: [u8; 59],
    stripe_unit: U32,
    stripe_width: U32,
    log_directory_block: u8,
    log_log_sector: u8,
    log_sector: U16,
    log_stripe_unit: U32,
    features: U32,
    unused_6: [u8; 12],
    incompatible: U32,
    log_incompatible: U32,
    /// Of the whole sector, from version 5 on; the only number that has its low byte first.
    checksum: little_endian::U32,
}

/// The log may use larger sectors than the rest; a flag of the version says that the field is in use.
const LOG_SECTOR_FLAG: u16 = 0x0800;

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let sb: Superblock = window.get(0)?;
    let block = u64::from(sb.block_size.get());
    let sector = u64::from(sb.sector_size.get());
    let version = sb.version.get() & 0xf;
    let plausible = block.is_power_of_two()
        && (512..=65_536).contains(&block)
        && sector.is_power_of_two()
        && (512..=32_768).contains(&sector)
        && block.trailing_zeros() == u32::from(sb.log_block_size)
        && sector.trailing_zeros() == u32::from(sb.log_sector_size)
        && sb.group_blocks.get() != 0
        && (1..=5).contains(&version);
    let size = sb.data_blocks.get().checked_mul(block);
    let Some(size) = size.filter(|size| plausible && *size != 0) else {
        return Ok(None);
    };
    let mut rec = Recorder::new(window, 0);
    rec.text(
        Key::Version,
        format!("v{version}"),
        place!(Superblock.version),
    );
    rec.bytes(Key::SectorSize, sector, place!(Superblock.sector_size));
    rec.bytes(Key::BlockSize, block, place!(Superblock.block_size));
    rec.grid(
        GridRole::AllocationUnit,
        block,
        0,
        place!(Superblock.block_size),
    );
    rec.bytes(
        Key::AllocationGroupSize,
        u64::from(sb.group_blocks.get()) * block,
        place!(Superblock.group_blocks),
    );
    let (unit, width) = (
        u64::from(sb.stripe_unit.get()),
        u64::from(sb.stripe_width.get()),
    );
    if (unit == 0) != (width == 0) || (unit != 0 && !width.is_multiple_of(unit)) {
        let detail =
            format!("swidth of {width} blocks; expected a multiple of sunit, {unit} blocks");
        rec.odd(
            AnomalyKind::Damaged,
            detail,
            place!(Superblock.stripe_width),
        );
    }
    rec.bytes_if_set(
        Key::FsStripeUnit,
        unit * block,
        place!(Superblock.stripe_unit),
    );
    rec.bytes_if_set(
        Key::FsFullStripe,
        width * block,
        place!(Superblock.stripe_width),
    );
    log(&sb, &mut rec);
    rec.volume_id::<16>(32);
    rec.label(&sb.label, place!(Superblock.label));
    rec.claimed_size(size, place!(Superblock.data_blocks));
    if version == 5 && sector <= window.size().get() {
        let place = place!(Superblock.checksum);
        let mut bytes = vec![0; usize::from(sb.sector_size.get())];
        window.fill(0, &mut bytes)?;
        let computed = crc32c::sealed(&bytes, place.offset);
        rec.checksum("superblock", sb.checksum.get(), computed, place);
    }
    Ok(Some(rec.finish()))
}

fn log(sb: &Superblock, rec: &mut Recorder<'_>) {
    let (sector, unit) = (
        u64::from(sb.log_sector.get()),
        u64::from(sb.log_stripe_unit.get()),
    );
    if sb.version.get() & LOG_SECTOR_FLAG != 0 && sector != 0 {
        rec.bytes(Key::LogSectorSize, sector, place!(Superblock.log_sector));
    } else {
        rec.bytes(Key::LogSectorSize, 512, place!(Superblock.version));
    }
    // One byte is the way to say "version 2 of the log, but no stripe unit".
    if unit > 1 {
        rec.bytes(Key::LogStripeUnit, unit, place!(Superblock.log_stripe_unit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Asked, Volume};

    fn xfs() -> Volume {
        Volume::new(1 << 20)
            .with(0, b"XFSB")
            .with(4, 4096_u32.to_be_bytes())
            .with(8, 256_u64.to_be_bytes())
            .with(84, 64_u32.to_be_bytes())
            .with(88, 4_u32.to_be_bytes())
            .with(100, 0xb4a5_u16.to_be_bytes())
            .with(102, 512_u16.to_be_bytes())
            .with(108, b"scratch")
            .with(120, [12, 9])
    }

    fn sealed(volume: Volume) -> Volume {
        let sum = crc32c::sealed(&volume.0[..512], 224);
        volume.with(224, sum.to_le_bytes())
    }

    #[test]
    fn stripes_are_in_blocks_and_the_log_in_bytes() {
        let volume = xfs()
            .with(184, 16_u32.to_be_bytes())
            .with(188, 48_u32.to_be_bytes())
            .with(196, 65_536_u32.to_be_bytes());
        let found = sealed(volume).probe(&PROBER).expect("xfs");
        assert_eq!(found.text(Key::Version).as_deref(), Some("v5"));
        assert_eq!(found.text(Key::Label).as_deref(), Some("scratch"));
        assert_eq!(found.bytes(Key::SectorSize), Some(512));
        assert_eq!(found.bytes(Key::BlockSize), Some(4096));
        assert_eq!(found.bytes(Key::FsStripeUnit), Some(65_536));
        assert_eq!(
            found.evidence(Key::FsStripeUnit),
            Some((184, vec![0, 0, 0, 16]))
        );
        assert_eq!(found.bytes(Key::FsFullStripe), Some(196_608));
        assert_eq!(found.bytes(Key::LogStripeUnit), Some(65_536));
        assert_eq!(found.bytes(Key::LogSectorSize), Some(512));
        assert_eq!(found.bytes(Key::AllocationGroupSize), Some(64 * 4096));
        assert_eq!(found.bytes(Key::ClaimedSize), Some(1 << 20));
        assert_eq!(found.grid(GridRole::AllocationUnit), Some((4096, 0)));
        assert_eq!(found.anomalies(), []);
    }

    #[test]
    fn without_stripes_nothing_is_said_of_them() {
        let found = xfs().with(196, 1_u32.to_be_bytes()).probe(&PROBER);
        let found = found.expect("xfs");
        assert_eq!(found.bytes(Key::FsStripeUnit), None);
        assert_eq!(found.bytes(Key::LogStripeUnit), None);
    }

    #[test]
    fn log_sectors_count_only_with_their_flag() {
        let log = |version: u16| {
            let volume = xfs()
                .with(100, version.to_be_bytes())
                .with(194, 4096_u16.to_be_bytes());
            volume
                .probe(&PROBER)
                .expect("xfs")
                .bytes(Key::LogSectorSize)
        };
        assert_eq!(log(0xb4a5 & !LOG_SECTOR_FLAG), Some(512));
        assert_eq!(log(0xb4a5 | LOG_SECTOR_FLAG), Some(4096));
    }

    #[test]
    fn numbers_must_agree_with_their_logarithms() {
        for (at, byte) in [
            (120, 11),
            (121, 12),
            (4, 1),
            (103, 1),
            (101, 0xaf),
            (8, 0xff),
        ] {
            assert!(xfs().with(at, [byte]).probe(&PROBER).is_none(), "byte {at}");
        }
        let odd = xfs()
            .with(184, 16_u32.to_be_bytes())
            .with(188, 40_u32.to_be_bytes());
        let found = sealed(odd).probe(&PROBER).expect("xfs");
        assert_eq!(found.anomalies(), [AnomalyKind::Damaged]);
    }

    #[test]
    fn a_wrong_checksum_is_named_from_version_5_on() {
        let found = sealed(xfs()).with(108, b"S").probe(&PROBER).expect("xfs");
        assert_eq!(found.anomalies(), [AnomalyKind::Damaged]);
        assert!(found.anomalies[0].detail.contains("checksum"));
        let old = xfs().with(100, 0xb4a4_u16.to_be_bytes()).probe(&PROBER);
        assert_eq!(old.expect("xfs").anomalies(), []);
    }
}
