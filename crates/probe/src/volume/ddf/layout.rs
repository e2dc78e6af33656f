//! What is on the disks: an anchor in the last sector says where the primary and the secondary header stand; sections follow
//! their header. The disks and the virtual disks of the whole set are listed on every disk, configuration records (one for
//! each virtual disk that lies on the disk) and who the disk is stand on it alone.

use std::collections::BTreeMap;
use straddle_geometry::Bytes;
use straddle_io::{ReadError, ReadErrorKind};
use straddle_stack::{AnomalyKind, Fact, Source};
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::Window;
use crate::record::{Place, place};
use crate::volume::firmware::has;

pub(super) const MAGIC: [u8; 4] = [0xde, 0x11, 0xde, 0x11];
const CONTROLLER: u32 = 0xad11_1111;
const DISKS: u32 = 0x2222_2222;
const VOLUMES: u32 = 0xdddd_dddd;
const CONFIGURATION: u32 = 0xeeee_eeee;
const OWN: u32 = 0x3333_3333;
/// What stands in a field that is not set.
pub(super) const NONE_32: u32 = u32::MAX;

/// Most entries of a list that are read, and most records on one disk; the format knows lists of up to 4,095 entries, and
/// controllers make up to 64 records.
const MAX: u64 = 4096;
const MAX_RECORDS: u64 = 256;
/// Longest section whose checksum is verified, in bytes: a list of 4,095 entries of 64.
const MAX_SECTION: u64 = 4096 * 64 + 512;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Header {
    magic: [u8; 4],
    crc: U32,
    pub(super) guid: [u8; 24],
    pub(super) revision: [u8; 8],
    pub(super) sequence: U32,
    timestamp: U32,
    open: u8,
    foreign: u8,
    grouping: u8,
    pad: [u8; 13],
    extension: [u8; 32],
    primary: U64,
    secondary: U64,
    /// 0 of the anchor, 1 of the primary header, 2 of the secondary.
    kind: u8,
    pad_2: [u8; 3],
    workspace_length: U32,
    workspace: U64,
    max_disks: U16,
    max_volumes: U16,
    max_partitions: U16,
    record_length: U16,
    /// Entries in each of the two tables at the end of a configuration record.
    max_elements: U16,
    max_mapped: U32,
    pad_3: [u8; 50],
    controller: U32,
    controller_length: U32,
    disks: U32,
    disks_length: U32,
    volumes: U32,
    volumes_length: U32,
    records: U32,
    records_length: U32,
    own: U32,
    own_length: U32,
    bad_blocks: U32,
    bad_blocks_length: U32,
    diagnostic: U32,
    diagnostic_length: U32,
    logs: U32,
    logs_length: U32,
    pad_4: [u8; 256],
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Controller {
    magic: U32,
    crc: U32,
    guid: [u8; 24],
    kind: [u8; 8],
    pub(super) product: [u8; 16],
}

/// The start of either list.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct List {
    magic: U32,
    crc: U32,
    populated: U16,
    max: U16,
    pad: [u8; 52],
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct DiskEntry {
    pub(super) guid: [u8; 24],
    pub(super) reference: U32,
    kind: U16,
    pub(super) state: U16,
    configured: U64,
    path: [u8; 18],
    block: U16,
    pad: [u8; 4],
}

/// Bits of [`DiskEntry::state`].
pub(super) const FAILED: u16 = 2;
pub(super) const REBUILDING: u16 = 4;
pub(super) const MISSING: u16 = 64;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct VolumeEntry {
    pub(super) guid: [u8; 24],
    number: U16,
    pad: [u8; 2],
    kind: U16,
    controller_crc: U16,
    pub(super) state: u8,
    pub(super) initialised: u8,
    failures_left: u8,
    pad_2: [u8; 13],
    pub(super) name: [u8; 16],
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Record {
    magic: U32,
    crc: U32,
    pub(super) guid: [u8; 24],
    timestamp: U32,
    pub(super) sequence: U32,
    pad: [u8; 24],
    pub(super) elements: U16,
    /// Stripe unit: 2 to this power, in blocks.
    pub(super) stripe: u8,
    pub(super) level: u8,
    pub(super) qualifier: u8,
    /// How many such records of different number make the virtual disk.
    pub(super) secondary_elements: u8,
    pub(super) secondary_number: u8,
    pub(super) secondary_level: u8,
    /// Blocks of each member.
    pub(super) blocks: U64,
    pub(super) size: U64,
    /// Since revision 2.0.
    pub(super) block: U16,
    rotation: u8,
    pad_2: [u8; 5],
    spares: [U32; 8],
    cache: U64,
    rest: [u8; 376],
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Own {
    magic: U32,
    crc: U32,
    guid: [u8; 24],
    reference: U32,
    forced: [u8; 2],
    scratch: [u8; 32],
    pad: [u8; 442],
}

/// A structure and where it stands on the disk.
#[derive(Clone, Copy)]
pub(super) struct At<T> {
    pub(super) at: u64,
    pub(super) read: T,
}

/// A configuration record with its tables.
pub(super) struct RecordOf {
    pub(super) record: At<Record>,
    /// For each element the reference of its disk, and the block at which its data start.
    pub(super) elements: Vec<(u32, u64)>,
    /// Where the table of starts stands.
    starts: u64,
}

impl RecordOf {
    /// Where the start of an element is recorded.
    pub(super) fn start_at(&self, index: usize) -> u64 {
        let index = u64::try_from(index).unwrap_or(u64::MAX);
        self.starts.saturating_add(index.saturating_mul(8))
    }
}

/// Everything that one disk says.
pub(super) struct Ddf<'a> {
    pub(super) window: &'a Window<'a>,
    /// Block size of the disk: places are counted in these.
    pub(super) block: u64,
    pub(super) header: At<Header>,
    /// Who the disk is: its GUID and reference.
    pub(super) own: Option<([u8; 24], u32)>,
    pub(super) damage: Vec<(AnomalyKind, String, Source)>,
}

/// Where the anchor stands and how long blocks are; `None` when there is none.
pub(super) fn find(window: &Window<'_>) -> Result<Option<(u64, u64)>, ReadError> {
    for block in [512, 4096] {
        let Some(at) = window.size().get().checked_sub(block) else {
            continue;
        };
        if has(window, at, &MAGIC)? {
            return Ok(Some((at, block)));
        }
    }
    Ok(None)
}

/// The CRC-32 of a structure whose own CRC counts as four bytes of 0xff: as mdadm makes it, with a register that starts from
/// zero and is not inverted, and as the usual CRC-32. Controllers differ; either is right.
fn crcs(bytes: &[u8]) -> [u32; 2] {
    [u32::MAX, 0].map(|initial| {
        let mut hasher = crc32fast::Hasher::new_with_initial(initial);
        hasher.update(bytes.get(..4).unwrap_or(bytes));
        hasher.update(&[0xff; 4]);
        hasher.update(bytes.get(8..).unwrap_or(&[]));
        hasher.finalize() ^ initial
    })
}

/// `Ok(None)` for what lies beyond the end.
fn within<T>(read: Result<T, ReadError>) -> Result<Option<T>, ReadError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if matches!(error.kind, ReadErrorKind::PastEnd { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

impl<'a> Ddf<'a> {
    /// Follows the anchor at `anchor`. `Ok(None)` when neither header is where it says.
    pub(super) fn read(
        window: &'a Window<'a>,
        (anchor, block): (u64, u64),
    ) -> Result<Option<Ddf<'a>>, ReadError> {
        let mut ddf = Ddf {
            window,
            block,
            header: At {
                at: anchor,
                read: window.get(anchor)?,
            },
            own: None,
            damage: Vec::new(),
        };
        ddf.check(anchor, 512, "anchor")?;
        let primary = ddf.header_at(ddf.header.read.primary.get(), "primary header")?;
        // All ones: there is none.
        let secondary = ddf.header.read.secondary.get();
        let secondary = if secondary == u64::MAX {
            None
        } else {
            ddf.header_at(secondary, "secondary header")?
        };
        let newer = |a: &Header, b: &Header| {
            let key = |header: &Header| (header.open == 0, header.sequence.get());
            key(b) > key(a)
        };
        let used = match (primary, secondary) {
            (Some(primary), Some(secondary)) if newer(&primary.read, &secondary.read) => secondary,
            (Some(primary), _) => primary,
            (None, Some(secondary)) => secondary,
            (None, None) => return Ok(None),
        };
        ddf.header = used;
        let own = ddf.section(ddf.header.read.own);
        if let Some(own) = own
            && let Some(read) = within(window.get::<Own>(own))?
            && read.magic.get() == OWN
        {
            ddf.check(own, 512, "record of the disk itself")?;
            ddf.own = Some((read.guid, read.reference.get()));
        }
        Ok(Some(ddf))
    }

    fn odd(&mut self, detail: String, at: u64, len: usize) {
        let source = self.window.source(at, len);
        self.damage.push((AnomalyKind::Damaged, detail, source));
    }

    /// `value`, with a field of the structure at `at` as its provenance.
    pub(super) fn fact<T>(&self, value: T, at: u64, place: Place) -> Fact<T> {
        let offset = u64::try_from(place.offset).unwrap_or(u64::MAX);
        self.window
            .fact(value, at.saturating_add(offset), place.len)
    }

    /// The header at a block, if there is one.
    fn header_at(&mut self, lba: u64, what: &str) -> Result<Option<At<Header>>, ReadError> {
        let at = lba.checked_mul(self.block);
        let read = match at {
            Some(at) => within(self.window.get::<Header>(at))?.map(|read| At { at, read }),
            None => None,
        };
        match read {
            Some(found) if found.read.magic == MAGIC => {
                self.check(found.at, 512, what)?;
                Ok(Some(found))
            }
            _ => {
                let detail = format!(
                    "no {what} at block {lba}, where the anchor says: the other one is used, if there is one"
                );
                let (at, place) = (self.header.at, place!(Header.primary));
                let offset = u64::try_from(place.offset).unwrap_or(0);
                self.odd(detail, at.saturating_add(offset), place.len);
                Ok(None)
            }
        }
    }

    /// Verifies the CRC of a structure of `len` bytes.
    fn check(&mut self, at: u64, len: u64, what: &str) -> Result<(), ReadError> {
        if len > MAX_SECTION {
            return Ok(());
        }
        // At most MAX_SECTION.
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(512)];
        if within(self.window.fill(at, &mut bytes))?.is_none() {
            let detail = format!("the {what} reaches beyond the end of the disk");
            self.odd(detail, at, 4);
            return Ok(());
        }
        let recorded = bytes
            .get(4..)
            .and_then(<[u8]>::first_chunk)
            .map_or(0, |raw| u32::from_be_bytes(*raw));
        let expected = crcs(&bytes);
        if !expected.contains(&recorded) {
            let detail = format!(
                "the CRC of the {what} is {recorded:#010x}: expected {:#010x} or {:#010x}; it is read all the same, compare the other members",
                expected[0], expected[1]
            );
            self.odd(detail, at.saturating_add(4), 4);
        }
        Ok(())
    }

    /// Where a section stands; `None` when there is none.
    fn section(&self, offset: U32) -> Option<u64> {
        let offset = offset.get();
        if offset == NONE_32 {
            return None;
        }
        let bytes = u64::from(offset).checked_mul(self.block)?;
        self.header.at.checked_add(bytes)
    }

    /// A place in blocks as bytes.
    pub(super) fn start(&self, blocks: u64) -> Option<Bytes> {
        Bytes::new(self.block).checked_mul(blocks)
    }

    /// The controller that wrote it last.
    pub(super) fn controller(&self) -> Result<Option<At<Controller>>, ReadError> {
        let Some(at) = self.section(self.header.read.controller) else {
            return Ok(None);
        };
        let read = within(self.window.get::<Controller>(at))?;
        let read = read.filter(|read| read.magic.get() == CONTROLLER);
        Ok(read.map(|read| At { at, read }))
    }

    /// The entries of a list of 64 bytes each.
    fn list<T: FromBytes + IntoBytes>(
        &mut self,
        (offset, length): (U32, U32),
        (magic, what): (u32, &str),
        most: u16,
        mut each: impl FnMut(At<T>),
    ) -> Result<(), ReadError> {
        let Some(at) = self.section(offset) else {
            return Ok(());
        };
        let Some(list) = within(self.window.get::<List>(at))? else {
            return Ok(());
        };
        if list.magic.get() != magic {
            let detail = format!(
                "the list of {what} begins with {:#010x}: expected {magic:#010x}; it is not read",
                list.magic.get()
            );
            self.odd(detail, at, 4);
            return Ok(());
        }
        let length = u64::from(length.get()).saturating_mul(self.block);
        self.window.prefetch(at, length.min(MAX_SECTION));
        self.check(at, length, &format!("list of {what}"))?;
        let room = length.saturating_sub(64) / 64;
        for index in 0..u64::from(most).min(room).min(MAX) {
            let at = at.saturating_add(64 + 64 * index);
            match within(self.window.get::<T>(at))? {
                Some(read) => each(At { at, read }),
                None => break,
            }
        }
        Ok(())
    }

    /// The disks of the set, by reference.
    pub(super) fn disks(&mut self) -> Result<BTreeMap<u32, At<DiskEntry>>, ReadError> {
        let header = &self.header.read;
        let place = (header.disks, header.disks_length);
        let most = header.max_disks.get();
        let mut disks = BTreeMap::new();
        self.list(place, (DISKS, "disks"), most, |entry: At<DiskEntry>| {
            if entry.read.reference.get() != NONE_32 {
                disks.insert(entry.read.reference.get(), entry);
            }
        })?;
        Ok(disks)
    }

    /// The virtual disks of the set, by GUID.
    pub(super) fn volumes(&mut self) -> Result<BTreeMap<[u8; 24], At<VolumeEntry>>, ReadError> {
        let header = &self.header.read;
        let place = (header.volumes, header.volumes_length);
        let most = header.max_volumes.get();
        let mut volumes = BTreeMap::new();
        self.list(
            place,
            (VOLUMES, "virtual disks"),
            most,
            |entry: At<VolumeEntry>| {
                if entry.read.guid != [0xff; 24] {
                    volumes.insert(entry.read.guid, entry);
                }
            },
        )?;
        Ok(volumes)
    }

    /// The configuration records on this disk.
    pub(super) fn records(&mut self) -> Result<Vec<RecordOf>, ReadError> {
        let header = &self.header.read;
        let step = u64::from(header.record_length.get()).saturating_mul(self.block);
        let length = u64::from(header.records_length.get()).saturating_mul(self.block);
        let (Some(start), Some(count)) = (self.section(header.records), length.checked_div(step))
        else {
            return Ok(Vec::new());
        };
        if count > MAX_RECORDS {
            let detail = format!(
                "room for {count} configuration records: only the first {MAX_RECORDS} are looked at"
            );
            let place = place!(Header.records_length);
            let offset = u64::try_from(place.offset).unwrap_or(0);
            let source = self
                .window
                .source(self.header.at.saturating_add(offset), place.len);
            self.damage
                .push((AnomalyKind::LimitReached, detail, source));
        }
        let mut records = Vec::new();
        for index in 0..count.min(MAX_RECORDS) {
            let at = start.saturating_add(index.saturating_mul(step));
            let Some(record) = within(self.window.get::<Record>(at))? else {
                break;
            };
            if record.magic.get() != CONFIGURATION {
                continue;
            }
            self.check(at, step, "configuration record")?;
            if let Some(of) = self.elements(At { at, read: record })? {
                records.push(of);
            }
        }
        Ok(records)
    }

    fn elements(&mut self, record: At<Record>) -> Result<Option<RecordOf>, ReadError> {
        let table = u64::from(self.header.read.max_elements.get());
        let count = u64::from(record.read.elements.get());
        let references = record.at.saturating_add(512);
        let starts = references.saturating_add(4 * table);
        if count > table.min(MAX) {
            let detail = format!(
                "a configuration record with {count} elements, of which {table} have room: expected at most {}; it is not used",
                table.min(MAX)
            );
            let offset = u64::try_from(place!(Record.elements).offset).unwrap_or(0);
            self.odd(detail, record.at.saturating_add(offset), 2);
            return Ok(None);
        }
        let mut elements = Vec::new();
        for index in 0..count {
            let reference = self.window.get::<U32>(references.saturating_add(4 * index));
            let start = self.window.get::<U64>(starts.saturating_add(8 * index));
            let (Some(reference), Some(start)) = (within(reference)?, within(start)?) else {
                break;
            };
            elements.push((reference.get(), start.get()));
        }
        Ok(Some(RecordOf {
            record,
            elements,
            starts,
        }))
    }
}
