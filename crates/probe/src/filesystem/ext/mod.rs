//! ext2, ext3 and ext4: the superblock, 1,024 bytes into the volume.
//!
//! ```text
//! byte  4  blocks (4), high half at 336     92  compatible, incompatible, read-only features (4, 4, 4)
//!      20  first data block (4)            120  label (16)
//!      24  log2 of block size, -10 (4)     356  stride: blocks a stripe unit (2)
//!      28  log2 of cluster size, -10 (4)   368  stripe width: blocks a full stripe (4)
//!      32  blocks a group (4)
//!      56  53 ef                            90  group this copy belongs to (2)
//! ```
//!
//! Copies lie at the beginning of group 1 and others; the bootloader's first block makes them lie at block 8,193 with
//! blocks of 1 KiB, and at block 16,384 or 32,768 with 2 or 4 KiB.
//!
//! Files are found by way of the inodes, see `volume`, `blocks` and `directory`.
//!
//! Source: Linux documentation, `filesystems/ext4/super.rst`.

mod blocks;
mod directory;
mod files;
#[cfg(test)]
mod files_tests;
mod volume;

use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, GridRole, Key};
use zerocopy::byteorder::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::crc32c;
use crate::record::{Place, Recorder, place};
use crate::{Class, Detected, Magic, Prober, Window};

const SUPERBLOCK_AT: u64 = 1024;
const MAGIC: [u8; 2] = [0x53, 0xef];
const MAGIC_AT: u64 = 56;

pub(crate) static PROBER: Prober = Prober {
    name: "ext",
    class: Class::Filesystem,
    min_size: 2048,
    magics: &[Magic {
        offset: SUPERBLOCK_AT + MAGIC_AT,
        bytes: &MAGIC,
    }],
    probe: |window| read(window, SUPERBLOCK_AT),
    find: Some(files::find),
};

/// The copy at the beginning of group 1, for the usual block sizes and groups of one block of bitmap each.
pub(crate) static BACKUP: Prober = Prober {
    name: "ext",
    class: Class::Filesystem,
    min_size: 8 << 20,
    magics: &[],
    probe: probe_backup,
    find: None,
};

/// 4 KiB first: it is by far the most usual.
const BACKUPS: [u64; 3] = [32_768 * 4096, 8193 * 1024, 16_384 * 2048];

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Superblock {
    inodes: U32,
    blocks: U32,
    unused_1: [u8; 12],
    first_data_block: U32,
    log_block_size: U32,
    log_cluster_size: U32,
    blocks_per_group: U32,
    clusters_per_group: U32,
    inodes_per_group: U32,
    unused_2: [u8; 12],
    magic: [u8; 2],
    unused_3: [u8; 18],
    revision: U32,
    unused_4: [u8; 8],
    inode_size: U16,
    group: U16,
    compatible: U32,
    incompatible: U32,
    read_only: U32,
    uuid: [u8; 16],
    label: [u8; 16],
    unused_5: [u8; 118],
    descriptor_size: U16,
    unused_6: [u8; 4],
    first_meta_group: U32,
    unused_7: [u8; 72],
    blocks_high: U32,
    unused_8: [u8; 16],
    stride: U16,
    unused_9: [u8; 10],
    stripe_width: U32,
    unused_10: [u8; 216],
    backup_groups: [U32; 2],
}

const HAS_JOURNAL: u32 = 0x4;
const SPARSE_COPIES_2: u32 = 0x200;
const NEEDS_RECOVERY: u32 = 0x4;
const META_GROUPS: u32 = 0x10;
const LARGE_DIRECTORIES: u32 = 0x4000;
const SPARSE_COPIES: u32 = 0x1;
const HUGE_FILES: u32 = 0x8;
const JOURNAL_DEVICE: u32 = 0x8;
const HIGH_HALVES: u32 = 0x80;
const BIGALLOC: u32 = 0x200;
const METADATA_CHECKSUMS: u32 = 0x400;
/// The checksum of the superblock is its last field.
const CHECKSUM_AT: u64 = 1020;
const CHECKSUM: Place = Place::new(1020, 4);
/// Incompatible features that ext2 and ext3 had: file types, needs recovery, meta block groups.
const OLD_INCOMPATIBLE: u32 = 0x2 | 0x4 | 0x10;
/// Read-only compatible features that they had: sparse superblocks, large files, directory B-trees.
const OLD_READ_ONLY: u32 = 0x1 | 0x2 | 0x4;

impl Superblock {
    /// The generation that the features in use belong to: the oldest driver that can mount it.
    fn version(&self) -> &'static str {
        let (incompatible, read_only) = (self.incompatible.get(), self.read_only.get());
        if incompatible & JOURNAL_DEVICE != 0 {
            "ext-journal"
        } else if incompatible & !OLD_INCOMPATIBLE != 0 || read_only & !OLD_READ_ONLY != 0 {
            "ext4"
        } else if self.compatible.get() & HAS_JOURNAL != 0 {
            "ext3"
        } else {
            "ext2"
        }
    }

    /// Block size; `None` when the numbers contradict each other.
    fn block_size(&self) -> Option<u64> {
        let exponent = self.log_block_size.get();
        let plausible = exponent <= 6
            && self.blocks.get() != 0
            && self.first_data_block.get() <= 1
            && self.revision.get() <= 1;
        let grouped = self.version() == "ext-journal" || self.blocks_per_group.get() != 0;
        (plausible && grouped).then(|| 1024 << exponent)
    }

    fn block_count(&self) -> u64 {
        let high = if self.incompatible.get() & HIGH_HALVES != 0 {
            u64::from(self.blocks_high.get())
        } else {
            0
        };
        high << 32 | u64::from(self.blocks.get())
    }
}

fn probe_backup(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    for at in BACKUPS {
        if window.matches(at + MAGIC_AT, &MAGIC)?
            && window.size().get() >= at + SUPERBLOCK_AT
            && let Some(found) = read(window, at)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Reads the superblock at `at`: 1,024, or where a copy is.
fn read(window: &Window<'_>, at: u64) -> Result<Option<Detected>, ReadError> {
    let sb: Superblock = window.get(at)?;
    let Some(block) = sb.block_size() else {
        return Ok(None);
    };
    let Some(size) = sb.block_count().checked_mul(block) else {
        return Ok(None);
    };
    let mut rec = Recorder::new(window, at);
    let first = u64::from(sb.first_data_block.get());
    if at != SUPERBLOCK_AT {
        let group_start = (u64::from(sb.blocks_per_group.get()) + first) * block;
        if sb.group.get() != 1 || group_start != at {
            return Ok(None);
        }
        rec.copy_instead_of(SUPERBLOCK_AT, place!(Superblock.magic));
    }
    rec.variant(sb.version());
    rec.text(Key::Version, sb.version(), place!(Superblock.incompatible));
    rec.bytes(Key::BlockSize, block, place!(Superblock.log_block_size));
    rec.count(
        Key::FirstDataBlock,
        first,
        place!(Superblock.first_data_block),
    );
    let mut unit = (block, place!(Superblock.log_block_size));
    if sb.read_only.get() & BIGALLOC != 0 {
        match sb.log_cluster_size.get() {
            exponent @ 0..=20 if 1024 << exponent >= block => {
                unit = (1024 << exponent, place!(Superblock.log_cluster_size));
                rec.bytes(Key::ClusterSize, unit.0, unit.1);
            }
            exponent => rec.odd(
                AnomalyKind::Damaged,
                format!("a cluster of 2^({exponent} + 10) bytes; expected one block to 1 GiB"),
                place!(Superblock.log_cluster_size),
            ),
        }
    }
    // Block 0 is the volume's beginning, whatever the first data block is.
    rec.grid(GridRole::AllocationUnit, unit.0, 0, unit.1);
    rec.bytes_if_set(
        Key::FsStripeUnit,
        u64::from(sb.stride.get()) * block,
        place!(Superblock.stride),
    );
    rec.bytes_if_set(
        Key::FsFullStripe,
        u64::from(sb.stripe_width.get()) * block,
        place!(Superblock.stripe_width),
    );
    rec.volume_id::<16>(0x68);
    rec.label(&sb.label, place!(Superblock.label));
    rec.claimed_size(size, place!(Superblock.blocks));
    if sb.read_only.get() & METADATA_CHECKSUMS != 0 {
        let bytes: [u8; CHECKSUM.offset] = window.get(at)?;
        let recorded: U32 = window.get(at + CHECKSUM_AT)?;
        // ext leaves the register as it is at the end.
        rec.checksum("superblock", recorded.get(), !crc32c::of(&bytes), CHECKSUM);
    }
    Ok(Some(rec.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Asked, Volume};

    fn ext(len: usize, at: usize, log_block: u32, blocks: u32) -> Volume {
        Volume::new(len)
            .with(at, 1024_u32.to_le_bytes())
            .with(at + 4, blocks.to_le_bytes())
            .with(at + 20, u32::from(log_block == 0).to_le_bytes())
            .with(at + 24, log_block.to_le_bytes())
            .with(at + 28, log_block.to_le_bytes())
            .with(at + 32, (8192_u32 << log_block).to_le_bytes())
            .with(at + 56, MAGIC)
            .with(at + 76, 1_u32.to_le_bytes())
            .with(at + 92, 0x3c_u32.to_le_bytes())
            .with(at + 96, 0x2c2_u32.to_le_bytes())
            .with(at + 100, 0x6b_u32.to_le_bytes())
    }

    #[test]
    fn stride_and_stripe_width_are_in_blocks() {
        let found = ext(1 << 20, 1024, 2, 256)
            .with(1024 + 120, b"data")
            .with(1024 + 356, 16_u16.to_le_bytes())
            .with(1024 + 368, 48_u32.to_le_bytes())
            .probe(&PROBER)
            .expect("ext");
        assert_eq!(found.text(Key::Version).as_deref(), Some("ext4"));
        assert_eq!(found.text(Key::Label).as_deref(), Some("data"));
        assert_eq!(found.bytes(Key::BlockSize), Some(4096));
        assert_eq!(found.bytes(Key::FsStripeUnit), Some(65_536));
        assert_eq!(
            found.evidence(Key::FsStripeUnit),
            Some((1024 + 356, vec![16, 0]))
        );
        assert_eq!(found.bytes(Key::FsFullStripe), Some(196_608));
        assert_eq!(found.bytes(Key::ClaimedSize), Some(1 << 20));
        assert_eq!(found.grid(GridRole::AllocationUnit), Some((4096, 0)));
        assert_eq!(found.bytes(Key::ClusterSize), None);
        assert_eq!(found.anomalies(), []);
    }

    #[test]
    fn a_wrong_checksum_is_named() {
        let with_checksums = |sum: u32| {
            ext(1 << 20, 1024, 2, 256)
                .with(1024 + 100, 0x46b_u32.to_le_bytes())
                .with(2044, sum.to_le_bytes())
        };
        let volume = with_checksums(0);
        let right = !crc32c::of(&volume.0[1024..2044]);
        let found = with_checksums(right).probe(&PROBER).expect("ext");
        assert_eq!(found.anomalies(), []);
        let found = volume.probe(&PROBER).expect("ext");
        assert_eq!(found.bytes(Key::BlockSize), Some(4096));
        let detail = format!(
            "the checksum of the superblock is 00000000; its bytes give {right:08x}: it is read all the same"
        );
        assert_eq!(found.anomalies[0].detail, detail);
    }

    #[test]
    fn the_version_is_that_of_the_newest_feature() {
        let version = |compatible: u32, incompatible: u32, read_only: u32| {
            let volume = ext(1 << 20, 1024, 0, 1024)
                .with(1024 + 92, compatible.to_le_bytes())
                .with(1024 + 96, incompatible.to_le_bytes())
                .with(1024 + 100, read_only.to_le_bytes());
            volume.probe(&PROBER).expect("ext").text(Key::Version)
        };
        assert_eq!(version(0x38, 0x2, 0x3).as_deref(), Some("ext2"));
        assert_eq!(version(0x3c, 0x6, 0x3).as_deref(), Some("ext3"));
        assert_eq!(version(0x38, 0x42, 0x3).as_deref(), Some("ext4"));
        assert_eq!(version(0x3c, 0x2, 0x43).as_deref(), Some("ext4"));
        assert_eq!(version(0, 0x8, 0).as_deref(), Some("ext-journal"));
    }

    #[test]
    fn bigalloc_allocates_in_clusters() {
        let volume = || ext(1 << 20, 1024, 2, 256).with(1024 + 100, 0x26b_u32.to_le_bytes());
        let found = volume()
            .with(1024 + 28, 6_u32.to_le_bytes())
            .probe(&PROBER)
            .expect("ext");
        assert_eq!(found.bytes(Key::BlockSize), Some(4096));
        assert_eq!(found.bytes(Key::ClusterSize), Some(65_536));
        assert_eq!(found.grid(GridRole::AllocationUnit), Some((65_536, 0)));
        let broken = volume().with(1024 + 28, [0xff; 4]).probe(&PROBER);
        assert_eq!(broken.expect("ext").anomalies(), [AnomalyKind::Damaged]);
    }

    #[test]
    fn sizes_that_do_not_fit_the_volume_are_odd() {
        let small = ext(1 << 20, 1024, 2, 128).probe(&PROBER).expect("ext");
        assert_eq!(small.anomalies(), [AnomalyKind::SizeDiffers]);
        assert_eq!(small.size.expect("known").value.get(), 1 << 19);
        let high = ext(1 << 20, 1024, 2, 0x100)
            .with(1024 + 336, 1_u32.to_le_bytes())
            .probe(&PROBER)
            .expect("ext");
        assert_eq!(high.bytes(Key::ClaimedSize), Some((1 << 44) + (1 << 20)));
        assert_eq!(high.anomalies(), [AnomalyKind::SizeDiffers]);
    }

    #[test]
    fn numbers_beyond_the_limits_are_not_ext() {
        let refused: [(usize, [u8; 4]); 5] = [
            (24, [7, 0, 0, 0]),
            (24, [0xff; 4]),
            (4, [0; 4]),
            (20, [2, 0, 0, 0]),
            (32, [0; 4]),
        ];
        for (at, bytes) in refused {
            let volume = ext(1 << 20, 1024, 2, 256).with(1024 + at, bytes);
            assert!(volume.probe(&PROBER).is_none(), "byte {at}");
        }
    }

    #[test]
    fn a_copy_must_be_that_of_group_1() {
        let at = 8193 * 1024;
        let volume = || ext(16 << 20, at, 0, 16_384);
        assert!(volume().probe(&BACKUP).is_none(), "says group 0");
        let found = volume()
            .with(at + 90, [1, 0])
            .probe(&BACKUP)
            .expect("the copy");
        assert_eq!(found.bytes(Key::BlockSize), Some(1024));
        assert_eq!(found.anomalies(), [AnomalyKind::UnusualPlace]);
        assert_eq!(
            found.anomalies[0].detail,
            "a copy of the superblock at byte 8,389,632 is used; the one at byte 1,024 was not recognised"
        );
        let elsewhere = volume()
            .with(at + 90, [1, 0])
            .with(at + 32, [0, 0x40, 0, 0]);
        assert!(elsewhere.probe(&BACKUP).is_none());
    }
}
