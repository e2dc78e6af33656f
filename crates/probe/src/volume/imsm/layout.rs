//! What is on the disks: the *MPB*, a block that is the same on all disks of a set.
//!
//! Its first sector is the last but one of the disk; what does not fit there stands right before it, so that addresses in the
//! block jump once. It holds a header, a table of disks and a row of volumes, each with one *map* or, while it changes, with
//! two: the first says what it shall be, the second what it was.

use straddle_geometry::Bytes;
use straddle_io::ReadError;
use straddle_stack::{Fact, Source};
use zerocopy::byteorder::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::Window;
use crate::record::{Place, place};
use crate::volume::firmware::has;

pub(super) const SIGNATURE: &[u8; 24] = b"Intel Raid ISM Cfg Sig. ";
/// Longest MPB that is read. A table of 255 disks has 12 KiB, a volume over them 1 KiB.
const MAX_LEN: u32 = 64 << 10;
/// Bits of a slot's entry that say which disk it is; the others say how it is.
const DISK_OF_SLOT: u32 = 0x00ff_ffff;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Header {
    /// With the version behind it: `Intel Raid ISM Cfg Sig. 1.2.02`.
    pub(super) signature: [u8; 24],
    pub(super) version: [u8; 8],
    pub(super) checksum: U32,
    /// Length of the MPB in bytes.
    pub(super) mpb_size: U32,
    pub(super) family: U32,
    /// Incremented whenever the MPB is written.
    pub(super) generation: U32,
    error_log_size: U32,
    attributes: U32,
    pub(super) num_disks: u8,
    pub(super) num_volumes: u8,
    error_log_pos: u8,
    fill: u8,
    cache_size: U32,
    /// The family of the set when it was made: a set that lost a disk gets a new family.
    pub(super) original_family: U32,
    rest: [u8; 0x94],
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Disk {
    pub(super) serial: [u8; 16],
    total_blocks: U32,
    scsi_id: U32,
    pub(super) status: U32,
    owner: U32,
    total_blocks_high: U32,
    filler: [U32; 3],
}

/// Bits of [`Disk::status`].
pub(super) const CONFIGURED: u32 = 2;
pub(super) const FAILED: u32 = 4;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Volume {
    pub(super) name: [u8; 16],
    pub(super) size: U32,
    pub(super) size_high: U32,
    status: U32,
    reserved_blocks: U32,
    migration_priority: u8,
    sub_volumes: u8,
    tid: u8,
    cng_master: u8,
    cache_policy: U16,
    cng_state: [u8; 2],
    number: U16,
    cache: [u8; 2],
    cache_family: U32,
    cache_number: U16,
    write_hole_policy: u8,
    journal_serial: [u8; 16],
    filler: [u8; 13],
    // From here on the state of the volume.
    migration_unit: U32,
    checkpoint: U32,
    pub(super) migrating: u8,
    pub(super) migration: u8,
    pub(super) dirty: u8,
    fast_sync: u8,
    verify_errors: U16,
    bad_blocks: U16,
    migration_unit_high: U32,
    filler_2: [U32; 3],
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Map {
    pub(super) start: U32,
    pub(super) per_member: U32,
    pub(super) stripes: U32,
    pub(super) strip: U16,
    pub(super) state: u8,
    pub(super) level: u8,
    pub(super) members: u8,
    pub(super) domains: u8,
    pub(super) failed: u8,
    ddf: u8,
    pub(super) start_high: U32,
    pub(super) per_member_high: U32,
    pub(super) stripes_high: U32,
    filler: [U32; 4],
}

/// Two halves of a number of blocks.
pub(super) fn wide(low: U32, high: U32) -> u64 {
    u64::from(high.get()) << 32 | u64::from(low.get())
}

/// A structure and where it stands in the MPB.
pub(super) struct At<T> {
    pub(super) at: usize,
    pub(super) read: T,
}

/// A map with its table of slots.
pub(super) struct MapOf {
    pub(super) map: At<Map>,
    /// For each slot the number of its disk.
    pub(super) disks: Vec<Slot>,
}

/// A place among the members of a volume.
pub(super) struct Slot {
    /// Index in the table of disks.
    pub(super) disk: usize,
    /// What lies there is not valid: it is being rebuilt, or is missing.
    pub(super) stale: bool,
}

/// A volume with its one or two maps.
pub(super) struct VolumeOf {
    pub(super) volume: At<Volume>,
    /// What it is, or shall be.
    pub(super) now: MapOf,
    /// What it was, while it changes.
    pub(super) before: Option<MapOf>,
}

/// The block of one disk.
pub(super) struct Mpb<'a> {
    window: &'a Window<'a>,
    bytes: Vec<u8>,
    /// Where its first sector stands.
    anchor: u64,
    /// Sector size of the disk: everything in it is counted in these.
    pub(super) sector: u64,
    pub(super) header: Header,
    pub(super) disks: Vec<At<Disk>>,
    pub(super) volumes: Vec<VolumeOf>,
    /// What is wrong with it, and where.
    pub(super) damage: Vec<(String, Source)>,
}

/// Where the first sector of an MPB stands and how long sectors are; `None` when there is none.
pub(super) fn find(window: &Window<'_>) -> Result<Option<(u64, u64)>, ReadError> {
    for sector in [512, 4096] {
        let Some(at) = window.size().get().checked_sub(2 * sector) else {
            continue;
        };
        if has(window, at, SIGNATURE)? {
            return Ok(Some((at, sector)));
        }
    }
    Ok(None)
}

impl<'a> Mpb<'a> {
    /// Reads the block whose first sector stands at `anchor`.
    pub(super) fn read(
        window: &'a Window<'a>,
        (anchor, sector): (u64, u64),
    ) -> Result<Mpb<'a>, ReadError> {
        let header: Header = window.get(anchor)?;
        let mut mpb = Mpb {
            window,
            bytes: Vec::new(),
            anchor,
            sector,
            header,
            disks: Vec::new(),
            volumes: Vec::new(),
            damage: Vec::new(),
        };
        let size = mpb.header.mpb_size.get();
        let first = u32::try_from(sector).unwrap_or(512);
        let shortest = u32::try_from(size_of::<Header>()).unwrap_or(u32::MAX);
        let more = u64::from(size.saturating_sub(first)).div_ceil(sector);
        let before = more.checked_mul(sector).and_then(|n| anchor.checked_sub(n));
        let (true, Some(before)) = ((shortest..=MAX_LEN).contains(&size), before) else {
            let detail = format!(
                "the metadata claim a length of {size} bytes: expected {shortest} to {MAX_LEN}, and not more than there are; its volumes are not read"
            );
            mpb.odd(detail, 0, place!(Header.mpb_size));
            return Ok(mpb);
        };
        // At most MAX_LEN and a sector.
        let head = usize::try_from(sector).unwrap_or(512);
        let len = usize::try_from(more.saturating_add(1).saturating_mul(sector)).unwrap_or(head);
        mpb.bytes = vec![0; len];
        let (head, tail) = mpb.bytes.split_at_mut(head.min(len));
        window.fill(anchor, head)?;
        window.fill(before, tail)?;
        mpb.bytes.truncate(usize::try_from(size).unwrap_or(len));
        mpb.check_sum();
        mpb.read_tables();
        Ok(mpb)
    }

    /// Where a byte of the block stands on the disk.
    fn on_disk(&self, at: usize) -> u64 {
        let at = u64::try_from(at).unwrap_or(u64::MAX);
        match at.checked_sub(self.sector) {
            None => self.anchor.saturating_add(at),
            Some(further) => {
                let len = u64::try_from(self.bytes.len()).unwrap_or(u64::MAX);
                let more = len.saturating_sub(self.sector).div_ceil(self.sector);
                let start = self.anchor.saturating_sub(more.saturating_mul(self.sector));
                start.saturating_add(further)
            }
        }
    }

    /// A field as evidence.
    pub(super) fn source(&self, at: usize, place: Place) -> Source {
        let at = self.on_disk(at.saturating_add(place.offset));
        self.window.source(at, place.len)
    }

    /// `value`, with a field as its provenance.
    pub(super) fn fact<T>(&self, value: T, at: usize, place: Place) -> Fact<T> {
        let at = self.on_disk(at.saturating_add(place.offset));
        self.window.fact(value, at, place.len)
    }

    fn odd(&mut self, detail: String, at: usize, place: Place) {
        let source = self.source(at, place);
        self.damage.push((detail, source));
    }

    /// A number of the block's sectors in bytes.
    pub(super) fn sectors(&self, count: u64) -> Option<Bytes> {
        Bytes::new(self.sector).checked_mul(count)
    }

    /// The sum of all words but the checksum itself.
    fn check_sum(&mut self) {
        let sum = self
            .bytes
            .as_chunks::<4>()
            .0
            .iter()
            .fold(0_u32, |sum, word| {
                sum.wrapping_add(u32::from_le_bytes(*word))
            });
        let recorded = self.header.checksum.get();
        let expected = sum.wrapping_sub(recorded);
        if expected != recorded {
            let detail = format!(
                "the metadata's checksum is {recorded:#010x}: expected {expected:#010x}; they are read all the same, compare the other members"
            );
            self.odd(detail, 0, place!(Header.checksum));
        }
    }

    fn structure<T: FromBytes>(&self, at: usize) -> Option<At<T>> {
        let (read, _) = T::read_from_prefix(self.bytes.get(at..)?).ok()?;
        Some(At { at, read })
    }

    fn read_tables(&mut self) {
        let mut at = size_of::<Header>();
        for _ in 0..self.header.num_disks {
            let Some(disk) = self.structure(at) else {
                return self.cut_off(place!(Header.num_disks), "disks");
            };
            self.disks.push(disk);
            at = at.saturating_add(size_of::<Disk>());
        }
        for _ in 0..self.header.num_volumes {
            let Some((volume, after)) = self.volume(at) else {
                return self.cut_off(place!(Header.num_volumes), "volumes");
            };
            self.volumes.push(volume);
            at = after;
        }
    }

    fn cut_off(&mut self, place: Place, what: &str) {
        let detail = format!(
            "the metadata end at byte {} in the middle of the table of {what}: the rest is not read",
            self.bytes.len()
        );
        self.odd(detail, 0, place);
    }

    fn volume(&self, at: usize) -> Option<(VolumeOf, usize)> {
        let volume: At<Volume> = self.structure(at)?;
        let (now, mut after) = self.map(at.saturating_add(size_of::<Volume>()))?;
        let mut before = None;
        if volume.read.migrating != 0 {
            let (map, end) = self.map(after)?;
            before = Some(map);
            after = end;
        }
        let of = VolumeOf {
            volume,
            now,
            before,
        };
        Some((of, after))
    }

    fn map(&self, at: usize) -> Option<(MapOf, usize)> {
        let map: At<Map> = self.structure(at)?;
        let table = at.saturating_add(size_of::<Map>());
        let mut disks = Vec::with_capacity(usize::from(map.read.members));
        for slot in 0..usize::from(map.read.members) {
            let entry: At<U32> = self.structure(table.saturating_add(4 * slot))?;
            let entry = entry.read.get();
            disks.push(Slot {
                disk: usize::try_from(entry & DISK_OF_SLOT).unwrap_or(usize::MAX),
                stale: entry & !DISK_OF_SLOT != 0,
            });
        }
        let after = table.saturating_add(4 * disks.len());
        Some((MapOf { map, disks }, after))
    }

    /// Number that all members of the set share.
    pub(super) fn set(&self) -> u32 {
        match self.header.original_family.get() {
            0 => self.header.family.get(),
            original => original,
        }
    }
}
