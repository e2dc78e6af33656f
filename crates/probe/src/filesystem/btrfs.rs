//! btrfs: the superblock, 64 KiB into each device.
//!
//! ```text
//! byte  48  its own address (8)          152  leaf size, by now the node size (4)
//!       64  "_BHRfS_M"                   156  stripesize (4)
//!      112  bytes on all devices (8)     160  length of the system chunk array (4)
//!      136  devices (8)                  209  bytes on this device (8)
//!      144  sector size (4)              299  label (256)
//!      148  node size (4)                811  system chunks: key (17), chunk (48, and 32 a stripe)
//! ```
//!
//! The `stripesize` field is not the length of stripes; chunks record that, 64 KiB in every one written so far, and the
//! first system chunk is in the superblock.
//! A copy lies at 64 MiB. The checksum of a superblock, in its first 32 bytes, is verified when it is of type 0 (CRC-32C) or
//! 2 (SHA-256); those of types 1 (xxHash) and 3 (BLAKE2b) are not.
//!
//! Source: btrfs documentation, "On-disk format", `btrfs_super_block`.

use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, GridRole, Key};
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::crc32c;
use crate::record::{Place, Recorder, place};
use crate::{Class, Detected, Magic, Prober, Window};

const SUPERBLOCK_AT: u64 = 64 << 10;
const COPY_AT: u64 = 64 << 20;
const MAGIC: &[u8; 8] = b"_BHRfS_M";
const MAGIC_AT: u64 = 64;
const LEN: u64 = 4096;
/// The checksum's own field, which it does not cover.
const UNSEALED: usize = 32;

pub(crate) static PROBER: Prober = Prober {
    name: "btrfs",
    class: Class::Filesystem,
    min_size: SUPERBLOCK_AT + LEN,
    magics: &[Magic {
        offset: SUPERBLOCK_AT + MAGIC_AT,
        bytes: MAGIC,
    }],
    probe: |window| read(window, SUPERBLOCK_AT),
    find: None,
};

/// The copy at 64 MiB.
pub(crate) static BACKUP: Prober = Prober {
    name: "btrfs",
    class: Class::Filesystem,
    min_size: COPY_AT + LEN,
    magics: &[Magic {
        offset: COPY_AT + MAGIC_AT,
        bytes: MAGIC,
    }],
    probe: |window| read(window, COPY_AT),
    find: None,
};

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Superblock {
    checksum: [u8; 32],
    unused_1: [u8; 16],
    address: U64,
    flags: U64,
    magic: [u8; 8],
    unused_2: [u8; 40],
    total_bytes: U64,
    bytes_used: U64,
    root_directory: U64,
    devices: U64,
    sector_size: U32,
    node_size: U32,
    leaf_size: U32,
    stripe_size: U32,
    chunk_array_len: U32,
    unused_3: [u8; 32],
    checksum_kind: U16,
    unused_6: [u8; 3],
    device_id: U64,
    device_bytes: U64,
    unused_4: [u8; 82],
    label: [u8; 256],
    unused_5: [u8; 256],
    /// The first entry of the system chunk array.
    key_object: U64,
    key_kind: u8,
    key_offset: U64,
    chunk_len: U64,
    chunk_owner: U64,
    chunk_stripe_len: U64,
}

/// Kind of key that a chunk has.
const CHUNK_ITEM: u8 = 228;
/// Shortest entry of the system chunk array: a key, a chunk, one stripe.
const CHUNK_ENTRY_LEN: u32 = 17 + 48 + 32;

/// Reads the superblock at `at`, which says itself where it is.
fn read(window: &Window<'_>, at: u64) -> Result<Option<Detected>, ReadError> {
    let sb: Superblock = window.get(at)?;
    let (sector, node) = (
        u64::from(sb.sector_size.get()),
        u64::from(sb.node_size.get()),
    );
    let plausible = sb.address.get() == at
        && sector.is_power_of_two()
        && (512..=65_536).contains(&sector)
        && node.is_power_of_two()
        && (sector..=65_536).contains(&node);
    if !plausible {
        return Ok(None);
    }
    let mut rec = Recorder::new(window, at);
    if at != SUPERBLOCK_AT {
        rec.copy_instead_of(SUPERBLOCK_AT, place!(Superblock.address));
    }
    rec.bytes(Key::SectorSize, sector, place!(Superblock.sector_size));
    rec.bytes(Key::BlockSize, sector, place!(Superblock.sector_size));
    rec.grid(
        GridRole::AllocationUnit,
        sector,
        0,
        place!(Superblock.sector_size),
    );
    rec.bytes(Key::NodeSize, node, place!(Superblock.node_size));
    let leaf = u64::from(sb.leaf_size.get());
    rec.bytes(Key::LeafSize, leaf, place!(Superblock.leaf_size));
    if leaf != node {
        let detail = format!("leaf size {leaf}; expected the node size, {node}");
        rec.odd(AnomalyKind::Damaged, detail, place!(Superblock.leaf_size));
    }
    rec.bytes(
        Key::StripeSizeField,
        u64::from(sb.stripe_size.get()),
        place!(Superblock.stripe_size),
    );
    if sb.chunk_array_len.get() >= CHUNK_ENTRY_LEN && sb.key_kind == CHUNK_ITEM {
        rec.bytes_if_set(
            Key::StripeLength,
            sb.chunk_stripe_len.get(),
            place!(Superblock.chunk_stripe_len),
        );
    }
    rec.count(
        Key::DeviceCount,
        sb.devices.get(),
        place!(Superblock.devices),
    );
    rec.bytes(
        Key::TotalSize,
        sb.total_bytes.get(),
        place!(Superblock.total_bytes),
    );
    let start = core::mem::offset_of!(Superblock, label);
    rec.volume_id::<16>(0x20);
    rec.label(&sb.label, Place::new(start, 16));
    rec.claimed_size(sb.device_bytes.get(), place!(Superblock.device_bytes));
    let bytes: [u8; 4096 - UNSEALED] = window.get(at + 32)?;
    let [a, b, c, d, ..] = sb.checksum;
    match sb.checksum_kind.get() {
        0 => rec.checksum(
            "superblock",
            u32::from_le_bytes([a, b, c, d]),
            crc32c::of(&bytes),
            Place::new(0, 4),
        ),
        2 if hmac_sha256::Hash::hash(&bytes) != sb.checksum => rec.odd(
            AnomalyKind::Damaged,
            "the SHA-256 checksum of the superblock is wrong: it is read all the same",
            place!(Superblock.checksum),
        ),
        _ => {}
    }
    Ok(Some(rec.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Asked, Volume};

    fn btrfs(len: usize, at: usize) -> Volume {
        Volume::new(len)
            .with(at + 48, u64::try_from(at).expect("small").to_le_bytes())
            .with(at + 64, MAGIC)
            .with(at + 112, (2_u64 << 20).to_le_bytes())
            .with(at + 136, 2_u64.to_le_bytes())
            .with(at + 144, 4096_u32.to_le_bytes())
            .with(at + 148, 16_384_u32.to_le_bytes())
            .with(at + 152, 16_384_u32.to_le_bytes())
            .with(at + 156, 4096_u32.to_le_bytes())
            .with(at + 160, 129_u32.to_le_bytes())
            .with(at + 209, (1_u64 << 20).to_le_bytes())
            .with(at + 299, b"pool")
            .with(at + 811 + 8, [CHUNK_ITEM])
            .with(at + 811 + 17 + 16, 65_536_u64.to_le_bytes())
    }

    fn sealed(volume: Volume) -> Volume {
        let sum = crc32c::of(&volume.0[65_536 + 32..65_536 + 4096]);
        volume.with(65_536, sum.to_le_bytes())
    }

    #[test]
    fn checksums_of_known_kinds_are_verified() {
        let kind = |kind: u8| sealed(btrfs(1 << 20, 65_536).with(65_536 + 196, [kind]));
        let anomalies = |volume: Volume| volume.probe(&PROBER).expect("btrfs").anomalies();
        assert_eq!(anomalies(kind(0)), []);
        let changed = kind(0).with(65_536 + 299, b"q");
        assert_eq!(anomalies(changed), [AnomalyKind::Damaged]);
        assert_eq!(anomalies(kind(1)), []);
        assert_eq!(anomalies(kind(2)), [AnomalyKind::Damaged]);
        let sum = hmac_sha256::Hash::hash(&kind(2).0[65_536 + 32..65_536 + 4096]);
        assert_eq!(anomalies(kind(2).with(65_536, sum)), []);
    }

    #[test]
    fn the_superblock_and_its_first_chunk_are_read() {
        let volume = sealed(btrfs(1 << 20, 65_536));
        let found = volume.probe(&PROBER).expect("btrfs");
        assert_eq!(found.bytes(Key::SectorSize), Some(4096));
        assert_eq!(found.bytes(Key::NodeSize), Some(16_384));
        assert_eq!(found.bytes(Key::LeafSize), Some(16_384));
        assert_eq!(found.bytes(Key::StripeSizeField), Some(4096));
        assert_eq!(found.bytes(Key::StripeLength), Some(65_536));
        assert_eq!(
            found.evidence(Key::StripeLength),
            Some((65_536 + 811 + 33, vec![0, 0, 1, 0, 0, 0, 0, 0]))
        );
        assert_eq!(found.get(Key::DeviceCount).expect("it").to_string(), "2");
        assert_eq!(found.bytes(Key::TotalSize), Some(2 << 20));
        assert_eq!(found.bytes(Key::ClaimedSize), Some(1 << 20));
        assert_eq!(found.text(Key::Label).as_deref(), Some("pool"));
        assert_eq!(found.grid(GridRole::AllocationUnit), Some((4096, 0)));
        assert_eq!(found.anomalies(), []);
    }

    #[test]
    fn a_superblock_must_know_where_it_is() {
        let moved = btrfs(1 << 20, 65_536).with(65_536 + 48, [1]);
        assert!(moved.probe(&PROBER).is_none());
        let copy = btrfs(65 << 20, 64 << 20).probe(&BACKUP).expect("the copy");
        assert!(copy.anomalies().contains(&AnomalyKind::UnusualPlace));
    }

    #[test]
    fn without_a_chunk_the_stripe_length_is_not_guessed() {
        let found = btrfs(1 << 20, 65_536)
            .with(65_536 + 160, [0; 4])
            .probe(&PROBER);
        assert_eq!(found.expect("btrfs").bytes(Key::StripeLength), None);
    }

    #[test]
    fn sizes_beyond_the_limits_are_not_btrfs() {
        for (at, byte) in [(144, 1), (149, 0x41), (147, 0xff)] {
            let volume = btrfs(1 << 20, 65_536).with(65_536 + at, [byte]);
            assert!(volume.probe(&PROBER).is_none(), "byte {at}");
        }
    }
}
