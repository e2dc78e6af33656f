//! dm-integrity: a tag for each sector, kept in runs between the data, and a journal before them.
//!
//! Source: Linux `Documentation/admin-guide/device-mapper/dm-integrity.rst` and the structures of
//! `drivers/md/dm-integrity.c`. All numbers are low byte first.
//!
//! ```text
//! superblock 4 KiB | journal | tags | data of one interleave | tags | data | …
//! ```

use std::sync::Arc;
use straddle_geometry::{
    BlockTable, Blocks, Bytes, Extent, Gap, Grid, Map, Place as Located, Row, Segment, Sink,
    TableError, Unit,
};
use straddle_io::ReadError;
use straddle_stack::{Anomaly, AnomalyKind, Fact, GridRole, Key, Layer, LayerKind, Value};
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Assembly, Below, Beside, Holds, Node, Part, Recognised, VolumeFormat};
use crate::record::{Recorder, place};
use crate::{Magic, Window};

const MAGIC: [u8; 8] = *b"integrt\0";
const SECTOR: u64 = 512;
/// The superblock, whatever is in it.
const SUPERBLOCK: u64 = 4096;
/// The newest version that is known: 6 keeps tags in the sectors' own metadata.
const NEWEST: u8 = 6;
const HAS_JOURNAL_MAC: u32 = 1;
const IS_RECALCULATING: u32 = 2;
const HAS_BITMAP: u32 = 4;
const HAS_FIXED_PADDING: u32 = 8;
const IS_INLINE: u32 = 0x20;
/// Up to so many pieces, the place of each is written out; with more, it is computed when it is asked for.
const MAX_SEGMENTS: u64 = 4096;

pub(crate) static FORMAT: VolumeFormat = VolumeFormat {
    name: "integrity",
    title: "dm-integrity device",
    reads: "versions 1 to 6 with tags between the data, and what lies behind them; the journal or bitmap as far as its size",
    refuses: "tags apart from their data, which name no device",
    verified: "integritysetup, the kernel's dm-integrity and marked sectors in the lab",
    min_size: SUPERBLOCK,
    magics: &[Magic {
        offset: 0,
        bytes: &MAGIC,
    }],
    beside: Beside::Nothing,
    recognise,
    assemble,
};

#[derive(Clone, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Superblock {
    magic: [u8; 8],
    version: u8,
    log2_interleave_sectors: u8,
    tag_size: U16,
    journal_sections: U32,
    provided_data_sectors: U64,
    flags: U32,
    log2_sectors_per_block: u8,
    log2_blocks_per_bitmap_bit: u8,
    pad: [u8; 2],
    recalc_sector: U64,
    pad2: [u8; 8],
    salt: [u8; 16],
}

impl Superblock {
    fn has(&self, flag: u32) -> bool {
        self.flags.get() & flag != 0
    }

    /// Sectors that are checked as one.
    fn block(&self) -> Option<u64> {
        (self.log2_sectors_per_block <= 3).then(|| SECTOR << self.log2_sectors_per_block)
    }

    fn interleave(&self) -> Option<u64> {
        (3..=31)
            .contains(&self.log2_interleave_sectors)
            .then(|| SECTOR << self.log2_interleave_sectors)
    }

    /// What the journal takes: sections, each of eight sectors with entries and the blocks that they are for.
    fn journal(&self) -> Option<u64> {
        let block = self.block()?;
        let sectors_per_block = block / SECTOR;
        let entry = 8_u64
            .checked_add(8 * sectors_per_block)?
            .checked_add(u64::from(self.tag_size.get()))?
            .next_multiple_of(8);
        let mac = if self.has(HAS_JOURNAL_MAC) { 8 } else { 0 };
        // The last eight bytes of each sector are its commit identifier.
        let entries = (SECTOR - 8 - mac) / entry * 8;
        let section = entries.checked_mul(block)?.checked_add(8 * SECTOR)?;
        section.checked_mul(u64::from(self.journal_sections.get()))
    }

    /// What one run of tags takes.
    fn run(&self) -> Option<u64> {
        let blocks = self.interleave()? / self.block()?;
        let tags = blocks.checked_mul(u64::from(self.tag_size.get()))?;
        let padding = if self.has(HAS_FIXED_PADDING) {
            8 * SECTOR
        } else {
            SECTOR << 8
        };
        tags.checked_next_multiple_of(padding)
    }

    fn size(&self) -> Option<u64> {
        self.provided_data_sectors.get().checked_mul(SECTOR)
    }

    /// Where the data lie behind a superblock at byte `start`; `None` when its figures are beyond their limits.
    fn places(&self, start: u64) -> Option<Interleaved> {
        let (interleave, run) = (self.interleave()?, self.run()?);
        let first = start
            .checked_add(SUPERBLOCK)?
            .checked_add(self.journal()?)?
            .checked_add(run)?;
        Some(Interleaved {
            interleave: Unit::new(interleave)?,
            stride: Unit::new(interleave.checked_add(run)?)?,
            first: Bytes::new(first),
            size: Bytes::new(self.size()?),
        })
    }
}

/// Data in pieces of one interleave, each behind a run of tags.
#[derive(Clone, Copy, Debug)]
struct Interleaved {
    interleave: Unit,
    stride: Unit,
    first: Bytes,
    size: Bytes,
}

impl Interleaved {
    fn count(&self) -> u64 {
        self.size.get().div_ceil(self.interleave.get())
    }

    fn piece(&self, index: u64) -> Option<Bytes> {
        let behind = self.stride.bytes().checked_mul(index)?;
        self.first.checked_add(behind)
    }

    /// Where the last byte ends.
    fn end(&self) -> Option<Bytes> {
        let last = self.count().checked_sub(1)?;
        let before = self.interleave.bytes().checked_mul(last)?;
        self.piece(last)?
            .checked_add(self.size.checked_sub(before)?)
    }

    fn map(self) -> Option<Map> {
        if self.count() > MAX_SEGMENTS {
            return Some(Map::Blocks(Blocks(Arc::new(self))));
        }
        let segment = |index| {
            let at = self.interleave.bytes().checked_mul(index)?;
            let len = self.size.checked_sub(at)?.min(self.interleave.bytes());
            Some(Segment {
                upper: Extent::new(at, len)?,
                target: 0,
                lower: self.piece(index)?,
            })
        };
        let segments: Option<Vec<Segment>> = (0..self.count()).map(segment).collect();
        Map::segments(segments?)
    }
}

impl BlockTable for Interleaved {
    fn block(&self) -> Unit {
        self.interleave
    }

    fn size(&self) -> Bytes {
        self.size
    }

    fn parent(&self) -> Option<usize> {
        None
    }

    fn locate(&self, offset: Bytes) -> Result<Located, TableError> {
        let Some(left) = self.size.checked_sub(offset).filter(|l| *l > Bytes::ZERO) else {
            return Ok(Located::Absent { run: Bytes::new(1) });
        };
        let (index, within) = offset.div_rem(self.interleave);
        let at = self.piece(index).and_then(|at| at.checked_add(within));
        let run = self.interleave.bytes().checked_sub(within);
        match (at, run) {
            (Some(offset), Some(run)) => Ok(Located::At {
                target: 0,
                offset,
                run: run.min(left),
            }),
            _ => Err("its place is beyond 64 bits".into()),
        }
    }

    fn stream(&self, range: Extent, sink: &mut dyn Sink) -> Result<(), TableError> {
        let end = range.end().min(self.size);
        let mut at = range.start();
        while at < end {
            let left = Bytes::new(end.get() - at.get());
            let (index, within) = at.div_rem(self.interleave);
            let whole = left.get() / self.interleave.get();
            if within == Bytes::ZERO && whole > 0 {
                let lower = self.piece(index).ok_or("its place is beyond 64 bits")?;
                sink.row(Row {
                    first: at,
                    block: self.interleave,
                    target: 0,
                    lower,
                    stride: self.stride,
                    count: whole,
                });
                at = Bytes::new(at.get() + whole * self.interleave.get());
                continue;
            }
            let Located::At { offset, run, .. } = self.locate(at)? else {
                let upper = Extent::new(at, left).ok_or("its end is beyond 64 bits")?;
                sink.gap(upper, Gap::Absent);
                return Ok(());
            };
            let len = run.min(left);
            let upper = Extent::new(at, len).ok_or("its end is beyond 64 bits")?;
            sink.piece(Segment {
                upper,
                target: 0,
                lower: offset,
            });
            at = upper.end();
        }
        Ok(())
    }
}

fn recognise(window: &Window<'_>) -> Result<Option<Recognised>, ReadError> {
    let read: Superblock = window.get(0)?;
    let mut say = Recorder::new(window, 0);
    say_facts(&read, &mut say);
    Ok(Some(Recognised {
        detected: say.finish(),
        // It has no identifier.
        set: String::new(),
        member: "device".to_owned(),
        of: Some(1),
    }))
}

fn say_facts(read: &Superblock, say: &mut Recorder<'_>) {
    say.count(
        Key::Version,
        read.version.into(),
        place!(Superblock.version),
    );
    say.bytes(
        Key::TagSize,
        read.tag_size.get().into(),
        place!(Superblock.tag_size),
    );
    if let Some(interleave) = read.interleave() {
        let place = place!(Superblock.log2_interleave_sectors);
        say.bytes(Key::Interleave, interleave, place);
    }
    if let Some(journal) = read.journal() {
        say.bytes(
            Key::JournalSize,
            journal,
            place!(Superblock.journal_sections),
        );
    }
    let state = match () {
        () if read.has(IS_INLINE) => Some("inline"),
        () if read.has(IS_RECALCULATING) => Some("recalculating"),
        () if read.has(HAS_BITMAP) => Some("bitmap"),
        () => None,
    };
    if let Some(state) = state {
        say.text(Key::State, state, place!(Superblock.flags));
    }
}

fn assemble(parts: &[Part<'_>]) -> Result<Assembly, ReadError> {
    let mut assembly = Assembly::default();
    if let Some(part) = parts.first() {
        assembly.nodes.extend(behind(part, Bytes::ZERO)?);
    }
    Ok(assembly)
}

/// The layer that a superblock at `start` of a member makes; `None` when there is none.
pub(super) fn behind(part: &Part<'_>, start: Bytes) -> Result<Option<Node>, ReadError> {
    let window = &part.window;
    let at = start.get();
    if !window.matches(at, &MAGIC)? {
        return Ok(None);
    }
    let read: Superblock = window.get(at)?;
    let mut say = Recorder::new(window, at);
    // Behind a header of something else nobody has said it yet.
    if at > 0 {
        say_facts(&read, &mut say);
    }
    let mut layer = Layer::new(LayerKind::Encryption, "integrity");
    layer.format = Some("integrity".into());
    let own = Recorder::new(window, at);
    if let Some(unit) = read.block().and_then(Unit::new) {
        let fact = own.fact(Grid::new(unit), place!(Superblock.log2_sectors_per_block));
        layer.add_grid(GridRole::EncryptionSector, fact);
    }
    let mode = if read.has(IS_INLINE) {
        "inline"
    } else if read.has(HAS_BITMAP) {
        "bitmap"
    } else {
        "journal"
    };
    let mode = own.fact(Value::Text(mode.into()), place!(Superblock.flags));
    layer.set(Key::IntegrityMode, mode);
    let found = say.finish();
    layer.attributes.extend(found.attributes);
    let size = read.size().map(Bytes::new);
    layer.size = size.map(|size| own.fact(size, place!(Superblock.provided_data_sectors)));
    let mut node = Node {
        layer,
        below: vec![Below::Part(0)],
        holds: Holds::Volume,
    };
    let damaged = |node: &mut Node, detail: String, place| {
        let source = own.source(place);
        let anomaly = Anomaly::at(AnomalyKind::Damaged, detail, source);
        node.layer.anomalies.push(anomaly);
        node.layer.map = Map::Segments(Vec::new());
        node.holds = Holds::Nothing;
    };
    if read.version == 0 || read.version > NEWEST {
        let detail = format!(
            "version {} of dm-integrity is not known here; the newest that is known is {NEWEST}",
            read.version
        );
        damaged(&mut node, detail, place!(Superblock.version));
        return Ok(Some(node));
    }
    if read.has(IS_INLINE) {
        node.layer.map = Map::Linear {
            start: Bytes::new(at.saturating_add(SUPERBLOCK)),
        };
    } else if read.log2_interleave_sectors == 0 {
        // Tags on this device, data on another.
        node.layer.map = Map::IDENTITY;
        node.below = vec![
            Below::Missing("data device of integrity".to_owned()),
            Below::Part(0),
        ];
        node.holds = Holds::Nothing;
        return Ok(Some(node));
    } else {
        match read
            .places(at)
            .and_then(|places| Some((places, places.map()?)))
        {
            Some((places, map)) => {
                node.layer.map = map;
                let from = format!(
                    "superblock + journal + tags; then every {} B",
                    places.stride.bytes().grouped()
                );
                let offset = Fact::derived(Value::Bytes(places.first), from);
                node.layer.set(Key::DataOffset, offset);
                if places.end().is_none_or(|end| end > window.size()) {
                    let detail = format!(
                        "its data end at byte {}, beyond the end of the device at {}",
                        places.end().unwrap_or(Bytes::MAX).grouped(),
                        window.size().grouped()
                    );
                    let place = place!(Superblock.provided_data_sectors);
                    damaged(&mut node, detail, place);
                }
            }
            None => {
                let detail = format!(
                    "interleave 2^{} sectors (3 to 31 are possible), block 2^{} sectors (0 to 3), {} journal sections, {} data sectors: \
                     these have no place",
                    read.log2_interleave_sectors,
                    read.log2_sectors_per_block,
                    read.journal_sections.get(),
                    read.provided_data_sectors.get()
                );
                let place = place!(Superblock.log2_interleave_sectors);
                damaged(&mut node, detail, place);
            }
        }
    }
    Ok(Some(node))
}

#[cfg(test)]
mod tests;
