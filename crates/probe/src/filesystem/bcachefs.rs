//! bcachefs: the superblock at sector 8 of each device, all numbers low byte first.
//!
//! ```text
//! byte  0  checksum (16)             104  its own sector (8)
//!      16  version, oldest (2, 2)    120  block size in sectors (2), which device this is, devices (1, 1)
//!      24  magic (16)                124  length of the fields, in units of 8 bytes (4)
//!      40  internal UUID (16)        144  flags (64): from bit 2 kind of checksum, from bit 12 node size in sectors
//!      56  UUID (16)                 752  fields: length in units of 8 bytes (4), kind (4), contents
//!      72  label (32)
//! ```
//!
//! Until 2022 the magic was that of bcache, whose version, a number of 64 bits in the same place, never grew beyond 6.
//! The field of the members (kind 1; kind 11 says how long each is) has for each its UUID, number and size of buckets.
//! Checksums of kinds 1 (CRC-32C) and 2 (CRC-64) are verified, xxHash is not; copies of the superblock are not sought.
//!
//! Source: Linux 6.7 `fs/bcachefs/bcachefs_format.h`, util-linux `libblkid/src/superblocks/bcache.c`.

use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, GridRole, Key};
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::record::{Place, Recorder, place, uuid};
use crate::{Class, Detected, Magic, Prober, Window};
use crate::{crc32c, crc64};

const SUPERBLOCK_AT: u64 = 4096;
const MAGIC_AT: u64 = SUPERBLOCK_AT + 24;
const MAGIC: [u8; 16] = [
    0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef,
];

/// That of bcache.
pub(crate) const OLD_MAGIC: [u8; 16] = [
    0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
];

pub(crate) static PROBER: Prober = Prober {
    name: "bcachefs",
    class: Class::Filesystem,
    min_size: 128 << 10,
    magics: &[
        Magic {
            offset: MAGIC_AT,
            bytes: &MAGIC,
        },
        Magic {
            offset: MAGIC_AT,
            bytes: &OLD_MAGIC,
        },
    ],
    probe,
    find: None,
};

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Superblock {
    checksum: [u8; 16],
    version: U16,
    oldest: U16,
    unused_1: [u8; 4],
    magic: [u8; 16],
    set_uuid: [u8; 16],
    uuid: [u8; 16],
    label: [u8; 32],
    sector: U64,
    sequence: U64,
    block_size: U16,
    device: u8,
    devices: u8,
    fields: U32,
    unused_2: [u8; 16],
    flags: U64,
    unused_3: [u8; 600],
}

/// What every description of a member begins with.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Member {
    uuid: [u8; 16],
    buckets: U64,
    first_bucket: U16,
    bucket_size: U16,
}

/// Most that the superblock may take; formatters leave it 1 MiB, and it has a few KiB.
const LIMIT: usize = 64 << 10;
const MEMBERS: u32 = 1;
const MEMBERS_2: u32 = 11;
/// Length of a member where the field does not say it.
const MEMBER_LEN: usize = 56;

impl Member {
    /// Bytes of a bucket.
    fn bucket(&self) -> u64 {
        u64::from(self.bucket_size.get()) * 512
    }

    fn size(&self) -> u64 {
        self.buckets.get().saturating_mul(self.bucket())
    }
}

/// The superblock, when it is one of bcachefs and no other with the same magic.
fn superblock(window: &Window<'_>) -> Result<Option<Superblock>, ReadError> {
    let sb: Superblock = window.get(SUPERBLOCK_AT)?;
    let block = sb.block_size.get();
    let plausible = sb.sector.get() == SUPERBLOCK_AT / 512
        && sb.version.get() > 6
        && block.is_power_of_two()
        && block <= 128
        && sb.device < sb.devices;
    Ok(plausible.then_some(sb))
}

/// True when the magic of bcache in this window is that of a bcachefs.
pub(crate) fn is_one(window: &Window<'_>) -> Result<bool, ReadError> {
    Ok(window.size().get() >= PROBER.min_size && superblock(window)?.is_some())
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    let Some(sb) = superblock(window)? else {
        return Ok(None);
    };
    let mut rec = Recorder::new(window, SUPERBLOCK_AT);
    let version = sb.version.get();
    rec.text(
        Key::Version,
        format!("{}.{}", version >> 10, version & 1023),
        place!(Superblock.version),
    );
    let block = u64::from(sb.block_size.get()) * 512;
    rec.bytes(Key::BlockSize, block, place!(Superblock.block_size));
    rec.grid(
        GridRole::AllocationUnit,
        block,
        0,
        place!(Superblock.block_size),
    );
    let node = (sb.flags.get() >> 12 & 0xffff) * 512;
    rec.bytes_if_set(Key::NodeSize, node, place!(Superblock.flags));
    rec.count(
        Key::DeviceCount,
        sb.devices.into(),
        place!(Superblock.devices),
    );
    rec.text(
        Key::Role,
        format!("device {}", sb.device),
        place!(Superblock.device),
    );
    rec.text(Key::SetUuid, uuid(sb.set_uuid), place!(Superblock.set_uuid));
    rec.volume_id::<16>(core::mem::offset_of!(Superblock, uuid));
    rec.label(&sb.label, place!(Superblock.label));
    let start = size_of::<Superblock>();
    let len = usize::try_from(sb.fields.get()).unwrap_or(usize::MAX);
    let len = len.saturating_mul(8).saturating_add(start);
    let left = window.size().get().saturating_sub(SUPERBLOCK_AT);
    if len > LIMIT || u64::try_from(len).is_ok_and(|len| len > left) {
        let detail = format!(
            "a superblock of {len} bytes; expected at most {LIMIT}: its members are not read"
        );
        rec.odd(AnomalyKind::Damaged, detail, place!(Superblock.fields));
        return Ok(Some(rec.finish()));
    }
    let mut bytes = vec![0; len];
    window.fill(SUPERBLOCK_AT, &mut bytes)?;
    verify(&sb, &bytes, &mut rec);
    members(&sb, &bytes, &mut rec);
    Ok(Some(rec.finish()))
}

fn verify(sb: &Superblock, bytes: &[u8], rec: &mut Recorder<'_>) {
    let sealed = bytes.get(16..).unwrap_or(&[]);
    let recorded = u128::from_le_bytes(sb.checksum);
    let computed = match sb.flags.get() >> 2 & 63 {
        1 => u128::from(crc32c::of(sealed)),
        2 => u128::from(crc64::of(sealed)),
        _ => return,
    };
    if recorded != computed {
        let detail = format!(
            "the checksum of the superblock is {recorded:x}; its bytes give {computed:x}: it is read all the same"
        );
        rec.odd(AnomalyKind::Damaged, detail, place!(Superblock.checksum));
    }
}

/// The first field of members.
fn field(bytes: &[u8]) -> Option<(usize, usize)> {
    let number = |at: usize| {
        let raw = bytes.get(at..at.checked_add(4)?)?;
        U32::read_from_bytes(raw).ok().map(U32::get)
    };
    let mut at = size_of::<Superblock>();
    loop {
        let len = usize::try_from(number(at)?).ok()?.checked_mul(8)?;
        match number(at + 4)? {
            0 => return None,
            MEMBERS => return Some((at + 8, MEMBER_LEN)),
            MEMBERS_2 => return Some((at + 16, usize::try_from(number(at + 8)? & 0xffff).ok()?)),
            // Every field has at least its own header.
            _ if len < 8 => return None,
            _ => at = at.checked_add(len)?,
        }
    }
}

/// What the superblock says of the devices of its filesystem.
fn members(sb: &Superblock, bytes: &[u8], rec: &mut Recorder<'_>) {
    let all = field(bytes).and_then(|(start, len)| {
        let one = |number: u8| {
            let at = start.checked_add(usize::from(number).checked_mul(len)?)?;
            let raw = bytes.get(at..at.checked_add(size_of::<Member>())?)?;
            let member = Member::read_from_bytes(raw).ok()?;
            Some((at, member))
        };
        // At most 255, each of which was read.
        (0..sb.devices).map(one).collect::<Option<Vec<_>>>()
    });
    let own = all.as_ref().and_then(|all| all.get(usize::from(sb.device)));
    let (Some(all), Some((at, own))) = (&all, own) else {
        rec.odd(
            AnomalyKind::Damaged,
            "its superblock has no whole list of its devices",
            place!(Superblock.fields),
        );
        return;
    };
    rec.text(Key::Uuid, uuid(own.uuid), Place::new(*at, 16));
    rec.bytes_if_set(Key::BucketSize, own.bucket(), Place::new(at + 26, 2));
    let sizes = || all.iter().map(|(_, member)| member.size());
    let names = all.iter().map(|(_, member)| uuid(member.uuid));
    rec.text(
        Key::Devices,
        names.collect::<Vec<_>>().join(", "),
        place!(Superblock.devices),
    );
    rec.derived(
        Key::TotalSize,
        sizes().fold(0, u64::saturating_add),
        format!("buckets × bucket size of its {} devices", sb.devices),
    );
    rec.claimed_size(own.size(), Place::new(at + 16, 8));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Asked, Volume};
    use crate::volume::bcache;
    use straddle_io::Reader;

    const SB: usize = 4096;

    /// The second of two devices, with the given magic and fields of members of the given kind.
    fn bcachefs(magic: [u8; 16], version: u16, kind: u32) -> Volume {
        let (head, len): (u32, u32) = if kind == MEMBERS { (8, 56) } else { (16, 144) };
        let fields = SB + 752;
        // A field of another kind comes first.
        let at = fields + 24;
        let mut volume = Volume::new(1 << 20)
            .with(SB + 16, version.to_le_bytes())
            .with(SB + 18, version.to_le_bytes())
            .with(SB + 24, magic)
            .with(SB + 40, [0x11; 16])
            .with(SB + 56, [0x22; 16])
            .with(SB + 72, b"tank")
            .with(SB + 104, 8_u64.to_le_bytes())
            .with(SB + 120, 8_u16.to_le_bytes())
            .with(SB + 122, [1, 2])
            .with(SB + 124, ((24 + head + 2 * len) / 8).to_le_bytes())
            .with(SB + 144, (1_u64 << 2 | 512 << 12).to_le_bytes())
            .with(fields, 3_u32.to_le_bytes())
            .with(fields + 4, 9_u32.to_le_bytes())
            .with(at, ((head + 2 * len) / 8).to_le_bytes())
            .with(at + 4, kind.to_le_bytes());
        if kind == MEMBERS_2 {
            volume = volume.with(at + 8, 144_u16.to_le_bytes());
        }
        let (head, len) = (
            usize::try_from(head).expect("few"),
            usize::try_from(len).expect("few"),
        );
        for (number, buckets) in [(0, 64_u64), (1, 4)] {
            let member = at + head + number * len;
            let byte = 0xa0 + u8::try_from(number).expect("few");
            volume = volume
                .with(member, [byte; 16])
                .with(member + 16, buckets.to_le_bytes())
                .with(member + 26, 512_u16.to_le_bytes());
        }
        let end = at + head + 2 * len;
        let sum = crc32c::of(&volume.0[SB + 16..end]);
        volume.with(SB, sum.to_le_bytes())
    }

    #[test]
    fn the_superblock_and_its_members_are_read() {
        for (magic, version, kind, shown) in [
            (MAGIC, 1024 + 4, MEMBERS_2, "1.4"),
            (MAGIC, 1024 + 4, MEMBERS, "1.4"),
            (OLD_MAGIC, 9, MEMBERS, "0.9"),
        ] {
            let found = bcachefs(magic, version, kind).probe(&PROBER);
            let found = found.expect("bcachefs");
            assert_eq!(found.text(Key::Version).as_deref(), Some(shown));
            assert_eq!(found.bytes(Key::BlockSize), Some(4096));
            assert_eq!(found.bytes(Key::NodeSize), Some(256 << 10));
            assert_eq!(found.bytes(Key::BucketSize), Some(256 << 10));
            assert_eq!(found.grid(GridRole::AllocationUnit), Some((4096, 0)));
            assert_eq!(found.get(Key::DeviceCount).expect("it").to_string(), "2");
            assert_eq!(found.text(Key::Role).as_deref(), Some("device 1"));
            assert_eq!(found.text(Key::Label).as_deref(), Some("tank"));
            let (first, second) = (uuid([0xa0; 16]), uuid([0xa1; 16]));
            assert_eq!(found.text(Key::Uuid), Some(second.clone()));
            assert_eq!(found.text(Key::Devices), Some(format!("{first}, {second}")));
            assert_eq!(found.text(Key::VolumeId), Some(uuid([0x22; 16])));
            assert_eq!(found.text(Key::SetUuid), Some(uuid([0x11; 16])));
            assert_eq!(found.bytes(Key::TotalSize), Some(68 * (256 << 10)));
            assert_eq!(found.bytes(Key::ClaimedSize), Some(1 << 20));
            assert_eq!(found.anomalies(), []);
        }
    }

    #[test]
    fn bcache_and_bcachefs_tell_each_other_by_version_and_place() {
        let recognised = |volume: &Volume| {
            let reader = Reader::new(&volume.0);
            let window = Window::whole(&reader, None);
            bcache::FORMAT.run(&window).expect("readable").is_some()
        };
        let old = bcachefs(OLD_MAGIC, 9, MEMBERS);
        assert!(!recognised(&old));
        let cache = bcachefs(OLD_MAGIC, 3, MEMBERS);
        assert!(recognised(&cache));
        assert!(cache.probe(&PROBER).is_none());
    }

    #[test]
    fn what_is_wrong_is_named_and_the_rest_is_read() {
        let volume = || bcachefs(MAGIC, 1024, MEMBERS);
        let anomalies = |volume: Volume| volume.probe(&PROBER).expect("bcachefs").anomalies();
        let damaged = [AnomalyKind::Damaged];
        assert_eq!(anomalies(volume().with(SB + 72, b"T")), damaged);
        assert_eq!(anomalies(volume().with(SB + 124, [0xff; 4])), damaged);
        // The list ends before the last device, and checksums of a kind that is not known are not wrong.
        let none = volume().with(SB + 144, [0]).with(SB + 123, [200]);
        assert_eq!(anomalies(none), damaged);
        let looping = volume().with(SB + 144, [0]).with(SB + 752, [0; 4]);
        assert_eq!(anomalies(looping), damaged);
    }

    #[test]
    fn what_cannot_be_is_not_bcachefs() {
        for (at, byte) in [(104, 9), (120, 7), (121, 1), (122, 2), (123, 0)] {
            let volume = bcachefs(MAGIC, 1024, MEMBERS).with(SB + at, [byte]);
            assert!(volume.probe(&PROBER).is_none(), "byte {at}");
        }
    }
}
