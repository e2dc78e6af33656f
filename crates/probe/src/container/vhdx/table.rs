//! The block table of a VHDX.
//!
//! ```text
//! u64 per payload block: bits 0–2 state, 20–63 offset in MiB
//! behind the entries of each chunk (2²³ sectors) one more for the bitmap of its sectors
//! states: 0 not present, 1 undefined, 2 zero, 3 unmapped, 6 fully present, 7 partially present
//! ```
//!
//! State 0 is the parent's matter, or nobody's. A block that is undefined or unmapped reads as zeroes here as it does in
//! QEMU: the specification allows zeroes for both, and what else it allows cannot be told from the file. State 5 is what
//! the draft 0.95 of the format, with which Windows Server 2012 was tested, called unmapped.

use std::sync::Arc;
use straddle_geometry::{BlockTable, Bytes, Extent, Place as Lies, Sink, TableError, Unit, entry};
use straddle_io::{ReadAt, ReadError};
use straddle_stack::AnomalyKind;

use super::metadata::Metadata;
use super::regions::Regions;
use crate::Window;
use crate::container::head::{Head, LOOKED_AT, Lying};
use crate::container::sectors::{Batch, Bitmap, Bitmaps, FirstBit};
use crate::container::table::{BATCH, Cut, Even, TableFile, evenly, send_part};
use crate::record::{Place, Recorder};

const STATE: u64 = 7;
const NOT_PRESENT: u64 = 0;
const UNDEFINED: u64 = 1;
const ZERO: u64 = 2;
const UNMAPPED: u64 = 3;
const UNMAPPED_095: u64 = 5;
const PRESENT: u64 = 6;
const PARTIAL: u64 = 7;
const OFFSET: u64 = !0xf_ffff;
/// Sectors of which one bitmap of 1 MiB speaks.
const CHUNK: u64 = 1 << 23;

/// The table of a disk.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    start: u64,
    /// Entries for which the region has room.
    entries: u64,
    block: Unit,
    sector: u64,
    size: Bytes,
    /// Payload blocks between two bitmaps.
    ratio: u64,
    differencing: bool,
}

impl Shape {
    pub(super) fn new(region: Extent, metadata: &Metadata) -> Shape {
        let sector = u64::from(metadata.sector.get());
        Shape {
            start: region.start().get(),
            entries: region.len().get() / 8,
            block: metadata.block,
            sector,
            size: metadata.size.value,
            // At least 2²³ × 512 ÷ 2²⁸ = 16.
            ratio: CHUNK * sector / metadata.block.get(),
            differencing: metadata.differencing,
        }
    }

    /// Which entry is that of payload block `block`.
    fn index(&self, block: u64) -> u64 {
        block.saturating_add(block / self.ratio)
    }

    /// Looks at the table's place and at its beginning.
    pub(super) fn check(
        &self,
        window: &Window<'_>,
        record: &mut Recorder<'_>,
        regions: &Regions,
    ) -> Result<(), ReadError> {
        let file = window.size().get();
        let blocks = self.size.get().div_ceil(self.block.get());
        let needed = match blocks.checked_sub(1) {
            None => 0,
            Some(last) if self.differencing => {
                (last / self.ratio + 1).saturating_mul(self.ratio + 1)
            }
            Some(last) => self.index(last).saturating_add(1),
        };
        if needed > self.entries {
            let detail = format!(
                "a table with room for {} entries; a disk of {} blocks needs {}",
                Bytes::new(self.entries).grouped(),
                Bytes::new(blocks).grouped(),
                Bytes::new(needed).grouped()
            );
            record.at_base(self.start.min(file), |record| {
                record.odd(AnomalyKind::Damaged, detail, Place::new(0, 8));
            });
        }
        let head = needed.min(self.entries).saturating_mul(8).min(LOOKED_AT);
        let readable = file.saturating_sub(self.start).min(head) / 8 * 8;
        let mut raw = vec![0; usize::try_from(readable).unwrap_or(0)];
        window.fill(self.start.min(file), &mut raw)?;
        let mut lying = Vec::new();
        for (index, raw) in (0_u64..).zip(raw.as_chunks::<8>().0) {
            let (chunk, within) = (index / (self.ratio + 1), index % (self.ratio + 1));
            let entry = u64::from_le_bytes(*raw);
            // Bitmaps are 1 MiB, so they are not compared with what is behind them.
            if within < self.ratio && entry & STATE >= PRESENT {
                lying.push(Lying {
                    at: entry & OFFSET,
                    block: chunk * self.ratio + within,
                    field: usize::try_from(index * 8).unwrap_or(0),
                });
            }
        }
        let head = Head {
            start: self.start,
            width: 8,
            blocks: lying,
            front: 0,
            len: self.block.get(),
            file,
            taken: &regions.taken,
        };
        head.record(record);
        Ok(())
    }

    pub(super) fn table(&self, file: &Arc<dyn ReadAt>, real: Bytes) -> Arc<dyn BlockTable> {
        Arc::new(Table {
            file: TableFile::new(file),
            bitmaps: Bitmaps {
                file: TableFile::new(file),
                first: FirstBit::Low,
            },
            real,
            shape: self.clone(),
        })
    }
}

#[derive(Debug)]
struct Table {
    file: TableFile,
    bitmaps: Bitmaps,
    /// Size of the file, without what the log adds.
    real: Bytes,
    shape: Shape,
}

/// Appends what entries of payload blocks stand for, as long as none needs a closer look; true when one does.
fn decode(raw: &[[u8; 8]], out: &mut Vec<u64>) -> bool {
    let entries = || raw.iter().map(|raw| u64::from_le_bytes(*raw));
    // Bits instead of comparisons: vectors of 64 bits have none without SSE4. Bit 0 of `closer` stays for 4 and 7.
    let (odd, closer) = entries().fold((0, 0), |(odd, closer), entry| {
        (
            odd | (entry ^ PRESENT),
            closer | ((entry >> 2) & !((entry >> 1) ^ entry)),
        )
    });
    if odd & STATE == 0 {
        // Nearly always all blocks are present, and then there is nothing to decide.
        out.extend(entries().map(|entry| entry & OFFSET));
    } else if closer & 1 == 0 {
        out.extend(entries().map(|entry| {
            // Of the states that are left only 6 has both upper bits, and only 0 has none.
            let present = ((entry >> 2) & (entry >> 1) & 1).wrapping_neg();
            let stated = (entry | (entry >> 1) | (entry >> 2)) & 1;
            const { assert!(entry::ZERO == entry::ABSENT - 1 && entry::ABSENT == u64::MAX) };
            (entry & OFFSET & present) | (!stated & !present)
        }));
    }
    closer & 1 == 1
}

/// What entries of payload blocks stand for, as long as one follows the other evenly.
fn even(raw: &[[u8; 8]]) -> Option<Even> {
    let (first, step, count) = evenly!(raw, |raw: &[u8; 8]| u64::from_le_bytes(*raw))?;
    let mark = match first & STATE {
        NOT_PRESENT => entry::ABSENT,
        UNDEFINED | ZERO | UNMAPPED | UNMAPPED_095 => entry::ZERO,
        PRESENT => {
            // The sums were made modulo 2⁶⁴. What is no offset is the same in all when the step has none of it.
            let behind = step.checked_mul(u64::try_from(count - 1).ok()?)?;
            (first & OFFSET).checked_add(behind)?;
            return (step != 0 && step & !OFFSET == 0).then_some(Even {
                lower: first & OFFSET,
                stride: step,
                count,
            });
        }
        _ => return None,
    };
    (step == 0).then_some(Even {
        lower: mark,
        stride: 0,
        count,
    })
}

impl Table {
    /// The entry with number `index`, and where it stands.
    fn entry(&self, index: u64) -> Result<(u64, u64), TableError> {
        if index >= self.shape.entries {
            return Err(format!(
                "the table has room for {} entries; number {} is beyond them",
                Bytes::new(self.shape.entries).grouped(),
                Bytes::new(index).grouped()
            )
            .into());
        }
        let at = index
            .checked_mul(8)
            .and_then(|n| self.shape.start.checked_add(n));
        let at = at.ok_or("the table lies beyond 2⁶⁴ bytes")?;
        // Not at a multiple of 8 in a damaged file; `get` must not be asked for what crosses its pages then.
        if at.is_multiple_of(8) {
            return Ok((u64::from_le_bytes(self.file.get::<8>(at)?), at));
        }
        let mut raw = [0; 8];
        self.file.fill(at, &mut raw)?;
        Ok((u64::from_le_bytes(raw), at))
    }

    /// What is wrong with an entry that cannot be followed.
    fn wrong(entry: u64, at: u64) -> TableError {
        let state = match entry & STATE {
            PARTIAL => "partially present, which only blocks of differencing disks can be",
            _ => "4, which is none",
        };
        format!(
            "the table's entry at byte {} is {entry:#018x}: its state is {state}",
            Bytes::new(at).grouped()
        )
        .into()
    }

    /// The bitmap of the sectors of `block`.
    fn bitmap(&self, block: u64) -> Result<Bitmap, TableError> {
        let shape = &self.shape;
        let chunk = block / shape.ratio;
        let index = chunk
            .saturating_mul(shape.ratio + 1)
            .saturating_add(shape.ratio);
        let (entry, at) = self.entry(index)?;
        if entry & STATE != PRESENT {
            return Err(format!(
                "block {block} is partially present, and there is no bitmap of its sectors: the entry at byte {} is {entry:#018x}",
                Bytes::new(at).grouped()
            )
            .into());
        }
        let sectors = shape.block.get() / shape.sector;
        Ok(Bitmap {
            // Inside the 1 MiB.
            start: (entry & OFFSET) + block % shape.ratio * (sectors / 8),
            sectors,
        })
    }
}

impl BlockTable for Table {
    fn block(&self) -> Unit {
        self.shape.block
    }

    fn size(&self) -> Bytes {
        self.shape.size
    }

    fn parent(&self) -> Option<usize> {
        self.shape.differencing.then_some(1)
    }

    fn locate(&self, offset: Bytes) -> Result<Lies, TableError> {
        let (block, within) = offset.div_rem(self.shape.block);
        let (entry, at) = self.entry(self.shape.index(block))?;
        let run = self.shape.block.bytes().checked_sub(within);
        let run = run.unwrap_or(Bytes::new(1));
        let below = Bytes::new(entry & OFFSET).checked_add(within);
        let offset = below.ok_or("a block beyond 2⁶⁴ bytes");
        Ok(match entry & STATE {
            PRESENT => Lies::At {
                target: 0,
                offset: offset?,
                run,
            },
            NOT_PRESENT => Lies::Absent { run },
            UNDEFINED | ZERO | UNMAPPED | UNMAPPED_095 => Lies::Zero { run },
            PARTIAL if self.shape.differencing => {
                let (sector, into) = (
                    within.get() / self.shape.sector,
                    within.get() % self.shape.sector,
                );
                let (here, sectors) = self.bitmaps.locate(self.bitmap(block)?, sector)?;
                let run = Bytes::new(sectors * self.shape.sector - into);
                if here {
                    Lies::At {
                        target: 0,
                        offset: offset?,
                        run,
                    }
                } else {
                    Lies::Absent { run }
                }
            }
            _ => return Err(Table::wrong(entry, at)),
        })
    }

    fn stream(&self, range: Extent, sink: &mut dyn Sink) -> Result<(), TableError> {
        let shape = &self.shape;
        let cut = Cut::new(range, shape.block, shape.size);
        if let Some(head) = cut.head {
            send_part(self, head, sink)?;
        }
        if let Some(last) = cut
            .whole
            .end
            .checked_sub(1)
            .filter(|_| !cut.whole.is_empty())
        {
            self.whole(cut.whole.start, last, sink)?;
        }
        match cut.tail {
            Some(tail) => send_part(self, tail, sink),
            None => Ok(()),
        }
    }
}

impl Table {
    /// Sends the whole blocks `first` to `last`.
    fn whole(&self, first: u64, last: u64, sink: &mut dyn Sink) -> Result<(), TableError> {
        let shape = &self.shape;
        let (from, end) = (shape.index(first), shape.index(last).saturating_add(1));
        let count = end.min(shape.entries).saturating_sub(from);
        let start = shape.start.saturating_add(from.saturating_mul(8));
        let mut batch = Batch::new(sink, first, shape.block.get(), shape.sector, self.real);
        let (mut index, mut block) = (from, first);
        let done = self.file.chunks(start, count.saturating_mul(8), |raw| {
            let (mut entries, _) = raw.as_chunks::<8>();
            while !entries.is_empty() {
                let left = shape.ratio - index % (shape.ratio + 1);
                if left == 0 {
                    // The entry of a bitmap.
                    entries = &entries[1..];
                    index += 1;
                    continue;
                }
                let run =
                    usize::try_from(left).map_or(entries.len(), |left| left.min(entries.len()));
                let run = if let Some(even) = even(&entries[..run]) {
                    batch.even(even, shape.block)?;
                    even.count
                } else {
                    self.some(block, &entries[..run.min(BATCH)], &mut batch)?
                };
                let rest = &entries[run..];
                let run = u64::try_from(run)?;
                (index, block, entries) = (index + run, block + run, rest);
            }
            batch.flush();
            Ok(())
        });
        batch.flush();
        done?;
        // Names the last entry that is needed when the table is too short; what it does hold was sent.
        if end > shape.entries {
            self.entry(end - 1)?;
        }
        Ok(())
    }

    /// Sends entries that are one by one; the number of them.
    fn some(
        &self,
        first: u64,
        entries: &[[u8; 8]],
        batch: &mut Batch<'_>,
    ) -> Result<usize, TableError> {
        let mut closer = false;
        batch.extend(|lower| closer = decode(entries, lower));
        if closer {
            self.closely(first, entries, batch)?;
        }
        batch.flush();
        Ok(entries.len())
    }

    /// Entries of which some need more than themselves.
    fn closely(
        &self,
        first: u64,
        entries: &[[u8; 8]],
        batch: &mut Batch<'_>,
    ) -> Result<(), TableError> {
        for (block, raw) in (first..).zip(entries) {
            let entry = u64::from_le_bytes(*raw);
            match entry & STATE {
                PRESENT => batch.push(entry & OFFSET),
                NOT_PRESENT => batch.push(entry::ABSENT),
                UNDEFINED | ZERO | UNMAPPED | UNMAPPED_095 => batch.push(entry::ZERO),
                PARTIAL if self.shape.differencing => {
                    batch.divided(&self.bitmaps, self.bitmap(block)?, entry & OFFSET)?;
                }
                _ => {
                    let at = self.shape.index(block).saturating_mul(8);
                    return Err(Table::wrong(entry, self.shape.start.saturating_add(at)));
                }
            }
        }
        Ok(())
    }
}
