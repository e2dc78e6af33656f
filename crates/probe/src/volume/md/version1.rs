//! Superblocks of version 1: 256 bytes, numbers low byte first, and two bytes for each device behind them.
//!
//! ```text
//! byte   0  a92b4efc (4)            72  level (4)               128  data offset in sectors (8)
//!        4  1 (4)                   76  layout (4)              136  data size in sectors (8)
//!        8  features (4)            80  used in sectors (8)     144  where it stands, in sectors (8)
//!       16  UUID of the array       88  chunk in sectors (4)    152  rebuilt up to (8)
//!       32  name (32)               92  members (4)             160  number of the device (4)
//!                                  100  geometry after reshape  168  UUID of the device
//!      192  updated (8)            200  events (8)              208  synchronised up to (8)
//!      216  checksum (4)           220  devices (4)             256  role of each device (2 each)
//! ```
//!
//! Source: `md(4)`; Linux `include/uapi/linux/raid/md_p.h` (`struct mdp_superblock_1`), `drivers/md/md.c` for the places
//! (1.0: 8 KiB before the end, on 4 KiB; 1.1: the start; 1.2: 4 KiB) and the checksum.

use straddle_geometry::Bytes;
use straddle_io::ReadError;
use straddle_stack::AnomalyKind;
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::superblock::{
    MAX_MEMBERS, Places, Remark, Reshape, Role, Superblock, Version, checksum_differs, seats,
    sectors,
};
use crate::Window;
use crate::record::{place, printable};

pub(super) const MAGIC: [u8; 4] = [0xfc, 0x4e, 0x2b, 0xa9];
/// Longest superblock: its head and the roles that fit into 4 KiB with it.
const LEN: usize = 4096;
const HEAD: usize = 256;

const RECOVERING: u32 = 1 << 1;
const RESHAPING: u32 = 1 << 2;
const REPLACEMENT: u32 = 1 << 4;
const BACKWARDS: u32 = 1 << 5;
const NEW_OFFSET: u32 = 1 << 6;
const JOURNAL: u32 = 1 << 9;
const ZONE_LAYOUT: u32 = 1 << 12;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Head {
    magic: [u8; 4],
    major: U32,
    features: U32,
    pad: U32,
    uuid: [u8; 16],
    name: [u8; 32],
    created: U64,
    level: U32,
    layout: U32,
    used: U64,
    chunk: U32,
    disks: U32,
    bitmap_offset: U32,
    new_level: U32,
    reshape_position: U64,
    delta_disks: U32,
    new_layout: U32,
    new_chunk: U32,
    new_offset: U32,
    data_offset: U64,
    data_size: U64,
    super_offset: U64,
    recovery_offset: U64,
    dev_number: U32,
    corrected: U32,
    device_uuid: [u8; 16],
    device_flags: u8,
    bad_blocks_shift: u8,
    bad_blocks_size: U16,
    bad_blocks_offset: U32,
    updated: U64,
    events: U64,
    resync_offset: U64,
    checksum: U32,
    devices: U32,
    pad_end: [u8; 32],
}

static PLACES: Places = Places {
    magic: place!(Head.magic),
    uuid: place!(Head.uuid),
    name: place!(Head.name),
    level: place!(Head.level),
    layout: place!(Head.layout),
    chunk: place!(Head.chunk),
    disks: place!(Head.disks),
    used: place!(Head.used),
    data_offset: Some(place!(Head.data_offset)),
    data_size: Some(place!(Head.data_size)),
    number: place!(Head.dev_number),
    events: place!(Head.events),
    recovery: Some(place!(Head.recovery_offset)),
    resync: place!(Head.resync_offset),
    reshape: place!(Head.reshape_position),
};

/// Where a superblock of this minor version stands on `size` bytes.
fn place_of(size: u64, minor: u8) -> Option<u64> {
    match minor {
        0 => size.checked_sub(16 * 512).map(|at| at / 4096 * 4096),
        1 => Some(0),
        _ => Some(4096),
    }
}

/// Four groups of eight digits, as mdadm prints the UUID of an array and of a device.
pub(super) fn uuid_text(raw: &[u8]) -> String {
    let groups = raw.chunks(4).map(|group| {
        let digits = group.iter().map(|byte| format!("{byte:02x}"));
        digits.collect::<String>()
    });
    groups.collect::<Vec<_>>().join(":")
}

/// The sum that md takes: of all words, what exceeds 32 bits added again.
fn checksum(raw: &[u8]) -> u32 {
    let mut sum: u64 = 0;
    for word in raw.chunks(4) {
        let mut four = [0; 4];
        four.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
        sum = sum.wrapping_add(u64::from(u32::from_le_bytes(four)));
    }
    let folded = (sum & 0xffff_ffff).wrapping_add(sum >> 32);
    u32::try_from(folded & 0xffff_ffff).unwrap_or(0)
}

/// The superblock of this minor version, if one stands where it must.
pub(super) fn read(window: &Window<'_>, minor: u8) -> Result<Option<Superblock>, ReadError> {
    let size = window.size().get();
    let Some(at) = place_of(size, minor).filter(|at| size - at >= 4096) else {
        return Ok(None);
    };
    if !window.matches(at, &MAGIC)? {
        return Ok(None);
    }
    let mut raw = [0; LEN];
    window.fill(at, &mut raw)?;
    let Ok((head, roles)) = Head::ref_from_prefix(&raw) else {
        return Ok(None);
    };
    if head.major.get() != 1 {
        return Ok(None);
    }
    // One at the end says by its own place whether it is this device's or that of a partition which ends here.
    let stands = at / 512;
    if minor == 0 && head.super_offset.get() != stands {
        return Ok(None);
    }
    Ok(Some(understood(head, roles, at, minor, &raw)))
}

fn understood(head: &Head, roles: &[u8], at: u64, minor: u8, raw: &[u8; LEN]) -> Superblock {
    let mut remarks = Vec::new();
    if head.super_offset.get() != at / 512 {
        remarks.push(Remark {
            kind: AnomalyKind::Damaged,
            detail: format!(
                "it says that it stands at sector {}, and is found at sector {}: md refuses it",
                head.super_offset.get(),
                at / 512
            ),
            place: place!(Head.super_offset),
        });
    }
    let devices = head.devices.get();
    let len = usize::try_from(devices)
        .ok()
        .and_then(|n| n.checked_mul(2)?.checked_add(HEAD));
    match len.and_then(|len| raw.get(..len)) {
        Some(covered) => {
            let mut covered = covered.to_vec();
            let place = place!(Head.checksum);
            if let Some(field) = covered.get_mut(place.offset..place.offset + place.len) {
                field.fill(0);
            }
            let (found, expected) = (head.checksum.get(), checksum(&covered));
            if found != expected {
                remarks.push(checksum_differs(found, expected, place));
            }
        }
        None => remarks.push(Remark {
            kind: AnomalyKind::Damaged,
            detail: format!("roles of {devices} devices; no more than {MAX_MEMBERS} have room"),
            place: place!(Head.devices),
        }),
    }
    let role_of = |number: u32| {
        let at = usize::try_from(number).ok()?.checked_mul(2)?;
        let raw = roles.get(at..at.checked_add(2)?)?;
        Some(u16::from_le_bytes(raw.try_into().ok()?))
    };
    let features = head.features.get();
    let has = |bit: u32| features & bit != 0;
    let number = head.dev_number.get();
    let role = match role_of(number).filter(|_| number < devices) {
        None | Some(0xffff) => Role::Spare,
        Some(0xfffe) => Role::Faulty,
        Some(0xfffd) => Role::Journal,
        Some(slot) if has(REPLACEMENT) => Role::Replacement(u32::from(slot)),
        Some(slot) => Role::Slot(u32::from(slot)),
    };
    let disks = head.disks.get();
    let signed = |field: U32| i32::from_le_bytes(field.to_bytes());
    let delta = if has(RESHAPING) {
        signed(head.delta_disks)
    } else {
        0
    };
    let mut occupied = vec![false; seats(disks, delta)];
    let mut journal = has(JOURNAL);
    for role in (0..devices.min(MAX_MEMBERS)).filter_map(role_of) {
        journal |= role == 0xfffd;
        if let Some(place) = occupied.get_mut(usize::from(role)) {
            *place = true;
        }
    }
    let data_offset = sectors(head.data_offset.get());
    let reshape = has(RESHAPING).then(|| {
        let by = i64::from(signed(head.new_offset)).saturating_mul(512);
        Reshape {
            position: sectors(head.reshape_position.get()),
            level: signed(head.new_level),
            layout: head.new_layout.get(),
            chunk: sectors(u64::from(head.new_chunk.get())),
            delta,
            backwards: has(BACKWARDS) || delta < 0,
            data_offset: if has(NEW_OFFSET) {
                data_offset.get().checked_add_signed(by).map(Bytes::new)
            } else {
                Some(data_offset)
            },
        }
    });
    Superblock {
        version: Version::V1 { minor },
        at,
        uuid: uuid_text(&head.uuid),
        name: printable(&head.name),
        level: signed(head.level),
        // Of RAID 0 it is not valid without its feature.
        layout: if signed(head.level) == 0 && !has(ZONE_LAYOUT) {
            0
        } else {
            head.layout.get()
        },
        chunk: sectors(u64::from(head.chunk.get())),
        disks,
        used: sectors(head.used.get()),
        data_offset,
        data_size: sectors(head.data_size.get()),
        role,
        member: uuid_text(&head.device_uuid),
        events: head.events.get(),
        recovery: (has(RECOVERING) && role != Role::Journal)
            .then(|| sectors(head.recovery_offset.get())),
        resync: Some(head.resync_offset.get())
            .filter(|sector| *sector != u64::MAX)
            .map(sectors),
        reshape,
        occupied,
        journal,
        remarks,
        places: &PLACES,
    }
}
