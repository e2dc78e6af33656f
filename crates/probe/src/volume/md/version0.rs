//! Superblocks of version 0.90: 4 KiB of words in the byte order of the machine that made them.
//!
//! ```text
//! word  0  a92b4efc                  10  members            38  checksum          64  layout
//!       1  0, version                11  number of md      39  events (2 words)  65  chunk in bytes
//!       5  UUID, its first word      13  rest of the UUID   44  reshape (6 words) 128  27 devices of 32 words:
//!       7  level                     32  updated            43  synchronised up to     number, major, minor, slot, state
//!       8  used of each, in KiB                                                  992  this device, the same
//! ```
//!
//! Data begin at 0. Source: `md(4)`; Linux `include/uapi/linux/raid/md_p.h` (`mdp_super_t`); `drivers/md/md.c` for the place
//! (the last 64 KiB that begin at a multiple of 64 KiB and fit) and the checksum.

use straddle_geometry::Bytes;
use straddle_io::ReadError;

use super::superblock::{
    Places, Reshape, Role, Superblock, Version, checksum_differs, seats, sectors,
};
use crate::Window;
use crate::record::Place;

const MAGIC: u32 = 0xa92b_4efc;
const RESERVED: u64 = 64 << 10;
const WORDS: usize = 1024;
/// Devices that it has room for.
const DEVICES: usize = 27;
const FAULTY: u32 = 1;
const ACTIVE: u32 = 1 << 1;
const SYNC: u32 = 1 << 2;
const JOURNAL: u32 = 1 << 18;

const fn word(n: usize) -> Place {
    Place::new(4 * n, 4)
}

static PLACES: Places = Places {
    magic: word(0),
    uuid: word(5),
    name: word(11),
    level: word(7),
    layout: word(64),
    chunk: word(65),
    disks: word(10),
    used: word(8),
    data_offset: None,
    data_size: None,
    number: word(992),
    events: Place::new(4 * 39, 8),
    recovery: None,
    resync: word(43),
    reshape: Place::new(4 * 44, 8),
};

/// Where the superblock of `size` bytes stands.
pub(super) fn place_of(size: u64) -> Option<u64> {
    (size / RESERVED * RESERVED).checked_sub(RESERVED)
}

pub(super) fn read(window: &Window<'_>) -> Result<Option<Superblock>, ReadError> {
    let Some(at) = place_of(window.size().get()).filter(|at| *at > 0) else {
        return Ok(None);
    };
    let big = window.matches(at, &MAGIC.to_be_bytes())?;
    if !big && !window.matches(at, &MAGIC.to_le_bytes())? {
        return Ok(None);
    }
    let mut raw = [0; 4 * WORDS];
    window.fill(at, &mut raw)?;
    let words: Vec<u32> = raw
        .chunks_exact(4)
        .filter_map(|four| four.try_into().ok())
        .map(|four| {
            if big {
                u32::from_be_bytes(four)
            } else {
                u32::from_le_bytes(four)
            }
        })
        .collect();
    let get = |n: usize| words.get(n).copied().unwrap_or(0);
    if get(1) != 0 || !(90..=91).contains(&get(2)) {
        return Ok(None);
    }
    Ok(Some(understood(get, at, big)))
}

fn checksum(get: impl Fn(usize) -> u32) -> u32 {
    let words = (0..WORDS).filter(|n| *n != 38);
    let sum: u64 = words.map(|n| u64::from(get(n))).sum();
    let folded = (sum & 0xffff_ffff).wrapping_add(sum >> 32);
    u32::try_from(folded & 0xffff_ffff).unwrap_or(0)
}

fn understood(get: impl Fn(usize) -> u32 + Copy, at: u64, big: bool) -> Superblock {
    let long = |high_first: usize| {
        let (first, second) = (u64::from(get(high_first)), u64::from(get(high_first + 1)));
        if big {
            first << 32 | second
        } else {
            second << 32 | first
        }
    };
    let uuid = [5, 13, 14, 15].map(|n| format!("{:08x}", get(n))).join(":");
    let signed = |n: usize| i32::from_ne_bytes(get(n).to_ne_bytes());
    let (slot, state) = (get(992 + 3), get(992 + 4));
    let disks = get(10);
    let role = if state & FAULTY != 0 {
        Role::Faulty
    } else if state & JOURNAL != 0 {
        Role::Journal
    } else if slot < disks && (state & SYNC != 0 || state & ACTIVE != 0) {
        Role::Slot(slot)
    } else {
        Role::Spare
    };
    let reshaping = get(2) == 91 && long(44) != u64::MAX;
    let delta = signed(47);
    let mut occupied = vec![false; seats(disks, if reshaping { delta } else { 0 }).min(DEVICES)];
    for device in 0..DEVICES {
        let (slot, state) = (get(128 + 32 * device + 3), get(128 + 32 * device + 4));
        let place = usize::try_from(slot)
            .ok()
            .and_then(|slot| occupied.get_mut(slot));
        if let (Some(place), true) = (place, state & FAULTY == 0 && state & SYNC != 0) {
            *place = true;
        }
    }
    let kib = |n: u32| Bytes::kib(u64::from(n));
    let (found, expected) = (get(38), checksum(get));
    let remarks = if found == expected {
        Vec::new()
    } else {
        vec![checksum_differs(found, expected, word(38))]
    };
    Superblock {
        version: Version::V0 { big },
        at,
        uuid,
        name: get(11).to_string(),
        level: signed(7),
        // Nothing records a layout of RAID 0.
        layout: if signed(7) == 0 { 0 } else { get(64) },
        chunk: Bytes::new(u64::from(get(65))),
        disks,
        used: kib(get(8)),
        data_offset: Bytes::ZERO,
        data_size: Bytes::new(at),
        role,
        member: format!("device {}", get(992)),
        events: long(39),
        recovery: None,
        resync: resync(state_word(get), get(43)),
        reshape: reshaping.then(|| Reshape {
            position: sectors(long(44)),
            level: signed(46),
            layout: get(48),
            chunk: Bytes::new(u64::from(get(49))),
            delta,
            backwards: delta < 0,
            data_offset: Some(Bytes::ZERO),
        }),
        occupied,
        journal: false,
        remarks,
        places: &PLACES,
    }
}

fn state_word(get: impl Fn(usize) -> u32) -> u32 {
    get(33)
}

/// Where synchronising stands: nowhere when the array was stopped in order.
fn resync(state: u32, recovery: u32) -> Option<Bytes> {
    (state & 1 == 0 && recovery != u32::MAX).then(|| sectors(u64::from(recovery)))
}
