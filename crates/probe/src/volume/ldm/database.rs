//! The database of a disk group, of which every disk of the group has a copy.
//!
//! ```text
//! sector 1, 2, and the last but two and one   TOCBLOCK   in which sectors of it the records lie (`config`)
//! there                                       VMDB       sequence numbers, how many objects there are, where they begin
//! behind it                                   VBLK       blocks of one size: serial number, record, piece n of m, its bytes
//! ```
//!
//! A record that is longer than a block is in several, which need not follow each other.

use std::collections::BTreeMap;
use straddle_geometry::{Bytes, Extent};
use straddle_io::{ReadError, ReadErrorKind};
use straddle_stack::{Anomaly, AnomalyKind};
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::head::Head;
use super::record::{Component, Disk, Object, Partition, Record, Volume};
use crate::Window;
use crate::record::{Place, place, printable};

/// Most bytes of records that are read: four times the whole database as Windows makes it.
const MAX_BYTES: u64 = 4 << 20;
/// Blocks of a size that a record can be put together from; Windows makes them 128.
const BLOCKS: std::ops::RangeInclusive<u32> = 32..=4096;
/// Most pieces of one record: five texts and numbers of the greatest length are 1,400 bytes.
const MAX_PIECES: u16 = 16;
/// Most things that are worth a word each: the rest is noise by the same cause.
const MAX_ODDITIES: usize = 16;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Toc {
    magic: [u8; 8],
    sum: U32,
    unused: [u8; 4],
    sequence: U32,
    unused_too: [u8; 16],
    regions: [Region; 2],
}

#[derive(Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Region {
    name: [u8; 8],
    flags: U16,
    start: U64,
    size: U64,
    flags_too: U64,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Vmdb {
    magic: [u8; 4],
    /// Serial number behind the last block.
    last: U32,
    block: U32,
    /// Where the blocks begin, in bytes from here.
    first: U32,
    status: U16,
    major: U16,
    minor: U16,
    group_name: [u8; 31],
    group: [u8; 64],
    committed: U64,
    pending: U64,
    volumes: U32,
    components: U32,
    partitions: U32,
    disks: U32,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Block {
    magic: [u8; 4],
    serial: U32,
    record: U32,
    piece: U16,
    pieces: U16,
}

/// The head of a copy of the database.
pub(super) struct Catalogue {
    vmdb: Vmdb,
    /// Where it lies in the window.
    at: u64,
    /// Bytes that it and the records may take.
    room: u64,
    /// What is odd about it.
    pub(super) anomalies: Vec<Anomaly>,
}

/// What the records say.
#[derive(Default)]
pub(super) struct Database {
    pub(super) volumes: BTreeMap<u64, Volume>,
    pub(super) components: BTreeMap<u64, Component>,
    pub(super) partitions: Vec<Partition>,
    pub(super) disks: BTreeMap<u64, Disk>,
    /// What is odd about them.
    pub(super) anomalies: Vec<Anomaly>,
}

/// Reads a structure; `None` past the end.
fn get<T: FromBytes + IntoBytes>(window: &Window<'_>, at: u64) -> Result<Option<T>, ReadError> {
    match window.get(at) {
        Ok(read) => Ok(Some(read)),
        Err(error) if matches!(error.kind, ReadErrorKind::PastEnd { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Catalogue {
    /// Reads the head of the copy that `head` leads to; what is wrong when there is none.
    pub(super) fn read(
        window: &Window<'_>,
        head: &Head,
    ) -> Result<Result<Catalogue, Anomaly>, ReadError> {
        let database = head.database().filter(|area| {
            let whole = Extent::whole(window.size());
            !area.is_empty() && whole.contains(*area)
        });
        let Some(database) = database else {
            let detail = format!(
                "the database is recorded as {} sectors from sector {}; expected an area within the disk of {} bytes",
                head.raw_config().1,
                head.raw_config().0,
                window.size().grouped()
            );
            return Ok(Err(head.odd(window, detail)));
        };
        let mut anomalies = Vec::new();
        let Some(region) = region(window, head, database, &mut anomalies)? else {
            let detail = format!(
                "there is no table of contents in the database at byte {}; expected TOCBLOCK and a region `config` in its sector 1 or 2",
                database.start().grouped()
            );
            return Ok(Err(head.odd(window, detail)));
        };
        let at = region.start().get();
        let vmdb = get::<Vmdb>(window, at)?.filter(|vmdb| &vmdb.magic == b"VMDB");
        let Some(vmdb) = vmdb else {
            let detail = format!(
                "the database does not begin at byte {at}, where its table of contents says; expected VMDB"
            );
            return Ok(Err(head.odd(window, detail)));
        };
        let mut found = Catalogue {
            vmdb,
            at,
            room: region.len().get(),
            anomalies,
        };
        found.check(window, head);
        Ok(Ok(found))
    }

    fn check(&mut self, window: &Window<'_>, head: &Head) {
        let vmdb = &self.vmdb;
        let mut odd = |kind, detail: String, place: Place| {
            let source = field(window, self.at, place);
            self.anomalies.push(Anomaly::at(kind, detail, source));
        };
        let version = (vmdb.major.get(), vmdb.minor.get());
        if version != (4, 10) {
            let detail = format!(
                "the database has version {}.{}; expected 4.10: it is read as that",
                version.0, version.1
            );
            odd(AnomalyKind::Damaged, detail, place!(Vmdb.minor));
        }
        if vmdb.status.get() != 1 || vmdb.committed != vmdb.pending {
            let detail = format!(
                "the last change of the disk group is not finished: state {}, transaction {} of {}; expected state 1. \
                 What is described may be about to change: let Windows bring the disks online once",
                vmdb.status.get(),
                vmdb.committed.get(),
                vmdb.pending.get()
            );
            odd(AnomalyKind::Pending, detail, place!(Vmdb.status));
        }
        let group = printable(&vmdb.group).to_lowercase();
        if group != head.group() {
            let detail = format!(
                "the database is that of group {group}, the private header of the disk names {}",
                head.group()
            );
            odd(AnomalyKind::Damaged, detail, place!(Vmdb.group));
        }
    }

    /// How many disks the group has.
    pub(super) fn disks(&self) -> u64 {
        u64::from(self.vmdb.disks.get())
    }

    /// The transaction that it is the result of: of several copies, the latest counts.
    pub(super) fn committed(&self) -> u64 {
        self.vmdb.committed.get()
    }

    /// The group's name.
    pub(super) fn group_name(&self) -> String {
        printable(&self.vmdb.group_name)
    }

    /// The group's name as evidence: where it lies, and its length.
    pub(super) fn group_name_at(&self) -> (u64, usize) {
        let place = place!(Vmdb.group_name);
        (self.at.saturating_add(offset(place)), place.len)
    }

    /// Reads the records.
    pub(super) fn records(&self, window: &Window<'_>) -> Result<Database, ReadError> {
        let mut out = Database::default();
        let block = self.vmdb.block.get();
        let first = u64::from(self.vmdb.first.get());
        let room = self.room.min(MAX_BYTES);
        if !BLOCKS.contains(&block) || first >= room {
            let detail = format!(
                "records are in blocks of {block} bytes from byte {first} on; expected 128 bytes, and a start within {} bytes",
                Bytes::new(room).grouped()
            );
            let source = field(window, self.at, place!(Vmdb.block));
            let damaged = Anomaly::at(AnomalyKind::Damaged, detail, source);
            out.anomalies.push(damaged);
            return Ok(out);
        }
        let said = u64::from(self.vmdb.last.get()).saturating_mul(u64::from(block));
        if said > self.room {
            let detail = format!(
                "the last block is number {} of {block} bytes, beyond the {} bytes that the table of contents gives to them",
                self.vmdb.last.get(),
                Bytes::new(self.room).grouped()
            );
            out.damaged(field(window, self.at, place!(Vmdb.last)), detail);
        }
        let end = said.clamp(first, room);
        let mut sets: BTreeMap<u32, Pieces> = BTreeMap::new();
        let per_block = usize::try_from(block).unwrap_or(usize::MAX);
        let mut raw = vec![0; per_block];
        let mut at = first;
        while let Some(next) = at.checked_add(u64::from(block)).filter(|next| *next <= end) {
            let here = self.at.saturating_add(at);
            window.fill(here, &mut raw)?;
            at = next;
            let Some((head, payload)) = Block::read_from_prefix(&raw)
                .ok()
                .filter(|(head, _)| &head.magic == b"VBLK")
            else {
                let detail = format!(
                    "there is no record at byte {}; expected VBLK, as in every block up to number {}",
                    Bytes::new(here).grouped(),
                    self.vmdb.last.get()
                );
                out.damaged(window.source(here, 4), detail);
                break;
            };
            let (piece, pieces) = (head.piece.get(), head.pieces.get());
            if pieces == 0 {
                continue;
            }
            let payload_at = here.saturating_add(16);
            if pieces == 1 {
                let record = Record::new(payload.to_vec(), vec![payload_at], payload.len());
                out.add(window, &record);
                continue;
            }
            if piece >= pieces || pieces > MAX_PIECES {
                let detail = format!(
                    "a block is piece {piece}, counted from 0, of a record of {pieces}; expected at most {MAX_PIECES}, and a smaller number"
                );
                out.damaged(window.source(here.saturating_add(12), 4), detail);
                continue;
            }
            let set = sets.entry(head.record.get()).or_insert_with(|| Pieces {
                count: pieces,
                found: BTreeMap::new(),
            });
            let taken = set
                .found
                .insert(piece, (payload_at, payload.to_vec()))
                .is_some();
            if taken || set.count != pieces {
                let detail = format!(
                    "piece {piece} of record {} is there twice, or the number of its pieces differs; the later one is used",
                    head.record.get()
                );
                out.damaged(window.source(here.saturating_add(8), 8), detail);
            }
        }
        for (number, set) in sets {
            out.put_together(window, number, set);
        }
        self.count(window, &mut out);
        Ok(out)
    }

    /// Compares the numbers of objects with what the head says.
    fn count(&self, window: &Window<'_>, out: &mut Database) {
        let found = [
            ("volumes", self.vmdb.volumes, out.volumes.len()),
            ("components", self.vmdb.components, out.components.len()),
            ("partitions", self.vmdb.partitions, out.partitions.len()),
            ("disks", self.vmdb.disks, out.disks.len()),
        ];
        for (what, said, found) in found {
            if usize::try_from(said.get()).ok() != Some(found) {
                let detail = format!(
                    "the database is said to have {} {what}; {found} were found in its records",
                    said.get()
                );
                out.damaged(field(window, self.at, place!(Vmdb.volumes)), detail);
            }
        }
    }
}

/// The pieces of a record.
struct Pieces {
    count: u16,
    found: BTreeMap<u16, (u64, Vec<u8>)>,
}

impl Database {
    /// Something wrong with the records: the first few are kept.
    fn damaged(&mut self, source: straddle_stack::Source, detail: String) {
        if self.anomalies.len() < MAX_ODDITIES {
            let anomaly = Anomaly::at(AnomalyKind::Damaged, detail, source);
            self.anomalies.push(anomaly);
        }
    }

    fn put_together(&mut self, window: &Window<'_>, number: u32, set: Pieces) {
        let at = set.found.values().map(|(at, _)| *at).collect::<Vec<u64>>();
        if set.found.len() != usize::from(set.count) {
            let detail = format!(
                "record {number} has {} pieces, of which {} are there; what it describes is not known",
                set.count,
                set.found.len()
            );
            let first = at.first().copied().unwrap_or(0);
            self.damaged(window.source(first.saturating_sub(8), 8), detail);
            return;
        }
        let per_piece = set.found.values().next().map_or(1, |(_, data)| data.len());
        let data = set.found.into_values().flat_map(|(_, data)| data).collect();
        self.add(window, &Record::new(data, at, per_piece));
    }

    fn add(&mut self, window: &Window<'_>, record: &Record) {
        let twice = match record.object() {
            Some(Object::Volume(volume)) => self.volumes.insert(volume.id, volume).is_some(),
            Some(Object::Component(component)) => {
                self.components.insert(component.id, component).is_some()
            }
            Some(Object::Disk(disk)) => self.disks.insert(disk.id, disk).is_some(),
            Some(Object::Partition(partition)) => {
                self.partitions.push(partition);
                false
            }
            Some(Object::Group | Object::Blank) => false,
            None => {
                let detail = format!(
                    "a record of type {:02x} at byte {} cannot be read; expected the fields of a volume (51), component (32), \
                     partition (33), disk (34, 44) or group (35, 45) within its length",
                    record.kind(),
                    Bytes::new(record.start()).grouped()
                );
                self.damaged(window.source(record.start(), 8), detail);
                false
            }
        };
        if twice {
            let detail = format!(
                "two records have one object number; the later one, at byte {}, is used",
                Bytes::new(record.start()).grouped()
            );
            self.damaged(window.source(record.start(), 8), detail);
        }
    }
}

/// Where the records lie: as the first table of contents says that is in order.
fn region(
    window: &Window<'_>,
    head: &Head,
    database: Extent,
    anomalies: &mut Vec<Anomaly>,
) -> Result<Option<Extent>, ReadError> {
    let sectors = head.raw_config().1;
    // The last two of a database; a disk need not have all four.
    let places = [
        Some(1),
        Some(2),
        sectors.checked_sub(3),
        sectors.checked_sub(2),
    ];
    let mut found: Option<(u64, [Region; 2], Extent)> = None;
    for sector in places.into_iter().flatten() {
        let at = head
            .bytes(sector)
            .and_then(|offset| database.start().checked_add(offset));
        let Some(at) = at else { continue };
        let toc = get::<Toc>(window, at.get())?.filter(|toc| &toc.magic == b"TOCBLOCK");
        let Some(toc) = toc else { continue };
        match &found {
            Some((used, regions, _)) => {
                if *regions != toc.regions {
                    let detail = format!(
                        "the table of contents at byte {} says something else than the one at byte {}, which is used",
                        at.grouped(),
                        Bytes::new(*used).grouped()
                    );
                    let source = field(window, at.get(), place!(Toc.regions));
                    anomalies.push(Anomaly::at(AnomalyKind::CopiesDiffer, detail, source));
                }
            }
            None => {
                let config = toc
                    .regions
                    .iter()
                    .find(|region| printable(&region.name) == "config");
                let extent = config.and_then(|region| {
                    let start = head.bytes(region.start.get())?;
                    let start = database.start().checked_add(start)?;
                    let extent = Extent::new(start, head.bytes(region.size.get())?)?;
                    (database.contains(extent) && !extent.is_empty()).then_some(extent)
                });
                match extent {
                    Some(extent) => found = Some((at.get(), toc.regions, extent)),
                    None => {
                        let detail = format!(
                            "the table of contents at byte {} has no region `config` within the database",
                            at.grouped()
                        );
                        let source = field(window, at.get(), place!(Toc.regions));
                        anomalies.push(Anomaly::at(AnomalyKind::Damaged, detail, source));
                    }
                }
            }
        }
    }
    Ok(found.map(|(_, _, extent)| extent))
}

fn offset(place: Place) -> u64 {
    u64::try_from(place.offset).unwrap_or(u64::MAX)
}

fn field(window: &Window<'_>, base: u64, place: Place) -> straddle_stack::Source {
    window.source(base.saturating_add(offset(place)), place.len)
}
