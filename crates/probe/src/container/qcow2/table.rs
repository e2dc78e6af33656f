//! The two levels of a qcow2 image's table.
//!
//! ```text
//! L1: u64 per L2 table: bits 9-55 its offset, a multiple of the cluster; 0: nothing of it is allocated
//! L2: one cluster of entries, each for a cluster of the disk
//!     bit 62 clear: bits 9-55 the cluster's offset, bit 63 it has one owner, bit 0 it reads as zeroes (version 3)
//!     bit 62 set:   compressed; with x = 62 - (cluster bits - 8): bits 0 to x-1 its offset, to any byte;
//!                   bits x-61 how many sectors of 512 bytes it reaches into beyond the first
//! extended L2: two u64 per cluster; the second has a bit for each of 32 subclusters: 0-31 it is allocated,
//!     32-63 it reads as zeroes. Bit 0 of the first is not used.
//! ```
//!
//! Tables that lie over each other are an error at the first entry that shows it. Two entries that name the same cluster
//! are not: to find them takes memory in proportion to the disk, and `qemu-img check` does it. The map then gives both as
//! they stand.

use std::ops::Range;
use straddle_geometry::{
    BlockTable, Bytes, Extent, Gap, Place, Segment, Sink, TableError, Unit, entry,
};

use super::super::table::{Cut, TableFile, send_part};
use super::unpack::Compression;
use super::used::Used;

const OFFSET: u64 = 0x00ff_ffff_ffff_fe00;
const PACKED: u64 = 1 << 62;
const COPIED: u64 = 1 << 63;
const ZERO: u64 = 1;

/// Bytes of the L1 table that are read at once.
const L1_CHUNK: usize = 32 << 10;
/// Bytes of an L2 table that are read at once: one of the usual clusters.
const L2_CHUNK: u64 = 64 << 10;
/// Decoded entries that are not sent as a batch: they have parts, or cannot be believed.
const SPECIAL: u64 = entry::FIRST_MARK;
/// Entries that are looked at together.
const GROUP: usize = 64;
/// All subclusters allocated, none zero.
const ALL_ALLOCATED: u64 = 0xffff_ffff;
/// All subclusters zero.
const ALL_ZERO: u64 = 0xffff_ffff << 32;

/// The table of an image.
#[derive(Debug)]
pub(super) struct Table {
    /// Two views of the container, so that the page each keeps is of one level.
    pub(super) l1: TableFile,
    pub(super) l2: TableFile,
    pub(super) file_size: u64,
    pub(super) l1_start: u64,
    pub(super) l1_entries: u64,
    pub(super) block: Unit,
    pub(super) cluster_bits: u32,
    pub(super) size: Bytes,
    pub(super) version: u32,
    /// Entries have subclusters.
    pub(super) extended: bool,
    /// Clusters lie in a file of their own, and may lie at its start.
    pub(super) data_file: bool,
    /// Where clusters lie: the container, or its data file.
    pub(super) target: usize,
    pub(super) parent: Option<usize>,
    pub(super) compression: Compression,
}

/// An L2 table that is there, and where to look in it.
#[derive(Clone, Copy)]
struct L2 {
    offset: u64,
}

impl Table {
    fn cluster(&self) -> u64 {
        self.block.get()
    }

    /// Bytes of an L2 entry.
    fn width(&self) -> u64 {
        if self.extended { 16 } else { 8 }
    }

    /// Entries of an L2 table.
    fn per_l2(&self) -> u64 {
        self.cluster() / self.width()
    }

    /// L1 entries that a disk of this size needs.
    pub(super) fn l1_needed(&self) -> u64 {
        self.size
            .get()
            .div_ceil(self.cluster())
            .div_ceil(self.per_l2())
    }

    /// Where clusters cannot lie: those that the L1 table touches. Empty where they lie in another file.
    fn over_l1(&self) -> Range<u64> {
        let low = self.cluster() - 1;
        let start = self.l1_start & !low;
        match self.l1_start.checked_add(self.l1_len()) {
            Some(end) if !self.data_file && start < end => start..end,
            _ => 0..0,
        }
    }

    fn l1_len(&self) -> u64 {
        self.l1_entries.saturating_mul(8)
    }

    /// Where an L1 entry lies; at most 32 MiB into the table, see `MAX_L1`.
    fn l1_at(&self, index: u64) -> Result<u64, TableError> {
        if index >= self.l1_entries {
            return Err(format!(
                "the L1 table has {} entries; entry {} is beyond them",
                Bytes::new(self.l1_entries).grouped(),
                Bytes::new(index).grouped()
            )
            .into());
        }
        let at = self.l1_start.checked_add(index * 8);
        Ok(at.ok_or("the L1 table lies beyond 2⁶⁴ bytes")?)
    }

    /// The L2 table that an L1 entry names, which was read at `at`.
    fn l2_of(&self, raw: u64, at: u64) -> Result<Option<L2>, TableError> {
        let offset = raw & OFFSET;
        if offset == 0 {
            return Ok(None);
        }
        let say = |what: &str| {
            format!(
                "the L1 entry at byte {} puts an L2 table at byte {}, {what}",
                Bytes::new(at).grouped(),
                Bytes::new(offset).grouped()
            )
        };
        if !offset.is_multiple_of(self.cluster()) {
            let unit = Bytes::new(self.cluster());
            return Err(say(&format!("not a multiple of {}", unit.grouped())).into());
        }
        // A table that is its own L2 table would give entries without end.
        let l1_end = self.l1_start.saturating_add(self.l1_len());
        if offset < l1_end && self.l1_start < offset + self.cluster() {
            return Err(say("over the L1 table").into());
        }
        if offset >= self.file_size {
            let end = Bytes::new(self.file_size);
            let what = format!("beyond the end of the file at byte {}", end.grouped());
            return Err(say(&what).into());
        }
        Ok(Some(L2 { offset }))
    }

    /// What the entry `raw`, `bitmap` (of [`Table::extended`]) says about `within` bytes into its cluster, which starts at
    /// `start` of the disk. It was read at byte `at` of the file.
    fn place(
        &self,
        (raw, bitmap): (u64, u64),
        start: u64,
        within: u64,
        at: u64,
    ) -> Result<Place, TableError> {
        let left = self.cluster() - within;
        let say = |what: &str| -> TableError {
            format!(
                "the L2 entry at byte {} is 0x{raw:016x}: {what}",
                Bytes::new(at).grouped()
            )
            .into()
        };
        if raw & PACKED != 0 {
            return self
                .packed(raw, start)
                .ok_or_else(|| say("compressed, in an image whose data lies in another file"));
        }
        let offset = raw & OFFSET;
        if !offset.is_multiple_of(self.cluster()) {
            let unit = Bytes::new(self.cluster());
            return Err(say(&format!(
                "a cluster at byte {}; expected a multiple of {}",
                Bytes::new(offset).grouped(),
                unit.grouped()
            )));
        }
        if !self.data_file && offset == at & !(self.cluster() - 1) {
            return Err(say("a cluster over the very table that names it"));
        }
        let l1 = self.over_l1();
        if offset != 0 && offset.wrapping_sub(l1.start) < l1.end - l1.start {
            return Err(say("a cluster over the L1 table"));
        }
        let has = offset != 0 || (self.data_file && raw & COPIED != 0);
        let run = Bytes::new(left);
        let lies = |run| Place::At {
            target: self.target,
            offset: Bytes::new(offset + within),
            run,
        };
        if !self.extended {
            return match (raw & ZERO != 0, has) {
                (true, _) if self.version < 3 => Err(say("zeroes, which version 2 does not know")),
                (true, _) => Ok(Place::Zero { run }),
                (false, true) => Ok(lies(run)),
                (false, false) => Ok(Place::Absent { run }),
            };
        }
        let (allocated, zero) = (bitmap & ALL_ALLOCATED, bitmap >> 32);
        if allocated & zero != 0 {
            return Err(say(&format!(
                "its subclusters 0x{bitmap:016x} are allocated and zero at once"
            )));
        }
        if allocated != 0 && !has {
            return Err(say(&format!(
                "its subclusters 0x{bitmap:016x} are allocated, the cluster is not"
            )));
        }
        let size = self.cluster() / 32;
        let index = within / size;
        let kind = |n: u64| (allocated >> n & 1, zero >> n & 1);
        let same = (index..32).take_while(|n| kind(*n) == kind(index)).count();
        let end = (index + u64::try_from(same)?) * size;
        let run = Bytes::new(end - within);
        Ok(match kind(index) {
            (1, _) => lies(run),
            (_, 1) => Place::Zero { run },
            _ => Place::Absent { run },
        })
    }

    /// Where a compressed cluster lies. Its end is known to a sector.
    fn packed(&self, raw: u64, start: u64) -> Option<Place> {
        if self.data_file {
            return None;
        }
        let bits = 62 - (self.cluster_bits - 8);
        let offset = raw & ((1 << bits) - 1);
        let sectors = ((raw & (PACKED - 1)) >> bits) + 1;
        let len = sectors * 512 - offset % 512;
        let whole = self.cluster().min(self.size.get().checked_sub(start)?);
        Some(Place::Packed {
            upper: Extent::new(Bytes::new(start), Bytes::new(whole))?,
            target: 0,
            lower: Extent::new(Bytes::new(offset), Bytes::new(len))?,
        })
    }

    /// Decodes the entries in `raw`, which are of the table `table`. True when one of them is [`SPECIAL`].
    fn decode(&self, raw: &[u8], table: L2, out: &mut Vec<u64>) -> bool {
        out.clear();
        let l1 = self.over_l1();
        let decoder = Decoder {
            low: self.cluster() - 1,
            l1_start: l1.start,
            l1_span: l1.end - l1.start,
            // In a data file clusters may lie anywhere, and at its start too.
            own: if self.data_file { 0 } else { table.offset },
            at_zero: if self.data_file { COPIED } else { 0 },
            packed: if self.data_file {
                SPECIAL
            } else {
                entry::PACKED
            },
            zero: if self.version < 3 {
                SPECIAL
            } else {
                entry::ZERO
            },
        };
        if self.extended {
            decoder.extended(raw, out)
        } else {
            decoder.standard(raw, out)
        }
    }

    /// Sends entries of which some are special; `first` is the cluster of the first of them, `at` where it was read.
    fn send_special(
        &self,
        raw: &[u8],
        decoded: &[u64],
        first: u64,
        at: u64,
        sink: &mut dyn Sink,
    ) -> Result<(), TableError> {
        let mut done = 0;
        for run in decoded.chunk_by(|a, b| (*a == SPECIAL) == (*b == SPECIAL)) {
            if run.first() != Some(&SPECIAL) {
                let start = (first + u64::try_from(done)?).saturating_mul(self.cluster());
                sink.blocks(Bytes::new(start), self.target, run);
                done += run.len();
                continue;
            }
            for _ in run {
                let index = u64::try_from(done)?;
                let within = usize::try_from(index * self.width())?;
                let bytes = raw.get(within..).unwrap_or(&[]);
                let word = |n: usize| {
                    let word = bytes.get(n..n + 8).and_then(|b| b.try_into().ok());
                    u64::from_be_bytes(word.unwrap_or_default())
                };
                let pair = (word(0), if self.extended { word(8) } else { 0 });
                let start = (first + index).saturating_mul(self.cluster());
                self.send_cluster(pair, start, at + index * self.width(), sink)?;
                done += 1;
            }
        }
        Ok(())
    }

    /// Sends a whole cluster, subcluster run by subcluster run.
    fn send_cluster(
        &self,
        pair: (u64, u64),
        start: u64,
        at: u64,
        sink: &mut dyn Sink,
    ) -> Result<(), TableError> {
        let mut within = 0;
        while within < self.cluster() {
            let place = self.place(pair, start, within, at)?;
            let from = Bytes::new(start.saturating_add(within));
            let run = place.run(from).min(Bytes::new(self.cluster() - within));
            let upper = Extent::new(from, run).ok_or("a virtual disk beyond 2⁶⁴ bytes")?;
            match place {
                Place::At { target, offset, .. } => sink.piece(Segment {
                    upper,
                    target,
                    lower: offset,
                }),
                Place::Absent { .. } => sink.gap(upper, Gap::Absent),
                Place::Zero { .. } => sink.gap(upper, Gap::Zero),
                Place::Packed { .. } => sink.gap(upper, Gap::Packed),
            }
            within += run.get();
        }
        Ok(())
    }

    /// Sends the clusters `first..last`, which are all in the L2 table.
    fn send_l2(
        &self,
        table: L2,
        first: u64,
        last: u64,
        buffers: &mut Buffers,
        sink: &mut dyn Sink,
    ) -> Result<(), TableError> {
        let mut at = table.offset + first % self.per_l2() * self.width();
        let mut first = first;
        while first < last {
            let count = (last - first).min(L2_CHUNK / self.width());
            let len = usize::try_from(count * self.width())?;
            if buffers.raw.len() < len {
                buffers.raw.resize(len, 0);
            }
            let raw = &mut buffers.raw[..len];
            self.l2.fill(at, raw)?;
            if self.decode(raw, table, &mut buffers.lower) {
                self.send_special(raw, &buffers.lower, first, at, sink)?;
            } else {
                let start = first.saturating_mul(self.cluster());
                sink.blocks(Bytes::new(start), self.target, &buffers.lower);
            }
            first += count;
            at += count * self.width();
        }
        Ok(())
    }

    /// Sends the clusters `clusters`; those without an L2 table at the end are left in `hole`.
    fn send_whole(
        &self,
        clusters: Range<u64>,
        hole: &mut Hole,
        sink: &mut dyn Sink,
    ) -> Result<(), TableError> {
        let per_l2 = self.per_l2();
        let mut used = Used::of(self.file_size.div_ceil(self.cluster()));
        let mut buffers = Buffers::default();
        let mut l1 = Vec::new();
        let mut cluster = clusters.start;
        while cluster < clusters.end {
            let index = cluster / per_l2;
            let at = self.l1_at(index)?;
            let wanted = clusters.end.div_ceil(per_l2).min(self.l1_entries) - index;
            let len = usize::try_from(wanted * 8)?.min(L1_CHUNK);
            l1.resize(len, 0);
            self.l1.fill(at, &mut l1)?;
            let (entries, _) = l1.as_chunks::<8>();
            for (raw, at) in entries.iter().zip((at..).step_by(8)) {
                let last = ((cluster / per_l2 + 1) * per_l2).min(clusters.end);
                match self.l2_of(u64::from_be_bytes(*raw), at)? {
                    None => hole.to = last,
                    Some(table) => {
                        hole.send(self.cluster(), sink);
                        if !used.take(table.offset / self.cluster()) {
                            return Err(format!(
                                "two entries of the L1 table, one of them at byte {}, name the L2 table at byte {}: what follows is not read",
                                Bytes::new(at).grouped(),
                                Bytes::new(table.offset).grouped()
                            )
                            .into());
                        }
                        self.send_l2(table, cluster, last, &mut buffers, sink)?;
                        *hole = Hole {
                            from: last,
                            to: last,
                        };
                    }
                }
                cluster = last;
            }
        }
        Ok(())
    }
}

/// What it takes to tell entries apart, without a look at the table again.
struct Decoder {
    /// The bits of an address inside a cluster.
    low: u64,
    /// Where the L1 table lies.
    l1_start: u64,
    l1_span: u64,
    /// Where the L2 table lies.
    own: u64,
    /// The bit that makes an address of 0 one; 0: there is none.
    at_zero: u64,
    /// What to make of a compressed cluster.
    packed: u64,
    /// What to make of a cluster of zeroes.
    zero: u64,
}

impl Decoder {
    /// True when no cluster can lie at `offset`, which is not 0.
    fn is_bad(&self, offset: u64) -> bool {
        offset & self.low != 0
            || offset == self.own
            || offset.wrapping_sub(self.l1_start) < self.l1_span
    }

    fn standard(&self, raw: &[u8], out: &mut Vec<u64>) -> bool {
        let (entries, _) = raw.as_chunks::<8>();
        let mut special = false;
        for group in entries.chunks(GROUP) {
            // The common case first, a cluster that lies where it may, in a form that a compiler makes vectors of: the
            // top bit of these differences is set when an address is 0, that of the L2 table, or not past the L1 table.
            let before = out.len();
            let mut unusual = 0;
            out.extend(group.iter().map(|raw| {
                let e = u64::from_be_bytes(*raw);
                let offset = e & OFFSET;
                unusual |= e & (PACKED | ZERO | (self.low & OFFSET));
                unusual |= offset.wrapping_sub(1) >> 63;
                unusual |= (offset ^ self.own).wrapping_sub(1) >> 63;
                unusual |= offset
                    .wrapping_sub(self.l1_start)
                    .wrapping_sub(self.l1_span)
                    >> 63;
                offset
            }));
            if unusual == 0 {
                continue;
            }
            out.truncate(before);
            out.extend(group.iter().map(|raw| {
                let e = u64::from_be_bytes(*raw);
                let offset = e & OFFSET;
                let place = if e & PACKED != 0 {
                    self.packed
                } else if offset != 0 && self.is_bad(offset) {
                    SPECIAL
                } else if e & ZERO != 0 {
                    self.zero
                } else if offset == 0 && e & self.at_zero == 0 {
                    entry::ABSENT
                } else {
                    offset
                };
                special |= place == SPECIAL;
                place
            }));
        }
        special
    }

    fn extended(&self, raw: &[u8], out: &mut Vec<u64>) -> bool {
        let (words, _) = raw.as_chunks::<8>();
        let (pairs, _) = words.as_chunks::<2>();
        let mut special = false;
        out.extend(pairs.iter().map(|[e, bitmap]| {
            let e = u64::from_be_bytes(*e);
            let offset = e & OFFSET;
            let place = match u64::from_be_bytes(*bitmap) {
                _ if e & PACKED != 0 => self.packed,
                _ if offset != 0 && self.is_bad(offset) => SPECIAL,
                ALL_ALLOCATED if offset != 0 || e & self.at_zero != 0 => offset,
                ALL_ZERO => entry::ZERO,
                0 => entry::ABSENT,
                _ => SPECIAL,
            };
            special |= place == SPECIAL;
            place
        }));
        special
    }
}

/// What is used again from L2 table to L2 table.
#[derive(Default)]
struct Buffers {
    raw: Vec<u8>,
    lower: Vec<u64>,
}

/// Clusters without an L2 table that were not sent yet: they are sent as one.
struct Hole {
    from: u64,
    to: u64,
}

impl Hole {
    fn send(&mut self, cluster: u64, sink: &mut dyn Sink) {
        if self.from < self.to {
            let start = self.from.saturating_mul(cluster);
            let end = self.to.saturating_mul(cluster);
            if let Some(upper) = Extent::new(Bytes::new(start), Bytes::new(end - start)) {
                sink.gap(upper, Gap::Absent);
            }
        }
        self.from = self.to;
    }
}

impl BlockTable for Table {
    fn block(&self) -> Unit {
        self.block
    }

    fn size(&self) -> Bytes {
        self.size
    }

    fn parent(&self) -> Option<usize> {
        self.parent
    }

    fn locate(&self, offset: Bytes) -> Result<Place, TableError> {
        let (index, within) = offset.div_rem(self.block);
        let at = self.l1_at(index / self.per_l2())?;
        let raw = u64::from_be_bytes(self.l1.get::<8>(at)?);
        let Some(table) = self.l2_of(raw, at)? else {
            // The rest of what the L2 table would have covered.
            let covered = self.per_l2() * self.cluster();
            let run = Bytes::new(covered - offset.get() % covered);
            return Ok(Place::Absent { run });
        };
        let at = table.offset + index % self.per_l2() * self.width();
        let pair = if self.extended {
            let pair = u128::from_be_bytes(self.l2.get::<16>(at)?);
            (
                u64::try_from(pair >> 64)?,
                u64::try_from(pair & u128::from(u64::MAX))?,
            )
        } else {
            (u64::from_be_bytes(self.l2.get::<8>(at)?), 0)
        };
        let start = offset.get() - within.get();
        self.place(pair, start, within.get(), at)
    }

    fn stream(&self, range: Extent, sink: &mut dyn Sink) -> Result<(), TableError> {
        let cut = Cut::new(range, self.block, self.size);
        if let Some(head) = cut.head {
            send_part(self, head, sink)?;
        }
        let mut hole = Hole {
            from: cut.whole.start,
            to: cut.whole.start,
        };
        let whole = self.send_whole(cut.whole, &mut hole, sink);
        hole.send(self.cluster(), sink);
        whole?;
        match cut.tail {
            Some(tail) => send_part(self, tail, sink),
            None => Ok(()),
        }
    }

    fn unpack(&self, packed: &[u8], out: &mut [u8]) -> Result<(), TableError> {
        self.compression.unpack(packed, out)
    }
}
